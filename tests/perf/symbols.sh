#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# symbols.sh ARGS: prints all functions of this kernel, in lines "#K ADDRESS NAME MODULE", then
# runs guest.sh ARGS. samples.py uses the lines to find the names of addresses.
here=$(dirname "$(realpath "$0")")
echo 0 >/proc/sys/kernel/kptr_restrict
for module in veth iw_tcp siw rdma_rxe nvme_rdma nvmet_rdma nvme_tcp nvmet_tcp; do
	modprobe $module 2>/dev/null
done
awk '$2 ~ /[tTwW]/ { print "#K", $1, $3, $4 }' /proc/kallsyms
exec "$here/guest.sh" "$@"
