# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The userland of a release: a directory to build in and an image to boot from.

# root_packages SUITE: packages to install besides the essential ones
root_packages() {
	sed 's/#.*//' "$VM_DIR"/config/packages{,".$1",.suites} | xargs -n1
}

build_root() {
	local suite=$1 out=$2 list
	list=$(root_packages "$suite" | paste -sd,)
	retry root_install "$suite" "$list" "$out/root"
	# the image has free space, because labs write to it; the file is sparse
	truncate -s 6G "$out/root.img"
	mkfs.ext4 -q -d "$out/root" -O ^has_journal -E lazy_itable_init=1 "$out/root.img"
}

# Files that libopenmpi-dev installs and no test uses: a Fortran compiler, and LLVM for graphics
# devices
ROOT_WITHOUT='/usr/libexec/gcc/*/f951 /usr/lib/gcc/*/f951 /usr/lib/*/libLLVM-17.so* /usr/lib/*/libLLVM.so.17* /usr/lib/*/libamd*'

# root_install SUITE LIST DIR: installs the packages of LIST, separated by commas, into the new root
# directory DIR
root_install() {
	local suite=$1 list=$2 dir=$3 hook without
	rm -rf "$dir"
	# shellcheck disable=SC2016
	hook='for f in var/lib/apt/lists usr/share/info usr/share/locale; do rm -rf "$1/$f"; done; mkdir -p "$1/opt/iw_tcp" "$1/run/netns"'
	read -ra without <<<"$ROOT_WITHOUT"
	mmdebstrap --variant=minbase --format=directory --include="$list" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/rdma-core*' \
		--dpkgopt='force-unsafe-io' "${without[@]/#/--dpkgopt=path-exclude=}" \
		--customize-hook="$hook" "$suite" "$dir" "$(apt_repository)"
}

# root_of VAR SUITE: sets VAR to the cached userland of SUITE: root/ and root.img
root_of() {
	artefact "$1" "root-$2" "$(hash_of "$2" "$(root_packages "$2")" \
		"$(declare -f build_root root_install)" "$ROOT_WITHOUT")" build_root "$2"
}

# in_root "LOWER..." SCRIPT [BIND...]: runs the bash SCRIPT in a temporary root: an overlay of the
# directories LOWER (the topmost first). /proc, /dev and the directories BIND (source:target) are
# mounted. Files that SCRIPT writes outside of the BIND directories are discarded.
in_root() {
	local lower=$1 script=$2; shift 2
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child --propagation private \
		bash -c '
		set -euo pipefail
		lower=$1 script=$2; shift 2
		mount -t tmpfs tmpfs /mnt
		mkdir /mnt/{upper,work,root}; root=/mnt/root
		mount -t overlay overlay -o "lowerdir=${lower// /:},upperdir=/mnt/upper,workdir=/mnt/work" "$root"
		for bind; do
			mkdir -p "$root/${bind#*:}"
			mount --bind "${bind%%:*}" "$root/${bind#*:}"
		done
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			chroot "$root" /bin/bash -ec "$script"
		' in_root "$lower" "$script" "$@"
}
