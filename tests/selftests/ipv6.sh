#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rping, ucmatose, perftest and iwt_verify over IPv6.
. "$(dirname "$0")/../lib/begin.sh"

begin rping iwt_verify
two_links

siw=()
[ "$IWT_LINK_TYPE" != siw ] || siw=(--local-siw --peer-siw)
pair "rping" 7174 "rping -s -a $IP6_B -C 20 -V" "rping -c -a $IP6_B -C 20 -V -v"
pair "rping, listening on any address" 7174 "rping -s -a :: -C 20 -V" "rping -c -a $IP6_B -C 20 -V -v"
pair "an IPv4 client of an IPv6 listener" 7174 "rping -s -a :: -C 20 -V" "rping -c -a $IP_B -C 20 -V -v"
pair "ucmatose" 7471 "ucmatose -f ip6 -b $IP6_B" "ucmatose -f ip6 -s $IP6_B"
if ! command -v ib_write_bw >/dev/null || ib_write_bw -h 2>&1 | grep -q -- --ipv6-addr; then
	pair "ib_write_bw" 18515 "ib_write_bw -R -F --ipv6-addr -n 50" "ib_write_bw -R -F --ipv6-addr -n 50 $IP6_B"
else
	skip "ib_write_bw" "perftest takes no IPv6 addresses here"
fi
verify_pair "verify" $IP6_B --max-size 70000 --rounds 2 --no-events --no-wr "${siw[@]}" -- "${siw[@]}"
ktap_finish
