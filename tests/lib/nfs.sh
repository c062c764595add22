# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A mount of NFS over RDMA, of what consumers/nfs.sh serves.

NFS_FROM=10.77.0.1:/srv
NFS_AT=/mnt/nfs
NFS_MODULES=(rpcrdma nfsd nfs nfsv4)
NFS_OPTIONS=vers=4,proto=rdma,port=20049,sec=sys,retry=0

# nfs_mount SECONDS [,OPTION...]: here, and says what it does
nfs_mount() { timeout "$1" mount.nfs $NFS_FROM $NFS_AT -v -o "$NFS_OPTIONS${2:-}"; }

# nfs_mounted: and not by anything else than RDMA
nfs_mounted() { grep -q " $NFS_AT .*proto=rdma" /proc/mounts; }
