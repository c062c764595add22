# SPDX-License-Identifier: GPL-2.0
"""
Startup in overlapping segments, windows that close or shrink, and urgent data. The peer uses the
TCP of tcp.py.
"""
import time

import cuts
import fpdu
import mpa
from outcome import check, equal
from rows import row
from rows_attach import told
from rows_tcp import own, stream_of
from ulp import SUCCESS, WC_READ


@row("MPA-85")
def startup_overlaps(t):
    """The device understands a Request, and a Reply with an FPDU after it, in overlapping segments"""
    t.own_tcp()
    ulp = t.ulp()
    for seed in range(6):
        t.tcp = {"cut": lambda begin, end: cuts.schedule(t.rng, begin, end, 0)}
        conn = t.passive(ulp=ulp, pd=b"private data %d" % seed)
        equal(conn.event["data"], b"private data %d" % seed, "private data")
        conn.alive()
        conn = t.request(ulp=ulp)
        message = fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), b"at once %d" % seed))
        conn.peer.accept(mpa.C, pd=b"reply %d" % seed, more=message)
        event = ulp.event(id=conn.id, want="ESTABLISHED")
        equal(event["data"], b"reply %d" % seed, "private data")
        got = conn.poll()[0]
        equal((got.status, conn.received(0, 9)), (SUCCESS, b"at once %d" % seed), "the Send")


@row("MPA-85")
def attached_overlaps(t):
    """Startup in streaming mode, with the Reply and a message in overlapping segments"""
    t.own_tcp()
    for seed in range(4):
        serve, peer = told(t, b"connect\n")
        peer.await_request()
        peer.sock.cut = lambda begin, end: cuts.schedule(t.rng, begin, end, 0)
        text = b"message %d" % seed
        peer.accept(rev=1, more=fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, peer.next(0), text)))
        equal(peer.message(fpdu.SEND)[0].data, text, "the message back")
        equal(serve.line(), "connect: Success", "the program's line")


@row("OPT-14", "MPA-49")
def response_overlaps(t):
    """A Read Response in overlapping segments"""
    conn = own(t)
    data = t.rng.randbytes(20000)
    for n, ways in enumerate(cuts.WAYS):
        conn.tcp.cut = lambda begin, end, ways=ways: cuts.schedule(t.rng, begin, end, 0, [ways])
        conn.post("read", wr=n, sge="%d:%d:2000" % (conn.mr, n * 2000), stag=1, raddr=n * 2000)
        stag, offset = conn.peer.message(fpdu.READ_REQ)[0].read_request()[:2]
        part = data[n * 2000:n * 2000 + 2000]
        conn.peer.send(conn.peer.frame(*fpdu.segments(fpdu.READ_RESP, stag, offset, part, 700)))
        conn.tcp.settle()
        got = conn.poll()[0]
        equal((got.wr, got.status, got.opcode), (n, SUCCESS, WC_READ), "completion")
        equal(conn.memory(n * 2000, 2000), part, "memory")
    conn.alive()


@row("OPT-14", "MPA-49")
def other_octets_again(t):
    """A retransmission has different octets: the octets that came first count, for the CRC and for memory"""
    conn = own(t)
    places, data, text = stream_of(conn, [1000])
    tcp, base, evil = conn.tcp, places[0], bytes(1000)
    tcp.segment(base, base + 700)
    tcp.emit(base + 300, evil[:400] + tcp.out[base + 700:base + 800])
    tcp.emit(base + 1, evil[:799] + tcp.out[base + 800:base + 900])
    tcp.segment(base + 850, places[-1])
    tcp.settle()
    got = conn.poll()[0]
    equal((got.status, conn.received(0, len(text)), conn.memory(0, 1000)), (SUCCESS, text, data), "Send and memory")
    conn.alive()


@row("OPT-14", "MPA-49")
def large_fpdu_in_small_segments(t):
    """A long FPDU in small segments, which need more memory than the receive buffer has"""
    conn = own(t)
    tcp = conn.tcp
    for n in range(3):
        places, data, text = stream_of(conn, [60000])
        cut = [(at, min(at + 100, places[-1])) for at in range(places[0], places[-1], 97)]
        if n == 1:
            cut.reverse()
        if n == 2:
            cut = cut[::2] + [(begin - 20, end + 20) for begin, end in cut[1::2]]
        for begin, end in cut:
            tcp.segment(begin, min(end, places[-1]))
            tcp.pump()
        tcp.settle()
        got = conn.poll()[0]
        equal((got.status, conn.received(n, len(text))), (SUCCESS, text), "Send")
        check(conn.memory(0, 60000) == data, "memory")
    conn.alive()


def comes(conn, size):
    """Checks that a Send with the first size octets of the memory arrives."""
    data = b"".join(seg.data for seg in conn.peer.message(fpdu.SEND))
    check(data == conn.memory(0, size), "the octets are not those in memory: %d of %d" % (len(data), size))


def listen_for(tcp, seconds):
    """Processes received packets for some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tcp.pump(0.1)


def opens(conn, size):
    """Opens the peer's window again; checks that a Send of size octets arrives, and that it
    completes with success."""
    conn.tcp.window = 65535
    conn.tcp.acknowledge()
    comes(conn, size)
    equal(conn.poll()[0].status, SUCCESS, "status")


@row("MPA-88")
def zero_window(t):
    """The peer's window is closed for a second, then opens, at first to 0, 1 or 300 octets: the Send arrives whole"""
    conn = own(t)
    tcp = conn.tcp
    conn.ulp.set(mr=conn.mr, data=t.rng.randbytes(65536))
    for first in (0, 1, 300):
        tcp.window = 0
        tcp.acknowledge()
        conn.post("send", wr=1, sge="%d:0:50000" % conn.mr)
        listen_for(tcp, 1)
        check(not tcp.got, "the device sent octets into a closed window")
        tcp.window = first
        tcp.acknowledge()
        listen_for(tcp, 0.3)
        opens(conn, 50000)
    conn.alive()


@row("MPA-88")
def window_shrinks(t):
    """The peer's window shrinks below octets already sent; when the window opens, the Send arrives"""
    conn = own(t)
    tcp = conn.tcp
    conn.ulp.set(mr=conn.mr, data=t.rng.randbytes(65536))
    for room in (0, 1, 100, 3000):
        tcp.window, tcp.answer = 20000, False
        tcp.acknowledge()
        conn.post("send", wr=1, sge="%d:0:60000" % conn.mr)
        tcp.pump(1)
        tcp.window, tcp.answer = room, True
        tcp.emit(tcp.nxt, ack=max(tcp.taken - 5000, 0))
        listen_for(tcp, 0.3)
        opens(conn, 60000)
    conn.alive()


def urgently(tcp, begin, end):
    """
    Sends the octets from begin to end in segments with urgent pointers. In turn, an urgent pointer
    is 1, 2, the size of the segment, this size plus 1, and 30000.
    """
    for n, at in enumerate(range(begin, end, 50)):
        last = min(at + 50, end)
        tcp.segment(at, last, flags=0x38, urgent=(1, 2, last - at, last - at + 1, 30000)[n % 5])


@row("OPT-14", "MPA-49")
def urgent_octets(t):
    """The device takes TCP's urgent octets as octets of the stream"""
    conn = own(t)
    for n in range(3):
        places, data, text = stream_of(conn, [700, 1, 300])
        urgently(conn.tcp, places[0], places[-1])
        conn.tcp.settle()
        got = conn.poll()[0]
        equal((got.status, conn.received(n, len(text)), conn.memory(0, 1001)), (SUCCESS, text, data), "Send and memory")
    conn.alive()


@row("OPT-14", "MPA-85")
def urgent_octets_attached(t):
    """The device takes urgent octets as octets of the stream after a start in streaming mode, too"""
    t.own_tcp()
    _, peer = told(t, b"connect\n")
    peer.await_request()
    peer.accept(rev=1)
    tcp = peer.sock
    tcp.settle()
    for n in range(3):
        text = b"urgent %d" % n * 20
        begin = tcp.write(peer.frame(fpdu.untagged(fpdu.SEND, 0, peer.next(0), text)))
        urgently(tcp, begin, len(tcp.out))
        tcp.settle()
        equal(peer.message(fpdu.SEND)[0].data, text, "the message back")
