# SPDX-License-Identifier: GPL-2.0
"""RFC 5044, appendix C: connections with RDMAC peers, which use MPA revision 0 (setting
rdmac_permissive)."""
import errno

import fpdu
import mpa
from outcome import check, equal
from rows import row
from ulp import SUCCESS

OLD = {"dv": 0, "rv": 0}        # an RDMAC peer uses version 0 of DDP and RDMAP


def moves(conn):
    """
    Checks that a Send and a Read work in each direction. segment() checks version, markers and CRC
    of the segments that the device sends.
    """
    peer = conn.peer
    conn.post("send", wr=100, sge="%d:0:3000" % conn.mr)
    got = peer.message(fpdu.SEND)
    equal(b"".join(seg.data for seg in got), b"\xa5" * 3000, "Send")
    check(sum(len(seg.markers) for seg in got) >= 5, "markers")
    equal({(seg.dv, seg.rv) for seg in got}, {(0, 0)}, "versions sent")
    peer.put(fpdu.untagged(fpdu.SEND, 0, peer.next(0), b"five!", **OLD))
    equal(sorted(wc[:2] for wc in conn.poll(2)), [(0, SUCCESS), (100, SUCCESS)], "completions")
    equal(conn.received(0, 5), b"five!", "the peer's Send")
    conn.post("read", wr=101, sge="%d:0:1000" % conn.mr, stag=5, raddr=77)
    sink, at, size, *_ = peer.message(fpdu.READ_REQ)[0].read_request()
    data = bytes(range(250)) * 4
    equal(size, len(data), "size of the Read")
    peer.put(*fpdu.segments(fpdu.READ_RESP, sink, at, data, 100, **OLD))
    equal(conn.poll()[0][:2], (101, SUCCESS), "the Read")
    equal(conn.memory(0, 1000), data, "data read")
    peer.put(fpdu.read_request(peer.next(1), 9, 0, 1000, conn.stag, conn.addr, **OLD))
    equal(b"".join(seg.data for seg in peer.message(fpdu.READ_RESP)), data, "data that the peer read")


@row("MPA-98", "MPA-9", "MPA-61", "MPA-60", "MPA-97", "DDP-17", "RDMAP-4", alone=True)
def rdmac_initiator(t):
    """A permissive responder uses CRC, markers and version 0 with a peer of revision 0; version 1: Terminate 1/1/04"""
    t.setting("rdmac_permissive", "on")
    ulp = t.ulp()
    for crc, flags in (("on", mpa.M | mpa.C), ("off", mpa.M)):
        t.setting("crc", crc)
        conn = t.passive(ulp=ulp, flags=flags, rev=0, first=False)
        equal((conn.reply.flags, conn.reply.rev), (mpa.M | mpa.C, 0), "flags and revision of the Reply")
        conn.peer.put(fpdu.tagged(fpdu.WRITE, 1, 0, **OLD))
        moves(conn)
        bad = fpdu.tagged(fpdu.WRITE, 1, 0)
        conn.peer.put(bad)
        conn.peer.expect_term(1, 1, 4, of=bad)
        conn.peer.expect_fin()


@row("MPA-98", "MPA-65", "MPA-9", alone=True)
def rdmac_refused(t):
    """
    A permissive responder rejects a Request of revision 0 without markers (Reply of revision 1, then FIN)

    The permissive responder accepts Requests of revisions 1 and 2, as any other responder does.
    """
    t.setting("rdmac_permissive", "on")
    ulp = t.ulp()
    listener = t.listener(ulp)
    peer = t.connect(listener[1])
    peer.request(mpa.C, 0)
    reply = peer.reply()
    equal((reply.flags & (mpa.R | mpa.S | mpa.M), reply.rev), (mpa.R, 1), "Reply")
    peer.expect_fin()
    check(ulp.event(id=listener[0], ms=0)["event"] == "none", "a Request was reported")
    for rev, word in ((1, None), (2, (4, 4))):
        conn = t.passive(ulp=ulp, listener=listener, rev=rev, word=word)
        equal((conn.reply.flags, conn.reply.rev), (mpa.C | (mpa.S if word else 0), rev), "Reply")
        conn.alive()


@row("MPA-98", "MPA-9", "MPA-61", "MPA-65", alone=True)
def rdmac_responder(t):
    """
    A permissive initiator sends a Request of revision 1; after a Reply of revision 0 it uses CRC, markers, version 0

    After a Reply of revision 1, the initiator uses version 1. After a reject of revision 0, the ULP
    gets REJECTED. After a Reply of revision 0 without markers, the ULP gets CONNECT_ERROR, and the
    device sends FIN.
    """
    t.setting("rdmac_permissive", "on")
    ulp, server = t.ulp(), t.server()
    for crc, flags in (("on", mpa.M | mpa.C), ("off", mpa.M)):
        t.setting("crc", crc)
        conn = t.request(ulp=ulp, server=server)
        request = conn.peer.other
        equal((request.flags, request.rev, request.pd_len), (mpa.C if crc == "on" else 0, 1, 0), "Request")
        conn.peer.accept(flags, 0, word=b"")
        ulp.event(id=conn.id, want="ESTABLISHED")
        moves(conn)
    t.setting("crc", "on")
    conn = t.active(ulp=ulp, server=server, rev=1, word=b"")
    conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
    seg = conn.peer.segment()
    equal((seg.opcode, seg.dv, seg.rv), (fpdu.SEND, 1, 1), "the first FPDU after a Reply of revision 1")
    conn.alive()
    for flags, want, status in ((mpa.M | mpa.C | mpa.R, "REJECTED", -errno.ECONNREFUSED),
                                (mpa.C, "CONNECT_ERROR", None)):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.send(mpa.frame(mpa.REP, flags, 0, b"no"))
        event = ulp.event(id=conn.id, want=want)
        check(status is None or event["status"] == status, "status:", event)
        conn.peer.expect_fin()
