#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The settings of a link in configfs, and what connections make of them.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/verify.sh"

require iwt_verify rdma
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "settings of iw_tcp"
want_configfs || skip_all "no configfs here"
top=/sys/kernel/config/iw_tcp

# is NAME FILE VALUE
is() { [ "$(cat "$top/$1/$2")" = "$3" ]; }
# set NAME FILE VALUE
put() { echo "$3" >"$top/$1/$2"; }

# short WHAT: every operation in a few sizes
short() { verify_pair "$1" $IP_B --max-size 5000 --rounds 1 --no-neg --no-events --no-wr; }

ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
check "a link's directory" mkdir $top/$DEV_A $top/$DEV_B
refuse "no directory for what is no link" mkdir $top/iwt-none
check "CRC is on" is $DEV_A crc on
check "markers are not asked for" is $DEV_A markers off
check "revision 2 is spoken" is $DEV_A mpa_revision 2
check "RDMAC peers are not" is $DEV_A rdmac_permissive off
check "FPDUs are no longer than segments" is $DEV_A large_fpdus off
for word in off required on; do
	check "crc: $word" put $DEV_A crc $word
	check "crc says $word" is $DEV_A crc $word
done
check "nothing is sent without a copy" is $DEV_A zerocopy off
for word in auto always off; do
	if [ -e /sys/kernel/realtime ] && [ $word != off ]; then
		refuse "zerocopy: not $word on PREEMPT_RT" put $DEV_A zerocopy $word
		continue
	fi
	check "zerocopy: $word" put $DEV_A zerocopy $word
	check "zerocopy says $word" is $DEV_A zerocopy $word
done
check "a silent peer is asked after a minute" is $DEV_A keepalive 60
check "and given up after five" is $DEV_A patience 300
for word in keepalive patience; do
	for seconds in 7 0; do
		check "$word: $seconds" put $DEV_A $word $seconds
		check "$word says $seconds" is $DEV_A $word $seconds
	done
done
for bad in keepalive:-1 patience:32768 patience:x crc:maybe crc: zerocopy:on zerocopy: markers:2 mpa_revision:0 mpa_revision:3 mpa_revision:-1 rdmac_permissive:x large_fpdus:2; do
	REFUSAL="Invalid argument" refuse "refused: $bad" put $DEV_A "${bad%%:*}" "${bad#*:}"
done
check "what was refused changed nothing" is $DEV_A mpa_revision 2

put $DEV_A markers on
short "markers towards the client"
put $DEV_B markers on
short "markers in both directions"
put $DEV_A markers off
short "markers towards the server"
put $DEV_A crc off
put $DEV_B crc off
short "markers without CRC"
put $DEV_B markers off
short "neither"
put $DEV_B crc on
short "CRC at the wish of one"
put $DEV_A large_fpdus on
put $DEV_B large_fpdus on
short "long FPDUs"
put $DEV_B markers on
short "long FPDUs towards the client, markers towards the server"

check "the link goes" link_del "$NS_A" $DEV_A
refuse "its settings with it" cat $top/$DEV_A/crc
check "another of that name" link_add "$NS_A" $DEV_A $IF_A
check "has settings of its own" is $DEV_A crc on
check "directories go" rmdir $top/$DEV_A $top/$DEV_B
ktap_finish
