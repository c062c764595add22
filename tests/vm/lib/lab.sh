# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # the other files use the variables
# The laboratories: the userland and the kernel of each laboratory.

LABS="6.12 6.1 7.3 rt uml debug"
# labs of other architectures, which are prepared only when they are named
FOREIGN_LABS="arm64 arm64-16k s390x"
# labs that only check --long uses, and core; they are prepared only when they are named
MORE_LABS="7.2 cloud cloud-6.1 cloud-7.3 rt-6.1 rt-7.3 kcsan series core dawdle coverage"
# labs that use the kernel of another lab
SAME_LABS="wrap untuned"

# lab_load LAB: sets the variables of a laboratory. KERNEL and ROOT are the prepared artefacts,
# VERSION is the kernel's release, LAB_KIND is the kind of emulator, LAB_MEMORY is in MiB,
# LAB_GRACE is the number of seconds for boot and gate, LAB_LAYERS are the directories to build
# in, LAB_CC is the compiler if it is not the usual one. LAB_CMDLINE and LAB_MAKEARGS are options
# of kernel and make.
lab_load() {
	LAB=$1 LAB_KIND=qemu LAB_ARCH=$NATIVE LAB_LAYERS='' LAB_CC='' LAB_MEMORY=4096 LAB_GRACE=420 LAB_MAKEARGS=
	# The emulator translates a program for the addresses that the program has. With random
	# addresses the emulator would have to translate the program again each time.
	LAB_CMDLINE='norandmaps slub_debug=FZP kfence.sample_interval=10'
	case $LAB in
	6.12) stock_kernel KERNEL 6.12 trixie amd64 trixie; root_of ROOT trixie ;;
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
	# the driver's counters begin shortly before their wrap (proto/first.h); tests learn how
	# far before from a variable
	wrap)
		lab_uml uml uml.config
		LAB_MAKEARGS+=" KCFLAGS=-DIWT_BEFORE_WRAP=24" LAB_CMDLINE='IWT_BEFORE_WRAP=24'
		;;
	# the driver is built without sock_tune.c and delayed startup, and the tests know this
	untuned)
		lab_uml uml uml.config
		LAB_MAKEARGS+=" IWT_WITHOUT=TUNE,DELAYED" LAB_CMDLINE='IWT_WITHOUT=TUNE,DELAYED'
		;;
	# less memory makes the scan for leaks shorter
	debug | dawdle | coverage)
		if [ "$LAB" = coverage ]; then
			lab_uml coverage "uml.config debug.config coverage.config"
		else
			lab_uml debug "uml.config debug.config"
		fi
		# only the driver is built differently; the kernel is that of the lab debug
		[ "$LAB" != dawdle ] || LAB_MAKEARGS="$LAB_MAKEARGS IWT_DAWDLE=1"
		LAB_MEMORY=1536 LAB_GRACE=900
		# an hour of the soak test makes more different call stacks than KASAN's default
		# depot holds
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

# lab_uml KERNEL FRAGMENTS: sets the variables of lab_load for a User-Mode Linux
lab_uml() {
	LAB_KIND=uml LAB_CMDLINE='' LAB_MAKEARGS=ARCH=um
	uml_kernel KERNEL "$1" trixie-backports trixie "$2"
	root_of ROOT trixie
}

# KCSAN delays a processor at a memory access and watches whether another processor accesses the
# same memory. So the emulator's processors must run at the same time. The delay must be longer
# than on real hardware, because the other emulated processor is slow, too.
lab_kcsan() {
	kcsan_kernel KERNEL kcsan trixie-backports trixie
	root_of ROOT trixie
	LAB_CMDLINE='norandmaps kcsan.skip_watch=1000 kcsan.udelay_task=1000 kcsan.udelay_interrupt=300'
	LAB_MEMORY=2048 LAB_GRACE=600
	export LAB_PARALLEL=1
}
