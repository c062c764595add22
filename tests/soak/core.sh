# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are also used or set in the other files
# The lane "core", whose traffic continues through all rounds. Between a pair of hosts there are an
# NFS mount and, in each direction, a client and a server of iwt_verify. NVMe runs in the initial
# namespace, because NVMe supports no other namespace. Net devices are down for moments and lose
# packets, and the module is reloaded. All traffic must survive this, but before a reload the test
# ends iwt_verify and NVMe, and starts both again afterwards. The functions of this file run in the
# main process, except core_round and the functions that it calls, which run in the process of the
# lane, and nvme_traffic, which has a process of its own.

LINK=iwts$$n RAM_MB=24 VERIFIERS=()

# verifier NAME HOST PORT: starts a server of iwt_verify in HOST (a or b), and an endless client
# in the other host. Both programs poll for completions. So they run with nice(1), and other
# programs have priority.
verifier() {
	local name=$1 server=$NS_B client=$NS_A address=$IP_B options
	[ "$2" = b ] || server=$NS_A client=$NS_B address=$IP6_A
	options=(--timeout 240 --max-size 40000 --no-neg --no-events --rounds 1000000 --seed $((RANDOM + 1)) -p "$3")
	start nice ip netns exec "$server" "$IWT_BIN/iwt_verify" -s -a "$address" "${options[@]}" >"$SOAK/$name-server" 2>&1
	VERIFIERS+=("$PID $name-server")
	wait_listen "$server" $(($3 + 1)) || return
	start nice ip netns exec "$client" "$IWT_BIN/iwt_verify" -c "$address" "${options[@]}" >"$SOAK/$name" 2>&1
	VERIFIERS+=("$PID $name")
	# The first results may come late, because a net device may be down
	busywait 120 grep -q '^ok' "$SOAK/$name"
}

verifiers_start() { verifier verify4 b 7471 && verifier verify6 a 7481; }

# verifiers_end: ends all programs of VERIFIERS; complains if one of them has failed before
verifiers_end() {
	local v file
	verifiers_alive
	for v in "${VERIFIERS[@]}"; do
		file=$SOAK/${v#* }
		grep -E -A 3 '^(not ok|Bail)' "$file" >"$SOAK/why" || continue
		complain "${v#* }: a failure"
		show "$SOAK/why"
	done
	# end the clients first, because their failures give more information
	for ((v = ${#VERIFIERS[@]} - 1; v >= 0; v--)); do
		ends "${VERIFIERS[v]% *}"
		clean "${VERIFIERS[v]#* }" "$SOAK/${VERIFIERS[v]#* }" "$STATUS"
	done
	VERIFIERS=() STARTED=("$NFS_SERVER" "$NFS_CLIENT")
}

verifiers_alive() {
	local v
	for v in "${VERIFIERS[@]}"; do
		alive "${v% *}" || { complain "${v#* } has ended"; show "$SOAK/${v#* }"; }
	done
}

verifiers_signal() {
	local v
	for v in "${VERIFIERS[@]}"; do kill "-$1" "${v% *}" 2>/dev/null; done
}

nvme_start() {
	rdma link add "$LINK" type "$IWT_LINK_TYPE" netdev iwt-soak || return
	nvme_target_start rdma 10.78.0.1 && nvme_connect 60 rdma 10.78.0.1
}

# nvme_stop: deletes the link before the target, because the target's listener is deleted with the
# link. Otherwise the target would destroy the listener under a lock that the event handlers of its
# connections also take, and lockdep would report a deadlock.
nvme_stop() {
	nvme_disconnect 60 && by_name "$LINK" iwt_patient 60 rdma link delete "$LINK" && nvme_target_stop
}

# nvme_traffic SEED: runs fio again and again; the caller starts this function in a process of its
# own. The files stop-client, pause and nvme-paused have the same meaning as for nfs-traffic.sh.
nvme_traffic() {
	local n=0 disk
	seed "$1" nvme
	while [ ! -e "$SOAK/stop-client" ]; do
		if [ -e "$SOAK/pause" ]; then
			: >"$SOAK/nvme-paused"
			nap 0.2
			continue
		fi
		rm -f "$SOAK/nvme-paused"
		disk=$(nvme_disk)
		one_of "randwrite 4k 1" "randwrite 60k 4" "write 256k 8" "randwrite 16k 2"
		# shellcheck disable=SC2086
		IWT_TIME=300 fio_verify "$disk" $PICK >"$SOAK/nvme-log" 2>&1 || {
			echo "$disk $PICK: $(tail -n 3 "$SOAK/nvme-log")" >>"$SOAK/nvme-wrong"
			nap 1
		}
		echo $((++n)) >"$SOAK/nvme.new"
		mv "$SOAK/nvme.new" "$SOAK/nvme"
	done
}

core_start() {
	hosts n
	hosts_up || return
	unshare_start
	busywait 90 test -e "$SOAK/started" && [ "$(cat "$SOAK/started")" = 0 ] || { cat "$SOAK/nfs-server"; return 1; }
	dummy_add iwt-soak 10.78.0.1 && nvme_ram $RAM_MB && nvme_start || return
	start nice ip netns exec "$NS_B" unshare -m bash "$here/nfs-traffic.sh" "$SOAK" "$SEED" >"$SOAK/nfs-out" 2>&1
	NFS_CLIENT=$PID
	(trap - EXIT; cd "$SOAK" && nvme_traffic "$SEED") &
	NVME_TRAFFIC=$!
	verifiers_start
}

# unshare_start: starts the NFS server in a mount namespace of its own
unshare_start() {
	start ip netns exec "$NS_A" unshare -m bash "$here/../lib/nfs_roles.sh" server "$SOAK" >"$SOAK/nfs-server" 2>&1
	NFS_SERVER=$PID
}

# core_round: chooses three times at random an event at the net devices or links of this lane, or a
# pause
core_round() {
	local n
	for n in 1 2 3; do
		one_of nap path-a path-b path-lo down_up carrier down-nvme setting
		note "core: $PICK"
		case $PICK in
		path-a) path "$NS_A" "$IF_A" ;;
		path-b) path "$NS_B" "$IF_B" ;;
		path-lo) path_lo ;;
		down_up) side; do_down_up ;;
		carrier) side; do_carrier ;;
		down-nvme) nvme_flap ;;
		setting) setting "$DEV_A" "$DEV_B"; setting "$DEV_B" "$DEV_A"; setting "$LINK" ;;
		esac
		rest 30
	done
}

# path_lo: selects at random how the net device lo of the initial namespace disturbs its packets:
# not at all, by loss, by delay and another order, or by duplicates. NVMe's packets pass through
# this lo, because both ends of NVMe are in the initial namespace.
path_lo() {
	one_of "" "loss 0.5%" "delay 2ms reorder 25% 50%" "duplicate 1%"
	note "lo: ${PICK:-no loss}"
	tc qdisc del dev lo root 2>/dev/null
	# shellcheck disable=SC2086
	[ -z "$PICK" ] || tc qdisc replace dev lo root netem $PICK
}

nvme_flap() {
	ip link set iwt-soak down
	rest 10
	ip link set iwt-soak up
	ip route change local 10.78.0.1 dev lo table local proto kernel scope host src 10.78.0.1 mtu 1500
}

# verified WHAT: prints how many good results the client WHAT (verify4 or verify6) has printed since
#   the client was started; each reload of the module starts the clients anew
# count_of WHAT: prints how far WHAT has come: for nfs and nvme the number of rounds that have
#   ended, for verify4 and verify6 the number that verified() prints
# further WHAT COUNT: is the current count of WHAT larger than COUNT?
verified() { grep -c '^ok' "$SOAK/$1"; }
count_of() { case $1 in verify*) verified "$1" ;; *) cat "$SOAK/$1" 2>/dev/null || echo 0 ;; esac; }
further() { [ "$(count_of "$1")" -gt "$2" ]; }

# output_of WHAT: prints the name of the file that has the output of WHAT
output_of() { case $1 in verify*) echo "$SOAK/$1" ;; *) echo "$SOAK/$1-log" ;; esac; }

# core_goes_on: checks that each kind of traffic advances within two minutes, without errors
core_goes_on() {
	local what was
	for what in nfs nvme verify4 verify6; do
		was=$(count_of $what)
		busywait 120 further $what "$was" || { complain "$what stands still at $was"; show "$(output_of $what)"; }
		[ ! -e "$SOAK/$what-wrong" ] || { complain "$what: wrong"; head -n 12 "$SOAK/$what-wrong" >>"$SOAK/wrong-$LANE"; rm "$SOAK/$what-wrong"; }
	done
	verifiers_alive
} 2>/dev/null

paused() { [ -e "$SOAK/nfs-paused" ] && [ -e "$SOAK/nvme-paused" ]; }

core_pause() {
	: >"$SOAK/pause"
	busywait 240 paused || complain "NFS or NVMe does not come to an end: $(ls "$SOAK"/*-paused)"
	verifiers_signal STOP
}

core_resume() {
	rm "$SOAK/pause"
	verifiers_signal CONT
}

# reload: reloads the module while NFS is mounted. All links are deleted; NFS must connect again.
reload() {
	local dev
	verifiers_signal CONT
	verifiers_end
	must "NVMe ends" nvme_stop
	for dev in "$LINK" "$DEV_A" "$DEV_B"; do forget_settings "$dev"; done
	must "the module is unloaded" iwt_patient 120 modprobe -r "$IWT_LINK_TYPE"
	[ ! -d "/sys/module/$IWT_LINK_TYPE" ] || complain "the module is still loaded"
	must "the module is loaded" modprobe "$IWT_LINK_TYPE"
	MADE_DEV=()
	must "links again" linked
	must "NVMe again" nvme_start
	must "connections again" verifiers_start
	verifiers_signal STOP
}

core_quiet() {
	tc -n "$NS_A" qdisc del dev "$IF_A" root
	tc -n "$NS_B" qdisc del dev "$IF_B" root
	tc qdisc del dev lo root
} 2>/dev/null

core_stop() {
	verifiers_end
	: >"$SOAK/stop-client"
	busywait 240 not alive "$NFS_CLIENT" || complain "NFS does not end"
	ends "$NFS_CLIENT"
	[ "$STATUS" = 0 ] || { complain "NFS ends with $STATUS"; show "$SOAK/nfs-wrong"; }
	busywait 240 not alive "$NVME_TRAFFIC" || complain "fio does not end"
	busywait 120 not nfs_recovers || {
		complain "NFS's recovery does not end"
		nfs_recovery >"$SOAK/why" 2>&1
		show "$SOAK/why"
	}
	: >"$SOAK/stop"
	busywait 60 not alive "$NFS_SERVER" || complain "NFS's server does not end"
	must "NVMe ends" nvme_stop
	must "the dummy net device is deleted" ip link del iwt-soak
	MADE_IF=() STARTED=()
	hosts_down
	forget_settings "$LINK"
}
