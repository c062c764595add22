#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Data and errors with an initiator in Python that implements MPA, DDP and RDMAP itself.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_hostile python3
only_iw_tcp "what other drivers answer is not tested"
peer=$(dirname "$0")/../peer/raw_initiator.py
two_links
start in_b "$IWT_BIN/iwt_hostile" -s $IP_B >"$TMP/server" 2>&1
srv=$PID
check "the responder listens" wait_listen "$NS_B" 7474
tap "raw initiator" in_a iwt_patient $((IWT_TIME * 4)) python3 "$peer" $IP_B 7474
check "the responder lives" alive "$srv"
diag <"$TMP/server"
stop "$srv"
ktap_finish
