# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Kernels for the labs "series" and "core": the patches that release/patches writes have added the
# driver to the kernel's own tree.

# linux_source_package: prints the source package of the newest 7.2
linux_source_package() {
	apt_update trixie-backports
	kernel_packages trixie-backports amd64 | grep '^linux-source'
}

build_linux_source() {
	local package=$1 out=$2
	mkdir "$out/debs"
	apt_download trixie-backports "$out/debs" "$package"
	dpkg-deb --fsys-tarfile "$out"/debs/*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | xz -dc -T2 |
		tar -x -C "$out" --strip-components=1 --wildcards '*/MAINTAINERS' \
			'*/drivers/infiniband/Kconfig' '*/drivers/infiniband/sw/Makefile' \
			'*/drivers/infiniband/core/iwcm.c' \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	rm -rf "$out/debs"
}

# linux_source VAR: sets VAR to a directory with checkpatch, and with those files of the source
# that the patches change
linux_source() {
	local package recipe
	package=$(linux_source_package)
	recipe=$(declare -f build_linux_source)
	artefact "$1" linux-source "$(hash_of "$package" "$recipe")" build_linux_source "$package"
}

# shellcheck disable=SC2317
# build_series_kernel "STAGE..." ARGS OF build_uml_kernel: builds a User-Mode Linux after it has
# applied the patches of these stages to the source
build_series_kernel() {
	local stages=$1
	shift
	eval "plain_$(declare -f uml_patch)"
	uml_patch() {
		local stage each
		plain_uml_patch "$1"
		for stage in $stages; do
			for each in "$TREE/build/patches/linux/$stage"/0*.patch; do
				[[ $each == */0000-* ]] || patch -s -f -p1 -d "$1" <"$each"
			done
		done
	}
	build_uml_kernel "$@"
}

# shellcheck disable=SC2034
# lab_series NAME FRAGMENT STAGE...: sets the variables of lab_load. The lab is like uml, but the
# kernel comes with a module iw_tcp, which the patches of these stages have added.
lab_series() {
	local name=$1 fragments="uml.config $2" package recipe stage patches=()
	shift 2
	locked "$CACHE/patches.lock" "$TREE/release/patches" linux >/dev/null
	# A cover letter (0000) does not change the kernel.
	for stage; do patches+=("$TREE/build/patches/linux/$stage"/{000[1-9],00[1-9]}*.patch); done
	package=$(linux_source_package)
	# shellcheck disable=SC2086
	recipe=$(cd "$VM_DIR/config" && file_hash $fragments uml.patch ../lib/uml.sh ../lib/series.sh ../guest/initrd)
	LAB_KIND=uml LAB_CMDLINE='' LAB_MAKEARGS=ARCH=um
	artefact KERNEL "kernel-$name" "$(hash_of "$package" "$recipe" "$(sed '/^From: /d' "${patches[@]}" | sha256sum)")" \
		build_series_kernel "$*" trixie-backports trixie "$package" "$fragments"
	root_of ROOT trixie
}

# shellcheck disable=SC2034
# lab_core: as lab_series, with the first stage only. IWT_WITHOUT tells the tests which features the
# driver lacks.
lab_core() {
	local without
	lab_series core core.config core
	without=$(sed -n 's/^+ //p' "$TREE/release/series" | paste -sd,)
	LAB_CMDLINE="IWT_WITHOUT=$without"
}
