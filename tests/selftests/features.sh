#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module has the features that it was built with, and lacks the features in the list
# IWT_WITHOUT. The test searches for a function of each feature, and, for some of the features, for
# something that users see. Other tests rely on IWT_WITHOUT.
. "$(dirname "$0")/../lib/begin.sh"

begin rdma ibv_devinfo iwt_ulp
only_iw_tcp "features of iw_tcp"
want_settings
two_links

# feature NAME COMMAND...: checks that COMMAND succeeds if the driver has the feature NAME, and that
# COMMAND fails if the driver lacks this feature
feature() {
	if has_feature "$1"; then check "with $1: ${*:2}" "${@:2}"; else refuse "without $1: ${*:2}" "${@:2}"; fi
}
# function_there NAME: does the kernel, with its modules, have the function or tracepoint NAME?
function_there() { grep -qE " $1([[:space:]]|\$)" /proc/kallsyms; }
# has_some LIMIT: does ibv_devinfo show that LIMIT of A's device is more than 0?
has_some() { in_a ibv_devinfo -v -d "$DEV_A" | grep -qE "^[[:space:]]*$1:[[:space:]]+[1-9]"; }
counts() { [ -e "/sys/class/infiniband/$DEV_A/ports/1/hw_counters" ]; }
# has_gid: does A's link have the GID of an IP address?
has_gid() { in_a ibv_devinfo -v -d "$DEV_A" | grep -q "GID\[  1\]"; }
# connects_directly: does a change to RTR succeed with the address of another queue pair?
connects_directly() {
	local gid
	gid=00000000000000000000ffff$(printf %02x ${IP_B//./ })
	printf '%s\n' "open device=$DEV_A" "direct id=0" "rtr id=0 gid=$gid qpn=1 psn=0" |
		in_a iwt_patient "$IWT_TIME" "$IWT_BIN/iwt_ulp" | tee "$TMP/ulp"
	[ "$(grep -c '^ok' "$TMP/ulp")" = 3 ]
}
traces() { [ -d /sys/kernel/tracing/events/iw_tcp ]; }

check "functions of the module can be seen" function_there iwt_create_qp
feature WINDOWS function_there iwt_alloc_mw
feature WINDOWS has_some max_mw
feature SRQ function_there iwt_create_srq
feature SRQ has_some max_srq
feature PAGING function_there iwt_mr_create_odp
feature DMABUF function_there iwt_mr_create_dmabuf
feature RESIZE function_there iwt_cq_resize
feature ZEROCOPY function_there iwt_zc_add
feature POLLING function_there iwt_sqpoll_rang
feature COUNTERS function_there iwt_fill_res_qp
feature COUNTERS counts
if [ -d /sys/kernel/tracing/events ]; then
	feature TRACE function_there __tracepoint_iwt_cm
	feature TRACE traces
else
	skip "TRACE" "this kernel has no tracepoints"
fi
feature TUNE function_there iwt_sock_widen
feature DELAYED function_there iwt_sock_take
feature AHEAD function_there iwt_rx_place_ahead
feature DIRECT function_there iwt_direct_join
check "A's link has a GID" busywait 20 has_gid
REFUSAL="err 95 RTR: Operation not supported" feature DIRECT connects_directly
check "settings of both links" settings_begin
if ! has_feature ZEROCOPY; then refuse "without ZEROCOPY: the setting" set_link "$DEV_A" zerocopy always; fi
if ! has_feature POLLING; then refuse "without POLLING: the setting" set_link "$DEV_A" polling on; fi
if ! has_feature AHEAD; then refuse "without AHEAD: the setting" set_link "$DEV_A" ahead on; fi
if ! has_feature DIRECT; then
	check "without DIRECT: the setting is 0" [ "$(setting "$DEV_A" direct_port)" = 0 ]
	REFUSAL="Operation not supported" refuse "without DIRECT: the setting" set_link "$DEV_A" direct_port 64791
	check "without DIRECT: 0 is accepted" set_link "$DEV_A" direct_port 0
fi
check "the settings go" settings_end
ktap_finish
