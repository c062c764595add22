#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tos.py INTERFACE PORT: prints "ready", and then the types of service (traffic classes, in IPv6)
of TCP segments with payload, until a signal ends the program. Prints each line once: "out 0x28" for
segments to PORT, "in 0x28" for segments from PORT."""
import socket
import struct
import sys

ETH_P_ALL = 3


def look(packet):
    """Returns (source port, destination port, type of service) if the IP packet is a TCP segment
    with payload, else None."""
    if len(packet) < 40:
        return None
    if packet[0] >> 4 == 4:
        size, end = (packet[0] & 15) * 4, struct.unpack(">H", packet[2:4])[0]
        protocol, tos = packet[9], packet[1]
    else:
        size, end = 40, 40 + struct.unpack(">H", packet[4:6])[0]
        protocol, tos = packet[6], struct.unpack(">H", packet[:2])[0] >> 4 & 0xFF
    tcp = packet[size:end]
    if protocol != socket.IPPROTO_TCP or len(tcp) <= (tcp[12] >> 4) * 4:
        return None
    return struct.unpack(">HH", tcp[:4]) + (tos,)


def main(interface, port):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    sock.bind((interface, ETH_P_ALL))
    print("ready", flush=True)
    seen = set()
    while True:
        found = look(sock.recv(65536))
        if not found or port not in found[:2]:
            continue
        line = f"{'out' if found[1] == port else 'in'} {found[2]:#x}"
        if line not in seen:
            seen.add(line)
            print(line, flush=True)


main(sys.argv[1], int(sys.argv[2]))
