#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tracepoint of failed work requests reports failed sends and receives, each with its status,
# but not the many requests that are flushed after a failed request.
. "$(dirname "$0")/../lib/begin.sh"

LOC_LEN_ERR=1 LOC_PROT_ERR=4 WR_FLUSH_ERR=5

# refusals: runs the tests of the group "local" of iwt_ktest. In these tests the driver refuses a
# request and flushes the following requests.
refusals() { ktest local && ! grep '^not ok' $KTEST/results; }
# tells STATUS: does the trace have an event with this status?
tells() { grep -q "iwt_wr_error: .* status=$1\$" "$TRACE/trace"; }

begin rdma
only_iw_tcp "tracepoints of iw_tcp"
only_with TRACE
ktest_need
trace_events iw_tcp/iwt_wr_error
two_links
check "requests that fail, and others behind them" traced iw_tcp/iwt_wr_error -- refusals
grep -o 'status=[0-9]*' $TRACE/trace | sort | uniq -c | diag
check "a refused send is reported" tells $LOC_PROT_ERR
check "a receive is reported with its own opcode" grep -q 'iwt_wr_error: .* opcode=RECV ' $TRACE/trace
check "a receive that is too small is reported" tells $LOC_LEN_ERR
refuse "flushed requests are not reported" tells $WR_FLUSH_ERR
check "the test module unloads" ktest_unload
ktap_finish
