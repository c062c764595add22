# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Builds this tree for a lab, inside the lab's userland, in build/labs/LAB:
#   src/      a copy of the sources, in which the build runs
#   payload/  the files to unpack over the lab's root

# These commands run in the userland. They leave out parts that the tree does not have.
# shellcheck disable=SC2016
BUILD_SCRIPT='
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=/ccache CCACHE_DEPEND=1 CCACHE_MAXSIZE=1G
kdir=/lib/modules/$VERSION/build
[ -z "$COMPILER" ] || export CC="$COMPILER"
PROFILE=
[ "$LAB" != coverage ] || PROFILE=GCOV_PROFILE=y
cd /src
rm -rf /out/payload
bin=/out/payload/opt/iw_tcp/bin updates=/out/payload/usr/lib/modules/$VERSION/updates
mkdir -p $bin $updates
if [ "$LAB" = series ] || [ "$LAB" = core ]; then
	# the kernels of these labs contain the module, so no module is built here
	: >Module.symvers
elif [ -e Kbuild ]; then
	make -s -j2 -C $kdir M=/src $MAKEARGS $PROFILE modules
	install -m 644 -t $updates drivers/infiniband/sw/iw_tcp/iw_tcp.ko
fi
make -s -C $kdir M=/src/tests/vm/gate-test/module $MAKEARGS modules
install -m 644 -t $updates tests/vm/gate-test/module/lab_fault.ko
if [ -e tests/modules/Kbuild ] || [ -e tests/modules/Makefile ]; then
	make -s -j2 -C $kdir M=/src/tests/modules KBUILD_EXTRA_SYMBOLS=/src/Module.symvers $MAKEARGS modules
	find tests/modules -name "*.ko" -exec install -m 644 -t $updates {} +
fi
if grep -qs "^provider:" Makefile; then
	make -s -j2 provider RDMA_CORE=/rdma-core
	make -s provider-install RDMA_CORE=/rdma-core DESTDIR=/out/payload
fi
if grep -qs "^service-install:" Makefile; then
	make -s service-install DESTDIR=/out/payload
fi
if [ -e tests/programs/Makefile ]; then
	make -s -j2 -C tests/programs OUT=$bin PROVIDER=/src/build/provider
fi
modules="$INDEX_OF $(find $updates -name "*.ko" | sort | xargs -r sha256sum | cut -c1-64)"
if [ ! -d /out/index ] || [ "$modules" != "$(cat /out/indexed)" ]; then
	rm -rf /out/index /out/index.new; mkdir -p /out/index.new
	mkdir -p /lib/modules/$VERSION/updates
	find $updates -name "*.ko" -exec cp -t /lib/modules/$VERSION/updates {} +
	depmod $VERSION
	cp /lib/modules/$VERSION/modules.* /out/index.new
	printf "%s\n" "$modules" >/out/indexed
	mv /out/index.new /out/index
fi
cp /out/index/* /out/payload/usr/lib/modules/$VERSION/
'

# build_copy OUT: copies the sources to OUT/src, and prints the files that have changed. Objects in
# OUT/src stay there, and objects of the tree are not copied. -O makes rsync ignore the times of
# directories: the build changes these times, but this is no change of a source.
build_copy() {
	rsync -aO --delete --itemize-changes --exclude=/.git --exclude=/build --exclude=__pycache__ \
		--exclude='*.o' --exclude='*.gcno' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' --exclude='.*.cmd' \
		--exclude='Module.symvers' --exclude='modules.order' "$TREE/" "$1/src/"
}

build_locked() {
	local out=$1 changed rdma_core
	mkdir -p "$out/src" "$CACHE/ccache"
	changed=$(build_copy "$out") || return 1
	[ -n "$changed" ] || [ "$(cat "$out/built" 2>/dev/null)" != "$KERNEL $ROOT" ] || return 0
	rm -f "$out/built"
	rdma_core=$("$TREE/userspace-provider/fetch-rdma-core") || return 1
	in_root "$KERNEL/tree $LAB_LAYERS" \
		"VERSION=$VERSION LAB=$LAB INDEX_OF=${KERNEL##*/}; MAKEARGS='${LAB_MAKEARGS:-}'; COMPILER='$LAB_CC'; $BUILD_SCRIPT" \
		"$ROOT/root:/sysroot" "$out/src:/src" "$out:/out" "$rdma_core:/rdma-core" "$CACHE/ccache:/ccache" >"$out/log" 2>&1 </dev/null || return 1
	echo "$KERNEL $ROOT" >"$out/built"
}

# tree_build OUT: builds in the directory OUT for the lab that lab_load has selected; on failure
# shows the log
tree_build() {
	local out=$1
	mkdir -p "$out"
	if ! locked "$out/lock" build_locked "$out"; then
		cat "$out/log" >&2
		log "error: building for lab $LAB failed"
		return 1
	fi
}
