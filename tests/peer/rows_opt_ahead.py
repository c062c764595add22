# SPDX-License-Identifier: GPL-2.0
"""
RFC 5044 6 and appendix A.3: with the setting "ahead", the device places FPDUs that arrive while
octets before them are missing (a gap), and delivers all messages in order.

The peer uses the TCP of tcp.py, so the test leaves a gap as long as it needs. The device's TCP
acknowledges a segment only after the driver has seen it.
"""
import contextlib
import os

import fpdu
import patience
from case import MEM_FILL
from outcome import Skip, check, equal
from rows import row
from rows_sec_windows import window
from rows_tcp import own
from ulp import FLUSH, SUCCESS, WC_READ, WC_RECV

# Relaxed ordering: the process allows that the peer's Writes are stored in another order
RELAXED = "lwrx"
AT = 8192       # where the Write behind the gap is placed
SIZE = 1100     # its size


def ahead(t, access=RELAXED, **how):
    """Returns a connection as own() does, whose peer has to send markers and CRC, and whose device
    places ahead."""
    if "AHEAD" in os.environ.get("IWT_WITHOUT", "").split(","):
        raise Skip("this driver was built without placing ahead")
    t.setting("ahead", "on")
    conn = own(t, access=access, **how)
    check(conn.peer.tx.markers and conn.peer.tx.crc, "the device asks for markers and CRC")
    return conn


def add(conn, *ulpdus, **broken):
    """Adds FPDUs to the peer's stream, and sends nothing. Returns their begin and end."""
    begin = conn.tcp.write(conn.peer.frame(*ulpdus, **broken))
    return begin, len(conn.tcp.out)


def write(conn, offset, data, stag=None, **how):
    """Returns the ULPDU of a Write into the region of the connection."""
    return fpdu.tagged(fpdu.WRITE, conn.stag if stag is None else stag, conn.addr + offset, data, **how)


def send(conn, text):
    """Returns the ULPDU of a Send."""
    return fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), text)


def show(conn, *parts):
    """Sends these parts of the peer's stream, which are behind a gap, and waits until the device's
    TCP has answered each segment."""
    for begin, end in parts:
        before, wait = conn.tcp.packets, patience.Wait(20)
        conn.tcp.segment(begin, end)
        while conn.tcp.packets == before:
            wait.check("an acknowledgment of octets behind a gap")
            conn.tcp.pump(0.2)


@contextlib.contextmanager
def counted(t, placed, kept):
    """Checks how many FPDUs the device places ahead meanwhile, and how many of them it delivers
    without placing them again. None: any number"""
    before = t.counters()
    yield
    after = t.counters()
    for name, want in (("rx_ahead", placed), ("rx_ahead_kept", kept)):
        check(want is None or after[name] - before[name] == want, "%s:" % name, after[name] - before[name], want)


def completes(conn, text, number=0):
    """Checks that the receive with this number has completed with text."""
    got = conn.poll()[0]
    equal((got.wr, got.status, got.opcode, got.len), (number, SUCCESS, WC_RECV, len(text)), "completion")
    equal(conn.received(number, len(text)), text, "Send")


def holes(conn, at=AT, size=SIZE):
    """Checks that nothing was placed at this offset of the region."""
    equal(conn.memory(at, size), bytes([MEM_FILL]) * size, "memory behind the gap")


@row("MPA-1", "MPA-8", "MPA-52", "DDP-5", "OPT-10", "OPT-12", alone=True)
def placed_ahead(t):
    """A Write behind a gap is placed at once; when the gap closes, all messages are delivered in order"""
    conn = ahead(t)
    first, data, text = t.rng.randbytes(300), t.rng.randbytes(SIZE), b"after both Writes"
    add(conn, write(conn, 0, first))
    with counted(t, 1, 1):
        show(conn, add(conn, write(conn, AT, data)))
        equal(conn.memory(AT, SIZE), data, "memory behind the gap")
        show(conn, add(conn, send(conn, text)))
        equal(conn.memory(0, 300), bytes([MEM_FILL]) * 300, "memory of the missing Write")
        conn.none()
        conn.tcp.settle()
        completes(conn, text)
        equal(conn.memory(0, 300) + conn.memory(AT, SIZE), first + data, "memory")
    conn.alive()


@row("MPA-52", "DDP-5", "OPT-12", alone=True)
def many_placed_ahead(t):
    """A long Write in many segments, all but the first behind a gap, with Sends between the segments' messages"""
    conn = ahead(t, tcp={"isn": (1 << 32) - 9000}, recvs=4)
    data = t.rng.randbytes(20000)
    parts = [add(conn, one) for one in fpdu.segments(fpdu.WRITE, conn.stag, conn.addr, data, 1300)]
    parts.append(add(conn, send(conn, b"one")))
    parts += [add(conn, one) for one in fpdu.segments(fpdu.WRITE, conn.stag, conn.addr + 30000, data, 700)]
    parts.append(add(conn, send(conn, b"two")))
    writes = len(parts) - 2
    with counted(t, writes - 1, writes - 1):
        show(conn, *parts[1:])
        equal(conn.memory(1300, 18700), data[1300:], "memory")
        equal(conn.memory(30000, 20000), data, "memory")
        conn.none(100)
        conn.tcp.settle()
        for number, text in enumerate((b"one", b"two")):
            completes(conn, text, number)
    equal(conn.memory(0, 20000), data, "memory")
    conn.alive()


@row("MPA-52", "OPT-10", alone=True)
def cut_anywhere(t):
    """FPDUs behind a gap come in segments that are cut anywhere, and are found by their markers"""
    conn = ahead(t)
    data = t.rng.randbytes(9000)
    begin = add(conn, *fpdu.segments(fpdu.WRITE, conn.stag, conn.addr, data, 900))[0]
    _, end = add(conn, send(conn, b"x"))
    at, parts = begin + 1300, []
    while at < end:
        size = t.rng.choice((3, 60, 400, 1100))
        parts.append((at, min(at + size, end)))
        at += size
    with counted(t, None, None):
        show(conn, *parts)
        # the gap ends within the second FPDU; the others are found
        equal(conn.memory(1800, 7200), data[1800:], "memory")
        conn.tcp.settle()
        completes(conn, b"x")
    equal(conn.memory(0, 9000), data, "memory")
    conn.alive()


@row("MPA-52", "OPT-10", alone=True)
def two_gaps(t):
    """FPDUs behind a second gap are placed, too, even if the octets before it end within an FPDU"""
    conn = ahead(t)
    data = t.rng.randbytes(6000)
    parts = [add(conn, one) for one in fpdu.segments(fpdu.WRITE, conn.stag, conn.addr, data, 1000)]
    half = parts[2][0] + 500
    show(conn, parts[1], (parts[2][0], half), parts[4], parts[5])
    equal(conn.memory(1000, 1000) + conn.memory(4000, 2000), data[1000:2000] + data[4000:], "memory")
    show(conn, (half, parts[2][1]), parts[3])
    add(conn, send(conn, b"x"))
    conn.tcp.settle()
    completes(conn, b"x")
    equal(conn.memory(0, 6000), data, "memory")
    conn.alive()


def waits(t, conn, *behind, at=AT, size=SIZE):
    """The messages "behind" a gap are not placed before the gap closes, and then they are."""
    add(conn, write(conn, 0, b"first"))
    with counted(t, 0, 0):
        show(conn, add(conn, *behind))
        holes(conn, at, size)
        conn.none(100)
        conn.tcp.settle()
        conn.alive()


@row("DDP-5", alone=True)
def needs_consent(t):
    """Without relaxed ordering, with atomic rights, or with the setting "ahead" off, a Write behind a gap waits"""
    data = t.rng.randbytes(SIZE)
    for access in ("lwr", "lwrax"):
        conn = ahead(t, access=access)
        waits(t, conn, write(conn, AT, data))
        equal(conn.memory(AT, SIZE), data, "memory")
    t.setting("ahead", "off")
    for markers in ("on", "off"):
        t.setting("markers", markers)
        conn = own(t, access=RELAXED)
        waits(t, conn, write(conn, AT, data))
        equal(conn.memory(AT, SIZE), data, "memory")


@row("DDP-5", alone=True)
def windows_wait(t):
    """A Write behind a gap waits if a window is bound to the region, whether it uses the window or the region"""
    data = t.rng.randbytes(SIZE)
    for use in ("region", "window"):
        conn = ahead(t, access=RELAXED + "b")
        _, stag, at = window(conn, off=AT, size=SIZE, access="wr")
        equal(at, conn.addr + AT, "tagged offset of the window")
        waits(t, conn, write(conn, AT, data, stag=stag if use == "window" else None))
        equal(conn.memory(AT, SIZE), data, "memory")
    # the same region after its last window is gone
    conn = ahead(t, access=RELAXED + "b")
    _, stag, _ = window(conn, off=AT, size=SIZE, access="wr")
    conn.post("inv", inv=stag)
    equal(conn.poll()[0].status, SUCCESS, "the invalidation")
    add(conn, write(conn, 0, b"first"))
    with counted(t, 1, 1):
        show(conn, add(conn, write(conn, AT, data)))
        equal(conn.memory(AT, SIZE), data, "memory")
        conn.tcp.settle()
        conn.alive()


@row("DDP-5", "MPA-1", alone=True)
def only_perfect_writes(t):
    """A Send, a Response without a Read, and Writes with a wrong STag, bounds or version wait behind a gap"""
    conn = ahead(t)
    text = t.rng.randbytes(200)
    add(conn, write(conn, 0, b"first"))
    with counted(t, 0, 0):
        show(conn, add(conn, send(conn, text)))
        equal(conn.received(0, 200), bytes(200), "the receive buffer")
        conn.none(100)
        conn.tcp.settle()
        completes(conn, text)
    data, stag = t.rng.randbytes(SIZE), 0
    for ulpdu, term in ((lambda c: write(c, AT, data, stag=c.stag ^ 1), (1, 1, 0)),
                        (lambda c: write(c, 65536 - 10, data), (1, 1, 1)),
                        (lambda c: fpdu.tagged(fpdu.READ_RESP, c.stag, c.addr + AT, data), (0, 2, 6)),
                        (lambda c: fpdu.tagged(fpdu.WRITE, c.stag, c.addr + AT, data, dv=0), (1, 1, 4))):
        conn = ahead(t)
        add(conn, write(conn, 0, b"first"))
        bad, stag = ulpdu(conn), stag + 1
        with counted(t, 0, 0):
            show(conn, add(conn, bad))
            holes(conn)
            conn.tcp.settle()
            conn.peer.expect_term(*term, of=bad)
        holes(conn)


@row("MPA-52", "MPA-1", alone=True)
def bad_crc_waits(t):
    """An FPDU behind a gap has a wrong CRC: it is not placed, and in its turn it ends the stream before what follows"""
    conn = ahead(t)
    data = t.rng.randbytes(SIZE)
    add(conn, write(conn, 0, b"first"))
    with counted(t, 0, 0):
        show(conn, add(conn, write(conn, AT, data), crc_xor=1))
        show(conn, add(conn, send(conn, b"behind")))
        holes(conn)
        conn.tcp.settle()
        conn.peer.expect_term(2, 0, 2)
    holes(conn)
    equal(conn.memory(0, 5), b"first", "memory")
    equal(conn.poll()[0].status, FLUSH, "the receive")


@row("MPA-90", alone=True)
def contradicts_what_was_placed(t):
    """The octets that close the gap make an FPDU that ends within an FPDU that was placed: the markers disagree"""
    conn = ahead(t)
    data = t.rng.randbytes(SIZE)
    framer = conn.peer.tx
    was = framer.pos
    begin, _ = add(conn, write(conn, 0, bytes(200)))
    behind = add(conn, write(conn, AT, data))
    with counted(t, 1, 0):
        show(conn, behind)
        # another version of the stream from the gap on: one FPDU in place of both
        del conn.tcp.out[begin:]
        framer.pos = was
        begin, end = add(conn, write(conn, 0, bytes(700)))
        check(behind[0] < end < behind[1], "the FPDU ends within the FPDU that was placed")
        add(conn, write(conn, 16384, bytes(1000)))
        conn.tcp.segment(begin, len(conn.tcp.out))
        conn.peer.expect_term(2, 0, 3, hdr=(0, b""))


@row("OPT-11", "DDP-11", alone=True)
def first_copy_stays(t):
    """Octets behind a gap are sent again with other octets and a valid CRC: the octets that were placed stay"""
    conn = ahead(t)
    data, text = t.rng.randbytes(SIZE), b"after"
    framer = conn.peer.tx
    begin, _ = add(conn, write(conn, 0, b"first"))
    was = framer.pos
    with counted(t, 1, 1):
        place, end = add(conn, write(conn, AT, data))
        show(conn, (place, end))
        equal(conn.memory(AT, SIZE), data, "memory")
        del conn.tcp.out[place:]
        framer.pos = was
        add(conn, write(conn, AT, t.rng.randbytes(SIZE)))
        conn.tcp.segment(begin, end)
        add(conn, send(conn, text))
        conn.tcp.settle()
        completes(conn, text)
    equal(conn.memory(AT, SIZE), data, "memory")
    conn.alive()


@row("DDP-5", "MPA-1", alone=True)
def ends_meanwhile(t):
    """A Write was placed ahead; before its turn, the region or the connection ends, or the region changes"""
    data = t.rng.randbytes(SIZE)

    for how in ("dereg", "rereg"):
        conn, bad = begun_with_other(t, data)
        conn.ulp.cmd(how, mr=conn.mr, access=RELAXED if how == "rereg" else None)
        conn.tcp.settle()
        conn.peer.expect_term(1, 1, 0, of=bad)
    for end in ("rst", "fin", "err", "kill"):
        conn, bad = begun_with_other(t, data)
        if end == "rst":
            conn.tcp.send_rst(conn.tcp.una)
        elif end == "fin":
            conn.tcp.send_fin()
            conn.tcp.settle()
        elif end == "err":
            conn.ulp.cmd("modify", id=conn.id, state=6)
        else:
            conn.ulp.close()
            continue
        equal(conn.poll()[0].status, FLUSH, "the receive after " + end)


def begun_with_other(t, data):
    """Returns a connection with a Write that was placed ahead, and the ULPDU of this Write. The Write
    that is missing goes to another region."""
    conn = ahead(t)
    other = conn.ulp.new()
    stag = conn.ulp.mr(mr=other, len=4096, access="lw")
    add(conn, fpdu.tagged(fpdu.WRITE, stag["stag"], stag["addr"], b"first"))
    bad = write(conn, AT, data)
    show(conn, add(conn, bad))
    equal(conn.memory(AT, SIZE), data, "memory")
    return conn, bad


@row("MPA-52", alone=True)
def image_in_payload(t):
    """Payload is an image of an FPDU, and a segment behind a gap begins with the image: nothing is placed"""
    conn = ahead(t)
    data = t.rng.randbytes(300)
    at = conn.peer.tx.pos + (4 if conn.peer.tx.pos % 512 == 0 else 0) + 16
    skip = 512 - at % 512       # the image begins behind a marker
    image = fpdu.Framer().fpdu(write(conn, AT, data))
    begin, end = add(conn, write(conn, 0, bytes(skip) + image + bytes(900)))
    where = bytes(conn.tcp.out[begin:end]).find(image)
    check(where > 0, "the image lies between two markers")
    with counted(t, 0, 0):
        show(conn, (begin + where, end))
        holes(conn)
        conn.tcp.settle()
        conn.alive()
    holes(conn)
    equal(conn.memory(skip, len(image)), image, "memory")


@row("OPT-10", "OPT-12", alone=True)
def more_than_fit(t):
    """More messages behind a gap than the device remembers, and segments of one octet"""
    conn = ahead(t)
    data = t.rng.randbytes(50 * 64)
    add(conn, write(conn, 60000, b"first"))
    parts = [add(conn, write(conn, n * 128, data[n * 64:n * 64 + 64])) for n in range(50)]
    with counted(t, 32, 32):
        show(conn, (parts[0][0], parts[20][1]), (parts[20][1], parts[-1][1]))
        conn.tcp.settle()
        conn.alive()
    for n in range(50):
        equal(conn.memory(n * 128, 64), data[n * 64:n * 64 + 64], "memory")
    add(conn, write(conn, 60000, b"second"))
    begin, end = add(conn, write(conn, AT, data[:300]))
    add(conn, send(conn, b"x"))
    with counted(t, None, None):
        show(conn, *((n, n + 1) for n in range(end - 1, begin - 1, -1)))
        conn.tcp.settle()
        completes(conn, b"x")
    equal(conn.memory(AT, 300), data[:300], "memory")
    conn.alive()


@row("DDP-5", "MPA-1", alone=True)
def response_ahead(t):
    """A part of a Response behind a gap is placed if it answers the only Read, and waits if there are two Reads"""
    for reads in (1, 2):
        conn = ahead(t, swr=8)
        data = t.rng.randbytes(3000)
        for n in range(reads):
            conn.post("read", wr=50 + n, sge="%d:%d:3000" % (conn.mr, 8192 * n), stag=77, raddr=0)
        asked = [list(conn.peer.message(fpdu.READ_REQ))[0].read_request() for _ in range(reads)]
        sink = asked[0]
        parts = [add(conn, one) for one in fpdu.segments(fpdu.READ_RESP, sink[0], sink[1], data, 1000)]
        with counted(t, 2 if reads == 1 else 0, 2 if reads == 1 else 0):
            show(conn, parts[1], parts[2])
            if reads == 1:
                equal(conn.memory(1000, 2000), data[1000:], "memory")
            else:
                holes(conn, 0, 3000)
            conn.none(100)
            conn.tcp.settle()
            got = conn.poll()[0]
            equal((got.wr, got.status, got.opcode), (50, SUCCESS, WC_READ), "completion")
        equal(conn.memory(0, 3000), data, "memory")


@row("DDP-5", "MPA-1", alone=True)
def response_of_another_read(t):
    """A part of a Response was placed for one Read, but at its turn answers a later Read into the same
    sink: it is placed again"""
    conn = ahead(t, swr=8)
    data, text, size = t.rng.randbytes(1000), t.rng.randbytes(1000), 1000

    def read():
        conn.post("read", wr=50, sge="%d:0:%d" % (conn.mr, size), stag=77, raddr=0)
        return list(conn.peer.message(fpdu.READ_REQ))[0].read_request()

    sink = read()
    begin, _ = add(conn, fpdu.tagged(fpdu.READ_RESP, sink[0], sink[1], text))
    hole, _ = add(conn, write(conn, AT, b"between"))
    behind = add(conn, fpdu.tagged(fpdu.READ_RESP, sink[0], sink[1], data))
    with counted(t, 1, 0):
        show(conn, behind)
        equal(conn.memory(0, size), data, "memory behind the gap")
        conn.tcp.segment(begin, hole)
        equal((conn.poll()[0].status, conn.memory(0, size)), (SUCCESS, text), "the first Read")
        equal(read()[:2], sink[:2], "the sink of the second Read")
        conn.tcp.settle()
        equal((conn.poll()[0].status, conn.memory(0, size)), (SUCCESS, data), "the second Read")
    conn.alive()


def dropped(t):
    """Returns how often the device's TCP has dropped octets behind a gap that it had acknowledged."""
    lines = t.place.run("cat", "/proc/net/netstat", capture_output=True, text=True).stdout.splitlines()
    names, values = [line.split()[1:] for line in lines if line.startswith("TcpExt:")]
    return int(dict(zip(names, values))["OfoPruned"])


@contextlib.contextmanager
def small_buffer(t):
    """TCP's receive buffers are small meanwhile."""
    was = t.place.run("sysctl", "-n", "net.ipv4.tcp_rmem", capture_output=True, text=True).stdout.strip()
    t.place.run("sysctl", "-qw", "net.ipv4.tcp_rmem=4096 16384 32768")
    try:
        yield
    finally:
        t.place.run("sysctl", "-qw", "net.ipv4.tcp_rmem=" + was)


@row("OPT-10", "OPT-11", alone=True)
def tcp_drops_what_was_placed(t):
    """TCP drops octets that were placed ahead, and the peer sends others in their place: the first stay"""
    with small_buffer(t):
        stays_when_dropped(t)


def stays_when_dropped(t):
    """The body of tcp_drops_what_was_placed()."""
    conn = ahead(t)
    data, text = t.rng.randbytes(SIZE), b"after all"
    framer, wait = conn.peer.tx, patience.Wait(60)
    begin, end = add(conn, write(conn, 0, t.rng.randbytes(5000)))
    was = framer.pos
    with counted(t, 1, 1):
        show(conn, add(conn, write(conn, AT, data)))
        equal(conn.memory(AT, SIZE), data, "memory")
        before = dropped(t)
        # pieces with gaps between them, which TCP cannot join, need much memory
        while dropped(t) == before:
            wait.check("octets that TCP drops")
            for at in range(begin + 40, end - 40, 40):
                conn.tcp.segment(at, at + 20)
            conn.tcp.pump(0.2)
        del conn.tcp.out[end:]
        framer.pos = was
        add(conn, write(conn, AT, t.rng.randbytes(SIZE)), send(conn, text))
        conn.tcp.settle()
        completes(conn, text)
    equal(conn.memory(AT, SIZE), data, "memory")
    conn.alive()
