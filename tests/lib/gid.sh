# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reads the GID of a link in A, and the MAC address on which it may depend.

# gid LINK: prints the GID in hexadecimal, without colons
gid() { in_a cat "/sys/class/infiniband/$1/ports/1/gids/0" | tr -d :; }
# gid_is LINK MAC: does the GID begin with MAC (without colons)?
gid_is() { [[ $(gid "$1") = "$2"* ]]; }
mac_of() { in_net "$NS_A" ip -br link show dev "$1" | awk '{ gsub(":", "", $3); print $3 }'; }

# Older kernels find a link by a GID that consists only of the MAC address. So the GID must follow
# a change of the MAC address. Newer kernels find the link by its net device, and the GID stays.
gid_follows() { [[ $(gid "$1") = *0000000000000000 ]]; }
