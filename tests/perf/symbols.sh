#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# symbols.sh ARGS: prints a line "#K ADDRESS NAME MODULE" for each function of this kernel, and then
# runs guest.sh ARGS. samples.py needs these lines to find the function at an address.
here=$(dirname "$(realpath "$0")")
echo 0 >/proc/sys/kernel/kptr_restrict
for module in veth iw_tcp siw rdma_rxe nvme_rdma nvmet_rdma nvme_tcp nvmet_tcp ib_iser ib_isert rpcrdma nfsd nfsv4; do
	modprobe $module 2>/dev/null
done
awk '$2 ~ /[tTwW]/ { print "#K", $1, $3, $4 }' /proc/kallsyms
exec "$here/guest.sh" "$@"
