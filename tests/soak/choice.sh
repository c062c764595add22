# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# Random choices, which the same seed repeats, and notes about these choices. A lane is a kind of
# test; lanes run at the same time. Each lane makes its choices from the seed, its name and the
# round, in a separate process. So the choices of a lane do not depend on the speed of other lanes.
# Do not make a choice within $(...), where bash has different random numbers.

# seed WORD...: initialises the choices that follow
seed() {
	local sum
	sum=$(cksum <<<"$*")
	RANDOM=$((${sum%% *} & 0x7fffffff))
}

# one_of WORD...: sets PICK to one of the words
one_of() {
	local n=$RANDOM
	PICK=${*:n % $# + 1:1}
}

# number FROM TO: sets PICK to a number from FROM to TO
number() { PICK=$(($1 + (RANDOM << 15 | RANDOM) % ($2 - $1 + 1))); }

# chance PERCENT: succeeds with this probability
chance() { [ $((RANDOM % 100)) -lt "$1" ]; }

# rest TENTHS: sleeps for up to TENTHS tenths of a second
rest() {
	number 0 "$1"
	nap "$((PICK / 10)).$((PICK % 10))"
}

# note WORD...: writes to this lane's log of this round
note() { printf '%s %s\n' "$SECONDS" "$*" >>"$SOAK/log-$LANE"; }

# complain WORD...: writes an error; the lane has failed
complain() {
	note "WRONG: $*"
	printf '%s\n' "$*${LATE:+ (time-out)}" >>"$SOAK/wrong-$LANE"
	LATE=
}

# show FILE: adds the end of a program's output to the complaint
show() { tail -n 15 "$1" | cut -c 1-200 | sed 's/^/    /' >>"$SOAK/wrong-$LANE"; }

# must WHAT COMMAND...: runs COMMAND; if COMMAND fails, complains about WHAT, and shows the output
must() {
	local what=$1 status
	shift
	LATE=
	"$@" >"$SOAK/must-$LANE" 2>&1 && return
	status=$?
	judge_late $status "$SOAK/must-$LANE"
	complain "$what (status $status)"
	show "$SOAK/must-$LANE"
	return 1
}
