#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Allocations that fail: of each that a link, an object or a connection takes in the
# context of its caller, one after the other (tests/programs/iwt_faults.c). What is
# left behind is for the gate of the laboratory to find, and for kmemleak.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/pair.sh"

require iwt_faults rping rdma
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "what other drivers do then is not tested"
want_configfs || skip_all "no configfs here"
if [ ! -e /proc/self/fail-nth ] || [ ! -e /sys/kernel/debug/failslab ]; then
	# the laboratory that is made for this
	! grep -qs 'LAB="debug"' /opt/iw_tcp/vm/run.env || missing_all "fault injection"
	skip_all "no fault injection in this kernel"
fi
ktap_begin
net_setup 1500 || { not_ok "two namespaces"; ktap_finish; }
MADE_DEV+=("$NS_A $DEV_A")
tap faults in_net "$NS_A" timeout $((IWT_TIME * 3)) "$IWT_BIN/iwt_faults" "$DEV_A" "$IF_A" $IP_A
no_objects() { ! rdma resource show "$1" link "$DEV_A" 2>/dev/null | grep -q ' pid '; }
for kind in qp cq mr pd; do check "no $kind is left" busywait 20 no_objects $kind; done
link_add "$NS_B" "$DEV_B" "$IF_B"
pair "and after all this: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"
ktap_finish
