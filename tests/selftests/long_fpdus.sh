#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# FPDUs longer than a segment: all data are verified, with and without CRC, and with packet loss.
# FPDUs may only be longer than a segment if the settings of both links allow this.
# IWT_QUICK: without packet loss, and not with the setting on one link only
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify rdma tc
only_iw_tcp "settings of iw_tcp"
only_with COUNTERS
want_settings

# data WHAT: verifies all operations; sets SENT[LINK] to the average number of bytes of an FPDU
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

# are longer: are the FPDUs of both links longer than in the first run (SHORT)? are short: are they
# as short as in the first run? An average that is more than a quarter longer counts as longer,
# because most messages are short.
are() {
	local dev is
	for dev in $DEV_A $DEV_B; do
		is=short
		[ "${SENT[$dev]}" -le $((SHORT[$dev] * 5 / 4)) ] || is=longer
		[ "$is" = "$1" ] || return
	done
}

two_links
settings_begin
set_links large_fpdus off
data "neither link"
declare -A SHORT=([$DEV_A]=${SENT[$DEV_A]} [$DEV_B]=${SENT[$DEV_B]})
check "neither link: FPDUs fit in segments" [ $((SHORT[$DEV_A] > 1448 || SHORT[$DEV_B] > 1448)) = 0 ]
if [ -z "${IWT_QUICK:-}" ]; then
	set_link "$DEV_A" large_fpdus on
	data "the client's link alone"
	check "the client's link alone: FPDUs fit in segments" are short
fi
set_links large_fpdus on
data "CRC"
check "CRC: FPDUs are longer than segments" are longer
set_links crc off
data "no CRC"
check "no CRC: FPDUs are longer than segments" are longer
if [ -n "${IWT_QUICK:-}" ]; then
	settings_end
	ktap_finish
fi
if in_a tc qdisc add dev "$IF_A" root netem loss 1% 2>/dev/null &&
	in_b tc qdisc add dev "$IF_B" root netem loss 1%; then
	data "no CRC, with loss"
	set_links crc on
	data "CRC, with loss"
	check "with loss: FPDUs are longer than segments" are longer
else
	skip "with loss" "no netem here"
fi
settings_end
ktap_finish
