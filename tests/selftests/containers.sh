#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Containers: a program of an ordinary user runs in a container (of crun, an OCI runtime) that has
# a network namespace with a link, the device file of this link, and the device file of rdma_cm. The
# user must be in the group of the file of rdma_cm, and must be allowed to lock memory; the
# container has no capability. In the mode "exclusive" of the RDMA core, a container cannot use the
# link of another container. Since Linux 7.3 the links of two containers may have the same name.
. "$(dirname "$0")/../lib/begin.sh"

CM=/dev/infiniband/rdma_cm
GROUP=4711
MANY=67108864	# a limit of locked memory that is large enough

# uverbs LINK: prints the device file of a link
uverbs() {
	local file
	file=$(grep -lx "$1" /sys/class/infiniband_verbs/uverbs*/ibdev) || return
	echo "/dev/infiniband/$(basename "$(dirname "$file")")"
}

# box OPTION... COMMAND...: runs a container. The options are those of box.py.
box() {
	local dir
	dir=$(mktemp -d "$TMP/box.XXXXXX") || return
	python3 "$IWT_LIB/box.py" --root "$TMP/root" --bind "$IWT_BIN" "$@" >"$dir/config.json" || return
	exec crun --root "$TMP/crun" --cgroup-manager=disabled run --bundle "$dir" "iwt-$TAG-${dir##*.}"
}
# in_box NS OPTION... COMMAND...: runs a container in a namespace
in_box() { box --net "/run/netns/$1" "${@:2}"; }

# seen NS OPTION...: prints the links that a program in the container sees
seen() { (in_box "$@" ibv_devices) | awk 'NR > 2 { print $1 }' | paste -sd' '; }
is() { [ "$("${@:2}")" = "$1" ] || { "${@:2}"; return 1; }; }

# traffic SERVER-OPTIONS -- CLIENT-OPTIONS: runs rping between two containers; the options are those
# of box.py
traffic() {
	local server=() rc
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	start in_box "$NS_B" "${server[@]}" rping -s -a $IP_B -C 20 -S 4000 -V >"$TMP/server" 2>&1
	SERVER=$PID
	wait_listen "$NS_B" 7174 || { stop "$SERVER"; diag <"$TMP/server"; return 1; }
	(in_box "$NS_A" "$@" iwt_patient "$IWT_TIME" rping -c -a $IP_B -C 20 -S 4000 -V -v) >"$TMP/client" 2>&1
	rc=$?
	well $rc "rping -c -C 20" "$TMP/client" || { diag <"$TMP/client"; stop "$SERVER"; return 1; }
	ended "$SERVER" >/dev/null
	well $? "rping -s" "$TMP/server" || { diag <"$TMP/server"; return 1; }
}

containers() {
	local a b
	a=$(uverbs "$DEV_A") && b=$(uverbs "$DEV_B") || { not_ok "$1: device files"; return; }
	local as=(--device "$a" --device $CM --memlock $MANY --group $GROUP) bs=(--device "$b" --device $CM --memlock $MANY --group $GROUP)
	check "$1: rping between two containers" traffic "${bs[@]}" -- "${as[@]}"
	refuse "$1: a user who is not in the group of rdma_cm" tried in_box "$NS_A" --device "$a" --device $CM --memlock $MANY \
		iwt_patient "$IWT_TIME" rping -c -a $IP_B -C 1
	check "$1: objects: none is left" no_objects_in "$DEV_A"
	REFUSAL='[Cc]annot allocate memory|failed'
	refuse "$1: too small a limit of locked memory" tried in_box "$NS_A" --device "$a" --device $CM --memlock 0 --group $GROUP \
		iwt_patient "$IWT_TIME" rping -c -a $IP_B -C 1
	REFUSAL=
	refuse "$1: without the device file of rdma_cm" tried in_box "$NS_A" --device "$a" --memlock $MANY --group $GROUP \
		iwt_patient "$IWT_TIME" rping -c -a $IP_B -C 1
	refuse "$1: without the device file of the link" tried in_box "$NS_A" --device $CM --memlock $MANY \
		iwt_patient "$IWT_TIME" ibv_devinfo
}
# tried COMMAND...: runs COMMAND. If the exit status is 255, by which COMMAND reports an error,
# returns 1, because refuse() takes 255 for a crash.
tried() { local rc=0; ("$@") || rc=$?; [ $rc != 255 ] || rc=1; return $rc; }
no_objects_in() { busywait 20 no_qps "$1"; }

# alone: in the mode "exclusive", a container has only its own link
alone() {
	local a b
	a=$(uverbs "$DEV_A") && b=$(uverbs "$DEV_B") || return
	check "exclusive: a container sees its own link only" is "$DEV_A" seen "$NS_A" --device "$a" --device "$b" --device $CM
	refuse "exclusive: the device file of another container's link cannot be opened" tried in_box "$NS_A" --device "$b" \
		python3 -c "import os; os.open('$b', os.O_RDWR)"
	check "exclusive: the device file of the own link can be opened" tried in_box "$NS_A" --device "$a" \
		python3 -c "import os; os.open('$a', os.O_RDWR)"
}

# own_uverbs NS: prints the device files of the links of NS: in the mode "exclusive", processes in
# NS can open no other device files
own_uverbs() {
	local file
	for file in /dev/infiniband/uverbs*; do
		! ip netns exec "$1" bash -c ": <>$file" 2>/dev/null || echo "$file"
	done
}

# same_name: the links of two containers have the same name, which kernels older than 7.3 refuse
same_name() {
	local a b
	link_del "$NS_B" "$DEV_B"
	if link_add "$NS_B" "$DEV_A" "$IF_B" 2>"$TMP/why"; then
		a=$(own_uverbs "$NS_A") && b=$(own_uverbs "$NS_B")
		check "same name: two device files have links of this name" \
			eval "[ \"\$(grep -lx $DEV_A /sys/class/infiniband_verbs/uverbs*/ibdev | wc -l)\" = 2 ]"
		check "same name: each namespace can open one file" eval "[ -c '$a' ] && [ -c '$b' ] && [ '$a' != '$b' ]"
		check "same name: a container sees its own link only" is "$DEV_A" seen "$NS_A" --device "$a" --device "$b" --device $CM
		check "same name: rping between two containers" traffic --device "$b" --device $CM --memlock $MANY --group $GROUP -- \
			--device "$a" --device $CM --memlock $MANY --group $GROUP
		check "same name: the link of B is removed" link_del "$NS_B" "$DEV_A"
		check "same name: the container of A still has its link" is "$DEV_A" seen "$NS_A" --device "$a" --device $CM
	elif check "same name: two links cannot have the same name" grep -q 'Too many open files' "$TMP/why"; then
		skip "same name: containers with links of the same name" "RDMA devices of this kernel have the same names in all namespaces"
	fi
	check "same name: B has a link with another name" link_add "$NS_B" "$DEV_B" "$IF_B"
}

# removed: the administrator removes A's link while a program in a container uses the link
removed() {
	local a b
	a=$(uverbs "$DEV_A") && b=$(uverbs "$DEV_B") || return
	start in_box "$NS_B" --device "$b" --device $CM --memlock $MANY --group $GROUP rping -s -a $IP_B -C 1000000 -S 4000 >"$TMP/server" 2>&1
	SERVER=$PID
	wait_listen "$NS_B" 7174 || return
	start in_box "$NS_A" --device "$a" --device $CM --memlock $MANY --group $GROUP rping -c -a $IP_B -C 1000000 -S 4000 >"$TMP/client" 2>&1
	CLIENT=$PID
	busywait "$IWT_TIME" moving || return
	in_a rdma link del "$DEV_A" || return
	check "removed: the program in the container ends" gone "$CLIENT"
	check "removed: its peer ends" gone "$SERVER"
	check "removed: another link for the container" link_add "$NS_A" "$DEV_A" "$IF_A"
	a=$(uverbs "$DEV_A")
	check "removed: rping by the new link" traffic --device "$b" --device $CM --memlock $MANY --group $GROUP -- \
		--device "$a" --device $CM --memlock $MANY --group $GROUP
}
moving() { [ "$(in_a rdma -j statistic show link "$DEV_A/1" | grep -o '"rx_bytes":[0-9]*' | cut -d: -f2)" -gt 1000000 ]; }
gone() { ended "$1" >/dev/null; [ $? != 124 ]; }

# The containers have the root directory of this machine
root() { mkdir "$TMP/root" && mount --bind / "$TMP/root" && mount --make-private "$TMP/root"; }
trap '[ -z "${mode:-}" ] || { chgrp "$group" $CM; chmod "$mode" $CM; }; umount "$TMP/root" 2>/dev/null; cleanup' EXIT

begin crun rping rdma python3 ibv_devices ibv_devinfo
only_iw_tcp "containers with links of iw_tcp"
check "a root directory" root
# Outside of a container, the module is loaded when a program opens $CM. Here $CM must exist before
# the container starts.
modprobe rdma_ucm
check "the device file of rdma_cm" busywait 20 test -e $CM
# $CM gets the mode 660, as by the udev rule of the packages; the old mode and group are restored at
# the end
mode=$(stat -c %a $CM) group=$(stat -c %g $CM)
check "the device file belongs to a group" eval "chgrp $GROUP $CM && chmod 660 $CM"
if busywait 60 rdma system set netns exclusive; then
	two_links
	containers exclusive
	alone
	same_name
	removed
	for ns in "$NS_A" "$NS_B"; do ns_del "$ns"; done
	MADE_NS=() MADE_DEV=()
	check "exclusive: the mode is set back to shared" busywait 70 rdma system set netns shared
else
	skip "exclusive mode" "there are other network namespaces"
fi
two_links
containers shared
ktap_finish
