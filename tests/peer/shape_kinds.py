# SPDX-License-Identifier: GPL-2.0
"""
Streams of shapes.py in which the device does more than place a message: it answers requests, or
completes one receive for each message, or gets segments while earlier octets are missing (a gap).
"""
import fpdu
from fpdu import FETCH_ADD
from outcome import check, equal
from shape_stream import BINDS, READS, SEGMENTS, Stream, busy
from ulp import SUCCESS

ROUNDS = 8      # how often the peer has all requests of a stream outstanding


class Requests(Stream):
    """Requests that the device answers. The peer sends all requests before it takes an answer, so
    all of them are outstanding. Then it sends them again."""

    def connect(self, ulp, listener, **how):
        return super().connect(ulp, listener, ird=READS, access="lwra", **how)

    def reads(self, count):
        """Read Requests."""
        conn = self.conn
        return [fpdu.read_request(self.peer.next(1), 77, 1 << 40, size, conn.stag, conn.addr + at)
                for at, size in self.parts(count)]

    def atomics(self, count):
        """Atomic Requests to the same address."""
        conn = self.conn
        return [fpdu.atomic(self.peer.next(1), FETCH_ADD, n, conn.stag, conn.addr, 1) for n in range(count)]

    def answer(self):
        """Returns the number of octets of the FPDU that answers a request."""
        if self.shape.kind == "reads":
            return len(fpdu.fpdu(fpdu.tagged(fpdu.READ_RESP, 77, 0, bytes(self.shape.payload[0]))))
        return len(fpdu.fpdu(fpdu.atomic_response(1, 0, 0)))

    def cost(self, count):
        rounds = [self.peer.frame(*self.made(count)) for _ in range(ROUNDS)]
        sock, size = self.peer.sock, self.answer() * count

        def work():
            for octets in rounds:
                sock.sendall(octets)
                left = size
                while left:
                    got = len(sock.recv(left))
                    check(got, "the connection ends")
                    left -= got
        return busy(work)


class Receives(Stream):
    """Messages of which each consumes a receive."""

    def __init__(self, *args):
        self.posted, self.windows = 0, []
        super().__init__(*args)

    def connect(self, ulp, listener, **how):
        return super().connect(ulp, listener, access="lwb", rwr=SEGMENTS, swr=BINDS, depth=2 * SEGMENTS, **how)

    def messages(self, count, make):
        """Lets the process post a receive for each message; returns the ULPDUs make(msn)."""
        self.conn.recv(n=count, wr=1, sge="%d:0:%d" % (self.conn.mr, self.shape.payload[0]))
        self.posted = count
        return [make(self.peer.next(0)) for _ in range(count)]

    def immediates(self, count):
        """Immediate Data messages."""
        return self.messages(count, lambda msn: fpdu.immediate(msn, bytes(8)))

    def solicited_sends(self, count):
        """Sends with Solicited Event."""
        data = bytes(self.shape.payload[0])
        return self.messages(count, lambda msn: fpdu.untagged(fpdu.SEND_SE, 0, msn, data))

    def invalidating_sends(self, count):
        """Sends with Invalidate: each invalidates another window of the same region."""
        data, stags = bytes(self.shape.payload[0]), iter(self.bind(count))
        return self.messages(count, lambda msn: fpdu.untagged(fpdu.SEND_INV, 0, msn, data, stag=next(stags)))

    def bind(self, count):
        """Binds this number of windows to the region; returns their STags."""
        conn = self.conn
        for _ in range(count - len(self.windows)):
            self.windows.append(conn.ulp.new())
            conn.ulp.mw(mw=self.windows[-1], type=2)
        # only the last bind has a completion
        stags = [conn.post("bind", mw=window, mr=conn.mr, len=4, access="w", flags="u" * (n < count - 1))["stag"]
                 for n, window in enumerate(self.windows[:count])]
        equal(conn.poll()[0].status, SUCCESS, "status of the last bind")
        return stags

    def finish(self):
        equal({done.status for done in self.conn.poll(self.posted)}, {SUCCESS}, "status of the receives")


class Held:
    """Takes the place of the Link of a Tcp, and stores the packets that the Tcp sends."""

    def __init__(self, link):
        self.link, self.packets = link, []

    def send(self, head, data, mss=0):
        """Stores a packet."""
        self.packets.append(b"".join(self.link.packet(head, data, mss)))


class Ahead(Stream):
    """
    Segments behind a gap. The peer has its own TCP (tcp.py), and one system call sends one segment.
    All packets are made before the measurement: Python needs many more instructions to make a
    packet than the device needs to receive it.
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.placed = self.case.counters()["rx_ahead"]

    def connect(self, ulp, listener, **how):
        self.case.own_tcp()
        conn = super().connect(ulp, listener, access="lwrx", **how)
        self.case.tcp = None
        check(conn.peer.tx.markers and conn.peer.tx.crc, "the device asks for markers and CRC")
        return conn

    def warm(self):
        self.peer.sock.settle()

    def add(self, *ulpdus):
        """Adds FPDUs to the peer's stream; returns the begin and the end of each."""
        tcp, out = self.peer.sock, []
        for ulpdu in ulpdus:
            out.append((tcp.write(self.peer.frame(ulpdu)), len(tcp.out)))
        return out

    def gap(self):
        """Adds the FPDU that arrives last."""
        return self.add(fpdu.tagged(fpdu.WRITE, self.conn.stag, self.conn.addr, bytes(4)))

    # these methods return the segments, as (begin, end), in the order in which they arrive

    def write_ahead(self, count):
        """Segments of one Write, in order."""
        gap = self.gap()
        return self.add(*self.write(count)) + gap

    def write_ahead_apart(self, count):
        """Segments of one Write: first every second segment, so each of them is behind another gap."""
        segments = self.add(*self.write(count))
        return segments[1::2] + segments[::2]

    def whole_ahead(self, count):
        """A Write in one FPDU, in count segments. Until the FPDU is complete, the device passes over
        the buffers of all earlier segments, of which TCP joins some, but over 64 at most."""
        gap = self.gap()
        (begin, end), = self.add(*self.whole(count))
        step = -(-(end - begin) // count)
        return [(at, min(at + step, end)) for at in range(begin, end, step)] + gap

    def cost(self, count):
        tcp = self.peer.sock
        link, held = tcp.link, Held(tcp.link)
        tcp.link = held
        for begin, end in self.made(count):
            tcp.segment(begin, end)
        tcp.link = link

        def work():
            for packet in held.packets:
                link.tx.send(packet)
        return busy(work)

    def finish(self):
        self.peer.sock.settle()

    def end(self):
        check(self.case.counters()["rx_ahead"] > self.placed, "no segment was placed ahead")
        super().end()


def class_of(shape):
    """Returns the class of the streams of a shape."""
    return next((kind for kind in (Requests, Receives, Ahead) if hasattr(kind, shape.kind) and
                 not hasattr(Stream, shape.kind)), Stream)
