# SPDX-License-Identifier: GPL-2.0
"""
Makes and reads FPDUs with DDP and RDMAP headers (RFC 5044 4, 5041 4, 5040 4, 7306), good and bad.

tagged(), untagged() and the functions for messages make a ULPDU. fpdu() makes an FPDU without
markers from a ULPDU. A Framer, which knows the position in the stream, also makes FPDUs with
markers. A Deframer divides a received stream into Segments, and stores all errors of its framing.
"""
import os
import struct

from crc32c import crc32c

(WRITE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERM,
 IMM, IMM_SE, ATOMIC_REQ, ATOMIC_RESP) = range(12)
TAGGED, LAST, DDP_VERSION, RDMAP_VERSION = 0x80, 0x40, 0x01, 0x40
QN_SEND, QN_READ, QN_TERM, QN_ATOMIC = 0, 1, 2, 3
FETCH_ADD, CMP_SWAP = 0, 2
MARKER_GAP = 512
ALL_ONES = 0xFFFFFFFFFFFFFFFF
# The MSN of the first message of a queue: 1, except in the laboratory "wrap", where MSNs wrap to 0
# after a few messages
FIRST_MSN = 1 - int(os.environ.get("IWT_BEFORE_WRAP", "0")) & 0xFFFFFFFF


def fpdu(ulpdu, crc=True, spoil=0):
    """Returns an FPDU with this ULPDU, without markers. spoil is XORed into the CRC."""
    return Framer(False, crc).fpdu(ulpdu, crc_xor=spoil)


class Framer:
    """Makes the FPDUs of one direction. pos: the position of the next FPDU in the stream, counted
    from the beginning of full operation."""

    def __init__(self, markers=False, crc=True, pos=0):
        self.markers, self.crc, self.pos = markers, crc, pos

    def fpdu(self, ulpdu, length=None, pad=0, crc_xor=0, crc_is=None, ptr_add=0, marker_hi=0):
        """
        Returns the next FPDU. The other arguments damage this FPDU. length: a wrong ULPDU_Length;
        pad: the value of the pad octets; crc_xor: XORed into the CRC; crc_is: a value in the
        place of the CRC; ptr_add: added to every FPDUPTR; marker_hi: the reserved half of
        markers.
        """
        body = struct.pack(">H", len(ulpdu) if length is None else length) + ulpdu
        body += bytes([pad]) * (-len(body) % 4)
        out = bytearray()
        at, start = 0, None
        # "<=", because a marker whose place is the first octet of the CRC field is in front of
        # this field
        while at <= len(body):
            if self.markers and (self.pos + len(out)) % MARKER_GAP == 0:
                ptr = len(out) - start if start is not None else 0
                out += struct.pack(">HH", marker_hi, ptr + ptr_add & 0xFFFF)
            if start is None:
                start = len(out)
            room = MARKER_GAP - (self.pos + len(out)) % MARKER_GAP if self.markers else len(body)
            out += body[at:at + room]
            at += room
        value = (crc32c(out) if self.crc else 0) if crc_is is None else crc_is
        out += struct.pack("<I", value ^ crc_xor)
        self.pos += len(out)
        return bytes(out)


def tagged(opcode, stag, offset, data=b"", last=True, dv=1, rv=1, rsvd=0, rsv=0, control=TAGGED):
    """Returns the ULPDU of a tagged segment. dv, rv: versions of DDP and RDMAP; rsvd, rsv: reserved
    bits of DDP and RDMAP."""
    flags = control | dv | rsvd << 2 | (LAST if last else 0)
    return struct.pack(">BBIQ", flags, rv << 6 | rsv << 4 | opcode, stag & 0xFFFFFFFF,
                       offset & ALL_ONES) + data


def untagged(opcode, queue, msn, data=b"", offset=0, last=True, stag=0, dv=1, rv=1, rsvd=0, rsv=0):
    """Returns the ULPDU of an untagged segment; stag is the Invalidate STag."""
    flags = dv | rsvd << 2 | (LAST if last else 0)
    return struct.pack(">BBIIII", flags, rv << 6 | rsv << 4 | opcode, stag, queue,
                       msn & 0xFFFFFFFF, offset & 0xFFFFFFFF) + data


def read_request(msn, sink, sink_offset, size, stag, offset, more=b"", **how):
    """Returns the ULPDU of an RDMA Read Request: "size" octets at offset of stag, to sink_offset of
    the STag sink. more: additional octets, which are wrong."""
    return untagged(READ_REQ, QN_READ, msn, struct.pack(
        ">IQIIQ", sink, sink_offset, size, stag, offset & ALL_ONES) + more, **how)


def terminate(layer, etype, code, head=b"", hdrct=0, msn=FIRST_MSN, queue=QN_TERM, **how):
    """Returns the ULPDU of a Terminate. head: the octets after the control word; hdrct: the bits M,
    D and R (0x80, 0x40, 0x20)."""
    return untagged(TERM, queue, msn, struct.pack(">BBBB", layer << 4 | etype, code, hdrct, 0) + head, **how)


def immediate(msn, data, se=False, **how):
    """Returns the ULPDU of an Immediate Data message; correct data have 8 octets."""
    return untagged(IMM_SE if se else IMM, QN_SEND, msn, data, **how)


def atomic(msn, op, ident, stag, offset, data, data_mask=0, compare=0, compare_mask=ALL_ONES,
           rsvd_op=0, **how):
    """Returns the ULPDU of an Atomic Request. ident: the Request Identifier; rsvd_op: the 28
    reserved bits."""
    return untagged(ATOMIC_REQ, QN_READ, msn, struct.pack(
        ">IIIQQQQQ", rsvd_op << 4 | op, ident, stag, offset & ALL_ONES, data & ALL_ONES,
        data_mask, compare, compare_mask), **how)


def atomic_response(msn, ident, value, more=b"", **how):
    """Returns the ULPDU of an Atomic Response. ident: the Request Identifier; more: additional
    octets, which are wrong."""
    return untagged(ATOMIC_RESP, QN_ATOMIC, msn, struct.pack(">IQ", ident, value) + more, **how)


def segments(opcode, stag, offset, data, size, **how):
    """Yields the ULPDUs of a tagged message, in segments with size octets of payload."""
    for at in range(0, len(data) or 1, size):
        yield tagged(opcode, stag, offset + at, data[at:at + size], at + size >= len(data), **how)


class Segment:
    """A received segment. If its header is incomplete, the missing fields are None."""

    tagged = last = version = None
    opcode = stag = offset = queue = msn = None
    dv = rv = rsvd = rsv = None

    def __init__(self, ulpdu, good_crc=True, pos=0, size=0, markers=()):
        self.ulpdu, self.good_crc = ulpdu, good_crc
        self.pos, self.size, self.markers = pos, size, markers
        self.data = b""
        if len(ulpdu) < 2:
            return
        flags, rdmap = ulpdu[0], ulpdu[1]
        self.tagged, self.last = bool(flags & TAGGED), bool(flags & LAST)
        self.dv, self.rsvd, self.rv, self.rsv = flags & 3, flags >> 2 & 15, rdmap >> 6, rdmap >> 4 & 3
        self.version = self.dv == 1 and rdmap & 0xF0 == RDMAP_VERSION
        self.opcode = rdmap & 15
        if self.tagged and len(ulpdu) >= 14:
            self.stag, self.offset = struct.unpack(">IQ", ulpdu[2:14])
            self.data = ulpdu[14:]
        elif not self.tagged and len(ulpdu) >= 18:
            self.stag, self.queue, self.msn, self.offset = struct.unpack(">IIII", ulpdu[2:18])
            self.data = ulpdu[18:]

    def term(self):
        """Returns layer, type and code of a Terminate."""
        return self.data[0] >> 4, self.data[0] & 15, self.data[1]

    def term_headers(self):
        """Returns three parts of a Terminate: the bits M, D and R, the DDP Segment Length, and the
        octets after the length."""
        bits = self.data[2]
        length = struct.unpack(">H", self.data[4:6])[0] if len(self.data) >= 6 else None
        return bits & 0xE0, length, self.data[6:]

    def read_request(self):
        """Returns the fields of a Read Request: sink STag, sink offset, size, source STag, source
        offset."""
        return struct.unpack(">IQIIQ", self.data[:28])

    def __repr__(self):
        return "Segment(%s%s)" % (self.ulpdu[:80].hex(), "" if self.good_crc else ", bad CRC")


class Deframer:
    """Divides the received stream of one direction into segments. problems: texts about all
    violations of RFC 5044."""

    def __init__(self, markers=False, crc=True):
        self.markers, self.crc = markers, crc
        self.pos = 0        # position of held[0] in the stream
        self.held = bytearray()
        self.problems = []

    def feed(self, octets):
        """Adds octets of the stream; returns the segments that are complete now."""
        self.held += octets
        out = []
        while True:
            seg = self._one()
            if seg is None:
                return out
            out.append(seg)

    def _one(self):
        # go through the next FPDU, to find the markers that must be in the FPDU
        body, markers, at, start, need = bytearray(), [], 0, None, None
        held = self.held
        if not self.markers:
            if len(held) < 2:
                return None
            length = held[0] << 8 | held[1]
            at = length + 2 + -(length + 2) % 4 + 4
            if len(held) < at:
                return None
            body, start = held[:at], 0
        while self.markers and (need is None or len(body) < need):
            if (self.pos + at) % MARKER_GAP == 0:
                if len(held) < at + 4:
                    return None
                markers.append((at, struct.unpack(">HH", held[at:at + 4])))
                at += 4
            if len(held) < at + 4:
                return None
            if start is None:
                start = at
                length = held[at] << 8 | held[at + 1]
                need = length + 2 + -(length + 2) % 4 + 4
            step = min(need - len(body), MARKER_GAP - (self.pos + at) % MARKER_GAP)
            if len(held) < at + step:
                return None
            body += held[at:at + step]
            at += step
        return self._segment(bytes(body), length, at, start, markers)

    def _segment(self, body, length, size, start, markers):
        pos = self.pos
        crc = struct.unpack("<I", body[-4:])[0]
        good = not self.crc or crc == crc32c(self.held[:size - 4])
        pad = body[2 + length:-4]
        if any(pad):
            self.problems.append("MPA-12: pad %s at %d" % (pad.hex(), pos))
        if not good:
            self.problems.append("MPA-35: CRC at %d" % pos)
        for where, (high, ptr) in markers:
            if high or ptr != max(where - start, 0):
                self.problems.append("MPA-18: marker %04x%04x at %d, FPDU at %d" % (
                    high, ptr, pos + where, pos + start))
        del self.held[:size]
        self.pos += size
        return Segment(body[2:2 + length], good, pos, size, markers)


def _exactly(sock, size):
    data = b""
    while len(data) < size:
        got = sock.recv(size - len(data))
        if not got:
            raise EOFError(data.hex())
        data += got
    return data


def receive(sock, crc=True, seconds=60):
    """Receives one segment from a TCP stream without markers; returns the Segment."""
    sock.settimeout(seconds)
    head = _exactly(sock, 2)
    size = struct.unpack(">H", head)[0]
    body = head + _exactly(sock, size + -(size + 2) % 4)
    got = struct.unpack("<I", _exactly(sock, 4))[0]
    return Segment(body[2:2 + size], got == (crc32c(body) if crc else got))
