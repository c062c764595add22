#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# talk.sh a|b [sent] [received]: two machines test connections in both directions, by rdma_cm and
# without it, compare every byte of every operation, and run NFS. With "sent", the test checks that
# the network cards send buffers of many segments (segmentation offload). With "received", it checks
# that the cards deliver buffers of many segments.
# shellcheck source=tests/hosts/lib.sh
. "$(dirname "$(realpath "$0")")/lib.sh"
hosts_serve "$1"
LARGE=${*:2}

# moved SIDE tx|rx: prints how many bytes and packets the card of SIDE has sent (tx) or received
# (rx)
moved() { $1 "$(declare -f card); cd /sys/class/net/\$(card)/statistics && cat $2_bytes $2_packets" | xargs; }

# average BEFORE AFTER: prints the average size, in bytes, of the packets between two results of
# moved()
average() { awk '{ print int(($3 - $1) / ($4 - $2)) }' <<<"$1 $2"; }

# offloads SIDE: sends a stream to SIDE; checks that the other side sends buffers of many segments,
# or that SIDE receives such buffers, as the arguments of this script demand
offloads() {
	local sent came from options
	[ -n "$LARGE" ] || return 0
	from=$(other "$1")
	options="-o write -S 65536 -n 400 -w 0 -e -a $(address "$1" 4)"
	sent=$(moved "$from" tx) came=$(moved "$1" rx)
	well_between "a stream, server on $1" "$1" 18600 "$IWT_BIN/iwt_bench -s $options" "$IWT_BIN/iwt_bench -c $options"
	sent=$(average "$sent" "$(moved "$from" tx)") came=$(average "$came" "$(moved "$1" rx)")
	echo "# to $1: $sent octets in a buffer that was sent, $came in one that was received"
	[[ $LARGE != *sent* ]] || check "to $1: segmentation offload" [ "$sent" -gt 6000 ]
	[[ $LARGE != *received* ]] || check "to $1: large receive buffers" [ "$came" -gt 6000 ]
}

# gid_index SIDE 4|6: prints the index of the GID that is the address of SIDE
gid_index() {
	local words=0000:ffff:
	[ "$2" = 4 ] || words=^${IP6_A%%:*}:
	$1 "grep -l $words /sys/class/infiniband/iwt0/ports/1/gids/*" | head -n 1 | xargs -r basename
}

# direct SIDE: tests programs that connect without rdma_cm, with the server on SIDE
direct() {
	local ip pingpong write from
	from=$(other "$1")
	for ip in 4 6; do
		pingpong="ibv_rc_pingpong -d iwt0 -c -g"
		well_between "ibv_rc_pingpong, IPv$ip, server on $1" "$1" 18515 "$pingpong $(gid_index "$1" $ip)" \
			"$pingpong $(gid_index "$from" $ip) $(address "$1" 4)"
	done
	write="ib_write_bw -d iwt0 -n 200"
	well_between "ib_write_bw without rdma_cm, server on $1" "$1" 18515 "$write" "$write $(address "$1" 4)"
}

# nfs: tests that the kernel of side b can mount a directory which the kernel of side a exports
nfs() {
	local step
	if ! b "modprobe -a rpcrdma nfs nfsv4" || ! modprobe -a rpcrdma nfsd; then
		missing "NFS" "module for it"
		return
	fi
	start unshare -m bash "$TESTS/lib/nfs_roles.sh" server "$TMP" >"$TMP/nfs-server" 2>&1
	check "NFS's server" busywait 90 test -e "$TMP/started" || diag <"$TMP/nfs-server"
	b "rm -rf /tmp/nfs; mkdir /tmp/nfs; unshare -m bash $TESTS/lib/nfs_roles.sh client /tmp/nfs 4"
	for step in mount write remount read umount; do
		check "NFS: $step" [ "$(b "cat /tmp/nfs/$step.rc")" = 0 ] || b "cat /tmp/nfs/$step.log" | diag
	done
	touch "$TMP/stop"
	check "NFS's server ends" ended "$PID"
}

ktap_begin
hosts_meet || ktap_finish
hosts_links
for side in b a; do
	for ip in 4 6; do
		to=$(address $side $ip)
		well_between "rping, IPv$ip, server on $side" $side 7174 "rping -s -a $to -C 10 -S 3000 -V" \
			"rping -c -a $to -C 10 -S 3000 -V -v"
	done
done
# check this now, because later tests cause errors on purpose
for side in a b; do check "$side: no errors" quiet $side; done
for side in b a; do direct $side; done
for side in b a; do verify $side; done
for side in b a; do offloads $side; done
nfs
hosts_end
ktap_finish
