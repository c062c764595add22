# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Boots a prepared lab with the files of one run, and determines the exit status of the run. The
# run's directory contains payload.tar. The machine writes two files into this directory: console
# (the kernel's messages) and status (lines from guest/init).

CPUS=${LAB_CPUS:-2}
MACHINE_PID=

# If one of these kernel messages appears during a test, the run fails.
GATE_PATTERN='WARNING:|(^|[^E])BUG:|Oops|Kernel panic|general protection fault|unable to handle|KASAN|UBSAN|KFENCE|KCSAN|refcount_t:|ODEBUG:|list_(add|del) corruption|possible (circular|recursive|irq)|inconsistent .*lock state|suspicious RCU usage|bad unlock balance|held lock freed|INFO: (task|rcu|trying)|detected .*stalls|(soft|hard) (lockup|LOCKUP)|blocked for more than|unregister_netdevice: waiting|scheduling while atomic|sleeping function called|nobody cared|segfault at .* in lib(ibverbs|rdmacm|iw_tcp)|kernel BUG at|DEBUG_LOCKS_WARN|leak of resources'

KERNEL_OPTIONS='quiet panic=-1 oops=panic'

# With LAB_ICOUNT=1 a QEMU machine has one processor. Its clocks advance by one nanosecond for
# each executed instruction, and jump while the processor is idle. So a duration without idle time
# is a number of instructions, and is the same in each run. The kernel of such a machine runs
# without checkers, which would slow it down, and without its own time limits. If the machine has
# a network card (LAB_NET), its clocks do not jump, because they would diverge from the clocks of
# the peer.
ICOUNT_CMDLINE='kfence.sample_interval=0 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 sysctl.kernel.hung_task_timeout_secs=0'

# boot_KIND DIR: executes the emulator for the run's directory DIR. The emulator writes the script's
# output to the standard output. The emulator does not modify the disk images, so several labs can
# use the images at the same time.
#
# By default one thread of QEMU runs all processors in turn. With one thread for each processor, a
# processor may still execute an old translation of code in which the other processor has set and
# removed a breakpoint; the kernel then meets a breakpoint that it no longer knows. But with one
# thread, a process that polls for another process waits some milliseconds each time. So
# LAB_PARALLEL=1 selects a thread for each processor. The processor type has no CMPXCHG16B
# instruction, because QEMU 7.2 emulates the instruction wrongly (tests/programs/one/flags.c).
boot_qemu() {
	local dir=$1 threads=single accel cmdline=$LAB_CMDLINE smp=$CPUS idle=off
	[ -z "${LAB_PARALLEL:-}" ] || threads=multi
	# a kernel without ACPI reads a table that lists only the first processor of each socket
	[ "$LAB" != kcsan ] || smp+=",sockets=$CPUS"
	accel=(-accel "tcg,thread=$threads" -smp "$smp")
	if [ -n "${LAB_ICOUNT:-}" ]; then
		[ -z "${LAB_NET:-}" ] || idle=on
		accel=(-accel tcg,thread=single -icount "shift=0,sleep=$idle" -rtc clock=vm -smp 1)
		cmdline=$ICOUNT_CMDLINE
	fi
	# shellcheck disable=SC2086 # LAB_NET: the options of a network card
	exec qemu-system-x86_64 ${LAB_NET:-} \
		"${accel[@]}" -cpu max,-erms,-fsrm,-cx16 -m "$LAB_MEMORY" \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$KERNEL/linux" -initrd "$KERNEL/initrd" \
		-append "console=ttyS1 $KERNEL_OPTIONS no_timer_check mitigations=off nokaslr audit=0 rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 $cmdline LAB_IO=ttyS0 LAB_STATUS=ttyS2" \
		-serial stdio -serial "file:$dir/console" -serial "file:$dir/status" \
		-drive "file=$ROOT/root.img,if=virtio,format=raw,snapshot=on,file.locking=off" \
		-drive "file=$KERNEL/modules.img,if=virtio,format=raw,snapshot=on,file.locking=off" \
		-drive "file=$dir/payload.tar,if=virtio,format=raw,snapshot=on,file.locking=off"
}

# With LAB_PIN=1 each processor of a User-Mode Linux is bound to one processor of the host, together
# with the host processes that this processor starts. Then a system call causes a context switch on
# one host processor, and does not have to wake up another host processor.
UML_PIN='
pin() {
	local cpu=0 tid all=()
	for _ in {1..100}; do
		sleep 0.05
		all=($(ls /proc/$(pgrep -ox linux)/task 2>/dev/null | sort -n))
		[ ${#all[@]} -lt 3 ] || break
	done
	for tid in ${all[@]:0:$1}; do taskset -cp $((cpu++)) $tid; done
}
'

boot_uml() {
	local dir=$1 options mhz pin=
	mhz=$(awk -F: '/cpu MHz/ { print int($2); exit }' /proc/cpuinfo)
	options="mem=${LAB_MEMORY}M seccomp=on ncpus=$CPUS umid=lab uml_dir=/run/lab initrd=/run/kernel/initrd"
	options+=" ubd0=cow0,/run/root/root.img ubd1=cow1,/run/kernel/modules.img ubd2=cow2,payload.tar"
	options+=" con=null con0=null,fd:3 con1=fd:0,fd:1 con2=null,fd:4"
	options+=" $KERNEL_OPTIONS $LAB_CMDLINE LAB_IO=tty1 LAB_STATUS=tty2 LAB_MHZ=$mhz"
	# "exit" makes bash start the kernel as a new process, instead of replacing itself by the
	# kernel. Otherwise the kernel would be process 1 of its namespace, and no signal from this
	# namespace could kill it.
	[ -z "${LAB_PIN:-}" ] || pin="$UML_PIN pin $CPUS >pins 2>&1 & "
	in_root "$ROOT/root" "cd /run/lab; $pin/run/kernel/linux $options 3>>console 4>>status; exit \$?" \
		"$dir:/run/lab" "$KERNEL:/run/kernel" "$ROOT:/run/root"
}

# machine_boot LAB KIND KERNEL ROOT CMDLINE MEMORY DIR: boots the machine; machine_once calls this
# function in a separate shell
machine_boot() {
	LAB=$1 LAB_KIND=$2 KERNEL=$3 ROOT=$4 LAB_CMDLINE=$5 LAB_MEMORY=$6
	"boot_$LAB_KIND" "$7" 2>"$7/emulator"
}

machine_kill() { [ -z "$MACHINE_PID" ] || kill -KILL -- "-$MACHINE_PID" 2>/dev/null || :; }

# all_messages DIR: prints the kernel's messages since the start of the script
all_messages() {
	tr -d '\r' <"$1/console" | awk 'started; /lab: the script starts/ { started = 1 }'
}

# messages DIR: like all_messages, but without the reports of data races outside this tree's code
messages() { all_messages "$1" | without_races_elsewhere; }

# tell_races DIR: prints the number of the reports that messages() leaves out, and for each kind of
# race its functions
tell_races() {
	local races count title
	races=$(all_messages "$1" | races_elsewhere)
	[ -n "$races" ] || return 0
	log "data races in the rest of the kernel, not judged: $(awk '{ n += $1 } END { print n " reports, " NR " kinds" }' <<<"$races")"
	while IFS=$'\t' read -r count title; do log "  $count x $title"; done <<<"$races"
}

# crashes DIR: prints the programs that a signal ended with a core dump. Leaves out segmentation
# faults of qperf, of fi_pingpong and of perftest's programs in their own code or in other libraries,
# because these programs access freed memory; does not leave out a fault in this tree's library.
crashes() {
	messages "$1" | awk '
		match($0, /\[[0-9]+\]:? (segfault at|general protection fault ip:)/) {
			tid = substr($0, RSTART + 1) + 0
			where[tid] = / in [^ ]*\[/ ? $0 : ""
			sub(/.* in /, "", where[tid])
			sub(/\[.*/, "", where[tid])
		}
		/lab: crash / {
			sub(/.*lab: crash /, "")
			tid = $1; signal = $2; lib = where[tid]
			delete where[tid]
			sub(/^[0-9]+ [0-9]+ /, "")
			if (/^(qperf|fi_pingpong|ib_[a-z_]+)$/ && signal == 11 && lib != "" && lib !~ /^libiw_tcp/)
				next
			print $0 " crashed: signal " signal (lib == "" ? "" : " in " lib)
		}'
}

# Two warnings of the kernel that are ignored, because this tree does not cause them:
# 1. The kernel warns when it cannot allocate memory for a module's trace event. iwt_faults makes
#    allocations fail while the kernel loads the module. iwt_faults cannot reliably skip the
#    allocations for trace events, because the number of allocations before the module's own
#    allocations varies a little.
# 2. For a session with a shared receive queue, the SRP target warns once in srpt_cache_put(). This
#    does not depend on the RDMA driver.
SPARED='WARNING: kernel/trace/trace_events\.c:[0-9]+ at .*: iwt_faults/[0-9]+'
SPARED+='|WARNING: .*/ib_srpt\.c:[0-9]+ (at )?srpt_cache_put\+'

# bad_messages DIR: prints the messages that fail the run, and the programs that crashed
bad_messages() {
	messages "$1" | awk '!/(qperf|ib_[a-z_]+)\[[0-9]+\](: segfault at| general protection fault ip:)/' |
		grep -vE "$SPARED" | grep -E "$GATE_PATTERN" || :
	crashes "$1"
}

# tell_first DIR: prints the first message that fails the run, with registers, code and call trace
# (at most 200 lines)
tell_first() {
	messages "$1" | awk -v pattern="$GATE_PATTERN" -v spared="$SPARED" '
		!begun && $0 ~ pattern && $0 !~ spared { begun = 1 }
		!begun { next }
		{ print }
		/---\[ end |] ====================/ || ++n == 200 { exit }
	' | sed 's/^/  /' >"$1/first"
	[ -s "$1/first" ] || return 0
	log "gate: the first of them, whole:"
	cat "$1/first" >&2
}

# keep_coverage DIR: writes the counters that the lab "coverage" has printed (a .tar.gz archive in
# base64) to a new file in the directory LAB_COVERAGE. Does nothing if LAB_COVERAGE is not set.
keep_coverage() {
	[ -n "${LAB_COVERAGE:-}" ] && grep -q '^coverage ' "$1/lines" || return 0
	mkdir -p "$LAB_COVERAGE"
	sed -n 's/^coverage //p' "$1/lines" | base64 -d >"$(mktemp "$LAB_COVERAGE/XXXXXXXX.tar.gz")" ||
		log "what the lab has counted did not come as a whole"
}

# script_began DIR: did the machine start the script?
script_began() { grep -q '^start' "$1/status" && grep -q 'lab: the script starts' "$1/console"; }

# judge DIR TIME: prints everything that went wrong in the run, and returns the exit status of the
# run (README, "run"). TIME, the limit of the script in seconds, is only for a message.
judge() {
	local dir=$1 time=$2 rc bad
	tr -d '\r' <"$dir/status" >"$dir/lines" 2>/dev/null || :>"$dir/lines"
	rc=$(sed -n 's/^exit //p' "$dir/lines")
	keep_coverage "$dir"
	if ! script_began "$dir"; then
		tail -n 60 "$dir/console" "$dir/emulator" >&2 || :
		log "gate: lab $LAB did not boot"
		return 99
	fi
	tell_races "$dir"
	bad=$(bad_messages "$dir" | wc -l)
	if [ "$bad" -gt 0 ]; then
		messages "$dir" | grep -v 'lab: ' | tail -n 20000 >&2
		log "gate: kernel messages ($bad suspicious lines):"
		bad_messages "$dir" | head -n 100 >&2
		tell_first "$dir"
	fi
	sed -n 's/^gate /vm: gate: /p; s/^note /vm: /p' "$dir/lines" >&2
	if grep -q '^timeout' "$dir/lines" || { [ -z "$rc" ] && [ "$MACHINE_RC" = 124 ]; }; then
		[ "$bad" -gt 0 ] || messages "$dir" | tail -n 200 >&2
		log "the script did not end within $time s"
		[ "$bad" -gt 0 ] || return 124
		return 99
	fi
	if [ -z "$rc" ]; then
		[ "$bad" -gt 0 ] || messages "$dir" | tail -n 60 >&2
		cat "$dir/emulator" >&2
		log "gate: the machine ended before its script"
		return 99
	fi
	if [ "$bad" -gt 0 ] || grep -q '^gate ' "$dir/lines"; then
		log "gate: the script's own exit status was $rc"
		return 99
	fi
	if ! grep -q '^done' "$dir/lines"; then
		log "gate: the machine ended before the gate (the script's exit status was $rc)"
		return 99
	fi
	return "$rc"
}

# machine_once DIR TIME: boots the machine and waits for its end, at most TIME + LAB_GRACE seconds.
# Sets MACHINE_RC to the emulator's status, or to 124 after that time. "timeout" puts the machine
# into a separate process group, so that one signal ends all its processes. A background process
# group cannot read from the terminal of its session; so if standard input is a terminal, "setsid"
# starts the machine in a new session. LAB_NETNS is the number of an open file: the network
# namespace in which the emulator runs.
machine_once() {
	local dir=$1 time=$2 session='' net=()
	: >"$dir/console"; : >"$dir/status"; : >"$dir/emulator"
	MACHINE_RC=0
	[ ! -t 0 ] || session=setsid
	[ -z "${LAB_NETNS:-}" ] || net=(nsenter --net="/dev/fd/$LAB_NETNS")
	# shellcheck disable=SC2016
	$session timeout -k 5 $((time + LAB_GRACE)) "${net[@]}" bash -c '. "$1/lib/all.sh"; shift; machine_boot "$@"' \
		boot "$VM_DIR" "$LAB" "$LAB_KIND" "$KERNEL" "$ROOT" "$LAB_CMDLINE" "$LAB_MEMORY" "$dir" <&0 &
	MACHINE_PID=$!
	wait "$MACHINE_PID" || MACHINE_RC=$?
	# "unshare" survives the signal that "timeout" sends, so kill it here
	machine_kill
	MACHINE_PID=
}

# machine_run DIR TIME: boots the machine, waits for its end and returns the exit status of the run.
# A kernel patches its own code while it boots. So with LAB_PARALLEL=1 about one boot in ten fails
# at an unknown breakpoint (the comment at boot_qemu explains this). The machine is then booted
# again, up to three times.
machine_run() {
	local dir=$1 tries=1 rc=0
	[ -z "${LAB_PARALLEL:-}" ] || tries=4
	while machine_once "$@"; ! script_began "$dir" && [ "$MACHINE_RC" != 124 ] && ((--tries > 0)); do
		log "lab $LAB did not boot with LAB_PARALLEL=1, once more"
	done
	judge "$@" || rc=$?
	return "$rc"
}
