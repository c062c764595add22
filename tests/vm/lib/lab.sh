# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for the other files
# The laboratories: which userland and which kernel each has.

LABS="6.12 6.1 7.2 rt uml debug"
# labs of other architectures, which are prepared only when they are named
FOREIGN_LABS="arm64 arm64-16k s390x"
# labs that only check --long uses, which are prepared when they are named
MORE_LABS="kcsan series core dawdle coverage"
# a laboratory with the kernel of another one
SAME_LABS="wrap untuned"

# lab_load LAB: sets KERNEL and ROOT to the prepared artefacts, VERSION to the
# kernel's release, LAB_KIND (of emulator), LAB_MEMORY (MiB), LAB_CMDLINE,
# LAB_MAKEARGS and LAB_GRACE (seconds for boot and gate); LAB_LAYERS are the directories to
# build in, LAB_CC is the compiler if it is not the usual one
lab_load() {
	LAB=$1 LAB_KIND=qemu LAB_ARCH=$NATIVE LAB_LAYERS='' LAB_CC='' LAB_MEMORY=4096 LAB_GRACE=420 LAB_MAKEARGS=
	# the emulator's translation of a program depends on its addresses: with random
	# addresses the emulator would translate it again each time
	LAB_CMDLINE='norandmaps slub_debug=FZP kfence.sample_interval=10'
	case $LAB in
	6.12) stock_kernel KERNEL 6.12 trixie amd64 trixie; root_of ROOT trixie ;;
	7.2) stock_kernel KERNEL 7.2 trixie-backports amd64 trixie; root_of ROOT trixie ;;
	rt) stock_kernel KERNEL rt trixie rt-amd64 trixie; root_of ROOT trixie ;;
	6.1) stock_kernel KERNEL 6.1 bookworm amd64 bookworm; root_of ROOT bookworm ;;
	uml) lab_uml uml uml.config ;;
	# the driver's counters begin so much before their wrap (proto/first.h), which tests know
	wrap)
		lab_uml uml uml.config
		LAB_MAKEARGS+=" KCFLAGS=-DIWT_BEFORE_WRAP=24" LAB_CMDLINE='IWT_BEFORE_WRAP=24'
		;;
	# without sock_tune.c and delayed startup, which tests know
	untuned)
		lab_uml uml uml.config
		LAB_MAKEARGS+=" IWT_WITHOUT=TUNE,DELAYED" LAB_CMDLINE='IWT_WITHOUT=TUNE,DELAYED'
		;;
	# with less memory the search for leaks is shorter
	debug | dawdle | coverage)
		if [ "$LAB" = coverage ]; then
			lab_uml coverage "uml.config debug.config coverage.config"
		else
			lab_uml debug "uml.config debug.config"
		fi
		# the module only is another one
		[ "$LAB" != dawdle ] || LAB_MAKEARGS="$LAB_MAKEARGS IWT_DAWDLE=1"
		LAB_MEMORY=1536 LAB_GRACE=900
		# an hour of soak has more call stacks than KASAN has room for
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

# lab_uml KERNEL FRAGMENTS
lab_uml() {
	LAB_KIND=uml LAB_CMDLINE='' LAB_MAKEARGS=ARCH=um
	uml_kernel KERNEL "$1" trixie-backports trixie "$2"
	root_of ROOT trixie
}

# A processor that waits for a race only meets another one if the emulator's processors run
# at the same time; and it must wait for longer than a real one, because the other processor
# is as slow as itself.
lab_kcsan() {
	kcsan_kernel KERNEL kcsan trixie-backports trixie
	root_of ROOT trixie
	LAB_CMDLINE='norandmaps kcsan.skip_watch=1000 kcsan.udelay_task=1000 kcsan.udelay_interrupt=300'
	LAB_MEMORY=2048 LAB_GRACE=600
	export LAB_PARALLEL=1
}
