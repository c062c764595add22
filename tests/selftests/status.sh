#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests "iw_tcp-link status". The test makes one fault at a time. The command must report this
# fault and no other fault, with the section of the guide that describes the fault, and its exit
# status must be 1. Without a fault the exit status must be 0. (Before the first link exists, there
# are several faults at a time, and only their lines are checked.)
. "$(dirname "$0")/../lib/begin.sh"

LISTEN=$(dirname "$0")/../peer/listen.py
FILE=/etc/iw_tcp/$IF_A.conf LINK=iwt_$IF_A
# Shell commands that make a host look as if it had booted with Secure Boot: a variable of the
# firmware has the value 1
SECURE="mount -t tmpfs tmpfs /sys/firmware; mkdir -p /sys/firmware/efi/efivars
	printf '\6\0\0\0\1' >/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

begin iw_tcp-link rdma ibv_devinfo ss modinfo setpriv prlimit ethtool python3
only_iw_tcp "iw_tcp-link makes links of iw_tcp"
want_settings
mkdir -p /etc/iw_tcp "$TMP/bin"
trap 'rm -f "$FILE"; cleanup' EXIT

# USER_8M and USER_64K run another command as a user without privileges, with a limit of locked
# memory of 8 MiB or of 64 KiB
USER_8M=(prlimit --memlock=8388608:8388608 setpriv --reuid 54321 --clear-groups --inh-caps=-all --bounding-set=-all)
USER_64K=(prlimit --memlock=65536:65536 "${USER_8M[@]:2}")

# status NS SETUP [COMMAND...]: runs iw_tcp-link status by COMMAND, in the namespace NS, after the
# shell commands SETUP. All of this runs in a new mount namespace, so mounts of SETUP do not last.
# The output is in $TMP/status
status() {
	local rc=0
	# shellcheck disable=SC2016 # the variables of the inner shell
	ip netns exec "$1" bash -c "set -e; $2"'
		PATH=$0:$PATH exec "$@"' "$TMP/bin" "${@:3}" iw_tcp-link status >"$TMP/status" 2>&1 || rc=$?
	cat "$TMP/status"
	return $rc
}

# active NS LINK: is the link active?
active() { in_net "$1" rdma link show "$2/1" | grep -q ' state ACTIVE '; }

# says PATTERN: does a line of the status match PATTERN?
says() { grep -E -- "$1" "$TMP/status" || { cat "$TMP/status"; return 1; }; }

# fine WHAT NS SETUP [COMMAND...]: checks that the status reports no fault
fine() {
	check "$1: the exit status is 0" status "${@:2}"
	check "$1: no line has a fault" not grep '^!!' "$TMP/status"
}

# one_fault RC PATTERN: is RC, the exit status, 1, and is there exactly one line with a fault, and
# does this line match PATTERN?
one_fault() {
	cat "$TMP/status"
	[ "$1" = 1 ] && [ "$(grep -c '^!!' "$TMP/status")" = 1 ] && grep -Eq -- "^!!  $2 \(see [a-z]*\.rst: .*\)$" "$TMP/status"
}

# fault WHAT PATTERN NS SETUP [COMMAND...]: checks that the status reports a fault that matches
# PATTERN, and no other fault
fault() {
	local rc=0
	status "${@:3}" >/dev/null || rc=$?
	check "$1: it is named, alone" one_fault $rc "$2"
}

# program NAME TEXT: makes a program NAME, which PATH finds first and which executes the shell
# commands TEXT; no_programs removes all of these programs
program() {
	printf '#!/bin/sh\n%s\n' "$2" >"$TMP/bin/$1"
	chmod +x "$TMP/bin/$1"
}
no_programs() { rm -f "$TMP"/bin/*; }

# before_links: tests the status before the first link exists, with and without the module
before_links() {
	if ! in_laboratory; then
		skip "a module that is not loaded" "others may need the module here"
		return
	fi
	check "the module is unloaded" modprobe -r iw_tcp
	status "$NS_A" : >/dev/null
	check "not loaded: it is named, with the file" says '^!!  module    not loaded; it would be .*/iw_tcp.ko.* \(see operating.rst: '
	check "no link: it is named" says '^!!  link      there is no link in this network namespace \(see installing.rst: '
	status "$NS_A" "$SECURE" >/dev/null
	check "Secure Boot, no signature: it is named" says '^!!  trust     .*only signed modules \(Secure Boot\).* \(see installing.rst: Secure Boot\)$'
	program modinfo 'exit 1'
	status "$NS_A" : >/dev/null
	check "no file: it is named" says '^!!  module    there is no module iw_tcp for the kernel .* \(see installing.rst: Another kernel\)$'
	no_programs
	check "the module is loaded" modprobe iw_tcp
}

# strange_name NAME: gives the link a name that is dangerous in a shell, and checks the lines about
# the link. The current directory is $TMP, which has the file "host".
strange_name() {
	check "the link gets the name $1" in_net "$NS_A" rdma dev set "$LINK" name "$1"
	fine "$1" "$NS_A" "cd $TMP"
	check "$1: the link" grep -F "ok  link      $1 on $IF_A: " "$TMP/status"
	check "$1: its settings" grep -E "^ok  settings  .*: .*crc=on .*keepidle=60" "$TMP/status"
	check "$1: the settings have its name" grep -F "ok  settings  $1: " "$TMP/status"
	check "$1: no directory stays" [ ! -e "$SETTINGS/$1" ]
	check "$1: the link gets its name again" in_net "$NS_A" rdma dev set "$1" name "$LINK"
}
# strange_names: each network namespace can choose the names of its links. The names must not become
# commands or patterns when root checks the links.
# shellcheck disable=SC2016 # the names
strange_names() {
	touch "$TMP/host"
	strange_name 'x$(touch${IFS}hit)'
	check "no command of the name ran" [ ! -e "$TMP/hit" ]
	strange_name 'x`touch${IFS}hit`'
	check "no command of the second name ran" [ ! -e "$TMP/hit" ]
	strange_name 'ho[s]t'
	strange_name "it's\\"
	check "a name with a slash: a link in B" link_add "$NS_B" "$DEV_B" "$IF_B"
	if in_net "$NS_A" rdma dev set "$LINK" name "../infiniband/$DEV_B"; then
		status "$NS_A" : >/dev/null
		check "a name with a slash: there is no line about the link" not grep -F ../ "$TMP/status"
		check "a name with a slash: the link gets its name again" in_net "$NS_A" rdma dev set "../infiniband/$DEV_B" name "$LINK"
	else
		skip "a name with a slash" "this kernel refuses it"
	fi
	check "a name with a slash: the link in B goes" link_del "$NS_B" "$DEV_B"
}

two_namespaces
modprobe -q rdma_ucm
before_links
MADE_DEV+=("$NS_A $LINK")
check "a link" in_a iw_tcp-link up "$IF_A"
check "the link is active" busywait 20 active "$NS_A" "$LINK"
fine "root" "$NS_A" :
check "root: the module's file" says '^ok  module    version [0-9.]* is loaded, /.*iw_tcp.ko'
check "root: the kernel" says "^ok  kernel    $(uname -r | sed 's/[.+]/\\&/g'), the tests have 6.1, .*[^,]\$"
check "root: libibverbs opens the link" says "^ok  provider  libibverbs opens $LINK, ABI version [0-9]+$"
check "root: the link" says "^ok  link      $LINK on $IF_A: ACTIVE, MTU 1500, .*tso on"
check "root: its settings" says "^ok  settings  $LINK: .*crc=on .*keepidle=60"
check "root: no directory stays" [ ! -e "$SETTINGS/$LINK" ]
fine "a user" "$NS_A" : "${USER_8M[@]}"
check "a user: what needs root is unknown" says "^\?\?  settings  $LINK: unknown \(needs root\)$"
fine "Secure Boot, a module that is loaded" "$NS_A" "$SECURE"
strange_names

fault "memlock" "memlock   this user may lock 64 KiB, .*" "$NS_A" : "${USER_64K[@]}"
fault "no permission" "users     54321 may not make connections by rdma_cm, .*" "$NS_A" \
	"touch $TMP/closed; chmod 600 $TMP/closed; mount --bind $TMP/closed /dev/infiniband/rdma_cm" "${USER_8M[@]}"
fault "no provider" "provider  no file of /etc/libibverbs.d .*" "$NS_A" "mount -t tmpfs tmpfs /etc/libibverbs.d"
plugin=$(echo /usr/lib*/libibverbs/libiw_tcp-rdmav*.so /usr/lib/*/libibverbs/libiw_tcp-rdmav*.so | xargs -n 1 ls 2>/dev/null | head -n 1)
fault "no library" "provider  there is no file libiw_tcp-rdmav.*" "$NS_A" "mount -t tmpfs tmpfs ${plugin%/*}"
fault "a damaged library" "provider  libibverbs does not open $LINK: .*" "$NS_A" "mount --bind /dev/null $plugin"

# other_abi: makes a copy of the provider, with another version of the ABI. In the data of the
# provider, the minimum and the maximum version follow each other.
other_abi() {
	python3 - "$plugin" "$TMP/other.so" "$(cat /sys/class/infiniband_verbs/uverbs*/abi_version | head -n 1)" <<'END'
import struct, sys
data, abi = open(sys.argv[1], "rb").read(), int(sys.argv[3])
both = struct.pack("=II", abi, abi)
assert data.count(both) == 1, data.count(both)
open(sys.argv[2], "wb").write(data.replace(both, struct.pack("=II", abi + 1, abi + 1)))
END
}
if check "a provider with another ABI" other_abi; then
	fault "another ABI" "provider  the provider and the module have different versions of the ABI, .*" "$NS_A" \
		"mount --bind $TMP/other.so $plugin"
fi

program uname "echo 99.1.2-amd64"
fault "a newer kernel" "kernel    99.1.2-amd64 is newer than the kernels of the tests .*" "$NS_A" :
program uname "echo 6.1.0-50-amd64"
fine "the oldest kernel of the tests" "$NS_A" :
check "the oldest kernel of the tests: it is tested" says '^ok  kernel    6.1.0-50-amd64, '
program uname "echo 6.8.0-64-generic"
fine "a kernel between those of the tests" "$NS_A" :
check "a kernel between those of the tests: it is not tested" says '^\?\?  kernel    6.8.0-64-generic, .*: unknown \(the tests have 6.1, '
program uname "echo 6.2.0-39-generic"
fault "a kernel for which iw_tcp cannot be built" "kernel    6.2.0-39-generic: iw_tcp cannot be built for 6.2, 6.3, 6.4" "$NS_A" :
program uname "echo 5.15.0-139-generic"
fault "an older kernel" "kernel    5.15.0-139-generic is older than .*" "$NS_A" :
no_programs
program modinfo 'case "$*" in *srcversion*) echo 123 ;; *) echo /lib/modules/other/iw_tcp.ko ;; esac'
fault "another module" "module    the loaded module is another one than /lib/modules/other/iw_tcp.ko" "$NS_A" :
no_programs
program systemctl 'case $1 in list-units) echo "iw_tcp@eth7.service loaded failed failed iWARP link on eth7" ;; esac'
fault "a unit that failed" "unit      iw_tcp@eth7.service has failed: .*" "$NS_A" :
ENABLED="mkdir -p /etc/systemd/system; mount -t tmpfs tmpfs /etc/systemd/system; mkdir /etc/systemd/system/x.wants
	ln -s /dev/null '/etc/systemd/system/x.wants/iw_tcp@br\\x2dlan.service'; ln -s /dev/null /etc/systemd/system/x.wants/iw_tcp@eth7.service"
program systemctl 'exit 1'
fine "enabled units without systemd" "$NS_A" "$ENABLED"
program systemctl 'case $1 in is-active) case $* in *-devices-eth7.device) ;; *) exit 3 ;; esac ;; esac'
fault "an enabled unit without a net device" 'unit      iw_tcp@br.x2dlan.service is enabled, but its net device does not exist' "$NS_A" "$ENABLED"
no_programs
for tool in ibv_devinfo rdma ss ethtool modinfo; do
	# a file that nobody may execute is like a missing program
	fine "no $tool" "$NS_A" "mount --bind /dev/null $(realpath "$(command -v $tool)")"
	check "no $tool: something is unknown" says '^\?\?'
done

cp "$(command -v sleep)" "$TMP/iwpmd"
start "$TMP/iwpmd" 1000
iwpmd=$PID
busywait "$IWT_TIME" grep -qsx iwpmd "/proc/$iwpmd/comm"
fault "iwpmd" "iwpmd     running, .*" "$NS_A" :
if modprobe -q siw && rdma link add "it's" type siw netdev lo; then
	MADE_DEV+=("$NS_A it's")
	fine "iwpmd for another driver" "$NS_A" :
	check "iwpmd for another driver: the device is named" says "^ok  iwpmd     running, for it's; "
	rdma link delete "it's"
else
	skip "iwpmd for another driver" "no siw here"
fi
stop "$iwpmd"

ip -n "$NS_A" link set "$IF_A" down
busywait 20 not active "$NS_A" "$LINK"
fault "a link that is down" "link      $LINK on $IF_A: DOWN, MTU 1500" "$NS_A" :
ip -n "$NS_A" link set "$IF_A" up
busywait 20 active "$NS_A" "$LINK"
check "TSO is switched off" in_a ethtool -K "$IF_A" tso off
fault "an offload that is off" "link      $LINK on $IF_A: .*, an offload is off: .*tso off.*" "$NS_A" :
in_a ethtool -K "$IF_A" tso on

printf 'crc=required\nkeepidle=0x3C\nmarkers=0\n' >"$FILE"
fault "a value of the file that is not in use" "settings  $FILE:1: crc=required, but $LINK has on" "$NS_A" :
check "the settings apply" in_a iw_tcp-link up "$IF_A"
fine "the settings of the file" "$NS_A" :
check "the settings of the file: are in use" says "^ok  settings  $LINK: .*crc=required .*keepidle=60"
printf 'crc=required\nmtu=9000\n' >"$FILE"
fault "an unknown setting" "settings  $FILE:2: mtu=9000: there is no such setting" "$NS_A" :
printf 'crc=required\ntos 4\n' >"$FILE"
fault "a line that is no setting" "settings  $FILE:2: this is not name=value: tos 4" "$NS_A" :
printf 'tos=3\n' >"$FILE"
REFUSAL="Invalid argument" refuse "a refused setting" in_a iw_tcp-link up "$IF_A"
fault "a refused setting" "settings  $FILE:1: tos=3, but $LINK has 0" "$NS_A" :
rm "$FILE"

# listener NAME KIND ADDRESS PORT: starts a process in A that listens by KIND (rdma or tcp)
listener() {
	start nsenter --net="/run/netns/$NS_A" python3 "$LISTEN" "${@:2}" >"$TMP/listen-$1"
	busywait "$IWT_TIME" grep -q listening "$TMP/listen-$1"
}
check "a listener" listener good rdma $IP_A 7281
good=$PID
fine "a listener" "$NS_A" :
check "a listener: it is named" says "^ok  listener  $LINK: .*:7281, "
check "the link goes" in_a iw_tcp-link down "$IF_A"
check "a listener on any address, without a link" listener refused rdma 0.0.0.0 7280
refused=$PID
check "a TCP program takes its port" listener tcp tcp 0.0.0.0 7280
tcp=$PID
check "a link again" in_a iw_tcp-link up "$IF_A"
busywait 20 active "$NS_A" "$LINK"
fault "a refused port" "listener  $LINK: .*:7280, .*: refused, it waits for its port" "$NS_A" :
stop "$tcp"
check "the listener gets its port" wait_listen "$NS_A" 7280
fine "a port that is free again" "$NS_A" :
stop "$refused" "$good"

# Namespaces. In the shared mode the link of B is visible in A
check "a link in B" link_add "$NS_B" "$DEV_B" "$IF_B"
mode=$(rdma system show | sed -n 's/.*netns \([a-z]*\).*/\1/p')
check "the mode is shared" [ "$mode" = shared ]
fault "a link of another namespace" "netns     mode shared: the net device of $DEV_B is in another network namespace" "$NS_A" :
check "the link in B goes" link_del "$NS_B" "$DEV_B"
fine "no link of another namespace" "$NS_A" :

# exclusive: sets the mode in which each link is visible only in its own namespace
exclusive() {
	busywait 60 rdma system set netns exclusive 2>/dev/null
}
check "all namespaces go" eval "in_a iw_tcp-link down $IF_A && ns_del $NS_A && ns_del $NS_B"
MADE_NS=()
if in_laboratory && exclusive; then
	check "namespaces again" net_setup
	check "exclusive: a link" in_a iw_tcp-link up "$IF_A"
	check "exclusive: a link in B" in_b iw_tcp-link up "$IF_B"
	MADE_DEV+=("$NS_B iwt_$IF_B")
	busywait 20 eval "active $NS_A $LINK && active $NS_B iwt_$IF_B"
	fine "exclusive" "$NS_A" :
	check "exclusive: the mode" says '^ok  netns     mode exclusive'
	check "a device moves without its net device" in_net "$NS_B" rdma dev set "iwt_$IF_B" netns "$NS_A"
	fault "a device without its net device" "netns     mode exclusive: the net device of iwt_$IF_B is in another network namespace" "$NS_A" :
	check "it moves back" in_net "$NS_A" rdma dev set "iwt_$IF_B" netns "$NS_B"
	check "links go" eval "in_a iw_tcp-link down $IF_A && in_b iw_tcp-link down $IF_B"
	ns_del "$NS_A"
	ns_del "$NS_B"
	check "the shared mode again" busywait 60 rdma system set netns shared
else
	skip "the exclusive mode" "other network namespaces exist"
fi
ktap_finish
