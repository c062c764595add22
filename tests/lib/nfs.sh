# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Mounts the directory that lib/nfs_roles.sh exports, by NFS over RDMA. NFS_FROM names another
# server.

NFS_FROM=${NFS_FROM:-10.77.0.1:/srv}
NFS_AT=/mnt/nfs
NFS_MODULES=(rpcrdma nfsd nfs nfsv4)
NFS_OPTIONS=vers=4,proto=rdma,port=20049,sec=sys,retry=0

# nfs_mount SECONDS [,OPTION...]: mounts the directory on $NFS_AT in this namespace, verbosely
nfs_mount() { iwt_patient "$1" mount.nfs $NFS_FROM $NFS_AT -v -o "$NFS_OPTIONS${2:-}"; }

# nfs_mounted: is the directory mounted, and by RDMA?
nfs_mounted() { grep -q " $NFS_AT .*proto=rdma" /proc/mounts; }

# nfs_recovers: does a kernel thread recover a client's state? The thread continues after the
# unmount until the server answers, so the server must not end before the thread.
nfs_recovers() { grep -qs -e '-manager$' /proc/[0-9]*/comm; }

# nfs_recovery: prints where these threads wait
nfs_recovery() {
	local f
	for f in $(grep -ls -e '-manager$' /proc/[0-9]*/comm); do
		head -v -n 20 "${f%comm}stack"
	done
}
