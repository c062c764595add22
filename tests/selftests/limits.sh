#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Verbs that fail change nothing.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"

require iwt_verbs rdma
require_type "$IWT_LINK_TYPE"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

in_a "$IWT_BIN/iwt_verbs" "$DEV_A" >"$TMP/verbs" 2>&1
subtests verbs "$TMP/verbs" $?
ktap_finish
