#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Many net devices with links are deleted at once, while a link is added to another net device that
# is also deleted. The command that adds the link must fail for a clear reason or succeed, and no
# link may be left. Meanwhile two processes make network namespaces, and delete and add the link of
# a net device that stays: both must always succeed. IWT_ROUNDS: number of rounds (8); IWT_MANY: number
# of net devices (8)
. "$(dirname "$0")/../lib/begin.sh"

begin rdma unshare
only_iw_tcp "other drivers fail for other reasons"
GOES=g${TAG} LINK=iwtg${TAG} ROUNDS=${IWT_ROUNDS:-8} MANY=${IWT_MANY:-8} GROUP=77

# beside NAME COMMAND...: executes COMMAND again and again until the file "stop" exists; writes to
# NAME.good and NAME.bad how often COMMAND has succeeded and failed, and its errors to NAME.said
beside() {
	local good=0 bad=0
	until [ -e "$TMP/stop" ]; do
		if "${@:2}" >>"$TMP/$1.said" 2>&1; then good=$((good + 1)); else bad=$((bad + 1)); fi
	done
	echo $good >"$TMP/$1.good"
	echo $bad >"$TMP/$1.bad"
}
healthy() { by_name "$DEV_B" rdma link delete "$DEV_B" && link_on "$NS_B" "$DEV_B" "$IF_B"; }
# link_on NS LINK NETDEV: adds a link
link_on() { in_net "$1" rdma link add "$2" type "$IWT_LINK_TYPE" netdev "$3"; }
# count NAME: prints how often the command NAME of beside() has succeeded and failed
count() { echo "$(<"$TMP/$1.good") succeeded, $(<"$TMP/$1.bad") failed"; }
# always NAME: has the command NAME of beside() succeeded some times, and never failed?
always() {
	count "$1"
	sort "$TMP/$1.said" | uniq -c
	[ "$(<"$TMP/$1.good")" -gt 0 ] && [ "$(<"$TMP/$1.bad")" = 0 ]
}

netdev() { ip -n "$NS_A" link add "$1" group $GROUP type dummy && ip -n "$NS_A" link set "$1" up; }
no_links() { ! rdma link show | grep -q "link $LINK"; }
# goes N: makes net devices with links, and one that has a link in every second round; deletes all
# of them at once, and at the same time adds a link to the last one. Writes the error of this
# command to the file "errors".
goes() {
	local n pid rc=0
	for ((n = 0; n < MANY; n++)); do
		netdev "$GOES$n" && link_on "$NS_A" "$LINK$n" "$GOES$n" || return
	done
	netdev "$GOES" || return
	[ $(($1 % 2)) = 0 ] || link_on "$NS_A" "$LINK" "$GOES" || return
	start iwt_patient "$IWT_TIME" ip -n "$NS_A" link delete group $GROUP
	pid=$PID
	in_net "$NS_A" iwt_patient "$IWT_TIME" rdma link add "$LINK" type "$IWT_LINK_TYPE" netdev "$GOES" 2>>"$TMP/errors" || rc=$?
	ended "$pid" || { echo "the net devices are not deleted"; return 1; }
	[ "$rc" -lt 124 ] || { echo "rdma link add: status $rc"; return 1; }
	busywait "$IWT_TIME" no_links || { echo "a link is left"; return 1; }
}
all_go() {
	local n
	for ((n = 0; n < ROUNDS; n++)); do
		goes "$n" || { echo "round $n"; return 1; }
	done
}
# clear_errors: are all errors of "rdma link add" among those that a user can understand?
clear_errors() {
	sort "$TMP/errors" | uniq -c
	! grep -vE '^(Invalid netdev|error: (No such device|File exists))$' "$TMP/errors"
}

two_links
: >"$TMP/errors"
start beside namespaces unshare -n true
namespaces=$PID
start beside links healthy
links=$PID
check "the net devices of $ROUNDS rounds go, and no link is left" all_go
touch "$TMP/stop"
check "the processes beside it end" eval "ended $namespaces && ended $links"
sort "$TMP/errors" | uniq -c | diag
check "links are refused for clear reasons" clear_errors
check "the link of another net device can always be added: $(count links)" always links
# For each new namespace, the RDMA core queries the net device of each link. RDMA core of older
# kernels itself does not accept a net device that is being deleted.
if printf '%s\n6.13\n' "$(uname -r)" | sort -CV; then
	skip "a namespace can always be made" "$(count namespaces); this kernel may refuse it"
else
	check "a namespace can always be made: $(count namespaces)" always namespaces
fi
ktap_finish
