#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The provider is of another version than the module: the structures that they share may be
# shorter or longer. First all lengths and contents of all commands, then traffic.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_verify iwt_abi ibv_rc_pingpong rdma
only_iw_tcp "it is the ABI of iw_tcp"
two_links
shim=$IWT_BIN/skew.so

# was NAME FILE: the shim changed something in the program that wrote FILE
was() { grep -q "^# skew $1: [1-9]" "$2"; }

# skewed NAME [OPTION...]: verified traffic with such a provider at both ends
skewed() {
	local name=$1
	shift
	LD_PRELOAD=$shim IWT_SKEW=$name verify_pair "$name" $IP_B --max-size 3000 --rounds 1 --no-neg --no-events "$@" -- "$@"
	check "$name: the client was one" was "$name" "$TMP/client"
	check "$name: and the server" was "$name" "$TMP/server"
}

# refused NAME: the module refuses a command that asks for a feature that it does not have
refused() {
	LD_PRELOAD=$shim IWT_SKEW=$1 in_a timeout 30 ibv_rc_pingpong -d "$DEV_A" -g 0 >"$TMP/refused" 2>&1
	if [ $? -lt 124 ] && grep -q "^# skew $1: .*, 1 refused" "$TMP/refused"; then
		ok "an unknown wish is refused: $1"
	else
		not_ok "an unknown wish is refused: $1"
		diag <"$TMP/refused"
	fi
}

in_a "$IWT_BIN/iwt_abi" "$DEV_A" >"$TMP/abi" 2>&1
subtests "commands" "$TMP/abi" $?
features=$(sed -n 's/^# features //p' "$TMP/abi")

skewed short
skewed long
# no immediate data and no atomic operations, as with siw
skewed features --local-siw --peer-siw
# each feature alone, and all but one
RFC7306=1
for ((bit = 1; bit && bit <= features; bit <<= 1)); do
	((features & bit)) || continue
	for mask in $bit $((features & ~bit)); do
		export IWT_SKEW_FEATURES=$mask
		plain=()
		((mask & RFC7306)) || plain=(--local-siw --peer-siw)
		echo "# features $mask of $features"
		skewed features "${plain[@]}"
	done
done
unset IWT_SKEW_FEATURES
for name in context cq qp; do
	refused $name
done
ktap_finish
