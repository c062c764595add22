# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# The lanes "chaos": endless programs run while events change or remove their links, net devices
# and namespaces, or stop the programs. The programs must survive every event that TCP survives.
# TOUCHED is the name of the last event that may have ended a connection. After such an event the
# programs may end with errors, but must never show wrong data, and must leave no queue pairs.

# side: selects, at random, the host to which an event happens
side() {
	one_of a b
	if [ "$PICK" = a ]; then
		NS=$NS_A DEV=$DEV_A IF=$IF_A HOST=1 DEV_PEER=$DEV_B IF_PEER=$IF_B NS_PEER=$NS_B VICTIM=$CLI
	else
		NS=$NS_B DEV=$DEV_B IF=$IF_B HOST=2 DEV_PEER=$DEV_A IF_PEER=$IF_A NS_PEER=$NS_A VICTIM=$SRV
	fi
}

# taken: has the net device disappeared, under all its names, because the namespace of its peer was
# deleted? The name of a namespace disappears first; some time later the kernel deletes the
# namespace and the veth pair.
taken() {
	local ns name
	for ns in "$NS" "$NS-m"; do
		[ -e "/run/netns/$ns" ] || continue
		for name in "$IF" "r$IF"; do
			! in_net "$ns" test -e "/proc/sys/net/ipv4/conf/$name" || return
		done
	done
}

# there WHAT COMMAND...: does the same as must WHAT COMMAND..., but allows a failure if the net
# device has disappeared (taken). A COMMAND that hangs (status 124 of iwt_patient) is always an
# error.
there() {
	local what=$1 status
	shift
	"$@" >"$SOAK/there-$LANE" 2>&1 && return
	status=$?
	if [ $status != 124 ] && [ ! -e "/run/netns/$NS_PEER" ] && busywait 60 taken; then
		note "$what: the net device has gone with its peer"
		return 1
	fi
	judge_late $status "$SOAK/there-$LANE"
	complain "$what (status $status)"
	show "$SOAK/there-$LANE"
	return 1
}

# Events that TCP survives

do_down_up() {
	there "$IF goes down" ip -n "$NS" link set "$IF" down
	rest 10
	there "$IF comes up" ip -n "$NS" link set "$IF" up
}

do_carrier() {
	must "$IF_PEER goes down" ip -n "$NS_PEER" link set "$IF_PEER" down
	rest 10
	must "$IF_PEER comes up" ip -n "$NS_PEER" link set "$IF_PEER" up
}

# Renames the net device, and gives it the old name again, so that the names of net.sh stay correct
do_rename() {
	local new=r$IF
	ip -n "$NS" link set "$IF" down
	there "$IF has another name" ip -n "$NS" link set "$IF" name "$new"
	ip -n "$NS" link set "$new" up
	rest 5
	ip -n "$NS" link set "$new" down
	there "$IF has its name again" ip -n "$NS" link set "$new" name "$IF"
	ip -n "$NS" link set "$IF" up
}

do_rename_link() {
	there "$DEV has another name" by_name "$DEV" iwt_patient 60 rdma dev set "$DEV" name "r$DEV"
	rest 5
	there "$DEV has its name again" by_name "r$DEV" iwt_patient 60 rdma dev set "r$DEV" name "$DEV"
}

# Sets the MTU on both sides, because no router would report to a host that its packets are too
# long for the other host
do_mtu() {
	one_of 1280 1500 4000 9000
	note "mtu $PICK"
	must "$IF mtu $PICK" ip -n "$NS" link set "$IF" mtu "$PICK"
	must "$IF_PEER mtu $PICK" ip -n "$NS_PEER" link set "$IF_PEER" mtu "$PICK"
}

do_stop() {
	kill -STOP "$VICTIM" 2>/dev/null
	rest 10
	kill -CONT "$VICTIM" 2>/dev/null
}

do_path() { path "$NS" "$IF"; }
do_setting() { setting "$DEV" "$DEV_PEER"; }

# Events that may end a connection

do_link_del() { there "link $DEV goes" by_name "$DEV" iwt_patient 60 rdma link delete "$DEV"; }

do_link_again() {
	local n
	do_link_del
	rest 3
	there "link $DEV comes again" link_add "$NS" "$DEV" "$IF"
}

do_move() {
	local there=$NS-m
	ns_add "$there"
	there "$IF moves" ip -n "$NS" link set "$IF" netns "$there"
	rest 5
	busywait 60 not rdma_exists "$DEV" || complain "link $DEV is still there"
	there "$IF moves back" ip -n "$there" link set "$IF" netns "$NS"
	there "$IF has its addresses again" addressed "$NS" "$IF" $HOST
	ns_del "$there"
}

do_netdev_del() {
	there "$IF goes" iwt_patient 60 ip -n "$NS" link delete "$IF"
	no_links || complain "a link is still there"
}

# The kernel deletes both ends of the veth pair, and so both links
no_links() { busywait 60 not rdma_exists "$DEV_A" && busywait 60 not rdma_exists "$DEV_B"; }

do_kill() { kill -KILL "$VICTIM" 2>/dev/null; }
do_kill_both() { kill -KILL "$CLI" "$SRV" 2>/dev/null; }
# Deletes a namespace, and ends all processes in this namespace
do_ns_del() { ns_del "$NS"; }

# happen: chooses an event at random and causes it; does nothing if an earlier event removed what
# the event needs
happen() {
	local what breaks=''
	if chance 60; then
		one_of down_up down_up carrier rename rename_link mtu stop path path setting
	else
		one_of link_del link_again move netdev_del kill kill kill_both ns_del
		breaks=$PICK
	fi
	what=$PICK
	side
	case $what in
	down_up | carrier | rename | rename_link | mtu | path | move | link_* | netdev_del)
		# an earlier event may have removed the net device
		[ -e "/run/netns/$NS" ] && in_net "$NS" test -e "/proc/sys/net/ipv4/conf/$IF" || return
		case $what in rename_link | link_*) rdma_exists "$DEV" || return ;; esac
		case $what in carrier | mtu) [ -e "/run/netns/$NS_PEER" ] || return ;; esac ;;
	esac
	note "$what ${IF: -1}"
	TOUCHED=${breaks:-$TOUCHED}
	"do_$what"
}

# over: if TOUCHED is empty, checks that both programs still transfer bytes; then ends both
# programs, and checks their results
over() {
	local who pid
	if [ -z "$TOUCHED" ] && ! goes_on 90; then
		complain "$KIND did not survive"
		show "$WORK/client"
		show "$WORK/server"
	fi
	for who in client server; do
		pid=$SRV
		[ $who = server ] || pid=$CLI
		ends "$pid"
		clean "$KIND, $who" "$WORK/$who" "$STATUS"
		if [ -z "$TOUCHED" ] && grep -E '^(not ok|Bail)' "$WORK/$who" >"$WORK/why"; then
			complain "$KIND, $who: a failure, and nothing happened to its connection"
			show "$WORK/why"
		fi
	done
}

no_qps() { ! by_name "$1" iwt_patient 60 rdma resource show qp link "$1/1" 2>/dev/null | grep -q ' pid '; }

# nothing_left: complains about queue pairs that the programs left on existing links
nothing_left() {
	local dev
	for dev in "$DEV_A" "$DEV_B"; do
		busywait 30 no_qps "$dev" || { complain "$dev has queue pairs of ended programs"; rdma resource show qp >"$WORK/why"; show "$WORK/why"; }
	done
}

# again: if both namespaces still exist, repairs net devices and links; then a new connection must
# work
again() {
	local n
	[ -e "/run/netns/$NS_A" ] && [ -e "/run/netns/$NS_B" ] || return
	if ! in_net "$NS_A" test -e "/proc/sys/net/ipv4/conf/$IF_A"; then
		must "net devices again" veth || return
	fi
	for n in "$NS_A $IF_A" "$NS_B $IF_B"; do tc -n "${n% *}" qdisc del dev "${n#* }" root 2>/dev/null; done
	must "links again" linked || return
	short rping 4
}

chaos_round() {
	local times
	hosts "$LANE"
	TOUCHED=
	must "two hosts" hosts_up || { hosts_down; return; }
	chance 50 && setting "$DEV_A" "$DEV_B"
	chance 50 && setting "$DEV_B" "$DEV_A"
	chance 30 && path "$NS_A" "$IF_A"
	one_of rping verify verify conn attach
	KIND=$PICK
	one_of 4 6
	if endless "$KIND" "$PICK"; then
		number 1 4
		for ((times = PICK; times > 0; times--)); do
			rest 5
			happen
		done
	fi
	over
	nothing_left
	again
	hosts_down
}
