#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests files of settings: iw_tcp-link must apply all lines of /etc/iw_tcp/NETDEV.conf, or no line,
# and must report the wrong lines. Also tests the examples of such files, and the completion of the
# arguments of iw_tcp-link, and two commands at once (IWT_ROUNDS times; 10, and 5 for a new link).
. "$(dirname "$0")/../lib/begin.sh"

FILE=/etc/iw_tcp/$IF_A.conf LINK=iwt_$IF_A
EXAMPLES=/usr/share/doc/iw-tcp/examples
COMPLETION=/usr/share/bash-completion/completions/iw_tcp-link

begin iw_tcp-link rdma udevadm
only_iw_tcp "iw_tcp-link makes links of iw_tcp"
want_settings
mkdir -p /etc/iw_tcp
trap 'rm -rf "$FILE"; cleanup' EXIT

up() { in_a iw_tcp-link up "$IF_A"; }
down() { in_a iw_tcp-link down "$IF_A"; }
has_link() { in_net "$NS_A" rdma link show "$LINK/1" >/dev/null 2>&1; }
no_directory() { [ ! -e "$SETTINGS/$LINK" ]; }
# number: prints the index of the link's device, which is never used again for another device
number() { in_net "$NS_A" rdma dev show "$LINK" | cut -d: -f1; }
same_link() { [ "$(number)" = "$1" ]; }

# is NAME VALUE: is VALUE the value of the link's setting NAME?
is() {
	local got
	mkdir "$SETTINGS/$LINK" || return
	got=$(setting "$LINK" "$1")
	rmdir "$SETTINGS/$LINK"
	[ "$got" = "$2" ] || { echo "$1 is $got, not $2"; return 1; }
}

# bad WHAT ERROR LINE: checks that iw_tcp-link fails with this ERROR if the third line of the file
# is LINE. Then the good lines before and after LINE must change no setting: no new link is made,
# and an existing link keeps its settings.
bad() {
	local error
	error="^iw_tcp-link: ${FILE//./\\.}:3: $2\$"
	printf '# a file\nkeepidle=7\n%s\nuser_timeout=9\n' "$3" >"$FILE"
	REFUSAL=$error refuse "$1: no link is made, for this reason" up
	check "$1: there is none" not has_link
	check "$1: the module can be unloaded" no_directory
	rm "$FILE"
	check "$1: a link without the file" up
	printf '# a file\nkeepidle=7\n%s\nuser_timeout=9\n' "$3" >"$FILE"
	REFUSAL=$error refuse "$1: an existing link does not get it" up
	check "$1: it stays" has_link
	check "$1: the line before changes nothing" is keepidle 60
	check "$1: nor does the line after" is user_timeout 300
	check "$1: the link can go" down
}

# names NUMBER...: does iw_tcp-link fail, and report an error for each line of the file with one of
# these NUMBERs?
names() {
	local place
	up >"$TMP/said" 2>&1 && return 1
	cat "$TMP/said"
	for place; do grep -q "^iw_tcp-link: $FILE:$place: " "$TMP/said" || return 1; done
}

# supported: copies lines with settings; leaves out settings whose values need a feature that this
# kernel or this build of the driver does not have
supported() {
	local without=()
	may_poll || without+=(-e polling)
	has_feature DIRECT || without+=(-e direct_port)
	if [ ${#without[@]} -eq 0 ]; then cat; else grep -v "${without[@]}"; fi
}

two_namespaces
MADE_DEV+=("$NS_A $LINK")
check "without a file: a link" up
check "without a file: it is there" has_link
check "without a file: it has the defaults" is keepidle 60
before=$(number)
printf '# settings\n\n  \n#crc=off\ncrc=required\n keepidle =\t7 \r\ntos=0x28\nuser_timeout=9' >"$FILE"
check "a file: the existing link gets its settings" up
check "a file: it is the same link" same_link "$before"
for pair in crc=required keepidle=7 tos=40 user_timeout=9 markers=off; do
	check "a file: $pair" is "${pair%=*}" "${pair#*=}"
done
check "a file: no directory stays, and the module can be unloaded" no_directory
check "a new link" eval "down && up"
check "a new link: its settings are those of the file" is crc required
check "a directory that was there" mkdir "$SETTINGS/$LINK"
check "a directory that was there: the settings apply" up
check "a directory that was there: it stays" rmdir "$SETTINGS/$LINK"
check "down" down

# at_once ROUNDS COMMAND...: executes COMMAND, and then two commands "up" at the same time, in each of
# ROUNDS rounds; fails if one of the commands "up" fails
at_once() {
	local n pid said=0
	for ((n = 0; n < $1; n++)); do
		"${@:2}" || return
		up >"$TMP/first" 2>&1 &
		pid=$!
		up >"$TMP/second" 2>&1 || said=$?
		wait $pid || said=$?
		[ $said = 0 ] || { echo "round $n: status $said"; cat "$TMP/first" "$TMP/second"; return 1; }
	done
}
check "two commands at once, a link that exists" eval "up && at_once ${IWT_ROUNDS:-10} true"
check "two commands at once, no link" at_once ${IWT_ROUNDS:-5} down
check "two commands at once: the settings of the file" is keepidle 7
check "two commands at once: no directory stays" no_directory
check "down" down

bad "a line without a value" 'this is not name=value: crc' crc
bad "a name with a directory" 'this is not the name of a setting: \.\./\.\./iw_tcp/crc' ../../iw_tcp/crc=off
bad "a name of another file" 'this is not the name of a setting: /proc/sys/kernel/hostname' /proc/sys/kernel/hostname=evil
bad "no name" 'this is not the name of a setting: ' =off
bad "a name in capitals" 'this is not the name of a setting: CRC' CRC=off
bad "two names" 'this is not the name of a setting: crc tos' 'crc tos=0'
bad "an unknown setting" 'there is no setting mtu' mtu=1500
bad "a second value" 'a second value of keepidle' keepidle=8
bad "a word that is no value" 'crc=maybe: Invalid argument' crc=maybe
bad "no value" 'tos=: Invalid argument' tos=
bad "a comment behind a value" 'crc=off # no: Invalid argument' 'crc=off # no'
bad "a value that is too high" 'tos=256: Numerical result out of range' tos=256
may_poll || bad "a value that this kernel lacks" 'polling=on: Operation not supported' polling=on

printf 'crc=maybe\ntos=3\nmtu=1\n' >"$FILE"
check "an unknown name: it is named before values are tried" names 3
printf 'crc=maybe\nkeepidle=7\ntos=3\n' >"$FILE"
check "two wrong values: both are named" names 1 3
printf '/=1\nkeepidle=7\nx\n' >"$FILE"
check "two wrong lines: both are named" names 1 3
rm "$FILE"
# names that are equal as numbers
in_a ip link add 10 type dummy
in_a ip link add 1e1 type dummy
MADE_DEV+=("$NS_A iwt_10" "$NS_A iwt_1e1")
check "numbers: a link on 10" in_a iw_tcp-link up 10
check "numbers: a link on 1e1" in_a iw_tcp-link up 1e1
check "numbers: the link on 10 goes" in_a iw_tcp-link down 10
check "numbers: the link on 1e1 stays" rdma_in "$NS_A" 1e1
check "numbers: the link on 1e1 goes" in_a iw_tcp-link down 1e1
in_a ip link del 10
in_a ip link del 1e1
# a name with a backslash, and an escape sequence in it
NAME='a\bc'
if in_a ip link add "$NAME" type dummy; then
	MADE_DEV+=("$NS_A iwt_$NAME")
	check "a backslash: a link" in_a iw_tcp-link up "$NAME"
	check "a backslash: up again does nothing" in_a iw_tcp-link up "$NAME"
	check "a backslash: down" in_a iw_tcp-link down "$NAME"
	check "a backslash: there is no link" not in_net "$NS_A" rdma link show "iwt_$NAME/1"
	in_a ip link del "$NAME"
else
	skip "a backslash in the name" "no such net device"
fi
mkdir "$FILE"
REFUSAL="^iw_tcp-link: $FILE: cannot read this file" refuse "a directory is no file" up
rmdir "$FILE"
REFUSAL="there is no net device" refuse "no net device with a slash" in_a iw_tcp-link up "../net/$IF_A"
REFUSAL="there is no net device" refuse "no net device .." in_a iw_tcp-link up ..

if [ -e $EXAMPLES/eth0.conf ]; then
	sed 's/^#\([a-z_]*=\)/\1/' $EXAMPLES/eth0.conf | supported >"$FILE"
	check "the example has every setting" eval "in_a iw_tcp-link up $IF_A && mkdir $SETTINGS/$LINK &&
		diff <(sed -n 's/^#\([a-z_]*\)=.*/\1/p' $EXAMPLES/eth0.conf | sort) <(ls $SETTINGS/$LINK)"
	rmdir "$SETTINGS/$LINK"
	check "the example's link goes" down
else
	missing "the example of settings" $EXAMPLES/eth0.conf
fi
if [ -e $EXAMPLES/modprobe.conf ] && in_laboratory; then
	mkdir "$TMP/modprobe.d"
	sed -n 's/^#\(options .*\)/\1/p' $EXAMPLES/modprobe.conf | supported >"$TMP/modprobe.d/iw_tcp.conf"
	check "the example of modprobe.d has every parameter" diff <(modinfo -F parm iw_tcp | cut -d: -f1 | sort) \
		<(sed -n 's/^#options iw_tcp \([a-z_]*\)=.*/\1/p' $EXAMPLES/modprobe.conf | sort)
	sed -i 's/keepidle=.*/keepidle=7/' "$TMP/modprobe.d/iw_tcp.conf"
	check "the module is loaded with it" eval "modprobe -r iw_tcp && modprobe -C $TMP/modprobe.d iw_tcp"
	check "its values are the defaults" grep -qx 7 /sys/module/iw_tcp/parameters/keepidle
	check "the module is loaded without it" eval "modprobe -r iw_tcp && modprobe iw_tcp"
elif in_laboratory; then
	missing "the example of modprobe.d" $EXAMPLES/modprobe.conf
else
	skip "the example of modprobe.d" "others may need the module here"
fi

# completes RESULT WORD...: does bash complete the last WORD to the words in RESULT?
completes() {
	local want=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_iw_tcp_link
	[ "${COMPREPLY[*]}" = "$want" ] || { echo "${COMPREPLY[*]}"; return 1; }
}
if [ -e $COMPLETION ]; then
	# shellcheck source=service/completion.bash
	. $COMPLETION
	check "completion: commands" completes "up down status users" iw_tcp-link ""
	check "completion: a command" completes status iw_tcp-link st
	check "completion: a net device" completes lo iw_tcp-link up lo
	check "completion: who" completes "all group" iw_tcp-link users ""
	check "completion: nothing after that" completes "" iw_tcp-link status ""
	# shellcheck disable=SC2016
	STRANGE='i$(>hit)' QUOTED='i\$\(\>hit\)'
	if ip link add "$STRANGE" type dummy; then
		MADE_IF+=("$STRANGE")
		cd "$TMP" || exit
		check "completion: a name that looks like a command" completes "$QUOTED" iw_tcp-link up 'i$'
		check "completion: such a name, with its beginning quoted" completes "$QUOTED" iw_tcp-link down 'i\$\('
		check "completion: no command of the name ran" [ ! -e hit ]
		cd "$OLDPWD" || exit
		ip link del "$STRANGE"
	else
		skip "completion: a name that looks like a command" "no such net device"
	fi
else
	missing "completion" $COMPLETION
fi
ktap_finish
