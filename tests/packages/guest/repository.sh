#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# repository.sh DIR: runs in a root file system that has nothing but apt. Executes the commands that
# "make repo" has printed (the file DIR/commands), and checks what these commands have installed.
# Then installs the headers of the release's cloud kernel and, for Debian 13, the headers of the
# standard and the cloud kernel of the backports, and checks that DKMS builds the module for these
# kernels, too. DIR/user is a configuration of apt that answers "yes" to questions.
. "$(dirname "$0")/../../lib/ktap.sh"
SUITE=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

installed() {
	dpkg-query -f '${db:Status-Abbrev} ${Package}\n' -W "$@" >"$KTAP_LOG.list" 2>&1
	grep '^ii' "$KTAP_LOG.list"
}
# kernel FLAVOUR: prints the name of the newest kernel of FLAVOUR that has headers
kernel() {
	find /lib/modules/ -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -E "^[^a-z]*(\\+deb[0-9]+)?-$1\$" |
		sort -V | tail -n 1
}
# built KERNEL: has DKMS built and installed the module for this kernel? Runs depmod, as the package
# of the kernel's image does when it is installed after the headers.
built() {
	dkms status iw-tcp
	if dkms status iw-tcp | grep -F "$1," | grep ': installed'; then
		depmod "$1" && modinfo -k "$1" iw_tcp
	else
		tail -n 20 /var/lib/dkms/iw-tcp/*/build/make.log
		return 1
	fi
}
# complete KERNEL: are all symbols that the module imports in the kernel's list of symbols?
complete() {
	local ko
	ko=$(modinfo -k "$1" -F filename iw_tcp) || return
	if [[ $ko == *.xz ]]; then xz -dc "$ko" >/tmp/iw_tcp.ko; else cp "$ko" /tmp/iw_tcp.ko; fi
	nm -u /tmp/iw_tcp.ko | awk '{ print $2 }' | sort >/tmp/imported
	awk '{ print $2 }' "/lib/modules/$1/build/Module.symvers" | sort >/tmp/exported
	[ -s /tmp/imported ] && [ -z "$(comm -23 /tmp/imported /tmp/exported | tee /dev/stderr)" ]
}
# provider: can the dynamic linker load the provider, with the installed libibverbs? (This test does
# not open a device, because the running kernel may have no RDMA.)
provider() {
	local said
	said=$(LD_BIND_NOW=1 LD_PRELOAD=$(echo /usr/lib/*/libibverbs/libiw_tcp-rdmav*.so) /bin/true 2>&1) || return
	[ -z "$said" ] || { echo "$said"; return 1; }
	cat /etc/libibverbs.d/iw_tcp.driver
}
# backports: makes apt use the backports of the release, too
backports() {
	sed "s/ $SUITE / $SUITE-backports /" /etc/apt/sources.list >/etc/apt/sources.list.d/backports.list
	apt-get -qq update && apt-cache policy | grep "n=$SUITE-backports"
}
# newer KERNEL OTHER: is KERNEL newer than OTHER?
newer() { [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]; }
# newer_kernels: tests the standard and the cloud kernel of the backports
newer_kernels() {
	local flavour older kernel
	check "backports: apt update" backports
	check "backports: apt install" apt-get -qy -t "$SUITE-backports" install linux-headers-amd64 linux-headers-cloud-amd64
	for flavour in amd64 cloud-amd64; do
		older=$amd64
		[ $flavour = amd64 ] || older=$cloud
		kernel=$(kernel $flavour)
		check "backports: $kernel is newer than the release's kernel" newer "$kernel" "$older"
		check "backports: the module is built for $kernel" built "$kernel"
		check "backports: $kernel exports all that it imports" complete "$kernel"
	done
}

ktap_begin
cp "$1/resolv.conf" /etc/resolv.conf
cp "$1/user" /etc/apt/apt.conf.d/90user
check "the printed commands" bash -exc "$(cat "$1/commands")"
for name in iw-tcp iw-tcp-dkms ibverbs-provider-iw-tcp libiw-tcp1 dkms rdma-core ibverbs-utils rdmacm-utils \
	linux-headers-amd64; do
	check "$name is installed" installed "$name"
done
check "headers of other flavours are not" not installed linux-headers-cloud-amd64 linux-headers-rt-amd64
amd64=$(kernel amd64)
check "the module is built for $amd64" built "$amd64"
check "$amd64 exports all that it imports" complete "$amd64"
check "the provider can be loaded" provider
check "cloud: apt install" apt-get -qy install linux-headers-cloud-amd64
cloud=$(kernel cloud-amd64)
check "cloud: the module is built for $cloud" built "$cloud"
check "cloud: $cloud exports all that it imports" complete "$cloud"
# The backports of Debian 12 have the kernel of Debian 13, and sid has no backports
[ "$SUITE" != trixie ] || newer_kernels
ktap_finish
