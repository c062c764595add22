# SPDX-License-Identifier: GPL-2.0
"""RFC 5044 4.5, 5.1 and appendices A and B: sizes of FPDUs, and where segments begin."""
import json
import socket
import struct
import subprocess

import fpdu
import mpa
import patience
import stream
from case import Closing, Conn
from outcome import Skip, check, equal
from peer import Peer
from rows import row, stated
from ulp import SUCCESS

stated("absent", "TCP divides the stream by its MSS, and DF is set (OPT-16), so this end sends no fragments", "OPT-4")
stated("design", "sock.c: prepare() sets TCP_NODELAY on every socket of the kernel; tx.c packs only messages that are already posted", "OPT-7", "OPT-9")
stated("host", "the kernel's IP reassembles fragments", "OPT-17")
stated("design", "rx.c: take_fpdus() reads FPDUs in TCP's buffers, and copies the payload once, to its destination",
       "OPT-20")

LEAST, MOST = 128, 64768
# the least EMSS at which two FPDUs with markers may share a segment
LEAST_DIVIDED = 288


def mulpdu(emss, markers=False):
    """
    Returns the MULPDU for an EMSS, as RFC 5044 4.5 defines it; markers: whether the stream has
    markers.
    """
    size = emss - (6 + emss % 4 + (4 * -(-emss // 512) if markers else 0))
    return min(max(size, LEAST), MOST)


def emss_of(peer):
    """Returns the device's EMSS. This is the peer's tcpi_advmss: the MSS that the peer advertises,
    minus the timestamp option."""
    return struct.unpack("=I", peer.sock.getsockopt(socket.IPPROTO_TCP, 11, 104)[84:88])[0]


def roomy(t, ulp, flags=mpa.C, mss=None, listener=None, first=True, **how):
    """
    Makes a connection whose responder is the device, and whose peer has a large window and
    advertises mss (None: the MSS that TCP chooses); returns its Conn. listener: the result of
    t.listener(), if it exists; first: the peer sends the first FPDU; how: arguments of t.equip().
    """
    number, port = listener or t.listener(ulp)
    if t.place.path == "proxy" or not t.place.lossless:
        raise Skip("the proxy makes the segments, or segments get lost")
    sock = t.keep(patience.Socket(socket.AF_INET6 if ":" in t.place.there else socket.AF_INET))
    sock.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)     # SO_RCVBUFFORCE
    if mss:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
    sock.settimeout(60)
    sock.connect((t.place.there, port))
    peer = t.keep(Peer(sock))
    peer.request(flags)
    event = ulp.event(id=number, want="CONNECT_REQUEST")
    conn = Conn(peer, ulp, event["new"])
    t.equip(conn, **how)
    ulp.accept(id=conn.id)
    conn.reply = peer.reply()
    ulp.event(id=conn.id, want="ESTABLISHED")
    if first:
        peer.put_write()
    return conn


def send(conn, size, wr=1, off=0):
    conn.post("send", wr=wr, sge="%d:%d:%d" % (conn.mr, off, size) if size else None, flags="u")


@row("MPA-3", "MPA-4", "MPA-5", "MPA-39", "MPA-40", "MPA-45", "OPT-2", "OPT-6")
def full_segments(t):
    """Long messages: every FPDU but the last has the size that the EMSS gives; each segment holds one FPDU"""
    ulp = t.ulp()
    if t.place.interface == "lo":
        raise Skip("long_segments() tests the loopback interface")
    for flags in (mpa.C, mpa.C | mpa.M):
        for mss in (None, 1400, 1001, 1002, 1003, 536, 512, 300, 152):
            undisturbed(t, ulp, one_message, flags, mss)


def one_message(t, ulp, listener, flags, mss):
    """Makes the device send a long message. Returns the function for undisturbed() that checks the
    TCP segments."""
    conn = roomy(t, ulp, flags, mss, listener)
    emss = emss_of(conn.peer)
    want = mulpdu(emss, flags & mpa.M)
    send(conn, 30000)
    segs = conn.peer.message(fpdu.SEND)
    count = filled(segs[:-1], emss, want) if flags & mpa.M and emss >= LEAST_DIVIDED else len(segs)
    sizes = {len(seg.ulpdu) for seg in segs[:-1]}
    if count == len(segs):
        equal(sizes, {want}, "ULPDUs, EMSS %d, flags %x" % (emss, flags))
    check(len(segs[-1].ulpdu) <= want, "the last ULPDU:", len(segs[-1].ulpdu))
    conn.peer.fin()
    conn.peer.expect_fin()
    return lambda seen, packets: equal(seen.responder.alignment(), (count,) * 3 + (len(segs),),
                                       "segments, EMSS %d, flags %x" % (emss, flags))


@row("MPA-39", "MPA-45")
def full_batches(t):
    """A message of many of TCP's batches, with markers: FPDUs fill all segments, also at the end of a batch"""
    if t.place.interface == "lo":
        raise Skip("two segments of lo are longer than the message")
    conn = roomy(t, t.ulp(), mpa.C | mpa.M)
    emss, size = emss_of(conn.peer), 2000000
    mr = conn.ulp.new()
    conn.ulp.mr(mr=mr, len=size, access="l", fill=0)
    conn.post("write", wr=1, sge="%d:0:%d" % (mr, size), stag=0x100, raddr=0)
    filled(conn.peer.message(fpdu.WRITE)[:-1], emss, mulpdu(emss, True))
    equal([wc.wr for wc in conn.poll()], [1], "completion")


def filled(segs, emss, most):
    """
    Checks that FPDUs with markers fill TCP's segments, although a ULPDU of the length "most" leaves a
    rest if its FPDU contains fewer markers than the MULPDU allows for: then two FPDUs share the
    segment. The last segment may be shorter. Returns the number of segments.
    """
    count, room = 0, 0
    for seg in segs:
        check(len(seg.ulpdu) <= most, "a ULPDU:", len(seg.ulpdu), most)
        if not room:
            count, room = count + 1, emss - emss % 4
            check(len(seg.ulpdu) == most or seg.size < room, "one FPDU in a segment:", len(seg.ulpdu), most)
        room -= seg.size
        # a marker must not be at the end of an FPDU
        if room == 4 and (seg.pos + seg.size) % 512 == 0:
            room = 0
        check(room >= 0, "FPDUs end with the segment:", seg.size, room)
        check(room == 0 or seg.size < emss // 2 + 8, "a segment is not full:", seg.size, room)
    # the last FPDU of the message has its own segment, or follows one that left room
    return count + (room == 0)


def undisturbed(t, ulp, exchange, *args):
    """
    Repeats an exchange of messages until TCP retransmits nothing during the exchange, and then
    checks its segments. (After a retransmission, a D-SACK option makes the next segments shorter,
    so FPDUs that were made before are longer than these segments, RFC 5044 5.1.) exchange(t, ulp,
    listener, *args) returns a function f(stream.Connection, packets of the device), which checks
    the segments.
    """
    for _ in range(10):
        listener = t.listener(ulp)
        capture = t.capture(listener[1])
        judge = exchange(t, ulp, listener, *args)
        packets = capture.stop()
        if capture.lost:
            continue
        (seen,) = stream.connections(packets).values()
        check(seen.responder, "no startup frames:",
              ["%x %x+%d" % (p.flags, p.seq, len(p.payload)) for p in packets[:12]])
        check(not seen.problems, "problems:", seen.problems)
        if not seen.initiator.flow.again and not seen.responder.flow.again:
            judge(seen, [p for p in packets if p.src[1] == listener[1]])
            return
    raise Skip("in all 10 attempts TCP retransmitted, or the capture lost packets")


def mtu_of(t, run, name, mtu):
    """
    Changes the MTU of the interface name until the end of the test. run: a function that runs a
    command on the side of this interface.
    """
    shown = run("ip", "-j", "link", "show", name, capture_output=True, text=True).stdout
    was = json.loads(shown)[0]["mtu"]
    t.keep(Closing(lambda: run("ip", "link", "set", name, "mtu", str(was), capture_output=True)))
    done = run("ip", "link", "set", name, "mtu", str(mtu), capture_output=True, text=True)
    check(done.returncode == 0, "MTU of %s:" % name, done.stderr)


@row("MPA-5", "MPA-6", "MPA-3", alone=True)
def long_segments(t):
    """With segments of 64 KiB a ULPDU has at most 64768 octets"""
    if t.place.path == "proxy" or not t.place.lossless:
        raise Skip("the proxy makes the segments, or segments get lost")
    if t.place.interface != "lo":
        mtu_of(t, lambda *words, **how: subprocess.run(words, check=False, **how), t.place.interface, 65535)
        mtu_of(t, t.place.run, device_interface(t), 65535)
    ulp = t.ulp()
    for flags in (mpa.C, mpa.C | mpa.M):
        conn = roomy(t, ulp, flags)
        number = ulp.new()
        ulp.mr(mr=number, len=1 << 20, access="l", fill=1)
        for _ in range(8):
            conn.post("send", wr=1, sge="%d:0:1048576" % number)
            segs = conn.peer.message(fpdu.SEND)
            equal(sum(len(seg.data) for seg in segs), 1 << 20, "size")
            most = max(len(seg.ulpdu) for seg in segs)
            check(most <= MOST, "a ULPDU of %d" % most)
        # TCP limits a segment to half of the largest window that the peer has advertised, and
        # this may be less than the MTU allows
        check(most > 16000, "the longest ULPDU:", most)


@row("MPA-43")
def tiny_segments(t):
    """If the EMSS is below 128, MULPDU is still 128, and the peer gets the right data"""
    ulp = t.ulp()
    for flags in (mpa.C, mpa.C | mpa.M):
        conn = roomy(t, ulp, flags, 88)
        check(emss_of(conn.peer) < LEAST, "EMSS:", emss_of(conn.peer))
        data = t.rng.randbytes(20000)
        conn.ulp.set(mr=conn.mr, off=0, data=data)
        send(conn, len(data))
        segs = conn.peer.message(fpdu.SEND)
        check(b"".join(seg.data for seg in segs) == data, "data")
        equal({len(seg.ulpdu) for seg in segs[:-1]}, {LEAST}, "ULPDUs")


def mixed(t, ulp, listener, flags=mpa.C, before=None):
    """
    Makes the device send messages of many sizes together: the messages wait for the peer's first
    FPDU. Returns their DDP Segments. before: a function that runs after the connection is
    established.
    """
    conn = roomy(t, ulp, flags, listener=listener, first=False, swr=256, depth=600)
    if before:
        before()
    sizes = [0, 1, 4, 20, 100, 333, 700, 1200, 1428, 1430, 1431, 1500, 2900, 5000, 10000, 30000]
    for size in sizes:
        send(conn, size)
    for _ in range(200):
        send(conn, t.rng.choice(sizes))
    conn.peer.put_write()
    segs = []
    for _ in range(216):
        segs += conn.peer.message(fpdu.SEND)
    conn.peer.fin()
    conn.peer.expect_fin()
    return segs


@row("OPT-1", "OPT-8", "MPA-41", "MPA-44", "MPA-46", "MPA-47", "OPT-16", "OPT-13")
def segments_aligned(t):
    """
    Messages of many sizes: segments hold whole FPDUs only, several if they fit; SACK and DF are used

    At least 99% of the segments begin with an FPDU, and at least 99% end with the end of an FPDU.
    """
    if t.place.interface == "lo":
        raise Skip("segments are longer than all messages that wait")
    ulp = t.ulp()
    for flags in (mpa.C, mpa.C | mpa.M):
        undisturbed(t, ulp, many_messages, flags)


def many_messages(t, ulp, listener, flags):
    """Runs mixed(). Returns the function for undisturbed() that checks the TCP segments."""
    segs = mixed(t, ulp, listener, flags)

    def judge(seen, packets):
        (syn,) = [p for p in packets if p.flags & 2]
        check(b"\x04\x02" in syn.options, "SACK:", syn.options)
        check(all(p.df for p in packets), "DF")
        count, begin, end, fpdus = seen.responder.alignment()
        equal(fpdus, len(segs), "FPDUs")
        check(begin >= 0.99 * count and end >= 0.99 * count,
              "of %d segments %d begin with an FPDU, %d end with one" % (count, begin, end),
              [p for p in seen.responder.flow.pieces if p[0] >= seen.responder.start and
               (p[0] not in seen.responder.starts or sum(p) not in seen.responder.ends)][:12])
        check(fpdus > 1.05 * count, "%d FPDUs in %d segments: none are packed" % (fpdus, count))
        least = min(len(seg.ulpdu) for seg in segs if not seg.last)
        check(least >= LEAST, "a message was cut into ULPDUs below 128:", least)

    return judge


@row("OPT-5", alone=True)
def sent_again(t):
    """Segments are lost and sent again: the stream is right, and most segments still begin with an FPDU"""
    if t.place.interface == "lo":
        raise Skip("the loopback interface loses no packets")
    ulp = t.ulp()
    late, loss = 0, []
    # Repeat until a packet is lost: TCP may send many segments as one packet, and then the packets
    # may be too few for a loss.
    for _ in range(10):
        listener = t.listener(ulp)
        capture = t.capture(listener[1])
        mixed(t, ulp, listener, before=lambda: loss.append(lossy(t, "loss", "8%")))
        loss.pop().close()
        (seen,) = stream.connections(capture.stop()).values()
        check(not seen.problems, "problems:", seen.problems)
        pieces = seen.responder.flow.pieces
        late = sum(1 for (a, _), (b, _) in zip(pieces, pieces[1:]) if b < a)
        if late:
            break
    check(late, "no packet was lost")
    count, begin, _, _ = seen.responder.alignment()
    # some segments may begin elsewhere: after the peer has reported missing octets, TCP may cut
    # the octets in its queue at other places. Octets that the device passes to TCP later begin a
    # new segment.
    check(begin >= 0.7 * count, "of %d segments %d begin with an FPDU" % (count, begin), [
        (at, size) for at, size in seen.responder.flow.pieces if at >= seen.responder.start and at not in seen.responder.starts][:12])


def device_interface(t):
    """Returns the name of the network interface on the device's side."""
    text = t.place.run("ip", "-o", "route", "get", t.place.here, capture_output=True, text=True).stdout
    return text.split(" dev ")[1].split()[0]


def lossy(t, *words):
    """Applies netem with these options to the packets that the device's side sends, until the end
    of the test. Returns an object whose close() removes netem."""
    name = device_interface(t)
    done = t.place.run("tc", "qdisc", "replace", "dev", name, "root", "netem", *words, capture_output=True)
    if done.returncode:
        raise Skip("no netem here")
    return t.keep(Closing(lambda: t.place.run("tc", "qdisc", "del", "dev", name, "root", capture_output=True)))


@row("MPA-42", "OPT-3", "OPT-19", "OPT-2", alone=True)
def mtu_changes(t):
    """The MTU shrinks and grows during a stream: MULPDU follows it, and no data are lost"""
    if t.place.interface == "lo":
        raise Skip("other tests use the loopback interface too")
    name = device_interface(t)
    shown = t.place.run("ip", "-j", "link", "show", name, capture_output=True, text=True).stdout
    mtu = json.loads(shown)[0]["mtu"]

    def change(value):
        t.place.run("ip", "link", "set", name, "mtu", str(value))
    ulp = t.ulp()
    for flags in (mpa.C, mpa.C | mpa.M):
        conn = roomy(t, ulp, flags)
        data = t.rng.randbytes(60000)
        conn.ulp.set(mr=conn.mr, off=0, data=data)
        full, segs = emss_of(conn.peer), []
        t.keep(Closing(lambda: change(mtu)))
        for value in (mtu, 1300, 1280, mtu - 100, mtu):
            change(value)
            for _ in range(2):
                for _ in range(4):
                    send(conn, len(data))
                for _ in range(4):
                    before, segs = segs, conn.peer.message(fpdu.SEND)
                    check(b"".join(seg.data for seg in segs) == data, "data, MTU %d" % value)
            # check only the last message: the device may have made the first FPDUs for the old MTU
            emss = full - (mtu - value)
            want = mulpdu(emss, flags & mpa.M)
            if flags & mpa.M:
                # each FPDU has the longest ULPDU, or shares a segment with another FPDU (filled())
                equal(max(len(seg.ulpdu) for seg in segs), want, "the longest ULPDU, MTU %d" % value)
                odd = [seg for seg in segs[1:-1] if len(seg.ulpdu) != want and seg.size >= emss // 2 + 8]
                check(not odd, "an FPDU that is neither longest nor half, MTU %d:" % value, odd)
                continue
            equal({len(seg.ulpdu) for seg in segs[1:-1]}, {want}, "ULPDUs, MTU %d" % value)
            # The first FPDU also has this size; or it fills the rest of the TCP segment in which
            # the previous message ended.
            left = emss - before[-1].size - segs[0].size
            check(len(segs[0].ulpdu) == want or 0 <= left < 4, "the first ULPDU, MTU %d:" % value, segs[0], left)
        conn.alive()


def arrivals(conn, rng):
    """
    Yields (pieces, number of Sends): FPDUs with Sends in pieces that the peer writes one after the
    other. The pieces are whole FPDUs, several FPDUs, parts of an FPDU, or parts of several FPDUs.
    """
    def one(size):
        return conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), rng.randbytes(size)))
    yield [one(100)], 1
    yield [one(1) + one(200) + one(0) + one(37)], 4
    octets = one(180)
    yield [octets[:60], octets[60:61], octets[61:]], 1
    first, second = one(90), one(120)
    yield [first[:50], first[50:] + second[:10], second[10:]], 2
    parts = [one(n) for n in (10, 150, 3, 99)]
    yield [parts[0] + parts[1][:33], parts[1][33:] + parts[2], parts[3]], 4


def arrive(t, conn, turns):
    """Lets the peer send all arrivals() "turns" times, and checks that every Send completes."""
    for _ in range(turns):
        wr = 0
        for pieces, count in arrivals(conn, t.rng):
            for piece in pieces:
                conn.peer.send(piece)
            wr += count
        got = conn.poll(wr)
        equal([wc.status for wc in got], [SUCCESS] * wr, "status")
        equal([wc.len for wc in got], [100, 1, 200, 0, 37, 180, 90, 120, 10, 150, 3, 99], "sizes")


@row("OPT-14", "OPT-15", "MPA-48")
def arrival(t):
    """The device receives FPDUs that come whole, several in a segment, in parts, unaligned, or mixed"""
    conn = t.passive(recvs=240, rwr=240, depth=500)
    arrive(t, conn, 20)
    conn.alive()


@row("OPT-14", "OPT-15", "MPA-48", alone=True)
def arrival_disordered(t):
    """The device receives whole, split and unaligned FPDUs in segments that are late, out of order or doubled"""
    if t.place.interface == "lo" or not t.place.lossless:
        raise Skip("needs a link without losses that is not the loopback interface")
    words = ["tc", "qdisc", "replace", "dev", t.place.interface, "root", "netem",
             "delay", "2ms", "1ms", "reorder", "60%", "50%", "duplicate", "10%"]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        raise Skip("no netem here")
    t.keep(Closing(lambda: subprocess.run(["tc", "qdisc", "del", "dev", t.place.interface, "root"], check=False)))
    conn = t.passive(recvs=240, rwr=240, depth=500)
    arrive(t, conn, 20)
    conn.alive()


@row("OPT-18", "MPA-48")
def long_fpdus(t):
    """
    The device takes an FPDU of MTU size in single octets, and FPDUs longer than TCP's first receive buffer

    The long ULPDUs have 64768 and 65535 octets, the largest MULPDU and the largest ULPDU_Length.
    """
    conn = t.passive()
    conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, bytes(range(256)) * 6), sizes=1)
    conn.alive()
    equal(conn.memory(0, 1536), bytes(range(256)) * 6, "memory")
    data = t.rng.randbytes(65536)
    for size in (MOST - 14, 65535 - 14):
        conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, data[:size]))
        conn.alive()
        check(conn.memory(0, size) == data[:size], "memory")


@row("OPT-21", alone=True)
def alignment_counted(t):
    """The device counts the segments that it receives, and those of them that begin with an FPDU"""
    if t.place.path == "proxy" or not t.place.lossless:
        raise Skip("the proxy makes the segments, or segments get lost")
    conn = t.passive(recvs=128)
    conn.alive()

    def counted(cuts):
        before = t.counters()
        for _ in range(20):
            octets = conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), bytes(100)))
            for cut in cuts:
                conn.peer.send(octets[:cut])
                octets = octets[cut:]
            equal(conn.poll()[0].status, SUCCESS, "status")
        after = t.counters()
        return [after[name] - before[name] for name in ("rx_fpdu", "rx_segs", "rx_aligned")]

    def expect(cuts, want, what):
        # up to three attempts, because TCP may retransmit on a slow machine, where an
        # acknowledgment is late
        tries = [counted(cuts)]
        while want not in tries and len(tries) < 3:
            tries.append(counted(cuts))
        check(want in tries, what, tries)
    expect([200], [20, 20, 20], "aligned")
    expect([60, 200], [20, 40, 20], "in two segments")
