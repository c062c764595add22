#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# quick.sh [SELFTEST...]: the tests that notice a fault of the driver soonest; run.py runs it in
# a laboratory. It ends after the first test that fails.
cd "$(dirname "$0")/.." || exit 1
export IWT_QUICK=1
# A test that the laboratory can't run (status 4) notices nothing
try() {
	timeout -k 10 300 bash "$@" </dev/null
	case $? in 0 | 4) ;; *) exit 1 ;; esac
}
for name; do try "selftests/$name.sh"; done
try selftests/verify.sh
try selftests/conformance.sh --jobs 16
