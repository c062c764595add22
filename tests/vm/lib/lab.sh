# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # the other files use the variables
# The laboratories: the userland and the kernel of each laboratory.

LABS="6.12 6.1 7.3 rt uml debug"
# labs of other architectures, which are prepared only when a command names them
FOREIGN_LABS="arm64 arm64-16k s390x"
# more labs, which are prepared only when a command names them; most are for check --long only
MORE_LABS="7.2 cloud cloud-6.1 cloud-7.3 rt-6.1 rt-7.3 kcsan series core dawdle dawdle-6.12 coverage"
# labs that use the kernel of the lab uml
SAME_LABS="wrap untuned bare"

# lab_load LAB: sets the variables of a laboratory, and prepares the kernel and the userland if they
# are not in the cache.
#   KERNEL, ROOT   the artefacts of the kernel and of the userland
#   VERSION        the kernel's release
#   LAB_KIND       the kind of emulator: the function boot_KIND starts the machine
#   LAB_ARCH       Debian's name of the architecture
#   LAB_MEMORY     the memory of the machine, in MiB
#   LAB_GRACE      the seconds that boot and gate may take in addition to the time of the script
#   LAB_LAYERS     the directories to build in (arguments of in_root)
#   LAB_CC         the compiler; empty for the usual compiler
#   LAB_CMDLINE    options of the kernel
#   LAB_MAKEARGS   options of make
lab_load() {
	LAB=$1 LAB_KIND=qemu LAB_ARCH=$NATIVE LAB_LAYERS='' LAB_CC='' LAB_MEMORY=4096 LAB_GRACE=420 LAB_MAKEARGS=
	# The emulator translates a program for the addresses that the program has. With random
	# addresses the emulator would have to translate the program again each time.
	LAB_CMDLINE='norandmaps slub_debug=FZP kfence.sample_interval=10'
	case $LAB in
	6.12) stock_kernel KERNEL 6.12 trixie amd64 trixie; root_of ROOT trixie ;;
	# a stock kernel, which can have more than the two processors of the lab dawdle
	dawdle-6.12)
		stock_kernel KERNEL 6.12 trixie amd64 trixie
		root_of ROOT trixie
		LAB_MAKEARGS=IWT_DAWDLE=1
		;;
	7.2) stock_kernel KERNEL 7.2 trixie-backports amd64 trixie; root_of ROOT trixie ;;
	7.3) stock_kernel KERNEL 7.3 trixie-backports amd64 trixie 7.3; root_of ROOT trixie ;;
	rt) stock_kernel KERNEL rt trixie rt-amd64 trixie; root_of ROOT trixie ;;
	cloud) stock_kernel KERNEL cloud trixie cloud-amd64 trixie; root_of ROOT trixie ;;
	cloud-7.3 | rt-7.3)
		stock_kernel KERNEL "$LAB" trixie-backports "${LAB%-*}-amd64" trixie 7.3
		root_of ROOT trixie
		;;
	cloud-6.1 | rt-6.1)
		stock_kernel KERNEL "$LAB" bookworm "${LAB%-*}-amd64" bookworm
		root_of ROOT bookworm
		;;
	6.1) stock_kernel KERNEL 6.1 bookworm amd64 bookworm; root_of ROOT bookworm ;;
	uml) lab_uml uml uml.config ;;
	# The driver's counters begin 24 steps before they wrap (proto/first.h). The kernel passes
	# the variable IWT_BEFORE_WRAP to the tests, which need this number.
	wrap)
		lab_uml uml uml.config
		LAB_MAKEARGS+=" KCFLAGS=-DIWT_BEFORE_WRAP=24" LAB_CMDLINE='IWT_BEFORE_WRAP=24'
		;;
	# The driver is built without sock_tune.c and without delayed startup. The kernel passes the
	# variable IWT_WITHOUT to the tests, which skip these features.
	untuned)
		lab_uml uml uml.config
		LAB_MAKEARGS+=" IWT_WITHOUT=TUNE,DELAYED" LAB_CMDLINE='IWT_WITHOUT=TUNE,DELAYED'
		;;
	# the driver is built without any of the features that the build can leave out (Kbuild)
	bare)
		lab_uml uml uml.config
		LAB_CMDLINE="IWT_WITHOUT=$(sed -n 's/^iwt-features := //p' "$TREE/Kbuild" | tr ' ' ,)"
		LAB_MAKEARGS+=" $LAB_CMDLINE"
		;;
	# a machine with less memory (LAB_MEMORY) needs less time for kmemleak's scan
	debug | dawdle | coverage)
		if [ "$LAB" = coverage ]; then
			lab_uml coverage "uml.config debug.config coverage.config"
		else
			lab_uml debug "uml.config debug.config"
		fi
		# the lab dawdle has the kernel of the lab debug; only the driver is built
		# differently
		[ "$LAB" != dawdle ] || LAB_MAKEARGS="$LAB_MAKEARGS IWT_DAWDLE=1"
		LAB_MEMORY=1536 LAB_GRACE=900
		# one hour of the soak test makes more different call stacks than the kernel's stack
		# depot stores by default (KASAN saves call stacks there)
		LAB_CMDLINE='stack_depot_max_pools=32767'
		;;
	arm64) lab_foreign trixie arm64 trixie:arm64 ;;
	arm64-16k) lab_foreign trixie arm64-16k trixie:arm64 ;;
	s390x) lab_foreign bookworm-backports s390x bookworm:s390x ;;
	kcsan) lab_kcsan ;;
	series) lab_series series series.config core features ;;
	core) lab_core ;;
	*) die "no such lab: $LAB (there are $LABS $SAME_LABS $FOREIGN_LABS $MORE_LABS)" ;;
	esac
	VERSION=$(cat "$KERNEL/version")
	LAB_LAYERS=${LAB_LAYERS:-$ROOT/root}
}

# lab_uml NAME FRAGMENTS: sets the variables of lab_load for a User-Mode Linux with the kernel NAME,
# which is configured with the files FRAGMENTS of tests/vm/config
lab_uml() {
	LAB_KIND=uml LAB_CMDLINE='' LAB_MAKEARGS=ARCH=um
	uml_kernel KERNEL "$1" trixie-backports trixie "$2"
	root_of ROOT trixie
}

# lab_kcsan: sets the variables of lab_load for the kernel with KCSAN. KCSAN delays a processor at a
# memory access and watches whether another processor accesses the same memory. So the emulator's
# processors must run at the same time. The delay must be longer than on real hardware, because the
# other emulated processor is slow, too.
lab_kcsan() {
	kcsan_kernel KERNEL kcsan trixie-backports trixie
	root_of ROOT trixie
	LAB_CMDLINE='norandmaps kcsan.skip_watch=1000 kcsan.udelay_task=1000 kcsan.udelay_interrupt=300'
	LAB_MEMORY=2048 LAB_GRACE=600
	export LAB_PARALLEL=1
}
