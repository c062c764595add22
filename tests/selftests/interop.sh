#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests iw_tcp against siw, the kernel's own software iWARP, as an independent peer: each driver
# in both roles, with transfers from both sides, verified data, CRC on and off.
# IWT_QUICK: one round, without the largest messages and without long FPDUs; with CRC off, also
# without errors and without events.
# IWT_CRC: only with CRC (on) or only without CRC (off). The test of long FPDUs always runs without
# CRC.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify rping
only_with COUNTERS
require_type siw
[ "$IWT_LINK_TYPE" != siw ] || skip_all "siw is the peer here"
two_namespaces

crc_param=/sys/module/$IWT_LINK_TYPE/parameters/crc
large_param=/sys/module/$IWT_LINK_TYPE/parameters/large_fpdus

# set_crc on|off: sets whether later links of iw_tcp use CRC. (siw accepts connections with and
# without CRC.)
set_crc() {
	modprobe -q "$IWT_LINK_TYPE"
	modprobe -q siw
	[ -w "$crc_param" ] && echo "$1" >"$crc_param"
}

links() {
	link_add "$NS_A" "$DEV_A" "$IF_A" "$1" && link_add "$NS_B" "$DEV_B" "$IF_B" "$2"
}

unlinks() {
	link_del "$NS_A" "$DEV_A"
	link_del "$NS_B" "$DEV_B"
	busywait 20 not rdma_exists "$DEV_A"
	MADE_DEV=()
}

# both CRC CLIENT-TYPE SERVER-TYPE: runs all tests with a client and a server of these types (iw_tcp
# or siw), but perftest only with a client of iw_tcp. CRC is only for the names of the results.
both() {
	local crc=$1 a=$2 b=$3 what="CRC $1, $2 connects to $3" ca=() sb=() tool
	links "$a" "$b" || { not_ok "$what: links"; unlinks; return; }
	[ "$a" = siw ] && { ca=(--local-siw); sb=(--peer-siw); }
	[ "$b" = siw ] && { ca=(--peer-siw); sb=(--local-siw); }
	# With a delay, the first message does not arrive while siw is still sending its Reply
	[ "$b" != siw ] || distance "far off" || diag <<<"no netem here"
	pair "$what: rping" 7174 "rping -s -a $IP_B -C 10 -V" "rping -c -a $IP_B -C 10 -V -v"
	verify_pair "$what" $IP_B "${size[@]}" "${ca[@]}" -- "${sb[@]}"
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		if [ "$a" = siw ]; then
			# siw listens on every device, and both devices use the port in
			# the caller's namespace
			skip "$what: $tool" "perftest cannot listen on iw_tcp while siw listens on the same port"
			continue
		fi
		# Use another port, because sockets of the previous connection may still use their
		# port
		port=$((port + 1))
		pair "$what: $tool" $port "$tool -R -F -p $port -n 50 -s 65536" \
			"$tool -R -F -p $port -n 50 -s 65536 $IP_B"
	done
	distance near
	unlinks
}

# octets_of_fpdu DEVICE: prints the average length of the FPDUs that DEVICE has sent
octets_of_fpdu() { echo $(($(counter "$1" tx_bytes) / ($(counter "$1" tx_fpdu) + 1))); }

# large CLIENT-TYPE SERVER-TYPE: tests what the user guide describes for siw: iw_tcp offers FPDUs
# longer than a segment, without CRC. siw's Reply repeats the Request's flag for long FPDUs, whether
# or not siw itself sends long FPDUs. siw's Request does not have the flag.
large() {
	local what="long FPDUs, $1 connects to $2" opts=(--max-size 70000 --rounds 1 --no-neg --no-events --no-wr)
	local dev=$DEV_A want=-gt octets ca=(--peer-siw) sb=(--local-siw)
	[ "$1" != siw ] || { dev=$DEV_B want=-le ca=(--local-siw) sb=(--peer-siw); }
	links "$1" "$2" || { not_ok "$what: links"; unlinks; return; }
	[ "$2" != siw ] || distance "far off"
	verify_pair "$what" $IP_B "${opts[@]}" "${ca[@]}" -- "${sb[@]}"
	octets=$(octets_of_fpdu "$dev")
	echo "# octets of an FPDU: $octets"
	check "$what: the FPDUs are as long as agreed" [ "$octets" $want 1448 ]
	distance near
	unlinks
}

# siw of older kernels limits the memory that root registers, too
ulimit -l unlimited
size=(--max-size 1048576 --rounds 2)
[ -z "${IWT_QUICK:-}" ] || size=(--max-size 70000 --rounds 1)
port=18515
was=$(cat "$crc_param" 2>/dev/null)
large_was=$(cat "$large_param" 2>/dev/null)
# lockdep checks the whole kernel, and stops after its first report. The test switches lockdep off,
# so that lockdep still works for iw_tcp afterwards.
locks=/proc/sys/kernel/prove_locking
[ ! -w $locks ] || echo 0 >$locks
back() {
	[ -z "$was" ] || echo "$was" >"$crc_param"
	[ -z "$large_was" ] || echo "$large_was" >"$large_param"
	cleanup
	[ ! -w $locks ] || echo 1 >$locks
}
trap back EXIT
for crc in ${IWT_CRC:-on off}; do
	[ $crc = on ] || [ -z "${IWT_QUICK:-}" ] || size+=(--no-neg --no-events)
	if ! set_crc $crc; then
		skip "CRC $crc" "cannot be set here ($crc_param)"
		continue
	fi
	both $crc "$IWT_LINK_TYPE" siw
	both $crc siw "$IWT_LINK_TYPE"
done
if [ -w "$large_param" ] && [ -z "${IWT_QUICK:-}" ]; then
	echo on >"$large_param"
	set_crc off
	large "$IWT_LINK_TYPE" siw
	large siw "$IWT_LINK_TYPE"
fi
ktap_finish
