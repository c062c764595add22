# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# Measures, between two rounds, which resources the machine uses; also before the first round and
# after the last. Between two rounds only the lane "core" (core.sh) has objects, and its traffic
# pauses. A leak grows from round to round. Memory that is allocated once, or whose amount goes up
# and down, is no leak.

# The slab caches whose objects are counted. The kernel's count includes freed objects in the
# processors' lists and in KASAN's quarantine; writing to "shrink" removes them first.
CACHES='kmalloc-* dma-kmalloc-* net_namespace TCP TCPv6 UDP UDPv6 request_sock_TCP* sock_inode_cache filp skbuff_* ib_* iwt_* task_struct nsproxy'

caches() {
	local dir n pattern
	for pattern in $CACHES; do
		for dir in /sys/kernel/slab/$pattern; do
			[ -d "$dir" ] && [ ! -L "$dir" ] || continue
			echo 1 >"$dir/shrink"
			read -r n _ <"$dir/objects" && echo "objects:${dir##*/} $n"
		done
	done
} 2>/dev/null

# sockets: prints, for all namespaces together, the number of TCP sockets (except sockets in the
# state TIME-WAIT, which belong to no process), how many of them are orphans, and how many pages of
# memory TCP uses
sockets() {
	awk '/^TCP:/ { for (i = 2; i < NF; i += 2) if ($i == "alloc" || $i == "mem" || $i == "orphan") print "tcp:" $i, $(i + 1) }' /proc/net/sockstat
}

things() {
	echo "files $(cut -f 1 /proc/sys/fs/file-nr)"
	echo "processes $(find /proc -maxdepth 1 -name '[0-9]*' 2>/dev/null | wc -l)"
	echo "namespaces $(ip netns list | wc -l)"
	echo "netdevs $(find /sys/class/net -type l | wc -l)"
	echo "links $(find /sys/class/infiniband -type l | wc -l)"
	rdma resource show | awk '{ for (i = 3; i < NF; i += 2) sum[$i] += $(i + 1) } END { for (x in sum) print "rdma:" x, sum[x] }'
	echo "references $(cat "/sys/module/$IWT_LINK_TYPE/refcnt")"
}

# chains: prints how many KiB KASAN uses for call stacks. KASAN stores each different call stack
# once, for ever, in pools of four pages. Each new place at which an interrupt occurs makes another
# call stack: 100 MB in an hour.
chains() { awk '/^pools:/ { print 16 * $2 }' /sys/kernel/debug/stackdepot/stats 2>/dev/null; }

# memory: prints the used memory in KiB. A leak of less than a page is found by the number of
# objects.
memory() {
	local chains
	chains=$(chains)
	awk -v chains="${chains:-0}" '/^(MemTotal|MemFree|Buffers|Cached|Percpu|VmallocUsed):/ { sub(":", "", $1); v[$1] = $2 }
		END { print "memory:used", v["MemTotal"] - v["MemFree"] - v["Buffers"] - v["Cached"] - chains
			print "memory:percpu", v["Percpu"] }' /proc/meminfo
}

no_orphans() { sockets | grep -qx 'tcp:orphan 0'; }

# measure ROUND: waits until no orphaned sockets exist, frees caches, and writes the measurements
# to the file level.ROUND
measure() {
	busywait 30 no_orphans
	sync
	echo 3 >/proc/sys/vm/drop_caches
	{ things; sockets; caches; memory; } >"$SOAK/level.$1"
}

# more BEFORE AFTER: prints each kind of object whose number is larger in the file AFTER than in the
# file BEFORE, which was measured before the first link was made. Leaves out memory, also TCP's,
# processes, files and all slab caches except TCP and TCPv6, because the kernel keeps some of these
# objects, for instance for NFS; growth() checks all values.
more() {
	awk '
		FNR == NR { was[$1] = $2 }
		FNR < NR && ($1 !~ /^(objects|memory|processes|files|tcp:mem)/ || $1 ~ /:(TCP|TCPv6)$/) && $2 > was[$1] {
			print $1, $2, "instead of", was[$1] + 0
		}' "$1" "$2"
}

# A fault of the kernel's NFS server, which growth() ignores: for each RDMA connection of a client,
# nfsd never releases the transport for callbacks. (It releases the connection, with all objects of
# this driver; and over TCP it releases the transport, too.) Each mount leaks 2 objects of kmalloc-8
# and 7 of kmalloc-16 (the addresses, and names in sysfs), 2 of kmalloc-96, 2 of kmalloc-512 and one
# of kmalloc-4k. setup_callback_client() of nfsd allocates all these objects; in a kernel started
# with slab_debug=U, /sys/kernel/debug/slab/*/alloc_traces shows this. growth() computes the number
# of leaked transports from the growth of the first three caches since the first quarter of the run.
# If the caches grow in another proportion, growth() still reports this.
CALLBACKS='kmalloc-8 2 kmalloc-16 7 kmalloc-96 2 kmalloc-512 2 kmalloc-4k 1'

# growth FILE...: reads the measurements in their order, and prints each value that has grown in
# each quarter of the run: the minimum of each quarter is above the minimum of the previous
# quarter, and from the first to the last quarter the minimum has grown by at least three units in
# four rounds. (A unit is 64 KiB of memory, 4 pages of TCP's memory, or one object.) Checks values
# that go up and down only if there are at least 24 files, and other values only if there are at
# least four.
growth() {
	awk -v callbacks="$CALLBACKS" '
		FNR == 1 { files++ }
		{ value[$1, files] = $2; names[$1]++ }
		function least(name, quarter,    i, low) {
			low = 1e12
			for (i = int((quarter - 1) * files / 4) + 1; i <= int(quarter * files / 4); i++)
				if (value[name, i] + 0 < low)
					low = value[name, i] + 0
			return low
		}
		function kept(file,    i, n, fewest) {
			fewest = 1e12
			for (i = 1; i <= 6; i += 2) {
				n = int((value["objects:" part[i], file] - base[part[i]]) / part[i + 1])
				if (n < fewest)
					fewest = n
			}
			return fewest > 0 ? fewest : 0
		}
		function leave_out_callbacks(    i, n, file, parts) {
			parts = split(callbacks, part, " ")
			for (i = 1; i <= 6; i += 2)
				base[part[i]] = least("objects:" part[i], 1)
			for (file = 1; file <= files; file++) {
				n = kept(file)
				for (i = 1; i < parts; i += 2)
					value["objects:" part[i], file] -= n * part[i + 1]
				value["memory:used", file] -= n * 16
			}
		}
		END {
			leave_out_callbacks()
			for (name in names) {
				unit = name ~ /^memory/ ? 64 : name == "tcp:mem" ? 4 : 1
				if (files < (name ~ /kmalloc|skbuff|^memory|^tcp:mem|^processes|^files|filp|task_struct|rdma:mr/ ? 24 : 4))
					continue
				for (q = 2; q <= 4; q++)
					if (least(name, q) <= least(name, q - 1))
						break
				if (q <= 4 || least(name, 4) - least(name, 1) < 0.75 * unit * files * 0.75)
					continue
				printf "%s grows:", name
				for (i = 1; i <= files; i++)
					printf " %s", value[name, i] + 0
				print ""
			}
		}' "$@"
}
