#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# quick.sh TIMES [SELFTEST...]: the tests that notice a fault of the driver soonest; run.py runs it
# in a laboratory. It ends after the first test that fails. A test may take TIMES as long as usual.
cd "$(dirname "$0")/.." || exit 1
export IWT_QUICK=1 IWT_TIME=$((90 * $1))
limit=$((300 * $1))
shift
# A test that the laboratory can't run (status 4) notices nothing
try() {
	timeout -k 10 $limit bash "$@" </dev/null
	case $? in
	0 | 4) ;;
	124 | 137) echo "# time-out: quick: $1"; exit 1 ;;
	*) exit 1 ;;
	esac
}
for name; do try "selftests/$name.sh"; done
try selftests/verify.sh
try selftests/conformance.sh --jobs 16
