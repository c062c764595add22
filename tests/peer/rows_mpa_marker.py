# SPDX-License-Identifier: GPL-2.0
"""RFC 5044 4.2, 4.3: markers, in both directions."""
import socket
import struct

import fpdu
import mpa
import patience
from case import Conn
from fpdu import Framer, MARKER_GAP
from outcome import Skip, check, equal
from peer import Peer
from rows import row
from ulp import SUCCESS

# Cases of an FPDU with a Send: the position of its first octet in the stream (modulo 512), the
# number of payload octets, and the markers that the FPDU must have, as (offset in the FPDU,
# FPDUPTR)
CASES = (
    (508, 24, [(4, 0x0004)]),       # a marker in the DDP header
    (492, 24, [(20, 0x0014)]),      # a marker at the end of the DDP header
    (484, 24, [(28, 0x001C)]),      # a marker in the payload
    (472, 23, [(40, 0x0028)]),      # a marker before the 4 octets with the pad
    (468, 23, [(44, 0x002C)]),      # a marker between pad and CRC
    (468, 24, [(44, 0x002C)]),      # a marker between payload and CRC
    (464, 24, []),                  # the CRC ends at the place of the next marker
    (0, 24, [(0, 0)]),              # the marker before ULPDU_Length is a part of the FPDU
    (0, 1178, [(0, 0), (512, 0x01FC), (1024, 0x03FC)]),
    (492, 1200, [(20, 0x0014), (532, 0x0214), (1044, 0x0414)]),
)


def size_to(pos, target):
    """
    Returns a number of payload octets with which the FPDU of a Write that begins at pos ends at
    target (modulo 512). Returns None if there is no such number.
    """
    for size in range(0, 1024, 4):
        framer = Framer(True, False, pos)
        framer.fpdu(bytes(14 + size))
        if (framer.pos - target) % MARKER_GAP == 0:
            return size
    return None


def send_to(conn, target):
    """Lets the peer send Writes until its next FPDU begins at target (modulo 512)."""
    while (conn.peer.tx.pos - target) % MARKER_GAP:
        size = size_to(conn.peer.tx.pos, target)
        conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, bytes(20 if size is None else size)))


def sent_to(conn, target):
    """Lets the device send Writes until its next FPDU begins at target (modulo 512)."""
    while (conn.peer.rx.pos - target) % MARKER_GAP:
        size = size_to(conn.peer.rx.pos, target)
        size = 20 if size is None else size
        conn.post("write", wr=1, stag=1, raddr=0, flags="u", sge="%d:0:%d" % (conn.mr, size) if size else None)
        conn.peer.segment()


@row("MPA-17", "MPA-18", "MPA-19", "MPA-20", "MPA-21", "MPA-24", "MPA-27", "MPA-36", "MPA-37", "MPA-11", "MPA-23")
def markers_sent(t):
    """The device's markers are right at every place where one can fall; none follows the last FPDU"""
    conn = t.passive(flags=mpa.C | mpa.M, swr=512)
    for begin, size, markers in CASES:
        sent_to(conn, begin)
        conn.post("send", wr=1, sge="%d:0:%d" % (conn.mr, size), flags="u")
        seg = conn.peer.segment()
        equal(seg.pos % MARKER_GAP, begin, "position")
        equal([(at, ptr) for at, (_, ptr) in seg.markers], markers, "markers of %d at %d" % (size, begin))
        equal((len(seg.ulpdu), len(seg.data)), (18 + size, size), "size")
        if not markers:
            equal(conn.peer.rx.pos % MARKER_GAP, 0, "end of the FPDU")
            conn.peer.expect_silence(0.3)
            equal(bytes(conn.peer.rx.held), b"", "octets after the FPDU")
    for begin in range(0, MARKER_GAP, 4):
        # skip 4, the place directly after a marker: no FPDU ends there, because at least its CRC
        # follows the marker
        if begin != 4:
            sent_to(conn, begin)
            conn.post("send", wr=1, sge="%d:0:%d" % (conn.mr, begin % 16 + 1), flags="u")
            conn.peer.segment()


@row("MPA-22", "MPA-77", "MPA-56", "MPA-28", "MPA-20")
def first_octets(t):
    """After the startup frame come a zero marker (if the peer has M=1) and the first ULPDU_Length"""
    ulp = t.ulp()
    for flags in (mpa.C, mpa.C | mpa.M):
        want = (bytes(4) if flags & mpa.M else b"") + b"\x00\x1a\x41\x43"
        conn = t.passive(ulp=ulp, flags=flags, data=b"abc")
        check(conn.reply.pd[:3] == b"abc" and len(conn.reply.octets) == 20 + conn.reply.pd_len, "Reply:", conn.reply)
        conn.post("send", wr=1, sge="%d:0:8" % conn.mr)
        conn.peer.segment()
        equal(bytes(conn.peer.received[:len(want)]), want, "first octets of the responder")
        conn = t.active(ulp=ulp, flags=flags, rtr=False)
        seg = conn.peer.segment()
        begin = bytes(4 if flags & mpa.M else 0) + struct.pack(">H", len(seg.ulpdu)) + seg.ulpdu
        equal(bytes(conn.peer.received[:len(begin)]), begin, "first octets of the initiator")


@row("MPA-25", "MPA-47")
def small_ones(t):
    """With many small FPDUs between two markers, each marker points to the FPDU in which it lies"""
    conn = t.passive(flags=mpa.C | mpa.M)
    for turn in range(4):
        conn.post("send", wr=0, n=32, sge="%d:0:%d" % (conn.mr, 11 * turn + 1))
        segs = [conn.peer.segment() for _ in range(32)]
        marked = [seg for seg in segs if seg.markers]
        check(marked and len(marked) < 32, "markers in FPDUs:", [seg.markers for seg in segs])
        conn.poll(32)


@row("MPA-20", "MPA-60", "MPA-28", alone=True)
def markers_both_ways(t):
    """In both roles, a direction has markers if and only if its receiver's startup frame has M=1"""
    for word, own in (("on", mpa.M), ("off", 0)):
        t.setting("markers", word)
        for flags in (0, mpa.M):
            for make in (t.passive, t.active):
                conn = make(flags=flags | mpa.C)
                equal(conn.peer.other.flags & mpa.M, own, "M of the device's frame, setting " + word)
                equal((conn.peer.tx.markers, conn.peer.rx.markers), (bool(own), bool(flags)), "markers")
                conn.peer.put_send(bytes(range(200)) * 30, size=900)
                check(conn.poll()[0].status != SUCCESS, "6000 octets in a buffer of 256")
                conn = make(flags=flags | mpa.C, recv_len=8000)
                conn.peer.put_send(bytes(range(200)) * 30, size=900)
                equal(conn.poll()[0][1:4:2], (SUCCESS, 6000), "completion")
                check(conn.received(0, 6000) == bytes(range(200)) * 30, "data")
                conn.post("send", wr=1, sge="%d:0:6000" % conn.rmr)
                check(b"".join(seg.data for seg in conn.peer.message()) == bytes(range(200)) * 30, "data sent")


@row("MPA-18", "MPA-19", "MPA-21", "MPA-23", "MPA-24", "MPA-27", "MPA-36", "MPA-37", "MPA-7", "MPA-11", "MPA-48",
     alone=True)
def markers_received(t):
    """The device accepts markers at every place where one can fall, also with reserved bits set"""
    t.setting("markers", "on")
    conn = t.passive(recvs=300, rwr=300, recv_len=1200, depth=1000)
    check(conn.peer.tx.markers, "the Reply does not ask for markers")
    for begin, size, markers in CASES:
        send_to(conn, begin)
        data = t.rng.randbytes(size)
        at = conn.peer.tx.pos
        octets = conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), data))
        equal([struct.unpack(">HH", octets[n:n + 4])[1] for n, _ in markers], [ptr for _, ptr in markers], "FPDUPTRs")
        conn.peer.send(octets, sizes=t.rng.choice((None, 1, 3)))
        wc = conn.poll()[0]
        equal((wc.status, wc.len), (SUCCESS, size), "completion, FPDU at %d" % at)
        equal(conn.received(wc.wr, size), data, "data, FPDU at %d" % at)
    for begin in range(0, MARKER_GAP, 4):
        if begin != 4:
            send_to(conn, begin)
            data = t.rng.randbytes(begin % 16 + 20)
            conn.peer.put(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), data),
                          marker_hi=0xABCD if begin & 4 else 0, ptr_add=begin // 4 % 4)
            wc = conn.poll()[0]
            equal((wc.status, wc.len), (SUCCESS, len(data)), "completion, FPDU at %d" % begin)
            equal(conn.received(wc.wr, len(data)), data, "data, FPDU at %d" % begin)
    conn.peer.expect_silence(0.1)


@row("MPA-90", "MPA-49", "MPA-27", "MPA-93", "MPA-94", alone=True)
def markers_wrong(t):
    """A wrong FPDUPTR under a right CRC: Terminate 2/0/03; a marker under a wrong CRC: Terminate 2/0/02"""
    t.setting("markers", "on")
    ulp = t.ulp()

    def refused(begin, size, code, spoil=None, **how):
        conn = t.passive(ulp=ulp, recvs=2)
        send_to(conn, begin)
        octets = bytearray(conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr + 1024, b"?" * size), **how))
        if spoil is not None:
            octets[spoil] ^= 16
        conn.peer.send(octets + conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"later")))
        conn.peer.expect_term(2, 0, code)
        conn.peer.expect_fin()
        equal(conn.memory(1024, size), b"\xa5" * size, "memory")
        check(all(wc.status != SUCCESS for wc in conn.poll(2)), "a Send was delivered")

    for add in (4, 0xFFFC, 256, 0x8000):
        refused(484, 40, 3, ptr_add=add)
        refused(0, 40, 3, ptr_add=add)
        refused(100, 1000, 3, ptr_add=add)
    refused(484, 40, 2, ptr_add=4, crc_xor=1)
    for begin, size, marker in ((484, 40, 28), (0, 40, 0), (472, 23, 40), (472, 24, 40), (100, 1000, 412),
                                (100, 1000, 924)):
        for octet in range(4):
            refused(begin, size, 2, marker + octet)


def near_the_top(t, port, seq):
    """Connects to a port of the device's side; the peer's TCP sequence numbers begin at seq.
    Returns the Peer."""
    if t.place.path == "proxy":
        raise Skip("the proxy has its own sequence numbers")
    sock = t.keep(patience.Socket(socket.AF_INET6 if ":" in t.place.there else socket.AF_INET))
    try:
        sock.setsockopt(socket.IPPROTO_TCP, 19, 1)          # TCP_REPAIR
        sock.setsockopt(socket.IPPROTO_TCP, 20, 2)          # TCP_REPAIR_QUEUE: the send queue
        sock.setsockopt(socket.IPPROTO_TCP, 21, seq)        # TCP_QUEUE_SEQ
        sock.setsockopt(socket.IPPROTO_TCP, 19, -1)
    except OSError as error:
        raise Skip("no TCP_REPAIR: %s" % error) from error
    sock.settimeout(60)
    sock.connect((t.place.there, port))
    return t.keep(Peer(sock))


@row("MPA-26", alone=True)
def sequence_wraps(t):
    """The peer's TCP sequence numbers wrap in the Request, FPDUs and markers: the data are right"""
    t.setting("markers", "on")
    ulp = t.ulp()
    number, port = t.listener(ulp)
    capture = t.capture(port)
    for back in (5, 21, 25, 300, 533, 1000, 4000):
        peer = near_the_top(t, port, 2 ** 32 - back - 2 ** 32 * (back < 2 ** 31))
        peer.request(mpa.C | mpa.M)
        conn = Conn(peer, ulp, ulp.event(id=number, want="CONNECT_REQUEST")["new"])
        t.equip(conn)
        ulp.accept(id=conn.id)
        conn.reply = peer.reply()
        data = t.rng.randbytes(9000)
        peer.put_write(conn.stag, conn.addr, data, 700)
        check(peer.read(conn.stag, conn.addr, 9000) == data, "data")
    firsts = {p.seq for p in capture.stop() if p.flags & 2 and p.dst[1] == port}
    check(2 ** 32 - 5 in firsts and 2 ** 32 - 4000 in firsts, "sequence numbers of SYN:", firsts)
