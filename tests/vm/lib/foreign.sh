# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Machines whose architecture is not the host's. The userland of such a machine is unpacked, not
# installed, because the host cannot run the machine's programs. So the maintainer scripts of its
# packages do not run, and the files that they would create are copied from the userland of the same
# release for the host's architecture. The test programs are compiled in that userland, by a cross
# compiler whose sysroot is the machine's userland. A suite of another architecture is called
# SUITE:ARCHITECTURE.

NATIVE=amd64

# For each architecture: the GNU triplet, the emulator's program, the emulator's package. For s390x,
# lab_foreign takes the emulator from another release. The other architectures without an emulator
# have no lab.
declare -A FOREIGN=(
	[arm64]="aarch64-linux-gnu qemu-system-aarch64 qemu-system-arm"
	[s390x]="s390x-linux-gnu"
	[ppc64el]="powerpc64le-linux-gnu"
	[riscv64]="riscv64-linux-gnu"
	[loong64]="loongarch64-linux-gnu"
)

# arch_of SUITE[:ARCHITECTURE]: prints the architecture
arch_of() { case $1 in *:*) echo "${1##*:}" ;; *) echo $NATIVE ;; esac; }

# foreign_triplet ARCHITECTURE: prints the GNU triplet
foreign_triplet() { cut -d' ' -f1 <<<"${FOREIGN[$1]}"; }

# foreign_need LAB...: prints "command=package" for each emulator that the host needs to run the
# LABs
foreign_need() {
	local lab words
	for lab; do
		words=${FOREIGN[${lab%%-*}]:-}
		cut -s -d' ' -f2- --output-delimiter== <<<"$words"
	done
}

# foreign_root_packages SUITE: prints the packages of root_packages, except large packages, packages
# that are used only to compile, and the packages for tests/suites
foreign_root_packages() {
	root_packages "$1" | grep -vxE 'ccache|make|pahole|gcc(-[0-9]+)?|flex|bison|bc|pkgconf|xz-utils|bpftrace' |
		grep -vxFf <(sed 's/#.*//' "$VM_DIR/config/packages.suites" | xargs -n1)
	echo busybox-static
}

# foreign_unpack SUITE ARCHITECTURE DIR: unpacks the userland's packages into DIR
foreign_unpack() {
	local suite=$1 arch=$2 dir=$3 list
	list=$(foreign_root_packages "$suite" | paste -sd,)
	rm -rf "$dir"
	# shellcheck disable=SC2016
	mmdebstrap --variant=extract --format=directory --arch="$arch" \
		--include='?essential' --include='?priority(required)' --include="$list" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
		--setup-hook='for d in bin sbin lib; do mkdir -p "$1/usr/$d"; ln -s "usr/$d" "$1/$d"; done' \
		"$suite" "$dir" "$(apt_repository)"
}

# foreign_configure NATIVE-ROOT DIR: creates the files that the packages' maintainer scripts would
# create
foreign_configure() {
	local native=$1 dir=$2 link
	rm -rf "$dir"/usr/share/{man,info,locale} "$dir"/var/lib/apt/lists
	find "$dir/usr/share/doc" -mindepth 1 -maxdepth 1 -not -name 'rdma-core*' -exec rm -rf {} +
	rsync -a --ignore-existing --exclude=/ld.so.cache "$native/etc/" "$dir/etc/"
	rsync -a --ignore-existing "$native/root/" "$dir/root/"
	rsync -a --ignore-existing "$native/var/lib/nfs/" "$dir/var/lib/nfs/"
	(cd "$native" && find usr -type l -lname '/etc/alternatives/*') | while read -r link; do
		if [ ! -e "$dir/$(readlink "$dir/etc/alternatives/$(basename "$link")")" ]; then continue; fi
		# skip links in the library directory of the host's architecture: DIR has no such
		# directory
		[ -e "$dir/$link" ] || [ -L "$dir/$link" ] || [ ! -d "$dir/${link%/*}" ] || cp -a "$native/$link" "$dir/$link"
	done
	mkdir -p "$dir/opt/iw_tcp" "$dir/run/netns"
	in_root "$native" 'python3 -m compileall -q -s /sysroot /sysroot/usr/lib/python3* || :' "$dir:/sysroot"
}

# build_foreign_root SUITE ARCHITECTURE OUT: makes the userland of ARCHITECTURE in OUT
build_foreign_root() {
	local suite=$1 arch=$2 out=$3 native
	root_of native "$suite"
	retry foreign_unpack "$suite" "$arch" "$out/root"
	foreign_configure "$native/root" "$out/root"
	truncate -s 6G "$out/root.img"
	mkfs.ext4 -q -d "$out/root" -O ^has_journal -E lazy_itable_init=1 "$out/root.img"
}

# foreign_root VAR SUITE:ARCHITECTURE: like root_of, for another architecture
foreign_root() {
	local suite=${2%:*} arch=${2##*:} recipe
	recipe=$(declare -f build_foreign_root foreign_unpack foreign_configure)
	artefact "$1" "root-$suite-$arch" \
		"$(hash_of "$suite" "$arch" "$(foreign_root_packages "$suite")" "$recipe")" \
		build_foreign_root "$suite" "$arch"
}

# cross_gcc SUITE ARCHITECTURE: prints the name of the cross compiler for the release's kernels
cross_gcc() { printf '%s-%s\n' "$(foreign_triplet "$2")" "$(root_packages "$1" | grep -xE 'gcc-[0-9]+')"; }

# layer_unpack SUITE DIR "PACKAGES": unpacks PACKAGES into DIR. in_root lays this directory (a
# layer) over the suite's userland.
layer_unpack() {
	local suite=$1 dir=$2 packages=$3 deb
	mkdir -p "$dir.debs" "$dir/usr/lib"
	# shellcheck disable=SC2086
	apt_download "$suite" "$dir.debs" $packages
	for deb in "$dir.debs"/*.deb; do dpkg-deb -x "$deb" "$dir"; done
	rm -rf "$dir.debs" "$dir"/usr/share/{doc,man,locale}
	if [ -d "$dir/lib" ]; then
		cp -a "$dir/lib/." "$dir/usr/lib"
		rm -rf "$dir/lib"
	fi
}

# build_cross SUITE GCC "PACKAGES" OUT: makes a layer in OUT/root with PACKAGES, which contain the
# cross compiler GCC, and with a link that makes ccache run when a build calls GCC
build_cross() {
	local suite=$1 gcc=$2 packages=$3 out=$4
	layer_unpack "$suite" "$out/root" "$packages"
	mkdir -p "$out/root/usr/lib/ccache"
	ln -s ../../bin/ccache "$out/root/usr/lib/ccache/$gcc"
}

# build_tool SUITE "PACKAGES" OUT: makes a layer in OUT/root with PACKAGES
build_tool() { layer_unpack "$1" "$3/root" "$2"; }

# tool_of VAR SUITE PACKAGE: sets VAR to a directory with PACKAGE (an emulator, a checker) of a
# release and its libraries. The directory is a layer over the release's userland.
tool_of() {
	local packages
	apt_update "$2"
	packages=$(apt_closure "$2" '^(lib|qemu-system-)' "$3" | paste -sd' ')
	artefact "$1" "$3" "$(hash_of "$2" "$packages" "$(declare -f build_tool layer_unpack)")" \
		build_tool "$2" "$packages"
}

# cross_of VAR SUITE:ARCHITECTURE: sets VAR to a directory whose root/ is a layer with the cross
# compiler for ARCHITECTURE and with QEMU's user-mode emulators
cross_of() {
	local suite=${2%:*} arch=${2##*:} triplet gcc packages
	apt_update "$suite"
	triplet=$(foreign_triplet "$arch")
	gcc=$(cross_gcc "$suite" "$arch")
	packages=$(apt_closure "$suite" "(-$triplet(-base)?|-$arch-cross|^qemu-user)\$" \
		"gcc-${gcc##*-}-$triplet" qemu-user-static | paste -sd' ')
	artefact "$1" "cross-$suite-$arch" "$(hash_of "$packages" "$(declare -f build_cross layer_unpack)")" \
		build_cross "$suite" "$gcc" "$packages"
}

# build_foreign_kernel SUITE USERLAND "PACKAGES" OUT: like build_stock_kernel, for another
# architecture
build_foreign_kernel() {
	local suite=$1 userland=$2 packages=$3 out=$4 version modules root cross native
	# shellcheck disable=SC2086
	kernel_unpack "$suite" "$out" "$out/debs" $packages
	version=$(basename "$out"/tree/usr/lib/modules/*)
	modules=$out/tree/usr/lib/modules/$version
	echo "$version" >"$out/version"
	mv "$out/tree/boot/vmlinuz-$version" "$out/linux"
	# Remove vmlinux, so that the build of modules makes no BTF. The tools that make BTF run on
	# the host, and would have to know the byte order of the machine.
	rm -rf "$out/tree"/{boot,usr/share} "$out"/tree/usr/src/linux-headers-*/vmlinux
	kernel_trim_modules "$modules"
	find "$modules" -name '*.ko.xz' -print0 | xargs -0r -P2 -n64 xz -d

	foreign_root root "$userland"
	cross_of cross "$userland"
	root_of native "${userland%:*}"
	siw_source "$out/debs"/linux-source-*.deb "$out/siw"
	in_root "$out/tree $cross/root $native/root" "
		make -C /lib/modules/$version/build M=/siw CONFIG_RDMA_SIW=m modules
		install -D -m 644 -t /modules/extra /siw/siw.ko
	" "$out/siw:/siw" "$modules:/modules"
	rm -rf "$out/siw" "$out/debs"
	kernel_finish "$out"
	foreign_initrd "$root/root" "$out/initrd"
}

# foreign_initrd ROOT FILE: replaces busybox in the initrd FILE by the busybox of the machine's
# userland ROOT, because the host's busybox is a program for another architecture
foreign_initrd() {
	local root=$1 file=$2 dir
	dir=$(mktemp -d)
	(cd "$dir" && zcat "$file" | cpio --quiet -id)
	cp "$root/usr/bin/busybox" "$dir/bin/busybox"
	(cd "$dir" && find . | cpio --quiet -o -H newc) | gzip -1 >"$file"
	rm -rf "$dir"
}

# foreign_kernel VAR NAME SUITE FLAVOUR USERLAND: like stock_kernel, for another architecture
foreign_kernel() {
	local packages recipe
	apt_update "$3"
	packages=$(kernel_packages "$3" "$4")
	# the programs of linux-kbuild run on the host, so they have the host's architecture
	packages=$(sed "s/^\(linux-kbuild-[^=]*\)=/\1:$NATIVE=/" <<<"$packages")
	recipe=$(declare -f build_foreign_kernel foreign_initrd kernel_unpack kernel_trim_modules \
		siw_source kernel_finish initrd_make; cat "$VM_DIR/guest/initrd")
	artefact "$1" "kernel-$2" "$(hash_of "$packages" "$5" "$recipe")" \
		build_foreign_kernel "$3" "$5" "$packages"
}

# lab_foreign SUITE FLAVOUR USERLAND:ARCHITECTURE: sets the variables of lab_load for a machine of
# another architecture
# shellcheck disable=SC2034 # for the other files
lab_foreign() {
	local suite=$1 flavour=$2 userland=$3 cross native emulator
	LAB_ARCH=$(arch_of "$userland")
	foreign_kernel KERNEL "$LAB" "$suite:$LAB_ARCH" "$flavour" "$userland"
	foreign_root ROOT "$userland"
	cross_of cross "$userland"
	if [ "$LAB_ARCH" = s390x ]; then
		# Do not use QEMU 7.2, Debian 12's emulator: the emulated machine rejects the
		# checksum of every ICMP packet as wrong.
		tool_of emulator trixie qemu-system-s390x
		root_of native trixie
		export LAB_EMULATOR="$emulator/root $native/root"
	fi
	root_of native "${userland%:*}"
	LAB_KIND=$LAB_ARCH LAB_LAYERS="$cross/root $native/root"
	LAB_CC="$(cross_gcc "${userland%:*}" "$LAB_ARCH") --sysroot=/sysroot"
}

# boot_foreign DIR EMULATOR...: like boot_qemu, for any architecture. The terminals of the script
# and of the status lines are virtio consoles, because every type of machine supports virtio
# consoles. The disks are PCI devices, because every type of machine detects PCI devices in the
# order of the options.
boot_foreign() {
	local dir=$1 threads=single; shift
	[ -z "${LAB_PARALLEL:-}" ] || threads=multi
	# shellcheck disable=SC2086
	exec "$@" ${LAB_NET:-} -accel "tcg,thread=$threads" -smp "$CPUS" -m "$LAB_MEMORY" \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$KERNEL/linux" -initrd "$KERNEL/initrd" \
		-append "console=$CONSOLE $KERNEL_OPTIONS mitigations=off nokaslr audit=0 rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 $LAB_CMDLINE LAB_IO=hvc0 LAB_STATUS=hvc1" \
		-serial "file:$dir/console" -device virtio-serial-pci \
		-chardev stdio,id=io -device virtconsole,chardev=io \
		-chardev "file,id=status,path=$dir/status" -device virtconsole,chardev=status \
		-drive "id=a,file=$ROOT/root.img,if=none,format=raw,snapshot=on,file.locking=off" \
		-drive "id=b,file=$KERNEL/modules.img,if=none,format=raw,snapshot=on,file.locking=off" \
		-drive "id=c,file=$dir/payload.tar,if=none,format=raw,snapshot=on,file.locking=off" \
		-device virtio-blk-pci,drive=a -device virtio-blk-pci,drive=b -device virtio-blk-pci,drive=c
}

# boot_arm64 DIR: the processor type has no pointer authentication, which would be slow to emulate
# and is not tested
boot_arm64() { CONSOLE=ttyAMA0 boot_foreign "$1" qemu-system-aarch64 -M virt -cpu neoverse-n1; }
boot_s390x() {
	# shellcheck disable=SC2016 # the double quotes expand LAB_NET
	in_root "$LAB_EMULATOR" "$(declare -f boot_foreign)
		$(declare -p CPUS LAB_MEMORY KERNEL_OPTIONS LAB_CMDLINE)
		LAB_PARALLEL=${LAB_PARALLEL:-} LAB_NET='${LAB_NET:-}' KERNEL=/run/kernel ROOT=/run/root CONSOLE=ttyS1
		boot_foreign /run/lab qemu-system-s390x -M s390-ccw-virtio -cpu max" \
		"$1:/run/lab" "$KERNEL:/run/kernel" "$ROOT:/run/root"
}
