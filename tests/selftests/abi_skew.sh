#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests a provider and a module of different versions, which use shorter or longer structures in
# their interface. iwt_abi sends uverbs commands with many lengths and contents. Then programs run
# with skew.so (the shim), an LD_PRELOAD library that changes the commands of the provider as if the
# provider had another version (or, with the version "module", as if the module were older).
# IWT_SKEW is the version: tests/programs/preload/skew.c lists the versions.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify iwt_abi iwt_srq iwt_queues iwt_windows ibv_rc_pingpong rdma
only_iw_tcp "it is the ABI of iw_tcp"
only_with WINDOWS
two_links
shim=$IWT_BIN/skew.so

# was NAME FILE: did the shim with the version NAME change a command of the program that wrote FILE?
was() { grep -q "^# skew $1: [1-9]" "$2"; }

# skewed NAME [OPTION...]: runs iwt_verify with a provider of version NAME at both ends
skewed() {
	local name=$1
	shift
	LD_PRELOAD=$shim IWT_SKEW=$name verify_pair "$name" $IP_B --max-size 3000 --rounds 1 --no-neg --no-events "$@" -- "$@"
	check "$name: the client's commands were modified" was "$name" "$TMP/client"
	check "$name: the server's commands were modified" was "$name" "$TMP/server"
}

# with NAME PROGRAM [ARGUMENT...]: sets WITH to a command that runs PROGRAM with a provider of
# version NAME
with() { WITH=(env "LD_PRELOAD=$shim" "IWT_SKEW=$1" iwt_patient "$IWT_TIME" "$IWT_BIN/$2" "${@:3}"); }

# shared NAME: tests a shared receive queue with a provider of version NAME at both ends
shared() {
	local server client status=0
	wait_free "$NS_B" 7478
	with "$1" iwt_srq -s $IP_B -n 60
	start in_b "${WITH[@]}" >"$TMP/server" 2>&1
	server=$PID
	wait_listen "$NS_B" 7478
	with "$1" iwt_srq -c $IP_B
	start in_a "${WITH[@]}" >"$TMP/client" 2>&1
	client=$PID
	ended "$server" || status=$?
	subtests "$1: shared queue" "$TMP/server" $status
	check "$1: shared queue: the client ends well" ended "$client" || diag <"$TMP/client"
	check "$1: shared queue: the server's commands were modified" was "$1" "$TMP/server"
	check "$1: shared queue: the client's commands were modified" was "$1" "$TMP/client"
}

# alone NAME WHAT PROGRAM ARGUMENT...: tests WHAT by a program that connects to itself, with a
# provider of version NAME
alone() {
	with "$1" "${@:3}"
	in_a "${WITH[@]}" >"$TMP/alone" 2>&1
	subtests "$1: $2" "$TMP/alone" $?
	check "$1: $2: the program's commands were modified" was "$1" "$TMP/alone"
}

# lacks NAME WHAT PROGRAM ARGUMENT...: checks that with the version NAME the program reports that
# WHAT is not supported
lacks() {
	with "$1" "${@:3}"
	if in_a "${WITH[@]}" >"$TMP/lacks" 2>&1 || ! grep -q "Operation not supported" "$TMP/lacks"; then
		not_ok "$1: $2 are refused"
		diag <"$TMP/lacks"
		return
	fi
	ok "$1: $2 are refused"
}

# later NAME: tests, with a provider of version NAME, verbs that the first version of the driver did
# not have: shared receive queues, resizes and the times of completions
later() {
	shared "$1"
	alone "$1" "completion queues" iwt_queues -a $IP_A -n 20 resize times
}

# refused NAME [PROGRAM ARGUMENT...]: checks that the module refuses a command of PROGRAM (without
# PROGRAM: of ibv_rc_pingpong). The shim with the version NAME changes this command, so that the
# command requests an unknown feature.
refused() {
	local program=(iwt_patient 30 ibv_rc_pingpong -d "$DEV_A" -g 0)
	[ $# -eq 1 ] || program=(iwt_patient 30 "$IWT_BIN/$2" "${@:3}")
	LD_PRELOAD=$shim IWT_SKEW=$1 in_a "${program[@]}" >"$TMP/refused" 2>&1
	if [ $? -lt 124 ] && grep -q "^# skew $1: .*, [1-9][0-9]* refused" "$TMP/refused"; then
		ok "a request for an unknown feature is refused: $1"
	else
		not_ok "a request for an unknown feature is refused: $1"
		diag <"$TMP/refused"
	fi
}

in_a "$IWT_BIN/iwt_abi" "$DEV_A" >"$TMP/abi" 2>&1
subtests "commands" "$TMP/abi" $?
features=$(sed -n 's/^# features //p' "$TMP/abi")

for name in short long; do
	skewed $name
	later $name
	alone $name "windows" iwt_windows -a $IP_A -n 100 -t 100
done
# The provider of the version "features" has all verbs, but knows only the features in the mask
# IWT_SKEW_FEATURES. The variable is not set here, so the provider knows no feature. With the
# options for siw, iwt_verify uses no immediate data and no atomic operations.
skewed features --local-siw --peer-siw
later features
lacks features "windows" iwt_windows -a $IP_A -n 10
# The module is older than the provider
skewed module --local-siw --peer-siw
lacks module "windows" iwt_windows -a $IP_A -n 10
lacks module "shared queues" iwt_srq -s $IP_A
lacks module "resizes" iwt_queues -a $IP_A -n 1 resize
lacks module "times of completions" iwt_queues -a $IP_A times
# The provider knows one feature alone, or all features but one
RFC7306=1 WINDOWS=4
for ((bit = 1; bit && bit <= features; bit <<= 1)); do
	((features & bit)) || continue
	for mask in $bit $((features & ~bit)); do
		export IWT_SKEW_FEATURES=$mask
		plain=()
		((mask & RFC7306)) || plain=(--local-siw --peer-siw)
		echo "# features $mask of $features"
		skewed features "${plain[@]}"
		# iwt_windows uses atomic operations, too
		((mask & WINDOWS && mask & RFC7306)) && alone features "windows" iwt_windows -a $IP_A -n 100 -t 100
	done
done
unset IWT_SKEW_FEATURES
for name in context cq qp; do
	refused $name
done
refused srq iwt_srq -s $IP_A
refused resize iwt_queues -a $IP_A -n 1 resize
ktap_finish
