#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Sets up WireGuard and team devices by generic netlink. ip(8) can create these net devices, but has no
command to set them up.

genl.py wg-key NETDEV KEY PORT
                    gives NETDEV the private key KEY (64 hexadecimal digits) and the UDP port PORT;
                    prints the public key of NETDEV
genl.py wg-peer NETDEV PUBLIC-KEY HOST PORT NETWORK...
                    adds a peer with the IPv4 address HOST and the UDP port PORT; NETDEV sends
                    packets for the IPv4 and IPv6 NETWORKs to this peer
genl.py team-mode NETDEV MODE
                    gives the team NETDEV, which has no member yet, the MODE
genl.py team-port NETDEV MEMBER
                    lets the team NETDEV, in the mode activebackup, use its MEMBER
"""
import ipaddress
import socket
import struct
import sys

NETLINK_GENERIC, CTRL, GETFAMILY = 16, 16, 3
REQUEST, ACK, DUMP = 1, 4, 0x300
ERROR, DONE = 2, 3
NESTED = 0x8000


def attr(kind, data):
    """Encodes an attribute with the number kind; data is bytes, text or a list of encoded
    attributes."""
    if isinstance(data, str):
        data = data.encode() + b"\0"
    elif isinstance(data, list):
        kind, data = kind | NESTED, b"".join(data)
    return struct.pack("=HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)


def attrs(data):
    """Decodes attributes: returns {number: bytes}."""
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3fff] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found


class Family:
    """A family of generic netlink."""

    def __init__(self, name):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.sock.settimeout(20)
        self.number = CTRL
        self.number = struct.unpack("=H", self.call(GETFAMILY, [attr(2, name)])[1][:2])[0]

    def call(self, command, what, flags=ACK):
        """Sends a command with the encoded attributes what; returns the attributes of the
        answer."""
        body = struct.pack("=BBH", command, 1, 0) + b"".join(what)
        self.sock.send(struct.pack("=IHHII", len(body) + 16, self.number, REQUEST | flags, 1, 0) + body)
        answer = {}
        while True:
            data = self.sock.recv(65536)
            while data:
                size, kind = struct.unpack_from("=IH", data)
                if kind in (ERROR, DONE):
                    error = struct.unpack_from("=i", data, 16)[0] if size >= 20 else 0
                    if error:
                        raise OSError(-error, "generic netlink: error %d" % -error)
                    return answer
                answer.update(attrs(data[20:size]))
                data = data[(size + 3) & ~3:]


def wg_key(netdev, key, port):
    """Executes "wg-key"."""
    family = Family("wireguard")
    family.call(1, [attr(2, netdev), attr(3, bytes.fromhex(key)), attr(6, struct.pack("=H", int(port)))])
    print(family.call(0, [attr(2, netdev)], DUMP)[4].hex())


def wg_peer(netdev, key, host, port, *networks):
    """Executes "wg-peer"."""
    allowed = []
    for network in map(ipaddress.ip_network, networks):
        number = socket.AF_INET if network.version == 4 else socket.AF_INET6
        allowed.append(attr(0, [attr(1, struct.pack("=H", number)), attr(2, network.network_address.packed),
                                attr(3, bytes([network.prefixlen]))]))
    endpoint = struct.pack("=H", socket.AF_INET) + struct.pack(">H", int(port)) + socket.inet_aton(host) + bytes(8)
    peer = attr(0, [attr(1, bytes.fromhex(key)), attr(4, endpoint), attr(9, allowed)])
    Family("wireguard").call(1, [attr(2, netdev), attr(8, [peer])])


def index(netdev):
    return struct.pack("=I", socket.if_nametoindex(netdev))


# types of options (NLA_*)
NUMBER, TEXT, FLAG = 3, 5, 6


def team_option(netdev, name, kind, value, more=()):
    """Sets an option of a team; value is the data of an attribute."""
    option = [attr(1, name), attr(3, bytes([kind])), attr(4, value), *more]
    try:
        Family("team").call(1, [attr(1, index(netdev)), attr(2, [attr(1, option)])])
    except ProcessLookupError:
        pass    # ESRCH: the option is set, but no process listens for the notification


def team_mode(netdev, mode):
    """Executes "team-mode"."""
    team_option(netdev, "mode", TEXT, mode)


def team_port(netdev, member):
    """Executes "team-port"."""
    team_option(netdev, "enabled", FLAG, b"", [attr(6, index(member))])
    team_option(netdev, "activeport", NUMBER, index(member))


{"wg-key": wg_key, "wg-peer": wg_peer, "team-mode": team_mode, "team-port": team_port}[sys.argv[1]](*sys.argv[2:])
