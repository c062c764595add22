# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The GID of a link in A, and what it depends on.

# gid LINK: in hexadecimal
gid() { in_a cat "/sys/class/infiniband/$1/ports/1/gids/0" | tr -d :; }
# gid_is LINK MAC: without colons
gid_is() { [[ $(gid "$1") = "$2"* ]]; }
mac_of() { in_net "$NS_A" ip -br link show dev "$1" | awk '{ gsub(":", "", $3); print $3 }'; }

# Older kernels look for a GID that is the MAC address and nothing else, and so it changes with
# that; newer ones look at the net device, and the GID stays.
gid_follows() { [[ $(gid "$1") = *0000000000000000 ]]; }
