# SPDX-License-Identifier: GPL-2.0
"""RFC 6581: enhanced startup."""
import fpdu
import mpa
from outcome import check, equal
from rows import row


@row("EMPA-2", "EMPA-30")
def revision_1(t):
    """A Request of revision 1 is accepted, and the Reply is plain"""
    conn = t.passive(rev=1, pd=b"one")
    equal((conn.reply.rev, conn.reply.flags & mpa.S, conn.reply.pd_len), (1, 0, 0), "Reply")
    equal(conn.event["data"][:3], b"one", "private data")
    conn.alive()


@row("EMPA-25", "EMPA-8", "EMPA-34")
def rtr_write(t):
    """The initiator's first FPDU is the Write of nothing that was agreed, though a Send is posted"""
    conn = t.request()
    check(conn.peer.other.enhanced, "not enhanced:", conn.peer.other)
    conn.peer.accept(word=mpa.enh(4, 4, 1, 0, 1, 0))
    conn.ulp.event(id=conn.id, want="ESTABLISHED")
    conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
    seg = conn.peer.segment()
    equal((seg.opcode, seg.data, seg.last), (fpdu.WRITE, b"", True), "the first FPDU")
    equal(conn.peer.segment().opcode, fpdu.SEND, "the second one")
