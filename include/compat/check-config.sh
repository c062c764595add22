#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# check-config.sh KDIR: if the module cannot be built for the kernel in KDIR, prints why, and fails:
# either the first reason that makes further checks useless, or a line for each missing part. If the
# kernel is newer than the tested kernels, prints a warning.
# check-config.sh KDIR --failed: call this after a failed build for the kernel in KDIR. Prints with
# which kernels the module was tested.
kdir=$1
config=$kdir/include/config/auto.conf
# shellcheck source=include/compat/kernels
. "${0%/*}/kernels"

say() { echo "iw_tcp: $*" >&2; }

fail()
{
	say "$@"
	bad=1
}

# older A B: succeeds if the kernel A is older than B. Compares the first two numbers.
older()
{
	awk -v a="$1" -v b="$2" 'BEGIN {
		split(a, x, /[^0-9]+/); split(b, y, /[^0-9]+/)
		exit !(x[1] + 0 < y[1] + 0 || (x[1] + 0 == y[1] + 0 && x[2] + 0 < y[2] + 0)) }'
}

tested="iw_tcp was tested with kernels $KERNEL_OLDEST to $KERNEL_NEWEST"

if [ ! -e "$kdir/Makefile" ]; then
	fail "no kernel headers in $kdir: install the headers package of" \
		"the kernel (Debian: linux-headers-amd64), or set KDIR="
	exit 1
fi
release=$(cat "$kdir/include/config/kernel.release" 2>/dev/null)
if [ "${2:-}" = --failed ]; then
	if older "$KERNEL_NEWEST" "$release"; then
		say "$tested; it does not build for $release: use one of these kernels," \
			"or a newer version of iw_tcp"
	else
		say "$tested; it does not build for $release: the errors above say why"
	fi
	exit
fi
if [ ! -e "$config" ]; then
	fail "the kernel in $kdir is not configured or not built"
	exit 1
fi

# The directory with include/. If KDIR is a separate build directory, its Makefile contains the
# path of the source directory.
source=$kdir
if [ ! -e "$source/include/net/tcp.h" ]; then
	source=$(sed -n 's,^include  *\(/.*\)/Makefile$,\1,p' "$kdir/Makefile" | head -n 1)
fi

# lacks FILE NAME: adds NAME to $missing if the kernel's header FILE does not contain NAME
lacks()
{
	grep -qsw -- "$2" "$source/include/$1" ||
		missing="${missing:+$missing, }$2 ($1)"
}

# Check for names that the module uses, that the newest update of the oldest supported kernel has,
# and that no header in include/compat supplies. A kernel with an older version is refused, even if
# its distributor has added all of these names. A kernel that is newer than the tested kernels may
# have these names in other headers, so such a kernel is not checked for them.
missing=
if [ -e "$source/include/net/tcp.h" ] && ! older "$KERNEL_NEWEST" "$release"; then
	lacks net/tcp.h tcp_recv_skb
	lacks linux/gfp_types.h GFP_KERNEL
	lacks linux/socket.h MSG_SPLICE_PAGES
	lacks linux/socket.h msg_ubuf
fi
if [ -n "$missing" ] && [ -n "$release" ] && ! older "$release" "$KERNEL_OLDEST"; then
	fail "$kdir is for $release, without $missing: use the newest update of Linux $KERNEL_OLDEST," \
		"or a kernel after ${KERNEL_UNFIT##* }"
	exit 1
fi
if [ -n "$missing" ] || { [ -n "$release" ] && older "$release" "$KERNEL_OLDEST"; }; then
	fail "iw_tcp needs Linux $KERNEL_OLDEST or newer, and $kdir is for ${release:-an older one}${missing:+, without $missing}"
	exit 1
fi
if ! grep -q '^CONFIG_64BIT=y' "$config"; then
	fail "iw_tcp needs a 64-bit kernel, and $kdir is for a 32-bit kernel"
	exit 1
fi
if [ ! -e "$kdir/Module.symvers" ]; then
	fail "$kdir/Module.symvers is missing: build the kernel first"
fi

# need OPTION WHAT: reports a reason if the kernel lacks CONFIG_OPTION, which supplies WHAT
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

if [ -z "${bad:-}" ] && older "$KERNEL_NEWEST" "$release"; then
	say "$tested; $release is newer, so the build may fail"
fi
exit "${bad:-0}"
