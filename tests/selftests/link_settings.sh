#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The settings of a link in configfs, the parameters of the module, which are the initial settings
# of a new link, and the effect of settings on connections. IWT_SEED repeats the random texts of a
# run.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify rdma python3
only_iw_tcp "settings of iw_tcp"
want_settings

# is LINK SETTING VALUE: does the link have this value of the setting?
is() { [ "$(setting "$1" "$2")" = "$3" ]; }

# short WHAT: verifies every operation with a few sizes
short() { verify_pair "$1" $IP_B --max-size 5000 --rounds 1 --no-neg --no-events --no-wr; }

two_links
check "a link's directory" settings_begin
refuse "no directory for a link that does not exist" mkdir $SETTINGS/iwt-none
check "CRC is on" is $DEV_A crc on
check "markers are off" is $DEV_A markers off
check "mpa_revision is 2" is $DEV_A mpa_revision 2
check "rdmac_permissive is off" is $DEV_A rdmac_permissive off
check "large_fpdus is off" is $DEV_A large_fpdus off
for word in off required on; do
	check "crc: $word" set_link $DEV_A crc $word
	check "crc says $word" is $DEV_A crc $word
done
check "zerocopy is off" is $DEV_A zerocopy off
for word in auto always off; do
	if ! may_zerocopy && [ $word != off ]; then
		refuse "zerocopy: $word is refused without zero copy" set_link $DEV_A zerocopy $word
		continue
	fi
	check "zerocopy: $word" set_link $DEV_A zerocopy $word
	check "zerocopy says $word" is $DEV_A zerocopy $word
done
polling=on
may_poll || polling=off
check "polling is $polling" is $DEV_A polling $polling
for word in off on; do
	if ! may_poll && [ $word = on ]; then
		REFUSAL="not supported" refuse "polling: on is refused where polling is not possible" set_link $DEV_A polling on
		continue
	fi
	check "polling: $word" set_link $DEV_A polling $word
	check "polling says $word" is $DEV_A polling $word
done
check "keepidle is a minute" is $DEV_A keepidle 60
check "user_timeout is five minutes" is $DEV_A user_timeout 300
for word in keepidle user_timeout; do
	for seconds in 7 0; do
		check "$word: $seconds" set_link $DEV_A $word $seconds
		check "$word says $seconds" is $DEV_A $word $seconds
	done
done
if has_feature DIRECT; then port=64791; else port=0; fi
check "direct_port is $port" is $DEV_A direct_port $port
for word in 65535 64791 0; do
	if [ $word != 0 ] && ! has_feature DIRECT; then
		REFUSAL="not supported" refuse "refused: direct_port $word" set_link $DEV_A direct_port $word
		continue
	fi
	check "direct_port: $word" set_link $DEV_A direct_port $word
	check "direct_port says $word" is $DEV_A direct_port $word
done
REFUSAL="out of range" refuse "refused: direct_port 65536" set_link $DEV_A direct_port 65536
check "ahead is off" is $DEV_A ahead off
if has_feature AHEAD; then
	check "ahead: on" set_link $DEV_A ahead on
	check "ahead says on" is $DEV_A ahead on
	check "ahead: off again" set_link $DEV_A ahead off
fi
check "tos is 0" is $DEV_A tos 0
for word in 252 0x28; do check "tos: $word" set_link $DEV_A tos $word; done
check "tos says 40" is $DEV_A tos 40
for bad in tos:256 keepidle:32768 user_timeout:32768 user_timeout:65536 mpa_revision:0 mpa_revision:3 mpa_revision:256; do
	REFUSAL="out of range" refuse "refused: $bad" set_link $DEV_A "${bad%%:*}" "${bad#*:}"
done
for word in keepidle user_timeout; do check "$word: 32767" set_link $DEV_A $word 32767; done
for bad in tos:1 tos:2 tos:254 tos:-4 tos: keepidle:-1 user_timeout:x crc:maybe crc: zerocopy:on zerocopy: polling:auto polling: polling:2 markers:2 markers:10 markers:none mpa_revision:-1 rdmac_permissive:x large_fpdus:2 ahead:2; do
	REFUSAL="Invalid argument" refuse "refused: $bad" set_link $DEV_A "${bad%%:*}" "${bad#*:}"
done
check "refused values had no effect: mpa_revision" is $DEV_A mpa_revision 2
check "refused values had no effect: tos" is $DEV_A tos 40
SEED=${IWT_SEED:-$RANDOM}
only_off=
may_zerocopy || only_off=zerocopy
may_poll || only_off=$only_off,polling
has_feature DIRECT || only_off=$only_off,direct_port
has_feature AHEAD || only_off=$only_off,ahead
tap "every setting" python3 "$IWT_LIB/settings.py" $SETTINGS/$DEV_A "$SEED" 4000 "$only_off"
settings_end

# The module's parameters are the initial settings of a new link.
params=/sys/module/iw_tcp/parameters
set_param() { echo "$2" >"$params/$1"; }
param_is() { [ "$(cat "$params/$1")" = "$2" ]; }
new_link() { link_del "$NS_A" "$DEV_A" && link_add "$NS_A" "$DEV_A" "$IF_A" && settings_begin; }
declare -A former=() other=([crc]=required [mpa_revision]=1 [keepidle]=7 [user_timeout]=9 [tos]=40 [zerocopy]=auto [polling]=off [direct_port]=4791 [ahead]=on)
has_feature AHEAD || other[ahead]=off
may_zerocopy || other[zerocopy]=off
has_feature DIRECT || other[direct_port]=0
for word in "${!other[@]}"; do
	former[$word]=$(cat "$params/$word")
	check "parameter $word: ${other[$word]}" set_param "$word" "${other[$word]}"
	check "parameter $word says ${other[$word]}" param_is "$word" "${other[$word]}"
done
for bad in crc:maybe mpa_revision:3 keepidle:32768 user_timeout:x tos:1 zerocopy:on polling:auto; do
	refuse "refused: parameter $bad" set_param "${bad%%:*}" "${bad#*:}"
	check "refused values had no effect: parameter $bad" param_is "${bad%%:*}" "${other[${bad%%:*}]}"
done
check "a new link" new_link
for word in "${!other[@]}"; do
	check "a new link begins with $word ${other[$word]}" is $DEV_A "$word" "${other[$word]}"
	check "parameter $word: ${former[$word]} again" set_param "$word" "${former[$word]}"
done
settings_end
check "a new link after the parameters were set back" new_link
for word in "${!former[@]}"; do check "this link begins with $word ${former[$word]}" is $DEV_A "$word" "${former[$word]}"; done

set_link $DEV_A markers on
short "markers towards the client"
set_link $DEV_B markers on
short "markers in both directions"
set_link $DEV_A markers off
short "markers towards the server"
set_link $DEV_A crc off
set_link $DEV_B crc off
short "markers without CRC"
set_link $DEV_B markers off
short "neither markers nor CRC"
set_link $DEV_B crc on
short "CRC because one link requires it"
set_link $DEV_A large_fpdus on
set_link $DEV_B large_fpdus on
short "long FPDUs"
set_link $DEV_B markers on
short "long FPDUs towards the client, markers towards the server"

check "the link is deleted" link_del "$NS_A" $DEV_A
refuse "its settings can't be read any more" setting $DEV_A crc
check "a new link gets the same name" link_add "$NS_A" $DEV_A $IF_A
check "the new link has default settings" is $DEV_A crc on
check "the directories are removed" settings_end
ktap_finish
