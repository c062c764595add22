#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# quick.sh TIMES [SELFTEST...]: runs these selftests, and then verify and conformance, which notice
# most faults of the driver. run.py runs this script in a laboratory. The script ends after the
# first failure. All time limits are multiplied by TIMES.
cd "$(dirname "$0")/.." || exit 1
export IWT_QUICK=1 IWT_TIME=$((90 * $1))
limit=$((300 * $1))
shift
# try FILE ARGUMENT...: runs a test, and ends this script if the test fails. A skipped test (status
# 4) has noticed no fault.
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
