# SPDX-License-Identifier: GPL-2.0
"""RFC 5040: received Terminates, and the effects of the peer's operations."""
import struct

import fpdu
from outcome import check, equal
from peer import term_headers
from rows import row, stated
from rows_rdmap_term import ends, reported
from ulp import FLUSH, REM_ACCESS_ERR, REM_INV_REQ_ERR, REM_OP_ERR, SUCCESS, WC_READ, WC_RECV

TERMS = ([(0, 0, 0), (0, 0, 0x55), (1, 0, 0)] +
         [(0, 1, code) for code in (0, 1, 2, 3, 4, 9, 0xFF)] +
         [(0, 2, code) for code in (5, 6, 7, 8, 9, 0xFF)] +
         [(1, 1, code) for code in range(5)] + [(1, 2, code) for code in range(1, 7)] +
         [(2, 0, code) for code in range(1, 8)] + [(2, 3, 2)])
STATUS = {(0, 1): REM_ACCESS_ERR, (0, 2): REM_OP_ERR, (1, 2): REM_INV_REQ_ERR}

stated("design", "see the rows of RFC 5042 (from SEC-1 on)", "RDMAP-94")


def reader(t, ulp=None, n=1, **how):
    """
    Returns a connection with n unanswered Reads of the upper layer, and the ULPDUs of the Read
    Requests. how: arguments of t.passive().
    """
    conn = t.passive(ulp=ulp, **how)
    for wr in range(n):
        conn.post("read", wr=100 + wr, sge="%d:%d:100" % (conn.mr, 100 * wr), stag=0x500, raddr=wr << 40)
    return conn, [conn.peer.segment().ulpdu for _ in range(n)]


def over(conn, count, layer, etype):
    """
    Checks the effects of a Terminate with this layer and error type that the device has received:
    the device sends no answer, ends the connection, raises the event, and completes all "count"
    work requests with an error. Returns {wr_id of a Read: status}.
    """
    conn.peer.expect_end()
    reported(conn, layer, etype)
    got = conn.poll(count)
    check(all(c.status != SUCCESS for c in got), "status", got)
    return {c.wr: c.status for c in got if c.wr >= 100}


@row("RDMAP-54", "RDMAP-57", "RDMAP-55", "RDMAP-78")
def term_received(t):
    """A received Terminate of each code, about a Read: no answer; the event and the Read's status show the error"""
    ulp = t.ulp()
    for term in TERMS:
        conn, (request,) = reader(t, ulp, recvs=2)
        head = term_headers(*term[:2], request)
        conn.peer.put(fpdu.terminate(*term, head[1], head[0]))
        equal(over(conn, 3, *term[:2]), {100: STATUS.get(term[:2], FLUSH)}, "%x/%x/%02x" % term)


@row("RDMAP-54", "RDMAP-78")
def term_names_a_read(t):
    """Of three Reads, only the Read whose header is in a Terminate completes with an access error"""
    ulp = t.ulp()
    for which in range(3):
        conn, requests = reader(t, ulp, 3, recvs=1)
        head = term_headers(0, 1, requests[which])
        conn.peer.put(fpdu.terminate(0, 1, 2, head[1], head[0]))
        want = {100: FLUSH, 101: FLUSH, 102: FLUSH}
        want[100 + which] = REM_ACCESS_ERR
        equal(over(conn, 4, 0, 1), want, "status")


@row("RDMAP-54")
def term_names_no_read(t):
    """A Terminate with the header of a Send, a Write or an unknown Read: the outstanding Reads are flushed"""
    ulp = t.ulp()
    for bad in (fpdu.untagged(fpdu.SEND_INV, 0, 1, b"x", stag=5), fpdu.tagged(fpdu.WRITE, 0x500, 0, b"x"),
                fpdu.read_request(9, 1, 0, 1, 0x500, 0), fpdu.read_request(0, 1, 0, 1, 0x500, 0)):
        conn, _ = reader(t, ulp, 2, recvs=1)
        head = term_headers(0, 1, bad)
        conn.peer.put(fpdu.terminate(0, 1, 2, head[1], head[0]))
        equal(over(conn, 3, 0, 1), {100: FLUSH, 101: FLUSH}, "status")


@row("RDMAP-18", "RDMAP-6")
def term_reserved_bits(t):
    """The device ignores the reserved bits and the Invalidate STag of a Terminate"""
    conn, (request,) = reader(t, recvs=1)
    bits, head = term_headers(0, 1, request)
    conn.peer.put(fpdu.untagged(fpdu.TERM, 2, 1, struct.pack(">BBBB", 1, 2, bits | 0x1F, 0xFF) + head, stag=77,
                                rsv=3, rsvd=15))
    equal(over(conn, 2, 0, 1), {100: REM_ACCESS_ERR}, "status")


@row("RDMAP-53", "RDMAP-54")
def term_without_receives(t):
    """A Terminate needs no receive; it also ends a stream in the middle of a Send, or of a Read Response"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp, recvs=0)
    conn.peer.put(fpdu.terminate(0, 2, 6))
    conn.peer.expect_end()
    reported(conn, 0, 2)
    conn, _ = reader(t, ulp, recvs=1)
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"begin", last=False))
    conn.peer.put(fpdu.terminate(1, 2, 6))
    equal(over(conn, 2, 1, 2), {100: FLUSH}, "status")
    # the Response to the first of two Reads is complete, the Response to the second Read is not
    conn, requests = reader(t, ulp, 2, recvs=0)
    first, second = [struct.unpack(">IQ", request[18:30]) for request in requests]
    conn.peer.put(fpdu.tagged(fpdu.READ_RESP, *first, b"r" * 100),
                  fpdu.tagged(fpdu.READ_RESP, *second, b"s" * 60, last=False))
    equal(conn.poll()[0][:4], (100, SUCCESS, WC_READ, 100), "the Read with a whole Response")
    conn.none(100)
    conn.peer.put(fpdu.terminate(1, 2, 6))
    equal(over(conn, 1, 1, 2), {101: FLUSH}, "status")
    equal((conn.memory(0, 100), conn.memory(160, 140)), (b"r" * 100, b"\xa5" * 140), "memory")


@row("RDMAP-58")
def term_invalid(t):
    """Invalid Terminates: the device sends one Terminate (0/2/06, 1/2/03..05, 0/2/FF), and no answer to later ones"""
    ulp = t.ulp()
    good = fpdu.terminate(0, 2, 6)
    ends(t, (0, 2, 6), lambda c: fpdu.terminate(0, 2, 6, queue=0), ulp)
    ends(t, (1, 2, 3), lambda c: fpdu.terminate(0, 2, 6, msn=7), ulp)
    ends(t, (1, 2, 4), lambda c: fpdu.terminate(0, 2, 6, offset=4), ulp)
    ends(t, (1, 2, 5), lambda c: good + bytes(49), ulp)
    for size in (18, 19, 21):
        ends(t, (0, 2, 0xFF), lambda c, n=size: good[:n], ulp)
    ends(t, (0, 2, 0xFF), lambda c: fpdu.terminate(0, 2, 6, last=False), ulp)
    conn = t.passive(ulp=ulp)
    bad = fpdu.terminate(0, 2, 6, msn=7)
    conn.peer.put(bad, bad, good)
    conn.peer.expect_term(1, 2, 3, of=bad)
    conn.peer.expect_fin()


@row("RDMAP-22", "RDMAP-29")
def silent_operations(t):
    """The peer's Writes and Reads, also zero-length ones, cause no completion and use no receive"""
    conn = t.passive()
    for n in range(20):
        conn.peer.put_write(conn.stag, conn.addr + 100 * n, b"w" * 50)
        conn.peer.put_write()
        equal(conn.peer.read(conn.stag, conn.addr + 100 * n, 50), b"w" * 50, "Read")
        equal(conn.peer.read(0xFFFFFFFF, n, 0), b"", "Read of nothing")
    conn.none()
    for wr in range(8):
        conn.peer.put_send(b"x")
        equal(conn.poll()[0][:4], (wr, SUCCESS, WC_RECV, 1), "completion")


@row("RDMAP-34", "RDMAP-64", "RDMAP-33", "RDMAP-25")
def nothing(t):
    """The device answers a zero-length Read of any source, and accepts a zero-length Write to any STag"""
    conn = t.passive(recvs=0, access="l")
    for stag, offset in ((0xFFFFFFFF, 0), (0, 1 << 63), (conn.stag, 0), (conn.stag ^ 1, (1 << 64) - 1)):
        conn.peer.put_write(stag, offset)
        conn.peer.put_read(stag, offset, 0, 0xFFFFFFFE, (1 << 64) - 1)
        seg = conn.peer.segment()
        equal((seg.opcode, seg.last, seg.stag, seg.offset, seg.data),
              (fpdu.READ_RESP, True, 0xFFFFFFFE, (1 << 64) - 1, b""), "Read Response")


@row("RDMAP-10", "RDMAP-11", "RDMAP-12", "RDMAP-33", "RDMAP-41")
def read_sizes(t):
    """Reads of 1 to 65536 octets at odd source and sink offsets get the right data"""
    conn = t.passive()
    data = t.rng.randbytes(65536)
    for at in range(0, 65536, 16384):
        conn.ulp.set(mr=conn.mr, off=at, data=data[at:at + 16384])
    for offset, size in ((0, 65536), (65535, 1), (1, 1), (3, 4093), (7, 1400), (12345, 40001)):
        for sink, sink_offset in ((0, 0), (0xFFFFFFFF, 0xFFFFFFFF), (1, (1 << 64) - size), (5, 0x123456789ABCDEF)):
            got = conn.peer.read(conn.stag, conn.addr + offset, size, sink, sink_offset)
            check(got == data[offset:offset + size], "data of %d at %d" % (size, offset))


@row("RDMAP-31", "RDMAP-39", "RDMAP-27", "RDMAP-37")
def reads_in_order(t):
    """As many outstanding Reads as IRD permits get whole Responses, in the order of the Requests"""
    conn = t.passive(ird=8)
    conn.ulp.set(mr=conn.mr, off=0, data=bytes(range(256)) * 64)
    for _ in range(5):
        sizes = [t.rng.choice((0, 1, 1399, 1400, 5000, 16000)) for _ in range(8)]
        at = [t.rng.randrange(256) for _ in range(8)]
        conn.peer.put(*[fpdu.read_request(conn.peer.next(1), n, n << 32, sizes[n], conn.stag, conn.addr + at[n])
                        for n in range(8)])
        for n in range(8):
            want = (bytes(range(256)) * 64)[at[n]:at[n] + sizes[n]]
            check(conn.peer.read_response(n, n << 32) == want, "Response %d" % n)


@row("RDMAP-43", "RDMAP-48", "RDMAP-45")
def send_sizes(t):
    """Sends of any size from 0 to the receive's size complete in order, with their length and data"""
    conn = t.passive(recvs=40, recv_len=6000)
    sizes = [0, 1, 0, 5999, 6000] + [t.rng.randrange(6001) for _ in range(35)]
    data = [t.rng.randbytes(size) for size in sizes]
    for n, octets in enumerate(data):
        conn.peer.put_send(octets, opcode=(fpdu.SEND, fpdu.SEND_SE)[n % 2])
    for n, wc in enumerate(conn.poll(40)):
        equal(wc[:4], (n, SUCCESS, WC_RECV, sizes[n]), "completion")
        check(conn.received(n, sizes[n]) == data[n], "data of %d" % n)


@row("RDMAP-46")
def solicited(t):
    """If the ULP asks for solicited events only, only a Send with SE causes an event; otherwise each Send does"""
    conn = t.passive()
    for opcode, wish, want in ((fpdu.SEND, 1, 0), (fpdu.SEND_SE, 1, 1), (fpdu.SEND, 0, 1), (fpdu.SEND_SE, 0, 1)):
        conn.ulp.arm(cq=conn.cq, solicited=wish)
        conn.peer.put_send(b"x", opcode=opcode)
        equal(conn.poll()[0].status, SUCCESS, "status")
        got = conn.ulp.cqevent(cq=conn.cq, ms=30000 if want else 300)
        equal(int(got["event"]), want, "event of opcode %d, solicited only: %d" % (opcode, wish))


def answered(t, ulp, term, *make, n=1):
    """
    Lets the device post a Read of 100 octets (n=0: no Read). The peer sends the ULPDUs that the
    functions make return; their arguments are the connection, the sink STag and the sink offset.
    Checks that the device answers the last ULPDU with a Terminate (term: layer, type, code).
    """
    conn = t.passive(ulp=ulp, recvs=0)
    sink = (conn.stag, conn.addr)
    if n:
        conn.post("read", wr=1, sge="%d:1000:100" % conn.mr, stag=0x500, raddr=0)
        sink = conn.peer.segment().read_request()[:2]
    bad = [it(conn, *sink) for it in make]
    conn.peer.put(*bad)
    conn.peer.expect_term(*term, of=bad[-1])
    conn.peer.expect_fin()
    reported(conn, *term[:2])
    if n:
        check(conn.poll()[0].status != SUCCESS, "the Read succeeds")
    if len(make) == 1:
        conn.untouched()


@row("RDMAP-40", "RDMAP-82")
def responses_refused(t):
    """Read Responses: without a Read: Terminate 0/2/06; wrong STag: 1/1/00; wrong offset or length: 1/1/01"""
    ulp = t.ulp()

    def resp(stag=0, offset=0, size=100, last=True):
        return lambda c, s, o: fpdu.tagged(fpdu.READ_RESP, s ^ stag, o + offset, b"e" * size, last)
    answered(t, ulp, (0, 2, 6), resp(), n=0)
    answered(t, ulp, (0, 2, 6), resp(size=0), n=0)
    answered(t, ulp, (1, 1, 0), resp(stag=0x100))
    answered(t, ulp, (1, 1, 0), resp(stag=1, size=0))
    answered(t, ulp, (1, 1, 1), resp(offset=1))
    answered(t, ulp, (1, 1, 1), resp(offset=-1))
    answered(t, ulp, (1, 1, 1), resp(size=101))
    answered(t, ulp, (1, 1, 1), resp(size=99))
    answered(t, ulp, (1, 1, 1), resp(size=0))
    answered(t, ulp, (1, 1, 1), resp(size=60, last=False), resp(offset=60, size=41))
    answered(t, ulp, (1, 1, 1), resp(size=60, last=False), resp(offset=61, size=39))
    answered(t, ulp, (1, 1, 1), resp(size=60, last=False), resp(offset=60, size=39))
    conn = t.passive(ulp=ulp, recvs=0)
    conn.post("read", wr=1, sge="%d:1000:100" % conn.mr, stag=0x500, raddr=0)
    sink = conn.peer.segment().read_request()[:2]
    good = fpdu.tagged(fpdu.READ_RESP, *sink, b"g" * 100)
    conn.peer.put(good, good)
    equal(conn.poll()[0][:4], (1, SUCCESS, WC_READ, 100), "completion")
    conn.peer.expect_term(0, 2, 6, of=good)


@row("RDMAP-40", "RDMAP-82")
def responses_too_long(t):
    """A Read Response longer than the Read: Terminate 1/1/01, no segment beyond the Read is placed"""
    ulp = t.ulp()
    for size in (1, 20, 30, 100):
        conn, fit = t.passive(ulp=ulp, recvs=0), 100 // size
        conn.post("read", wr=1, sge="%d:1000:100" % conn.mr, stag=0x500, raddr=0)
        stag, offset = conn.peer.segment().read_request()[:2]
        # one write, so that the device receives these segments in one run and checks them together
        alike = [fpdu.tagged(fpdu.READ_RESP, stag, offset + at * size, b"g" * size, last=False)
                 for at in range(fit + 8)]
        conn.peer.put(*alike)
        conn.peer.expect_term(1, 1, 1, of=alike[fit])
        conn.peer.expect_fin()
        equal(conn.poll()[0].status, FLUSH, "status of the Read")
        equal(conn.memory(999, 1200), b"\xa5" + b"g" * (fit * size) + b"\xa5" * (1199 - fit * size), "memory")
