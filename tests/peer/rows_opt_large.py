# SPDX-License-Identifier: GPL-2.0
"""RFC 5044 7.1.1: a reserved bit of the startup frames. By this bit, both ends agree on FPDUs that
are longer than a TCP segment (setting large_fpdus)."""
import fpdu
import mpa
from outcome import Skip, check, equal
from rows import row
from rows_opt import emss_of

SIZE = 30000


def long_ones(t, conn):
    """
    Makes the device send data in a Read Response, a Send and a Write. Returns whether an FPDU was
    longer than a TCP segment.
    """
    data = t.rng.randbytes(SIZE)
    conn.ulp.set(mr=conn.mr, off=0, data=data)
    check(conn.peer.read(conn.stag, conn.addr, SIZE) == data, "data of a Read")
    for op, opcode in (("send", fpdu.SEND), ("write", fpdu.WRITE)):
        where = {"stag": 1, "raddr": 0} if op == "write" else {}
        conn.post(op, wr=1, sge="%d:0:%d" % (conn.mr, SIZE), flags="u", **where)
        check(b"".join(seg.data for seg in conn.peer.message(opcode)) == data, "data of a", op)
    # the sizes do not include ULPDU_Length, pad and CRC
    return max(conn.peer.rules.sizes) + 6 > emss_of(conn.peer)


def short_segments(t):
    """Skips the test unless TCP segments are shorter than the messages, and the peer receives the
    segments that the device has sent."""
    if t.place.interface == "lo" or t.place.path == "proxy":
        raise Skip("segments are long, or the proxy makes them")


@row("MPA-64")
def no_long_fpdus(t):
    """By default the device does not agree to FPDUs longer than a segment, and its FPDUs fit into segments"""
    short_segments(t)
    ulp = t.ulp()
    for word in (None, (4, 4)):
        conn = t.passive(ulp=ulp, flags=mpa.C | mpa.LARGE, word=word)
        equal(conn.reply.flags & 0x0F, 0, "reserved bits of the Reply")
        check(not long_ones(t, conn), "FPDUs longer than a segment")
    conn = t.active(ulp=ulp, flags=mpa.C | mpa.LARGE)
    equal(conn.peer.other.flags & 0x0F, 0, "reserved bits of the Request")
    check(not long_ones(t, conn), "FPDUs longer than a segment")


@row("MPA-64", alone=True)
def long_fpdus_agreed(t):
    """With large_fpdus on, FPDUs are longer than a segment if the peer agrees and does not want markers"""
    t.setting("large_fpdus", "on")
    short_segments(t)
    ulp = t.ulp()
    for bits, want in ((0, False), (0x07, False), (mpa.LARGE, True), (0x0F, True), (mpa.LARGE | mpa.M, False)):
        for word in (None, (4, 4)):
            conn = t.passive(ulp=ulp, flags=mpa.C | bits, word=word)
            equal(conn.reply.flags & 0x0F, bits & mpa.LARGE, "reserved bits of the Reply to a Request with %x" % bits)
            equal(long_ones(t, conn), want, "FPDUs longer than a segment, Request %x" % bits)
            conn.alive()
        conn = t.active(ulp=ulp, flags=mpa.C | bits)
        equal(conn.peer.other.flags & 0x0F, mpa.LARGE, "reserved bits of the Request")
        equal(long_ones(t, conn), want, "FPDUs longer than a segment, Reply %x" % bits)
        conn.alive()


@row("MPA-64", alone=True)
def markers_one_way(t):
    """With large_fpdus and markers on, the device receives markers and sends FPDUs longer than a segment"""
    t.setting("large_fpdus", "on")
    t.setting("markers", "on")
    short_segments(t)
    conn = t.passive(flags=mpa.C | mpa.LARGE)
    equal(conn.reply.flags & (mpa.M | mpa.LARGE), mpa.M | mpa.LARGE, "flags of the Reply")
    check(long_ones(t, conn), "no FPDU longer than a segment")
    data = t.rng.randbytes(64000)
    conn.peer.put_write(conn.stag, conn.addr, data, size=60000)
    conn.alive()
    check(conn.memory(0, len(data)) == data, "memory")


@row("MPA-50", "MPA-51", "MPA-38")
def long_and_spoiled(t):
    """An FPDU of many segments is not placed before it is complete, nor if its CRC is wrong: Terminate 2/0/02"""
    conn = t.passive()
    data = t.rng.randbytes(60000)
    octets = conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, data))
    conn.peer.send(octets[:-1])
    conn.peer.expect_silence(0.2)
    conn.untouched()
    conn.peer.send(octets[-1:])
    conn.alive()
    check(conn.memory(0, len(data)) == data, "memory")
    bad = fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, bytes(60000))
    octets = bytearray(conn.peer.frame(bad))
    octets[len(octets) // 2] ^= 1
    conn.peer.send(octets)
    conn.peer.expect_term(2, 0, 2)
    check(conn.memory(0, len(data)) == data, "memory was written to")
