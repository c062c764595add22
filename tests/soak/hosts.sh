# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# Makes a pair of hosts for a lane (soak.sh explains the lanes), changes the hosts, and ends their
# programs.

SETTINGS=/sys/kernel/config/iw_tcp

# hosts NAME: sets the variables of net.sh (NS_A, IF_A, DEV_A ...) to names of another pair of hosts
hosts() {
	TAG=s$$$1
	NS_A=iwt-$TAG-a NS_B=iwt-$TAG-b
	IF_A=i${TAG}a IF_B=i${TAG}b
	DEV_A=iwt${TAG}a DEV_B=iwt${TAG}b
	MADE_NS=() MADE_DEV=() MADE_IF=() STARTED=()
}

# patient_not NS: sets sysctls in NS: TCP gives up the connections of a deleted link soon, and a net
# device keeps its IPv6 addresses while it is down
patient_not() {
	in_net "$1" sysctl -qw net.ipv4.tcp_orphan_retries=1 net.ipv4.tcp_fin_timeout=2 \
		net.ipv6.conf.all.keep_addr_on_down=1 net.ipv6.conf.default.keep_addr_on_down=1
}

# veth: makes the pair of net devices, with their addresses
veth() {
	local side ns dev host
	ip link add "$IF_A" netns "$NS_A" type veth peer name "$IF_B" netns "$NS_B" || return
	for side in a b; do
		if [ $side = a ]; then ns=$NS_A dev=$IF_A host=1; else ns=$NS_B dev=$IF_B host=2; fi
		addressed "$ns" "$dev" $host || return
	done
}

# addressed NS NETDEV HOST: gives NETDEV its addresses, and sets it up
addressed() {
	ip -n "$1" addr replace 10.77.0.$3/24 dev "$2" &&
		ip -n "$1" link set "$2" up && ip -n "$1" addr replace fd77::$3/64 dev "$2" nodad
}

reachable() { in_net "$NS_A" ping -c 1 -W 1 $IP_B && in_net "$NS_A" ping -6 -c 1 -W 1 $IP6_B; }

# rdma_exists LINK: searches in sysfs, which never omits a link ("rdma" may omit a link: see
# by_name)
rdma_exists() { [ -e "/sys/class/infiniband/$1" ]; }

# hosts_up: makes two connected namespaces with links
hosts_up() {
	local ns
	for ns in "$NS_A" "$NS_B"; do
		ns_add "$ns" || return
		no_dad "$ns"
		patient_not "$ns"
	done
	veth && linked
}

# linked: makes a link on each net device that has no link, and waits until A reaches B
linked() {
	rdma_exists "$DEV_A" || link_add "$NS_A" "$DEV_A" "$IF_A" || return
	rdma_exists "$DEV_B" || link_add "$NS_B" "$DEV_B" "$IF_B" || return
	busywait 20 reachable
}

forget_settings() { rmdir "$SETTINGS/$1" 2>/dev/null; }

# hosts_down: deletes the namespaces A and B, and checks that the links are gone. In half of the
# cases deletes the links first; otherwise the links disappear with their namespaces.
hosts_down() {
	local ns dev
	if chance 50 && [ -e "/run/netns/$NS_A" ] && [ -e "/run/netns/$NS_B" ]; then
		for dev in "$DEV_A" "$DEV_B"; do
			! rdma_exists "$dev" || must "link $dev is deleted" by_name "$dev" iwt_patient 60 rdma link delete "$dev"
		done
	fi
	for ns in "$NS_A" "$NS_B"; do ns_del "$ns"; done
	for dev in "$DEV_A" "$DEV_B"; do
		busywait 60 not rdma_exists "$dev" || complain "link $dev is still there"
		forget_settings "$dev"
	done
	MADE_NS=() MADE_DEV=()
}

# is_set LINK NAME: sets SET to the value of LINK's setting NAME, or to "" if the setting cannot
# be read
is_set() { SET=; { read -r SET <"$SETTINGS/$1/$2"; } 2>/dev/null; }

# at_odds CRC LINK: would a link with the setting CRC and LINK refuse to connect, because one link
# requires CRC and the other link declines CRC?
at_odds() {
	is_set "$2" crc
	case $1:$SET in off:required | required:off) return 0 ;; esac
	return 1
}

# setting LINK [PEER]: changes one of LINK's settings, for later connections; only to values
# with which PEER and LINK can connect
setting() {
	local name value
	mkdir -p "$SETTINGS/$1" 2>/dev/null || return 0
	one_of crc crc markers mpa_revision large_fpdus zerocopy
	name=$PICK
	case $name in
	crc) one_of on off required ;;
	markers | large_fpdus) one_of on off ;;
	mpa_revision) one_of 1 2 ;;
	zerocopy) one_of off auto always ;;
	esac
	value=$PICK
	if [ "$name" = crc ] && [ -n "${2:-}" ] && at_odds "$value" "$2"; then value=on; fi
	[ "$name" != zerocopy ] || ! is_realtime || value=off
	note "$1 $name $value"
	# the link may be deleted at this moment
	{ echo "$value" >"$SETTINGS/$1/$name"; } 2>/dev/null || ! rdma_exists "$1" || complain "$1 $name $value is refused"
}

# path NS NETDEV: selects at random how NETDEV disturbs the packets that it sends: not at all, or by
# loss, delay, another order, duplicates or a combination of them
path() {
	local what
	one_of "" "" "loss 1%" "loss 4%" "delay 5ms reorder 25% 50%" "delay 2ms 1ms" "duplicate 2%" "delay 1ms loss 2% reorder 10%"
	what=$PICK
	note "$2: ${what:-no loss}"
	tc -n "$1" qdisc del dev "$2" root 2>/dev/null
	# shellcheck disable=SC2086
	[ -z "$what" ] || tc -n "$1" qdisc replace dev "$2" root netem $what
}

# Messages that no program may ever print, because they report changed bytes or wrong completions
SPOILT='differs at octet|of the gap|left 0x.* instead of|came back changed|data mismatch|one completion too many|not outstanding|wrong qp_num|completion opcode|immediate data .* instead|invalidated .* instead|wc_flags .* instead|byte_len [0-9]* of a read'

# clean WHO FILE STATUS: complains about wrong data or a crash; other errors are allowed
clean() {
	if grep -qE "$SPOILT" "$2"; then
		complain "$1: wrong data"
		grep -E "$SPOILT" "$2" | head -n 5 >>"$SOAK/wrong-$LANE"
	fi
	case $3 in
	132 | 134 | 135 | 136 | 139) complain "$1: status $3"; show "$2" ;;
	esac
}

# ends PID: ends the process, unless it has ended already: by TERM, and by KILL if it does not end
# within ten seconds. Sets STATUS to the exit status, or to 124 if the process does not die.
ends() {
	local n LATE
	STATUS=0
	for n in TERM KILL; do
		! alive "$1" || kill -$n "$1" 2>/dev/null
		busywait 10 not alive "$1" && break
	done
	if alive "$1"; then
		complain "process $1 does not die: $(tr '\0' ' ' <"/proc/$1/cmdline")"
		cat "/proc/$1/stack" >>"$SOAK/wrong-$LANE" 2>/dev/null
		STATUS=124
	else
		wait "$1" 2>/dev/null || STATUS=$?
	fi
}
