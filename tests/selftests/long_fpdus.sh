#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# FPDUs longer than a segment, between links that are set so: all data verified,
# with CRC and without, with loss; and none unless both are.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/verify.sh"

require iwt_verify rdma tc
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "settings of iw_tcp"
want_configfs || skip_all "no configfs here"
top=/sys/kernel/config/iw_tcp

# put FILE VALUE: on both links
put() {
	local dev
	for dev in $DEV_A $DEV_B; do echo "$2" >"$top/$dev/$1"; done
}

# data WHAT: all operations; sets SENT[LINK], octets of an FPDU on average
declare -A SENT
data() {
	local dev
	local -A fpdus bytes
	for dev in $DEV_A $DEV_B; do
		fpdus[$dev]=$(counter "$dev" tx_fpdu) bytes[$dev]=$(counter "$dev" tx_bytes)
	done
	verify_pair "$1" $IP_B --max-size 70000 --rounds 1 --no-neg --no-events --no-wr
	for dev in $DEV_A $DEV_B; do
		SENT[$dev]=$((($(counter "$dev" tx_bytes) - bytes[$dev]) / ($(counter "$dev" tx_fpdu) - fpdus[$dev] + 1)))
	done
	echo "# octets of an FPDU: ${SENT[$DEV_A]}, ${SENT[$DEV_B]}"
}

# are longer|short: compared with what they were at first; most messages are short
are() {
	local dev is
	for dev in $DEV_A $DEV_B; do
		is=short
		[ "${SENT[$dev]}" -le $((SHORT[$dev] * 5 / 4)) ] || is=longer
		[ "$is" = "$1" ] || return
	done
}

ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
mkdir $top/$DEV_A $top/$DEV_B
put large_fpdus off
data "neither"
declare -A SHORT=([$DEV_A]=${SENT[$DEV_A]} [$DEV_B]=${SENT[$DEV_B]})
check "neither: FPDUs fit in segments" [ $((SHORT[$DEV_A] > 1448 || SHORT[$DEV_B] > 1448)) = 0 ]
if [ -z "${IWT_QUICK:-}" ]; then
	echo on >$top/$DEV_A/large_fpdus
	data "the client alone"
	check "the client alone: FPDUs fit in segments" are short
fi
put large_fpdus on
data "CRC"
check "CRC: FPDUs are longer than segments" are longer
put crc off
data "no CRC"
check "no CRC: FPDUs are longer than segments" are longer
if [ -n "${IWT_QUICK:-}" ]; then
	rmdir $top/$DEV_A $top/$DEV_B
	ktap_finish
fi
if in_a tc qdisc add dev "$IF_A" root netem loss 1% 2>/dev/null &&
	in_b tc qdisc add dev "$IF_B" root netem loss 1%; then
	data "no CRC, with loss"
	put crc on
	data "CRC, with loss"
	check "with loss: FPDUs are longer than segments" are longer
else
	skip "with loss" "no netem here"
fi
rmdir $top/$DEV_A $top/$DEV_B
ktap_finish
