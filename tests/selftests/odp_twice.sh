#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two threads of a process remove the same page of a region with on-demand paging while the driver
# copies from the page. Finds an error only with three or more processors that run at the same time.
# IWT_ROUNDS: number of Reads (300)
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_memory
only_iw_tcp "other software drivers lack some of this"
only_with PAGING
two_links
tap "removed" iwt_patient "$((IWT_TIME * 2))" ip netns exec "$NS_A" "$IWT_BIN/iwt_memory" -a $IP_A -t odptwice \
	-n "${IWT_ROUNDS:-300}"
check_no_objects 20 "$DEV_A"
ktap_finish
