# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# The lane "links": makes and deletes links on five kinds of net devices (dummy, veth, bridge, vlan,
# macvlan), with or without listeners, in random orders; deletes some links while their net device
# is being deleted.

# netdev KIND: makes a net device with the name IF in NS
netdev() {
	case $1 in
	dummy) ip -n "$NS" link add "$IF" type dummy ;;
	veth) ip -n "$NS" link add "$IF" type veth peer name "p$IF" && ip -n "$NS" link set "p$IF" up ;;
	bridge) ip -n "$NS" link add "$IF" type bridge ;;
	vlan | macvlan)
		ip -n "$NS" link add "p$IF" type dummy && ip -n "$NS" link set "p$IF" up || return
		if [ "$1" = vlan ]; then
			ip -n "$NS" link add link "p$IF" name "$IF" type vlan id 7
		else
			ip -n "$NS" link add link "p$IF" name "$IF" type macvlan
		fi ;;
	esac
}

# listener ADDRESS...: starts a listener on one of the addresses
listener() {
	one_of "$@"
	start ip netns exec "$NS" "$IWT_BIN/iwt_conn" -s -a "$PICK" >"$WORK/listener" 2>&1
	note "listener on $PICK"
}

# heard: checks that the program of listener() listens at its port
heard() { wait_listen "$NS" 7471 || { complain "no listener"; show "$WORK/listener"; }; }

# to_end WHAT: deletes WHAT (link, netdev, below: the net device below, both: link and net device,
# namespace: the caller deletes it). Checks that the link is gone, except with "namespace"
to_end() {
	case $1 in
	link) must "link $DEV goes" by_name "$DEV" iwt_patient 60 rdma link delete "$DEV" ;;
	netdev) must "$IF goes" iwt_patient 60 ip -n "$NS" link delete "$IF" ;;
	below) must "p$IF goes" iwt_patient 60 ip -n "$NS" link delete "p$IF" ;;
	both) rdma link delete "$DEV" 2>/dev/null &
		must "$IF goes, with its link" iwt_patient 60 ip -n "$NS" link delete "$IF"
		wait $! ;;
	esac
	[ "$1" = namespace ] || busywait 60 not rdma_exists "$DEV" || complain "link $DEV is still there"
}

# returns COMMAND...: complains if COMMAND hangs (status 124 of iwt_patient); COMMAND may fail
returns() {
	"$@"
	[ $? -ne 124 ] || complain "$* does not return"
}

# meanwhile: adds and deletes links in the background while the net device goes down and up, moves
# to another namespace and back, and may be deleted. Each of these commands may fail, but no command
# may hang.
meanwhile() {
	local n adder
	(for n in 1 2 3 4 5 6; do
		returns in_net "$NS" iwt_patient 60 rdma link add "$DEV" type "$IWT_LINK_TYPE" netdev "$IF"
		returns iwt_patient 60 rdma link delete "$DEV"
	done >/dev/null 2>&1) &
	adder=$!
	ns_add "$NS-m"
	for n in 1 2; do
		ip -n "$NS" link set "$IF" down
		ip -n "$NS" link set "$IF" netns "$NS-m"
		ip -n "$NS-m" link set "$IF" netns "$NS"
		ip -n "$NS" link set "$IF" up
	done >/dev/null 2>&1
	chance 50 && ip -n "$NS" link delete "$IF"
	ns_del "$NS-m"
	wait $adder
}

one_link() {
	local kind when
	must "a namespace" ns_add "$NS" || return
	patient_not "$NS"
	one_of dummy veth bridge vlan macvlan
	kind=$PICK
	note "link on $kind"
	must "a net device: $kind" netdev "$kind" || return
	if chance 30; then note "meanwhile"; meanwhile; return; fi
	ip -n "$NS" addr add 10.77.0.1/24 dev "$IF"
	chance 80 && ip -n "$NS" link set "$IF" up
	one_of before after never
	when=$PICK
	[ $when != before ] || listener 0.0.0.0 ::
	must "a link" link_add "$NS" "$DEV" "$IF" || return
	chance 50 && setting "$DEV"
	[ $when != after ] || listener 0.0.0.0 :: 10.77.0.1
	[ $when = never ] || heard
	one_of link netdev both namespace
	[ "$PICK:$kind" != "netdev:vlan" ] || PICK=below
	note "$PICK goes"
	to_end "$PICK"
}

links_round() {
	local n pid
	for n in 1 2 3; do
		hosts l
		NS=$NS_A IF=$IF_A DEV=$DEV_A
		one_link
		for pid in "${STARTED[@]}"; do ends "$pid"; done
		ns_del "$NS"
		busywait 60 not rdma_exists "$DEV" || complain "link $DEV is left after the end of its namespace"
		forget_settings "$DEV"
	done
}
