#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# uninstall.sh KERNEL: tests that "make uninstall" undoes "make install", "make provider-install"
# and "make service-install". Runs in a root file system with the headers of KERNEL. Compares the
# names, the links and the contents of all files, and the names of all directories.
. "$(dirname "$0")/../../lib/ktap.sh"

# files FILE: writes a list of all files, with hashes of their contents, to FILE. Leaves out
# directories that are mounted here, temporary files and caches, such as the cache of ld.so.
files() {
	find / -xdev \( -path /proc -o -path /dev -o -path /tmp -o -path /src -o -path /ccache \
		-o -path /etc/ld.so.cache -o -path /var/cache \) -prune -o \
		\( -type f -exec sha256sum {} + -o -printf '%y %p %l\n' \) 2>/dev/null | sort >"$1"
}
same() { diff /tmp/before /tmp/after; }
has() { grep -F "$1" /tmp/between; }

# shared_directories: makes directories that every installed system has, and this root file system
# may lack, because it contains no manual pages and few packages. Other packages put files into these
# directories, too, so "make uninstall" does not remove them. It removes all other directories.
shared_directories() {
	mkdir -p /usr/lib/sysusers.d /usr/share/man/man{3,5,7,8}
}

in_src() { make -C /src KDIR="/lib/modules/$1/build" "${@:2}"; }

other_root() {
	mkdir -p /tmp/dest
	in_src "$kernel" install provider-install service-install DESTDIR=/tmp/dest RDMA_CORE=/rdma-core &&
		[ "$(find /tmp/dest ! -type d | wc -l)" -gt 10 ] && in_src "$kernel" uninstall DESTDIR=/tmp/dest
}

export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=/ccache CCACHE_DEPEND=1 CCACHE_MAXSIZE=1G
kernel=$1
ktap_begin
# run depmod first, so that its files exist before the installation, too
check "depmod" depmod "$kernel"
shared_directories
files /tmp/before
check "make install" in_src "$kernel" install
check "make provider-install" in_src "$kernel" provider-install RDMA_CORE=/rdma-core
check "make service-install" in_src "$kernel" service-install
files /tmp/between
for name in "/lib/modules/$kernel/updates/drivers/infiniband/sw/iw_tcp/iw_tcp.ko" libibverbs/libiw_tcp-rdmav /libiw_tcp.so.1 iwtdv.h man7/iw_tcp.7 \
	man3/iwtdv_connect.3 iw_tcp-link 'iw_tcp@.service' 61-iw_tcp-name.rules sysusers.d/iw_tcp.conf; do
	check "installed: ${name##*/}" has "$name"
done
check "depmod knows the module" modinfo -k "$kernel" iw_tcp
check "make uninstall" in_src "$kernel" uninstall
files /tmp/after
check "all files are as before" same
check "make uninstall without an installation" in_src "$kernel" uninstall
check "make uninstall in another root" other_root
check "no file of it is left" [ -z "$(find /tmp/dest ! -type d)" ]
ktap_finish
