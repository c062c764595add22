# SPDX-License-Identifier: GPL-2.0
"""RFC 7306: atomic operations that the device requests."""
import struct
import sys

import fpdu
import mpa
from fpdu import ALL_ONES, CMP_SWAP, FETCH_ADD
from outcome import check, equal
from rows import row
from ulp import FLUSH, LOC_LEN_ERR, LOC_PROT_ERR, REM_OP_ERR, SUCCESS, WC_CAS, WC_FADD, WC_READ


def request(conn):
    """Checks that the next segment is an Atomic Request; returns the segment and a tuple of its
    fields."""
    seg = conn.peer.segment()
    equal((seg.opcode, seg.queue, seg.last, seg.offset, seg.stag), (fpdu.ATOMIC_REQ, 1, True, 0, 0), "Atomic Request")
    equal(len(seg.data), 52, "size of an Atomic Request")
    return seg, struct.unpack(">IIIQQQQQ", seg.data)


def answer(conn, ident, value, **how):
    """Sends an Atomic Response from the peer; ident: the Original Request Identifier."""
    conn.peer.put(fpdu.atomic_response(conn.peer.next(3), ident, value, **how))


def sink(conn, at=0):
    """Returns the 8 octets at offset "at" of the memory, into which the device puts the old value,
    as a number in the device's byte order."""
    return int.from_bytes(conn.memory(at, 8), sys.byteorder)


@row("EXT-11", "EXT-3", "EXT-20", "EXT-19", "EXT-24", "EXT-37")
def requests(t):
    """The device's FetchAdd and CmpSwap Requests have the right fields, and share their MSNs with Read Requests"""
    conn = t.passive()
    conn.post("read", wr=1, sge="%d:64:4" % conn.mr, stag=3, raddr=4)
    conn.post("fadd", wr=2, sge="%d:0:8" % conn.mr, stag=0x11223344, raddr=0x5566778899AABBC0, add=0x0102030405060708)
    conn.post("cas", wr=3, sge="%d:8:8" % conn.mr, stag=0x55, raddr=8, add=0xA1A2A3A4A5A6A7A8, swap=0xB1B2B3B4B5B6B7B8)
    seg = conn.peer.segment()
    equal((seg.opcode, seg.msn), (fpdu.READ_REQ, 1), "the Read")
    to, at, size, _, _ = seg.read_request()
    seg, add = request(conn)
    equal((seg.msn, add[0]), (2, FETCH_ADD), "number and operation")
    equal(add[2:], (0x11223344, 0x5566778899AABBC0, 0x0102030405060708, 0, 0, ALL_ONES), "FetchAdd")
    seg, swap = request(conn)
    equal((seg.msn, swap[0]), (3, CMP_SWAP), "number and operation")
    equal(swap[2:], (0x55, 8, 0xB1B2B3B4B5B6B7B8, ALL_ONES, 0xA1A2A3A4A5A6A7A8, ALL_ONES), "CmpSwap")
    check(add[1] != swap[1], "one identifier for two Requests")
    conn.peer.put(fpdu.tagged(fpdu.READ_RESP, to, at, b"r" * size))
    answer(conn, add[1], 0x1112131415161718)
    answer(conn, swap[1], 0xF1F2F3F4F5F6F7F8)
    equal([(c.wr, c.status, c.opcode) for c in conn.poll(3)],
          [(1, SUCCESS, WC_READ), (2, SUCCESS, WC_FADD), (3, SUCCESS, WC_CAS)], "completions")
    equal((sink(conn), sink(conn, 8)), (0x1112131415161718, 0xF1F2F3F4F5F6F7F8), "values")
    equal(set(conn.memory(16, 48)), {0xA5}, "memory beside")


@row("EXT-28")
def withheld(t):
    """An atomic operation does not complete or change its sink before the whole Response has arrived"""
    conn = t.passive()
    conn.post("fadd", wr=1, sge="%d:0:8" % conn.mr, stag=3, raddr=8, add=1)
    conn.post("write", wr=2, sge="%d:64:4" % conn.mr, stag=3, raddr=64)
    _, fields = request(conn)
    equal(conn.peer.segment().opcode, fpdu.WRITE, "the Write after it")
    octets = conn.peer.frame(fpdu.atomic_response(conn.peer.next(3), fields[1], 7))
    conn.peer.send(octets[:-1])
    conn.none(300)
    conn.untouched()
    conn.peer.send(octets[-1:])
    equal([(c.wr, c.status) for c in conn.poll(2)], [(1, SUCCESS), (2, SUCCESS)], "completions in order")
    equal(sink(conn), 7, "value")


@row("EXT-13", "EXT-16")
def ord_is_kept(t):
    """The device has at most ORD Reads and atomic operations outstanding, and sends the Requests in order"""
    conn = t.passive(word=mpa.enh(2, 4, 0, 0, 0, 0), ord=8)
    for turn in range(6):
        if turn % 2:
            conn.post("read", wr=turn, sge="%d:%d:8" % (conn.mr, turn * 8), stag=3, raddr=8)
        else:
            conn.post("fadd", wr=turn, sge="%d:%d:8" % (conn.mr, turn * 8), stag=3, raddr=8, add=turn)
    waiting = []

    def one(turn):
        seg = conn.peer.segment()
        equal((seg.opcode, seg.msn), (fpdu.READ_REQ if turn % 2 else fpdu.ATOMIC_REQ, turn + 1), "request %d" % turn)
        waiting.append(seg)
    one(0)
    one(1)
    conn.peer.expect_silence(0.3)
    for turn in range(6):
        seg = waiting.pop(0)
        if turn % 2:
            to, at, size, _, _ = seg.read_request()
            conn.peer.put(fpdu.tagged(fpdu.READ_RESP, to, at, bytes([turn]) * size))
        else:
            answer(conn, struct.unpack(">I", seg.data[4:8])[0], turn)
        if turn < 4:
            one(turn + 2)
    equal([(c.wr, c.status) for c in conn.poll(6)], [(n, SUCCESS) for n in range(6)], "completions")


def wrong(t, ulp, code, bad, op="fadd"):
    """
    Checks that the device answers the ULPDU bad(identifier), which the peer sends as a Response,
    with a Terminate (code: layer, type, code). op: the operation that the device has requested:
    "fadd", "read", or None; identifier: the Request Identifier of "fadd", else 0.
    """
    conn = t.passive(ulp=ulp)
    ident = 0
    if op == "fadd":
        conn.post("fadd", wr=1, sge="%d:0:8" % conn.mr, stag=3, raddr=8, add=1)
        ident = request(conn)[1][1]
    elif op == "read":
        conn.post("read", wr=1, sge="%d:0:8" % conn.mr, stag=3, raddr=8)
        equal(conn.peer.segment().opcode, fpdu.READ_REQ, "the Read")
    ulpdu = bad(ident)
    conn.peer.put(ulpdu)
    conn.peer.expect_term(*code, of=ulpdu)
    conn.peer.expect_fin()
    conn.untouched()
    if op:
        check(conn.poll()[0].status != SUCCESS, "it succeeded")


@row("EXT-34", "EXT-33")
def bad_responses(t):
    """
    An Atomic Response that was not requested, or that has a wrong field, gets a Terminate; nothing is placed

    Tests a wrong MSN, identifier, length, MO, L bit, DDP version, RDMAP version, and queue.
    """
    ulp = t.ulp()
    make = fpdu.atomic_response
    wrong(t, ulp, (0, 2, 6), lambda i: make(1, 0, 7), None)
    wrong(t, ulp, (0, 2, 6), lambda i: make(1, 0, 7), "read")
    for msn in (0, 2, 0xFFFFFFFF):
        wrong(t, ulp, (1, 2, 3), lambda i, m=msn: make(m, i, 7))
    wrong(t, ulp, (0, 2, 0xFF), lambda i: make(1, i ^ 1, 7))
    wrong(t, ulp, (0, 2, 0xFF), lambda i: make(1, i ^ (1 << 31), 7))
    wrong(t, ulp, (0, 2, 0xFF), lambda i: make(1, i, 7, more=b"x"))
    wrong(t, ulp, (0, 2, 0xFF), lambda i: make(1, i, 7)[:-1])
    wrong(t, ulp, (0, 2, 0xFF), lambda i: make(1, i, 7, last=False))
    wrong(t, ulp, (1, 2, 4), lambda i: make(1, i, 7, offset=4))
    wrong(t, ulp, (1, 2, 6), lambda i: make(1, i, 7, dv=0))
    wrong(t, ulp, (0, 2, 5), lambda i: make(1, i, 7, rv=0))
    for queue, code in ((0, (0, 2, 6)), (1, (0, 2, 6)), (2, (0, 2, 6)), (4, (1, 2, 1))):
        wrong(t, ulp, code, lambda i, q=queue: fpdu.untagged(fpdu.ATOMIC_RESP, q, 1, struct.pack(">IQ", i, 7)))


@row("EXT-34", "EXT-16")
def response_out_of_order(t):
    """An Atomic Response that arrives before the Response to an earlier Read: Terminate 0/2/06"""
    conn = t.passive()
    conn.post("read", wr=1, sge="%d:64:4" % conn.mr, stag=3, raddr=4)
    conn.post("fadd", wr=2, sge="%d:0:8" % conn.mr, stag=3, raddr=8, add=1)
    equal(conn.peer.segment().opcode, fpdu.READ_REQ, "the Read")
    _, fields = request(conn)
    bad = fpdu.atomic_response(1, fields[1], 7)
    conn.peer.put(bad)
    conn.peer.expect_term(0, 2, 6, of=bad)
    conn.untouched()
    check(all(c.status != SUCCESS for c in conn.poll(2)), "it succeeded")


@row("EXT-1")
def probe(t):
    """The device requests a FetchAdd of 0 from a peer that answers with Terminate 0/2/06: the request fails"""
    conn = t.passive()
    conn.post("fadd", wr=1, sge="%d:0:8" % conn.mr, stag=3, raddr=8, add=0)
    seg, _ = request(conn)
    conn.peer.put(fpdu.terminate(0, 2, 6, len(seg.ulpdu).to_bytes(2, "big") + seg.ulpdu[:18], 0xC0))
    got = conn.poll()[0]
    equal((got.wr, got.status), (1, REM_OP_ERR), "completion")
    conn.untouched()
    check(all(c.status == FLUSH for c in conn.poll(8)), "receives")


@row("EXT-31")
def local_errors(t):
    """An atomic operation with an invalid sink fails, and the device sends Terminate 0/0/00 without headers"""
    ulp = t.ulp()
    for sge, access, status in (("%d:0:8:99", "lwr", LOC_PROT_ERR), ("%d:65532:8", "lwr", LOC_PROT_ERR),
                                ("%d:0:8", "r", LOC_PROT_ERR), ("%d:0:7", "lwr", LOC_LEN_ERR)):
        conn = t.passive(ulp=ulp, access=access)
        conn.post("fadd", wr=1, sge=sge % conn.mr, stag=3, raddr=8, add=1)
        conn.peer.expect_term(0, 0, 0)
        conn.peer.expect_fin()
        equal([(c.wr, c.status) for c in conn.poll(1)], [(1, status)], "completion")
