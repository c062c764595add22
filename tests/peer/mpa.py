# SPDX-License-Identifier: GPL-2.0
"""MPA startup frames (RFC 5044 7.1.1, RFC 6581 6), good and bad, over plain TCP."""
import socket
import struct
import sys

REQ = b"MPA ID Req Frame"
REP = b"MPA ID Rep Frame"
M, C, R, S = 0x80, 0x40, 0x20, 0x10
LARGE = 0x08        # a reserved flag, which siw and links with large_fpdus use
ANY_DEPTH = 0x3FFF
HDR_LEN = 20


def frame(key, flags, rev, pd=b"", pd_len=None):
    """Returns a startup frame with the private data pd; pd_len: a wrong PD_Length."""
    return key + struct.pack(">BBH", flags, rev, len(pd) if pd_len is None else pd_len) + pd


def enh(ird, ord_, p2p=1, send=0, write=1, read=1):
    """Returns the four octets of IRD, ORD and RTR flags in an enhanced frame. p2p: RTR is wanted;
    send, write, read: kinds of RTR."""
    return struct.pack(">HH", p2p << 15 | send << 14 | ird, write << 15 | read << 14 | ord_)


class Frame:
    """A received startup frame. whole: all 20 octets of the header have arrived."""

    def __init__(self, octets):
        self.octets = octets
        self.key = octets[:16]
        self.whole = len(octets) >= HDR_LEN
        self.flags, self.rev, self.pd_len = struct.unpack(">BBH", octets[16:20]) if self.whole else (0, 0, 0)
        self.pd = octets[HDR_LEN:]
        self.enhanced = self.rev >= 2 and bool(self.flags & S) and len(self.pd) >= 4

    def words(self):
        """Returns the two halves of the enhanced word, as numbers."""
        return struct.unpack(">HH", self.pd[:4])

    def __repr__(self):
        return self.octets.hex()


def receive(sock, seconds=30):
    """Receives one startup frame; returns the Frame. If the connection ends or the time limit
    expires before, the Frame has the octets that arrived."""
    sock.settimeout(seconds)
    data = b""
    try:
        while len(data) < HDR_LEN or len(data) < HDR_LEN + struct.unpack(">H", data[18:20])[0]:
            need = HDR_LEN - len(data)
            if need <= 0:
                need = HDR_LEN + struct.unpack(">H", data[18:20])[0] - len(data)
            got = sock.recv(need)
            if not got:
                break
            data += got
    except OSError:
        pass
    return Frame(data)


def rest(sock, seconds=60):
    """Receives all octets until the end of the connection. Returns the octets, and "fin", "rst", or
    "open" if the connection has not ended within this time."""
    sock.settimeout(seconds)
    data = b""
    while True:
        try:
            got = sock.recv(4096)
        except ConnectionError:
            return data, "rst"
        except socket.timeout:
            return data, "open"
        if not got:
            return data, "fin"
        data += got


def reset(sock):
    """Closes the connection by RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Tap:
    """Reports results in TAP."""

    def __init__(self):
        self.count = 0
        self.bad = 0

    def ok(self, good, what, why=""):
        """Reports the result "what"; if good is false, prints why. Returns good."""
        self.count += 1
        if not good:
            self.bad += 1
            print("#", why)
        print("%s %d - %s" % ("ok" if good else "not ok", self.count, what), flush=True)
        return good

    def skip(self, what, why):
        """Reports that the test "what" can't run here."""
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, what, why), flush=True)

    def finish(self):
        """Prints the plan, and exits."""
        print("1..%d" % self.count)
        sys.exit(1 if self.bad else 0)
