# SPDX-License-Identifier: GPL-2.0
"""
A TCP implementation for tests, in which the test determines each segment. Its IP address belongs to
no kernel (link.py).

A Tcp has those methods of a socket that peer.py and mpa.py use. In this file, "we" is this TCP, and
"the other side" is the kernel's TCP. "Our stream" is all octets that we send. A place in a stream
is the number of an octet; place 0 is the first octet after the SYN. write() adds octets to our
stream, and sends nothing. segment(begin, end) sends this part of our stream, even if it was sent
before. settle() retransmits until all octets are acknowledged. sendall() calls write(), and then
sends segments in order.
"""
import select
import socket
import struct
import time

import patience
import pcap
from outcome import Fail, check

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
MASK = 0xFFFFFFFF
PATIENCE = 30       # seconds to wait for an event that must happen
BURST = 32768       # sendall() sends at most this number of octets before they are acknowledged
AGAIN = 0.05        # seconds until the first retransmission


def distance(later, earlier):
    """Returns later - earlier, for sequence numbers modulo 2^32; the result may be negative."""
    return (later - earlier + (1 << 31) & MASK) - (1 << 31)


class Tcp:
    """ One connection. link: a Link (link.py); port: our port; mss: the largest segment, in each
    direction; isn: our first sequence number; window: our window, which a test may change at any
    time; stamps: we use timestamps; sack: the other side may send selective acknowledgments.
    answer: whether we acknowledge received data immediately. A test may replace these functions:
    loses(packet) returns whether a received packet is dropped; cut(begin, end) returns the
    segments of sendall(); recv() calls idle() while nothing arrives. """

    def __init__(self, link, port, mss=1400, isn=None, window=65535, stamps=False, sack=True, cut=None):
        self.link, self.port, self.mss, self.window, self.stamps, self.sack = link, port, mss, window, stamps, sack
        self.rx, self.remote = link.receiver(port), None
        self.isn = int(time.monotonic() * 1e6) & MASK if isn is None else isn
        self.out, self.una, self.nxt, self.end = bytearray(), 0, 0, None    # places of our stream
        self.got, self.irs, self.taken, self.later = bytearray(), None, 0, {}
        self.finished = None            # end of the other side's stream
        self.room, self.shift, self.stamp = 0, 0, 0
        self.was_reset = self.closed = self.linger = False
        self.answer, self.loses, self.idle = True, lambda packet: False, self.again
        self.cut = cut or self._in_order
        self.seconds, self.packets = 60, 0
        self.whole = 0                  # again() retransmits only octets before this place

    def _in_order(self, begin, end):
        return [(at, min(at + self.mss - 12, end)) for at in range(begin, end, self.mss - 12)]

    # segments

    def _options(self, syn):
        out = b""
        if syn:
            out += struct.pack(">BBH", 2, 4, self.mss) + b"\x01\x03\x03\x00" + (b"\x04\x02\x01\x01" if self.sack else b"")
        if self.stamps:
            out += struct.pack(">BBBBII", 1, 1, 8, 10, int(time.monotonic() * 1e3) & MASK, self.stamp)
        return out

    def emit(self, at, data=b"", flags=ACK, ack=None, window=None, urgent=0, fragments=0):
        """ Sends a segment with any data, at any place of our stream. ack: the acknowledged place
        in the other side's stream; urgent: the urgent pointer; fragments: the largest payload of an
        IP fragment (0: no fragments). """
        options = self._options(flags & SYN)
        number = 0
        if self.irs is not None:
            number = self.irs + 1 + (self.taken + (self.finished == self.taken) if ack is None else ack)
        head = struct.pack(">HHIIBBHHH", self.port, self.remote[1], self.isn + 1 + at & MASK,
                           number & MASK if flags & ACK else 0, 5 + len(options) // 4 << 4, flags,
                           self.window if window is None else window, 0, urgent) + options
        if fragments and len(data) > fragments:
            self.link.send_fragments(head, bytes(data), fragments)
        else:
            self.link.send(head, bytes(data), self.mss - (12 if self.stamps else 0))
        self.nxt = max(self.nxt, at + len(data) + (1 if flags & FIN else 0))

    def write(self, octets):
        """Adds octets to our stream, and returns the place of the first. Sends nothing."""
        self.out += octets
        return len(self.out) - len(octets)

    def segment(self, begin, end, flags=ACK | PSH, **how):
        """Sends a part of our stream. The segment has a FIN if the part includes the place of our
        FIN, which is the place after our last octet."""
        if self.end is not None and end > self.end:
            end, flags = self.end, flags | FIN
        self.emit(begin, self.out[begin:end], flags, **how)

    def send_fin(self, begin=None):
        """
        Ends our stream after all octets that write() has added, and sends the FIN. The segment also
        has the octets from the place begin on.
        """
        self.end = len(self.out)
        self.segment(self.end if begin is None else begin, self.end + 1)

    def send_rst(self, at=None):
        """
        Sends RST at a place of our stream. By default, this is the place after all octets that we
        have sent, where the other side expects the next octet.
        """
        self.emit(self.nxt if at is None else at, b"", RST | ACK)

    # receiving

    def pump(self, seconds=0):
        """ Waits up to this number of seconds for a packet, and processes all received packets.
        Returns whether there was a packet. """
        if seconds and not select.select([self.rx], [], [], seconds)[0]:
            return False
        some = False
        while True:
            try:
                frame = self.rx.recv(1 << 17, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return some
            packet = pcap.tcp(frame)
            if packet and (self.remote is None or packet.src == self.remote) and not self.loses(packet):
                some = True
                self.packets += 1
                self._packet(packet)

    def _learn(self, packet):
        at, options = 0, packet.options
        while at < len(options) and options[at]:
            size = options[at + 1] if options[at] != 1 else 1
            if options[at] == 3 and packet.flags & SYN:
                self.shift = options[at + 2]
            elif options[at] == 8:
                stamp = struct.unpack(">I", options[at + 2:at + 6])[0]
                self.stamp = stamp if distance(stamp, self.stamp) > 0 or packet.flags & SYN else self.stamp
            elif options[at] == 2 and packet.flags & SYN:
                self.mss = min(self.mss, struct.unpack(">H", options[at + 2:at + 4])[0])
            at += size
        if packet.flags & SYN and b"\x08\x0a" not in options:
            self.stamps = False

    def _packet(self, packet):
        if packet.flags & RST:
            # after both FINs, ignore a RST without ACK: the other side has already deleted the
            # connection, so this RST is only the answer to a late segment
            self.was_reset = self.was_reset or not self.over() or bool(packet.flags & ACK)
            return
        self._learn(packet)
        if packet.flags & SYN:
            self.irs, self.remote = packet.seq, packet.src
            if packet.flags & ACK and self.una >= 0 and self.nxt >= 0:
                self.emit(0)
            return
        if self.irs is None:
            return
        if packet.flags & ACK:
            self.una = max(self.una, self.una + distance(packet.ack, self.isn + 1 + self.una & MASK))
            self.room = self.una + (packet.window << self.shift)
        at = self.taken + distance(packet.seq, self.irs + 1 + self.taken & MASK)
        if packet.flags & FIN:
            self.finished = at + len(packet.payload)
        if packet.payload:
            self._data(at, packet.payload)
        # a segment before the next expected octet is a probe (of the window, or keepalive)
        if (packet.payload or packet.flags & FIN or at < self.taken) and self.answer:
            self.acknowledge()

    def over(self):
        """Returns whether both sides have ended by FIN."""
        return self.end is not None and self.una > self.end and self.taken == self.finished

    def acknowledge(self):
        """Sends an acknowledgment of all received octets, with our window."""
        self.emit(self.nxt)

    def _data(self, at, data):
        self.later[at] = max(self.later.get(at, b""), data, key=len)
        for begin in sorted(self.later):
            if begin > self.taken:
                return
            data = self.later.pop(begin)
            if begin + len(data) > self.taken:
                self.got += data[self.taken - begin:]
                self.taken = begin + len(data)

    # connections

    def open(self, to):
        """Connects to an (address, port); returns this Tcp."""
        self.link.find()
        self.remote = to
        wait = patience.Wait(PATIENCE)
        while self.irs is None:
            check(not self.was_reset, "no connection to", to)
            wait.check("no connection to %s" % (to,))
            self.emit(-1, b"", SYN)
            self.pump(1)
        return self

    def passive(self):
        """Waits for a connection of the other side, and accepts it; returns this Tcp."""
        self.link.find()
        wait = patience.Wait(PATIENCE)
        while self.irs is None:
            wait.check("no connection comes")
            self.pump(1)
        self.emit(-1, b"", SYN | ACK)
        while not self.una and not self.got and not self.room:
            check(not self.was_reset, "no connection from", self.remote)
            wait.check("no connection from %s" % (self.remote,))
            if not self.pump(1):
                self.emit(-1, b"", SYN | ACK)
        return self

    def settle(self, to=None, seconds=PATIENCE, piece=None):
        """
        Retransmits until the other side has acknowledged all octets of our stream before the place
        "to" (default: the end of our stream, with the FIN). piece(begin, end): a function that
        returns another part to send instead of this part.
        """
        to = len(self.out) + (self.end is not None) if to is None else to
        limit, wait = patience.Wait(seconds), AGAIN
        self.whole = max(self.whole, to)
        self.pump()
        while self.una < to and not self.was_reset:
            if not limit.left():
                raise Fail("%d octets, %d acknowledged, window up to %d" % (to, self.una, self.room))
            begin, end = self.una, min(self.una + self.mss - 12, to)
            self.segment(*(piece(begin, end) if piece else (begin, end)))
            quiet = time.monotonic() + wait
            before = self.una
            while self.una < to and time.monotonic() < quiet and self.pump(wait):
                pass
            wait = AGAIN if self.una > before else min(wait * 2, 1)
            if self.una > before:
                limit.moved()

    # the methods of a socket

    def setsockopt(self, level, option, value):
        """Only SO_LINGER has an effect."""
        if (level, option) == (socket.SOL_SOCKET, socket.SO_LINGER):
            self.linger = bool(struct.unpack("ii", value)[0])

    def settimeout(self, seconds):
        """Sets the time limit of recv()."""
        self.seconds = seconds

    def sendall(self, octets):
        """Adds octets to our stream, and sends them in the segments that cut() returns (default:
        full segments, in order)."""
        self.pump()
        begin, end = self.write(octets), len(self.out)
        for at in range(begin, end, BURST):
            if self.una < at:
                self.settle(at)
            for segment in self.cut(at, min(at + BURST, end)):
                if self.was_reset:
                    raise ConnectionResetError
                self.segment(*segment)
                self.pump()
        self.whole = end

    send = sendall

    def recv(self, most):
        """Returns up to "most" received octets, as socket.recv() does."""
        end, wait = patience.Wait(self.seconds), AGAIN
        while True:
            self.pump()
            if self.got:
                data = bytes(self.got[:most])
                del self.got[:most]
                return data
            if self.was_reset:
                raise ConnectionResetError
            if self.finished is not None and self.taken >= self.finished:
                return b""
            left = end.left()
            if not left:
                raise socket.timeout
            if not self.pump(min(left, wait)):
                self.idle()
                wait = min(wait * 2, 1)

    def again(self):
        """
        Retransmits one segment; recv() calls this while it waits, because octets that sendall() has
        sent may be lost.
        """
        if self.una < self.whole:
            self.segment(self.una, min(self.una + self.mss - 12, self.whole))

    def shutdown(self, _how):
        """Sends FIN after all octets that write() has added."""
        self.send_fin()

    def close(self):
        """Closes the connection. Sends RST if SO_LINGER is set, or if the connection has not ended by
        FINs of both sides."""
        if self.closed:
            return
        self.closed = True
        if self.remote and self.irs is not None:
            self.pump()
            if not self.was_reset and (self.linger or not self.over()):
                self._abort()
        self.rx.close()

    def _abort(self):
        """ Sends RST at each place where the other side may expect the next octet. A RST at another
        place has no effect; but the other side answers it, and this answer shows the right place.
        """
        for at in sorted({self.una, self.nxt}):
            self.send_rst(at)
        before, self.answer = self.packets, False
        if self.una != self.nxt and self.pump(0.05) and self.packets > before:
            self.send_rst(self.una)


class Listener:
    """A replacement of a listening socket, for one connection at a time; how: arguments of Tcp."""

    def __init__(self, link, **how):
        self.link, self.how = link, how
        self.tcp = Tcp(link, link.port(), **how)
        self.link.find()

    def getsockname(self):
        """Returns address and port."""
        return str(self.link.address), self.tcp.port

    def accept(self):
        """Waits for the connection; returns its Tcp, and (address, port) of the other side."""
        return self.tcp.passive(), self.tcp.remote

    def again(self):
        """Lets accept() wait for one more connection to the same port."""
        self.tcp = Tcp(self.link, self.tcp.port, **self.how)

    def close(self):
        """Closes the connection."""
        self.tcp.close()
