#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Direct connections: queue pairs that connect without rdma_cm (iwt_direct). GID 1 is an IPv4
# address; direct_paths.sh has other addresses.
# IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

# shellcheck source=tests/lib/settings.sh
. "$IWT_LIB/settings.sh"

begin iwt_direct setpriv
only_iw_tcp "no other iWARP device connects without rdma_cm"
only_with DIRECT
want_settings
two_links
settings_begin
for link in $DEV_A $DEV_B; do set_link $link direct_port 64791; done
unprivileged=()
# group NAME INDEX [OPTION...]: runs a group of tests; both devices use their GID with this index
group() {
	tap "$1, GID $2" "${unprivileged[@]}" iwt_patient $((IWT_TIME * 2)) "$IWT_BIN/iwt_direct" "${@:3}" \
		${IWT_SEED:+-s "$IWT_SEED"} "$DEV_A@$NS_A" "$2" "$DEV_B@$NS_B" "$2" "$1"
}
for name in basics attributes refusals late wrong leave reset receives limits errors; do group $name 1; done
# this group also uses rdma_cm, with the address of A
tap "named, GID 1" iwt_patient $((IWT_TIME * 2)) ip netns exec "$NS_A" "$IWT_BIN/iwt_direct" "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 named
# direct connections never have an RDMAC peer, so this setting has no effect on them
set_links rdmac_permissive on
group basics 1
set_links rdmac_permissive off
# Only an administrator may bind to a port below 1024. The programs need no such right.
for link in $DEV_A $DEV_B; do set_link $link direct_port 991; done
unprivileged=(setpriv --bounding-set -net_bind_service)
group basics 1
group many 1 -n 20
unprivileged=()
for link in $DEV_A $DEV_B; do set_link $link direct_port 64791; done
group many 1 -n 300
group churn 1 -n 60
# If the setting direct_port of a link is 0, the link's queue pairs cannot connect without rdma_cm
set_link $DEV_A direct_port 0
off() { ! "$IWT_BIN/iwt_direct" "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 attributes >"$TMP/off" 2>&1 && grep -q "connect: Operation not supported" "$TMP/off"; }
check "direct_port 0: queue pairs do not connect" off
settings_end
ktap_finish
