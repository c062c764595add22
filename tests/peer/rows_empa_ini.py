# SPDX-License-Identifier: GPL-2.0
"""RFC 6581: the initiator of an enhanced startup."""
import errno

import fpdu
import mpa
from outcome import check, equal
from peer import Peer
from rows import row, stated
from rows_empa_rsp import depths, kinds
from ulp import SUCCESS

stated("absent", "the ULP cannot choose the kind of startup, because rdma_cm has no parameter for it; the setting mpa_revision of the link does", "EMPA-9")
stated("deviation", "the link decides, because rdma_cm does not tell whether the ULP wants an enhanced function: with mpa_revision 2, the"
       " default, the first Request of a connection is enhanced, except with rdmac_permissive; with 1, no Request is", "EMPA-4")
stated("deviation", "each enhanced Request has A=1 and offers all kinds, because rdma_cm does not tell which model a program has",
       "EMPA-20")
stated("deviation", "the initiator sends this Terminate; a responder that fails before its Reply sends a Reply that rejects, because"
       " a Terminate before the Reply would not be a startup frame", "EMPA-28")


@row("EMPA-1", "EMPA-20", "EMPA-5")
def request_word(t):
    """The Request has revision 2, S, the enhanced word (the ULP's depths, A, every RTR kind), then the ULP's data"""
    for ird, ord_, data in ((4, 7, b""), (0, 0, b"data"), (128, 1, b"d" * 50), (255, 255, b"")):
        conn = t.request(ird=ird, ord=ord_, data=data)
        frame = conn.peer.other
        equal((frame.rev, frame.flags & (mpa.S | mpa.R)), (2, mpa.S), "Request")
        equal(depths(frame.words()), (min(ird, 128), min(ord_, 128)), "depths")
        equal(kinds(frame.words()), (True, {"send", "write", "read"}), "A and kinds")
        equal(frame.pd_len, 4 + len(data), "PD_Length")
        equal(frame.pd[4:], data, "data")


# How an old responder ends the connection. On a path with losses, only "close" is tested, because
# TCP does not retransmit a lost RST.
ENDS = ("close", "rst")


def no_more(server):
    """Checks that the device does not connect to server again within 0.3 seconds."""
    server[0].settimeout(0.3)
    try:
        server[0].accept()
        check(False, "another attempt")
    except TimeoutError:
        pass
    server[0].settimeout(60)


@row("EMPA-3", "EMPA-4", "EMPA-31", alone=True)
def plain_request(t):
    """
    On a link with MPA revision 1 the Request is plain; the Reply's private data reach the ULP, no RTR is sent

    A Reply of revision 2 causes CONNECT_ERROR. If the peer closes instead of a Reply, the device does not try again.
    """
    t.setting("mpa_revision", 1)
    server = t.server()
    conn = t.request(server=server)
    conn.peer.send(mpa.frame(mpa.REP, mpa.C, 2))
    conn.ulp.event(id=conn.id, want="CONNECT_ERROR")
    conn.peer.expect_end()
    conn = t.request(server=server)
    conn.peer.fin()
    equal(conn.ulp.event(id=conn.id, want="REJECTED")["status"], -errno.ECONNRESET, "status")
    conn.peer.expect_end()
    no_more(server)
    conn = t.request(data=b"data")
    frame = conn.peer.other
    equal((frame.rev, frame.flags & (mpa.S | mpa.R | 0x0F), frame.pd), (1, 0, b"data"), "Request")
    conn.peer.accept(pd=b"\x80\x04\x80\x04")
    event = conn.ulp.event(id=conn.id, want="ESTABLISHED")
    equal(event["data"][:4], b"\x80\x04\x80\x04", "data")
    conn.peer.expect_silence(0.3)
    conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
    equal(conn.peer.segment().opcode, fpdu.SEND, "the first FPDU")
    conn.alive()


def ready(conn):
    """Receives the ready-to-receive message (RTR), and answers it if it is a Read; returns its
    opcode."""
    seg = conn.peer.segment()
    if seg.opcode == fpdu.READ_REQ:
        sink, at, size, _, _ = seg.read_request()
        equal(size, 0, "size of an RTR Read")
        conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, at))
    else:
        check(not seg.data and seg.opcode in (fpdu.WRITE, fpdu.SEND), "RTR message:", seg)
    return seg.opcode


@row("EMPA-25", "EMPA-8", "EMPA-10", "EMPA-35", "EMPA-33")
def rtr_kinds(t):
    """
    Each RTR kind alone, and several: the RTR message precedes a Send that is already posted, and has no completion

    If the Reply offers several kinds, the device sends a Write, or, without Write, a Read.
    """
    ulp = t.ulp()
    server = t.server()
    for bits, wanted in (((0, 1, 0), {fpdu.WRITE}), ((0, 0, 1), {fpdu.READ_REQ}), ((1, 0, 0), {fpdu.SEND}),
                         ((1, 0, 1), {fpdu.READ_REQ}), ((1, 1, 0), {fpdu.WRITE}), ((1, 1, 1), {fpdu.WRITE})):
        conn = t.request(ulp=ulp, server=server, swr=4)
        conn.peer.accept(word=mpa.enh(4, 4, 1, *bits))
        ulp.event(id=conn.id, want="ESTABLISHED")
        conn.post("send", wr=1, n=4, sge="%d:0:5" % conn.mr)
        got = ready(conn)
        check(got in wanted, "RTR message:", got)
        for turn in range(4):
            (seg,) = conn.peer.message(fpdu.SEND)
            equal((seg.data, seg.msn), (b"\xa5" * 5, turn + 1 + (got == fpdu.SEND)), "Send")
        equal([(c.wr, c.status) for c in conn.poll(4)], [(n, SUCCESS) for n in (1, 2, 3, 4)], "completions")
        conn.none(100)
        # after its Response, an RTR Read does not count for ORD any more
        conn.post("read", wr=9, sge="%d:0:4" % conn.mr, stag=5, raddr=77)
        (seg,) = conn.peer.message(fpdu.READ_REQ)
        equal(seg.msn, 2 if got == fpdu.READ_REQ else 1, "MSN of a Read")
        conn.alive()


@row("EMPA-35", "EMPA-11")
def rtr_read_counts(t):
    """With ORD 1, a Read and an atomic operation wait for the Response to an RTR Read"""
    ulp = t.ulp()
    server = t.server()
    for op in ("read", "fadd"):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.accept(word=mpa.enh(1, 1, 1, 0, 0, 1))
        ulp.event(id=conn.id, want="ESTABLISHED")
        conn.post(op, wr=9, sge="%d:0:8" % conn.mr, stag=5, raddr=80)
        sink, at, _, _, _ = conn.peer.segment().read_request()
        conn.peer.expect_silence(0.3)
        conn.none(100)
        conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, at))
        equal(conn.peer.segment().msn, 2, "MSN of the request")
        conn.none(100)


@row("EMPA-22", "EMPA-20")
def reply_without_p2p(t):
    """After a Reply with A=0 the device sends no RTR message, and ignores the RTR kinds in the Reply"""
    for more in ((0, 0, 0, 0), (0, 1, 1, 1)):
        conn = t.request()
        conn.peer.accept(word=mpa.enh(4, 4, *more))
        conn.ulp.event(id=conn.id, want="ESTABLISHED")
        conn.peer.expect_silence(0.3)
        conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
        equal(conn.peer.segment().opcode, fpdu.SEND, "the first FPDU")
        conn.alive()


@row("EMPA-17", "EMPA-11")
def reply_fits(t):
    """The initiator lowers its ORD to the responder's IRD, and raises its IRD to the responder's ORD"""
    ulp = t.ulp()
    server = t.server()
    for reply, own, want in (((3, 6), (4, 4), (6, 3)), ((1, 0), (4, 4), (None, 1)), ((128, 128), (4, 4), (128, 4)),
                             ((mpa.ANY_DEPTH - 1, 4), (4, 9), (4, 9)), ((0, 4), (4, 4), (4, 0))):
        conn = t.active(ulp=ulp, server=server, word=mpa.enh(*reply, 1, 0, 1, 0), ird=own[0], ord=own[1])
        got = conn.query()
        check(got["ird"] >= reply[1], "IRD below the responder's ORD:", got, reply)
        equal(got["ord"], want[1], "ORD for %s" % (reply,))
        check(want[0] is None or got["ird"] == want[0], "IRD for %s" % (reply,), got)
    # the device obeys the negotiated ORD: with ORD 1, the second Read waits for the first Response
    conn = t.active(ulp=ulp, server=server, word=mpa.enh(1, 4, 1, 0, 1, 0))
    conn.post("read", n=2, sge="%d:0:4" % conn.mr, stag=5, raddr=77)
    sink, at, size, _, _ = conn.peer.segment().read_request()
    conn.peer.expect_silence(0.3)
    conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, at, b"r" * size))
    equal(conn.peer.segment().opcode, fpdu.READ_REQ, "the second one")


@row("EMPA-19")
def reply_any_depth(t):
    """0x3FFF as IRD, as ORD, or as both in the Reply: the initiator keeps its own ORD, IRD, or both"""
    ulp = t.ulp()
    server = t.server()
    for reply, want in (((mpa.ANY_DEPTH, 2), (None, 5)), ((2, mpa.ANY_DEPTH), (6, 2)), ((mpa.ANY_DEPTH,) * 2, (6, 5))):
        conn = t.active(ulp=ulp, server=server, word=mpa.enh(*reply, 1, 0, 1, 0), ird=6, ord=5)
        got = conn.query()
        equal(got["ord"], want[1], "ORD for %s" % (reply,))
        check(want[0] is None or got["ird"] == want[0], "IRD for %s" % (reply,), got)
        conn.alive()


def unfit(t, code, ulp, server, **reply):
    """
    The peer sends a Reply that the initiator can't accept (reply: arguments of Peer.accept()).
    Checks that the device sends a Terminate with this code and without headers, and then FIN, and
    that the ULP gets an error. Returns the connection.
    """
    conn = t.request(ulp=ulp, server=server)
    conn.peer.accept(**reply)
    conn.peer.expect_term(*code)
    conn.peer.expect_fin()
    event = ulp.event(id=conn.id, want="CONNECT_ERROR")
    check(event["status"] != 0, "status:", event)
    return conn


@row("EMPA-18", "EMPA-27")
def too_deep(t):
    """A responder's ORD above the device's limit: Terminate 2/0/06 is the only FPDU, then the device sends FIN"""
    ulp = t.ulp()
    server = t.server()
    for ord_ in (129, 200, mpa.ANY_DEPTH - 1):
        unfit(t, (2, 0, 6), ulp, server, word=mpa.enh(4, ord_, 1, 0, 1, 0))
    # if the peer asks for markers, a marker is in front of the Terminate
    conn = unfit(t, (2, 0, 6), ulp, server, word=mpa.enh(4, 129, 1, 0, 1, 0), flags=mpa.M | mpa.C)
    equal(bytes(conn.peer.received[:4]), bytes(4), "the marker")


@row("EMPA-26", "EMPA-27")
def no_kind(t):
    """A Reply with A=1 and no RTR kind, or only a Read with IRD 0: Terminate 2/0/07, then the device sends FIN"""
    ulp, server = t.ulp(), t.server()
    unfit(t, (2, 0, 7), ulp, server, word=mpa.enh(4, 4, 1, 0, 0, 0))
    unfit(t, (2, 0, 7), ulp, server, word=mpa.enh(0, 4, 1, 0, 0, 1))
    # with IRD 0, the device sends a Send as RTR, if the Reply offers a Send
    equal(t.active(ulp=ulp, server=server, word=mpa.enh(0, 4, 1, 1, 0, 1)).rtr.opcode, fpdu.SEND, "RTR message")


@row("EMPA-28", "EMPA-27")
def cannot_go_on(t):
    """
    An enhanced Reply with more private data than rdma_cm takes: Terminate 2/0/05, then the device sends FIN

    After a plain Reply with too much private data, the device sends only FIN.
    """
    ulp, server = t.ulp(), t.server()
    for size in (256, 508):
        unfit(t, (2, 0, 5), ulp, server, word=mpa.enh(4, 4, 1, 0, 1, 0), pd=b"p" * size)
    conn = t.request(ulp=ulp, server=server)
    conn.peer.accept(rev=1, word=b"", pd=b"p" * 256)
    ulp.event(id=conn.id, want="CONNECT_ERROR")
    conn.peer.expect_fin()


@row("EMPA-28", "EMPA-27", alone=True)
def crc_declined_enhanced(t):
    """The link requires CRC and an enhanced Reply declines it: Terminate 2/0/05, then the device sends FIN"""
    t.setting("crc", "required")
    unfit(t, (2, 0, 5), t.ulp(), t.server(), word=mpa.enh(4, 4, 1, 0, 1, 0), flags=0)


@row("EMPA-12")
def words_of_reject(t):
    """An enhanced reject reaches the ULP, with its private data if these are not too long (rdma_cm drops the depths)"""
    for size in (3, 508):
        conn = t.request()
        conn.peer.accept(flags=mpa.C | mpa.R, word=mpa.enh(3, 5, 1, 0, 1, 0), pd=b"why" + b"n" * (size - 3))
        event = conn.ulp.event(id=conn.id, want="REJECTED")
        equal(event["status"], -errno.ECONNREFUSED, "status")
        check(size > 255 or event["data"][:3] == b"why", "data:", event["data"])
        conn.peer.expect_fin()


@row("EMPA-5", "EMPA-7")
def bad_replies(t):
    """
    An improper enhanced Reply: the device ends the connection without a further octet, the ULP gets CONNECT_ERROR

    The Reply is too short for the enhanced word, is too long, has another revision, or has a wrong
    key.
    """
    ulp, server = t.ulp(), t.server()
    word = mpa.enh(4, 4, 1, 0, 1, 0)
    for octets in [mpa.frame(mpa.REP, mpa.C | mpa.S, 2, word[:size]) for size in range(4)] + [
            mpa.frame(mpa.REP, mpa.C | mpa.S, 3, word), mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, word),
            mpa.frame(mpa.REP, mpa.C | mpa.S, 2, word + bytes(509))]:
        conn = t.request(ulp=ulp, server=server)
        conn.peer.send(octets)
        conn.peer.expect_end()
        ulp.event(id=conn.id, want="CONNECT_ERROR")


@row("EMPA-31")
def old_responder(t):
    """
    A responder that closes at the enhanced Request gets a plain Request on a new connection, and may answer

    On the new connection, the responder accepts (ESTABLISHED), rejects (REJECTED), or sends an
    enhanced Reply to the plain Request (CONNECT_ERROR).
    """
    server = t.server()

    def again(end):
        conn = t.request(server=server, data=b"for you")
        check(conn.peer.other.enhanced, "not enhanced:", conn.peer.other)
        getattr(conn.peer, end)()
        conn.peer = t.keep(Peer(server[0].accept()[0]))
        frame = conn.peer.await_request()
        equal((frame.rev, frame.flags, frame.pd), (1, mpa.C, b"for you"), "Request")
        return conn

    for end in ENDS if t.place.lossless else ENDS[:1]:
        conn = again(end)
        conn.peer.accept()
        conn.ulp.event(id=conn.id, want="ESTABLISHED")
        conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
        equal(conn.peer.segment().opcode, fpdu.SEND, "the first FPDU")
        conn.alive()
        conn = again(end)
        conn.peer.accept(mpa.C | mpa.R, pd=b"no")
        equal(conn.ulp.event(id=conn.id, want="REJECTED")["status"], -errno.ECONNREFUSED, "status")
    conn = again("close")
    conn.peer.accept(rev=2, word=(1, 1))
    conn.ulp.event(id=conn.id, want="CONNECT_ERROR")
    conn.peer.expect_end()
    no_more(server)


@row("EMPA-31")
def old_responder_lost(t):
    """
    A responder resets the connection at the enhanced Request, and the RST is lost: a plain Request follows

    The responder's TCP does not know the connection any more, so it answers the device's next
    segment, a probe, by a RST.
    """
    t.own_tcp()
    server, seen = t.server(), []
    conn = t.request(server=server)
    tcp = conn.peer.sock
    tcp.loses = lambda packet: seen.append(packet) or True
    tcp.pump(15)
    check(seen, "the device's TCP does not probe the responder")
    server[0].again()
    tcp.send_rst()
    conn.peer = t.keep(Peer(server[0].accept()[0]))
    equal(conn.peer.await_request().rev, 1, "revision")
    conn.peer.accept()
    conn.ulp.event(id=conn.id, want="ESTABLISHED")
    conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
    equal(conn.peer.segment().opcode, fpdu.SEND, "the first FPDU")
    conn.alive()


@row("EMPA-31")
def old_for_good(t):
    """A responder closes at the plain Request, too: the ULP gets an error, and the device makes no third attempt"""
    server = t.server()
    for end in ENDS if t.place.lossless else ENDS[:1]:
        conn = t.request(server=server)
        getattr(conn.peer, end)()
        again = t.keep(Peer(server[0].accept()[0]))
        equal(again.await_request().rev, 1, "revision")
        again.fin()
        equal(conn.ulp.event(id=conn.id, want="REJECTED")["status"], -errno.ECONNRESET, "status")
        again.expect_end()
        no_more(server)
