# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # for the other files, and from them
# Choices that a seed repeats, and what is noted of them. Each lane makes its choices from
# the seed, its name and the round, in a process of its own: so they do not depend on how
# quick the others are. No choice is made within $(...), where bash has other numbers.

# seed WORD...: the choices that follow are those of these words
seed() {
	local sum
	sum=$(cksum <<<"$*")
	RANDOM=$((${sum%% *} & 0x7fffffff))
}

# one_of WORD...: PICK is one of them
one_of() {
	local n=$RANDOM
	PICK=${*:n % $# + 1:1}
}

# number FROM TO: PICK is from FROM to TO (32767 apart at most)
number() { PICK=$(($1 + RANDOM % ($2 - $1 + 1))); }

# chance PERCENT
chance() { [ $((RANDOM % 100)) -lt "$1" ]; }

# rest TENTHS: sleeps for up to so many tenths of a second
rest() {
	number 0 "$1"
	nap "$((PICK / 10)).$((PICK % 10))"
}

# note WORD...: what is done, for the log of this lane (LANE) in this round
note() { printf '%s %s\n' "$SECONDS" "$*" >>"$SOAK/log-$LANE"; }

# complain WORD...: what is wrong; the lane has failed
complain() {
	note "WRONG: $*"
	printf '%s\n' "$*" >>"$SOAK/wrong-$LANE"
}

# show FILE: the end of what a program said, as a part of the complaint
show() { tail -n 15 "$1" | cut -c 1-200 | sed 's/^/    /' >>"$SOAK/wrong-$LANE"; }

# must WHAT COMMAND...: complains when COMMAND fails, with what it said
must() {
	local what=$1
	shift
	"$@" >"$SOAK/must-$LANE" 2>&1 && return
	complain "$what (status $?)"
	show "$SOAK/must-$LANE"
	return 1
}
