#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# suite.sh [-t SECONDS] ITEM...: runs tests one after another, in a laboratory or on a real machine,
# and prints a line before and after each test. An ITEM is "[VAR=VALUE...] FILE [ARGUMENT...]", with
# FILE relative to tests/. iwt_patient ends an item that makes no progress for SECONDS (300). If
# there is no iwt_patient, timeout(1) ends an item after SECONDS. The exit status is 1 if the exit
# status of an item was neither 0 nor 4, else 0.
cd "$(dirname "$0")/.." || exit 1
limit=300 rc=0
if [ "$1" = -t ]; then limit=$2; shift 2; fi
# shellcheck source=tests/lib/wait.sh
. lib/wait.sh
PATH=$PATH:${IWT_BIN:-/opt/iw_tcp/bin}
within=(timeout -k 30 "$limit")
if command -v iwt_patient >/dev/null; then
	clock=$(mktemp "${TMPDIR:-/tmp}/iwt-clock.XXXXXX")
	trap 'rm -f "$clock" "$clock.moved"' EXIT
	: >"$clock.moved"
	within=(iwt_patient -m "$clock.moved" "$limit")
	patience_begin "$clock"
fi

# judge_namespaces: in a laboratory, lets the gate judge the network namespaces of the tests so far.
# After a test of the kernel's NFS server, the gate cannot do this (vm/guest/gate.sh). A real machine
# has no gate.
judge_namespaces() {
	local gate=/opt/iw_tcp/vm/gate.sh
	if [ ! -e $gate ] || [ -z "${LAB_STATUS:-}" ] || grep -q '^nfsd ' /proc/modules; then return; fi
	# shellcheck disable=SC1090
	(. $gate && gate_namespaces)
}

for item; do
	case $item in *nfs.sh*) judge_namespaces ;; esac
	echo "=== begin $item"
	vars=() words=()
	read -ra words <<<"$item"
	while [[ ${words[0]} == [A-Z]*=* ]]; do
		vars+=("${words[0]}")
		words=("${words[@]:1}")
	done
	began=$SECONDS
	env "${vars[@]}" "${within[@]}" bash "${words[@]}" </dev/null 2>&1
	status=$?
	case $status in 0 | 4) ;; *) rc=1 ;; esac
	echo "# took $((SECONDS - began)) s"
	echo "=== end $item: $status"
done
exit $rc
