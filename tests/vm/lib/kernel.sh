# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Kernels of the distribution. An artefact "kernel-NAME" has the distribution's kernel, the
# headers to build modules, and the siw module, which is built from the same release's source
# package. The artefact has these files:
#   version      the release string
#   linux        the image to boot
#   initrd       the initial RAM disk of the image
#   tree/        headers and modules, to be laid over a userland for building
#   modules.img  a file system with the modules that the labs need

# Debian's backports contain several series of kernels at the same time. If a lab names no series,
# it gets the series in this table.
declare -A KERNEL_SERIES=([trixie-backports]=7.2 [bookworm-backports]=6.12)

# kernel_release SUITE FLAVOUR [SERIES]: prints the part of the package's name after "linux-image-"
kernel_release() {
	local series=${3:-${KERNEL_SERIES[${1%:*}]:-}} release
	if [ -z "$series" ]; then
		printf '%s\n' "$2"
		return
	fi
	release=$(apt_in "$1" apt-cache pkgnames "linux-image-$series." | sed 's/^linux-image-//' |
		grep -E "^[0-9.]+\+deb[0-9]+-$2\$" | sort -V | tail -n 1)
	[ -n "$release" ] || die "$1 has no kernel $series any more"
	printf '%s\n' "$release"
}

# kernel_packages SUITE FLAVOUR [SERIES]: prints "package=version" of the packages of image,
# headers, source
kernel_packages() {
	local suite=$1 release list version
	local parts='^linux-(headers|kbuild|image|base|binary|modules)-[0-9]'
	release=$(kernel_release "$suite" "$2" "${3:-}") || return
	list=$(apt_closure "$suite" "$parts" "linux-image-$release" "linux-headers-$release")
	list=$(grep -E "$parts" <<<"$list")
	version=$(sed -n 's/^linux-image-.*=//p' <<<"$list" | head -n 1)
	printf '%s\n' "$list" "$(kernel_source_package "$version")"
}

# kernel_source_package VERSION: prints the source package of a kernel, for example
# linux-source-6.12=6.12.107-1 for 6.12.107-1
kernel_source_package() {
	local series
	series=$(cut -d. -f1,2 <<<"$1")
	printf 'linux-source-%s=%s\n' "$series" "$1"
}

# kernel_trim_modules DIR: keeps only the modules that tests can use. The distribution's other
# modules are drivers for hardware that no lab has.
kernel_trim_modules() {
	local dir=$1 keep=$1.keep sub
	mkdir "$keep"
	for sub in arch block crypto fs lib mm net security \
		drivers/{block,char,dma-buf,infiniband/{core,sw,ulp},md,nvme,target,virtio,xen}; do
		[ ! -d "$dir/kernel/$sub" ] || (cd "$dir" && cp -al --parents "kernel/$sub" "$keep")
	done
	for sub in drivers/net drivers/scsi; do
		mkdir -p "$keep/kernel/$sub"
		find "$dir/kernel/$sub" -maxdepth 1 -type f -exec cp -al -t "$keep/kernel/$sub" {} +
	done
	# e1000e (with the modules that it needs) is the driver of a card that QEMU emulates
	for sub in net/{bonding,ipvlan,macvlan,team,vxlan,wireguard,ethernet/intel/e1000e} pps ptp; do
		[ ! -d "$dir/kernel/drivers/$sub" ] ||
			(cd "$dir" && cp -al --parents "kernel/drivers/$sub" "$keep")
	done
	rm -rf "$keep"/kernel/{net/{bluetooth,mac80211,wireless,nfc,mac802154,ieee802154,6lowpan,can,ax25,appletalk,atm,batman-adv,tipc},fs/{xfs,btrfs,gfs2,ocfs2,f2fs,jfs,ntfs3,reiserfs,ubifs,ceph,afs,coda,hfs,hfsplus,nilfs2,bcachefs,orangefs},drivers/block/drbd}
	cp -a "$dir"/modules.{builtin*,order} "$keep"
	rm -rf "${dir:?}/kernel"
	cp -a "$keep/." "$dir"
	rm -rf "$keep"
}

# kernel_unpack SUITE OUT DEBS PACKAGES...: downloads PACKAGES into DEBS, and unpacks all of them
# except the source package into OUT/tree
kernel_unpack() {
	local suite=$1 out=$2 debs=$3; shift 3
	mkdir -p "$out/tree" "$debs"
	apt_download "$suite" "$debs" "$@"
	local deb
	for deb in "$debs"/*.deb; do
		case $deb in */linux-source-*) continue ;; esac
		dpkg-deb -x "$deb" "$out/tree"
	done
	if [ -d "$out/tree/lib" ]; then
		cp -al "$out/tree/lib" "$out/tree/usr"
		rm -rf "$out/tree/lib"
	fi
}

build_stock_kernel() {
	local suite=$1 userland=$2 packages=$3 out=$4 version modules root
	# shellcheck disable=SC2086
	kernel_unpack "$suite" "$out" "$out/debs" $packages
	version=$(basename "$out"/tree/usr/lib/modules/*)
	modules=$out/tree/usr/lib/modules/$version
	echo "$version" >"$out/version"
	# the directory of the image depends on the release
	cp "$(ls -d "$out/tree/boot/vmlinuz-$version" "$modules/vmlinuz" 2>/dev/null)" "$out/linux"
	rm -f "$modules/vmlinuz"
	rm -rf "$out/tree"/{boot,usr/share}
	kernel_trim_modules "$modules"
	find "$modules" -name '*.ko.xz' -print0 | xargs -0r -P2 -n64 xz -d
	find "$modules" -name '*.ko.zst' -print0 | xargs -0r zstd -qd --rm

	root_of root "$userland"
	siw_source "$out/debs"/linux-source-*.deb "$out/siw"
	in_root "$out/tree $root/root" "
		make -C /lib/modules/$version/build M=/siw CONFIG_RDMA_SIW=m modules
		install -D -m 644 -t /modules/extra /siw/siw.ko
	" "$out/siw:/siw" "$modules:/modules"
	rm -rf "$out/siw" "$out/debs"
	kernel_finish "$out"
}

# siw_source DEB DIR: unpacks the siw directory of a linux-source package
siw_source() {
	local deb=$1 dir=$2
	mkdir -p "$dir"
	dpkg-deb --fsys-tarfile "$deb" |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		xz -dc -T2 | tar -x -C "$dir" --strip-components=5 \
			--wildcards 'linux-source-*/drivers/infiniband/sw/siw/*'
}

# kernel_finish DIR: makes the module indices, the file system of the modules and the initrd
kernel_finish() {
	local out=$1 version stage
	version=$(cat "$out/version")
	depmod -b "$out/tree/usr" "$version" 2>/dev/null ||
		depmod -b "$out/tree" "$version"
	stage=$out/stage/$version
	mkdir -p "$stage"
	cp -a "$out/tree/usr/lib/modules/$version/." "$stage"
	rm -f "$stage"/{build,source}
	truncate -s 768M "$out/modules.img"
	mkfs.ext4 -q -d "$out/stage" -O ^has_journal -E lazy_itable_init=1 "$out/modules.img"
	rm -rf "$out/stage"
	initrd_make "$out/tree/usr/lib/modules/$version" "$out/initrd"
}

# initrd_make MODULES FILE: makes an initrd that mounts the disks and runs the lab's init
initrd_make() {
	local modules=$1 file=$2 dir m
	dir=$(mktemp -d)
	mkdir -p "$dir"/{bin,proc,sys,dev,new,modules}
	cp /bin/busybox "$dir/bin/"
	install -m 755 "$VM_DIR/guest/initrd" "$dir/init"
	for m in virtio_pci virtio_blk crc32c_generic ext4; do
		awk -v m="/$m.ko" -F: 'index($1, m) { n = split($2, a, " ")
			for (i = n; i > 0; i--) print a[i]; print $1 }' "$modules/modules.dep"
	done | while read -r m; do
		[ ! -e "$dir/modules/$(basename "$m")" ] || continue
		cp "$modules/$m" "$dir/modules/"
		basename "$m" >>"$dir/order"
	done
	touch "$dir/order"
	(cd "$dir" && find . | cpio --quiet -o -H newc) | gzip -1 >"$file"
	rm -rf "$dir"
}

# stock_kernel VAR NAME SUITE FLAVOUR USERLAND [SERIES]: sets VAR to the artefact of the kernel of
# SUITE
stock_kernel() {
	local packages recipe
	apt_update "$3"
	packages=$(kernel_packages "$3" "$4" "${6:-}")
	recipe=$(declare -f build_stock_kernel kernel_unpack kernel_trim_modules siw_source \
		kernel_finish initrd_make; cat "$VM_DIR/guest/initrd")
	artefact "$1" "kernel-$2" "$(hash_of "$packages" "$5" "$recipe")" \
		build_stock_kernel "$3" "$5" "$packages"
}

# newest_headers SUITE: prints the package with the headers of the newest kernel of SUITE, and its
# version
newest_headers() {
	local package
	package=$(apt_field "$1" "linux-headers-$NATIVE" Depends | grep -oE 'linux-headers-[0-9][^ ,]*' | head -n 1)
	[ -n "$package" ] || die "$1 has no linux-headers-$NATIVE"
	printf '%s=%s\n' "$package" "$(apt_field "$1" "$package" Version)"
}

build_newest() {
	local suite=${1%:*} package=$2 out=$3 packages
	if [ "$suite" = sid ]; then
		retry root_install sid "make,gcc,libc6-dev,ccache,${package%%=*}" "$out/root"
	else
		packages=$(apt_closure "$1" '^linux-(headers|kbuild)-[0-9]' "${package%%=*}")
		# shellcheck disable=SC2086
		kernel_unpack "$1" "$out" "$out/debs" $packages
		rm -rf "$out/debs"
	fi
	package=${package#linux-headers-}
	echo "${package%%=*}" >"$out/version"
}

# newest_kernel VAR SUITE: sets VAR to a directory with the headers of the newest kernel of SUITE.
# For backports the headers are in tree/, to be laid over the release's userland. For
# sid:ARCHITECTURE root/ contains the headers and the compiler. Asks the archive for its newest
# kernel.
newest_kernel() {
	local package
	apt_update "$2"
	package=$(newest_headers "$2")
	artefact "$1" "newest-${2%:*}" "$(hash_of "$package" "$(declare -f build_newest kernel_unpack root_install)")" \
		build_newest "$2" "$package"
}

# kernel_flavours SUITE[:ARCHITECTURE]: prints the flavours of the suite's newest kernel
kernel_flavours() {
	apt_update "$1"
	apt_in "$1" apt-cache pkgnames linux-headers- | sed -n 's/^linux-headers-\([^0-9]\)/\1/p' | sort |
		if [ "$(arch_of "$1")" = "$NATIVE" ]; then cat; else grep -v "$NATIVE\$"; fi
}

build_headers() {
	local suite=$1 packages=$2 release=$3 out=$4
	# shellcheck disable=SC2086
	kernel_unpack "$suite" "$out" "$out/debs" $packages
	rm -rf "$out/debs"
	echo "$release" >"$out/version"
}

# kernel_headers VAR SUITE[:ARCHITECTURE] FLAVOUR: sets VAR to a directory with the headers of the
# suite's newest kernel in tree/, to be laid over a userland of this machine's architecture
kernel_headers() {
	local package packages
	apt_update "$2"
	package=$(apt_field "$2" "linux-headers-$3" Depends | grep -oE 'linux-headers-[0-9][^ ,]*' | head -n 1)
	[ -n "$package" ] || die "$2 has no linux-headers-$3"
	packages=$(apt_closure "$2" '^linux-(headers|kbuild)-[0-9]' "$package")
	# the programs of linux-kbuild run on the host
	[ "$(arch_of "$2")" = "$NATIVE" ] || packages=$(sed "s/^\(linux-kbuild-[^=]*\)=/\1:$NATIVE=/" <<<"$packages")
	artefact "$1" "headers-${2/:/-}-$3" "$(hash_of "$packages" "$(declare -f build_headers kernel_unpack)")" \
		build_headers "$2" "$packages" "${package#linux-headers-}"
}

build_sid_root() { retry root_install sid "make,gcc,libc6-dev,ccache,$1" "$2/root"; }

# sid_root VAR ARCHITECTURE: sets VAR to a directory whose root/ has sid's userland, with the cross
# compiler that builds sid's kernels
sid_root() {
	local compiler
	apt_update "sid:$2"
	compiler=$(apt_field "sid:$2" "linux-headers-$2" Depends | grep -oE 'linux-headers-[0-9][^ ,]*' | head -n 1)
	compiler=$(apt_field "sid:$2" "$compiler" Depends | grep -oE 'gcc-[0-9]+' | head -n 1)-$(foreign_triplet "$2")
	artefact "$1" "root-sid-$2" "$(hash_of "$compiler" "$(declare -f build_sid_root root_install)")" \
		build_sid_root "$compiler"
}
