# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# User-Mode Linux kernels. They are built from the distribution's kernel source, in the userland
# that a lab boots. Their artefacts have the same files as those of kernel.sh.

# These commands run in the userland. They fail if kconfig drops an option of a fragment.
# shellcheck disable=SC2016
UML_BUILD='
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=/ccache CCACHE_DEPEND=1 CCACHE_MAXSIZE=1G
cd /src
cat /config/* >.fragment
make -s ARCH=um defconfig
scripts/kconfig/merge_config.sh -m .config .fragment
make -s ARCH=um olddefconfig
grep "^CONFIG_" .fragment | while read -r option; do
	grep -qxF "$option" .config || { echo "not accepted: $option"; exit 1; }
done
make -s -j"$(nproc)" ARCH=um
version=$(make -s ARCH=um kernelrelease)
make -s ARCH=um INSTALL_MOD_PATH=/out/tree/usr modules_install
strip -o /out/linux linux
echo "$version" >/out/version
ln -sfn "/usr/src/linux-$version" "/out/tree/usr/lib/modules/$version/build"
'

# uml_trim_source DIR: removes from a built kernel tree what a package of headers does not have,
# such as objects and C files. Modules can still be built.
uml_trim_source() {
	local dir=$1
	rm -rf "$dir"/{.fragment,.tmp_*,linux,vmlinux*,Documentation,samples,sound,tools}
	find "$dir" -type f \( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '*.c' -o -name '*.S' \
		-o -name '*.dts*' -o -name '.*.cmd' -o -name '*.rst' -o -name '*.mod' \) \
		-not -path "$dir/scripts/*" -delete
	find "$dir/arch" -mindepth 1 -maxdepth 1 -type d -not -name um -not -name x86 -exec rm -rf {} +
	find "$dir/drivers" -type f -not -name '*.h' -delete
	find "$dir" -type d -empty -delete
}

# uml_patch SOURCE: applies uml.patch. Applies nothing if one part of it does not fit.
uml_patch() {
	local patch=$VM_DIR/config/uml.patch
	if patch -s -f -p1 -d "$1" --dry-run <"$patch"; then
		patch -s -f -p1 -d "$1" <"$patch"
	else
		log "uml.patch does not fit this kernel; the lab will be slower"
	fi
}

build_uml_kernel() {
	local suite=$1 userland=$2 package=$3 fragments=$4 out=$5 root version
	mkdir -p "$out"/{debs,src,config,tree/usr/src} "$CACHE/ccache"
	apt_download "$suite" "$out/debs" "$package"
	dpkg-deb --fsys-tarfile "$out"/debs/*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | xz -dc -T2 |
		tar -x -C "$out/src" --strip-components=1 --exclude='*/Documentation/*/*'
	uml_patch "$out/src"
	# shellcheck disable=SC2086
	(cd "$VM_DIR/config" && cp $fragments "$out/config")
	root_of root "$userland"
	in_root "$root/root" "$UML_BUILD" "$out/src:/src" "$out:/out" "$out/config:/config" "$CACHE/ccache:/ccache"
	version=$(cat "$out/version")
	rm -f "$out/tree/usr/lib/modules/$version/source"
	uml_trim_source "$out/src"
	mv "$out/src" "$out/tree/usr/src/linux-$version"
	rm -rf "$out/debs"
	kernel_finish "$out"
}

# uml_kernel VAR NAME SUITE USERLAND "FRAGMENTS": sets VAR to a User-Mode Linux of SUITE's series
# (kernel.sh)
uml_kernel() {
	local package recipe
	apt_update "$3"
	package=$(kernel_packages "$3" amd64 | grep '^linux-source')
	# shellcheck disable=SC2086
	recipe=$(cd "$VM_DIR/config" && file_hash $5 uml.patch ../lib/uml.sh ../guest/initrd)
	artefact "$1" "kernel-$2" "$(hash_of "$package" "$4" "$recipe")" \
		build_uml_kernel "$3" "$4" "$package" "$5"
}
