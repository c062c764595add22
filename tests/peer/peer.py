# SPDX-License-Identifier: GPL-2.0
"""One end of a connection, on a plain TCP socket: the raw peer. It can be the initiator or the
responder, and can also break the rules of the protocols."""
import contextlib
import ctypes
import socket
import struct
import time

import fpdu
import mpa
import patience
import stream
from fpdu import Deframer, Framer
from outcome import Fail, check, equal

WAIT = 30   # seconds to wait for an event that must happen
SO_ATTACH_FILTER = 26   # a socket option that Python does not name


def frame_word(word):
    """Returns the octets of an enhanced word, from (ird, ord) or from octets of mpa.enh()."""
    return word if isinstance(word, bytes) else mpa.enh(*word)


class Peer:
    """
    One connection. Checks that every received segment obeys the rules of stream.py.

    After request() and reply(), or await_request() and accept(), the connection is in full
    operation: tx makes FPDUs to send, rx divides the received stream into segments.
    """

    lossy = False                       # whether the path loses packets

    def __init__(self, sock):
        self.sock = sock
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.own = self.other = None    # startup frames: the peer's octets, the device's Frame
        self.tx = self.rx = self.rules = None
        self.held = []                  # received segments that segment() has not returned yet
        self.sent, self.received = bytearray(), bytearray()     # all octets of full operation
        self.msn = dict.fromkeys(range(4), fpdu.FIRST_MSN - 1)
        self.ended = None

    # startup

    def request(self, flags=mpa.C, rev=1, pd=b"", word=None, sizes=None):
        """Sends a Request. word: the enhanced word, as octets or (ird, ord); with a word, S is set
        and the revision is at least 2. sizes: see send()."""
        if word is not None:
            flags, rev, pd = flags | mpa.S, max(rev, 2), frame_word(word) + pd
        self.own = mpa.frame(mpa.REQ, flags, rev, pd)
        self.send(self.own, sizes)

    def reply(self, seconds=WAIT):
        """Receives the Reply, and returns its Frame. Full operation begins, unless the Reply is a
        reject."""
        self.other = mpa.receive(self.sock, seconds)
        check(self.other.whole and self.other.key == mpa.REP, "no Reply:", self.other)
        if not self.other.flags & mpa.R:
            self.begin()
        return self.other

    def await_request(self, seconds=WAIT):
        """Receives the Request; returns its Frame."""
        self.other = mpa.receive(self.sock, seconds)
        check(self.other.whole and self.other.key == mpa.REQ, "no Request:", self.other)
        return self.other

    def accept(self, flags=mpa.C, rev=None, pd=b"", word=None, sizes=None, more=b""):
        """ Sends a Reply (with R in flags: a reject) and, in the same write, the octets "more".
        word: the enhanced word of the Reply, b"" for a Reply without it. Without word, the answer
        to an enhanced Request has the Request's kinds of RTR, and its IRD and ORD exchanged. """
        if word is None and self.other.enhanced:
            a, b = self.other.words()
            word = struct.pack(">HH", a & 0xC000 | b & 0x3FFF, b & 0xC000 | a & 0x3FFF)
        if word:
            flags, pd = flags | mpa.S, frame_word(word) + pd
        self.own = mpa.frame(mpa.REP, flags, self.other.rev if rev is None else rev, pd)
        self.send(self.own + more, sizes)
        if not flags & mpa.R:
            self.begin()

    def begin(self):
        """
        Begins full operation. The flags in both startup frames determine CRC and markers; with
        revision 0, both directions have CRC and markers.
        """
        mine, other = self.own[16], self.other.flags
        rdmac = 0 in (self.own[17], self.other.rev)
        crc = rdmac or bool((mine | other) & mpa.C)
        self.rules = stream.Rules(0 if rdmac else 1)
        self.tx, self.rx = Framer(rdmac or bool(other & mpa.M), crc), Deframer(rdmac or bool(mine & mpa.M), crc)

    # sending

    def send(self, octets, sizes=None):
        """Sends octets. sizes: the number of octets of each write, or a list of numbers, which
        repeats; without sizes, one write."""
        if self.tx is not None:
            self.sent += octets
        if sizes is None:
            self.sock.sendall(octets)
            return
        sizes = [sizes] if isinstance(sizes, int) else list(sizes)
        at = turn = 0
        while at < len(octets):
            self.sock.sendall(octets[at:at + sizes[turn % len(sizes)]])
            at += sizes[turn % len(sizes)]
            turn += 1

    def frame(self, *ulpdus, **broken):
        """Returns the next FPDUs of the stream, with these ULPDUs, and does not send them. broken:
        the arguments of Framer.fpdu() that break an FPDU."""
        return b"".join(self.tx.fpdu(u, **broken) for u in ulpdus)

    def put(self, *ulpdus, sizes=None, **broken):
        """Makes FPDUs of ulpdus, and sends them as send() does; broken: as in frame()."""
        self.send(self.frame(*ulpdus, **broken), sizes)

    def next(self, queue):
        """Returns the MSN of the next message to a queue, and counts this message."""
        self.msn[queue] = self.msn[queue] + 1 & 0xFFFFFFFF
        return self.msn[queue]

    def put_send(self, data=b"", opcode=fpdu.SEND, size=1400, stag=0):
        """Sends a Send in segments of size octets."""
        msn = self.next(0)
        for at in range(0, len(data) or 1, size):
            self.put(fpdu.untagged(opcode, 0, msn, data[at:at + size], at, at + size >= len(data), stag))

    def put_write(self, stag=1, offset=0, data=b"", size=1400):
        """Sends an RDMA Write in segments of size octets; empty by default."""
        self.put(*fpdu.segments(fpdu.WRITE, stag, offset, data, size))

    def put_read(self, stag, offset, size, sink=77, sink_offset=1 << 40):
        """Sends an RDMA Read Request; returns its ULPDU."""
        ulpdu = fpdu.read_request(self.next(1), sink, sink_offset, size, stag, offset)
        self.put(ulpdu)
        return ulpdu

    # receiving

    def octets(self, seconds=WAIT, most=1 << 17):
        """Receives up to "most" octets. At the end of the stream, returns b"" and sets ended to
        "fin" or "rst"."""
        self.sock.settimeout(seconds)
        try:
            got = self.sock.recv(most)
        except ConnectionError:
            self.ended = "rst"
            return b""
        if not got:
            self.ended = "fin"
        self.received += got
        return got

    def take(self, got):
        """Processes received octets: checks the segments that are complete now, and puts them into
        held, from which segment() takes them."""
        for seg in self.rx.feed(got):
            self.rules.add(seg)
            self.held.append(seg)

    def segment(self, seconds=WAIT, good=True):
        """Returns the next segment. good: checks that this segment and all earlier segments obey
        the rules of stream.py."""
        wait = patience.Wait(seconds)
        while not self.held:
            try:
                got = self.octets(max(wait.left(), 0.001))
            except (socket.timeout, BlockingIOError):
                raise Fail("no segment within %g s, %d octets held" % (seconds, len(self.rx.held))) from None
            check(got, "no segment, but the end:", self.ended, bytes(self.rx.held[:40]))
            self.take(got)
            wait.moved()
        if good:
            problems = self.rx.problems + self.rules.problems
            check(not problems, "what was sent:", problems)
        return self.held.pop(0)

    def message(self, opcode=None, seconds=WAIT):
        """Returns the segments of the next message; if opcode is given, all must have this
        opcode."""
        out = []
        while not out or not out[-1].last:
            out.append(self.segment(seconds))
            check(opcode is None or out[-1].opcode == opcode, "opcode %s wanted:" % opcode, out[-1])
        return out

    def read(self, stag, offset, size, sink=77, sink_offset=1 << 40):
        """Reads memory of the device by an RDMA Read; returns the data."""
        self.put_read(stag, offset, size, sink, sink_offset)
        return self.read_response(sink, sink_offset)

    def read_response(self, sink=77, sink_offset=1 << 40):
        """Receives a Read Response, and checks its headers; returns the data."""
        data = b""
        for seg in self.message(fpdu.READ_RESP):
            check(seg.tagged and seg.version, "Read Response:", seg)
            equal((seg.stag, seg.offset), (sink, sink_offset + len(data)), "sink of a Read Response")
            data += seg.data
        return data

    def slow(self):
        """Makes the receive buffer small, so that the other side cannot send all its data before
        the peer reads some of them."""
        emss = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, max(32768, 4 * emss))

    def silence(self):
        """Lets the kernel drop all packets for the socket, so that the peer answers nothing."""
        program = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0))   # BPF_RET: keep 0 octets
        self.sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))

    # what the device must send

    def expect_term(self, layer, etype, code, of=None, hdr=None, seconds=WAIT):
        """
        Receives a Terminate, and checks each octet; returns the segment. of: the ULPDU that the
        Terminate reports; it determines the bits M, D and R and the headers (RFC 5040 4.8). hdr:
        the expected (bits, octets after the control word) instead, or "any", which skips this
        check.
        """
        seg = self.segment(seconds)
        check(seg.opcode == fpdu.TERM, "Terminate %x/%x/%02x wanted:" % (layer, etype, code), seg)
        equal(seg.term(), (layer, etype, code), "Terminate")
        version = self.rules.version
        equal((seg.queue, seg.msn, seg.offset, seg.last, seg.stag, seg.rsvd, seg.rsv, seg.dv, seg.rv),
              (2, fpdu.FIRST_MSN, 0, True, 0, 0, 0, version, version), "header of a Terminate")
        if hdr == "any":
            return seg
        bits, octets = hdr or term_headers(layer, etype, of)
        equal(seg.data[2:].hex(), (bytes([bits, 0]) + octets).hex(), "headers in a Terminate")
        return seg

    def rest(self, seconds=WAIT):
        """Receives all octets until the end of the connection. Returns the octets, and "fin",
        "rst", or "open" if the connection has not ended within this time."""
        data, wait = b"", patience.Wait(seconds)
        while self.ended is None:
            try:
                data += self.octets(max(wait.left(), 0.001))
            except (socket.timeout, BlockingIOError):
                return data, "open"
        return data, self.ended

    def expect_end(self, ends=("fin", "rst"), seconds=WAIT):
        """Checks that the connection ends in one of these ways, and that no octet arrives
        before."""
        check(not self.held, "nothing more wanted:", self.held)
        check(not (self.rx and self.rx.held), "part of an FPDU:", self.rx and bytes(self.rx.held))
        data, end = self.rest(5 if self.lossy and "rst" in ends else seconds)
        if end == "open" and self.lossy and not data:
            # a lost RST is sent again only if this end sends something
            with contextlib.suppress(OSError):
                self.sock.send(b"?")
            data, end = self.rest(seconds)
        check(not data and end in ends, "%s wanted:" % " or ".join(ends), data, end)

    def expect_fin(self, seconds=WAIT):
        """Checks that the connection ends by FIN, and that no octet arrives before."""
        self.expect_end(("fin",), seconds)

    def expect_rst(self, seconds=WAIT):
        """Checks that the connection ends by RST, and that no octet arrives before."""
        self.expect_end(("rst",), seconds)

    def expect_silence(self, seconds=0.4):
        """Checks that no octet arrives within this time, and that the connection does not end."""
        check(not self.held, "silence wanted:", self.held)
        data, end = self.rest(seconds)
        check(not data and end == "open", "silence wanted:", data, end)

    # the end

    def fin(self):
        """Sends FIN, which ends the peer's direction."""
        self.sock.shutdown(socket.SHUT_WR)

    def rst(self):
        """Resets the connection."""
        mpa.reset(self.sock)

    def close(self):
        """Closes the connection."""
        self.sock.close()


def term_headers(layer, etype, of):
    """
    Returns the expected bits M, D and R, and the octets after the control word, of a Terminate with
    this layer and type that reports the ULPDU "of".
    """
    if of is None or layer == 2 or (layer, etype) == (0, 0):
        return 0, b""
    length = struct.pack(">H", len(of))
    head = of[:14 if of[0] & fpdu.TAGGED else 18]
    if layer == 0 and etype == 1 and of[1] & 15 == fpdu.READ_REQ:
        return 0xE0, length + head + of[18:46]
    return 0xC0, length + head
