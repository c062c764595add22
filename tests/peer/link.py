# SPDX-License-Identifier: GPL-2.0
"""
Sends and receives the Ethernet frames of an IP address that no kernel owns, by packet sockets.

The destination of the frames to this address is not the MAC address of the interface. So the kernel
ignores these frames, and does not reset connections. A thread of this module answers requests for
the MAC address (ARP, neighbour discovery).
"""
import ctypes
import ipaddress
import itertools
import socket
import struct
import threading

ETH_P_ALL, IPV4, IPV6, ARP = 3, 0x0800, 0x86DD, 0x0806
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
SO_ATTACH_FILTER, SO_SNDBUFFORCE, SO_RCVBUFFORCE = 26, 32, 33
TCP, ICMP6, FRAGMENT = 6, 58, 44
NEED_CHECKSUM, GSO_TCP4, GSO_TCP6 = 1, 1, 4
ASK, TELL = 135, 136    # neighbour solicitation, neighbour advertisement
LD, LDH, LDB, JEQ, RET = 0x20, 0x28, 0x30, 0x15, 0x06
ALL, NOTHING = (RET, 0, 0, 1 << 18), (RET, 0, 0, 0)
MAC = b"\x02iwt\x00\x09"


def total(octets):
    """Returns the sum for the Internet checksum, not inverted."""
    value = int.from_bytes(octets + bytes(len(octets) % 2), "big") % 0xFFFF
    return value or (0xFFFF if any(octets) else 0)


def _filter(sock, program):
    octets = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *words) for words in program))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(octets)))


class Link:
    """An IP address on the network of an interface: the address of the interface (here) plus 8. The
    frames of this address go to the address there."""

    def __init__(self, interface, here, there):
        self.interface = interface
        self.address = ipaddress.ip_address(here) + 8
        self.there = ipaddress.ip_address(there)
        self.v6 = self.address.version == 6
        self.kind = IPV6 if self.v6 else IPV4
        self.ports, self.idents = itertools.count(20000), itertools.count(1)
        self.lock = threading.Lock()
        self.mac = None                 # MAC address of the other side
        self.tx = self._socket(None)
        self.tx.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.tx.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20)
        # this socket receives all ARP and ICMPv6 frames
        self.asked = self._socket(((LDH, 0, 0, 12), (JEQ, 4, 0, ARP), (JEQ, 0, 2, IPV6), (LDB, 0, 0, 20),
                                   (JEQ, 1, 0, ICMP6), NOTHING, ALL))
        self.known = threading.Event()
        threading.Thread(target=self._answer, daemon=True).start()

    def _socket(self, program):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        if program:
            _filter(sock, program)
        sock.bind((self.interface, ETH_P_ALL if program else 0))
        return sock

    def port(self):
        """Returns a port that no connection of this Link has used before."""
        with self.lock:
            return next(self.ports)

    def receiver(self, port):
        """Returns a socket that receives the frames to this TCP port of this address."""
        where = 14 + (40 if self.v6 else 20) + 2
        head, tail = struct.unpack(">IH", MAC)
        sock = self._socket(((LD, 0, 0, 0), (JEQ, 0, 5, head), (LDH, 0, 0, 4), (JEQ, 0, 3, tail),
                             (LDH, 0, 0, where), (JEQ, 0, 1, port), ALL, NOTHING))
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        return sock

    # neighbours

    def find(self):
        """Requests the MAC address of the other side until it is known."""
        for _ in range(100):
            if self.known.is_set():
                return
            if self.v6:
                group = ipaddress.ip_address(b"\xff\x02" + bytes(9) + b"\x01\xff" + self.there.packed[13:])
                self._icmp6(b"\x33\x33" + group.packed[12:], group, ASK, 0, self.there, 1)
            else:
                self._arp(b"\xff" * 6, 1, bytes(6))
            self.known.wait(0.2)
        raise OSError("no neighbour %s" % self.there)

    def _arp(self, mac, operation, other):
        self._raw(mac, ARP, struct.pack(">HHBBH", 1, IPV4, 6, 4, operation) + MAC + self.address.packed +
                  other + self.there.packed)

    def _icmp6(self, mac, to, kind, flags, target, option):
        body = struct.pack(">BBHI", kind, 0, 0, flags) + target.packed + bytes([option, 1]) + MAC
        value = total(self.address.packed + to.packed + struct.pack(">II", len(body), ICMP6) + body)
        body = body[:2] + struct.pack(">H", value ^ 0xFFFF) + body[4:]
        self._raw(mac, IPV6, struct.pack(">IHBB", 6 << 28, len(body), ICMP6, 255) + self.address.packed +
                  to.packed + body)

    def _raw(self, mac, kind, body):
        self.tx.send(bytes(10) + mac + MAC + struct.pack(">H", kind) + body)

    def _learn(self, mac):
        self.mac = mac
        self.known.set()

    def _answer(self):
        while True:
            frame = self.asked.recv(2048)
            kind, body = struct.unpack(">H", frame[12:14])[0], frame[14:]
            if kind == ARP and len(body) >= 28 and body[14:18] == self.there.packed:
                self._learn(body[8:14])
                if body[7] == 1 and body[24:28] == self.address.packed:
                    self._arp(body[8:14], 2, body[8:14])
            elif kind == IPV6 and len(body) >= 64 and body[40] in (ASK, TELL):
                self._neighbour(frame[6:12], ipaddress.ip_address(body[8:24]), body[40],
                                ipaddress.ip_address(body[48:64]))

    def _neighbour(self, mac, src, kind, target):
        if kind == TELL and target == self.there:
            self._learn(mac)
        elif kind == ASK and target == self.address and src != ipaddress.ip_address("::"):
            self._icmp6(mac, src, TELL, 0x60000000, self.address, 2)

    # IP

    def _ip(self, size, protocol, fragment=0):
        if self.v6:
            return struct.pack(">IHBB", 6 << 28, size, protocol, 64) + self.address.packed + self.there.packed
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, fragment >> 16, fragment & 0xFFFF, 64, protocol, 0)
        head += self.address.packed + self.there.packed
        return head[:10] + struct.pack(">H", total(head) ^ 0xFFFF) + head[12:]

    def _pseudo(self, size):
        return self.address.packed + self.there.packed + struct.pack(">II", size, TCP)

    def packet(self, head, data, mss=0):
        """
        Returns the parts of a packet for tx: a TCP segment (header and data) of any length. If mss
        is not 0 and the data are longer than mss, the kernel of the other side receives one buffer
        that it treats as several segments (GSO).
        """
        size = len(head) + len(data)
        value = total(self._pseudo(size))
        head = head[:16] + struct.pack(">H", value) + head[18:]
        begin = 14 + (40 if self.v6 else 20)
        gso = (GSO_TCP6 if self.v6 else GSO_TCP4) if mss and len(data) > mss else 0
        vnet = struct.pack("=BBHHHH", NEED_CHECKSUM, gso, begin + len(head), mss if gso else 0, begin, 16)
        return vnet, self.mac + MAC + struct.pack(">H", self.kind) + self._ip(size, TCP) + head, data

    def send(self, head, data, mss=0):
        """Sends the packet that packet() returns."""
        self.tx.sendmsg(self.packet(head, data, mss))

    def send_fragments(self, head, data, size):
        """
        Sends a TCP segment in IP fragments of size octets (a multiple of 8), the last fragment
        first.
        """
        value = total(self._pseudo(len(head) + len(data)) + head + data)
        body = head[:16] + struct.pack(">H", value ^ 0xFFFF) + head[18:] + data
        ident = next(self.idents) & 0xFFFF
        for at in reversed(range(0, len(body), size)):
            part, more = body[at:at + size], at + size < len(body)
            if self.v6:
                part = struct.pack(">BBHI", TCP, 0, at | more, ident) + part
                outer = self._ip(len(part), FRAGMENT)
            else:
                outer = self._ip(len(part), TCP, ident << 16 | (0x2000 if more else 0) | at >> 3)
            self._raw(self.mac, self.kind, outer + part)
