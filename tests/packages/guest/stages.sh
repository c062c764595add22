# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The stages of the test of packages (tests/packages/run); each stage is one boot of the machine.
# iw_tcp@.service makes the link of interface A. Interface B is in another network namespace, which
# stands for another host. The emulator connects both interfaces. The commands of the documents run
# unchanged, except for names of interfaces, addresses and paths that differ in this machine.
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
PAYLOAD=/payload
STATE=/var/lib/packages-test
UNITS=/etc/systemd/system
MAC_A=52:54:00:00:00:01 MAC_B=52:54:00:00:00:02
mkdir -p $STATE

# prepare: prepares the machine before the first stage. Since an emulated processor is slow,
# copies the filled cache of the compilers, and removes modules that no test uses: depmod runs
# whenever a module is installed, and would read these modules for minutes.
prepare() {
	local part
	# the machine cannot reach Debian's archive
	rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
	mkdir -p /var/cache/ccache
	cp -a $PAYLOAD/ccache/. /var/cache/ccache
	echo 'DPkg::Path "/var/cache/ccache/bin:/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin";' \
		>/etc/apt/apt.conf.d/91compiler
	# answer "yes" to questions of apt, as a user does
	echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/92yes
	for part in $UNUSED; do
		rm -rf /lib/modules/*/kernel/"$part"
		printf 'path-exclude=%s/modules/*/kernel/%s/*\n' /lib "$part" /usr/lib "$part"
	done >/etc/dpkg/dpkg.cfg.d/unused
}
UNUSED='sound drivers/media drivers/iio drivers/hwmon drivers/input drivers/usb drivers/hid drivers/platform
	drivers/comedi drivers/staging drivers/gpu drivers/mtd drivers/net/wireless drivers/net/ethernet'

# booted: is the machine up, with both network cards, and has udev renamed their interfaces?
# (systemd does not wait for the renaming.)
booted() {
	systemctl is-system-running | grep -qE 'running|degraded' && [ -n "$(netdev_of "$MAC_A")" ] &&
		[ -n "$(netdev_of "$MAC_B")" ] && udevadm settle --timeout=120
}
netdev_of() { grep -l "$1" /sys/class/net/*/address | head -n 1 | cut -d/ -f5; }
# ours: prints the installed packages of this tree
ours() { dpkg-query -f '${db:Status-Abbrev} ${Package}\n' -W 2>/dev/null | awk '/iw-tcp/ { print $NF }'; }
kernels_in_status() { dkms status iw-tcp | grep -c ': installed'; }
module_version() { modinfo -F version iw_tcp; }
is() { [ "$1" = "$2" ] || { echo "is '$1', not '$2'"; return 1; }; }
none() { local found; found=$("$@"); [ -z "$found" ] || { echo "$found"; return 1; }; }

# files_now: lists the files of the machine, except in the directories in which running programs
# write
files_now() {
	find / -xdev \( -path /payload -o -path /tmp -o -path /var/log -o -path /var/cache -o -path /var/tmp \
		-o -path /var/lib/nfs -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path $STATE \
		-o -path /root -o -path /boot -o -path /lost+found \) -prune -o -print | sort
}

# has_link LINK [STATE]: do rdma (iproute2) and ibv_devinfo (rdma-core) show the link in this
# STATE (default: ACTIVE)?
has_link() {
	rdma link show "$1/1" | grep -q "state ${2:-ACTIVE} .*netdev ${1#iwt_}" &&
		ibv_devinfo -d "$1" >/tmp/devinfo 2>&1 && grep -q "PORT_${2:-ACTIVE}" /tmp/devinfo
}

check_link() {
	check "$1: $LINK exists and is active" busywait 60 has_link "$LINK"
	check "$1: ibv_devinfo sees iWARP" grep -q 'transport:.*iWARP' /tmp/devinfo
	check "$1: the unit is active" systemctl is-active --quiet "iw_tcp@$IF_A"
}

on_a() { "$@"; }
on_b() { ip netns exec b "$@"; }

# peer: makes the network namespace b, which stands for the other host, with an address and a link
peer() {
	local netdev
	if [ ! -e /run/netns/b ]; then
		netdev=$(netdev_of $MAC_B)
		echo "$netdev" >/run/netdev_b
		ip netns add b && ip link set "$netdev" netns b && on_b ip link set lo up &&
			on_b ip addr add 192.0.2.2/24 dev "$netdev" && on_b ip link set "$netdev" up || return
	fi
	netdev=$(cat /run/netdev_b)
	on_b rdma link show | grep -q "netdev $netdev\>" || on_b rdma link add peer type iw_tcp netdev "$netdev"
}

# pair HOST SERVER CLIENT: runs SERVER on HOST (a or b) and, when SERVER listens, CLIENT on the
# other host. The output of both is line-buffered. Sets CLIENT_RC to the client's exit status.
pair() {
	local other=b before server rc=0
	[ "$1" = a ] || other=a
	before=$("on_$1" ss -Hltn | wc -l)
	"on_$1" timeout 1200 stdbuf -oL bash -c "$2" >/tmp/server 2>&1 &
	server=$!
	busywait 60 more_listeners "$1" "$before"
	"on_$other" timeout 1200 stdbuf -oL bash -c "$3" >/tmp/client 2>&1
	CLIENT_RC=$?
	wait "$server" || rc=$?
	if [ $rc = 0 ] && [ $CLIENT_RC = 0 ]; then
		cat /tmp/client
		return
	fi
	echo "client ($CLIENT_RC):"
	tail -n 12 /tmp/client
	echo "server ($rc):"
	tail -n 12 /tmp/server
	return 1
}
more_listeners() { [ "$("on_$1" ss -Hltn | wc -l)" -gt "$2" ]; }

has_address() { ip -4 addr show dev "$IF_A" | grep -q 192.0.2.1; }

# talk WHAT: sends data in both directions and compares the data
talk() {
	check "$1: the peer has a link" peer
	check "$1: the interface has its address" busywait 60 has_address
	check "$1: rping, with its data compared" pair b "rping -s -a 192.0.2.2 -C 20 -S 4000 -V" \
		"rping -c -a 192.0.2.2 -C 20 -S 4000 -V"
}

# talk_more WHAT: tests all operations, compares every byte, and runs perftest. The time limits are
# long, because both ends share one emulated processor, which is slow.
talk_more() {
	talk "$1"
	check "$1: iwt_verify" pair b "$PAYLOAD/iwt_verify -s -a 192.0.2.2 --timeout 250" \
		"$PAYLOAD/iwt_verify -c 192.0.2.2 --timeout 250 --max-size 20000 --rounds 1 --no-neg --no-events --no-wr"
	check "$1: the example of libiw-tcp-dev" hello
	check "$1: ib_write_bw -R" write_bw
}

# write_bw: runs the two ib_write_bw commands of README.md. Repeats the commands if the client
# started too early or could not measure the processor's clock rate (tests/lib/perftest.sh).
write_bw() {
	local server client
	server=$(told README | grep '^ib_write_bw' | head -n 1)
	client=$(told README | grep '^ib_write_bw' | tail -n 1)
	pair a "$server" "$client" && return
	if too_early "$CLIENT_RC" /tmp/client; then
		once_more "ib_write_bw: the client was rejected (status $CLIENT_RC)"
		pair a "$server" "$client"
	elif no_clock "$CLIENT_RC" /tmp/client && flushed /tmp/server; then
		once_more "ib_write_bw: the client could not measure the processor's clock"
		pair a "$(without_clock "$server")" "$(without_clock "$client")"
	else
		return 1
	fi
}

# hello: runs the example program, whose argument is the name of a device. Searches for the name of
# the peer's device, because udev may have renamed this device.
hello() {
	local device
	device=$(on_b rdma link show | awk '$NF != "'"$IF_A"'" && /netdev/ { sub("/.*", "", $2); print $2; exit }')
	pair b "$PAYLOAD/iwtdv_hello $device 7178" "$PAYLOAD/iwtdv_hello $LINK 7178 192.0.2.2"
}

# told NAME [SED-SCRIPT]: prints the commands of the documents' recipe NAME, changed by SED-SCRIPT.
# The commands use interface A instead of eth0, and the current directory as the apt repository.
# Records that the recipe NAME was used.
told() {
	echo "$1" >>$STATE/told
	sed "s/eth0\>/$IF_A/g; s,\$PWD/build/repo/trixie,$PWD,; ${2:-}" "$PAYLOAD/recipes/$1"
}

# follow WHAT NAME [SED-SCRIPT]: checks that the commands of the recipe NAME work; WHAT is the name
# of the result
follow() {
	check "$1" bash -ec "$(told "$2" "${3:-}")"
	printed "$2"
}

# printed NAME: if the documents show the output of the recipe NAME, prints the real output of the
# last check, so that tests/packages/run can compare both
printed() {
	[ ! -e "$PAYLOAD/recipes/$1.prints" ] ||
		sed "s/\<\(iwt_\|\)$IF_A\>/\1eth0/g; s/^/# $1> /" "$KTAP_LOG"
}

# start: sends the first message, as quickstart.rst describes it
start() {
	follow "quickstart.rst: the links" links
	check "quickstart.rst: the other host has a link" peer
	check "quickstart.rst: the interface has its address" busywait 60 has_address
	check "quickstart.rst: rping" pair a "$(told rping-server)" "$(told rping-client)"
	printed rping-client
}

as_alice() { runuser -u alice -- "$@"; }
rdma_cm_is() { is "$(stat -c '%a %G' /dev/infiniband/rdma_cm)" "$1"; }
ALICE_CLIENT="runuser -u alice -- rping -c -a 192.0.2.2 -C 3 -V"

# users: checks which users may make connections. At first the user alice is not in the group rdma.
users() {
	check "users: rdma_cm is for root and a group" rdma_cm_is "660 rdma"
	check "users: alice can open the verbs device" as_alice ibv_devinfo -d "$LINK"
	check "users: alice cannot connect" not as_alice rping -c -a 192.0.2.2 -C 3
	follow "users: a member of the group" member
	check "users: alice connects as a member" pair b "rping -s -a 192.0.2.2 -C 3 -V" "$ALICE_CLIENT"
	gpasswd --delete alice rdma
	check "users: alice cannot connect when she is no member any more" not as_alice rping -c -a 192.0.2.2 -C 3
	follow "users: everyone" everyone
	check "users: rdma_cm is for everyone" rdma_cm_is "666 root"
	check "users: alice connects" pair b "rping -s -a 192.0.2.2 -C 3 -V" "$ALICE_CLIENT"
	check "users: the module of rdma_cm is reloaded" bash -ec "modprobe -r rdma_ucm; modprobe rdma_ucm; udevadm settle"
	check "users: rdma_cm is still for everyone" rdma_cm_is "666 root"
	check "users: iw_tcp-link users group" iw_tcp-link users group
	check "users: rdma_cm is for root and the group again" rdma_cm_is "660 rdma"
	check "users: an unknown word is refused" not iw_tcp-link users some
}

no_link_of() { ! rdma link show | grep -q "netdev $1\>"; }
gone() { [ ! -e "/sys/class/net/$1" ]; }

# Removes the interface as if its card were pulled, and adds it again
replug_driver() {
	local device driver
	device=$(readlink -f "/sys/class/net/$IF_A/device")
	driver=$(readlink -f "$device/driver")
	basename "$device" >"$driver/unbind"
	check "unplugged: the interface is gone" busywait 30 gone "$IF_A"
	check "unplugged: the link is gone" no_link_of "$IF_A"
	check "unplugged: the unit is not active" busywait 60 not_active "iw_tcp@$IF_A"
	basename "$device" >"$driver/bind"
	check_link "plugged in again"
	talk "plugged in again"
}
not_active() { ! systemctl is-active --quiet "$1"; }

# Removes a virtual interface whose name has a minus sign, and adds it again
replug_virtual() {
	local unit
	unit=iw_tcp@$(systemd-escape re-plug)
	ip link add re-plug type veth peer name other
	ip link set other up && ip link set re-plug up
	follow "re-plug: enable --now" escaped 's/br-lan/re-plug/'
	check "re-plug: iwt_re-plug exists" busywait 60 has_link iwt_re-plug
	ip link del re-plug
	check "re-plug: the unit ends with the interface" busywait 60 not_active "$unit"
	ip link add re-plug type veth peer name other
	ip link set other up && ip link set re-plug up
	check "re-plug: a new interface of this name has a link" busywait 60 has_link iwt_re-plug
	replug_at_once "$unit"
	check "re-plug: disable --now" systemctl disable --now "$unit"
	check "re-plug: no link" no_link_of re-plug
	ip link del re-plug
	ip link add re-plug type veth peer name other
	udevadm settle
	check "re-plug: a new interface gets no link when the unit is disabled" no_link_of re-plug
	ip link del re-plug
}

# replug_at_once UNIT: removes the interface re-plug and adds it again, while systemd is still
# stopping UNIT; then checks that systemd does not start UNIT again if the administrator stops it
replug_at_once() {
	local n m
	for n in 1 1 1 5; do
		for ((m = 0; m < n; m++)); do
			ip link del re-plug
			ip link add re-plug type veth peer name other
		done
		ip link set other up && ip link set re-plug up
		check "re-plug: $n new interface(s) without a pause: the last one has a link" busywait 120 has_link iwt_re-plug
	done
	check "re-plug: the unit is active" busywait 60 systemctl is-active --quiet "$1"
	check "re-plug: stop" systemctl stop "$1"
	check "re-plug: systemd has no jobs of this project" busywait 60 no_jobs
	check "re-plug: the unit stays stopped" not_active "$1"
	check "re-plug: stopped: no link" no_link_of re-plug
	check "re-plug: start" systemctl start "$1"
	check "re-plug: started: iwt_re-plug exists" busywait 60 has_link iwt_re-plug
}
no_jobs() { ! systemctl list-jobs --no-legend | grep iw_tcp; }

# like_variable: checks an interface whose name looks like a variable of a shell or of systemd
like_variable() {
	# shellcheck disable=SC2016
	local unit netdev='r${HOME}p'
	unit=iw_tcp@$(systemd-escape "$netdev")
	ip link add "$netdev" type veth peer name other
	ip link set other up && ip link set "$netdev" up
	check "$netdev: start" systemctl start "$unit"
	check "$netdev: the link exists" busywait 60 has_link "iwt_$netdev"
	check "$netdev: reload" systemctl reload "$unit"
	check "$netdev: stop" systemctl stop "$unit"
	check "$netdev: no link" no_link_of "$netdev"
	ip link del "$netdev"
}

# loopback: checks a link on lo, which systemd does not know without a rule for udev
loopback() {
	check "lo: enable --now" systemctl enable --now iw_tcp@lo
	check "lo: iwt_lo exists" busywait 60 has_link iwt_lo
	check "lo: disable --now" systemctl disable --now iw_tcp@lo
	check "lo: no link" no_link_of lo
}

# Checks that udev's rules keep the name of a link that was made by hand and has the form
# iwt_NETDEV
names() {
	ip link add by-hand type veth peer name other
	ip link set other up && ip link set by-hand up
	rdma link add iwt_by-hand type iw_tcp netdev by-hand
	check "names: iwt_by-hand stays" busywait 30 test -e /sys/class/infiniband/iwt_by-hand
	udevadm trigger --action=add --subsystem-match=infiniband
	udevadm settle
	check "names: iwt_by-hand stays after udevadm trigger" busywait 30 test -e /sys/class/infiniband/iwt_by-hand
	check "names: $LINK stays after udevadm trigger" busywait 30 test -e "/sys/class/infiniband/$LINK"
	ip link del by-hand
}

# setting NAME: prints the value of a setting of the link
setting() {
	local dir=/sys/kernel/config/iw_tcp/$LINK
	mkdir "$dir" && cat "$dir/$1" && rmdir "$dir"
}

# lasting: changes a setting in the configuration file, as operating.rst describes, and checks that
# a wrong line in this file makes the unit fail
lasting() {
	local file=/etc/iw_tcp/$IF_A.conf
	follow "operating.rst: a setting that lasts" lasting
	check "settings: reload has applied it" is "$(setting crc)" required
	echo tos=3 >>"$file"
	check "settings: with a wrong line, reload fails" not systemctl reload "iw_tcp@$IF_A"
	check "settings: the link stays" has_link "$LINK"
	check "settings: with a wrong line, the unit fails" not systemctl restart "iw_tcp@$IF_A"
	check "settings: the unit names the line" says "$file:2: tos=3: Invalid argument"
	check "settings: the unit has failed" systemctl is-failed --quiet "iw_tcp@$IF_A"
	check "settings: there is no link" no_link_of "$IF_A"
	check "settings: iw_tcp-link status names the unit" told_of "$IF_A"
	sed -i '$d' "$file"
	check "settings: the line is removed" systemctl restart "iw_tcp@$IF_A"
	check_link "settings"
	check "settings: the link has them" is "$(setting crc)" required
}
told_of() {
	! iw_tcp-link status >/tmp/said
	grep "^!!  unit      iw_tcp@$1.service has failed" /tmp/said
}

# fstab: mounts NFS over RDMA, by a line in /etc/fstab. This host is also the server, because the
# namespace b does not exist at boot. So the mount has to wait for the server.
EXPORT=/etc/exports.d/test.exports
fstab() {
	mkdir -p /srv/data /etc/exports.d
	echo hello >/srv/data/file
	echo '/srv/data *(rw,no_root_squash,insecure,no_subtree_check,fsid=1)' >$EXPORT
	follow "operating.rst: an NFS server that listens for RDMA" nfs-server
	check "fstab: the server listens" grep -x "rdma 20049" /proc/fs/nfsd/portlist
	follow "operating.rst: a line in fstab" fstab "s,192.0.2.2:/data,192.0.2.1:/srv/data,; s;port=20049;&,x-systemd.requires=nfs-server.service;"
	check "fstab: mounted over RDMA" mounted
}
mounted() { findmnt -n -o OPTIONS /mnt/data | grep -q 'proto=rdma' && grep -qx hello /mnt/data/file; }

# before UNIT: did the link exist before systemd began to start UNIT?
before() {
	local made began
	made=$(systemctl show -P ActiveEnterTimestampMonotonic "iw_tcp@$IF_A")
	began=$(systemctl show -P InactiveExitTimestampMonotonic "$1")
	echo "the link: $made, $1: $began"
	[ "$made" -gt 0 ] && [ "$began" -gt 0 ] && [ "$made" -le "$began" ]
}

# order: checks that, at this boot, the link existed before systemd began to start the units that
# may need the link
order() {
	local unit
	check "at boot: the line in fstab is mounted over RDMA" busywait 120 mounted
	for unit in network-online.target remote-fs.target mnt-data.mount nfs-server.service; do
		check "at boot: the link is there before $unit" before $unit
	done
	for unit in nvmf-autoconnect.service iscsi.service open-iscsi.service; do
		check "at boot: it would be there before $unit" grep -w "$unit" <(systemctl show -P Before "iw_tcp@$IF_A")
	done
	check "at boot: the link has its settings" is "$(setting crc)" required
}

# no_fstab: removes what fstab() has made
no_fstab() {
	check "fstab: unmount" umount /mnt/data
	check "fstab: the server ends" systemctl disable --now nfs-server
	sed -i '\,/mnt/data,d' /etc/fstab
	rm -rf /srv/data $EXPORT /etc/systemd/system/nfs-server.service.d
	rmdir --ignore-fail-on-non-empty /mnt/data /etc/exports.d
	systemctl daemon-reload
}

stage_install() {
	uname -r >$STATE/first
	useradd --no-create-home alice
	files_now >$STATE/before
	check "no package of iw_tcp is installed" none ours
	cd $PAYLOAD/first || return
	follow "README.md: apt install" README '/^\(echo\|apt\) /!d'
	check "dkms has built the module for $(uname -r)" is "$(kernels_in_status)" 1
	check "modinfo says $(cat version)" is "$(module_version)" "$(cat version)"
	check "no file of rdma-core's packages has changed" none dpkg -V rdma-core ibverbs-providers libibverbs1 librdmacm1
	check "nothing started by itself: no module" [ ! -e /sys/module/iw_tcp ]
	check "nothing started by itself: no unit" none systemctl list-units --plain --no-legend 'iw_tcp@*'
	check "the man pages are installed" ls /usr/share/man/man5/iw_tcp.conf.5.gz /usr/share/man/man8/iw_tcp@.service.8.gz /usr/share/man/man7/iw_tcp.7.gz
	check "the examples are installed" ls /usr/share/doc/iw-tcp/examples/{eth0.conf,modprobe.conf,grafana.json}
	check "the documents are installed" ls /usr/share/doc/iw-tcp/operating.rst /usr/share/doc/iw-tcp/html/{index,search,operating,applications/nfs}.html
	follow "README.md: systemctl enable --now" README '/^systemctl /!d'
	check_link "enabled"
	follow "operating.rst: what is wrong" tell
	follow "installing.rst: the commands that show the installation" install
	start
	users
	talk_more "enabled"
	names
	replug_driver
	replug_virtual
	like_variable
	loopback
	follow "disabled" disable
	check "disabled: no link" no_link_of "$IF_A"
	check "enabled again" systemctl enable --now "iw_tcp@$IF_A"
	check_link "enabled again"
	lasting
	fstab
}

# number: prints the index of the link's RDMA device; a new device always gets a new index
number() { rdma dev show "$LINK" | cut -d: -f1; }

stage_again() {
	local device version
	version=$(cat $PAYLOAD/higher/version)
	check_link "after the reboot"
	order
	no_fstab
	check "after the reboot: rdma_cm is for root and a group" rdma_cm_is "660 rdma"
	talk "after the reboot"
	device=$(number)
	cd $PAYLOAD/higher || return
	sed -i "s,/payload/first,/payload/higher," /etc/apt/sources.list.d/iw-tcp.list
	follow "installing.rst: upgrade" upgrade
	check "upgrade: dkms has the new version only" is "$(dkms status iw-tcp | cut -d, -f1 | sort -u)" "iw-tcp/$version"
	check "upgrade: modinfo says $version" is "$(module_version)" "$version"
	check "upgrade: the link has not been touched" is "$(number)" "$device"
	check_link "upgrade"
	talk "upgrade"
	follow "installing.rst: the new module at once" reload
	check "upgrade: the new module is loaded" is "$(cat /sys/module/iw_tcp/version)" "$version"
	check_link "new module"
	check "new module: the link is a new one" not is "$(number)" "$device"
	talk "new module"
	check "libiw-tcp-dev is installed" apt -y install ./libiw-tcp-dev_*.deb
	check "libiw-tcp-dev: its man page is installed" ls /usr/share/man/man7/iwtdv.7.gz
	check "another kernel: apt install" env INITRD=No apt-get -qy install $PAYLOAD/second/*.deb
	follow "another kernel: dkms status" status
	check "another kernel: dkms has built for both" is "$(kernels_in_status)" 2
}

stage_second() {
	check "the other kernel runs" not is "$(uname -r)" "$(cat $STATE/first)"
	check_link "other kernel"
	check "other kernel: the loaded module is the new one" is "$(cat /sys/module/iw_tcp/version)" "$(cat $PAYLOAD/higher/version)"
	talk_more "other kernel"
}

# refused WHAT: checks that the kernel refuses the module, because the kernel does not trust the
# module's signature, and checks the messages about this
refused() {
	check "$1: the unit fails" busywait 90 systemctl is-failed --quiet "iw_tcp@$IF_A"
	check "$1: no module" [ ! -e /sys/module/iw_tcp ]
	# systemctl status exits with 3 if the unit has failed
	follow "$1: the unit says why" why 's/$/ || [ $? = 3 ]/'
	check "$1: the unit says what to do" says 'mokutil --import /var/lib/dkms/mok.pub'
}
says() { journalctl -b -u "iw_tcp@$IF_A" -o cat | grep -F "$1"; }
stage_enforced() { refused "module.sig_enforce=1"; }
stage_lockdown() {
	refused "lockdown=integrity"
	check "lockdown: the unit says what the kernel reported" says '(Operation not permitted, kernel lockdown)'
}

# With Secure Boot, the firmware does not trust the key of the module yet. This stage requests the
# enrolment of the key; tests/packages/run confirms the enrolment before the stage "enrolled".
stage_secure() {
	refused "Secure Boot"
	check "Secure Boot: the kernel is locked down" grep -F '[integrity]' /sys/kernel/security/lockdown
	follow "installing.rst: mokutil" mok "s,^mokutil --import.*,& < <(cat $PAYLOAD/password $PAYLOAD/password),"
}

stage_enrolled() {
	check "enrolled: Secure Boot is enabled" grep -F 'SecureBoot enabled' <(mokutil --sb-state)
	check "enrolled: the kernel is locked down" grep -F '[integrity]' /sys/kernel/security/lockdown
	check_link "enrolled"
	talk "enrolled"
}

stage_remove() {
	check_link "before the removal"
	check "no module for this kernel: a clear message" no_module
	check_link "started again"
	mapfile -t packages < <(ours)
	check "remove: apt remove" apt -y remove "${packages[@]}"
	check "remove: no link" no_link_of "$IF_A"
	check "remove: no unit runs" none systemctl list-units --plain --no-legend --state=active 'iw_tcp@*'
	check "remove: dkms does not know the module" none dkms status iw-tcp
	check "remove: no module file" none find /lib/modules/ -name 'iw_tcp*'
	check "remove: the enabled unit stays, as configuration" [ -L "$UNITS/sys-subsystem-net-devices-$IF_A.device.wants/iw_tcp@$IF_A.service" ]
	follow "installing.rst: purge" purge
	check "purge: no package of iw_tcp is left" none ours
	check "purge: no module" [ ! -e /sys/module/iw_tcp ]
	files_now >$STATE/after
	check "purge: nothing is left" none left
}

no_module() {
	# A script that stands for a modprobe that finds no module. modprobe finds none if the
	# running kernel was installed without its headers, because DKMS then builds nothing.
	mkdir -p /tmp/without
	printf '#!/bin/sh\necho "modprobe: FATAL: Module iw_tcp not found in directory /lib/modules" >&2; exit 1\n' >/tmp/without/modprobe
	chmod +x /tmp/without/modprobe
	systemctl stop "iw_tcp@$IF_A" && modprobe -r iw_tcp || return 1
	PATH=/tmp/without:$PATH iw_tcp-link up "$IF_A" 2>&1 | tee /dev/stderr | grep -q 'apt install linux-headers-' || return 1
	systemctl start "iw_tcp@$IF_A"
}

# left: lists the files that were not there before the installation of the packages, except the
# files of the second kernel's packages and the keys of DKMS
left() {
	local names
	mapfile -t names < <(cd $PAYLOAD/second && ls -- *.deb | cut -d_ -f1)
	comm -13 $STATE/before $STATE/after |
		grep -vxFf <(dpkg -L "${names[@]}" | sed 's,^/lib/,/usr/lib/,') |
		grep -vE "^/usr/lib/modules/$(sed 's/[.+]/\\&/g' $PAYLOAD/second/release)(/|$)|^/var/lib/dkms(/mok\.(key|pub))?$"
}
