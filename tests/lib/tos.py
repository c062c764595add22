#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tos.py INTERFACE PORT: prints "ready", and then the types of service (traffic classes, in IPv6)
of TCP segments with payload, until a signal ends the program. Prints each line once: "out 0x28" for
segments to PORT, "in 0x28" for segments from PORT. Ignores segments that TCP sends
again, because TCP never sets the ECN bits in them."""
import socket
import struct
import sys

ETH_P_ALL = 3


def look(packet):
    """Returns (source port, destination port, sequence number, octets of payload, type of service)
    if the IP packet is a TCP segment with payload, else None."""
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
    return struct.unpack(">HHI", tcp[:8]) + (len(tcp) - (tcp[12] >> 4) * 4, tos)


def is_new(ends, found):
    """Returns whether the segment begins where the payload of its connection ended in ends, or
    later, and notes the new end."""
    ports, sequence, size = found[:2], found[2], found[3]
    if (sequence - ends.get(ports, sequence)) & 0x80000000:
        return False
    ends[ports] = sequence + size & 0xFFFFFFFF
    return True


def main(interface, port):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    sock.bind((interface, ETH_P_ALL))
    print("ready", flush=True)
    seen, ends = set(), {}
    while True:
        found = look(sock.recv(65536))
        if not found or port not in found[:2] or not is_new(ends, found):
            continue
        line = f"{'out' if found[1] == port else 'in'} {found[4]:#x}"
        if line not in seen:
            seen.add(line)
            print(line, flush=True)


main(sys.argv[1], int(sys.argv[2]))
