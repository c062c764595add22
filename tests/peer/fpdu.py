# SPDX-License-Identifier: GPL-2.0
"""FPDUs with DDP and RDMAP headers (RFC 5044 4, 5041 4, 5040 4), over plain TCP."""
import struct

WRITE, READ_REQ, READ_RESP, SEND, TERM = 0, 1, 2, 3, 7
TAGGED, LAST, DDP_VERSION, RDMAP_VERSION = 0x80, 0x40, 0x01, 0x40
QN_SEND, QN_READ, QN_TERM = 0, 1, 2


def _table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ 0x82F63B78 if n & 1 else n >> 1
        table.append(n)
    return table


_CRC = _table()


def crc32c(data):
    """The CRC of RFC 3385."""
    crc = 0xFFFFFFFF
    for octet in data:
        crc = crc >> 8 ^ _CRC[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


def fpdu(ulpdu, crc=True, spoil=0):
    """Length, ULPDU, pad and CRC; spoil is XORed into the last one."""
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    return body + struct.pack("<I", (crc32c(body) if crc else 0) ^ spoil)


def tagged(opcode, stag, offset, data, last=True):
    """The ULPDU of a tagged segment."""
    flags = TAGGED | DDP_VERSION | (LAST if last else 0)
    return struct.pack(">BBIQ", flags, RDMAP_VERSION | opcode, stag, offset) + data


def untagged(opcode, queue, msn, data=b"", offset=0, last=True, stag=0):
    """The ULPDU of an untagged segment."""
    flags = DDP_VERSION | (LAST if last else 0)
    return struct.pack(">BBIIII", flags, RDMAP_VERSION | opcode, stag, queue, msn, offset) + data


def write(stag, offset, data, size, **how):
    """The FPDUs of an RDMA Write in segments of size octets."""
    out = b""
    for at in range(0, len(data) or 1, size):
        part = data[at:at + size]
        out += fpdu(tagged(WRITE, stag, offset + at, part, at + size >= len(data)), **how)
    return out


def read(msn, sink, sink_offset, size, stag, offset, **how):
    """The FPDU of an RDMA Read Request."""
    return fpdu(untagged(READ_REQ, QN_READ, msn, struct.pack(
        ">IQIIQ", sink, sink_offset, size, stag, offset)), **how)


class Segment:
    """A segment received."""

    def __init__(self, ulpdu, good_crc):
        self.ulpdu = ulpdu
        self.good_crc = good_crc
        flags, rdmap = ulpdu[0], ulpdu[1]
        self.tagged, self.last = bool(flags & TAGGED), bool(flags & LAST)
        self.version = flags & 3 == DDP_VERSION and rdmap & 0xF0 == RDMAP_VERSION
        self.opcode = rdmap & 15
        if self.tagged:
            self.stag, self.offset = struct.unpack(">IQ", ulpdu[2:14])
            self.data = ulpdu[14:]
        else:
            self.stag, self.queue, self.msn, self.offset = struct.unpack(">IIII", ulpdu[2:18])
            self.data = ulpdu[18:]

    def term(self):
        """Layer, type and code of a Terminate."""
        return self.data[0] >> 4, self.data[0] & 15, self.data[1]

    def __repr__(self):
        return self.ulpdu.hex()


def _exactly(sock, size):
    data = b""
    while len(data) < size:
        got = sock.recv(size - len(data))
        if not got:
            raise EOFError(data.hex())
        data += got
    return data


def receive(sock, crc=True, seconds=60):
    """One segment."""
    sock.settimeout(seconds)
    head = _exactly(sock, 2)
    size = struct.unpack(">H", head)[0]
    body = head + _exactly(sock, size + -(size + 2) % 4)
    got = struct.unpack("<I", _exactly(sock, 4))[0]
    return Segment(body[2:2 + size], got == (crc32c(body) if crc else got))
