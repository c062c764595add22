#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# check-config.sh KDIR: names what the kernel in KDIR lacks, one line each
kdir=$1
config=$kdir/include/config/auto.conf

fail()
{
	echo "iw_tcp: $*" >&2
	bad=1
}

if [ ! -e "$kdir/Makefile" ]; then
	fail "no kernel headers in $kdir: install the headers package of" \
		"the kernel (Debian: linux-headers-amd64), or set KDIR="
	exit 1
fi
if [ ! -e "$config" ]; then
	fail "the kernel in $kdir is not configured or not built"
	exit 1
fi
if [ ! -e "$kdir/Module.symvers" ]; then
	fail "$kdir/Module.symvers is missing: build the kernel first"
fi

# need OPTION WHAT
need()
{
	grep -q "^CONFIG_$1=[ym]" "$config" ||
		fail "the kernel lacks CONFIG_$1 ($2)"
}

need MODULES "loadable modules"
need INET "TCP/IP"
need INFINIBAND "the RDMA core"
need INFINIBAND_ADDR_TRANS "the RDMA connection manager"
need INFINIBAND_VIRT_DMA "software RDMA devices"
need INFINIBAND_USER_ACCESS "verbs for user space"
need CONFIGFS_FS "configfs, for the settings of links"
grep -q "^CONFIG_LIBCRC32C=[ym]" "$config" || need CRC32 "CRC32c"

exit ${bad:-0}
