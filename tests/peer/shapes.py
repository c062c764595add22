#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Measures how many instructions the device executes for streams of different shapes (kinds of
messages, and sizes of segments), and reports in TAP. Twice as many segments must not need more
than MOST times as many instructions: a peer chooses the shape, and the device does the work in
bottom halves, while no task can run.

Needs a machine of one processor whose clock counts instructions (LAB_ICOUNT=1). On this machine,
each instruction takes one nanosecond. So the nanoseconds for which the processor is busy after
sending begins are the number of instructions that sender and receiver execute. One system call
sends all octets of a stream, and TCP's large buffers (TSO) have these octets in one piece of
memory.
"""
import argparse
import re
import shlex
import socket
import subprocess
import sys
import time

import fpdu
import mpa
from case import MEM_LEN, Case, Conn, Place, add_arguments
from mpa import Tap
from outcome import equal
from ulp import SUCCESS

MOST = 2.2          # the largest quotient of the instructions for two streams: N and 2 N segments
PIECE = 32000       # octets in one piece of TCP's memory, if all earlier octets are acknowledged
SEGMENTS = 1200     # the largest number of segments in a stream
SETTLE = 0.1        # seconds until all work is done; the clock of an idle machine skips this time
TRIES = 3           # measurements; the smallest counts, because the kernel may do other work, too


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
    name of the method of Stream that makes the segments; payload: octets of each segment, or a
    tuple of sizes that repeat; crc, markers: whether the stream has CRCs and markers; sges: number
    of elements of the receive. ends: the stream has an error, which ends the connection.
    """

    def __init__(self, who, kind, payload, crc=False, markers=False, sges=1):
        self.who, self.kind, self.crc, self.markers, self.sges = who, kind, crc, markers, sges
        self.ends = kind.endswith(("beyond", "too_long"))
        self.payload = payload if isinstance(payload, tuple) else (payload,)

    def __str__(self):
        return "%s, %s of %s octets%s%s%s" % (
            self.who, self.kind.replace("_", " "), " and ".join(map(str, self.payload)), ", CRC" if self.crc else "",
            ", markers" if self.markers else "", ", %d elements" % self.sges if self.sges > 1 else "")

    def many(self):
        """Returns the number of segments of the shorter stream; the longer stream has twice as many
        segments."""
        size = max(self.payload) + 2 + 18 + 3 + 4
        return min(SEGMENTS, PIECE // size, MEM_LEN // 2 // max(max(self.payload), 1)) // 2


class Stream:
    """A connection of the peer with the device, for one shape."""

    def __init__(self, case, shape, ulp, listener):
        self.case, self.shape = case, shape
        flags = (mpa.C if shape.crc else 0)
        if shape.who == "kernel":
            peer = case.connect(listener)
            peer.request(flags, 1)
            peer.reply()
            peer.put_write()
            self.conn = Conn(peer, None, None)
        else:
            self.conn = case.passive(flags=flags, ulp=ulp, listener=listener, recvs=0, sge=shape.sges)
        self.peer, self.last = self.conn.peer, None
        self.peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.warm()

    def warm(self):
        """
        Sends until TCP's congestion window, which is small at first, is as large as a whole stream.
        """
        one = fpdu.tagged(fpdu.WRITE, 1, 0)
        for _ in range(3):
            # without markers all FPDUs have the same octets
            octets = self.peer.frame(*[one] * 3000) if self.peer.tx.markers else self.peer.frame(one) * 3000
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

    def cost(self, count):
        """Returns the number of instructions for a stream of count segments."""
        octets = self.peer.frame(*getattr(self, self.shape.kind)(count))
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


class Gate:
    """Measures all shapes."""

    def __init__(self, place, echo):
        self.case, self.echo = Case(place, 0), echo
        self.ulp = self.case.ulp()
        self.listener = self.case.listener(self.ulp)
        self.case.setting("crc", "off")
        self.markers = None

    def stream(self, shape):
        """Makes a connection for the shape; returns its Stream."""
        return Stream(self.case, shape, self.ulp, self.echo if shape.who == "kernel" else self.listener)

    def costs(self, shape, *counts):
        """ Returns, for each count, the number of instructions: the smallest of TRIES measurements.
        A shape that ends its connection needs a new connection for each measurement. """
        if shape.ends:
            streams = [self.stream(shape) for _ in range(TRIES * len(counts))]
        else:
            streams = [self.stream(shape)] * (TRIES * len(counts))
        out = []
        for n, stream in enumerate(streams):
            out.append(stream.cost(counts[n // TRIES]))
            if shape.ends:
                stream.end()
            else:
                stream.finish()
        if not shape.ends:
            streams[0].end()
        return [min(out[n:n + TRIES]) for n in range(0, len(out), TRIES)]

    def judge(self, tap, shape):
        """Checks that twice as many segments need 0.5 to MOST times as many instructions."""
        if self.markers != shape.markers:
            self.markers = shape.markers
            self.case.setting("markers", "on" if shape.markers else "off")
        count = shape.many()
        once, twice = self.costs(shape, count, 2 * count)
        times = twice / max(once, 1)
        # The quotient may be as small as 0.5: a few large segments need few instructions, compared
        # with other work, whose amount varies.
        tap.ok(once > 0 and 0.5 <= times <= MOST, "%s: twice the segments cost about twice as much" % shape,
               "%d and %d segments: %.2f times" % (count, 2 * count, times))
        print("# %s: %d and %d instructions for %d and %d segments: %.2f times, %d for each" % (
            shape, once, twice, count, 2 * count, times, (twice - once) // count), flush=True)

    def close(self):
        """Ends the upper layer."""
        self.case.close()


def shapes():
    """Yields all shapes."""
    for crc in (False, True):
        for payload in (1, 100, 1400):
            for kind in ("write", "send", "response"):
                yield Shape("process", kind, payload, crc)
            for kind in ("send", "response"):
                yield Shape("kernel", kind, payload, crc)
    for kind in ("write_beyond", "send_too_long", "response_too_long"):
        yield Shape("process", kind, 4)
    yield Shape("kernel", "response_too_long", 4)
    for who in ("process", "kernel"):
        for kind in ("send", "response"):
            yield Shape(who, kind, (4, 8))
            yield Shape(who, kind, 4, True, True)
    yield Shape("process", "send", 4, sges=4)
    yield Shape("process", "send", 7, sges=16)
    yield Shape("process", "writes", 4)
    yield Shape("process", "writes", 0)
    yield Shape("process", "write", (4, 8))
    yield Shape("process", "write", 4, True, True)
    yield Shape("process", "whole", 24, True)
    yield Shape("process", "whole", 24, True, True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    add_arguments(p)
    p.add_argument("--device", required=True, help="name of the device")
    p.add_argument("--interface", required=True, help="interface of the peer's side")
    p.add_argument("--echo", type=int, required=True, help="port of iwt_echo on the device's side")
    p.add_argument("--only", default="", help="shapes with this text in their names")
    args = p.parse_args()
    before = shlex.split(args.run)
    place = Place(before + shlex.split(args.ulp), args.here, args.there, args.link, args.device, "direct", True,
                  args.interface, lambda *words, **how: subprocess.run(before + list(words), check=False, **how))
    tap, gate = Tap(), Gate(place, args.echo)
    for shape in shapes():
        if args.only in str(shape):
            gate.judge(tap, shape)
    gate.close()
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
