#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev's rules for a device: udev loads RDMA's modules, but does not start the port mapper
# (iwpmd), because a link uses TCP's own ports. In a laboratory no udev runs. There this test starts
# systemd's udev, and checks the rules of the packages: a link with the name iwt_NETDEV keeps its
# name although another rule renames the link, the device file of rdma_cm belongs to the group rdma,
# and systemd gets to know lo. Since Linux 7.3, in the mode "exclusive" of the RDMA core, each network namespace has its own
# names of RDMA devices. udev handles the devices of the initial namespace only.
. "$(dirname "$0")/../lib/begin.sh"

UDEVD=/usr/lib/systemd/systemd-udevd
CM=/dev/infiniband/rdma_cm
NAME=iwt_$IF_A OTHER=x_$IF_A

# udevd: starts udev, with a rule that gives each new RDMA device a prefix, as the rules of some
# releases of rdma-core give each device another name
udevd() {
	mkdir -p /run/udev/rules.d &&
		echo "ACTION==\"add\", SUBSYSTEM==\"infiniband\", PROGRAM=\"$(command -v rdma) dev set %k name udev_%k\"" \
			>/run/udev/rules.d/60-prefix.rules || return
	start "$UDEVD" >"$TMP/udevd" 2>&1
	UDEV=$PID
	busywait "$IWT_TIME" udevadm control --ping
}
# udevd_ends: removes the files of udev, because iw_tcp-link would wait for an udev that has ended,
# and gives rdma_cm its former mode and group
udevd_ends() {
	[ ! -e /run/udev/rules.d/60-prefix.rules ] || rm -rf /run/udev
	[ -z "${mode:-}" ] || { chmod "$mode" $CM && chgrp "$group" $CM; }
}
trap 'cleanup; udevd_ends' EXIT

settled() { udevadm settle --timeout="$IWT_TIME"; }
# again SUBSYSTEM: udev handles the devices of SUBSYSTEM once more, as if they were new
again() { udevadm trigger --action=add --subsystem-match="$1" && settled; }
# has_property NETDEV PATTERN: does udev know a property of the net device that matches PATTERN?
has_property() {
	udevadm info --query=property "/sys/class/net/$1" >"$TMP/properties"
	grep "$2" "$TMP/properties" || { cat "$TMP/properties"; return 1; }
}
# is VALUE COMMAND...: does COMMAND print VALUE?
is() {
	local got
	got=$("${@:2}")
	[ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }
}
# name_in NS: prints the name of the link on IF_A in the namespace NS
name_in() { in_ns "$1" rdma link show | sed -n "s/^link \(.*\)\/1 .* netdev $IF_A .*/\1/p"; }
# veth NS: makes a veth pair, with both ends in the namespace NS; NS "" is the initial namespace
veth() {
	in_ns "$1" ip link add "$IF_A" type veth peer name "$IF_B" && in_ns "$1" ip link set "$IF_A" up &&
		in_ns "$1" ip link set "$IF_B" up
}
# linked NAME: makes a link with this NAME, and waits until udev has handled it
linked() { rdma link add "$1" type iw_tcp netdev "$IF_A" && settled; }

# names WHAT: checks the names that udev gives to links; the results begin with WHAT
names() {
	check "$1: a link whose name has another form" linked "$OTHER"
	check "$1: the other rule renames this link" is "udev_$OTHER" name_in ""
	rdma link delete "udev_$OTHER"
	check "$1: a link with the name iwt_NETDEV" linked "$NAME"
	check "$1: the packages' rule gives this link its name again" is "$NAME" name_in ""
	check "$1: udev handles the link once more" again infiniband
	check "$1: the link has its name again" is "$NAME" name_in ""
	rdma link delete "$NAME"
}

# own_names: A and the initial namespace, in which udev runs, each have a link with the name NAME
own_names() {
	if [ "$(printf '%s\n' 7.3 "$(uname -r)" | sort -V | head -n 1)" != 7.3 ]; then
		skip "own names: links of the same name in two namespaces" "RDMA devices of this kernel have the same names in all namespaces"
		return
	fi
	# the kernel may still be deleting a namespace of an earlier test
	if ! busywait 180 rdma system set netns exclusive; then
		not_ok "own names: exclusive mode can be set: another network namespace still exists"
		return
	fi
	check "own names: a net device in A" eval "ns_add $NS_A && veth $NS_A"
	check "own names: a link in A" link_add "$NS_A" "$NAME" "$IF_A"
	settled
	check "own names: udev does not rename a link in A" is "$NAME" name_in "$NS_A"
	names "own names"
	check "own names: a link of the same name in the initial namespace" linked "$NAME"
	check "own names: the packages' rule gives this link its name again" is "$NAME" name_in ""
	check "own names: the link in A keeps its name" is "$NAME" name_in "$NS_A"
	check "own names: the link in A ends" link_del "$NS_A" "$NAME"
	check "own names: the other link stays" is "$NAME" name_in ""
	rdma link delete "$NAME"
	ns_del "$NS_A"
	check "own names: the mode is set back to shared" busywait 70 rdma system set netns shared
	MADE_NS=() MADE_DEV=()
}

begin udevadm rdma
only_iw_tcp "other drivers may need the port mapper"
if in_laboratory; then
	want_modules rdma_ucm
	check "the device file of rdma_cm" busywait 20 test -e $CM
	mode=$(stat -c %a $CM) group=$(stat -c %g $CM)
	check "a net device" veth ""
	MADE_IF+=("$IF_A")
	check "udev: starts" udevd
	check "udev: udev handles rdma_cm" again misc
	check "udev: rdma_cm is for root and the group rdma" is "660 rdma" stat -c '%a %G' $CM
	check "udev: udev handles net devices" again net
	check "udev: lo has the tag of systemd" has_property lo '^TAGS=.*:systemd:'
	check "udev: lo has the name of its unit" has_property lo '^SYSTEMD_ALIAS=.*/sys/subsystem/net/devices/lo\>'
	names "udev"
	own_names
	stop "$UDEV"
	udevd_ends
	ip link del "$IF_A"
else
	skip "udev: the rules of the packages" "this machine has its own udev"
fi
two_links

# udevadm evaluates the rules for a new device, but starts nothing
in_a udevadm test --action=add "/sys/class/infiniband/$DEV_A" >"$TMP/udev" 2>&1
check "RDMA's modules are loaded" grep -q 'SYSTEMD_WANTS=.*rdma-hw.target' "$TMP/udev" || diag <"$TMP/udev"
check "there is a rule for the port mapper" grep -qr 'SYSTEMD_WANTS.*iwpmd' /usr/lib/udev/rules.d
check "the port mapper is not started" not grep -q 'SYSTEMD_WANTS=.*iwpmd' "$TMP/udev" || diag <"$TMP/udev"
ktap_finish
