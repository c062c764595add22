#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory windows: how a program binds a window, which access the window gives to the peer, and how
# the window is invalidated; a random sequence of requests, whose results are compared with a model;
# and windows that are invalidated while the peer writes.
# IWT_ROUNDS: steps of the random sequence (1000); IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_windows
only_iw_tcp "other drivers lack these verbs"
only_with WINDOWS
two_links

tap "one process" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_windows" -a $IP_A \
	-n "${IWT_ROUNDS:-1000}" ${IWT_SEED:+-s "$IWT_SEED"}
ktap_finish
