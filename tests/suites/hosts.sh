# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Hosts of a suite. Each host is a network namespace with a name and a private /run, /srv, /mnt,
# /var/lib/nfs and /tmp. A host exists until hosts_end() or the end of the test. The host "here" is
# this machine.

declare -A HOST_PID=()

# host NAME NS: starts a host in the network namespace NS
host() {
	# shellcheck disable=SC2016
	start ip netns exec "$2" unshare -m --uts --propagation private sh -c '
		hostname "$2"
		for d in /run /srv /mnt /var/lib/nfs /tmp; do
			[ $d != /tmp ] || touch "$1"
			mount -t tmpfs "${d##*/}" $d
		done
		exec sleep infinity' host "$TMP/host-$1" "$1"
	HOST_PID[$1]=$PID
	busywait 20 test -e "$TMP/host-$1" && busywait 5 on "$1" mountpoint -q /tmp
}

# on HOST COMMAND...: runs COMMAND on HOST
on() {
	local host=$1
	shift
	if [ "$host" = here ]; then "$@"; else nsenter --target "${HOST_PID[$host]}" --net --mount --uts -- "$@"; fi
}

# daemon HOST COMMAND...: starts a daemon that stays in the foreground, on HOST (not "here"); its
# pid is in PID
daemon() {
	start nsenter --target "${HOST_PID[$1]}" --net --mount --uts -- "${@:2}" >>"$TMP/daemons" 2>&1
}

# two_hosts_with_mounts: starts the host "server" in B and the host "client" in A, each with a link
two_hosts_with_mounts() { setup 1500 && host server "$NS_B" && host client "$NS_A"; }

# one_machine: makes one link, with the server's address, in the initial network namespace. Client
# and server both use this link: some consumers work only in the initial network namespace.
one_machine() { IP_A=$IP_B one_host; }

# hosts_end: removes the hosts and their links
hosts_end() {
	stop "${HOST_PID[@]}"
	two_hosts_end
}
