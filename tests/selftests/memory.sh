#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory regions of a process: which access the peer has, and what happens to a region when the
# process changes its mappings.
# IWT_ROUNDS: number of random changes of a region (300); IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_memory
only_iw_tcp "other drivers lack these verbs"
two_links

head -c 8192 /dev/urandom >"$TMP/file"
tap "one process" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_memory" -a $IP_A -f "$TMP/file" \
	-n "${IWT_ROUNDS:-300}" ${IWT_SEED:+-s "$IWT_SEED"}
ktap_finish
