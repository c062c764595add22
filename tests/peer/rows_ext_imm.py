# SPDX-License-Identifier: GPL-2.0
"""RFC 7306: Immediate Data."""
import fpdu
from outcome import check, equal
from rows import row, stated
from rows_ddp import refused
from ulp import FLUSH, SUCCESS, WC_RECV, WC_RECV_IMM, WC_SEND, WC_WRITE, WITH_IMM

stated("deviation", "verbs give the ULP four octets of immediate data: the device sends zeros as the other four, and"
       " ignores them in messages of the peer", "EXT-10")


@row("EXT-4", "EXT-5", "EXT-3", "EXT-10")
def immediates_sent(t):
    """
    The device sends Immediate Data as 8 octets in queue 0, with MSNs that Sends share

    The first four octets are the ULP's immediate data, the others are zero. A message has the
    Solicited Event bit if the ULP asks for it.
    """
    conn = t.passive()
    conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
    conn.post("send_imm", wr=2, imm=0x01020304)
    conn.post("write_imm", wr=3, sge="%d:0:3000" % conn.mr, stag=3, raddr=1 << 40, imm=0xFFFEFDFC)
    conn.post("send_imm", wr=4, imm=5, flags="s")
    conn.post("write_imm", wr=5, stag=4, raddr=9, imm=0, flags="s")
    conn.post("send", wr=6, sge="%d:0:5" % conn.mr)
    wanted = [(fpdu.SEND, 1, b"\xa5" * 5), (fpdu.IMM, 2, bytes.fromhex("0102030400000000")), "write",
              (fpdu.IMM, 3, bytes.fromhex("fffefdfc00000000")), (fpdu.IMM_SE, 4, bytes.fromhex("0000000500000000")),
              "write", (fpdu.IMM_SE, 5, bytes(8)), (fpdu.SEND, 6, b"\xa5" * 5)]
    for want in wanted:
        got = conn.peer.message()
        if want == "write":
            equal({seg.opcode for seg in got}, {fpdu.WRITE}, "the Write")
            continue
        (seg,) = got
        equal((seg.opcode, seg.msn, seg.data), want, "message")
        equal((seg.queue, seg.offset, seg.stag, seg.last, seg.tagged), (0, 0, 0, True, False), "header")
    equal([(c.wr, c.status, c.opcode) for c in conn.poll(6)],
          [(1, SUCCESS, WC_SEND), (2, SUCCESS, WC_SEND), (3, SUCCESS, WC_WRITE), (4, SUCCESS, WC_SEND),
           (5, SUCCESS, WC_WRITE), (6, SUCCESS, WC_SEND)], "completions")


@row("EXT-6", "EXT-33")
def immediate_sizes(t):
    """Immediate Data of a size other than 8 octets, or in several segments: Terminate 0/2/FF; with MO 8: 1/2/04"""
    ulp = t.ulp()
    for se in (False, True):
        for size in (0, 7, 9, 16) if se else (0, 1, 4, 7, 9, 12, 16, 256, 300):
            refused(t, (0, 2, 0xFF), lambda c, n=size, s=se: fpdu.immediate(1, bytes(n), s), ulp)
    refused(t, (0, 2, 0xFF), lambda c: fpdu.immediate(1, bytes(8), last=False), ulp)
    refused(t, (0, 2, 0xFF), lambda c: fpdu.immediate(1, bytes(4), last=False), ulp)
    refused(t, (1, 2, 4), lambda c: fpdu.immediate(1, bytes(8), offset=8), ulp)


@row("EXT-33", "EXT-3")
def immediate_headers(t):
    """The device checks DDP fields, versions and queue of Immediate Data, but not reserved bits or Invalidate STag"""
    ulp = t.ulp()
    for code, bad in (((1, 2, 3), lambda c: fpdu.immediate(2, bytes(8))), ((1, 2, 3), lambda c: fpdu.immediate(0, bytes(8))),
                      ((1, 2, 6), lambda c: fpdu.immediate(1, bytes(8), dv=3)),
                      ((0, 2, 5), lambda c: fpdu.immediate(1, bytes(8), rv=3)),
                      ((0, 2, 6), lambda c: fpdu.untagged(fpdu.IMM, 1, 1, bytes(8))),
                      ((1, 2, 1), lambda c: fpdu.untagged(fpdu.IMM_SE, 3, 1, bytes(8))),
                      ((0, 2, 6), lambda c: fpdu.tagged(fpdu.IMM, c.stag, c.addr, bytes(8)))):
        refused(t, code, bad, ulp)
    conn = t.passive(ulp=ulp)
    conn.peer.put(fpdu.immediate(1, bytes(8), stag=conn.stag, rsv=3, rsvd=15))
    equal((conn.poll()[0].status), SUCCESS, "status")
    conn.alive()


@row("EXT-7")
def takes_a_receive(t):
    """Each Immediate Data message consumes a receive of any size; without a posted receive: Terminate 1/2/02"""
    conn = t.passive(recvs=0)
    conn.recv(wr=1)
    conn.recv(wr=2, sge="%d:0:1" % conn.mr)
    conn.recv(wr=3, sge="%d:0:100" % conn.mr)
    for _ in range(3):
        conn.peer.put(fpdu.immediate(conn.peer.next(0), b"\0\0\0\7more"))
    equal([(c.wr, c.status, c.imm, c.flags & WITH_IMM) for c in conn.poll(3)],
          [(n, SUCCESS, 7, WITH_IMM) for n in (1, 2, 3)], "completions")
    conn.untouched()
    bad = fpdu.immediate(conn.peer.next(0), bytes(8))
    conn.peer.put(bad)
    conn.peer.expect_term(1, 2, 2, of=bad)
    conn.peer.expect_fin()


@row("EXT-8", "EXT-10")
def immediates_in_order(t):
    """
    Sends and Immediate Data are delivered in order; a Write before Immediate Data is placed by then

    The completion of Immediate Data after a Write has the length of the Write.
    """
    conn = t.passive(recvs=64)
    wanted = []
    for turn in range(12):
        data = bytes([turn + 1]) * (turn * 700 + 1)
        conn.peer.put_write(conn.stag, conn.addr + turn * 5, data)
        se = bool(turn % 3 == 2)
        conn.peer.put(fpdu.immediate(conn.peer.next(0), turn.to_bytes(4, "big") + b"rest", se))
        wanted.append((WC_RECV_IMM, len(data), turn))
        conn.peer.put_send(b"s" * turn)
        wanted.append((WC_RECV, turn, None))
        conn.peer.put(fpdu.immediate(conn.peer.next(0), (turn + 1000).to_bytes(4, "big") + bytes(4)))
        wanted.append((WC_RECV, 0, turn + 1000))
        got = conn.poll(3)
        # do not wait: when the Immediate Data complete, the data of the Write must already be in
        # memory
        equal(conn.memory(turn * 5, len(data)), data, "the Write before Immediate Data")
        for wc, (opcode, size, imm) in zip(got, wanted[-3:]):
            equal((wc.status, wc.opcode, wc.len), (SUCCESS, opcode, size), "completion")
            equal(wc.flags & WITH_IMM, WITH_IMM if imm is not None else 0, "flag")
            check(imm is None or wc.imm == imm, "immediate data:", wc)
        equal([wc.wr for wc in got], [turn * 3, turn * 3 + 1, turn * 3 + 2], "receives in order")


@row("EXT-10")
def value_of_immediate(t):
    """The ULP gets the first four octets of Immediate Data as a number; the device ignores the last four"""
    conn = t.passive()
    for value, rest in ((0, bytes(4)), (0xFFFFFFFF, b"\xff" * 4), (0x01020304, b"\5\6\7\10"), (1 << 31, b"abcd")):
        conn.peer.put(fpdu.immediate(conn.peer.next(0), value.to_bytes(4, "big") + rest))
        got = conn.poll()[0]
        equal((got.status, got.imm, got.flags & WITH_IMM), (SUCCESS, value, WITH_IMM), "completion")


@row("EXT-9")
def solicited_immediate(t):
    """Immediate Data with SE raise a solicited completion event, Immediate Data without SE do not"""
    conn = t.passive()
    conn.ulp.arm(cq=conn.cq, solicited=1)
    conn.peer.put(fpdu.immediate(conn.peer.next(0), bytes(8)))
    equal(conn.poll()[0].status, SUCCESS, "status")
    equal(int(conn.ulp.cqevent(cq=conn.cq, ms=300)["event"]), 0, "an event")
    conn.peer.put(fpdu.immediate(conn.peer.next(0), bytes(8), True))
    equal(int(conn.ulp.cqevent(cq=conn.cq, ms=30000)["event"]), 1, "no event")
    equal(conn.poll()[0].status, SUCCESS, "status")


@row("EXT-8")
def immediate_within_send(t):
    """Immediate Data with the MSN of an unfinished Send: Terminate 0/2/FF, and the Send is not delivered"""
    conn = t.passive(recvs=2)
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"half", last=False))
    bad = fpdu.immediate(1, bytes(8), offset=4)
    conn.peer.put(bad)
    conn.peer.expect_term(0, 2, 0xFF, of=bad)
    equal([c.status for c in conn.poll(2)], [FLUSH] * 2, "statuses")
