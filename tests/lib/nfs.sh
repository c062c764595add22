# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Mounts the directory that lib/nfs_roles.sh exports, by NFS over RDMA. The caller may set NFS_FROM
# to HOST:DIRECTORY of another server.

NFS_FROM=${NFS_FROM:-10.77.0.1:/srv}
NFS_AT=/mnt/nfs
NFS_MODULES=(rpcrdma nfsd nfs nfsv4)
NFS_OPTIONS=vers=4,proto=rdma,port=20049,sec=sys,retry=0

# nfs_mount SECONDS [,OPTION...]: mounts the directory on $NFS_AT in this namespace, with additional
# options; ends mount.nfs if it makes no progress for SECONDS
nfs_mount() { iwt_patient "$1" mount.nfs $NFS_FROM $NFS_AT -v -o "$NFS_OPTIONS${2:-}"; }

# nfs_mounted: is the directory mounted, and by RDMA?
nfs_mounted() { grep -q " $NFS_AT .*proto=rdma" /proc/mounts; }

# nfs_recovers: is there a kernel thread that recovers the state of an NFS client? The thread
# continues after the unmount until the server answers. So a test must not stop the server before
# the thread has ended.
nfs_recovers() { grep -qs -e '-manager$' /proc/[0-9]*/comm; }

# nfs_recovery: prints the kernel stacks of the threads that recover the state of NFS clients
nfs_recovery() {
	local f
	for f in $(grep -ls -e '-manager$' /proc/[0-9]*/comm); do
		head -v -n 20 "${f%comm}stack"
	done
}
