# SPDX-License-Identifier: GPL-2.0
"""RFC 7306: atomic operations that the peer requests. rows_ext_req.py tests operations that the
device requests, and rows_ext_imm.py tests Immediate Data."""
import errno
import sys

import fpdu
import mpa
from fpdu import ALL_ONES, CMP_SWAP, FETCH_ADD
from outcome import check, equal
from rows import row, stated
from rows_ddp import refused
from ulp import SUCCESS

stated("deviation", "both ends agree on one number, IRD, for Reads and atomics together: by section 5.2 both share the flow control of Reads",
       "EXT-38")
stated("absent", "the device refuses opcode F as unknown (RDMAP-7)", "EXT-36")
HALF = 0xFFFFFFFF
EIGHTY = 0x8080808080808080
SEVENF = 0x7F7F7F7F7F7F7F7F
ONES = 0x0101010101010101


def atomics(t, **how):
    """Returns a connection on which the device is the responder, and the region permits atomic
    operations. how: arguments of t.passive()."""
    return t.passive(access="lwra", **how)


def word(conn, at=0):
    """Returns the 8 octets at offset "at" of the memory, as a number in the device's byte order."""
    return int.from_bytes(conn.memory(at, 8), sys.byteorder)


def put_word(conn, value, at=0):
    """Stores this number at offset "at" of the memory, in the device's byte order."""
    conn.ulp.set(mr=conn.mr, off=at, data=value.to_bytes(8, sys.byteorder))


def response(conn, ident, msn=None):
    """
    Checks that the next segment is an Atomic Response with the Original Request Identifier ident;
    returns its value.
    """
    seg = conn.peer.segment()
    equal((seg.opcode, seg.queue, seg.tagged, seg.last, seg.offset, seg.stag), (fpdu.ATOMIC_RESP, 3, False, True, 0, 0),
          "Atomic Response")
    equal(len(seg.data), 12, "size of an Atomic Response")
    equal(int.from_bytes(seg.data[:4], "big"), ident, "Original Request Identifier")
    check(msn is None or seg.msn == msn, "MSN of a Response, not %s:" % msn, seg)
    return int.from_bytes(seg.data[4:], "big")


def do(conn, op, data, mask=0, compare=0, compare_mask=ALL_ONES, at=0, ident=5, **how):
    """Lets the peer request an atomic operation; returns the old value, which the Response has."""
    conn.peer.put(fpdu.atomic(conn.peer.next(1), op, ident, conn.stag, conn.addr + at, data, mask, compare, compare_mask,
                              **how))
    return response(conn, ident)


@row("EXT-2", "EXT-22", "EXT-17", "EXT-14")
def fetch_add(t):
    """FetchAdd, plain and with fields, returns the old value and stores the sum; the ULP gets no completion"""
    conn = atomics(t)
    fixed = [(ALL_ONES, 1, 0, 0), (HALF, 1, 1 << 31, 0), (SEVENF, ONES, EIGHTY, EIGHTY), (ALL_ONES, ONES, EIGHTY, 0),
             (5, ALL_ONES, 0, 4), (HALF, 1, 0, 1 << 32), (0, 1 << 63, 0, 1 << 63), (1 << 63, 1 << 63, 0, 0)]
    for old, add, mask, want in fixed:
        put_word(conn, old)
        equal(do(conn, FETCH_ADD, add, mask), old, "value before")
        equal(word(conn), want, "sum of %x and %x in fields %x" % (old, add, mask))
    for _ in range(40):
        old, add, mask = (t.rng.getrandbits(64) for _ in range(3))
        put_word(conn, old)
        equal(do(conn, FETCH_ADD, add, mask), old, "value before")
        equal(word(conn), field_sum(old, add, mask), "sum of %x and %x in fields %x" % (old, add, mask))
    equal(set(conn.memory(8, 8000)), {0xA5}, "memory beside")
    conn.none(200)


def field_sum(old, add, mask):
    """
    Returns the sum of old and add, computed bit by bit as in RFC 7306 5.1.1: there is no carry from
    a bit that is set in the mask to the next bit.
    """
    out = carry = 0
    for bit in range(64):
        total = (old >> bit & 1) + (add >> bit & 1) + carry
        out |= (total & 1) << bit
        carry = 0 if mask >> bit & 1 else total >> 1
    return out


@row("EXT-2", "EXT-23", "EXT-17")
def cmp_swap(t):
    """CmpSwap, plain and with masks, returns the old value whether the comparison succeeds or not"""
    conn = atomics(t)
    whole = (ALL_ONES, ALL_ONES)
    fixed = [(5, 5, 1, *whole, 1), (5, 6, 1, *whole, 5), (0, 9, 7, ALL_ONES, 0, 7),
             (0x1122334455667788, 0x55667788, 0xAABBCCDD00000000, HALF << 32, HALF, 0xAABBCCDD55667788),
             (0x1122334455667788, 0x55667789, 0xAABBCCDD00000000, HALF << 32, HALF, 0x1122334455667788)]
    for old, compare, swap, mask, compare_mask, want in fixed:
        put_word(conn, old)
        equal(do(conn, CMP_SWAP, swap, mask, compare, compare_mask), old, "value before")
        equal(word(conn), want, "value after")
    for turn in range(40):
        old, other, swap, mask, compare_mask = (t.rng.getrandbits(64) for _ in range(5))
        # in every second turn, the masked comparison succeeds
        compare = old & compare_mask | other & ~compare_mask if turn % 2 else other
        hit = not (old ^ compare) & compare_mask
        put_word(conn, old)
        equal(do(conn, CMP_SWAP, swap, mask, compare, compare_mask), old, "value before")
        equal(word(conn), old & ~mask & ALL_ONES | swap & mask if hit else old, "value after")
    equal(set(conn.memory(8, 8000)), {0xA5}, "memory beside")
    conn.none(100)


@row("EXT-24")
def endianness(t):
    """Fields of atomic operations are big-endian on the wire; memory has the byte order of the device's processor"""
    conn = atomics(t)
    value = 0x0102030405060708
    conn.ulp.set(mr=conn.mr, off=0, data=value.to_bytes(8, sys.byteorder))
    equal(do(conn, FETCH_ADD, 0x10), value, "value before")
    equal(conn.memory(0, 8), (value + 0x10).to_bytes(8, sys.byteorder), "memory")
    equal(do(conn, CMP_SWAP, 0xF0F1F2F3F4F5F6F7, ALL_ONES, value + 0x10), value + 0x10, "value before")
    equal(conn.memory(0, 8), (0xF0F1F2F3F4F5F6F7).to_bytes(8, sys.byteorder), "memory")


@row("EXT-12", "EXT-18", "EXT-17")
def responses(t):
    """Atomic Responses have queue 3, their own MSNs from 1, and the identifier of the Request, whatever it is"""
    conn = atomics(t)
    put_word(conn, 0)
    idents = [0, 0xFFFFFFFF, 7, 7, 1 << 31] + [t.rng.getrandbits(32) for _ in range(20)]
    for turn, ident in enumerate(idents):
        if turn % 3 == 0:
            # a Read Request uses an MSN of queue 1, too; but its Response uses no MSN of queue 3
            conn.alive()
        conn.peer.put(fpdu.atomic(conn.peer.next(1), FETCH_ADD, ident, conn.stag, conn.addr, 1))
        equal(response(conn, ident, turn + 1), turn, "value")


@row("EXT-19", "EXT-20", "EXT-3")
def ignored_in_atomics(t):
    """The device ignores reserved bits, the Invalidate STag, and the compare fields of a FetchAdd"""
    conn = atomics(t)
    put_word(conn, 100)
    equal(do(conn, FETCH_ADD, 1, rsvd_op=0xFFFFFFF), 100, "value")
    equal(do(conn, CMP_SWAP, 5, ALL_ONES, 101, rsvd_op=0x8000001), 101, "value")
    equal(do(conn, FETCH_ADD, 1, compare=77, compare_mask=3), 5, "value")
    equal(do(conn, FETCH_ADD, 1, compare=ALL_ONES, compare_mask=0), 6, "value")
    whole = fpdu.atomic(0, FETCH_ADD, 5, conn.stag, conn.addr, 1)
    conn.peer.put(fpdu.untagged(fpdu.ATOMIC_REQ, 1, conn.peer.next(1), whole[18:], stag=conn.stag, rsvd=15, rsv=3))
    equal(response(conn, 5), 7, "value")
    equal(word(conn), 8, "memory")


@row("EXT-15")
def operations(t):
    """An Atomic Request with an undefined AOpCode: Terminate 0/2/06"""
    ulp = t.ulp()
    for op in (1, 3, 4, 8, 15):
        refused(t, (0, 2, 6), lambda c, o=op: fpdu.atomic(1, o, 5, c.stag, c.addr, 1), ulp, access="lwra")


@row("EXT-21", "EXT-32")
def atomic_alignment(t):
    """
    An atomic operation on unaligned memory: Terminate 0/2/07 with the DDP header, memory is unchanged

    The same is true for regions whose tagged offsets are not addresses. In every region that a
    program can register, a tagged offset and its address have the same last three bits. So the
    device may check the alignment of the tagged offset or of the address.
    """
    ulp = t.ulp()
    for at in range(1, 8):
        for op in (FETCH_ADD, CMP_SWAP):
            if op == CMP_SWAP and at not in (1, 4):
                continue
            refused(t, (0, 2, 7), lambda c, a=at, o=op: fpdu.atomic(1, o, 5, c.stag, c.addr + a, 1, ALL_ONES, 0, 0), ulp,
                    access="lwra")
    # regions whose tagged offsets are not addresses
    for iova in (0, 1 << 40, 1 << 63):
        conn = atomics(t, ulp=ulp)
        put_word(conn, 41, 16)
        stag = ulp.mr(mr=ulp.new(), of=conn.mr, off=0, len=4096, iova=iova, access="lwra")["stag"]
        conn.peer.put(fpdu.atomic(conn.peer.next(1), FETCH_ADD, 9, stag, iova + 16, 1))
        equal(response(conn, 9), 41, "value")
        equal(word(conn, 16), 42, "memory")
        bad = fpdu.atomic(conn.peer.next(1), FETCH_ADD, 9, stag, iova + 20, 1)
        conn.peer.put(bad)
        conn.peer.expect_term(0, 2, 7, of=bad)
        equal(conn.memory(24, 8), b"\xa5" * 8, "memory")
    for off, iova in ((0, 4), (4, 0), (1, 1 << 40), (0, (1 << 63) + 7)):
        equal(ulp.fails("mr", mr=ulp.new(), of=conn.mr, off=off, len=4096, iova=iova, access="lwra"), errno.EINVAL,
              "errno, address %d, offset %x" % (off, iova))


@row("EXT-30", "EXT-32")
def access(t):
    """
    An atomic operation with a bad STag, domain, wrap, range or right: Terminate 0/1/00, 03, 04, 01, 02

    The Terminate has the DDP header, and no RDMAP header; memory is unchanged.
    """
    ulp = t.ulp()
    other = atomics(t, ulp=ulp)
    theirs, addr = other.stag, other.addr

    def no(code, stag=lambda c: c.stag, at=lambda c: c.addr, access="lwra", **how):
        for op in (FETCH_ADD, CMP_SWAP):
            def bad(c, op=op):
                return fpdu.atomic(1, op, 5, stag(c), at(c), 1, ALL_ONES, 0, 0)
            conn = t.passive(ulp=ulp, access=access, **how)
            ulpdu = bad(conn)
            conn.peer.put(ulpdu)
            conn.peer.expect_term(0, 1, code, hdr=(0xC0, len(ulpdu).to_bytes(2, "big") + ulpdu[:18]))
            conn.peer.expect_fin()
            conn.untouched()
            other.untouched()
    no(0, stag=lambda c: c.stag ^ 1)
    no(0, stag=lambda c: c.stag ^ 0x100)
    no(0, stag=lambda c: 0)
    no(3, stag=lambda c: theirs, at=lambda c: addr, domain=9)
    no(4, at=lambda c: (1 << 64) - 4)
    no(1, at=lambda c: c.addr + 65536)
    no(1, at=lambda c: c.addr + 65529)
    no(1, at=lambda c: c.addr - 8)
    no(2, access="lwr")
    no(2, access="lr")
    other.alive()


@row("EXT-33", "EXT-35", "EXT-32")
def segments(t):
    """The device checks the DDP fields, versions, opcode, queue and length of Atomic Requests"""
    ulp = t.ulp()

    def good(c, msn=1, **how):
        return fpdu.atomic(msn, FETCH_ADD, 5, c.stag, c.addr, 1, **how)
    for code, bad in (((1, 2, 6), lambda c: good(c, dv=2)), ((0, 2, 5), lambda c: good(c, rv=2)),
                      ((1, 2, 3), lambda c: good(c, msn=2)), ((1, 2, 3), lambda c: good(c, msn=0)),
                      ((1, 2, 4), lambda c: fpdu.untagged(fpdu.ATOMIC_REQ, 1, 1, good(c)[18:], offset=8)),
                      ((0, 2, 0xFF), lambda c: good(c, last=False)),
                      ((0, 2, 0xFF), lambda c: good(c)[:-1]), ((0, 2, 0xFF), lambda c: good(c)[:18]),
                      ((0, 2, 0xFF), lambda c: good(c) + b"x"),
                      ((0, 2, 6), lambda c: fpdu.untagged(fpdu.ATOMIC_REQ, 0, 1, good(c)[18:])),
                      ((1, 2, 1), lambda c: fpdu.untagged(fpdu.ATOMIC_REQ, 3, 1, good(c)[18:])),
                      ((1, 2, 1), lambda c: fpdu.untagged(fpdu.ATOMIC_REQ, 4, 1, good(c)[18:])),
                      ((0, 2, 6), lambda c: fpdu.tagged(fpdu.ATOMIC_REQ, c.stag, c.addr, bytes(52)))):
        refused(t, code, bad, ulp, access="lwra")


@row("EXT-35")
def queue_3(t):
    """Queue 3 is for Atomic Responses only: any other message for it is answered with Terminate 1/2/01"""
    ulp = t.ulp()
    for opcode in (fpdu.SEND, fpdu.IMM, fpdu.TERM, fpdu.SEND_SE_INV):
        refused(t, (1, 2, 1), lambda c, o=opcode: fpdu.untagged(o, 3, 1, bytes(8)), ulp)
    refused(t, (1, 2, 1), lambda c: fpdu.untagged(fpdu.READ_REQ, 3, 1, bytes(28)), ulp)


@row("EXT-16", "EXT-13")
def in_order(t):
    """
    As many Reads and atomic operations as IRD permits, in one TCP write, are processed and answered in order

    Each operation sees the results of the operations before it.
    """
    conn = atomics(t, word=(4, 6), ird=6)
    equal(conn.reply.words()[0] & 0x3FFF, 6, "IRD")
    put_word(conn, 1000)
    for turn in range(5):
        base = 1000 + 3 * turn
        ulpdus = []
        for n in range(3):
            ulpdus.append(fpdu.read_request(conn.peer.next(1), 77, n * 8, 8, conn.stag, conn.addr))
            ulpdus.append(fpdu.atomic(conn.peer.next(1), FETCH_ADD, n, conn.stag, conn.addr, 1))
        conn.peer.put(*ulpdus)
        for n in range(3):
            # a Read may return the value after later atomic operations, but not an older value
            seen = int.from_bytes(conn.peer.read_response(77, n * 8), sys.byteorder)
            check(base + n <= seen <= base + 3, "read %d, atomics before: %d" % (seen, base + n))
            equal(response(conn, n), base + n, "value")


@row("EXT-13", "EXT-38")
def too_many(t):
    """More Read and Atomic Requests than IRD: Terminate 1/2/02; with IRD 0 at the first Read or Atomic Request"""
    ulp = t.ulp()
    for first in (lambda c: fpdu.atomic(1, FETCH_ADD, 5, c.stag, c.addr, 1),
                  lambda c: fpdu.read_request(1, 77, 0, 8, c.stag, c.addr)):
        refused(t, (1, 2, 2), first, ulp, access="lwra", word=mpa.enh(0, 0, 0, 0, 0, 0), ird=0)
    conn = atomics(t, ulp=ulp, word=(4, 4), ird=4)
    requests = []
    for turn in range(400):
        requests += [fpdu.read_request(conn.peer.next(1), 77, 1 << 40, 65528, conn.stag, conn.addr + 8),
                     fpdu.atomic(conn.peer.next(1), FETCH_ADD, turn, conn.stag, conn.addr, 1)]
    # the peer reads nothing until it has sent all Requests
    conn.peer.put(*requests)
    seg = conn.peer.segment()
    answered = 0
    while seg.opcode in (fpdu.READ_RESP, fpdu.ATOMIC_RESP):
        answered += seg.last
        seg = conn.peer.segment()
    equal((seg.opcode, seg.term()), (fpdu.TERM, (1, 2, 2)), "Terminate")
    check(answered < 800, "all were answered")


@row("EXT-27", "EXT-29")
def read_back(t):
    """A FetchAdd after a Write to the same word adds to the written value; a Write after the FetchAdd is placed"""
    conn = atomics(t)
    for turn in range(30):
        value = t.rng.getrandbits(62)
        conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, value.to_bytes(8, sys.byteorder)),
                      fpdu.atomic(conn.peer.next(1), FETCH_ADD, turn, conn.stag, conn.addr, 1),
                      fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr + 8, bytes([turn]) * 8))
        equal(response(conn, turn), value, "value")
        equal(word(conn), value + 1, "memory")
        equal(conn.memory(8, 8), bytes([turn]) * 8, "the Write after it")


@row("EXT-27")
def not_before_delivery(t):
    """A FetchAdd changes nothing before the last octet of its FPDU arrives"""
    conn = atomics(t)
    put_word(conn, 9)
    octets = conn.peer.frame(fpdu.atomic(conn.peer.next(1), FETCH_ADD, 5, conn.stag, conn.addr, 1))
    conn.peer.send(octets[:-1])
    conn.peer.expect_silence(0.3)
    equal(word(conn), 9, "memory")
    conn.peer.send(octets[-1:])
    equal(response(conn, 5), 9, "value")
    equal(word(conn), 10, "memory")


@row("EXT-25")
def many_streams(t):
    """FetchAdds of eight streams on one word: every value is returned exactly once, and the sum is exact"""
    ulp = t.ulp()
    first = atomics(t, ulp=ulp, word=(8, 8), ird=8)
    conns = [first] + [t.passive(ulp=ulp, access="l", word=(8, 8), ird=8) for _ in range(7)]
    put_word(first, 0)
    seen, rounds = [], 25
    for _ in range(rounds):
        for conn in conns:
            conn.peer.put(*[fpdu.atomic(conn.peer.next(1), FETCH_ADD, n, first.stag, first.addr, 1) for n in range(8)])
        for conn in conns:
            seen += [response(conn, n) for n in range(8)]
    equal(sorted(seen), list(range(8 * 8 * rounds)), "values")
    equal(word(first), 8 * 8 * rounds, "sum")


@row("EXT-26")
def capability(t):
    """The device reports that its atomic operations are atomic also for the processor (atomics.sh tests that)"""
    conn = atomics(t)
    equal(conn.ulp.device()["atomic"], 2, "IBV_ATOMIC_GLOB")
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"x"))
    equal(conn.poll()[0].status, SUCCESS, "status")
