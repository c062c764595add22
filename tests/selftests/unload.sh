#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module can be unloaded without links, with idle links and after traffic. During traffic,
# either the module cannot be unloaded and the client runs on, or unloading the module ends the
# client.
. "$(dirname "$0")/../lib/begin.sh"

begin rping
MODULE=$IWT_LINK_TYPE
[ -n "$(ls /sys/class/infiniband 2>/dev/null)" ] && skip_all "there are RDMA links already"

unload() { ! loaded || modprobe -r "$MODULE"; }
loaded() { [ -d "/sys/module/$MODULE" ]; }

modprobe "$MODULE"
check "the module unloads without links" modprobe -r "$MODULE"
check "without links: the module is gone" not loaded
check "the module loads" modprobe "$MODULE"

# insmod_alone with|without: loads the module and the modules that it requires by insmod, with or
# without ib_uverbs. The driver must register its client of the RDMA core after ib_uverbs has
# registered its own client (device.c). insmod loads no other modules; so if the symbols of the
# driver do not require ib_uverbs, the driver itself must load ib_uverbs.
insmod_alone() {
	local files=() file i
	mapfile -t files < <(modprobe --show-depends "$MODULE" | sed -n 's/^insmod \([^ ]*\).*/\1/p')
	# an earlier test may have loaded another driver, which uses ib_uverbs
	modprobe -qr siw
	modprobe -r "$MODULE" && modprobe -r rdma_ucm ib_uverbs
	! grep '^ib_uverbs ' /proc/modules || return
	for ((i = 0; i < ${#files[@]}; i++)); do
		file=${files[$i]}
		[[ $file == */ib_uverbs.ko* ]] && [ "$1" = without ] && continue
		[ -d "/sys/module/$(basename "${file//-/_}" | sed 's/\.ko.*//')" ] || insmod "$file" || return
	done
}
if [ "$MODULE" = iw_tcp ] && grep -q '^ib_uverbs ' /proc/modules; then
	insmod_alone without >/dev/null 2>&1 || insmod_alone with
	check "insmod: ib_uverbs is loaded" grep '^ib_uverbs ' /proc/modules
	check "insmod: the module is loaded" loaded
fi

two_links
check "the module unloads with idle links" iwt_patient 60 modprobe -r "$MODULE"
check "with idle links: the module is gone" not loaded
check "with idle links: A's link is gone" not rdma_exists "$DEV_A"
MADE_DEV=()

link_add "$NS_A" "$DEV_A" "$IF_A" && link_add "$NS_B" "$DEV_B" "$IF_B"
check "a new link loads the module again" loaded
MOVING_FROM=
if traffic_rping; then
	# modprobe may succeed if the driver can end the programs that use its links
	if iwt_patient 60 modprobe -r "$MODULE" 2>/dev/null; then
		check "the module unloads during traffic: the client ends" busywait 30 not alive "$CLI"
	else
		check "the module does not unload during traffic: the client runs on" alive "$CLI"
	fi
	stop "$CLI" "$SRV"
	check "the module unloads after traffic" busywait 30 unload
	check "after traffic: the module is gone" not loaded
else
	not_ok "traffic"
	stop "$CLI" "$SRV"
	modprobe -r "$MODULE"
fi
MADE_DEV=()

round() {
	local i
	for ((i = 0; i < 10; i++)); do
		modprobe "$MODULE" || return 1
		in_a rdma link add "$DEV_A" type "$IWT_LINK_TYPE" netdev "$IF_A" || return 1
		modprobe -r "$MODULE" || return 1
	done
}
check "ten times: the module loads, a link is added, the module unloads" round
ktap_finish
