# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reads the GID of a link in A, and the MAC address on which the GID may depend.

# gid LINK: prints the GID of LINK in hexadecimal, without colons
gid() { in_a cat "/sys/class/infiniband/$1/ports/1/gids/0" | tr -d :; }
# gid_is LINK MAC: does the GID of LINK begin with MAC (without colons)?
gid_is() { [[ $(gid "$1") = "$2"* ]]; }
# mac_of NETDEV: prints the MAC address of NETDEV in A, without colons
mac_of() { in_net "$NS_A" ip -br link show dev "$1" | awk '{ gsub(":", "", $3); print $3 }'; }

# gid_follows LINK: must the GID of LINK change when the MAC address changes? On older kernels yes:
# rdma_cm finds a link by its GID, which consists of the MAC address and zeros. Newer kernels find
# the link by its net device, and the GID has more than the MAC address and never changes.
gid_follows() { [[ $(gid "$1") = *0000000000000000 ]]; }
