# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Debian packages of this tree: the clean roots that they are built in, and the source that
# they are built from. For tests/packages.

# shellcheck disable=SC2034 # for the other files
PACKAGES=$TREE/build/packages

# The mark of a release in the version of its packages
declare -A RELEASE=([bookworm]=deb12u1 [trixie]=deb13u1)

# release SUITE: prints its mark, or complains
release() {
	[ -n "${RELEASE[$1]:-}" ] || die "no packages for $1, only for ${!RELEASE[*]}"
	printf '%s\n' "${RELEASE[$1]}"
}

# module_version: MAJOR.MINOR.PATCH of version.h
module_version() {
	sed -n 's/^#define IWT_VERSION_[MP][A-Z]*\t*\([0-9]*\)$/\1/p' \
		"$TREE/drivers/infiniband/sw/iw_tcp/version.h" | paste -sd.
}

# tree_files: prints the files of this tree, each with an end of zero
tree_files() {
	if [ -e "$TREE/.git" ]; then
		git -C "$TREE" -c safe.directory='*' ls-files -z -co --exclude-standard --deduplicate |
			(cd "$TREE" && xargs -0 ls -d 2>/dev/null) | tr '\n' '\0'
	else
		(cd "$TREE" && find . -path ./build -prune -o -path ./debian/rdma-core -prune -o \
			\( -type f -o -type l \) -not -name '*.o' -not -name '*.ko' -printf '%P\0')
	fi
}

build_package_root() {
	local suite=$1 out=$2
	retry root_install "$suite" "build-essential,debhelper,dh-dkms,fakeroot,libibverbs-dev,lintian,python3" "$out/root"
}

# package_root VAR SUITE: a clean root with what the packages need to be built, and lintian
package_root() {
	artefact "$1" "packages-$2" "$(hash_of "$2" "$(declare -f build_package_root root_install)")" \
		build_package_root "$2"
}

# headers_of_rdma_core TREE DIR: copies what the provider's build needs of rdma-core
headers_of_rdma_core() {
	local from=$1 to=$2
	mkdir -p "$to"
	(cd "$from" && cp --parents CMakeLists.txt COPYING.* buildlib/make_abi_structs.py \
		libibverbs/*.h libibverbs/libibverbs.map.in kernel-headers/rdma/*.h ccan/*.h util/*.h "$to")
}

# changelog_entry VERSION SUITE FILE: a new entry, a second later than the last one, so that
# the same sources give the same packages
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

# source_stage SUITE VERSION DIR: the source package's files in DIR, for a version of the
# module that may be another one than the tree's
source_stage() {
	local suite=$1 version=$2 dir=$3 mark rdma_core minor
	mark=$(release "$suite")
	rdma_core=$("$TREE/userspace-provider/fetch-rdma-core")
	mkdir -p "$dir"
	tree_files | rsync -a --files-from=- -0 "$TREE/" "$dir/"
	headers_of_rdma_core "$rdma_core" "$dir/debian/rdma-core"
	if [ "$version" != "$(module_version)" ]; then
		minor=${version#*.}
		sed -i "s/\(IWT_VERSION_MAJOR\t*\).*/\1${version%%.*}/; s/\(IWT_VERSION_MINOR\t*\).*/\1${minor%.*}/
			s/\(IWT_VERSION_PATCH\t*\).*/\1${version##*.}/" "$dir/drivers/infiniband/sw/iw_tcp/version.h"
	fi
	changelog_entry "$version~$mark" "$suite" "$dir/debian/changelog"
}

# packages_build SUITE VERSION OUT: source and binary packages in OUT
packages_build() {
	local suite=$1 version=$2 out=$3 work root
	package_root root "$suite"
	work=$(mktemp -d "${TMPDIR:-/tmp}/iw_tcp-packages.XXXXXX")
	source_stage "$suite" "$version" "$work/iw-tcp-$version"
	rm -rf "$out"
	mkdir -p "$out"
	if ! in_root "$root/root" "cd /work/iw-tcp-*; dpkg-buildpackage -us -uc" "$work:/work" >"$out/log" 2>&1 </dev/null; then
		tail -n 40 "$out/log" >&2
		log "error: building for $suite failed (see $out/log)"
		rm -rf "$work"
		return 1
	fi
	mv "$work"/*.{deb,dsc,changes,buildinfo,tar.*} "$out"
	rm -rf "$work"
}

# packages_lint SUITE OUT: what lintian says of the packages in OUT; nothing if all is well.
# One source is for several releases, so its Standards-Version cannot be the last of each.
packages_lint() {
	local root tags=newer-standards-version,out-of-date-standards-version
	package_root root "$1"
	in_root "$root/root" "useradd -m lint; cd /out; su lint -c 'lintian --color=never --tag-display-limit 0 --display-info --pedantic --suppress-tags $tags --fail-on error,warning,info *.changes'" "$2:/out"
}
