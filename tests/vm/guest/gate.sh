# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The gate: checks a lab machine after the script has ended. Writes a line "gate ..." to the tty
# LAB_STATUS for each fault that it finds. The host, not this file, checks the kernel's messages,
# because the host's copy of the messages survives a crash.

# If an object still exists after this number of seconds, the gate reports the object as leaked. The
# gate waits because objects are released slowly if several laboratories share a processor; a leaked
# object stays for ever.
PATIENCE=20
# NS_PATIENCE is this number for network namespaces. This number is larger, because a namespace
# exists until TCP gives up sending the remaining data of an ended process to a peer that no longer
# exists. The gate's own test (gate-test) writes a shorter time into the file NS_PATIENCE_FILE.
NS_PATIENCE=200 NS_PATIENCE_FILE=/run/lab.patience

# WITHIN SECONDS COMMAND...: ends COMMAND if it makes no progress for SECONDS in which the machine runs.
# timeout(1) would also count the time in which the machine stands still.
WITHIN=/opt/iw_tcp/bin/iwt_patient

# status LINE: writes LINE to the tty LAB_STATUS. Closing a tty waits until its output has been sent,
# but a signal ends this wait, and the rest of the output is lost. So a subshell writes the line:
# process 1 often receives SIGCHLD, but a subshell has no children.
status() { (printf '%s\n' "$*" >"/dev/$LAB_STATUS"); }

complain() { status "gate $*"; }

# in_namespaces COMMAND...: runs COMMAND in the current network namespace, and then in every named
# network namespace
in_namespaces() {
	local ns
	"$@"
	for ns in $(ip netns list | awk '{ print $1 }'); do
		ip netns exec "$ns" "$@"
	done
}

iwarp_devices() { in_namespaces rdma dev show | awk '/ rnic / { sub(":", "", $2); print $2 }' | sort -u; }

# rdma_leaks: prints the RDMA resources that still exist on iWARP devices. Of the completion queues,
# prints only those of processes: the RDMA core keeps a pool of kernel completion queues as long as
# the device exists. When the device is removed, the kernel reports kernel queues that leaked.
rdma_leaks() {
	local dev
	for dev in $(iwarp_devices); do
		in_namespaces rdma resource show "$dev" 2>/dev/null | awk -v dev="$dev" '{
			for (i = 3; i < NF; i += 2)
				if ($i != "cq" && $(i + 1) > 0) print dev, $i, $(i + 1) }'
		in_namespaces rdma resource show cq link "$dev" 2>/dev/null | awk '
			/ pid /'
	done | sort -u
}

# until_empty SECONDS COMMAND: runs COMMAND again and again, until COMMAND prints nothing or SECONDS
# have passed. Prints the output of the last run.
until_empty() {
	local left=$(($1 * 5)) out
	shift
	while out=$("$@"); [ -n "$out" ] && [ $((left--)) -gt 0 ]; do sleep 0.2; done
	printf '%s' "$out"
}

gate_resources() {
	local leaks
	leaks=$(until_empty $PATIENCE rdma_leaks)
	[ -z "$leaks" ] || while read -r line; do
		complain "leaked rdma resource: $line"
	done <<<"$leaks"
}

user_processes() {
	local dir exe
	for dir in /proc/[0-9]*; do
		case ${dir#/proc/} in 1 | "$BASHPID") continue ;; esac
		exe=$(readlink "$dir/exe" 2>/dev/null)
		[ -z "$exe" ] || echo "${dir#/proc/}"
	done
}

gate_links() {
	local dev
	for dev in $(iwarp_devices); do
		in_namespaces $WITHIN 20 rdma link delete "$dev" >/dev/null 2>&1
	done
	for dev in $(until_empty $PATIENCE iwarp_devices); do
		complain "rdma link $dev cannot be deleted"
	done
}

gate_modules() {
	local module left
	for module in iw_tcp siw; do
		for ((left = PATIENCE * 5; left > 0; left--)); do
			[ -d "/sys/module/$module" ] || continue 2
			$WITHIN 20 modprobe -r "$module" >/dev/null 2>&1
			[ -d "/sys/module/$module" ] || continue 2
			sleep 0.2
		done
		complain "module $module does not unload: $(grep "^$module " /proc/modules)"
	done
}

netdevs() { ip -o link show type "$1" 2>/dev/null | awk '{ sub("[:@].*", "", $2); print $2 }'; }

gate_netdevs() {
	local dev kind
	$WITHIN 30 ip -all netns delete || complain "network namespaces cannot be deleted"
	for kind in vlan bridge veth dummy macvlan ipvlan bond; do
		for dev in $(netdevs $kind); do
			$WITHIN 15 ip link delete "$dev" 2>/dev/null
			[ ! -e "/sys/class/net/$dev" ] || complain "netdev $dev is still referenced"
		done
	done
}

# namespaces_left: prints "left" if there is a second network namespace. A list would not show a
# namespace that has neither a name nor a process. But the RDMA core changes how namespaces share
# devices (exclusive or shared) only if there is no second namespace. So this function tries the
# change.
namespaces_left() {
	local mode
	for mode in exclusive shared; do
		if ! rdma system set netns $mode 2>/dev/null; then echo left; return; fi
	done
}

gate_namespaces() {
	modprobe -q ib_core
	rdma system show 2>/dev/null | grep -q 'netns ' || return
	# The kernel's NFS server never releases the callback transport of a connection over RDMA
	# (tests/soak/level.sh explains this). The transport has a reference to the network
	# namespace, so here a remaining namespace is no fault. lib/suite.sh calls this
	# function before a test of the NFS server, for the tests that have run so far.
	if grep -q '^nfsd ' /proc/modules; then
		[ -z "$(namespaces_left)" ] || status "note a network namespace lives on, as those of an NFS server do"
		return
	fi
	[ ! -e $NS_PATIENCE_FILE ] || NS_PATIENCE=$(cat $NS_PATIENCE_FILE)
	[ -z "$(until_empty "$NS_PATIENCE" namespaces_left)" ] ||
		complain "a network namespace lives on ($(grep '^TCP:' /proc/net/sockstat))"
}

stuck_tasks() {
	awk 'FNR == 1 { name = $0; sub(/^[0-9]+ \(/, "", name); sub(/\) [A-Z] .*/, "", name)
		state = $0; sub(/.*\) /, "", state)
		if (state ~ /^D/) print $1 ":" name }' /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null | sort
}

gate_tasks() {
	local task before now left frame
	before=$(stuck_tasks)
	for ((left = PATIENCE; left > 0; left--)); do
		[ -n "$before" ] || return
		sleep 1
		now=$(stuck_tasks)
		before=$(comm -12 <(echo "$before") <(echo "$now"))
	done
	while read -r task; do
		complain "stuck task $task"
		while IFS= read -r frame; do complain "  $frame"; done < <(head -n 12 "/proc/${task%%:*}/stack" 2>/dev/null)
	done <<<"$before"
}

# gate_memory: scans for leaks after the modules have been unloaded, because then no memory of the
# modules refers to a leaked object. gate() saves the symbol addresses of the modules before it
# unloads the modules.
gate_memory() {
	local leaks=/sys/kernel/debug/kmemleak line
	[ -e $leaks ] || return
	# kmemleak reports an object only when the object is at least five seconds old
	sleep 5
	echo scan >$leaks
	echo scan >$leaks
	while IFS= read -r line; do complain "kmemleak: $line"; done < <(
		python3 /opt/iw_tcp/vm/leaks /run/lab.symbols 2>/dev/kmsg | head -n 200)
	echo clear >$leaks
}

gate() {
	local pids
	gate_resources
	pids=$(user_processes)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
	grep '\]$' /proc/kallsyms >/run/lab.symbols
	gate_links
	gate_modules
	gate_netdevs
	gate_namespaces
	gate_tasks
	gate_memory
}
