#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the tests of rdma-core (pyverbs) of the installed version, except those of other drivers. All
# tests must pass, except the tests in the table pyverbs.tsv, which also has the reasons. Most tests
# connect two queue pairs by ibv_modify_qp(), as for InfiniBand.
#
#   pyverbs.sh [--type LINK_TYPE]

here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/lib/consumer.sh
. "$here/../lib/consumer.sh"

# The tests are in the documentation of the package rdma-core; some files are compressed
the_tests() {
	mkdir "$TMP/tests" && cp /usr/share/doc/rdma-core/tests/*.py* "$TMP/tests" &&
		find "$TMP/tests" -name '*.gz' -exec gunzip {} +
}

# all_of_them: runs all tests on the link iwt_eth0
all_of_them() {
	iwt_patient $((IWT_TIME * 8)) \
		python3 "$here/pyverbs_run.py" "$TMP/tests" "$here/pyverbs.tsv" iwt_eth0 iwt-dummy >"$TMP/results" 2>"$TMP/said"
	subtests rdma-core "$TMP/results" $? || tail -n 30 "$TMP/said" | diag
}

require rdma python3
python3 -c 'import pyverbs.device' || missing_all pyverbs
[ -d /usr/share/doc/rdma-core/tests ] || missing_all "/usr/share/doc/rdma-core/tests"
require_type "$IWT_LINK_TYPE"
ktap_begin
ip link set lo up
# Some tests need huge pages
huge=$(cat /proc/sys/vm/nr_hugepages 2>/dev/null)
[ -z "$huge" ] || echo $((huge + 16)) >/proc/sys/vm/nr_hugepages
check 'the tests are copied' the_tests
if check 'a link' one_host; then
	all_of_them
	check 'no RDMA resource is left' left_over "" iwt_eth0
	check 'the link is deleted' one_host_end
fi
[ -z "$huge" ] || echo "$huge" >/proc/sys/vm/nr_hugepages
ktap_finish
