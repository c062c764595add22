#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# quick.sh TIMES [SELFTEST...]: runs these selftests, and two that notice many faults of the driver.
# run.py runs this script in a laboratory. The script ends after the first failure. A test may take
# TIMES times as long as usual.
cd "$(dirname "$0")/.." || exit 1
export IWT_QUICK=1 IWT_TIME=$((90 * $1))
limit=$((300 * $1))
shift
# If the laboratory can't run a test (status 4), continue: the test has noticed nothing
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
