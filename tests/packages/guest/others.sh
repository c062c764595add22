#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# others.sh DIR: runs in a root file system with rpmbuild and makepkg. Makes packages from the files
# that "make dist" has put into DIR, and checks that the packages contain the important files.
. /lib.tests/ktap.sh
cd "$1" || exit
top=/root/rpmbuild
# rpms [OPTION...]: makes packages in $top
rpms() {
	mkdir -p $top/SOURCES && cp ./*.tar.* $top/SOURCES &&
		rpmbuild -ba --nodeps --define 'debug_package %{nil}' --define "_topdir $top" "$@" iw_tcp.spec
}
in_rpm() { rpm -qlp "$(find $top/RPMS -name "$1-[0-9]*.rpm")" | grep -E "$2"; }
# makepkg refuses to run as root. Without a program "pacman" makepkg fails, although makepkg asks
# pacman nothing with --nodeps; so a script that does nothing replaces pacman.
# shellcheck disable=SC2016 # for the shell of the user
arch() {
	printf '#!/bin/sh\nexit 0\n' >/usr/local/bin/pacman && chmod +x /usr/local/bin/pacman && useradd -m maker &&
		mkdir /build && cp PKGBUILD ./*.tar.* /build && chown -R maker /build &&
		su maker -c 'cd /build && PATH=/usr/local/bin:$PATH makepkg --nodeps --noconfirm'
}
in_arch() { bsdtar -tf "$(find /build -name "$1-[0-9]*.pkg.*" | head -n 1)" | grep -E "$2"; }
requires() { rpm -qp --requires "$(find $top/RPMS -name 'libiw_tcp-[0-9]*.rpm')" | grep -E 'IBVERBS|libc'; }

ktap_begin
check "rpmbuild" rpms
check "rpm: the module's source" in_rpm iw_tcp-dkms '/usr/src/iw-tcp-[0-9.]*/dkms.conf$'
check "rpm: the unit" in_rpm iw_tcp '/iw_tcp@.service$'
check "rpm: the provider" in_rpm libiw_tcp '/libibverbs/libiw_tcp-rdmav[0-9]*.so$'
check "rpm: what it depends on" requires
check "rpm: the header" in_rpm libiw_tcp-devel '/iwtdv.h$'
check "rpm: the program" in_rpm iw_tcp '^/usr/sbin/iw_tcp-link$'
top=/root/fedora
check "rpmbuild, as in Fedora 42" rpms --define '_sbindir /usr/bin'
check "rpm, as in Fedora 42: the program" in_rpm iw_tcp '^/usr/bin/iw_tcp-link$'
check "makepkg" arch
check "Arch: the module's source" in_arch iw_tcp-dkms '^usr/src/iw-tcp-[0-9.]*/dkms.conf$'
check "Arch: the unit" in_arch iw_tcp '/iw_tcp@.service$'
check "Arch: the provider" in_arch iw_tcp '^usr/lib/libibverbs/libiw_tcp-rdmav[0-9]*.so$'
check "Arch: the library" in_arch iw_tcp '^usr/lib/libiw_tcp.so.1.*$'
ktap_finish
