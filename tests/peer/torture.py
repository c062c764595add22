#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Sends streams of random messages in random segments (tcp.py, cuts.py), and compares the memory and
the completions of the process on the device's side with a model (messages.py). With --echo, every
second stream goes to a server in the kernel, whose answers are compared instead. Reports in TAP.

The same seed and the same number of a stream always produce the same messages and segments; only
the losses, the peer's window and its retransmissions depend on the timing, too. "--seed S --first N
--streams 1" repeats the stream with the number N.
"""
import argparse
import concurrent.futures
import itertools
import os
import random
import shlex
import struct
import subprocess
import sys
import threading
import time
import traceback

import cuts
import fpdu
import mpa
from case import Case, Conn, Place, add_arguments
from messages import READS, SINK, Exchange, Inbox, Memory
from outcome import check, equal, is_late
from ulp import FLUSH, LOC_LEN_ERR

# The values of the link's settings crc, markers and ahead; after every ROUND streams the next
# values follow
ROUND = 64
SETTINGS = (("on", "off", "off"), ("on", "off", "on"), ("off", "off", "off"), ("on", "on", "off"), ("off", "on", "off"))
# The least number of streams with the setting ahead in which some data must be placed ahead
ENOUGH = 20
SMALL = ((0, 0), (1, 40), (1, 300), (300, 1500))
LARGE = ((0, 40), (1500, 9000), (9000, 60000))
ENDS = ("fin", "rst", "disconnect", "fin_within", "rst_within", "beyond", "too_long", "too_much", "bad_crc")
REGIONS = {SMALL: 16 << 10, LARGE: 128 << 10}


class Stream:
    """One connection, from its startup to its end. index: the number of the stream. seed and
    index together determine the random choices."""

    def __init__(self, worker, seed, index):
        self.worker, self.case, self.ulp = worker, worker.case, worker.ulp
        self.rng = random.Random("%d/%d" % (seed, index))
        # a second generator, for choices whose number depends on the timing: if the first
        # generator made these choices, its later choices would depend on the timing, too
        self.other = random.Random("%d/%d other" % (seed, index))
        rng = self.rng
        self.crc = SETTINGS[index // ROUND % len(SETTINGS)][0] == "on"
        self.sizes = LARGE if rng.random() < 0.06 else SMALL
        self.memory = worker.memory[self.sizes]
        self.passive = rng.random() < 0.7
        self.flags = (mpa.C if self.crc else 0) | (mpa.M if rng.random() < 0.3 else 0)
        self.isn = (1 << 32) - rng.randint(1, 20000) if rng.random() < 0.5 else rng.getrandbits(32)
        self.how = {"isn": self.isn, "stamps": rng.random() < 0.3, "sack": rng.random() < 0.7,
                    "mss": rng.choice((1400, 1400, 1400, 536))}
        self.narrow, self.lossy = rng.random() < 0.08, rng.random() < 0.04
        self.ways = rng.choice((cuts.WAYS, cuts.WAYS, [rng.choice(cuts.WAYS)]))
        self.end, self.first = rng.choice(ENDS if self.crc else ENDS[:-1]), FLUSH
        self.conn = self.tcp = None
        self.reads = 0      # number of the device's Reads that are incomplete at the end

    # TCP

    def cut(self, begin, end):
        """The function Tcp.cut of this stream: returns random segments."""
        return cuts.schedule(self.rng, begin, end, max(begin - 2000, 0), self.ways)

    def loses(self, _):
        """The function Tcp.loses of this stream: returns whether a packet of the device is dropped.
        In a "narrow" stream, also changes the peer's window."""
        if self.narrow:
            self.tcp.window = self.other.choice((0, 1, 100, 1500, 3000, 65535))
        return self.lossy and self.other.random() < 0.05

    def idle(self):
        """The function Tcp.idle of this stream: opens the window and retransmits, because nothing
        arrives."""
        self.tcp.window = 65535
        self.tcp.acknowledge()
        self.tcp.again()

    def prepare(self, tcp):
        """Lets a new connection use the functions cut(), loses() and idle() of this stream."""
        self.tcp = tcp
        tcp.cut, tcp.loses, tcp.idle = self.cut, self.loses, self.idle

    def send(self, octets):
        """Sends all octets, and waits until they are acknowledged."""
        tcp = self.tcp
        tcp.sendall(octets)
        tcp.settle(piece=lambda begin, end: (max(begin - self.other.choice((0, 1, 50, 500)), 0), end))

    # startup

    def open_passive(self):
        """Makes a connection whose responder is the device."""
        number, port = self.worker.listener
        peer = self.case.connect(port)
        self.prepare(peer.sock)
        word = mpa.enh(READS, READS, 0, 0, 0, 0) if self.rng.random() < 0.5 else None
        peer.request(self.flags, 1, self.rng.randbytes(self.rng.randint(0, 100)), word)
        event = self.ulp.event(id=number, want="CONNECT_REQUEST")
        self.conn = Conn(peer, self.ulp, event["new"])
        self.queue_pair()
        self.ulp.accept(id=self.conn.id, ird=READS, ord=READS)
        peer.reply()
        self.ulp.event(id=self.conn.id, want="ESTABLISHED")
        peer.put_write()

    def open_active(self):
        """Makes a connection whose initiator is the device."""
        server, port = self.case.server()
        number = self.ulp.new()
        self.ulp.resolve(id=number, addr=server.getsockname()[0], port=port)
        self.conn = Conn(None, self.ulp, number)
        self.queue_pair()
        self.ulp.connect(id=number, ird=READS, ord=READS)
        tcp = server.accept()[0]
        self.prepare(tcp)
        peer = self.conn.peer = self.case.peer(tcp)
        peer.await_request()
        peer.accept(self.flags, pd=self.rng.randbytes(self.rng.randint(0, 100)))
        self.ulp.event(id=number, want="ESTABLISHED")
        own = peer.own
        if own[17] >= 2 and own[16] & mpa.S and own[20] & 0x80:
            equal(peer.segment().opcode, fpdu.WRITE, "ready-to-receive message")

    def queue_pair(self):
        """Makes a queue pair for the connection. All connections of the process use the same memory
        and completion queue."""
        self.conn.cq = self.memory.cq
        self.ulp.qp(id=self.conn.id, scq=self.conn.cq, rcq=self.conn.cq)

    # the end

    def end_fin(self):
        """The peer sends FIN, in a segment that may also have octets which the device has received
        before."""
        self.tcp.send_fin(max(len(self.tcp.out) - self.rng.choice((0, 1, 30)), 0))
        self.tcp.settle()
        self.conn.peer.expect_fin()

    def end_rst(self):
        """The peer sends RST after all its octets."""
        self.tcp.send_rst()

    def end_disconnect(self):
        """The device's side disconnects."""
        self.ulp.disconnect(id=self.conn.id)
        self.conn.peer.expect_fin()
        self.tcp.send_fin()
        self.tcp.settle()

    def part(self):
        """Adds a part of an FPDU to the peer's stream; returns the place and the size of the
        part."""
        octets = self.conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, self.conn.peer.next(0), bytes(300)))
        octets = octets[:self.rng.randint(1, len(octets) - 1)]
        return self.tcp.write(octets), len(octets)

    def end_fin_within(self):
        """The peer's FIN is within an FPDU; octets that precede the FIN in the stream may be sent
        after the FIN."""
        begin, size = self.part()
        self.tcp.end = begin + size
        for first, last in self.cut(begin, begin + size):
            self.tcp.segment(first, last + (last == begin + size and self.rng.random() < 0.8))
        self.tcp.settle()
        self.conn.peer.expect_end()

    def end_rst_within(self):
        """The peer sends RST within an FPDU."""
        begin, size = self.part()
        for segment in self.cut(begin, begin + size):
            self.tcp.segment(*segment)
        self.tcp.settle()
        self.tcp.send_rst()

    def broken(self, ulpdus, **frame):
        """
        Sends ulpdus, whose last ULPDU has an error, and then a message that the device must
        ignore. frame: arguments of Peer.frame() that break the last FPDU.
        """
        framed = self.conn.peer.frame
        octets = b"".join(framed(ulpdu) for ulpdu in ulpdus[:-1]) + framed(ulpdus[-1], **frame)
        self.tcp.sendall(octets + framed(self.more()))
        self.tcp.settle()

    def more(self):
        """
        The message after an error, which the device must ignore. Its region has no relaxed
        ordering, so the message may not be placed ahead either.
        """
        return fpdu.tagged(fpdu.WRITE, self.memory.strict.stag, self.memory.strict.addr, b"more")

    def ended_by(self, *error, **about):
        """Expects a Terminate with this error (layer, type, code), and ends the connection. about:
        more arguments of expect_term()."""
        self.conn.peer.expect_term(*error, **about)
        self.conn.peer.expect_fin()
        self.rng.choice((self.tcp.send_fin, self.tcp.send_rst))()
        self.compare()

    def compare(self):
        """Checks that the device has placed all data before the error, and no data after it."""
        self.memory.target.check("target")
        self.memory.buffers.check("buffers")
        self.memory.strict.put(0, b"")
        self.memory.strict.check("strict")

    def alike(self, place):
        """ Returns the first segments of a Write, all of the same size, and this size. Their data
        end at the offset place of the region; there, the caller continues the Write. """
        size, target = self.rng.choice((4, 60, 100, 300, 1400)), self.memory.target
        count = min(self.rng.randint(1, 30), place // size)
        begin, data = place - count * size, self.rng.randbytes(count * size)
        target.put(begin, data)
        return [fpdu.tagged(fpdu.WRITE, target.stag, target.addr + begin + at, data[at:at + size], last=False)
                for at in range(0, count * size, size)], size

    def end_bad_crc(self):
        """A segment with a wrong CRC, after good segments, which the device must place."""
        place, target = self.rng.randint(5000, 9000), self.memory.target
        good, size = self.alike(place)
        bad = fpdu.tagged(fpdu.WRITE, target.stag, target.addr + place, b"evil" * (size // 4), last=False)
        self.broken(good + [bad], crc_xor=1 << self.rng.randrange(32))
        self.ended_by(2, 0, 2)

    def end_beyond(self):
        """
        A Write that continues beyond the end of its region; the device must place the segments
        before the end.
        """
        target, size = self.memory.target, self.memory.size
        place = size - self.rng.choice((0, 0, 3))
        good, size = self.alike(place)
        bad = fpdu.tagged(fpdu.WRITE, target.stag, target.addr + place, b"evil" * (size // 4), last=False)
        self.broken(good + [bad])
        self.ended_by(1, 1, 1, of=bad)

    def end_too_long(self):
        """
        A Send that is longer than its receive; the device must place the segments that fit into the
        receive.
        """
        self.first, size = LOC_LEN_ERR, self.rng.choice((4, 60, 100, 200))
        fit = 400 // size * size
        data = self.rng.randbytes(fit + size)
        self.memory.buffers.put(0, data[:fit])
        msn = self.conn.peer.next(0)
        segments = [fpdu.untagged(fpdu.SEND, 0, msn, data[at:at + size], at, at == fit and msn % 2 == 0)
                    for at in range(0, len(data), size)]
        self.broken(segments)
        self.ended_by(1, 2, 5, of=segments[-1])

    def end_too_much(self):
        """A Read Response that is longer than the Read; the device must place the segments within
        the Read."""
        sink, size = self.memory.sink, self.rng.choice((1, 4, 60, 100, 300, 1400))
        fit, more = self.rng.randint(1, min(30, sink.size // size - 9)), self.rng.randint(1, 8)
        length = fit * size + self.rng.choice((0, self.rng.randrange(size)))
        begin = self.rng.randint(0, sink.size - length - more * size)
        self.conn.post("read", wr=899, sge="%d:%d:%d" % (sink.number, begin, length), stag=7, raddr=SINK)
        self.reads = 1
        seg = self.conn.peer.segment()
        equal((seg.opcode, seg.read_request()[2:]), (fpdu.READ_REQ, (length, 7, SINK)), "Read Request")
        stag, offset, *_ = seg.read_request()
        data = self.rng.randbytes((fit + more) * size)
        sink.put(begin, data[:fit * size])
        segments = [fpdu.tagged(fpdu.READ_RESP, stag, offset + at, data[at:at + size], last=False)
                    for at in range(0, len(data), size)]
        self.broken(segments)
        self.ended_by(1, 1, 1, of=segments[fit])
        sink.check("sink")

    def finish(self):
        """Ends the connection by the method end_*() whose name was chosen at random, and checks
        that the device flushes all work requests, except a receive that completes with another
        error (first)."""
        left = self.rng.randint(1, 3)
        self.conn.recv(n=left, wr=900, sge="%d:0:400" % self.memory.buffers.number)
        getattr(self, "end_" + self.end)()
        self.ulp.event(id=self.conn.id, want="DISCONNECTED")
        got = [(wc.wr, wc.status) for wc in self.conn.poll(left + self.reads, exact=False)]
        equal([one for one in got if one[0] >= 900],
              [(900 + n, FLUSH if n else self.first) for n in range(left)], "flushed")
        equal([one for one in got if one[0] < 900], [(899, FLUSH)] * self.reads, "flushed Reads")
        self.conn.none(0)
        if self.rng.random() < 0.2:
            self.memory.check()

    def run(self):
        """Runs the whole stream: startup, one to three exchanges of messages, and the end."""
        self.case.own_tcp(**self.how)
        if self.passive:
            self.open_passive()
        else:
            self.open_active()
        inbox = Inbox(self.conn.peer)
        for _ in range(self.rng.randint(1, 3)):
            exchange = Exchange(self.rng, self.conn, self.memory, inbox, self.sizes)
            exchange.post()
            peer = self.conn.peer
            self.send(b"".join(peer.frame(ulpdu) for message in exchange.ulpdus() for ulpdu in message))
            exchange.check()
        self.finish()
        self.ulp.destroy(id=self.conn.id)

    def __repr__(self):
        return "%s, flags %#x, %s, %s, ways %s%s%s, end %s" % (
            "passive" if self.passive else "active", self.flags, "large" if self.sizes is LARGE else "small",
            self.how, ",".join(way.__name__ for way in self.ways), ", narrow" if self.narrow else "",
            ", lossy" if self.lossy else "", self.end)


class KernelStream(Stream):
    """
    A connection with a server in the kernel (iwt_echo), whose buffers belong to no memory region.
    """

    SLOTS, MOST = 4, 65536      # limits: messages at a time, and octets in a message

    def __init__(self, worker, seed, index):
        super().__init__(worker, seed, index)
        self.passive = True
        ends = ("fin", "rst", "fin_within", "rst_within", "too_much") + (("bad_crc",) if self.crc else ())
        self.end = self.rng.choice(ends)

    def open_passive(self):
        """The device is the responder."""
        peer = self.case.connect(self.worker.echo)
        self.prepare(peer.sock)
        peer.request(self.flags, 1, self.rng.randbytes(self.rng.randint(0, 100)))
        peer.reply()
        peer.put_write()
        self.conn = Conn(peer, None, None)

    def segments(self, opcode, data, *where):
        """ Yields the ULPDUs of a message, in segments of the same random size. where: the MSN of a
        Send, or STag and offset of a Read Response. """
        size = max(self.rng.choice((1, 4, 60, 1400, 16000, 60000)), len(data) // 50, 1)
        for at in range(0, len(data), size):
            part, last = data[at:at + size], at + size >= len(data)
            if opcode == fpdu.SEND:
                yield fpdu.untagged(opcode, 0, *where, part, at, last)
            else:
                yield fpdu.tagged(opcode, where[0], where[1] + at, part, last)

    def message(self, data):
        """Returns the ULPDUs of a Send with these data."""
        return list(self.segments(fpdu.SEND, data, self.conn.peer.next(0)))

    def ask(self, stag, length):
        """Returns the data of a Send that makes the server read length octets of the peer's
        stag."""
        return b"r\0\0\0" + struct.pack(">IQI", stag, SINK, length)

    def size(self):
        """Returns a random size of a message, without the first octet, which is a command."""
        low, high = self.rng.choice(self.sizes)
        return self.rng.randint(low, high)

    def exchange(self, inbox):
        """ Sends messages, and checks the server's answers. The server sends the data of a message
        back, or reads data of the peer and sends the data that it has read. """
        ulpdus, want, there = [], [], {}
        for _ in range(self.rng.randint(1, self.SLOTS)):
            data = b"e" + self.rng.randbytes(self.size())
            want.append(data)
            if self.rng.random() < 0.5:
                ulpdus += self.message(data)
            else:
                there[len(want)] = data
                ulpdus += self.message(self.ask(len(want), len(data)))
        self.send(b"".join(self.conn.peer.frame(ulpdu) for ulpdu in ulpdus))
        while there or len(inbox.sends) < len(want) or not inbox.last:
            inbox.take(30)
            while inbox.requests:
                sink, offset, length, stag, _ = inbox.requests.pop()
                equal(length, len(there[stag]), "length of a Read")
                data = there.pop(stag)
                self.send(b"".join(self.conn.peer.frame(u) for u in self.segments(fpdu.READ_RESP, data, sink, offset)))
        equal(sorted(map(bytes, inbox.sends)), sorted(want), "the server's answers")
        inbox.clear()

    def more(self):
        """The message after an error, which the device must ignore."""
        return fpdu.tagged(fpdu.WRITE, 1, 0)

    def compare(self):
        """Does nothing: the server itself checks that no data were placed beyond its buffers."""

    def end_bad_crc(self):
        """A segment with a wrong CRC, after good segments."""
        msn, size = self.conn.peer.next(0), self.rng.choice((1, 4, 60, 100, 300, 1400))
        self.broken([fpdu.untagged(fpdu.SEND, 0, msn, b"n" * size, at * size, last=False)
                     for at in range(self.rng.randint(1, 30))], crc_xor=1 << self.rng.randrange(32))
        self.ended_by(2, 0, 2)

    def end_too_much(self):
        """A Read Response that is longer than the server's Read."""
        size, fit = self.rng.choice((1, 4, 60, 100, 300, 1400)), self.rng.randint(1, 30)
        self.send(b"".join(map(self.conn.peer.frame, self.message(self.ask(7, fit * size + self.rng.randrange(size))))))
        stag, offset, *_ = self.conn.peer.message(fpdu.READ_REQ)[0].read_request()
        segments = [fpdu.tagged(fpdu.READ_RESP, stag, offset + at * size, b"g" * size, last=False)
                    for at in range(fit + self.rng.randint(1, 8))]
        self.broken(segments)
        self.ended_by(1, 1, 1, of=segments[fit])

    def run(self):
        """Runs the whole stream: startup, one to four exchanges of messages, and the end."""
        self.case.own_tcp(**self.how)
        self.open_passive()
        inbox = Inbox(self.conn.peer)
        for _ in range(self.rng.randint(1, 4)):
            self.exchange(inbox)
        getattr(self, "end_" + self.end)()

    def __repr__(self):
        return "kernel, " + super().__repr__()


class Worker:
    """Runs streams one after the other. On the device's side, they use the same process of
    iwt_ulp."""

    MOST = 900      # streams for one iwt_ulp process, whose numbers for connections are below 1000

    def __init__(self, place, seed, echo):
        self.place, self.seed, self.echo, self.case, self.done = place, seed, echo, None, 0
        self.late = False   # whether the last stream failed because of a time-out

    def renew(self):
        """Ends the old process, if there is a process, and starts a new process."""
        self.close()
        self.case, self.done = Case(self.place, self.seed), 0
        self.ulp = self.case.ulp()
        self.listener = self.case.listener(self.ulp)
        cq = self.ulp.new()
        self.memory = {sizes: Memory(self.ulp, self.case.rng, size, cq) for sizes, size in REGIONS.items()}

    def close(self):
        """Ends the process."""
        if self.case:
            self.case.close()
            self.case = None

    def stream(self, index):
        """Runs the stream with the number index; returns a text about its failure, or None."""
        if not self.case or self.done >= self.MOST:
            self.renew()
        kind = KernelStream if self.echo and index % 2 else Stream
        stream, before, why = kind(self, self.seed, index), len(self.case.open), None
        self.late = False
        try:
            stream.run()
        except AssertionError as error:
            self.late, why = is_late(error), "%s\n%s" % (error, where(error))
        except Exception as error:      # pylint: disable=broad-except
            self.late, why = is_late(error), "%r\n%s" % (error, traceback.format_exc())
        self.done += 1
        try:
            for thing in self.case.open[before:]:
                thing.close()
            del self.case.open[before:]
            if why:
                self.close()
        except Exception as error:      # pylint: disable=broad-except
            self.late, why = False, "%s\nat the end: %r" % (why, error)
        return why and "%r\n%s" % (stream, why)


def where(error):
    """Returns one line with the call stack of an exception."""
    return "at " + ", ".join("%s:%d" % (os.path.basename(f.filename), f.lineno)
                             for f in traceback.extract_tb(error.__traceback__))


class Torture:
    """The workers, and their results."""

    def __init__(self, place, args):
        self.args, self.place = args, place
        self.workers = [Worker(place, args.seed, args.echo) for _ in range(args.jobs)]
        self.until = time.monotonic() + args.time
        self.lock, self.failed, self.late, self.ran = threading.Lock(), 0, 0, 0
        self.with_ahead, self.placed = 0, 0     # streams with the setting ahead; FPDUs placed ahead in them

    def going(self):
        """Returns whether another stream may begin."""
        return self.failed < self.args.failures and time.monotonic() < self.until

    def work(self, worker, numbers):
        """Runs streams on a worker, until the iterator numbers ends, which all workers share."""
        while self.going():
            with self.lock:
                index = next(numbers, None)
            if index is None:
                return
            why = worker.stream(index)
            with self.lock:
                self.ran += 1
                if why:
                    self.failed += 1
                    self.late += worker.late
                    print("# stream %d (--seed %d --first %d --streams 1): %s" % (
                        index, self.args.seed, index, why.replace("\n", "\n#   ")), flush=True)

    def round(self, first, last):
        """Runs the streams first to last - 1, which have the same settings of the link."""
        crc, markers, ahead = SETTINGS[first // ROUND % len(SETTINGS)]
        before = None
        case = Case(self.place, 0)
        case.setting("crc", crc)
        case.setting("markers", markers)
        if "AHEAD" not in os.environ.get("IWT_WITHOUT", "").split(","):
            case.setting("ahead", ahead)
            before = self.ran, placed_ahead(case)
        numbers = iter(range(first, last))
        with concurrent.futures.ThreadPoolExecutor(len(self.workers)) as pool:
            list(pool.map(lambda worker: self.work(worker, numbers), self.workers))
        if before and ahead == "on":
            self.with_ahead += self.ran - before[0]
            self.placed += placed_ahead(case) - before[1]
        case.close()

    def run(self):
        """Runs all rounds."""
        end = self.args.first + self.args.streams
        for first in itertools.count(self.args.first // ROUND * ROUND, ROUND):
            if first >= end or not self.going():
                break
            self.round(max(first, self.args.first), min(first + ROUND, end))
        for worker in self.workers:
            worker.close()


def placed_ahead(case):
    """Returns the device's counter of FPDUs that were placed ahead; 0 without counters."""
    return case.counters().get("rx_ahead", 0)


def overlaps(place):
    """Returns the counters of the device's TCP for octets that arrived twice or out of order:
    {name: value}."""
    lines = place.run("cat", "/proc/net/netstat", capture_output=True, text=True).stdout.splitlines()
    names, values = [line.split()[1:] for line in lines if line.startswith("TcpExt:")]
    counts = dict(zip(names, map(int, values)))
    return {name: counts.get(name, 0) for name in (
        "TCPOFOQueue", "TCPOFOMerge", "TCPDSACKOldSent", "TCPDSACKOfoSent", "TCPRcvCoalesce", "TCPRcvCollapsed")}


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    add_arguments(p)
    p.add_argument("--device", required=True, help="name of the device")
    p.add_argument("--interface", required=True, help="interface of the peer's side")
    p.add_argument("--seed", type=int, default=None, help="seed of the random generators (a random one)")
    p.add_argument("--time", type=float, default=60, help="seconds until no new stream begins (60)")
    p.add_argument("--first", type=int, default=0, help="number of the first stream (0)")
    p.add_argument("--streams", type=int, default=1 << 40, help="the most streams to run")
    p.add_argument("--jobs", type=int, default=3, help="streams at a time (3)")
    p.add_argument("--echo", type=int, default=0, help="port of iwt_echo; every second stream uses it (0: none)")
    p.add_argument("--failures", type=int, default=5, help="end after so many failed streams (5)")
    args = p.parse_args()
    if args.seed is None:
        args.seed = int.from_bytes(os.urandom(4), "big")
    return args


def main():
    args = arguments()
    before = shlex.split(args.run)
    place = Place(before + shlex.split(args.ulp), args.here, args.there, args.link, args.device, "direct", True,
                  args.interface, lambda *words, **how: subprocess.run(before + list(words), check=False, **how))
    print("# seed %d" % args.seed, flush=True)
    torture, first, began = Torture(place, args), overlaps(place), time.monotonic()
    torture.run()
    counts = {name: value - first[name] for name, value in overlaps(place).items()}
    print("# %d streams in %d s; %s" % (torture.ran, time.monotonic() - began, counts))
    print("%sok 1 - %d streams agree with the model (seed %d, from %d)%s" % (
        "not " if torture.failed or not torture.ran else "", torture.ran, args.seed, args.first,
        " (time-out)" if 0 < torture.failed == torture.late else ""))
    many = min(counts["TCPOFOQueue"], counts["TCPDSACKOldSent"] + counts["TCPDSACKOfoSent"]) >= torture.ran
    print("%sok 2 - segments came out of order and overlapped" % ("" if many else "not "))
    ahead = torture.placed or torture.with_ahead < ENOUGH or "COUNTERS" in os.environ.get("IWT_WITHOUT", "").split(",")
    print("%sok 3 - %d FPDUs of %d streams were placed ahead" % (
        "" if ahead else "not ", torture.placed, torture.with_ahead))
    print("1..3")
    return 0 if many and ahead and torture.ran and not torture.failed else 1


if __name__ == "__main__":
    sys.exit(main())
