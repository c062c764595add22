# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2153 # CONF is a variable of iw_tcp-link
# iw_tcp-link status: prints one line for each finding about this host; see iw_tcp-link(8). The
# program iw_tcp-link sources this file. A user without privileges may run "iw_tcp-link status". A
# missing tool is no fault: the finding that needs the tool is "unknown" (without systemctl, there
# is no finding about units). Nothing on the host is changed, except that settings_now makes a
# directory in configfs for a moment, and a file for the lock of the link.
PATH=$PATH:/usr/sbin:/sbin
IB=/sys/class/infiniband
FAULTS=0

ok() { printf 'ok  %-9s %s\n' "$1" "$2"; }
unknown() { printf '??  %-9s %s: unknown (%s)\n' "$1" "$2" "$3"; }
# wrong SUBJECT TEXT PAGE SECTION: prints and counts a fault. SECTION of the PAGE of the guide
# explains the fault. (The test of the documents checks that PAGE has this SECTION.)
wrong() {
	printf '!!  %-9s %s (see %s: %s)\n' "$1" "$2" "$3" "$4"
	FAULTS=$((FAULTS + 1))
}

# has PROGRAM: is there such a program? (command -v also prints a file that cannot be executed.)
has() { [ -x "$(command -v "$1")" ]; }
is_root() { [ "$(id -u)" = 0 ]; }

# signature FILE: prints "signed by SIGNER", or an empty line if the module is not signed
signature() {
	local signer
	signer=$(modinfo -F signer "$1" 2>/dev/null)
	echo "${signer:+signed by $signer}"
}

status_module() {
	local loaded=/sys/module/iw_tcp file='' version=''
	if has modinfo; then
		file=$(modinfo -n iw_tcp 2>/dev/null)
		version=$(modinfo -F srcversion iw_tcp 2>/dev/null)
		SIGNATURE=$(signature iw_tcp)
	fi
	if [ ! -d $loaded ]; then
		if has modinfo && [ -z "$file" ]; then
			wrong module "there is no module iw_tcp for the kernel $(uname -r)" installing.rst "Another kernel"
		else
			wrong module "not loaded${file:+; it would be $file}" operating.rst 'rdma link add: "Invalid argument"'
		fi
		return
	fi
	case $file in
	'') unknown module "version $(cat $loaded/version) is loaded; its file" "modinfo finds none" ;;
	*)
		if [ -n "$version" ] && [ -e $loaded/srcversion ] && [ "$version" != "$(cat $loaded/srcversion)" ]; then
			wrong module "the loaded module is another one than $file" installing.rst "An upgrade"
		else
			ok module "version $(cat $loaded/version) is loaded, $file, ${SIGNATURE:-not signed}"
		fi ;;
	esac
}

status_kernel() {
	local kernel series
	kernel=$(uname -r)
	series=$(series_of "$kernel")
	if older "$series" "$OLDEST"; then
		wrong kernel "$kernel is older than $OLDEST, which iw_tcp needs" installing.rst Kernels
	elif older "$NEWEST" "$series"; then
		wrong kernel "$kernel is newer than the kernels of the tests ($OLDEST to $NEWEST)" installing.rst "Another kernel"
	elif [[ " $UNFIT " = *" $series "* ]]; then
		wrong kernel "$kernel: iw_tcp cannot be built for ${UNFIT// /, }" installing.rst Kernels
	elif [[ " $TESTED " != *" $series "* ]]; then
		unknown kernel "$kernel, does iw_tcp work with $series" "the tests have ${TESTED// /, }"
	else
		ok kernel "$kernel, the tests have ${TESTED// /, }"
	fi
}

# strict: prints the reasons why the kernel accepts only signed modules, a reason on each line;
# prints nothing if the kernel accepts all modules
strict() {
	local file
	for file in /sys/firmware/efi/efivars/SecureBoot-*; do
		[ ! -r "$file" ] || [ "$(od -An -tu1 -j4 -N1 "$file" | xargs)" != 1 ] || echo "Secure Boot"
	done
	! grep -Eqs '\[(integrity|confidentiality)\]' /sys/kernel/security/lockdown || echo "kernel lockdown"
	! grep -qsx Y /sys/module/module/parameters/sig_enforce || echo "module.sig_enforce"
}

status_trust() {
	local why key=/var/lib/dkms/mok.pub
	why=$(strict | paste -sd, | sed 's/,/, /g')
	if [ -z "$why" ]; then
		ok trust "the kernel takes modules without a signature (no Secure Boot, no lockdown)"
	elif [ -d /sys/module/iw_tcp ]; then
		ok trust "the kernel takes only modules with a trusted signature ($why), and took iw_tcp"
	elif [ -z "$SIGNATURE" ]; then
		wrong trust "the kernel takes only signed modules ($why), and iw_tcp is not signed" installing.rst "Secure Boot"
	elif has mokutil && [ -r $key ] && mokutil --test-key $key 2>/dev/null | grep -q 'is not enrolled'; then
		wrong trust "the kernel takes only signed modules ($why), and DKMS's key is not enrolled" \
			installing.rst "Secure Boot"
	else
		unknown trust "does the kernel ($why) trust this signature" "load the module to see it"
	fi
}

# iw_tcp_device DEVICE: is DEVICE a link of iw_tcp? Its description is the name of the driver. If
# an administrator has changed the description: only iw_tcp has the counter mpa_bad (unless the
# driver was built without counters). In the mode "shared" of RDMA network namespaces, only the
# initial network namespace has the counters in /sys
iw_tcp_device() {
	[ "$(cat "$IB/$1/node_desc" 2>/dev/null)" = iw_tcp ] ||
		[ -e "$IB/$1/ports/1/hw_counters/mpa_bad" ] ||
		rdma_for "$1" statistic show link "$1/1" 2>/dev/null | grep -qw mpa_bad
}

# find_links: reads the links that are visible here: into LINKS (link and net device), or into
# AWAY (link), if the net device of the link is in another network namespace. Leaves out links whose
# name has a slash, because names of files contain the names of links. (A link that belongs to another
# network namespace may have any name.)
find_links() {
	local word link netdev rest
	LINKS=() AWAY=()
	while read -r word link rest; do
		link=${link%/*} netdev=
		if [[ $word != link || $link == */* ]] || ! iw_tcp_device "$link"; then continue; fi
		[[ " $rest " =~ \ netdev\ ([^ ]+)\  ]] && netdev=${BASH_REMATCH[1]}
		if [ -n "$netdev" ]; then LINKS+=("$link $netdev"); else AWAY+=("$link"); fi
	done < <(list_links)
}

# abi_of LINK: prints the version of the module's ABI. (Links of other network namespaces may have
# the same name; their version is the same.)
abi_of() {
	local dir
	for dir in /sys/class/infiniband_verbs/uverbs*; do
		if [ "$(cat "$dir/ibdev" 2>/dev/null)" = "$1" ]; then
			cat "$dir/abi_version"
			return
		fi
	done
}

# opens_link LINK: reports whether libibverbs can open the link
opens_link() {
	local said section='ibv_devices does not list the link: "No RDMA devices found"'
	if said=$(timeout 20 ibv_devinfo -d "$1" 2>&1); then
		ok provider "libibverbs opens $1, ABI version $(abi_of "$1")"
		return
	fi
	case $said in
	*'kernel ABI'*)
		wrong provider "the provider and the module have different versions of the ABI, $1 has $(abi_of "$1")" \
			operating.rst "$section" ;;
	*) wrong provider "libibverbs does not open $1: $(tail -n 1 <<<"$said")" operating.rst "$section" ;;
	esac
}

status_provider() {
	local conf file link section='ibv_devices does not list the link: "No RDMA devices found"'
	conf=$(grep -lsx 'driver iw_tcp' {,/usr/local}/etc/libibverbs.d/*.driver | head -n 1)
	file=$(compgen -G "/usr/lib*/libibverbs/libiw_tcp-rdmav*.so" || compgen -G "/usr/lib/*/libibverbs/libiw_tcp-rdmav*.so" ||
		compgen -G "/usr/local/lib*/libibverbs/libiw_tcp-rdmav*.so")
	if [ -z "$file" ]; then
		wrong provider "there is no file libiw_tcp-rdmav*.so for libibverbs" operating.rst "$section"
	elif [ -z "$conf" ]; then
		wrong provider "no file of /etc/libibverbs.d has the line \"driver iw_tcp\"" operating.rst "$section"
	elif ! has ibv_devinfo; then
		unknown provider "$(head -n 1 <<<"$file"): does libibverbs open the links" "there is no ibv_devinfo"
	elif [ ${#LINKS[@]} -eq 0 ]; then
		ok provider "$(head -n 1 <<<"$file")"
	else
		for link in "${LINKS[@]}"; do opens_link "${link% *}"; done
	fi
}

status_users() {
	local file=/dev/infiniband/rdma_cm name
	name=$(id -un 2>/dev/null) || name=$(id -u)
	if [ ! -e $file ]; then
		unknown users "who may make connections by rdma_cm" "rdma_cm has no device yet"
	elif [ -r $file ] && [ -w $file ]; then
		ok users "$name may make connections by rdma_cm; $file is $(stat -c '%A %U:%G' $file)"
	else
		wrong users "$name may not make connections by rdma_cm, $file is $(stat -c '%A %U:%G' $file)" \
			installing.rst "Who may make connections"
	fi
}

status_namespaces() {
	local mode
	if ! has rdma; then
		unknown netns "which links are in this network namespace" "there is no program rdma"
		return
	fi
	mode=$(rdma system show 2>/dev/null | sed -n 's/.*netns \([a-z]*\).*/\1/p')
	if [ ${#AWAY[@]} -gt 0 ]; then
		wrong netns "mode ${mode:-unknown}: the net device of ${AWAY[*]} is in another network namespace" \
			operating.rst "A program uses a link of another network namespace"
	else
		ok netns "mode ${mode:-unknown}, each link that is visible here has its net device here"
	fi
}

status_memlock() {
	local limit capabilities
	limit=$(ulimit -l)
	capabilities=$(sed -n 's/^CapEff:\t*//p' /proc/self/status)
	if ((0x${capabilities:-0} & 1 << 14)); then
		ok memlock "no limit for this process (CAP_IPC_LOCK); the limit without this privilege is $limit KiB"
	elif [ "$limit" = unlimited ]; then
		ok memlock "no limit"
	elif [ "$limit" -lt $ENOUGH ]; then
		wrong memlock "this user may lock $limit KiB, and most programs need $ENOUGH KiB or more" \
			operating.rst "Limits of users"
	else
		ok memlock "this user may lock $limit KiB"
	fi
}
# in KiB: the usual limit of a user; some distributions and containers have 64 KiB
ENOUGH=8192

# other_iwarp: prints the iWARP devices of other drivers, a device on each line
other_iwarp() {
	local device
	for device in "$IB"/*; do
		device=${device##*/}
		! grep -qs '^4:' "$IB/$device/node_type" || iw_tcp_device "$device" || echo "$device"
	done
}

status_iwpmd() {
	local others
	others=$(other_iwarp | paste -sd' ')
	if ! grep -qsx iwpmd /proc/[0-9]*/comm; then
		ok iwpmd "not running; no link of iw_tcp needs it"
	elif [ -n "$others" ]; then
		ok iwpmd "running, for $others; no link of iw_tcp needs it"
	else
		wrong iwpmd "running, no link of iw_tcp needs it, and kernels may crash" operating.rst \
			"The kernel crashes in iwpm_register_pid_cb() or near it, on 7.2, at the first connection"
	fi
}

# status_enabled: reports enabled units of net devices that systemd does not know
status_enabled() {
	local unit netdev
	for unit in /etc/systemd/system/*.wants/iw_tcp@*.service; do
		[ -L "$unit" ] || continue
		unit=${unit##*/}
		netdev=${unit#iw_tcp@}
		systemctl is-active --quiet "sys-subsystem-net-devices-${netdev%.service}.device" ||
			wrong unit "$unit is enabled, but its net device does not exist" operating.rst \
				'systemctl start iw_tcp@eth0: "A dependency job for iw_tcp@eth0.service failed"'
	done
}

status_units() {
	local unit
	has systemctl || return 0
	# without systemd, nothing is known about its units
	! systemctl show --property=Version >/dev/null 2>&1 || status_enabled
	for unit in $(systemctl list-units --failed --plain --no-legend 'iw_tcp@*' 2>/dev/null | cut -d' ' -f1); do
		wrong unit "$unit has failed: systemctl status $unit" operating.rst 'rdma link add: "Invalid argument"'
	done
}

# offloads NETDEV: prints the offloads of the net device that make its link faster, with their
# states. An offload in the state "off" is a fault, with two exceptions: the state "off [fixed]",
# since the device cannot change this state, and GRO, since veth has GRO off by default
offloads() {
	ethtool -k "$1" 2>/dev/null | sed -n '
		s/^tcp-segmentation-offload: /tso /p; s/^generic-segmentation-offload: /gso /p
		s/^scatter-gather: /sg /p; s/^generic-receive-offload: /gro /p' | sort -r | paste -sd, | sed 's/,/, /g'
}

status_link() {
	local link=$1 netdev=$2 state mtu what loads
	state=$(sed 's/^[0-9]*: //' "$IB/$link/ports/1/state" 2>/dev/null)
	mtu=$(cat "/sys/class/net/$netdev/mtu" 2>/dev/null)
	what="$link on $netdev: ${state:-unknown}, MTU ${mtu:-unknown}"
	if [ "$state" != ACTIVE ]; then
		wrong link "$what" operating.rst "The link is DOWN"
		return
	fi
	loads=$(offloads "$netdev")
	case ", ${loads%, gro*}," in
	', ,') unknown link "$what; the offloads" "no ethtool, or it fails" ;;
	*' off,'*) wrong link "$what, an offload is off: $loads" operating.rst "Offloads of the net device" ;;
	*) ok link "$what, $loads" ;;
	esac
}

# settings_now LINK: prints name=value for each setting. configfs has a directory of the link only
# if somebody made the directory. If there is no directory, and the user is root, the function
# makes the directory, reads the values and removes the directory. It does this in a mount
# namespace of its own, since it may have to mount configfs. (The caller runs this function in a
# subshell, so the lock lasts until the end of the function.)
settings_now() {
	! is_root || lock "$1" 20
	if [ -d "$CONFIGFS/$1" ]; then
		show_settings "$CONFIGFS/$1"
	elif is_root; then
		export -f show_settings
		# shellcheck disable=SC2016 # the variables of this bash
		unshare --mount bash -c '[ -d "$2" ] || mount -t configfs configfs "${2%/*}" || exit
			mkdir "$1" || exit
			trap "rmdir \"\$1\"" EXIT
			show_settings "$1"' settings "$CONFIGFS/$1" "$CONFIGFS"
	fi 2>/dev/null
}
show_settings() {
	local file
	for file in "$1"/*; do
		echo "${file##*/}=$(cat "$file")"
	done
}

# plain VALUE SHOWN: prints VALUE in the form in which the module shows values (on, off, decimal
# numbers). SHOWN is the value that the module shows now for the same setting
plain() {
	case $2,$1 in
	on,[1yY] | off,[1yY]) echo on ;;
	on,[0nN] | off,[0nN]) echo off ;;
	*) if [[ $2 =~ ^[0-9]+$ && $1 =~ ^[+]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$ ]]; then
			echo $((${1#+}))
		else
			echo "$1"
		fi ;;
	esac
}

# status_settings LINK NETDEV: compares the settings in use with the file /etc/iw_tcp/NETDEV.conf
status_settings() {
	local link=$1 file=$CONF/$2.conf now i line value faults=$FAULTS section="Settings that last"
	read_settings "$file"
	for line in "${WRONG[@]}"; do wrong settings "$line" operating.rst "$section"; done
	now=$(settings_now "$link")
	if [ -z "$now" ]; then
		is_root && line="no configfs" || line="needs root"
		unknown settings "$link" "$line"
		return
	fi
	if [ "$link" != "iwt_$2" ]; then NAMES=(); fi	# the file is only for iwt_NETDEV
	for i in "${!NAMES[@]}"; do
		line="$file:${AT[i]}: ${NAMES[i]}=${VALUES[i]}"
		if ! value=$(grep -x "${NAMES[i]}=.*" <<<"$now"); then
			wrong settings "$line: there is no such setting" operating.rst "$section"
		elif value=${value#*=} && [ "$(plain "${VALUES[i]}" "$value")" != "$value" ]; then
			wrong settings "$line, but $link has $value" operating.rst "$section"
		fi
	done
	[ "$faults" != "$FAULTS" ] || ok settings "$link: $(xargs <<<"$now")"
}

# has_socket PORT: does a socket of the kernel listen at this port? Sockets of the kernel are
# those for which ss shows no process. Without privileges, ss shows no processes of other users:
# then a socket of another user counts, too
has_socket() {
	ss -Htlnp "sport = :$1" 2>/dev/null | grep -qv 'users:('
}

# same_namespace PID: is the process in our network namespace? Fails if this is not known
same_namespace() { [ "$(readlink "/proc/${1:-none}/ns/net" 2>/dev/null)" = "$(readlink /proc/self/ns/net)" ]; }

# listener LINK LINE: reports on the listener that LINE of "rdma resource show cm_id" describes.
# Prints nothing if no socket listens at its port here, and the listener's process is in another
# network namespace.
listener() {
	local link=$1 address who pid=''
	[[ $2 =~ src-addr\ ([^ ]+) ]] || return 0
	address=${BASH_REMATCH[1]}
	[[ $2 =~ comm\ ([^ ]+) ]] && who=${BASH_REMATCH[1]}
	[[ $2 =~ \ pid\ ([0-9]+) ]] && pid=${BASH_REMATCH[1]}
	if has_socket "${address##*:}"; then
		ok listener "$link: $address, ${who:-unknown}"
	elif same_namespace "$pid"; then
		wrong listener "$link: $address, ${who:-unknown}: refused, it waits for its port" operating.rst "Firewall and ports"
	elif [ -z "$pid" ] || ! is_root; then
		unknown listener "$link: $address, ${who:-unknown}; its port" "its network namespace is not known"
	fi
}

status_listeners() {
	local link line
	if ! has rdma || ! has ss; then
		unknown listener "listeners and their ports" "there is no program rdma or ss"
		return
	fi
	for link in "${LINKS[@]}"; do
		while read -r line; do
			listener "${link% *}" "$line"
		done < <(rdma_for "${link% *}" resource show cm_id link "${link% *}" 2>/dev/null | grep 'state LISTEN')
	done
}

status() {
	local link
	SIGNATURE=''
	find_links
	status_module
	status_kernel
	status_trust
	status_provider
	status_users
	status_namespaces
	status_memlock
	status_iwpmd
	status_units
	for link in "${LINKS[@]}"; do
		status_link "${link% *}" "${link##* }"
		status_settings "${link% *}" "${link##* }"
	done
	[ ${#LINKS[@]} -gt 0 ] || ! has rdma ||
		wrong link "there is no link in this network namespace" installing.rst "A link after each boot"
	status_listeners
	[ $FAULTS -gt 0 ] || return 0
	echo "Faults: $FAULTS. The pages are in /usr/share/doc/iw-tcp"
	return 1
}
