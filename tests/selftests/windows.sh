#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory windows: what binds them, what they allow the peer, and what ends them; a random sequence
# beside a model; and windows that end while the peer writes.
# IWT_ROUNDS: steps of the random sequence; IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_windows
only_iw_tcp "other drivers lack these verbs"
two_links

tap "one process" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_windows" -a $IP_A \
	-n "${IWT_ROUNDS:-1000}" ${IWT_SEED:+-s "$IWT_SEED"}
ktap_finish
