#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The limit of the attempts to connect directly is a limit for each user (iwt_direct). In a user
# namespace a user has many user IDs, but they must not make more attempts possible: they share the
# limit of the user who has made the namespace. Namespaces that root makes are containers: each of
# their user IDs has its own limit.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_direct rdma setpriv unshare nsenter prlimit
only_iw_tcp "no other iWARP device connects without rdma_cm"
only_with DIRECT
make_namespace=(setpriv --reuid 54321 --clear-groups unshare -U)
"${make_namespace[@]}" true 2>/dev/null || skip_all "this kernel lets no user make a user namespace"

# number of queue pairs that wait; the time in milliseconds between two attempts of such a queue pair
# is at least half of this number
CROWD=1500
NS_C=iwt-$TAG-c IF_C=i${TAG}c DEV_C=iwt${TAG}c IF_D=d${TAG}d DEV_D=iwt${TAG}d

# other_hosts: makes C, with a link, behind the router B; and a link with the address 10.81.0.2. Nobody
# listens in B and C, so they refuse each attempt. But B drops all packets for 10.81.0.2, so each
# attempt to reach this address lasts many seconds: a crowd that tries this hardly loads the machine.
other_hosts() {
	ns_add "$NS_C" && no_dad "$NS_C"
	ip link add "$IF_C" netns "$NS_C" type veth peer name "b$IF_C" netns "$NS_B" &&
		ip -n "$NS_B" addr add 10.80.0.1/24 dev "b$IF_C" && ip -n "$NS_C" addr add 10.80.0.2/24 dev "$IF_C" &&
		ip -n "$NS_B" link set "b$IF_C" up && ip -n "$NS_C" link set "$IF_C" up &&
		ip -n "$NS_C" route add 10.77.0.0/24 via 10.80.0.1 && ip -n "$NS_A" route add 10.80.0.0/15 via 10.77.0.2 &&
		in_net "$NS_B" sysctl -qw net.ipv4.ip_forward=1 && link_add "$NS_C" "$DEV_C" "$IF_C" || return
	ip -n "$NS_C" link add "$IF_D" type dummy && ip -n "$NS_C" addr add 10.81.0.2/24 dev "$IF_D" &&
		ip -n "$NS_C" link set "$IF_D" up && link_add "$NS_C" "$DEV_D" "$IF_D" &&
		ip -n "$NS_B" route add blackhole 10.81.0.0/24
}

# namespace OWNER COMMAND...: starts COMMAND, which makes a user namespace and then sleeps. In the
# namespace, user 0 is OWNER, and the users 1 to 10 are other user IDs. The pid is in HOLDER.
namespace() {
	local owner=$1
	shift
	start in_a "$@" sleep 100000
	HOLDER=$PID
	busywait "$IWT_TIME" eval "[ \$(cat /proc/$HOLDER/comm) = sleep ]" &&
		cat <<<"0 $owner 1"$'\n'"1 200000 10" >"/proc/$HOLDER/uid_map" && echo "0 0 1" >"/proc/$HOLDER/gid_map"
}
tries() { counter "$DEV_A" direct_try; }
waits() { grep -q "the queue pairs try to connect" "$1"; }
# calling NAME NUMBER LINK COMMAND...: starts NUMBER queue pairs of DEV_A that never find their peer at
# LINK; COMMAND executes their program as another user
calling() {
	start in_a prlimit --memlock=unlimited:unlimited "${@:4}" \
		"$IWT_BIN/iwt_direct" -n "$2" "$DEV_A" 1 "$3" 1 calling >"$TMP/$1" 2>&1
	busywait $((IWT_TIME * 2)) waits "$TMP/$1" || { diag <"$TMP/$1"; return 1; }
}
# inside USER: sets AS to the command that executes a program as USER of the namespace of HOLDER
inside() { AS=(nsenter -U -t "$HOLDER" setpriv --reuid "$1" --clear-groups); }
# crowd: starts the crowd as the user 0 of the namespace
crowd() {
	inside 0
	calling crowd "$CROWD" "$DEV_D" "${AS[@]}" && count_to "$IWT_TIME" $(($(tries) + CROWD / 2)) tries
}
# beside_it: starts a queue pair of the user 1 of the namespace, who makes one more namespace for its
# program, and a queue pair of another user, who has none in the crowd. After ten seconds sets ONE and
# OTHER to the attempts of these queue pairs, and MS to the time in milliseconds. MOST is the greatest
# possible ONE if user 1 shares the limit of the crowd: eight attempts are not slowed down.
beside_it() {
	local begin=${EPOCHREALTIME/./} one other
	one=$(snmp "$NS_C" Tcp OutRsts) other=$(snmp "$NS_B" Tcp OutRsts)
	inside 1
	AS+=(unshare -U)
	calling one 1 "$DEV_C" "${AS[@]}" && calling other 1 "$DEV_B" setpriv --reuid 54400 --clear-groups || return
	nap 10
	ONE=$(($(snmp "$NS_C" Tcp OutRsts) - one)) OTHER=$(($(snmp "$NS_B" Tcp OutRsts) - other))
	MS=$(((${EPOCHREALTIME/./} - begin) / 1000))
	MOST=$((8 + MS * 2 / CROWD))
}
result() { echo "# $ONE attempts of user 1, $OTHER of the other user in $MS ms; with a shared limit, at most $MOST"; }
# own_limit: is user 1 not slowed down, in comparison with the other user?
own_limit() { [ "$OTHER" -gt 0 ] && [ "$ONE" -ge $((OTHER / 2)) ]; }
slowed() { [ "$ONE" -gt 0 ] && [ "$ONE" -le "$MOST" ]; }
ends() { stop "${STARTED[@]}"; check_no_objects 20 "$DEV_A" "afterwards"; }

two_links
check "other hosts" other_hosts
check "a user makes a user namespace" namespace 54321 "${make_namespace[@]}"
check "$CROWD queue pairs of the user wait" crowd
check "beside them: a queue pair of another user ID of this user, and one of another user" beside_it
result
check "the user ID shares the limit of the user" slowed
ends
check "root makes a user namespace" namespace 300000 unshare -U
check "$CROWD queue pairs of a user in this namespace wait" crowd
check "beside them: a queue pair of another user in this namespace, and one of a user outside" beside_it
result
check "the user in the namespace has its own limit" own_limit
ends
ktap_finish
