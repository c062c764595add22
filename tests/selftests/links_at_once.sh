#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# iw_tcp-link makes and removes several links at the same time, as the units of systemd do at the
# start and the stop of a host. Every command must succeed, and no link may be left. If a link is
# removed while the kernel lists the links, the list can lack another link: iw_tcp-link must not take
# this list for the truth. IWT_ROUNDS: number of rounds (10)
. "$(dirname "$0")/../lib/begin.sh"

begin iw_tcp-link rdma udevadm
only_iw_tcp "iw_tcp-link makes links of iw_tcp"
NETDEV=n${TAG} MANY=8

netdevs() {
	local i
	for ((i = 0; i < MANY; i++)); do
		ip -n "$NS_A" link add "$NETDEV$i" type dummy && ip -n "$NS_A" link set "$NETDEV$i" up || return
	done
}
# all up|down: executes the command for all net devices at the same time; fails if one of them fails
all() {
	local i rc=0 pids=()
	for ((i = 0; i < MANY; i++)); do
		in_a iw_tcp-link "$1" "$NETDEV$i" >"$TMP/$1$i" 2>&1 &
		pids+=($!)
	done
	for ((i = 0; i < MANY; i++)); do
		wait "${pids[i]}" || { rc=$?; echo "$1 $NETDEV$i: status $rc"; cat "$TMP/$1$i"; }
	done
	return "$rc"
}
links() { find /sys/class/infiniband -name "iwt_$NETDEV*" | wc -l; }
# rounds COUNT: makes and removes all links, COUNT times
rounds() {
	local n
	for ((n = 0; n < $1; n++)); do
		all up || { echo "round $n"; return 1; }
		[ "$(links)" = "$MANY" ] || { echo "round $n: $(links) links instead of $MANY"; return 1; }
		all down || { echo "round $n"; return 1; }
		[ "$(links)" = 0 ] || { echo "round $n: $(links) links are left"; return 1; }
	done
}

# forgetful: puts a program before rdma in PATH. This program omits the link of the first net device
# from the first list, and does not find this link when it is to be removed for the first time, as rdma
# does if another link is removed meanwhile. Each omission removes a file of $TMP/omit.
forgetful() {
	local real
	real=$(command -v rdma) && mkdir "$TMP/bin" "$TMP/omit" || return
	cat >"$TMP/bin/rdma" <<-EOF
		#!/bin/bash
		case \$1-\$2 in
		link-show)
			echo list >>"$TMP/lists"
			if rm "$TMP/omit/list" 2>/dev/null; then
				"$real" link show | grep -vE "link (iwt_${NETDEV}0|other$TAG)/"
				exit
			fi ;;
		link-delete | dev-set)
			if rm "$TMP/omit/\$1" 2>/dev/null; then echo "Wrong device name - iwt_${NETDEV}0"; exit 1; fi ;;
		esac
		exec "$real" "\$@"
	EOF
	chmod +x "$TMP/bin/rdma"
}
# omitting WHAT COMMAND...: runs COMMAND, while each omission in WHAT happens once. Fails if COMMAND
# fails, or if an omission did not happen.
omitting() {
	local what
	for what in $1; do touch "$TMP/omit/$what"; done
	in_a env PATH="$TMP/bin:$PATH" "${@:2}" || return
	for what in $1; do [ ! -e "$TMP/omit/$what" ] || { echo "$what: nothing was omitted"; return 1; }; done
}
# shows: does iw_tcp-link status, which first gets an incomplete list, show the link?
shows() {
	touch "$TMP/omit/list"
	in_a env PATH="$TMP/bin:$PATH" iw_tcp-link status >"$TMP/status" 2>&1
	if [ ! -e "$TMP/omit/list" ] && grep -q "iwt_${NETDEV}0" "$TMP/status"; then return; fi
	cat "$TMP/status"
	return 1
}
# one_list: does iw_tcp-link status make a complete list only once?
one_list() {
	: >"$TMP/lists"
	in_a env PATH="$TMP/bin:$PATH" iw_tcp-link status >/dev/null 2>&1
	[ "$(wc -l <"$TMP/lists")" = 1 ]
}
exists() { [ -e "/sys/class/infiniband/$1" ]; }
# renamed: gives the link of the first net device another name, as a udev rule of rdma-core does
renamed() { in_a rdma dev set "iwt_${NETDEV}0" name "other$TAG"; }

check "two namespaces" setup
check "$MANY net devices" netdevs
check "their links are made and removed at the same time, ${IWT_ROUNDS:-10} times" rounds "${IWT_ROUNDS:-10}"

check "a program omits a link from lists" forgetful
check "omitted: up" in_a iw_tcp-link up "${NETDEV}0"
check "omitted: the link exists already" omitting list iw_tcp-link up "${NETDEV}0"
check "omitted: status shows the link" shows
check "nothing is omitted: status makes one list" one_list
check "omitted: another name" renamed
check "omitted: the link gets its name again" omitting "list dev" iw_tcp-link name "iwt_${NETDEV}0"
check "omitted: it has its name" exists "iwt_${NETDEV}0"
check "omitted: down" omitting "list link" iw_tcp-link down "${NETDEV}0"
check "omitted: the link is gone" not exists "iwt_${NETDEV}0"
ktap_finish
