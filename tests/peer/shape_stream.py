# SPDX-License-Identifier: GPL-2.0
"""The shape of a stream (Shape), and the streams of shapes.py in which the device only receives
(Stream). shape_kinds.py has the other streams."""
import re
import socket
import time

import fpdu
import mpa
from case import MEM_LEN, Conn
from outcome import equal
from ulp import SUCCESS

PIECE = 32000       # octets in one piece of TCP's memory, if all earlier octets are acknowledged
SEGMENTS = 1200     # the largest number of segments in a stream
READS = 128         # the largest read limit that a link grants
BINDS = 300         # windows that the peer invalidates; the process binds them one by one
SETTLE = 0.1        # seconds until all work is done; the clock of an idle machine skips this time


def idle():
    """Returns how long the processor has been idle since boot, in nanoseconds."""
    with open("/proc/timer_list", encoding="ascii") as file:
        return sum(map(int, re.findall(r"\.idle_sleeptime *: (\d+) nsecs", file.read())))


def busy(work):
    """Returns how many instructions the machine executes for the function work() and its
    effects."""
    time.sleep(SETTLE)
    before, began = idle(), time.monotonic_ns()
    work()
    time.sleep(SETTLE)
    took = time.monotonic_ns() - began
    return took - (idle() - before)


class Shape:
    """
    The shape of a stream. who: the owner of the receiving queue pair, "process" or "kernel"; kind:
    name of the method of Stream, or of a class of shape_kinds.py, that makes the segments; payload:
    octets of each segment, or a tuple of sizes that repeat; crc, markers: whether the stream has
    CRCs and markers; sges: number of elements of the receive. ends: the stream has an error, which
    ends the connection. ahead: the device places segments behind a gap.
    """

    # kinds for which the longer stream can have only this number of segments
    FEW = {"reads": READS, "atomics": READS, "invalidating_sends": BINDS}

    def __init__(self, who, kind, payload, crc=False, markers=False, sges=1):
        self.who, self.kind, self.crc, self.markers, self.sges = who, kind, crc, markers, sges
        self.ends = kind.endswith(("beyond", "too_long"))
        self.ahead = "ahead" in kind
        self.payload = payload if isinstance(payload, tuple) else (payload,)

    def __str__(self):
        return "%s, %s of %s octets%s%s%s" % (
            self.who, self.kind.replace("_", " "), " and ".join(map(str, self.payload)), ", CRC" if self.crc else "",
            ", markers" if self.markers else "", ", %d elements" % self.sges if self.sges > 1 else "")

    def many(self):
        """Returns the number of segments of the shorter stream; the longer stream has twice as many
        segments."""
        size = max(self.payload) + 2 + 18 + 3 + 4
        return min(self.FEW.get(self.kind, SEGMENTS), PIECE // size, MEM_LEN // 2 // max(max(self.payload), 1)) // 2


class Stream:
    """A connection of the peer with the device, for one shape."""

    def __init__(self, case, shape, ulp, listener):
        self.case, self.shape = case, shape
        self.conn = self.connect(ulp, listener)
        self.peer, self.last = self.conn.peer, None
        self.warm()

    def connect(self, ulp, listener, **how):
        """Makes the connection; returns its Conn. how: more arguments of Case.passive()."""
        flags = mpa.C if self.shape.crc else 0
        if self.shape.who == "process":
            return self.case.passive(flags=flags, ulp=ulp, listener=listener, recvs=0, sge=self.shape.sges, **how)
        peer = self.case.connect(listener)
        peer.request(flags, 1)
        peer.reply()
        peer.put_write()
        return Conn(peer, None, None)

    def warm(self):
        """
        Sends until TCP's congestion window, which is small at first, is as large as a whole stream.
        """
        self.peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        one = fpdu.tagged(fpdu.WRITE, 1, 0)
        # 127 FPDUs of 20 octets have 5 markers, and end at the same distance from the next marker
        # as they begin: so these octets may be sent again and again
        octets = self.peer.frame(*[one] * 127) * 24
        for _ in range(3):
            self.peer.send(octets)
            time.sleep(SETTLE)

    # The kinds of streams: each method prepares the device for a stream of count segments, and
    # returns their ULPDUs. parts(), total(), recv() and ask() help these methods.

    def parts(self, count):
        """Yields the (offset, length) of each payload."""
        at = 0
        for n in range(count):
            size = self.shape.payload[n % len(self.shape.payload)]
            yield at, size
            at += size

    def total(self, count):
        """Returns the number of octets of all payloads."""
        return sum(size for _, size in self.parts(count))

    def write(self, count, room=0):
        """Segments of one Write. room: the Write begins this number of octets before the end of the
        region (0: at the beginning of the region)."""
        conn = self.conn
        begin = conn.addr + (MEM_LEN - room if room else 0)
        return [fpdu.tagged(fpdu.WRITE, conn.stag, begin + at, bytes(size), last=False)
                for at, size in self.parts(count)]

    def writes(self, count):
        """As many Writes as segments: each Write has one segment."""
        return [fpdu.tagged(fpdu.WRITE, self.conn.stag, self.conn.addr, bytes(size)) for _, size in self.parts(count)]

    def write_beyond(self, count):
        """A Write whose last segment is beyond the end of its region."""
        return self.write(count, self.total(count) - 1)

    def recv(self, length):
        """Lets the process post a receive of this length. Its elements have the same length, except
        the last."""
        if self.shape.who == "kernel":
            return
        conn, each = self.conn, length // self.shape.sges
        sges = ["%d:%d:%d" % (conn.mr, n * each, each) for n in range(self.shape.sges - 1)]
        sges.append("%d:%d:%d" % (conn.mr, each * len(sges), length - each * len(sges)))
        conn.recv(n=1, wr=1, sge=",".join(sges))

    def send(self, count, cut=0):
        """Segments of one Send; its receive is cut octets shorter than the Send."""
        self.recv(self.total(count) - cut)
        msn, total = self.peer.next(0), self.total(count)
        self.last = fpdu.untagged(fpdu.SEND, 0, msn, b"", total)
        return [fpdu.untagged(fpdu.SEND, 0, msn, b"n" + bytes(size - 1), at, last=False)
                for at, size in self.parts(count)]

    def send_too_long(self, count):
        """A Send whose last segment is beyond the end of its receive."""
        return self.send(count, 1)

    def ask(self, length):
        """Makes the device send a Read Request for length octets; returns its sink STag and sink
        offset."""
        conn = self.conn
        if self.shape.who == "kernel":
            ask = b"r\0\0\0" + (7).to_bytes(4, "big") + bytes(8) + length.to_bytes(4, "big")
            self.peer.put(fpdu.untagged(fpdu.SEND, 0, self.peer.next(0), ask))
        else:
            conn.post("read", wr=2, sge="%d:0:%d" % (conn.mr, length), stag=7, raddr=0)
        return self.peer.message(fpdu.READ_REQ)[0].read_request()[:2]

    def response(self, count, cut=0):
        """Segments of one Read Response; its Read is cut octets shorter than the Response."""
        stag, offset = self.ask(self.total(count) - cut)
        self.last = fpdu.tagged(fpdu.READ_RESP, stag, offset + self.total(count))
        return [fpdu.tagged(fpdu.READ_RESP, stag, offset + at, bytes(size), last=False)
                for at, size in self.parts(count)]

    def response_too_long(self, count):
        """A Read Response whose last segment is beyond the end of the Read."""
        return self.response(count, 1)

    def whole(self, count):
        """One Write in one FPDU; cost() sends the FPDU in count TCP segments."""
        return [fpdu.tagged(fpdu.WRITE, self.conn.stag, self.conn.addr, bytes(self.total(count)))]

    def made(self, count):
        """Returns what the method of the shape's kind returns."""
        return getattr(self, self.shape.kind)(count)

    def cost(self, count):
        """Returns the number of instructions for a stream of count segments."""
        octets = self.peer.frame(*self.made(count))
        sock = self.peer.sock
        if self.shape.kind != "whole":
            return busy(lambda: sock.sendall(octets))
        step = len(octets) // count
        pieces = [octets[at:at + step] for at in range(0, len(octets), step)]

        def work():
            for piece in pieces:
                sock.send(piece)
        return busy(work)

    def finish(self):
        """Sends the last segment of the message, so that another message can begin."""
        if not self.last:
            return
        self.peer.put(self.last)
        if self.conn.ulp:
            equal(self.conn.poll()[0].status, SUCCESS, "status")
        elif self.shape.kind == "response":
            self.peer.message(fpdu.SEND)
        self.last = None

    def end(self):
        """Ends the connection."""
        self.peer.rst()
        if self.conn.ulp:
            self.conn.ulp.event(id=self.conn.id, want="DISCONNECTED")
            self.conn.ulp.destroy(id=self.conn.id)
