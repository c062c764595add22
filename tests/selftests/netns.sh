#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Namespaces: links that belong to one, and what their end leaves behind.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/pair.sh"

require rdma rping
require_type "$IWT_LINK_TYPE"
ktap_begin

visible() { ip netns exec "$1" rdma dev show "$2" >/dev/null 2>&1; }
visible_here() { rdma dev show "$1" >/dev/null 2>&1; }
mode_was=$(rdma system show | sed -n 's/.*netns \([a-z]*\).*/\1/p')
# the kernel changes over when no other namespace is left, and they go late
restore_mode() { [ -z "$mode_was" ] || busywait 70 rdma system set netns "$mode_was"; }
trap 'cleanup; restore_mode' EXIT

shared() {
	rdma system set netns shared || return
	setup 1500 || { not_ok "shared: two links"; return; }
	pair "shared: rping" 7174 "rping -s -a $IP_B -C 5 -V" "rping -c -a $IP_B -C 5 -V -v"
	check "shared: a link is seen from the other namespace" visible "$NS_B" "$DEV_A"
	ns_del "$NS_A"
	check "shared: the namespace's end takes its link" busywait 10 not visible_here "$DEV_A"
	# the other end of the veth pair went with it
	check "shared: and with the pair the other link" busywait 10 not visible_here "$DEV_B"
	ns_del "$NS_B"
	MADE_NS=() MADE_DEV=()
}

exclusive() {
	# The kernel changes over when no other namespace is left. Those of tests
	# before this one last until TCP has given up the last octets to a peer
	# that went first.
	if ! busywait 180 rdma system set netns exclusive; then
		if [ "$(lsns -nt net -o NS | wc -l)" -gt 1 ]; then
			skip "exclusive mode" "there are other network namespaces"
		else
			not_ok "exclusive mode can be set"
		fi
		return
	fi
	setup 1500 || { not_ok "exclusive: two links"; return; }
	ok "exclusive: a link in each of two namespaces"
	check "exclusive: A sees its own link" visible "$NS_A" "$DEV_A"
	check "exclusive: B does not see A's" not visible "$NS_B" "$DEV_A"
	check "exclusive: the first namespace sees neither" not visible_here "$DEV_A"
	pair "exclusive: rping" 7174 "rping -s -a $IP_B -C 5 -V" "rping -c -a $IP_B -C 5 -V -v"
	pair "exclusive: ib_send_bw" 18515 "ib_send_bw -R -F -n 50" "ib_send_bw -R -F -n 50 $IP_B"
	start in_b rping -s -a $IP_B -P -S 1000
	wait_listen "$NS_B" 7174
	start in_a rping -c -a $IP_B -S 1000
	wait_in 20 "$NS_A" connections 7174
	ns_del "$NS_A"
	check "exclusive: a namespace ends under traffic" busywait 30 not listed "$NS_A"
	ns_del "$NS_B"
	check "exclusive: and back to shared" busywait 70 rdma system set netns shared
	check "exclusive: no namespace's link is left" busywait 20 no_links
	MADE_NS=() MADE_DEV=()
}

listed() { ip netns list | grep -q "^$1\b"; }
no_links() { not visible_here "$DEV_A" && not visible_here "$DEV_B"; }

shared
exclusive
ktap_finish
