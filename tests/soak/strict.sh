# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# The lane "strict": makes connections one after another. Before each connection, settings may
# change, and the paths may begin or cease to disturb packets. No event removes a link, so every
# connection must end without an error.

strict_round() {
	local n kind
	hosts c
	must "two hosts" hosts_up || return
	for n in 1 2; do
		chance 60 && setting "$DEV_A" "$DEV_B"
		chance 60 && setting "$DEV_B" "$DEV_A"
		chance 30 && path "$NS_A" "$IF_A"
		chance 30 && path "$NS_B" "$IF_B"
		one_of rping verify verify conn private attached
		kind=$PICK
		one_of 4 6
		if [ "$kind" = attached ]; then attached "$PICK"; else short "$kind" "$PICK"; fi
	done
	hosts_down
}
