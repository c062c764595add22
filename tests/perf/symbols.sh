#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# symbols.sh ARGS: prints the names of all functions of this kernel, in lines "#K ADDRESS NAME
# MODULE", with which samples.py names samples; then runs guest.sh ARGS.
here=$(dirname "$(realpath "$0")")
echo 0 >/proc/sys/kernel/kptr_restrict
for module in veth iw_tcp siw rdma_rxe nvme_rdma nvmet_rdma nvme_tcp nvmet_tcp; do
	modprobe $module 2>/dev/null
done
awk '$2 ~ /[tTwW]/ { print "#K", $1, $3, $4 }' /proc/kallsyms
exec "$here/guest.sh" "$@"
