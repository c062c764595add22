# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Each selftest begins by sourcing this file, which sources everything in this directory that
# selftests use. README says how to write a selftest.

IWT_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A program that does not end is examined by stuck.sh before it is killed.
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

# begin PROGRAM...: the test needs these programs, and the type of its links
begin() {
	require "$@"
	require_type "$IWT_LINK_TYPE"
	patience_begin "$TMP/clock"
	ktap_begin
}

# only_iw_tcp WHY: the test skips if the links are of another type
only_iw_tcp() { [ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "$*"; }

# has_feature NAME: was the driver built with it? IWT_WITHOUT names the features that were left out
has_feature() { [[ ,${IWT_WITHOUT:-}, != *,$1,* ]]; }

# only_with NAME: the test skips if the driver was built without this feature
only_with() { has_feature "$1" || skip_all "the driver was built without $1"; }

# two_links [MTU]: makes A and B with a link each. If this fails, the test ends.
two_links() { setup "${1:-1500}" || { not_ok "two links"; ktap_finish; }; }

# two_namespaces [MTU]: makes A and B without links
two_namespaces() { net_setup "${1:-1500}" || { not_ok "two namespaces"; ktap_finish; }; }
