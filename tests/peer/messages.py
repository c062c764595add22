# SPDX-License-Identifier: GPL-2.0
"""
Exchanges random messages in both directions of a connection, and compares the results with a
model of the device's memory, of its completions, and of the messages that it sends.
"""
import collections

import fpdu
import patience
from outcome import check, equal
from ulp import SUCCESS, WC_READ, WC_RECV, WC_SEND, WC_WRITE, WITH_IMM

READS = 4               # Reads that may be outstanding at a time, in each direction
WAIT = 20               # seconds to wait for an event that must happen
SINK = 1 << 40          # tagged offset of the first octet that the device writes to the peer


class Region:
    """A memory region of the device, and its expected contents (model). low, high: the part that
    changed since the last check()."""

    def __init__(self, ulp, size, access, rng):
        self.ulp, self.number, self.size = ulp, ulp.new(), size
        got = ulp.mr(mr=self.number, len=size, access=access)
        self.addr, self.stag = got["addr"], got["stag"]
        self.model = bytearray(rng.randbytes(size))
        ulp.set(mr=self.number, data=bytes(self.model))
        self.low, self.high = size, 0

    def put(self, at, data):
        """Puts data into the expected contents, at the offset "at"."""
        self.model[at:at + len(data)] = data
        self.low, self.high = min(self.low, at), max(self.high, at + len(data))

    def check(self, name):
        """Compares the contents with the expected contents: the part that put() changed since the
        last check(), and 64 octets before and after it."""
        begin, end = max(self.low - 64, 0), min(self.high + 64, self.size)
        self.low, self.high = self.size, 0
        if begin >= end:
            return
        got, want = self.ulp.dump(mr=self.number, off=begin, len=end - begin), self.model[begin:end]
        if got != want:
            wrong = [n for n in range(end - begin) if got[n] != want[n]]
            self.model[begin:end] = got
            check(False, "%s: %d of %d octets are wrong, from %d to %d" % (
                name, len(wrong), end - begin, begin + wrong[0], begin + wrong[-1]))


class Memory:
    """The memory of a process; the connections of the process use this memory one after the
    other."""

    def __init__(self, ulp, rng, size, cq):
        self.size, self.cq = size, cq
        self.target = Region(ulp, size, "lwrx", rng)    # for the peer's Writes
        self.strict = Region(ulp, 256, "lwr", rng)      # the peer's Writes into this region must not be placed
        self.source = Region(ulp, size, "lr", rng)      # for the peer's Reads, and for messages of the device
        self.sink = Region(ulp, size, "lwx", rng)       # for the device's Reads
        self.buffers = Region(ulp, size, "l", rng)      # for the peer's Sends


    def check(self):
        """Compares the whole memory with the expected contents."""
        for region in (self.target, self.strict, self.source, self.sink, self.buffers):
            region.low, region.high = 0, region.size
            region.check("memory")


class Inbox:
    """The messages that the device has sent. tagged: {STag: data of the tagged message}; ended:
    the STags whose messages are complete; sends: the data of each Send; requests: the fields of
    the Read Requests; last: whether the last Send is complete."""

    def __init__(self, peer):
        self.peer = peer
        self.tagged = collections.defaultdict(bytearray)
        self.ended, self.sends, self.requests, self.last = set(), [], [], True

    def clear(self):
        """Empties the inbox for the next exchange."""
        self.tagged.clear()
        self.ended.clear()
        self.sends, self.requests = [], []

    def take(self, seconds):
        """Receives the next segment of the device, and adds it to its message."""
        seg = self.peer.segment(seconds)
        check(seg.opcode != fpdu.TERM, "a Terminate:", seg, seg.data[:2])
        if seg.tagged:
            data = self.tagged[seg.stag]
            equal(seg.offset, SINK + len(data), "offset")
            data += seg.data
            if seg.last:
                self.ended.add(seg.stag)
        elif seg.opcode == fpdu.READ_REQ:
            self.requests.append(seg.read_request())
        else:
            equal(seg.opcode, fpdu.SEND, "opcode")
            if self.last:
                self.sends.append(bytearray())
            self.sends[-1] += seg.data
            self.last = seg.last


class Exchange:
    """
    Some random messages of both sides. post() posts the device's work requests; ulpdus() returns
    the peer's messages, for the caller to send; check() waits for all results, and compares them
    with the model.
    """

    def __init__(self, rng, conn, memory, inbox, sizes):
        self.rng, self.conn, self.memory, self.inbox, self.sizes = rng, conn, memory, inbox, sizes
        # expected completions of receives and of work requests; expected data for each STag
        self.recvs, self.done, self.stags = [], [], {}
        self.plan, self.room, self.wr = [], 0, 0
        self.sends, self.reads = [], []     # the device's Sends (data), Reads (begin, size, data)
        self.written = []                   # the parts of the target that the peer's Writes cover

    def _size(self):
        low, high = self.rng.choice(self.sizes)
        return self.rng.randint(low, high)

    def _part(self, size):
        """Returns a random offset for size octets in a region."""
        return self.rng.randint(0, self.memory.size - size)

    # the device's side

    def post(self):
        """Posts receive buffers for the messages of ulpdus(), and the device's own work
        requests."""
        for _ in range(self.rng.randint(1, 6)):
            self.plan.append(self._kind())
        # the last message proves that the Writes before it were placed, too
        self.plan.append("send" if self.plan.count("read") == READS else self.rng.choice(("send", "read")))
        count = sum(kind in ("send", "imm") for kind in self.plan)
        self.room = min(max(high for _, high in self.sizes), self.memory.size // max(count, 1))
        if count:
            self.conn.recv(n=count, wr=100, sge="%d:0:%d" % (self.memory.buffers.number, self.room))
        for _ in range(self.rng.choice((0, 0, 1, 2, 3))):
            self._post(self.rng.choice(("read", "read", "send", "write")))

    def _kind(self):
        reads = [] if self.plan.count("read") == READS else ["read"]
        return self.rng.choice(["write", "write", "write", "send", "send", "imm"] + reads)

    def _post(self, kind):
        size, wr = self._size(), self.wr
        at, self.wr = self._part(size), self.wr + 1
        if kind == "read":
            if len(self.reads) == READS:
                return
            size = max(size, 1)
            begin = sum(one[1] for one in self.reads)
            if begin + size > self.memory.size:
                return
            self.reads.append((begin, size, self.rng.randbytes(size)))
            self.conn.post("read", wr=wr, sge="%d:%d:%d" % (self.memory.sink.number, begin, size),
                           stag=7, raddr=SINK + begin)
            self.done.append((wr, WC_READ))
            return
        sge = "%d:%d:%d" % (self.memory.source.number, at, size)
        data = bytes(self.memory.source.model[at:at + size])
        if kind == "send":
            self.conn.post("send", wr=wr, sge=sge)
            self.sends.append(data)
            self.done.append((wr, WC_SEND))
        else:
            stag = self._stag(data)
            self.conn.post("write", wr=wr, sge=sge, stag=stag, raddr=SINK)
            self.done.append((wr, WC_WRITE))

    def _stag(self, data):
        """Returns a new STag of the peer, to which the device must send this data."""
        stag = self.rng.getrandbits(31) | 1 << 31
        self.stags[stag] = data
        return stag

    # the peer's side

    def ulpdus(self):
        """Returns the peer's messages, each a list of ULPDUs, among them the answers to the
        device's Reads."""
        out, answers = [], list(self.reads)
        for kind in self.plan:
            out.append(getattr(self, "_" + kind)())
            while answers and self.rng.random() < 0.5:
                out.append(self._answer(answers.pop(0)))
        return out + [self._answer(one) for one in answers]

    def _segments(self, data):
        """Returns [(offset, octets, last)] for the DDP segments of a message: all of the same
        random size, which is large enough for at most 21 segments."""
        size = max(self.rng.choice((1, 20, 200, 1400, 1400, 16000, 60000)), len(data) // 20, 1)
        places = range(0, len(data) or 1, size)
        return [(at, data[at:at + size], at + size >= len(data)) for at in places]

    def _apart(self, size):
        """Returns a random offset in the target, and size, or 0 if no place is found. No Write of the
        exchange covers this place: the order of two Writes in a region with relaxed ordering
        is not defined."""
        for _ in range(20):
            at = self._part(size)
            if all(at + size <= begin or end <= at for begin, end in self.written):
                self.written.append((at, at + size))
                return at, size
        return 0, 0

    def _write(self):
        at, size = self._apart(self._size())
        data = self.rng.randbytes(size)
        self.memory.target.put(at, data)
        target = self.memory.target
        segments = self._segments(data)
        if self.rng.random() < 0.1:
            # the segments of a Write need not be sent in the order of their offsets
            places = [(off, part) for off, part, _ in segments]
            self.rng.shuffle(places)
            segments = [(off, part, last) for (off, part), (_, _, last) in zip(places, segments)]
        return [fpdu.tagged(fpdu.WRITE, target.stag, target.addr + at + off, part, last)
                for off, part, last in segments]

    def _send(self):
        data = self.rng.randbytes(min(self._size(), self.room))
        self.memory.buffers.put(len(self.recvs) * self.room, data)
        self.recvs.append((100 + len(self.recvs), WC_RECV, len(data)))
        msn, opcode = self.conn.peer.next(0), self.rng.choice((fpdu.SEND, fpdu.SEND_SE))
        return [fpdu.untagged(opcode, 0, msn, part, off, last) for off, part, last in self._segments(data)]

    def _imm(self):
        value = self.rng.getrandbits(32)
        self.recvs.append((100 + len(self.recvs), "imm", value))
        return [fpdu.immediate(self.conn.peer.next(0), value.to_bytes(4, "big") + bytes(4))]

    def _read(self):
        size = self._size()
        at, source = self._part(size), self.memory.source
        stag = self._stag(bytes(source.model[at:at + size]))
        return [fpdu.read_request(self.conn.peer.next(1), stag, SINK, size, source.stag, source.addr + at)]

    def _answer(self, read):
        begin, size, data = read
        self._await(lambda: len(self.inbox.requests) > self.reads.index(read), "a Read Request")
        stag, offset, length, _, where = self.inbox.requests[self.reads.index(read)]
        equal((length, where), (size, SINK + begin), "Read Request")
        self.memory.sink.put(begin, data)
        return [fpdu.tagged(fpdu.READ_RESP, stag, offset + off, part, last)
                for off, part, last in self._segments(data)]

    # checking the results

    def _await(self, there, what):
        wait = patience.Wait(WAIT)
        while not there():
            wait.check("%s is missing" % what)
            self.inbox.take(WAIT)

    def check(self):
        """Checks the device's messages, all completions, and its memory."""
        self._await(lambda: len(self.inbox.sends) >= len(self.sends) and self.inbox.last and
                    self.inbox.ended >= set(self.stags), "a message of the device")
        equal(self.inbox.sends, self.sends, "the device's Sends")
        for stag, data in self.stags.items():
            check(self.inbox.tagged[stag] == data, "other octets than in memory: %d and %d of them" % (
                len(self.inbox.tagged[stag]), len(data)))
        self.completions(self.conn.poll(len(self.recvs) + len(self.done), ms=WAIT * 1000, exact=False))
        for name in ("target", "sink", "buffers"):
            getattr(self.memory, name).check(name)
        self.inbox.clear()

    def completions(self, got):
        """Checks the completions of receives, and those of the device's own work requests; both
        must be in order."""
        recvs = [(wc.wr, "imm", wc.imm) if wc.flags & WITH_IMM else (wc.wr, wc.opcode, wc.len)
                 for wc in got if wc.opcode >= WC_RECV]
        check(all(wc.status == SUCCESS for wc in got), "completions:", got)
        equal([(wc.wr, wc.opcode) for wc in got if wc.opcode < WC_RECV], self.done, "completions of the device's work")
        equal(recvs, self.recvs, "completions of receives")
