# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions of the suites of block devices: fio with verification, a load during which the suite
# disturbs the device, and the measurement of the speed.

MB=$(if_quick 4 32)
LOAD=$here/disk_load.py
LOAD_PID=

# fio_all WHAT DISK: checks DISK by all runs of fio
fio_all() {
	check "$1: fio: random writes of 4 KB, verified" compared $((MB / 4)) fio_verify "$2" randwrite 4k $((MB / 4))
	check "$1: fio: random writes of 60 KB, verified" compared $MB fio_verify "$2" randwrite 60k $MB
	check "$1: fio: sequential writes of 256 KB, verified" compared $MB fio_verify "$2" write 256k $MB
}

# has_srq MODULE: does this kernel module have a shared receive queue on the link iwt_eth0?
has_srq() { rdma resource show srq | grep -q "^dev iwt_eth0 .*$1"; }

# load_begin DISK: starts the load: four processes, which write and compare blocks of DISK
# load_end: ends the load; fails if one of its processes has found a difference or an error
load_begin() {
	rm -f "$TMP/progress" "$TMP/enough"
	start python3 "$LOAD" "$1" $MB "$TMP/progress" "$TMP/enough" >"$TMP/load" 2>&1
	LOAD_PID=$PID
	busywait "$IWT_TIME" test -s "$TMP/progress"
}

# done_more STEPS: has the load made at least STEPS steps since load_begin?
done_more() { [ "$(stat -c %s "$TMP/progress")" -ge "$1" ]; }

# load_goes_on: waits until the load has made a hundred more steps
load_goes_on() { busywait $((IWT_TIME * 2)) done_more $(($(stat -c %s "$TMP/progress") + 100)); }

load_end() {
	local rc=0
	touch "$TMP/enough"
	ended "$LOAD_PID" $((IWT_TIME * 2)) || rc=$?
	cat "$TMP/load"
	verified "$(awk '/^compared/ { n = $2 } END { print n + 0 }' "$TMP/load")"
	return $rc
}

# beside_load DISK COMMAND...: runs COMMAND during the load. Fails if COMMAND fails, if the load
# does not continue after COMMAND, or if data of the load have changed.
beside_load() {
	local rc=0
	load_begin "$1" || { cat "$TMP/load"; return 1; }
	load_goes_on && "${@:2}" && load_goes_on || rc=1
	load_end && return $rc
}

# lost_for SECONDS: drops all packets to this machine's own addresses, for SECONDS
lost_for() {
	tc qdisc add dev lo root netem loss 100% && nap "$1" && tc qdisc del dev lo root
}

# disk_speed DISK: sets TOOK to the microseconds to write and read the first MB megabytes of DISK
# several times
disk_speed() {
	local wrote
	seconds fio_plain "$1" write && wrote=$TOOK && seconds fio_plain "$1" read && TOOK=$((TOOK + wrote))
}
fio_plain() {
	iwt_patient "$IWT_TIME" fio --name=speed --filename="$1" --size="${MB}m" --loops="$(if_quick 2 8)" --direct=1 \
		--ioengine=libaio --iodepth=16 --rw="$2" --bs=128k --minimal
}
