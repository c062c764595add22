#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Zero copy: TCP refers to the consumer's memory instead of copying it.
# tests/peer/rows_rdmap_zc.py tests how long TCP may refer to this memory.
# IWT_QUICK: test only a path with delay and losses. IWT_VERIFY_ARGS: arguments of iwt_verify in its
# first run, instead of the default arguments.
# IWT_ZC_OTHERS: other selftests to run with zero copy (kill.sh unplug.sh).
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify rdma
only_iw_tcp "zero copy of iw_tcp"
only_with ZEROCOPY
want_settings
! is_realtime || skip_all "not with PREEMPT_RT"
params=/sys/module/iw_tcp/parameters
short=(--max-size 300000 --rounds 1 --no-neg --no-events --no-wr)

# zerocopy WORD [CRC]: sets the settings "zerocopy" and "crc" (default: off) of both links. Stores
# the number that lent() prints now in BEFORE.
zerocopy() {
	set_links crc "${2:-off}"
	set_links zerocopy "$1"
	BEFORE=$(lent)
}

# lent: prints how many bytes A has given to TCP by reference
lent() { counter "$DEV_A" tx_zerocopy; }
some_lent() { [ "$(lent)" -gt "$BEFORE" ]; }
none_lent() { [ "$(lent)" -eq "$BEFORE" ]; }

offload() { in_a ethtool -K "$IF_A" "$@" >/dev/null 2>&1; }
netem() { in_a tc qdisc replace dev "$IF_A" root netem "$@" && in_b tc qdisc replace dev "$IF_B" root netem "$@"; }

# with_netem WHAT PROFILE...: runs iwt_verify while both ends send with this delay or loss
with_netem() {
	local what=$1
	if ! netem "${@:2}" 2>/dev/null; then
		skip "$what" "no netem here"
		return
	fi
	verify_pair "$what" $IP_B "${short[@]}"
	in_a tc qdisc del dev "$IF_A" root
	in_b tc qdisc del dev "$IF_B" root
}

# elsewhere TEST: runs another selftest, with links that copy no data
elsewhere() {
	local rc
	bash "$(dirname "$0")/$1" >"$TMP/elsewhere" 2>&1
	rc=$?
	if [ $rc -eq 4 ]; then
		skip "$1" "this selftest skips itself"
	elif [ $rc -eq 0 ]; then
		ok "$1"
	else
		not_ok "$1"
		grep -A8 '^not ok' "$TMP/elsewhere" | diag
	fi
}

two_links 9000
settings_begin

zerocopy always
if [ -n "${IWT_QUICK:-}" ]; then
	with_netem "far and lossy" delay 3ms loss 1%
	check "netem: by reference" some_lent
	settings_end
	ktap_finish
fi
# shellcheck disable=SC2086
verify_pair "always" "$IP_B" ${IWT_VERIFY_ARGS:---max-size 1100000 --rounds 1 --no-wr}
check "always: by reference" some_lent
zerocopy always on
verify_pair "always, with CRC" $IP_B "${short[@]}"
check "always, with CRC: by copy" none_lent
zerocopy auto
verify_pair "auto, veth" $IP_B "${short[@]}"
check "auto, veth: by copy" none_lent
zerocopy off
verify_pair "off" $IP_B "${short[@]}"
check "off: by copy" none_lent

zerocopy always
with_netem "far and lossy" delay 3ms loss 1%
with_netem "out of order" delay 3ms reorder 60% 50% duplicate 5%
check "netem: by reference" some_lent
if offload tso off gso off; then
	zerocopy always
	verify_pair "without segmentation offload" $IP_B "${short[@]}"
	check "without segmentation offload: by reference" some_lent
	offload tx off sg off
	zerocopy always
	verify_pair "without scatter/gather" $IP_B "${short[@]}"
	offload tx on sg on tso on gso on
else
	skip "offloads" "no ethtool here"
fi
ip -n "$NS_A" link set "$IF_A" mtu 1500
zerocopy always
verify_pair "small segments" $IP_B "${short[@]}"
check "small segments: by reference" some_lent
settings_end

was_crc=$(cat $params/crc) was_zc=$(cat $params/zerocopy)
echo off >$params/crc
echo always >$params/zerocopy
for other in ${IWT_ZC_OTHERS-kill.sh unplug.sh}; do
	elsewhere "$other"
done
echo "$was_crc" >$params/crc
echo "$was_zc" >$params/zerocopy
ktap_finish
