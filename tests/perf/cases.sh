# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # the scripts that source this file use the variables
# Defines the benchmark's cases. The name of a case describes the measurement, and has one of the
# following forms. The lists below, except QUICK_CASES, are the cases that "bench" runs without
# arguments.
#
#	write|read|send-SIZE-MTU[-qN][-bidir][-srq][-odp]	a stream of messages, in Gb/s
#	rate-OP-SIZE[-qN][-srq]			a stream of messages, in messages per second
#	lat-write|send|read|atomic[-SIZE]	median latency, one message at a time (SIZE: 8)
#	mean-write|send|read|atomic[-SIZE]	mean latency, one message at a time (SIZE: 8)
#	conn, conn-serial			connections per second, 16 or 1 at a time
#	memory					KB of kernel memory for one end of an idle
#						connection
#	nvme|iser|nfs-OP-SIZE[-crc][-large][-zerocopy]
#						kernel consumers: an NVMe disk, an iSCSI disk or a
#						file of NFS; the server has the data in memory;
#						OP: randread, read, randwrite, write
#	nfs-create[-crc][-large]		files per second that a client of NFS creates and
#						removes, one at a time
#	perftest-[rate-|lat-]OP-SIZE[-direct]	a stream, the messages per second, or the typical
#						latency, measured by perftest
#	insn-OP-SIZE-MTU[-crc|-markers|-ahead][-qN]
#						instructions of both ends together, for each byte
#						or (below 1 KB) each message
#	insn-nvme|iser|nfs-...			instructions of both ends together, for each byte
#						or (below 64 KB) each operation
#	newest-...				as insn-..., on the newest kernel
#	path-PATH-OP-SIZE			a stream to a far host; paths.sh has the paths
#	two-OP-SIZE-sender|receiver[-crc][-large][-zerocopy][-qN]
#						instructions of one end, between two machines
#	hole-SIZE[-crc|-markers|-ahead]		the time from the segment that closes a gap in the TCP
#						stream until a program has the SIZE bytes behind the gap
#	tail-PATH-CC-QUANTILE[-crc|-markers|-ahead]
#						messages of 64 KB at regular intervals, over a path of
#						paths.sh, with the congestion control CC (cubic or bbr):
#						a quantile (p50, p99 or p999) of the time from the moment
#						when a message is due until the server has it
#	CASE@CONTESTANT[,CONTESTANT...]		only these contestants: iw_tcp, siw, rxe, tcp,
#						discard (TCP whose received data the kernel
#						discards) and iperf3
#
# -qN: N queue pairs (1). -bidir: both directions at the same time. -srq: all queue pairs use one
# shared receive queue. -odp: the memory regions use on-demand paging. -crc: with CRC; without this
# word, CRC is off. -direct: without rdma_cm (perftest without -R). -large and -zerocopy are
# settings of the links: large_fpdus=on and zerocopy=auto. -markers is the setting markers=on, and
# -ahead is ahead=on, both with CRC. SIZE is in bytes, or has the suffix k or
# m. With MTU 65536 the packets pass through lo, with other MTUs through a veth pair. rate, lat,
# mean, conn, memory, nvme, iser, nfs, perftest, path, hole and tail use MTU 1500; two uses the MTU of the
# network cards.

TARGET_CASES="write-64k-1500 read-64k-1500 send-64k-1500 write-64k-9000 write-64k-65536
	write-1m-1500 write-8m-1500 write-1m-9000 write-8m-9000 write-1m-65536 write-8m-65536
	lat-write lat-send lat-read mean-write mean-send mean-read rate-write-64 write-64k-1500-q8 write-64k-1500-q1000
	send-64k-1500-srq rate-send-64 rate-send-64-srq write-64k-1500-odp
	nvme-randread-4k nvme-read-128k nvme-write-128k iser-read-128k iser-write-128k
	nfs-read-1m nfs-write-1m nfs-randread-4k nfs-randwrite-4k conn memory"
MORE_CASES="write-2-1500 write-64-1500 write-512-1500 write-4k-1500 write-16k-1500 write-256k-1500
	read-2-1500 read-512-1500 read-4k-1500 read-1m-1500 read-8m-1500
	send-2-1500 send-512-1500 send-4k-1500 send-1m-1500 send-8m-1500
	read-64k-9000 send-64k-9000 read-64k-65536 send-64k-65536
	write-64k-1500-q64 write-4k-1500-q1000 send-64k-1500-q8
	write-64k-1500-bidir send-64k-1500-bidir read-64k-1500-bidir
	rate-write-8 rate-send-8 lat-write-4k lat-atomic conn-serial
	nvme-randwrite-4k nvme-write-128k-crc iser-randread-4k iser-randwrite-4k iser-read-128k-crc iser-write-128k-crc
	nfs-read-1m-crc nfs-write-1m-crc nfs-randread-4k-crc nfs-randwrite-4k-crc nfs-create nfs-create-crc
	perftest-write-64k
	perftest-write-64k-direct perftest-lat-write-8-direct perftest-rate-write-64-direct"
# ahead_cases: prints the cases that show what the setting "ahead" changes
ahead_cases() {
	local path quantile size set
	for size in 64k 256k 1m 4m; do
		for set in '' -crc -markers -ahead; do echo "hole-$size$set"; done
	done
	echo insn-write-64k-1500-markers insn-write-64k-1500-ahead
	# with BBR only two paths, to save time
	for path in $(printf '%s-cubic ' $TAIL_PATHS) rare1-bbr rare10-bbr; do
		for set in '' -markers -ahead; do
			for quantile in p50 p99 p999; do echo "tail-$path-$quantile$set"; done
		done
	done
}
# prefixed WORD CASE...: prints the CASEs with WORD- in front
prefixed() { printf "$1-%s " "${@:2}"; }
DISK_INSN_CASES="nfs-read-1m nfs-write-1m nfs-read-1m-crc nfs-write-1m-crc nfs-randread-4k nfs-randwrite-4k nfs-create
	nvme-read-128k nvme-write-128k nvme-write-128k-crc nvme-randread-4k nvme-randwrite-4k
	iser-read-128k iser-write-128k iser-write-128k-crc iser-randread-4k iser-randwrite-4k"
# shellcheck disable=SC2086 # a list of cases
INSN_CASES="insn-write-64k-1500 insn-write-64k-1500-crc insn-write-64-1500 insn-send-64-1500
	insn-read-64k-1500 insn-send-64k-1500 insn-write-64k-9000 insn-write-64k-65536
	insn-read-64-1500 insn-write-64k-9000-crc insn-write-64-1500-crc insn-write-4k-1500 insn-write-1m-1500
	insn-write-64k-1500-q8@iw_tcp,tcp insn-write-64k-1500-q1000@iw_tcp,tcp
	$(prefixed insn $DISK_INSN_CASES)"
# shellcheck disable=SC2086
NEWEST_CASES="newest-write-64k-1500 newest-write-64k-1500-crc newest-write-64-1500 newest-send-64k-1500 newest-read-64k-1500
	newest-write-64k-65536 newest-write-64k-65536-crc $(prefixed newest $DISK_INSN_CASES)"
PATH_CASES="path-far-write-1m path-lossy-write-1m path-single-write-1m path-order-write-1m path-plain-write-1m"
TWO_CASES="two-write-64k-sender two-write-64k-receiver two-send-64k-sender two-send-64k-receiver
	two-read-64k-sender@iw_tcp two-read-64k-receiver@iw_tcp
	two-write-64k-sender-large two-write-64k-receiver-large
	two-write-64k-sender-crc two-write-64k-receiver-crc two-write-1m-sender two-write-1m-receiver
	two-write-64k-sender-large-zerocopy two-write-64k-receiver-large-zerocopy
	two-write-1m-sender-large-zerocopy two-write-1m-receiver-large-zerocopy"

# The cases of "bench --quick": those from which most targets in targets.py are computed. This run
# takes some minutes.
QUICK_CASES="write-64k-1500@iw_tcp,siw,iperf3 read-64k-1500@iw_tcp,iperf3 send-64k-1500@iw_tcp,iperf3
	write-64k-9000@iw_tcp,iperf3 write-64k-65536@iw_tcp,iperf3
	write-1m-1500@iw_tcp write-8m-1500@iw_tcp write-1m-9000@iw_tcp write-8m-9000@iw_tcp
	write-1m-65536@iw_tcp write-8m-65536@iw_tcp
	lat-write@iw_tcp,siw lat-send@iw_tcp,siw lat-read@iw_tcp,siw,rxe mean-write@iw_tcp,siw mean-send@iw_tcp,siw mean-read@iw_tcp,siw,rxe
	rate-write-64@iw_tcp,siw write-64k-1500-q8@iw_tcp write-64k-1500-q1000@iw_tcp
	nvme-randread-4k nvme-read-128k nvme-write-128k@iw_tcp,tcp iser-write-128k@iw_tcp,tcp nfs-read-1m@iw_tcp,tcp
	memory@iw_tcp,tcp insn-write-64k-1500@iw_tcp,siw,tcp insn-write-64k-1500-crc insn-nfs-read-1m@iw_tcp,tcp
	two-write-64k-sender two-write-64k-receiver
	two-write-64k-sender-large two-write-64k-receiver-large"

cases_of() { # full|quick
	local all=$QUICK_CASES
	[ "$1" = quick ] || all="$TARGET_CASES $MORE_CASES $INSN_CASES $NEWEST_CASES $PATH_CASES $TWO_CASES $(ahead_cases)"
	tr -s '[:space:]' ' ' <<<"$all"
}

# octets SIZE: prints SIZE in bytes
octets() {
	case $1 in
	*k) echo $((${1%k} * 1024)) ;;
	*m) echo $((${1%m} * 1048576)) ;;
	*) echo $(($1)) ;;
	esac
}

# case_options WORD...: sets C_MTU, C_QPS and so on from the words of a case's name after the
# size. Fails if it does not know a word.
case_options() {
	local word
	for word; do
		case $word in
		1500 | 9000 | 65536) C_MTU=$word ;;
		q[1-9]*) C_QPS=${word#q} ;;
		bidir) C_BIDIR=1 ;;
		srq) C_SRQ=1 ;;
		odp) C_ODP=1 ;;
		crc) C_CRC=on ;;
		large) C_LARGE=on ;;
		markers) C_MARKERS=on C_CRC=on ;;
		ahead) C_AHEAD=on C_CRC=on ;;
		zerocopy) C_ZEROCOPY=auto ;;
		direct) C_DIRECT=1 ;;
		sender | receiver) C_END=$word ;;
		*) return 1 ;;
		esac
	done
}

# case_parse CASE: sets C_NAME, C_KIND, C_PATH, C_OP, C_SIZE, C_MTU, C_QPS, C_BIDIR, C_SRQ, C_ODP,
# C_CRC, C_LARGE, C_ZEROCOPY, C_MARKERS, C_AHEAD, C_CC, C_QUANTILE, C_END, C_DIRECT, C_DISK (nvme, iser or nfs), C_NEWEST, C_PERFTEST (bw,
# rate or lat), and C_WHO to the contestants. Fails if there is no such case, if the case does not support a contestant after
# "@", or if no contestant follows "@".
case_parse() {
	local who all
	C_NAME=${1%%@*}
	case_words "$C_NAME" || return
	[ "$C_NAME" != "$1" ] || return 0
	all=$C_WHO C_WHO=${1#*@} C_WHO=${C_WHO,,} C_WHO=${C_WHO//,/ }
	[ -n "${C_WHO// /}" ] || C_WHO=none
	for who in $C_WHO; do
		[[ " $all " == *" $who "* ]] || { echo "$C_NAME has no contestant $who, but $all" >&2; return 1; }
	done
}

# case_words NAME: sets the same variables, except C_NAME, from a name without "@"; C_WHO becomes
# all contestants of the case
case_words() {
	local w=() rest
	IFS=- read -ra w <<<"$1"
	C_KIND=flow C_PATH='' C_OP=write C_SIZE=65536 C_MTU=1500 C_QPS=1 C_BIDIR='' C_SRQ='' C_ODP='' C_CRC=off C_END=''
	C_LARGE=off C_ZEROCOPY=off C_DIRECT='' C_PERFTEST=bw C_DISK='' C_NEWEST=''
	C_MARKERS=off C_AHEAD=off C_CC='' C_QUANTILE=''
	case ${w[0]} in
	conn) C_KIND=conn C_WHO="iw_tcp siw rxe" C_QPS=16
		[ "${w[1]:-}" != serial ] || C_QPS=1
		return 0 ;;
	memory) C_KIND=mem C_WHO="iw_tcp siw rxe tcp" C_QPS=3001
		return 0 ;;
	write | read | send) ;;
	hole | tail) case_ahead "${w[@]}"; return ;;
	nvme | iser | nfs) C_KIND=disk ;;
	newest) C_KIND=insn C_NEWEST=1; w=("${w[@]:1}") ;;
	rate | lat | mean | insn | two) C_KIND=${w[0]}; w=("${w[@]:1}") ;;
	perftest)
		C_KIND=perftest w=("${w[@]:1}")
		[[ ${w[0]:-} != @(rate|lat) ]] || { C_PERFTEST=${w[0]}; w=("${w[@]:1}"); } ;;
	path)
		C_KIND=path C_PATH=${w[1]:-none}
		[[ " $PATHS " == *" $C_PATH "* ]] || return
		w=("${w[@]:2}") ;;
	*) return 1 ;;
	esac
	if [[ $C_KIND = @(disk|insn) && ${w[0]:-} = @(nvme|iser|nfs) ]]; then
		case_disk "${w[@]}"
		return
	fi
	C_OP=${w[0]:-}
	[ -n "${w[1]:-}" ] || w[1]=8
	[[ $C_OP == @(write|read|send|atomic) && ${w[1]} =~ ^[0-9]+[km]?$ ]] || return
	C_SIZE=$(octets "${w[1]}")
	rest=("${w[@]:2}")
	case_options "${rest[@]}" && case_contestants || return
	[ -z "$C_DIRECT" ] || [ $C_KIND = perftest ] || return
	[ "$C_MARKERS$C_AHEAD" = offoff ] || [[ $C_KIND = @(flow|insn) ]] || return
	# The name of a case "two" must contain sender or receiver, and may contain large and
	# zerocopy. Other names must not contain these words.
	if [ $C_KIND = two ]; then [ -n "$C_END" ]; else [ "$C_END$C_LARGE$C_ZEROCOPY" = offoff ]; fi
}

# case_ahead WORD...: sets the variables from the words of a case "hole" or "tail"
case_ahead() {
	C_KIND=$1 C_WHO="iw_tcp tcp"
	if [ "$1" = hole ]; then
		[[ ${2:-} =~ ^[0-9]+[km]$ ]] || return
		C_SIZE=$(octets "$2")
		shift 2
	else
		[[ " $TAIL_PATHS " == *" ${2:-none} "* && ${3:-} = @(cubic|bbr) && ${4:-} = @(p50|p99|p999) ]] || return
		C_PATH=$2 C_CC=$3 C_QUANTILE=$4
		shift 4
	fi
	[ $# -ne 0 ] || return 0
	C_WHO=iw_tcp
	[[ $* = @(crc|markers|ahead) ]] && case_options "$@"
}

# case_disk WORD...: sets the variables from the words of a case of storage
case_disk() {
	C_DISK=$1 C_OP=${2:-} C_SIZE=0 C_WHO="iw_tcp siw tcp"
	[ "$C_KIND:$1" != disk:nvme ] || C_WHO="iw_tcp siw rxe tcp"
	if [ "$1-$C_OP" = nfs-create ]; then
		shift 2
	else
		[[ $C_OP = @(randread|read|randwrite|write) && ${3:-} =~ ^[0-9]+[km]$ ]] || return
		C_SIZE=$(octets "$3")
		shift 3
	fi
	[ $# -ne 0 ] || return 0
	# only iw_tcp has these settings
	C_WHO=iw_tcp
	[[ " $* " =~ ^(\ (crc|large|zerocopy))+\ $ ]] && case_options "$@"
}

case_contestants() {
	C_WHO="iw_tcp siw rxe"
	case $C_KIND:$C_OP in
	flow:*)
		C_WHO+=" tcp discard"
		[ "$C_SIZE" -lt 65536 ] || [ "$C_QPS" -gt 64 ] || C_WHO+=" iperf3" ;;
	rate:*) C_WHO+=" tcp" ;;
	path:*) C_WHO="iw_tcp tcp" ;;
	lat:write | lat:send | mean:write | mean:send) C_WHO+=" tcp" ;;
	insn:*)
		C_WHO="iw_tcp siw tcp discard"
		[ "$C_CRC" = off ] || C_WHO="iw_tcp" ;;
	two:*)
		C_WHO="iw_tcp tcp"
		[ "$C_CRC" = off ] || C_WHO="iw_tcp" ;;
	esac
	# The targets compare these figures of iw_tcp with its figures without srq or odp, so no
	# other contestant is needed
	[ -z "$C_SRQ$C_ODP" ] || C_WHO="iw_tcp"
	[ -z "$C_DIRECT" ] || C_WHO="iw_tcp rxe"
}

# case_cannot CONTESTANT: if the contestant cannot run the case, prints the reason
case_cannot() {
	[ "$1-$C_DISK" != siw-nfs ] ||
		echo "siw binds a listener for all addresses to the net device, but packets come from lo"
	case $1:$C_KIND:$C_OP:$C_MTU in
	siw:lat:atomic:* | siw:mean:atomic:*) echo "siw has no atomic operations" ;;
	rxe:disk:*) echo "rxe shortcuts what stays on its own device" ;;
	rxe:*:65536) echo "rxe shortcuts what stays on its own device" ;;
	discard:*:*:*) [ -z "$C_BIDIR" ] || echo "one direction only" ;;
	tcp:flow:*:*) [ -z "$C_BIDIR" ] || echo "one direction only; see iperf3" ;;
	esac
}
