#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The GID table of a link has the addresses of the link's net device, also after these addresses
# have changed, and programs can bind by rdma_cm while the addresses change.
# IWT_ROUNDS: number of random changes (150); IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin python3
only_iw_tcp "other drivers have other GIDs"
two_links

# table LINK: prints the entries 1 to 15 of the table: index, address. Leaves out empty entries, and the
# copy of the first GID, which consists of the MAC address and is the last GID on older kernels. (One
# program reads all entries, because starting a program takes long on an emulated processor.)
table() {
	python3 - "/sys/class/infiniband/$1/ports/1/gids" <<-'END'
		import ipaddress, sys
		def gid(index):
		    with open(f"{sys.argv[1]}/{index}") as file:
		        return file.read().strip()
		first = gid(0)
		for index in range(1, 16):
		    text = gid(index)
		    address = ipaddress.IPv6Address(text)
		    if int(address) and text[:14] != first[:14]:
		        print(index, address.ipv4_mapped or address)
	END
}
# gid LINK INDEX: prints the address of an entry
gid() { table "$1" | awk -v index_="$2" '$1 == index_ { print $2 }'; }
# gids LINK: prints all addresses in the table, sorted
gids() { table "$1" | cut -d' ' -f2 | sort; }
# index_of LINK ADDRESS: prints the index of an address
index_of() { table "$1" | awk -v address="$2" '$2 == address { print $1 }'; }
# addresses NS NETDEV: prints the addresses of NETDEV, sorted
addresses() { ip -n "$1" -o addr show dev "$2" | awk '{ sub("/.*", "", $4); print $4 }' | sort; }
same() { [ "$(gids "$1" | head -15)" = "$(addresses "$2" "$3" | head -15)" ]; }
becomes() { busywait 20 eval "$*"; }

check "the first GID of an address is the IPv4 address" becomes "[ \$(gid $DEV_A 1) = $IP_A ]"
check "all addresses have a GID" becomes same $DEV_A $NS_A $IF_A
first=$(cat /sys/class/infiniband/$DEV_A/ports/1/gids/0)
ip -n "$NS_A" addr add 10.77.9.1/24 dev $IF_A
ip -n "$NS_A" addr add 10.77.9.2/24 dev $IF_A
ip -n "$NS_A" addr add fd77:9::1/64 dev $IF_A
check "added addresses, also secondary ones, have a GID" becomes same $DEV_A $NS_A $IF_A
at=$(index_of $DEV_A 10.77.9.2)
ip -n "$NS_A" addr del fd77:9::1/64 dev $IF_A
ip -n "$NS_A" addr add 10.77.9.3/24 dev $IF_A
check "an address keeps its GID" becomes "same $DEV_A $NS_A $IF_A && [ \$(gid $DEV_A $at) = 10.77.9.2 ]"
ip -n "$NS_A" addr del 10.77.9.1/24 dev $IF_A
check "removed addresses have no GID" becomes same $DEV_A $NS_A $IF_A
ip -n "$NS_A" link set $IF_A down
check "a net device that is down: IPv6 addresses go" becomes same $DEV_A $NS_A $IF_A
ip -n "$NS_A" link set $IF_A up
check "a net device that is up again" becomes same $DEV_A $NS_A $IF_A
# many add|del: adds or deletes 20 addresses
many() { seq -f "addr $1 10.77.10.%g/32 dev $IF_A" 20 | ip -n "$NS_A" -batch -; }
table $DEV_A >"$TMP/before"
many add
check "more addresses than entries: the table is full" becomes "[ \$(gids $DEV_A | wc -l) -ge 14 ]"
# kept: does the table still have each line that it had before?
kept() {
	table $DEV_A | sort | comm -13 - <(sort "$TMP/before") >"$TMP/lost"
	cat "$TMP/lost"
	[ ! -s "$TMP/lost" ]
}
check "more addresses than entries: the former addresses keep their GIDs" kept
many del
check "entries are free again" becomes same $DEV_A $NS_A $IF_A

# binds: a process that binds to the address of the link without end, and counts failures
cat >"$TMP/binds.py" <<'END'
import ctypes, signal, socket, struct, sys
cm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
cm.rdma_create_event_channel.restype = ctypes.c_void_p
channel = ctypes.c_void_p(cm.rdma_create_event_channel())
going = True
def end(*_):
    global going
    going = False
signal.signal(signal.SIGTERM, end)
addr = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(sys.argv[1]))
done = failed = 0
while going:
    ident = ctypes.c_void_p()
    if cm.rdma_create_id(channel, ctypes.byref(ident), None, 0x0106):
        raise SystemExit("rdma_create_id")
    failed += cm.rdma_bind_addr(ident, addr) != 0
    cm.rdma_destroy_id(ident)
    done += 1
print("# binds:", done, "failed:", failed)
sys.exit(bool(failed or not done))
END
pids=()
for _ in 1 2; do
	start in_a python3 "$TMP/binds.py" $IP_A
	pids+=("$PID")
done
RANDOM=${IWT_SEED:-$$}
echo "# seed ${IWT_SEED:-$$}"
for ((i = 0; i < ${IWT_ROUNDS:-150}; i++)); do
	n=$((RANDOM % 12))
	case $((RANDOM % 4)) in
	0) ip -n "$NS_A" addr del 10.77.11.$n/32 dev $IF_A 2>/dev/null ;;
	1) ip -n "$NS_A" addr add 10.77.11.$n/32 dev $IF_A 2>/dev/null ;;
	2) ip -n "$NS_A" addr del fd77:11::$n/128 dev $IF_A 2>/dev/null ;;
	3) ip -n "$NS_A" addr add fd77:11::$n/128 dev $IF_A 2>/dev/null ;;
	esac
done
for p in "${pids[@]}"; do
	kill -TERM "$p"
	check "rdma_cm binds while addresses change" ended "$p"
done
ip -n "$NS_A" addr flush to 10.77.11.0/24 dev $IF_A
ip -n "$NS_A" addr flush to fd77:11::/64 dev $IF_A
check "after random changes the table is correct" becomes same $DEV_A $NS_A $IF_A
check "the first entry has not changed" [ "$first" = "$(cat /sys/class/infiniband/$DEV_A/ports/1/gids/0)" ]
link_del "$NS_A" $DEV_A
link_add "$NS_A" $DEV_A $IF_A
check "a new link has the addresses of its net device" becomes same $DEV_A $NS_A $IF_A
ktap_finish
