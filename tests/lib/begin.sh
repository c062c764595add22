# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Each selftest begins by sourcing this file, which sources other files of this directory.
# tests/README describes how to write a selftest, and lists the files that a selftest must source
# itself if it needs them.

IWT_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Before iwt_patient or ended() (net.sh) kills a program that hangs, stuck.sh prints where the
# program hangs. (For fi_pingpong, pair.sh sets IWT_LOOK to another command.)
export IWT_LOOK=$IWT_LIB/stuck.sh
# shellcheck source=tests/lib/ktap.sh
. "$IWT_LIB/ktap.sh"
# shellcheck source=tests/lib/net.sh
. "$IWT_LIB/net.sh"
# shellcheck source=tests/lib/left.sh
. "$IWT_LIB/left.sh"
# shellcheck source=tests/lib/pair.sh
. "$IWT_LIB/pair.sh"
# shellcheck source=tests/lib/verify.sh
. "$IWT_LIB/verify.sh"
# shellcheck source=tests/lib/drop.sh
. "$IWT_LIB/drop.sh"
# shellcheck source=tests/lib/settings.sh
. "$IWT_LIB/settings.sh"
# shellcheck source=tests/lib/cgroup.sh
. "$IWT_LIB/cgroup.sh"
# shellcheck source=tests/lib/ktest.sh
. "$IWT_LIB/ktest.sh"
# shellcheck source=tests/lib/trace.sh
. "$IWT_LIB/trace.sh"
# shellcheck source=tests/lib/visible.sh
. "$IWT_LIB/visible.sh"

# begin PROGRAM...: begins the output of the test. If one of these programs or the module of the
# link type is missing, the test fails in a laboratory, and is skipped elsewhere.
begin() {
	require "$@"
	require_type "$IWT_LINK_TYPE"
	patience_begin "$TMP/clock"
	ktap_begin
}

# only_iw_tcp WHY: skips the test if the links are not of the type iw_tcp
only_iw_tcp() { [ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "$*"; }

# has_feature NAME: was the driver built with the feature NAME of release/series? IWT_WITHOUT lists
# the features that the driver was built without.
has_feature() { [[ ,${IWT_WITHOUT:-}, != *,$1,* ]]; }

# only_with NAME: skips the test if the driver was built without this feature
only_with() { has_feature "$1" || skip_all "the driver was built without $1"; }

# two_links [MTU]: makes the namespaces A and B with one link each. If that fails, the test fails
# and ends.
two_links() { setup "${1:-1500}" || { not_ok "two links"; ktap_finish; }; }

# links_end: removes all links and namespaces that link_add and ns_add have made
# links_anew: calls links_end, and then two_links
links_end() {
	local x
	for x in "${MADE_DEV[@]}"; do
		# shellcheck disable=SC2086
		link_del $x 2>/dev/null
	done
	for x in "${MADE_NS[@]}"; do ns_del "$x"; done
	busywait 20 no_link "$DEV_A"
	busywait 20 no_link "$DEV_B"
	MADE_NS=() MADE_DEV=()
}
links_anew() {
	links_end
	two_links
}

# two_namespaces [MTU]: makes the namespaces A and B without links. If that fails, the test fails
# and ends.
two_namespaces() { net_setup "${1:-1500}" || { not_ok "two namespaces"; ktap_finish; }; }
