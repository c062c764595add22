#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# qperf: the tests of Documentation/applications/qperf.rst. (The two verifying ones compare what atomic
# operations did.)
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"
# shellcheck source=tests/lib/qperf.sh
. "$here/../lib/qperf.sh"

# run COMMAND: one of the page's commands
run() { local words; read -ra words <<<"$1"; qperf_run "${words[@]:1}" && cat "$TMP/qperf"; }

suite_begin qperf
if ! check "two hosts" meet_begin; then suite_finish; fi
serve server in_b
srv=$PID
check "the server listens" wait_listen "$NS_B" 19765
way || diag <<<"no netem here"
mapfile -t lines < <(recipe tests | head -n "$(if_quick 2 99)")
for line in "${lines[@]}"; do
	check "$line" run "$line"
done
ran tests
distance near
stop "$srv"
meet_end
suite_finish
