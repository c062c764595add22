# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Builds the Debian packages of this tree, for tests/packages and release/: makes the source
# packages, and the clean root file systems in which the packages are built.

# shellcheck disable=SC2034,SC2153 # for the other files
PACKAGES=$TREE/build/packages

# The suffix that marks a release in the version of its packages
declare -A RELEASE=([bookworm]=deb12u1 [trixie]=deb13u1 [sid]=sid1)
# Debian's revision number, which is after the upstream version in the versions of packages
REVISION=1

# release SUITE [ARCHITECTURE]: prints the suffix of SUITE; ends the program if there are no packages
# for SUITE, or if this machine cannot cross-build packages for ARCHITECTURE
release() {
	[ -n "${RELEASE[$1]:-}" ] || die "no packages for $1, only for ${!RELEASE[*]}"
	case ${2:-} in
	'' | arm64) ;;
	*) die "no cross-built packages for $2, only for arm64" ;;
	esac
	printf '%s\n' "${RELEASE[$1]}"
}

# module_version: prints MAJOR.MINOR.PATCH from version.h
module_version() {
	sed -n 's/^#define IWT_VERSION_[MP][A-Z]*\t*\([0-9]*\)$/\1/p' \
		"$TREE/drivers/infiniband/sw/iw_tcp/version.h" | paste -sd.
}

# tree_files: prints the names of the files of this tree, each terminated by a zero byte
tree_files() {
	if [ -e "$TREE/.git" ]; then
		git -C "$TREE" -c safe.directory='*' ls-files -z -co --exclude-standard --deduplicate |
			(cd "$TREE" && xargs -0 ls -d 2>/dev/null) | tr '\n' '\0'
	else
		(cd "$TREE" && find . -path ./build -prune -o -path ./debian/rdma-core -prune -o \
			\( -type f -o -type l \) -not -name '*.o' -not -name '*.ko' -printf '%P\0')
	fi
}

# rdma_core_of SUITE: prints the version of rdma-core with whose source the provider for SUITE must be
# built. Prints nothing for a release whose libibverbs fits the default of fetch-rdma-core.
rdma_core_of() {
	local version
	[ "$1" = sid ] || return 0
	apt_update "sid:$NATIVE"
	version=$(apt_field "sid:$NATIVE" libibverbs-dev Version)
	[ -n "$version" ] || die "sid has no libibverbs-dev"
	printf '%s\n' "${version%-*}"
}

build_package_root() {
	local suite=$1 out=$2
	retry root_install "$suite" "apt-utils,build-essential,debhelper,dh-dkms,fakeroot,libibverbs-dev,lintian,python3,python3-sphinx" "$out/root"
}

# package_root VAR SUITE: sets VAR to the artefact of a clean root file system of SUITE, with the
# packages' build dependencies, apt-ftparchive and lintian. The file system is in root/.
package_root() {
	local version
	version=$(rdma_core_of "$2")
	artefact "$1" "packages-$2" "$(hash_of "$2" "$(declare -f build_package_root root_install)" ${version:+"$version"})" \
		build_package_root "$2"
}

cross_root_install() {
	rm -rf "$3"
	mmdebstrap --variant=minbase --format=directory --architectures="$NATIVE,$2" \
		--include="build-essential,crossbuild-essential-$2,debhelper,dh-dkms,fakeroot,libibverbs-dev:$2,python3" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
		--dpkgopt='force-unsafe-io' "$1" "$3" "$(apt_repository)"
}
build_cross_package_root() { retry cross_root_install "$1" "$2" "$3/root"; }

# cross_package_root VAR SUITE:ARCHITECTURE: sets VAR to the artefact of a clean root file system of
# SUITE for this machine's architecture, with the build dependencies of packages for ARCHITECTURE.
# The file system is in root/.
cross_package_root() {
	local suite=${2%:*} arch=${2#*:} version
	version=$(rdma_core_of "$suite")
	artefact "$1" "packages-$arch-$suite" \
		"$(hash_of "$suite" "$arch" "$(declare -f build_cross_package_root cross_root_install)" ${version:+"$version"})" \
		build_cross_package_root "$suite" "$arch"
}

# shellcheck disable=SC2016 # for the shell of mmdebstrap
build_bare_root() {
	retry mmdebstrap --variant=apt --format=directory --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='Acquire::Retries "3"' --customize-hook='rm -rf "$1"/var/lib/apt/lists/*' \
		"$1" "$2/root" "$(apt_repository)"
}

# bare_root VAR SUITE: like package_root, with nothing but apt and its dependencies
bare_root() {
	artefact "$1" "bare-$2" "$(hash_of "$2" "$(declare -f build_bare_root)")" build_bare_root "$2"
}

build_others_root() {
	retry root_install trixie "build-essential,libarchive-tools,makepkg,python3,rpm" "$1/root"
}

# others_root VAR: like package_root, with the programs that make packages of other distributions
others_root() {
	artefact "$1" others-trixie "$(hash_of "$(declare -f build_others_root root_install)")" build_others_root
}

# headers_of_rdma_core TREE DIR: copies the files of rdma-core that the provider's build needs
headers_of_rdma_core() {
	local from=$1 to=$2
	mkdir -p "$to"
	(cd "$from" && cp --parents CMakeLists.txt COPYING.* buildlib/make_abi_structs.py \
		libibverbs/*.h libibverbs/libibverbs.map.in kernel-headers/rdma/*.h ccan/*.h util/*.h "$to")
}

# changelog_entry VERSION SUITE FILE: adds an entry to the Debian changelog FILE. The date of the
# entry is one second after the previous entry's date, so that the same sources always give the same
# packages.
changelog_entry() {
	local last who when
	last=$(sed -n '/^ -- /{s///p;q}' "$3")
	who=${last%%  *} when=${last#*  }
	{
		printf 'iw-tcp (%s) %s; urgency=medium\n\n  * Built for %s.\n\n' "$1" "$2" "$2"
		printf ' -- %s  %s\n\n' "$who" "$(date -uR -d "$when + 1 second")"
		cat "$3"
	} >"$3.new"
	mv "$3.new" "$3"
}

# source_date: prints the time that pack() gives to all files, in seconds since 1970:
# SOURCE_DATE_EPOCH or, if this variable is not set, the time of the newest entry of
# debian/changelog
source_date() {
	echo "${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n '/^ -- .*>  /{s///p;q}' "$TREE/debian/changelog")" +%s)}"
}

# pack DIR FILE: makes the archive FILE (.tar.xz) of DIR. The same files always give the same bytes.
pack() {
	# use the permissions of a fresh checkout
	chmod -R u=rwX,go=rX "$1"
	tar -C "$(dirname "$1")" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
		--mtime="@$(source_date)" -cf - "$(basename "$1")" | xz -T1 -6 >"$2"
}

# source_stage SUITE VERSION DIR: writes the files of the source package into DIR, and the archive
# of the upstream files into the directory that contains DIR. VERSION is the version of the module,
# which may differ from the tree's version.
source_stage() {
	local suite=$1 version=$2 dir=$3 mark rdma_core minor
	mark=$(release "$suite")
	rdma_core=$(rdma_core_of "$suite")
	rdma_core=$("$TREE/userspace-provider/fetch-rdma-core" ${rdma_core:+"$rdma_core"})
	mkdir -p "$dir"
	tree_files | rsync -a --files-from=- -0 "$TREE/" "$dir/"
	if [ "$version" != "$(module_version)" ]; then
		minor=${version#*.}
		sed -i "s/^\(#define IWT_VERSION_MAJOR\t*\).*/\1${version%%.*}/
			s/^\(#define IWT_VERSION_MINOR\t*\).*/\1${minor%.*}/
			s/^\(#define IWT_VERSION_PATCH\t*\).*/\1${version##*.}/" \
			"$dir/drivers/infiniband/sw/iw_tcp/version.h"
	fi
	pack "$dir" "$(dirname "$dir")/iw-tcp_$version.orig.tar.xz"
	headers_of_rdma_core "$rdma_core" "$dir/debian/rdma-core"
	changelog_entry "$version-$REVISION~$mark" "$suite" "$dir/debian/changelog"
}

# packages_build SUITE[:ARCHITECTURE] VERSION OUT: builds packages into OUT: without ARCHITECTURE the
# source and binary packages; with ARCHITECTURE only the binary packages that depend on the
# architecture, because the other binary packages are the same for all architectures
packages_build() {
	local suite=${1%:*} version=$2 out=$3 work root options=''
	if [ "$1" = "$suite" ]; then
		package_root root "$suite"
	else
		cross_package_root root "$1"
		options="-B -a${1#*:}"
	fi
	work=$(mktemp -d "${TMPDIR:-/tmp}/iw_tcp-packages.XXXXXX")
	source_stage "$suite" "$version" "$work/iw-tcp-$version"
	rm -rf "$out"
	mkdir -p "$out"
	if ! in_root "$root/root" "cd /source/iw-tcp-*/; dpkg-buildpackage -us -uc $options" "$work:/source" >"$out/log" 2>&1 </dev/null; then
		tail -n 40 "$out/log" >&2
		log "error: building for $1 failed (see $out/log)"
		rm -rf "$work"
		return 1
	fi
	find "$work" -maxdepth 1 -type f -exec mv -t "$out" {} +
	rm -rf "$work"
}

# repository_index SUITE DIR: makes the index files of an apt repository of the packages in DIR
repository_index() {
	local root
	package_root root "$1"
	in_root "$root/root" "cd /repository; apt-ftparchive packages . >Packages; gzip -9nkf Packages
		apt-ftparchive -o APT::FTPArchive::Release::Origin=iw_tcp -o APT::FTPArchive::Release::Label=iw_tcp \
			-o APT::FTPArchive::Release::Suite=$1 release . >/Release; mv /Release ." "$2:/repository"
}

# packages_lint SUITE OUT: prints lintian's complaints about the packages in OUT; fails if there is
# an error, a warning or an info. Ignores the tags about Standards-Version: one source is for
# several releases, so its Standards-Version cannot be the newest Standards-Version of each release.
packages_lint() {
	local root what='*.changes' tags=newer-standards-version,out-of-date-standards-version
	# the directory of an apt repository has .deb files only
	compgen -G "$2/*.changes" >/dev/null || what='*.deb'
	package_root root "$1"
	in_root "$root/root" "useradd -m lint; cd /out; su lint -c 'lintian --color=never --tag-display-limit 0 --display-info --pedantic --suppress-tags $tags --fail-on error,warning,info $what'" "$2:/out"
}

build_dkms() {
	local suite=$1 package=$2 out=$3
	mkdir -p "$out"/{debs,tree}
	apt_download "$suite" "$out/debs" "$package"
	dpkg-deb -x "$out"/debs/*.deb "$out/tree"
	rm -r "$out/debs"
}

# dkms_of VAR SUITE: sets VAR to a directory whose tree/ has the files of SUITE's package dkms
dkms_of() {
	local package
	apt_update "$2"
	package=dkms=$(apt_field "$2" dkms Version)
	artefact "$1" "dkms-$2" "$(hash_of "$package")" build_dkms "$2" "$package"
}

# missing_packages RELEASE ROOT OPTION PACKAGES...: runs apt-get install with OPTION, for PACKAGES and
# the packages on which they depend, except the packages that the userland ROOT has
missing_packages() {
	local release=$1 root=$2; shift 2
	apt_in "$release" apt-get install -y --no-install-recommends \
		-o Dir::State::status="$root/root/var/lib/dpkg/status" "$@"
}

build_programs() {
	local release=$1 root=$2 out=${*: -1} deb top
	mkdir -p "$out/debs/partial"
	retry missing_packages "$release" "$root" --download-only -o Dir::Cache::archives="$out/debs" "${@:3:$#-3}"
	for deb in "$out"/debs/*.deb; do dpkg-deb -x "$deb" "$out/tree"; done
	rm -rf "$out/debs" "$out"/tree/usr/share/{doc,man,locale}
	# in the machine these directories are links to directories of /usr
	for top in bin lib lib64 sbin; do
		[ ! -d "$out/tree/$top" ] || { cp -a "$out/tree/$top" "$out/tree/usr/" && rm -r "${out:?}/tree/$top"; }
	done
}

# programs_of VAR ROOT PACKAGES...: sets VAR to a directory whose tree/ has the files of PACKAGES and
# of the packages on which they depend, except the packages that the userland ROOT (root_of) has
programs_of() {
	local release=${2##*/root-} list
	release=${release%-*}
	apt_update "$release"
	list=$(missing_packages "$release" "$2" --print-uris "${@:3}" | sed -n "s/^'.*' //p")
	artefact "$1" "programs-$release" "$(hash_of "$list" "$(declare -f build_programs missing_packages)")" \
		build_programs "$release" "${@:2}"
}

# Machines for tests/packages/run: a release with systemd, udev and its stock kernel, as users
# install it. An artefact contains the root directory root/, the image root.img of root/, and the
# boot files of two kernels (linux-NAME and initrd-NAME). The kernel "first" is installed in root/.
# The kernel "second" is from the release's backports; it is not installed, and second/ contains its
# packages. firmware/ is for Secure Boot.

declare -A SECOND_KERNEL=([bookworm]=6.12 [trixie]=7.3)
# Further packages that the second kernel needs: SECOND_MORE are names of packages from the release
# itself; SECOND_NEWER is a pattern for names of packages from the backports, without "linux-"
declare -A SECOND_MORE=([bookworm]='' [trixie]='gcc-14-for-host cpp-14-for-host')
declare -A SECOND_NEWER=([bookworm]='' [trixie]='base(=|$)|')
SYSTEM_PACKAGES='systemd-sysv dbus udev kmod iproute2 procps linux-image-amd64 linux-headers-amd64
	dkms make ccache pahole pkgconf rdma-core ibverbs-utils rdmacm-utils perftest libibverbs-dev
	librdmacm-dev openssl mokutil nfs-common nfs-kernel-server'

# second_kernel SUITE: prints "package=version" for the image and the headers of the second kernel
second_kernel() {
	local suite=$1-backports release
	local parts="^linux-(${SECOND_NEWER[$1]}(headers|kbuild|image|base|binary|modules)-[0-9])"
	apt_update "$suite"
	release=$(apt_in "$suite" apt-cache pkgnames "linux-image-${SECOND_KERNEL[$1]}." |
		sed 's/^linux-image-//' | grep -E '^[0-9.]+\+deb[0-9]+-amd64$' | sort -V | tail -n 1)
	[ -n "$release" ] || die "$suite has no kernel ${SECOND_KERNEL[$1]}"
	apt_closure "$suite" "$parts" "linux-image-$release" "linux-headers-$release" |
		grep -E "$parts" | grep -v '=$'
}

system_install() {
	local suite=$1 dir=$2 list
	list=$(xargs -n1 <<<"$SYSTEM_PACKAGES" | paste -sd,)
	rm -rf "$dir"
	# shellcheck disable=SC2016
	mmdebstrap --variant=minbase --format=directory --include="$list" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
		--customize-hook='rm -rf "$1"/var/lib/apt/lists "$1"/usr/share/locale "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap' \
		"$suite" "$dir" "$(apt_repository)"
}

# system_settle DIR: prepares the root directory DIR so that the machine runs the tests by itself.
# ccache provides the compilers' results, because an emulated processor needs an hour to build the
# module. apt resets PATH for the programs that it runs, so apt's option DPkg::Path adds ccache.
system_settle() {
	local dir=$1 guest=$TREE/tests/packages/guest
	mkdir -p "$dir/payload" "$dir/etc/systemd/network" "$dir/var/lib/apt/lists/partial"
	install -m 644 "$guest/test.service" "$dir/etc/systemd/system/packages-test.service"
	install -m 644 "$guest/network" "$dir/etc/systemd/network/10-test.network"
	echo machine >"$dir/etc/hostname"
	printf '127.0.0.1 localhost machine\n' >"$dir/etc/hosts"
	printf 'MODULES=list\nCOMPRESS=gzip\n' >"$dir/etc/initramfs-tools/conf.d/test"
	printf 'cache_dir = /var/cache/ccache\nsloppiness = locale\n' >"$dir/etc/ccache.conf"
	echo 'DPkg::Path "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin";' >"$dir/etc/apt/apt.conf.d/90ccache"
	in_root "$dir" "cd /host; systemctl --root=/host -q enable packages-test.service systemd-networkd.service
		systemctl --root=/host -q disable nfs-server.service
		systemctl --root=/host -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
		systemd-machine-id-setup --root=/host; dpkg-reconfigure ccache || :" "$dir:/host"
}

# system_boot_files NAME KERNEL-TREE OUT: makes OUT/linux-NAME and OUT/initrd-NAME
system_boot_files() {
	local name=$1 tree=$2 out=$3 modules
	modules=$(echo "$tree"/lib/modules/*)
	# shellcheck disable=SC2012 # the image's directory depends on the release
	cp "$(ls -d "$tree"/boot/vmlinuz-* "$modules/vmlinuz" 2>/dev/null | head -n 1)" "$out/linux-$name"
	# shellcheck disable=SC2030 # initrd_make takes its init from this directory
	(VM_DIR=$TREE/tests/packages && initrd_make "$modules" "$out/initrd-$name")
}

# system_firmware SUITE OUT: makes code.fd and vars.fd, a firmware with Secure Boot and
# Microsoft's keys, and esp/, which contains the release's signed boot loaders in the
# directories where the firmware searches for boot loaders
system_firmware() {
	local suite=$1 out=$2 deb
	mkdir -p "$out"/{debs,tree,esp/EFI/BOOT,esp/EFI/debian}
	apt_download "$suite" "$out/debs" ovmf shim-signed shim-helpers-amd64-signed grub-efi-amd64-signed
	for deb in "$out"/debs/*.deb; do dpkg-deb -x "$deb" "$out/tree"; done
	cp "$out/tree/usr/share/OVMF/OVMF_CODE_4M.secboot.fd" "$out/code.fd"
	cp "$out/tree/usr/share/OVMF/OVMF_VARS_4M.ms.fd" "$out/vars.fd"
	cp "$out/tree/usr/lib/shim/shimx64.efi.signed" "$out/esp/EFI/BOOT/BOOTX64.EFI"
	cp "$out/tree/usr/lib/shim/mmx64.efi.signed" "$out/esp/EFI/BOOT/mmx64.efi"
	cp "$out/tree/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed" "$out/esp/EFI/BOOT/grubx64.efi"
	rm -rf "$out"/{debs,tree}
}

build_package_system() {
	local suite=$1 second=$2 out=$3 deb
	retry system_install "$suite" "$out/root"
	system_settle "$out/root"
	system_boot_files first "$out/root" "$out"
	mkdir -p "$out/second" "$out/tree"
	# shellcheck disable=SC2086
	apt_download "$suite-backports" "$out/second" $second
	# shellcheck disable=SC2086
	[ -z "${SECOND_MORE[$suite]}" ] || apt_download "$suite" "$out/second" ${SECOND_MORE[$suite]}
	for deb in "$out"/second/linux-{image,binary,modules}-*.deb; do
		[ ! -e "$deb" ] || dpkg-deb -x "$deb" "$out/tree"
	done
	[ -d "$out/tree/lib" ] || ln -s usr/lib "$out/tree/lib"
	depmod -b "$out/tree" "$(ls "$out/tree/lib/modules")"
	system_boot_files second "$out/tree" "$out"
	rm -rf "$out/tree"
	system_firmware "$suite" "$out/firmware"
	truncate -s 8G "$out/root.img"
	mkfs.ext4 -q -d "$out/root" -E lazy_itable_init=1 "$out/root.img"
}

# package_system VAR SUITE: sets VAR to the artefact of the machine of SUITE
package_system() {
	local second recipe
	apt_update "$2"
	second=$(second_kernel "$2")
	recipe=$(declare -f build_package_system system_install system_settle system_boot_files system_firmware initrd_make
		cat "$TREE"/tests/packages/guest/{initrd,test.service,network})
	artefact "$1" "system-$2" "$(hash_of "$2" "$SYSTEM_PACKAGES" "$second" "${SECOND_MORE[$2]}" "$recipe")" \
		build_package_system "$2" "$second"
}
