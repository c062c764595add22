# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The kernel that searches for data races (KCSAN). It is built for QEMU, from the same source as
# the kernels of uml.sh. Its artefact has the same files as those of kernel.sh.

# These commands run in the userland. They fail if kconfig drops an option of the fragment.
# shellcheck disable=SC2016
KCSAN_BUILD='
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=/ccache CCACHE_DEPEND=1 CCACHE_MAXSIZE=400M
cd /src
cp /config/kcsan.config .fragment
make -s ARCH=x86_64 alldefconfig
scripts/kconfig/merge_config.sh -m .config .fragment
make -s ARCH=x86_64 olddefconfig
grep "^CONFIG_" .fragment | while read -r option; do
	grep -qxF "$option" .config || { echo "not accepted: $option"; exit 1; }
done
make -s -j"$(nproc)" ARCH=x86_64
version=$(make -s ARCH=x86_64 kernelrelease)
make -s ARCH=x86_64 INSTALL_MOD_PATH=/out/tree/usr modules_install
cp arch/x86/boot/bzImage /out/linux
echo "$version" >/out/version
ln -sfn "/usr/src/linux-$version" "/out/tree/usr/lib/modules/$version/build"
'

# kcsan_source DEB DIR: unpacks the kernel's source into DIR and applies kcsan.patch. Applies nothing
# if one part of the patch does not fit.
kcsan_source() {
	local patch=$VM_DIR/config/kcsan.patch
	dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		xz -dc -T2 | tar -x -C "$2" --strip-components=1 --exclude='*/Documentation/*/*'
	if patch -s -f -p1 -d "$2" --dry-run <"$patch"; then
		patch -s -f -p1 -d "$2" <"$patch"
	else
		log "kcsan.patch does not fit this kernel; the lab will be slower"
	fi
}

# kcsan_trim_source DIR: removes from a built kernel tree what a package of headers does not have.
# Keeps objtool, because the build of a module runs it.
kcsan_trim_source() {
	local dir=$1
	mv "$dir/tools/objtool/objtool" "$dir/objtool.keep"
	rm -rf "$dir"/{.fragment,.tmp_*,vmlinux*,Documentation,samples,sound,tools}
	install -D "$dir/objtool.keep" "$dir/tools/objtool/objtool"
	rm "$dir/objtool.keep"
	find "$dir" -type f \( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '*.c' -o -name '*.S' \
		-o -name '*.dts*' -o -name '.*.cmd' -o -name '*.rst' -o -name '*.mod' \) \
		-not -path "$dir/scripts/*" -delete
	find "$dir/arch" -mindepth 1 -maxdepth 1 -type d -not -name x86 -exec rm -rf {} +
	rm -rf "$dir"/arch/x86/boot
	find "$dir/drivers" -type f -not -name '*.h' -delete
	find "$dir" -type d -empty -delete
}

build_kcsan_kernel() {
	local suite=$1 userland=$2 package=$3 out=$4 root version deb
	mkdir -p "$out"/{debs,elf,src,tree/usr/src} "$CACHE/ccache"
	apt_download "$suite" "$out/debs" "$package"
	kcsan_source "$out"/debs/linux-source-*.deb "$out/src"
	# objtool needs libelf, which no userland has
	apt_update "$userland"
	apt_download "$userland" "$out/debs" libelf-dev
	for deb in "$out"/debs/libelf-dev*.deb; do dpkg-deb -x "$deb" "$out/elf"; done
	root_of root "$userland"
	in_root "$out/elf $root/root" "$KCSAN_BUILD" "$out/src:/src" "$out:/out" \
		"$CACHE/ccache:/ccache" "$VM_DIR/config:/config"
	version=$(cat "$out/version")
	rm -f "$out/tree/usr/lib/modules/$version/source"
	kcsan_trim_source "$out/src"
	mv "$out/src" "$out/tree/usr/src/linux-$version"
	rm -rf "$out"/{debs,elf}
	kernel_finish "$out"
}

# kcsan_kernel VAR NAME SUITE USERLAND: sets VAR to a KCSAN kernel of SUITE's series (kernel.sh)
kcsan_kernel() {
	local package recipe
	apt_update "$3"
	package=$(kernel_packages "$3" amd64 | grep '^linux-source')
	recipe=$(cd "$VM_DIR/config" && file_hash kcsan.config kcsan.patch ../lib/kcsan.sh ../guest/initrd)
	artefact "$1" "kernel-$2" "$(hash_of "$package" "$4" "$recipe")" \
		build_kcsan_kernel "$3" "$4" "$package"
}
