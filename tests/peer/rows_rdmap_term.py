# SPDX-License-Identifier: GPL-2.0
"""RFC 5040: errors of the peer, and each octet of the Terminates that the device sends."""
import socket
import struct

import fpdu
from outcome import check, equal
from rows import row
from ulp import ERR, FLUSH, LOC_LEN_ERR, LOC_PROT_ERR, QP_ACCESS_ERR, QP_FATAL, QP_REQ_ERR, SQE, SUCCESS

OTHER_PD = 7        # number of a protection domain without queue pairs
BIG = 4 << 20       # octets: more than the buffers between the device and the peer can take


def event_of(layer, etype):
    """Returns the number of the asynchronous event for an error with this layer and type."""
    return {1: QP_ACCESS_ERR, 2: QP_REQ_ERR}.get(etype, QP_FATAL) if layer < 2 else QP_FATAL


def reported(conn, layer, etype):
    """Checks that the upper layer gets the event for an error with this layer and type, and that
    the queue pair is in an error state."""
    got = conn.ulp.cmd("async", ms=30000)
    equal((int(got["event"]), got.get("qpn")), (event_of(layer, etype), conn.qpn), "asynchronous event")
    # until the peer has closed, verbs show the state SQE
    check(conn.query()["state"] in (SQE, ERR), "state", conn.query())


def ends(t, code, make, ulp, hdr=None, status=FLUSH, recvs=3, posted=0, **how):
    """
    Makes a connection, and sends the ULPDU that make(conn) returns. Checks that the device ends the
    stream: it sends a Terminate (code: layer, type, code) and FIN, raises the event, writes to no
    memory, and completes all receives, the first with status and the others flushed. posted: the
    number of work requests, with wr_ids from 100 on, that make() has posted; they must be flushed.
    hdr: as in Peer.expect_term(); how: arguments of t.passive().
    """
    conn = t.passive(ulp=ulp, recvs=recvs, **how)
    bad = make(conn)
    conn.peer.put(bad, fpdu.untagged(fpdu.SEND, 0, 1, b"later"))
    conn.peer.expect_term(*code, of=bad, hdr=hdr)
    conn.peer.expect_fin()
    reported(conn, *code[:2])
    conn.untouched()
    got = conn.poll(recvs + posted) if recvs + posted else []
    equal([c.status for c in got if c.wr < 100], ([status] + [FLUSH] * (recvs - 1))[:recvs], "status of receives")
    equal([c.status for c in got if c.wr >= 100], [FLUSH] * posted, "status of requests")


def write(c, stag=0, offset=0, data=b"evil", **how):
    """
    Returns a Write to the region; stag is XORed into the region's STag, and offset is added to its
    address.
    """
    return fpdu.tagged(fpdu.WRITE, c.stag ^ stag, c.addr + offset, data, **how)


def read(c, stag=0, offset=0, size=4, **how):
    """Returns a Read Request for the region, with stag and offset as in write()."""
    return fpdu.read_request(1, 77, 1 << 40, size, c.stag ^ stag, c.addr + offset, **how)


def send(queue=0, msn=1, data=b"x", opcode=fpdu.SEND, **how):
    """Returns an untagged segment."""
    return fpdu.untagged(opcode, queue, msn, data, **how)


def other_region(c, access="lwr", pd=OTHER_PD):
    """Registers another region in the protection domain pd; returns its STag and address."""
    mem = c.ulp.mr(mr=c.ulp.new(), len=4096, access=access, pd=pd)
    return mem["stag"], mem["addr"]


@row("RDMAP-13", "RDMAP-14", "RDMAP-15", "RDMAP-20", "RDMAP-26", "RDMAP-52", "RDMAP-77", "RDMAP-79", "RDMAP-80",
     "RDMAP-82")
def term_tagged(t):
    """Invalid Writes: Terminate 1/1/00..04, with the DDP Segment Length and the DDP header"""
    ulp = t.ulp()
    ends(t, (1, 1, 0), lambda c: write(c, stag=0x100), ulp)
    ends(t, (1, 1, 0), lambda c: write(c, stag=1), ulp)
    ends(t, (1, 1, 1), lambda c: write(c, offset=65533), ulp)
    ends(t, (1, 1, 1), lambda c: write(c, offset=-1, data=bytes(1400)), ulp)
    ends(t, (1, 1, 2), lambda c: fpdu.tagged(fpdu.WRITE, *other_region(c), b"evil"), ulp)
    ends(t, (1, 1, 3), lambda c: fpdu.tagged(fpdu.WRITE, c.stag, (1 << 64) - 3, b"evil"), ulp)
    ends(t, (1, 1, 4), lambda c: write(c, dv=2), ulp)
    # the first FPDU allows the responder to send, if its CRC is right
    ends(t, (1, 1, 0), lambda c: write(c, stag=0x100), ulp, first=False)
    conn = t.passive(ulp=ulp, first=False)
    conn.peer.put(write(conn), crc_xor=1)
    conn.peer.expect_fin()


@row("RDMAP-13", "RDMAP-14", "RDMAP-15", "RDMAP-20", "RDMAP-52", "RDMAP-77", "RDMAP-79", "RDMAP-80", "RDMAP-82")
def term_untagged(t):
    """Invalid untagged segments: Terminate 1/2/01..04 and 06, with the DDP Segment Length and the DDP header"""
    ulp = t.ulp()
    ends(t, (1, 2, 1), lambda c: send(queue=4), ulp)
    ends(t, (1, 2, 1), lambda c: send(queue=1 << 31), ulp)
    ends(t, (1, 2, 2), lambda c: send(), ulp, recvs=0)
    ends(t, (1, 2, 2), lambda c: send(data=b""), ulp, recvs=0)
    ends(t, (1, 2, 3), lambda c: send(msn=2), ulp)
    ends(t, (1, 2, 4), lambda c: send(offset=4), ulp)
    ends(t, (1, 2, 6), lambda c: send(dv=0), ulp)
    ends(t, (1, 2, 2), lambda c: send(), ulp, recvs=0, first=False)
    ends(t, (1, 2, 6), lambda c: send(dv=0), ulp, first=False)


@row("RDMAP-44")
def term_too_long(t):
    """A Send longer than its receive, in one segment or two: Terminate 1/2/05, the receive gets a length error"""
    ulp = t.ulp()
    ends(t, (1, 2, 5), lambda c: send(data=bytes(257)), ulp, status=LOC_LEN_ERR)

    def second(conn):
        conn.peer.put(send(data=bytes(200), last=False))
        return send(data=bytes(57), offset=200)
    ends(t, (1, 2, 5), second, ulp, status=LOC_LEN_ERR)


@row("RDMAP-16", "RDMAP-20", "RDMAP-35", "RDMAP-83", "RDMAP-89", "RDMAP-90", "RDMAP-91", "RDMAP-92", "RDMAP-93")
def term_read(t):
    """Invalid Read Requests: Terminate 0/1/00..04, with M=D=R=1 and the Read Request header"""
    ulp = t.ulp()
    ends(t, (0, 1, 0), lambda c: read(c, stag=0x100), ulp)
    ends(t, (0, 1, 0), lambda c: read(c, stag=1), ulp)
    for offset, size in ((-1, 4), (65533, 4), (65536, 1), (0, 65537), (0, 1 << 31), (0, 0xFFFFFFFF)):
        ends(t, (0, 1, 1), lambda c, o=offset, n=size: read(c, offset=o, size=n), ulp)
    ends(t, (0, 1, 2), read, ulp, access="lw")
    ends(t, (0, 1, 3), lambda c: fpdu.read_request(1, 77, 0, 4, *other_region(c)), ulp)
    ends(t, (0, 1, 4), lambda c: fpdu.read_request(1, 77, 0, 4, c.stag, (1 << 64) - 3), ulp)


@row("RDMAP-16", "RDMAP-26", "RDMAP-82")
def term_write_right(t):
    """A Write to a region without remote write right: Terminate 0/1/02, DDP header but no RDMAP header"""
    ends(t, (0, 1, 2), write, t.ulp(), access="lr")


@row("RDMAP-50", "RDMAP-88", "RDMAP-16")
def term_invalidate(t):
    """
    STags that the peer can't invalidate: Terminate 0/2/09 (unknown or not invalidatable), 0/1/09 (other domain)

    selftests/kernel_verbs.sh tests the invalidation of other STags with iwt_ktest (groups inval and
    errors).
    """
    ulp = t.ulp()
    for opcode in (fpdu.SEND_INV, fpdu.SEND_SE_INV):
        ends(t, (0, 2, 9), lambda c, o=opcode: send(opcode=o, stag=c.stag), ulp)
        ends(t, (0, 2, 9), lambda c, o=opcode: send(opcode=o, stag=c.stag ^ 1), ulp)
        ends(t, (0, 2, 9), lambda c, o=opcode: send(opcode=o, stag=0), ulp)
        ends(t, (0, 1, 9), lambda c, o=opcode: send(opcode=o, stag=other_region(c)[0]), ulp)


@row("RDMAP-4", "RDMAP-20", "RDMAP-87")
def term_version(t):
    """An RDMAP version other than 1 in any kind of message (RFC 5040 and 7306): Terminate 0/2/05"""
    ulp = t.ulp()

    def read_response(conn, rv):
        conn.post("read", wr=100, sge="%d:1000:4" % conn.mr, stag=0x500, raddr=0)
        sink, at = conn.peer.segment().read_request()[:2]
        return fpdu.tagged(fpdu.READ_RESP, sink, at, b"evil", rv=rv)

    def atomic_response(conn, rv):
        conn.post("fadd", wr=100, sge="%d:1000:8" % conn.mr, stag=0x500, raddr=0, add=1)
        seg = conn.peer.segment()
        equal(seg.opcode, fpdu.ATOMIC_REQ, "the request")
        return fpdu.atomic_response(1, int.from_bytes(seg.data[4:8], "big"), 7, rv=rv)

    for rv in (0, 2, 3):
        for opcode in (fpdu.SEND, fpdu.SEND_SE, fpdu.SEND_INV, fpdu.SEND_SE_INV):
            ends(t, (0, 2, 5), lambda c, o=opcode, v=rv: send(opcode=o, rv=v), ulp)
        for event in (False, True):
            ends(t, (0, 2, 5), lambda c, e=event, v=rv: fpdu.immediate(1, bytes(8), e, rv=v), ulp)
        ends(t, (0, 2, 5), lambda c, v=rv: write(c, rv=v), ulp)
        ends(t, (0, 2, 5), lambda c, v=rv: read(c, rv=v), ulp)
        for op in (fpdu.FETCH_ADD, fpdu.CMP_SWAP):
            ends(t, (0, 2, 5), lambda c, o=op, v=rv: fpdu.atomic(1, o, 5, c.stag, c.addr, 1, rv=v), ulp,
                 access="lwra")
        ends(t, (0, 2, 5), lambda c, v=rv: read_response(c, v), ulp, posted=1)
        ends(t, (0, 2, 5), lambda c, v=rv: atomic_response(c, v), ulp, posted=1)
        ends(t, (0, 2, 5), lambda c, v=rv: fpdu.terminate(0, 2, 6, rv=v), ulp)


@row("RDMAP-7", "RDMAP-20", "RDMAP-86")
def term_opcode(t):
    """Undefined opcodes, and opcodes that do not belong to the T bit or the queue: Terminate 0/2/06"""
    ulp = t.ulp()
    for opcode in (12, 13, 14, 15):
        ends(t, (0, 2, 6), lambda c, o=opcode: send(opcode=o), ulp)
        ends(t, (0, 2, 6), lambda c, o=opcode: fpdu.tagged(o, c.stag, c.addr, b"x"), ulp)
    for opcode in (fpdu.SEND, fpdu.SEND_INV, fpdu.READ_REQ, fpdu.TERM):
        ends(t, (0, 2, 6), lambda c, o=opcode: fpdu.tagged(o, c.stag, c.addr, b"x"), ulp)
    for opcode in (fpdu.WRITE, fpdu.READ_RESP, fpdu.READ_REQ, fpdu.TERM):
        ends(t, (0, 2, 6), lambda c, o=opcode: send(opcode=o, data=bytes(28)), ulp)
    for opcode in (fpdu.SEND, fpdu.SEND_SE, fpdu.TERM):
        ends(t, (0, 2, 6), lambda c, o=opcode: send(queue=1, opcode=o, data=bytes(28)), ulp)
    ends(t, (0, 2, 6), lambda c: send(queue=2, data=bytes(4)), ulp)


@row("RDMAP-8", "RDMAP-20")
def term_size(t):
    """A Read Request that is too long: Terminate 1/2/05; too short or without L: Terminate 0/2/FF"""
    ulp = t.ulp()
    ends(t, (1, 2, 5), lambda c: read(c, more=b"x"), ulp)
    ends(t, (1, 2, 5), lambda c: read(c, more=bytes(600)), ulp)
    for size in (0, 1, 27):
        ends(t, (0, 2, 0xFF), lambda c, n=size: read(c)[:18 + n], ulp)
    ends(t, (0, 2, 0xFF), lambda c: read(c, last=False), ulp)


@row("RDMAP-85", "RDMAP-84")
def term_first_check(t):
    """Several errors in a segment: the device reports DDP errors first, then RDMAP version, opcode, and others"""
    ulp = t.ulp()
    ends(t, (1, 1, 4), lambda c: write(c, dv=0, rv=0, stag=0x100), ulp)
    ends(t, (1, 2, 6), lambda c: send(dv=3, rv=3, queue=9, opcode=15), ulp)
    ends(t, (1, 1, 0), lambda c: write(c, rv=2, stag=0x100), ulp)
    ends(t, (1, 1, 1), lambda c: fpdu.tagged(15, c.stag, c.addr + 65536, b"x"), ulp)
    ends(t, (1, 2, 1), lambda c: send(queue=9, rv=0, opcode=14), ulp)
    ends(t, (1, 2, 3), lambda c: send(msn=5, rv=0), ulp)
    ends(t, (0, 2, 5), lambda c: send(rv=0, opcode=15), ulp)
    ends(t, (0, 2, 5), lambda c: read(c, stag=0x100, rv=0), ulp)
    ends(t, (0, 2, 6), lambda c: send(opcode=15, stag=c.stag), ulp)


@row("RDMAP-84")
def term_first_segment(t):
    """After several bad segments the device sends one Terminate, which reports the first of them"""
    conn = t.passive()
    first, second = write(conn, stag=0x100), read(conn, stag=0x100)
    conn.peer.send(conn.peer.frame(first, second) + conn.peer.frame(send(), crc_xor=1))
    conn.peer.expect_term(1, 1, 0, of=first)
    conn.peer.expect_fin()


@row("RDMAP-16", "RDMAP-84")
def term_behind_good(t):
    """The device performs the Send, Write and Read before a bad Read Request, then sends Terminate 0/1/00"""
    conn = t.passive()
    bad = fpdu.read_request(2, 77, 0, 4, conn.stag ^ 0x100, conn.addr)
    conn.peer.put(send(data=b"one"), fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"two"), read(conn, size=3))
    equal(conn.peer.read_response(), b"two", "Read")
    conn.peer.put(bad)
    conn.peer.expect_term(0, 1, 0, of=bad)
    conn.peer.expect_fin()
    equal([c.status for c in conn.poll(8)], [SUCCESS] + [FLUSH] * 7, "status")


@row("RDMAP-15", "RDMAP-77")
def term_of_mpa(t):
    """A wrong CRC: Terminate 2/0/02, without headers"""
    conn = t.passive()
    conn.peer.put(send(), crc_xor=0x80)
    conn.peer.expect_term(2, 0, 2)
    conn.peer.expect_fin()
    reported(conn, 2, 0)


@row("RDMAP-15", "RDMAP-19", "RDMAP-81", "RDMAP-80", "RDMAP-20")
def term_local(t):
    """The ULP may not use the memory of a Send or receive: Terminate 0/0/00 without headers, LOC_PROT_ERR"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp, recvs=0)
    conn.post("send", wr=1, sge="%d:0:5000" % conn.mr)
    conn.post("send", wr=2, sge="%d:0:5000:%d" % (conn.mr, conn.stag ^ 0x100))
    conn.post("send", wr=3, sge="%d:0:10" % conn.mr)
    equal(sum(len(s.data) for s in conn.peer.message(fpdu.SEND)), 5000, "the Send before")
    equal(conn.peer.expect_term(0, 0, 0).ulpdu[18:], bytes(4), "Terminate")
    conn.peer.expect_fin()
    equal([(c.wr, c.status) for c in conn.poll(3)], [(1, SUCCESS), (2, LOC_PROT_ERR), (3, FLUSH)], "completions")
    reported(conn, 0, 0)

    conn = t.passive(ulp=ulp)
    ulp.dereg(mr=conn.rmr)
    conn.peer.put_send(b"where to?")
    conn.peer.expect_term(0, 0, 0)
    conn.peer.expect_fin()
    equal([c.status for c in conn.poll(8)], [LOC_PROT_ERR] + [FLUSH] * 7, "completions")
    reported(conn, 0, 0)


def big(conn, access="lr"):
    """
    Registers a region that is larger than the buffers between device and peer, and makes the peer's
    receive buffer small. Returns the region's number, address and STag.
    """
    narrow(conn)
    number = conn.ulp.new()
    mem = conn.ulp.mr(mr=number, len=BIG, access=access, fill=0x5A)
    return number, mem["addr"], mem["stag"]


def narrow(conn):
    """Makes the peer's receive buffer small, until wide()."""
    conn.peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)


def wide(conn):
    """Makes the peer's receive buffer large again."""
    conn.peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)


def until_term(conn, first):
    """
    Receives segments until a Terminate arrives, and leaves the Terminate for expect_term(). Returns
    the number of data octets before the Terminate, from the segment first on. Checks that no
    segment before the Terminate is the last of its message.
    """
    done, seg = 0, first
    wide(conn)
    while seg.opcode != fpdu.TERM:
        check(not seg.last, "the message is whole:", seg)
        done += len(seg.data)
        seg = conn.peer.segment()
    conn.peer.held.insert(0, seg)
    return done


@row("RDMAP-17")
def term_half_read(t):
    """A region is deregistered in the middle of a Read: Terminate 0/1/00, whose Read header shows the unsent octets"""
    conn = t.passive(recvs=0)
    equal(conn.peer.read(conn.stag, conn.addr, 10), conn.memory(0, 10), "a Read before")
    number, addr, stag = big(conn)
    request = conn.peer.put_read(stag, addr + 1, BIG - 2, 0x77, 1 << 33)
    first = conn.peer.segment()
    conn.ulp.dereg(mr=number)
    done = until_term(conn, first)
    check(0 < done < BIG - 2, "octets", done)
    left = struct.pack(">IQIIQ", 0x77, (1 << 33) + done, BIG - 2 - done, stag, addr + 1 + done)
    conn.peer.expect_term(0, 1, 0, hdr=(0xE0, struct.pack(">H", 46) + request[:18] + left))
    conn.peer.expect_fin()
    reported(conn, 0, 1)


@row("RDMAP-56", "RDMAP-81")
def term_half_send(t):
    """A region is deregistered in the middle of a Send: Terminate 0/0/00 between two FPDUs, then FIN"""
    conn = t.passive(recvs=0)
    number, _, _ = big(conn)
    conn.post("send", wr=9, sge="%d:0:%d" % (number, BIG))
    conn.post("send", wr=10)
    first = conn.peer.segment()
    conn.ulp.dereg(mr=number)
    check(0 < until_term(conn, first) < BIG, "octets")
    conn.peer.expect_term(0, 0, 0)
    conn.peer.expect_fin()
    equal([(c.wr, c.status) for c in conn.poll(2)], [(9, LOC_PROT_ERR), (10, FLUSH)], "completions")


@row("RDMAP-37", "RDMAP-76")
def term_too_many_reads(t):
    """As many Reads as IRD allows are answered; one more while the first is being answered: Terminate 1/2/02"""
    conn = t.passive(ird=3, recvs=0)
    _, addr, stag = big(conn)
    for turn in range(3):
        reads = [conn.peer.put_read(stag, addr + turn, 9 + n) for n in range(3)]
        equal([len(conn.peer.read_response()) for n in reads], [9, 10, 11], "sizes")
    conn.peer.put_read(stag, addr, BIG)
    first = conn.peer.segment()
    conn.peer.put_read(stag, addr, 1)
    conn.peer.put_read(stag, addr, 1)
    bad = conn.peer.put_read(stag, addr, 1)
    check(0 < until_term(conn, first) < BIG, "octets")
    conn.peer.expect_term(1, 2, 2, of=bad)
    conn.peer.expect_fin()
    reported(conn, 1, 2)


@row("RDMAP-55", "RDMAP-78")
def term_flushes(t):
    """After a Terminate all outstanding requests are flushed in order, and so are requests posted later"""
    conn = t.passive(recvs=4)
    for wr in range(3):
        conn.post("read", wr=wr, sge="%d:%d:10" % (conn.mr, wr), stag=1, raddr=0)
        conn.peer.segment()
    conn.post("send", wr=3, sge="%d:0:10" % conn.mr, flags="f")
    conn.peer.put(write(conn, stag=0x100))
    conn.peer.expect_term(1, 1, 0, hdr="any")
    conn.peer.expect_fin()
    got = conn.poll(8)
    check(all(c.status == FLUSH for c in got), "status", got)
    equal([c.wr for c in got], [0, 1, 2, 3] * 2, "order")
    conn.post("send", wr=50)
    conn.recv(wr=51)
    equal([(c.wr, c.status) for c in conn.poll(2)], [(50, FLUSH), (51, FLUSH)], "posted later")


@row("RDMAP-77", alone=True)
def term_counted(t):
    """Terminates sent and received are counted"""
    before = t.counters()
    conn = t.passive()
    conn.peer.put(write(conn, stag=0x100))
    conn.peer.expect_term(1, 1, 0, hdr="any")
    conn.peer.expect_fin()
    other = t.passive()
    other.peer.put(fpdu.terminate(0, 2, 6))
    other.peer.expect_fin()
    after = t.counters()
    for name in ("term_tx", "term_rx", "rx_access_err"):
        equal(after[name] - before[name], 1, name)
