# SPDX-License-Identifier: GPL-2.0
"""RFC 6581: enhanced startup: tests of both roles. rows_empa_ini.py tests only the initiator, and
rows_empa_rsp.py only the responder."""
import fpdu
import mpa
from outcome import check, equal
from rows import row, stated

stated("deviation", "the device reports all values; rdma_cm has one octet for each value, shows 255 for a larger value, and"
       " does not report the values of a Reply that rejects", "EMPA-12")


@row("EMPA-2", "EMPA-30")
def revision_1(t):
    """A Request of revision 1 is accepted, and the Reply is plain"""
    conn = t.passive(rev=1, pd=b"one")
    equal((conn.reply.rev, conn.reply.flags & mpa.S, conn.reply.pd_len), (1, 0, 0), "Reply")
    equal(conn.event["data"][:3], b"one", "private data")
    conn.alive()


@row("EMPA-25", "EMPA-8", "EMPA-34")
def rtr_write(t):
    """The initiator's first FPDU is the agreed zero-length Write, although a Send is posted"""
    conn = t.request()
    check(conn.peer.other.enhanced, "not enhanced:", conn.peer.other)
    conn.peer.accept(word=mpa.enh(4, 4, 1, 0, 1, 0))
    conn.ulp.event(id=conn.id, want="ESTABLISHED")
    conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
    seg = conn.peer.segment()
    equal((seg.opcode, seg.data, seg.last), (fpdu.WRITE, b"", True), "the first FPDU")
    equal(conn.peer.segment().opcode, fpdu.SEND, "the second one")


@row("EMPA-12", "EMPA-11", "EMPA-17")
def depths_of_reply(t):
    """The ULP gets the responder's IRD and ORD unchanged; the queue pair's own values are adapted to them"""
    conn = t.active(word=mpa.enh(3, 6, 1, 0, 1, 0), ird=4, ord=4)
    equal((conn.event["ord"], conn.event["ird"]), (3, 6), "IRD and ORD told")
    state = conn.query()
    equal((state["ord"], state["ird"]), (3, 6), "IRD and ORD of the queue pair")


@row("EMPA-12", "EMPA-11", "EMPA-13", "EMPA-15")
def depths_of_request(t):
    """The ULP gets the initiator's IRD and ORD unchanged; the queue pair's own values are adapted to them"""
    conn = t.passive(word=mpa.enh(3, 200, 0, 0, 0, 0), ird=7, ord=5)
    equal((conn.event["ord"], conn.event["ird"]), (3, 200), "IRD and ORD told")
    equal(conn.reply.words(), (7, 3), "Reply")
    state = conn.query()
    equal((state["ord"], state["ird"]), (3, 7), "IRD and ORD of the queue pair")


@row("EMPA-29", "EMPA-16")
def reject_enhanced(t):
    """The reject of an enhanced Request is enhanced, with the IRD that the device has and the ORD that it needs"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    peer = t.connect(port)
    peer.request(word=mpa.enh(3, 9))
    ulp.reject(id=ulp.event(id=number, want="CONNECT_REQUEST")["new"], data=b"no")
    reply = peer.reply()
    equal((reply.rev, reply.flags & (mpa.R | mpa.S), reply.pd[4:]), (2, mpa.R | mpa.S, b"no"), "Reply")
    equal([word & mpa.ANY_DEPTH for word in reply.words()], [9, 0], "IRD that it has, ORD that it needs")
    peer.expect_fin()
