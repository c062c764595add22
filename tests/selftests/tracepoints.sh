#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tracepoint of work requests that fail tells of sends and of receives, each with its
# status, and not of the many that are flushed behind them.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"
. "$(dirname "$0")/../lib/trace.sh"

DIR=/sys/kernel/debug/iwt_ktest
LOC_LEN_ERR=1 LOC_PROT_ERR=4 WR_FLUSH_ERR=5

# refusals: those of iwt_ktest on this side, each of which flushes some requests
refusals() { echo "local direct 8 9 $IP_A $IP_B" >"$DIR/run" && ! grep '^not ok' "$DIR/results"; }
tells() { grep -q "iwt_wqe_error: .* status=$1\$" "$TRACE/trace"; }

require rdma
require_type "$IWT_LINK_TYPE"
[ "$IWT_LINK_TYPE" = iw_tcp ] || skip_all "tracepoints of iw_tcp"
modprobe -q iwt_ktest || missing_all "module iwt_ktest"
[ -d $DIR ] || skip_all "no debugfs here"
trace_events iw_tcp/iwt_wqe_error
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }
exec 8<"/run/netns/$NS_A" 9<"/run/netns/$NS_B"
check "requests that fail, and others behind them" traced iw_tcp/iwt_wqe_error -- refusals
exec 8<&- 9<&-
grep -o 'status=[0-9]*' $TRACE/trace | sort | uniq -c | diag
check "a send that may not be is told" tells $LOC_PROT_ERR
check "a receive that is too small is told" tells $LOC_LEN_ERR
refuse "what is flushed is told" tells $WR_FLUSH_ERR
check "the test module unloads" modprobe -r iwt_ktest
ktap_finish
