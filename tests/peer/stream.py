#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Checks whole streams against the rules for senders.

stream.py FILE.pcap...	checks every MPA connection in captures

Rules checks the DDP Segments of one direction. Flow (pcap.py) reassembles the stream of one
direction. Connection divides the streams of both directions into startup frames and segments. A
problem is a text about a violation. If a row of rows.tsv contains the violated rule, the text
begins with the name of the row.
"""
import collections
import struct
import sys

import fpdu
import mpa
import pcap
from fpdu import (ATOMIC_REQ, ATOMIC_RESP, IMM, IMM_SE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE,
                  SEND_SE_INV, TERM, WRITE)

MAX_ULPDU = 64768
# QUEUES: the queue of each opcode; None: messages with this opcode are tagged
# FIXED: the number of octets after the header, for opcodes with a fixed number, and the row that
# demands this number
QUEUES = {WRITE: None, READ_RESP: None, READ_REQ: 1, SEND: 0, SEND_INV: 0, SEND_SE: 0, SEND_SE_INV: 0,
          TERM: 2, IMM: 0, IMM_SE: 0, ATOMIC_REQ: 1, ATOMIC_RESP: 3}
FIXED = {READ_REQ: (28, "RDMAP-9"), IMM: (8, "EXT-5"), IMM_SE: (8, "EXT-5"), ATOMIC_REQ: (52, "EXT-11"),
         ATOMIC_RESP: (12, "EXT-12")}
# the codes that a Terminate may have, for each layer and type
TERM_CODES = {(0, 0): range(256), (0, 1): (0, 1, 2, 3, 4, 9, 255), (0, 2): (5, 6, 7, 8, 9, 255),
              (1, 0): (0,), (1, 1): range(5), (1, 2): range(1, 7), (2, 0): range(1, 8)}


class Rules:
    """The rules that every sender must obey for all its segments. version: the version of DDP and
    RDMAP; problems: a text for each violation; term: the Terminate, if one was sent."""

    def __init__(self, version=1):
        self.version = version
        self.problems = []
        self.msn = collections.defaultdict(lambda: fpdu.FIRST_MSN - 1)      # queue: MSN of its last message
        self.untagged = {}                  # queue: last segment of its incomplete message, or None
        self.tagged = {}                    # opcode: last segment of its incomplete message, if any
        self.term = None
        self.count = collections.Counter()  # number of messages by opcode
        self.sizes = []                     # sizes of ULPDUs

    def want(self, good, row, what, seg):
        if not good:
            self.problems.append("%s: %s: %r at %d" % (row, what, seg, seg.pos))

    def add(self, seg):
        """Checks the next segment."""
        self.sizes.append(len(seg.ulpdu))
        self.want(self.term is None, "RDMAP-56", "after a Terminate", seg)
        whole = seg.tagged is not None and seg.stag is not None
        self.want(whole, "DDP-31", "no whole header", seg)
        if not whole:
            return
        self.want(len(seg.ulpdu) <= MAX_ULPDU, "MPA-6", "too long", seg)
        self.want(seg.rsvd == 0, "DDP-16", "reserved bits", seg)
        self.want(seg.dv == self.version, "DDP-17", "version", seg)
        self.want(seg.rv == self.version, "RDMAP-4", "version", seg)
        self.want(seg.rsv == 0, "RDMAP-5", "reserved bits", seg)
        known = seg.opcode in QUEUES
        self.want(known, "RDMAP-3", "opcode", seg)
        if known:
            self.want((None if seg.tagged else seg.queue) == QUEUES[seg.opcode], "RDMAP-3", "T bit or queue", seg)
            self.fixed(seg)
        if seg.tagged:
            self.one_tagged(seg)
        else:
            self.one_untagged(seg)
        if seg.last:
            self.count[seg.opcode] += 1

    def one_tagged(self, seg):
        before = self.tagged.get(seg.opcode)
        if before:
            self.want(seg.stag == before.stag, "DDP-21", "another STag", seg)
            self.want(seg.offset == before.offset + len(before.data) & fpdu.ALL_ONES, "DDP-36", "offset", seg)
        self.want(seg.data or (seg.last and not before), "DDP-37", "empty segment", seg)
        self.tagged[seg.opcode] = None if seg.last else seg

    def one_untagged(self, seg):
        before = self.untagged.get(seg.queue)
        number = self.msn[seg.queue] + 1 & 0xFFFFFFFF
        self.want(seg.msn == number, "DDP-27", "message number, not %d" % number, seg)
        if before:
            self.want(seg.ulpdu[1:6] == before.ulpdu[1:6], "DDP-20", "another RsvdULP field", seg)
        self.want(seg.offset == (before.offset + len(before.data) if before else 0), "DDP-30", "offset", seg)
        self.want(seg.data or (seg.last and not before), "DDP-37", "empty segment", seg)
        self.want(seg.stag == 0 or seg.opcode in (SEND_INV, SEND_SE_INV), "RDMAP-6", "Invalidate STag", seg)
        self.untagged[seg.queue] = None if seg.last else seg
        if seg.last:
            self.msn[seg.queue] = seg.msn

    def fixed(self, seg):
        if seg.opcode in FIXED:
            size, row = FIXED[seg.opcode]
            self.want(len(seg.data) == size and seg.last, row, "size", seg)
        if seg.opcode == ATOMIC_REQ and len(seg.data) == 52:
            op = struct.unpack(">I", seg.data[:4])[0]
            self.want(op in (fpdu.FETCH_ADD, fpdu.CMP_SWAP), "EXT-19", "reserved bits or operation", seg)
            self.want(op != fpdu.FETCH_ADD or seg.data[36:] == bytes(8) + b"\xff" * 8, "EXT-20", "compare", seg)
        if seg.opcode == TERM:
            self.term = seg
            self.terminate(seg)

    def terminate(self, seg):
        """Checks a Terminate: RFC 5040 figures 7 to 10, 5041 7.2, 5044 8 and 6581 8."""
        self.want(seg.last and len(seg.data) >= 4, "RDMAP-13", "size", seg)
        if len(seg.data) < 4:
            return
        layer, etype, code = seg.term()
        bits = seg.data[2]
        self.want(not (bits & 0x1F or seg.data[3]), "RDMAP-18", "reserved bits", seg)
        self.want(code in TERM_CODES.get((layer, etype), ()), "RDMAP-20", "code", seg)
        sizes = {0: (4,), 0x80: (6,), 0xC0: (20, 24), 0xE0: (52,)}
        self.want(len(seg.data) in sizes.get(bits & 0xE0, ()), "RDMAP-14", "size for M, D and R", seg)


def startup(octets):
    """Divides a stream; returns the startup Frame at its beginning (None without a frame), and the
    other octets."""
    if len(octets) < mpa.HDR_LEN or octets[:16] not in (mpa.REQ, mpa.REP):
        return None, octets
    size = mpa.HDR_LEN + struct.unpack(">H", octets[18:20])[0]
    return mpa.Frame(bytes(octets[:size])), octets[size:]


def window_scale(options):
    """Returns the window scale in the options of a SYN, or 0 without this option."""
    while len(options) > 2 and options[0]:
        if options[0] == 3:
            return options[2]
        options = options[1 if options[0] == 1 else max(options[1], 2):]
    return 0


class Direction:
    """
    The DDP Segments that one side sends in full operation. flow: the Flow of this side; answers:
    the Flow of the other side; start: offset of the first FPDU in the stream; markers, crc: whether
    the FPDUs must have markers and CRCs; version: the version of DDP and RDMAP.
    """

    def __init__(self, flow, answers, start, markers, crc, version):
        scale = window_scale(answers.options) if flow.options and window_scale(flow.options) else 0
        self.edges = {(p.ack - flow.isn & 0xFFFFFFFF) + (p.window << scale) for p in answers.packets}
        self.flow, self.reader, self.rules = flow, fpdu.Deframer(markers, crc), Rules(version)
        self.segments = self.reader.feed(flow.octets[start:])
        for seg in self.segments:
            self.rules.add(seg)
        self.problems = self.reader.problems + self.rules.problems + flow.problems
        self.starts = {start + seg.pos for seg in self.segments}
        self.ends = {start + seg.pos + seg.size for seg in self.segments}
        self.left = bytes(self.reader.held)
        self.start = start

    def alignment(self):
        """ Returns four numbers: of TCP segments with FPDUs, of TCP segments that begin with the
        beginning of an FPDU, of TCP segments that end with the end of an FPDU, and of FPDUs. If TCP
        cut a segment at the edge of the window, this segment and the segments after it are not
        counted, up to the next segment that begins with the beginning of an FPDU. """
        data, step = [], True
        for at, size in self.flow.pieces:
            step = step or at in self.starts
            if at + size in self.edges and at + size not in self.ends:
                step = False
            if at >= self.start and step:
                data.append((at, size))
        return (len(data), sum(at in self.starts for at, _ in data),
                sum(at + size in self.ends for at, size in data), len(self.segments))


class Connection:
    """ Both directions of a connection that begins with MPA's startup. one, other: the Flows of
    both sides, in any order; initiator, responder: their Directions, or None if startup is
    incomplete or rejected. """

    def __init__(self, one, other):
        frames = [startup(flow.octets)[0] for flow in (one, other)]
        self.request = next((f for f in frames if f and f.key == mpa.REQ), None)
        self.reply = next((f for f in frames if f and f.key == mpa.REP), None)
        self.problems = []
        self.initiator = self.responder = None
        if not self.request or not self.reply or self.reply.flags & mpa.R:
            return
        if frames[0].key == mpa.REP:
            one, other = other, one
        crc = bool((self.request.flags | self.reply.flags) & mpa.C)
        version = 0 if self.reply.rev == 0 else 1
        self.initiator = Direction(one, other, len(self.request.octets), bool(self.reply.flags & mpa.M), crc, version)
        self.responder = Direction(other, one, len(self.reply.octets), bool(self.request.flags & mpa.M), crc, version)
        self.problems = self.initiator.problems + self.responder.problems


def connections(packets):
    """Returns all MPA connections among the Packets: {((address, port), (address, port)):
    Connection}."""
    out = {}
    flows = pcap.flows(packets)
    for (src, dst), flow in flows.items():
        if src < dst and (dst, src) in flows:
            conn = Connection(flow, flows[dst, src])
            if conn.request:
                out[src, dst] = conn
    return out


def main(paths):
    bad = 0
    for path in paths:
        for ends, conn in connections(pcap.read(path)).items():
            print("%s port %d - %s port %d: Request %s, Reply %s" % (ends[0] + ends[1] + (conn.request, conn.reply)))
            for name, one in (("initiator", conn.initiator), ("responder", conn.responder)):
                if one:
                    print("  %s: segments %d, %d begin with an FPDU, %d end with one; FPDUs %d" % (
                        (name,) + one.alignment()))
            for problem in conn.problems:
                print("  " + problem)
            bad += len(conn.problems)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
