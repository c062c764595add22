# SPDX-License-Identifier: GPL-2.0
"""RFC 6581: the responder of an enhanced startup."""
import struct

import fpdu
import mpa
from outcome import check, equal
from rows import row, stated
from ulp import FLUSH, SUCCESS, WC_RECV, WC_RECV_IMM

stated("deviation", "the responder accepts a Send only if the initiator offers neither a Write nor a Read: a Send uses a message number of queue 0",
       "EMPA-36")

KINDS = ("send", "write", "read")
MOST = mpa.ANY_DEPTH - 1


def kinds(word):
    """Returns bit A and the set of the kinds of ready-to-receive message in an enhanced word, which
    is given as two numbers."""
    first, second = word
    return (bool(first & 0x8000), {k for k, bit in zip(KINDS, (first & 0x4000, second & 0x8000, second & 0x4000))
                                   if bit})


def depths(word):
    """Returns IRD and ORD in an enhanced word, which is given as two numbers."""
    return tuple(w & mpa.ANY_DEPTH for w in word)


@row("EMPA-5", "EMPA-7")
def short_word(t):
    """A Request with S and fewer than 4 octets of private data: the device closes, and sends nothing"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    for size in range(4):
        peer = t.connect(listener[1])
        peer.request(mpa.C | mpa.S, 2, b"\x80\x04\x00\x04"[:size])
        peer.expect_end()
    t.passive(ulp=ulp, listener=listener, word=(4, 4)).alive()


@row("EMPA-5", "EMPA-7", "EMPA-29")
def data_behind_word(t):
    """The ULP's private data follow the enhanced word, and PD_Length counts both, in Request and Reply"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    for size, back in ((0, 0), (1, 196), (7, 3), (200, 1), (255, 1)):
        data = t.rng.randbytes(size)
        conn = t.passive(ulp=ulp, listener=listener, word=(4, 4), pd=data, data=bytes([back]) * back)
        # rdma_cm appends zeros to the private data
        equal(conn.event["data"][:size], data, "data in the event")
        check(not any(conn.event["data"][size:]), "octets after the private data:", conn.event["data"])
        equal(conn.reply.rev, 2, "revision")
        check(conn.reply.enhanced, "not enhanced:", conn.reply)
        equal(conn.reply.pd_len, 4 + back, "PD_Length")
        equal(conn.reply.pd[4:], bytes([back]) * back, "data in the Reply")
        conn.alive()


@row("EMPA-5", "EMPA-7")
def bad_enhanced_frames(t):
    """An enhanced Request with a wrong key or PD_Length: the device closes; R in a Request is ignored"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    word = mpa.enh(4, 4)
    for octets in (mpa.frame(mpa.REP, mpa.C | mpa.S, 2, word), mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, word + bytes(509)),
                   mpa.frame(b"MPA ID Req Frama", mpa.C | mpa.S, 2, word),
                   mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, word) + b"x"):
        peer = t.connect(listener[1])
        peer.send(octets)
        peer.expect_end()
    # use a new listener, because the last frame is a good Request with one octet too many: if
    # this octet arrives late, the old listener reports the Request to the ULP
    t.passive(ulp=ulp, word=(4, 4), flags=mpa.C | mpa.R | 0x0F).alive()


@row("EMPA-7")
def markers_with_word(t):
    """With M in an enhanced Request the responder's stream has markers; the Reply has no M"""
    conn = t.passive(flags=mpa.M | mpa.C, word=(4, 4))
    equal(conn.reply.flags, mpa.C | mpa.S, "flags of the Reply")
    conn.post("send", wr=1, sge="%d:0:3000" % conn.mr)
    got = conn.peer.message(fpdu.SEND)
    equal(sum(len(seg.data) for seg in got), 3000, "size")
    check(sum(len(seg.markers) for seg in got) >= 5, "markers")
    conn.alive()


@row("EMPA-6")
def revision_2_plain(t):
    """A Request of revision 2 without S has no enhanced word: the ULP gets all private data, the Reply has no S"""
    for pd in (b"", b"\x80\x04\x80\x04plain"):
        conn = t.passive(rev=2, pd=pd)
        equal(conn.event["data"][:len(pd)], pd, "data")
        check(not conn.reply.flags & mpa.S, "S in the Reply:", conn.reply)
        equal((conn.reply.rev, conn.reply.pd_len), (2, 0), "Reply")
        conn.alive()


@row("EMPA-6", "EMPA-30")
def revision_1_s(t):
    """In a Request of revision 1 the bit S is reserved, and the device ignores it"""
    pd = b"\x80\x04\x80\x04reserved"
    conn = t.passive(rev=1, flags=mpa.C | mpa.S, pd=pd)
    equal(conn.event["data"][:len(pd)], pd, "data")
    equal((conn.reply.rev, conn.reply.flags & mpa.S, conn.reply.pd_len), (1, 0, 0), "Reply")
    conn.alive()


@row("EMPA-13", "EMPA-15", "EMPA-11", "EMPA-32")
def reply_depths(t):
    """For any depths in the Request the Reply has the queue pair's depths, and its ORD fits the initiator's IRD"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    for ird, ord_, own in ((0, 0, 4), (1, 1, 4), (4, 16, 4), (4, 200, 16), (MOST, MOST, 8), (0, MOST, 5), (MOST, 0, 5),
                           (129, 127, 128), (2, 3, 0)):
        conn = t.passive(ulp=ulp, listener=listener, word=mpa.enh(ird, ord_, 0, 0, 0, 0), ird=own, ord=own)
        got = depths(conn.reply.words())
        state = conn.query()
        equal(got, (state["ird"], state["ord"]), "Reply, and the queue pair, for %d, %d" % (ird, ord_))
        check(got[1] <= ird, "ORD beyond the initiator's IRD:", got, ird)
        equal(got[0], min(own, ord_), "IRD: what is asked for, and had")
        check(max(got) <= 128, "above the device's limit:", got)


@row("EMPA-11", "EMPA-35")
def reads_agreed(t):
    """In each direction the agreed number of Reads can be outstanding; the device does not exceed its ORD"""
    conn = t.passive(word=mpa.enh(2, 3, 0, 0, 0, 0), ird=8, ord=8)
    ird, ord_ = depths(conn.reply.words())
    equal(ord_, 2, "ORD")
    conn.peer.put(*[fpdu.read_request(conn.peer.next(1), n, 0, 4, conn.stag, conn.addr) for n in range(min(ird, 3))])
    for n in range(min(ird, 3)):
        equal(conn.peer.read_response(n, 0), b"\xa5" * 4, "read")
    conn.post("read", n=3, sge="%d:0:4" % conn.mr, stag=5, raddr=77)
    asked = [conn.peer.segment().read_request() for _ in range(2)]
    conn.peer.expect_silence(0.3)
    for sink, at, size, _, _ in asked[:1]:
        conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, at, b"r" * size))
    equal(conn.peer.segment().opcode, fpdu.READ_REQ, "the third one")


@row("EMPA-19")
def any_depth(t):
    """
    0x3FFF as IRD or ORD of the Request: the Reply has 0x3FFF in the opposite field

    The queue pair keeps its own value for this depth. Tests each field alone, and both.
    """
    ulp = t.ulp()
    listener = t.listener(ulp)
    for ird, ord_ in ((mpa.ANY_DEPTH, 3), (3, mpa.ANY_DEPTH), (mpa.ANY_DEPTH, mpa.ANY_DEPTH)):
        conn = t.passive(ulp=ulp, listener=listener, word=mpa.enh(ird, ord_, 0, 0, 0, 0), ird=6, ord=7)
        got = depths(conn.reply.words())
        state = conn.query()
        if ord_ == mpa.ANY_DEPTH:
            equal((got[0], state["ird"]), (mpa.ANY_DEPTH, 6), "IRD")
        else:
            equal(got[0], state["ird"], "IRD")
        if ird == mpa.ANY_DEPTH:
            equal((got[1], state["ord"]), (mpa.ANY_DEPTH, 7), "ORD")
        else:
            equal((got[1], state["ord"]), (3, 3), "ORD")
        conn.alive()


@row("EMPA-14")
def raised_for_rtr(t):
    """A Reply that has a Read among its RTR kinds has an IRD of 1 or more, although the initiator's ORD is 0"""
    ulp = t.ulp()
    for bits in ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (0, 0, 0)):
        conn = t.passive(ulp=ulp, word=mpa.enh(4, 0, 1, *bits), ird=0, ord=4, first=False)
        p2p, took = kinds(conn.reply.words())
        check(p2p and "read" in took, "kinds in the Reply:", conn.reply)
        check(depths(conn.reply.words())[0] >= 1, "IRD:", conn.reply)
        equal(conn.peer.read(1, 0, 0), b"", "Read of nothing")


@row("EMPA-21", "EMPA-23", "EMPA-24", "EMPA-36")
def reply_kinds(t):
    """The Reply to a Request with A=1 has A=1, the offered Write and Read, or the Send if only that is offered"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    for bits in range(8):
        offered = {k for n, k in enumerate(KINDS) if bits >> n & 1}
        word = mpa.enh(4, 4, 1, *(int(k in offered) for k in KINDS))
        conn = t.passive(ulp=ulp, listener=listener, word=word, first=False)
        p2p, took = kinds(conn.reply.words())
        check(p2p, "A:", conn.reply)
        check(took, "no kind", conn.reply)
        check(not offered or took == (offered - {"send"} or offered), "offered %s, took" % offered, took)
        ready(conn, sorted(took)[-1])
        conn.alive()


def ready(conn, kind):
    """Sends a ready-to-receive message of this kind ("send", "write" or "read") from the peer."""
    if kind == "read":
        equal(conn.peer.read(1, 0, 0), b"", "Read of nothing")
    elif kind == "write":
        conn.peer.put_write()
    else:
        conn.peer.put_send()


@row("EMPA-22")
def client_server(t):
    """In a Request with A=0 the device ignores the RTR kinds; the Reply has A=0 and no kinds"""
    for more in ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 0, 0)):
        conn = t.passive(word=mpa.enh(4, 4, *more), first=False)
        equal(kinds(conn.reply.words()), (False, set()), "A and kinds")
        conn.peer.put_send(b"first")
        equal((conn.poll()[0].status, conn.received(0, 5)), (SUCCESS, b"first"), "the first message")
        conn.alive()


@row("EMPA-33", "EMPA-10")
def rtr_send(t):
    """
    A zero-length Send as RTR uses an MSN, but no receive of the ULP, and has no completion

    In this test, the initiator offers no other kind of RTR.
    """
    ulp = t.ulp()
    conn = t.passive(ulp=ulp, word=mpa.enh(4, 4, 1, 1, 0, 0), first=False, recvs=2)
    equal(kinds(conn.reply.words())[1], {"send"}, "kinds")
    conn.peer.put_send()
    conn.peer.put_send()
    conn.peer.put_send(b"data")
    equal([(c.wr, c.status, c.len) for c in conn.poll(2)], [(0, SUCCESS, 0), (1, SUCCESS, 4)], "completions")
    conn.none(100)
    # the RTR Send needs no posted receive
    conn = t.passive(ulp=ulp, word=mpa.enh(4, 4, 1, 1, 0, 0), first=False, recvs=0)
    conn.post("send", wr=7, sge="%d:0:3" % conn.mr)
    conn.peer.put_send()
    equal(conn.peer.segment().opcode, fpdu.SEND, "what was held back")
    conn.alive()


@row("EMPA-34", "EMPA-10", "EMPA-8")
def rtr_taken(t):
    """A zero-length Write or Read as RTR: no STag check, no receive, no completion; then the responder may send"""
    ulp = t.ulp()
    for kind in ("write", "read"):
        conn = t.passive(ulp=ulp, word=mpa.enh(4, 4, 1, 0, 1, 1), first=False)
        conn.post("send", wr=7, sge="%d:0:3" % conn.mr)
        conn.peer.expect_silence(0.3)
        if kind == "write":
            conn.peer.put_write(0xDEADBEEF, 1 << 63)
        else:
            conn.peer.put_read(0xDEADBEEF, 1 << 63, 0, 9, 5)
            got = conn.peer.segment()
            equal((got.opcode, got.stag, got.offset, got.data, got.last), (fpdu.READ_RESP, 9, 5, b"", True), "Response")
        equal(conn.peer.segment().opcode, fpdu.SEND, "what was held back")
        equal([c.wr for c in conn.poll(1)], [7], "completion")
        conn.none(100)
        conn.ulp.modify(id=conn.id, state=6)
        equal([c.status for c in conn.poll(8)], [FLUSH] * 8, "receives that are left")


@row("EMPA-34")
def not_rtr(t):
    """A Write of data that comes instead of the RTR Write counts as a message: Immediate Data has its length"""
    ulp = t.ulp()
    for size in (1, 1400, 3000):
        conn = t.passive(ulp=ulp, word=mpa.enh(4, 4, 1, 0, 1, 0), first=False, recvs=2)
        conn.peer.put_write(conn.stag, conn.addr, b"w" * size)
        conn.peer.put(fpdu.immediate(1, bytes(8)))
        wc = conn.poll()[0]
        equal((wc.status, wc.opcode, wc.len), (SUCCESS, WC_RECV_IMM, size), "completion")
    # the RTR Write is not a message
    conn = t.passive(ulp=ulp, word=mpa.enh(4, 4, 1, 0, 1, 0), first=False, recvs=2)
    conn.peer.put_write()
    conn.peer.put(fpdu.immediate(1, bytes(8)))
    wc = conn.poll()[0]
    equal((wc.status, wc.opcode, wc.len), (SUCCESS, WC_RECV, 0), "completion")


@row("EMPA-35")
def rtr_read(t):
    """
    A zero-length Read as RTR has MSN 1 of queue 1, the next Read has MSN 2; MSN 1 again: Terminate 1/2/03

    In this test IRD is 1, so the peer sends one Read at a time.
    """
    conn = t.passive(word=mpa.enh(4, 1, 1, 0, 0, 1), ird=1, first=False)
    equal(depths(conn.reply.words())[0], 1, "IRD")
    for turn in range(3):
        conn.peer.put(fpdu.read_request(turn + 1, 9, 0, 4 * turn, conn.stag, conn.addr))
        equal(conn.peer.read_response(9, 0), b"\xa5" * 4 * turn, "read")
    again = fpdu.read_request(1, 9, 0, 4, conn.stag, conn.addr)
    conn.peer.put(again)
    conn.peer.expect_term(1, 2, 3, of=again)


@row("EMPA-32")
def any_word(t):
    """The device accepts a Request with any random enhanced word, and its Reply obeys the rules"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    for _ in range(40):
        one, two = (t.rng.choice((0, 1, 128, 129, MOST, mpa.ANY_DEPTH, t.rng.getrandbits(14))) for _ in range(2))
        word = struct.pack(">HH", one | t.rng.getrandbits(2) << 14, two | t.rng.getrandbits(2) << 14)
        conn = t.passive(ulp=ulp, listener=listener, word=word, recvs=0, first=False)
        first, second = struct.unpack(">HH", word)
        p2p, took = kinds(conn.reply.words())
        got, state = depths(conn.reply.words()), conn.query()
        equal(p2p, bool(first & 0x8000), "A")
        check(bool(took) == p2p, "kinds", word, conn.reply)
        offered = kinds((first, second))[1]
        check(not p2p or took & offered or not offered, "the Reply takes no offered RTR kind", word, conn.reply)
        for mine, other in ((got[0], second & mpa.ANY_DEPTH), (got[1], first & mpa.ANY_DEPTH)):
            check((mine == mpa.ANY_DEPTH) == (other == mpa.ANY_DEPTH), "3FFF", word, conn.reply)
        check(got[1] <= first & mpa.ANY_DEPTH, "ORD", word, conn.reply)
        check(state["ird"] <= 128 and state["ord"] <= 128, "queue pair", state)
        conn.peer.close()
        ulp.destroy(id=conn.id)


@row("EMPA-12", "EMPA-29", "EMPA-16")
def reject_enhanced_words(t):
    """
    The reject of an enhanced Request is enhanced, with A as in the Request, and the ULP's private data

    If a depth of the Request is 0x3FFF, the opposite depth of the reject is 0x3FFF.
    """
    ulp = t.ulp()
    listener = t.listener(ulp)
    for word, data in ((mpa.enh(0, 5), b""), (mpa.enh(mpa.ANY_DEPTH, 9, 0, 0, 0, 0), b"no, thanks"),
                       (mpa.enh(7, mpa.ANY_DEPTH), b"x" * 140)):
        peer = t.connect(listener[1])
        peer.request(word=word)
        event = ulp.event(id=listener[0], want="CONNECT_REQUEST")
        ulp.reject(id=event["new"], data=data or None)
        reply = peer.reply()
        equal((reply.rev, reply.flags & (mpa.R | mpa.S)), (2, mpa.R | mpa.S), "Reply")
        equal(reply.pd[4:4 + len(data)], data, "data")
        first, second = struct.unpack(">HH", word)
        equal(reply.words()[0] & 0x8000, first & 0x8000, "A")
        got = depths(reply.words())
        equal(got[0] == mpa.ANY_DEPTH, second & mpa.ANY_DEPTH == mpa.ANY_DEPTH, "IRD is 3FFF")
        equal(got[1] == mpa.ANY_DEPTH, first & mpa.ANY_DEPTH == mpa.ANY_DEPTH, "ORD is 3FFF")


@row("EMPA-31", alone=True)
def responder_without(t):
    """A responder of revision 1 closes at a Request of revision 2, enhanced or not, and accepts one of revision 1"""
    t.setting("mpa_revision", 1)
    ulp = t.ulp()
    listener = t.listener(ulp)
    for flags, word in ((mpa.C, (4, 4)), (mpa.C | mpa.M, mpa.enh(0, 0, 0, 0, 0, 0))):
        peer = t.connect(listener[1])
        peer.request(flags, word=word)
        peer.expect_end()
    peer = t.connect(listener[1])
    peer.request(mpa.C, rev=2)
    peer.expect_end()
    t.passive(ulp=ulp, listener=listener, rev=1).alive()
