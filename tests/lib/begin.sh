# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Each selftest begins by sourcing this file, which sources everything in this directory that
# selftests use. tests/README says how to write a selftest.

IWT_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# stuck.sh prints where a program hangs, before the program is killed.
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

# begin PROGRAM...: skips the test, or fails it in a laboratory, if one of these programs is
# missing
begin() {
	require "$@"
	require_type "$IWT_LINK_TYPE"
	patience_begin "$TMP/clock"
	ktap_begin
}

# only_iw_tcp WHY: skips the test if the links are not of the type iw_tcp
only_iw_tcp() { [ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "$*"; }

# has_feature NAME: was the driver built with this feature? IWT_WITHOUT names the features that
# were left out.
has_feature() { [[ ,${IWT_WITHOUT:-}, != *,$1,* ]]; }

# only_with NAME: skips the test if the driver was built without this feature
only_with() { has_feature "$1" || skip_all "the driver was built without $1"; }

# two_links [MTU]: makes the namespaces A and B with one link each; ends the test if this fails
two_links() { setup "${1:-1500}" || { not_ok "two links"; ktap_finish; }; }

# two_namespaces [MTU]: makes the namespaces A and B without links
two_namespaces() { net_setup "${1:-1500}" || { not_ok "two namespaces"; ktap_finish; }; }
