# SPDX-License-Identifier: GPL-2.0
"""RFC 5041: the end of a stream: a graceful end, the end of one direction, and a reset."""
import time

import fpdu
import mpa
from outcome import Skip, check, equal
from rows import row, stated
from rows_ddp import event
from rows_rdmap_term import BIG, big, wide
from ulp import ERR, FLUSH, QP_ACCESS_ERR, QP_FATAL, RTS, SQ_DRAINED, SQD, SUCCESS, WC_RECV, WC_SEND

stated("deviation", "a stream that still has something to send or to receive goes on; an idle stream ends, and"
       " requests that the ULP posts afterwards are flushed", "DDP-51")


def over(conn, status=None):
    """
    Checks that the upper layer gets the event DISCONNECTED, and returns the event. status: 0: the
    end must be graceful; -1: the end must not be graceful; None: both are right.
    """
    got = conn.ulp.event(id=conn.id, want="DISCONNECTED")
    check(status is None or (got["status"] == 0) == (status == 0), "status:", got)
    return got


@row("DDP-8", "DDP-10", "DDP-55", "DDP-56", "DDP-72")
def after_terminate(t):
    """After an error the device sends one Terminate, then FIN; later segments are neither placed nor delivered"""
    conn = t.passive()
    bad = fpdu.tagged(fpdu.WRITE, conn.stag ^ 0x100, conn.addr, b"bad")
    conn.peer.put(bad)
    more = [fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"good"), fpdu.untagged(fpdu.SEND, 0, 1, b"good"), bad,
            fpdu.read_request(1, 77, 0, 4, conn.stag, conn.addr)]
    conn.peer.put(*more)
    conn.peer.expect_term(1, 1, 0, of=bad)
    conn.peer.put(*more)
    conn.peer.expect_fin()
    for _ in range(50):
        conn.peer.put_write(conn.stag, conn.addr, b"good" * 300)
    conn.peer.fin()
    over(conn)
    conn.untouched()
    equal([c.status for c in conn.poll(8)], [FLUSH] * 8, "completions")


@row("DDP-55", "DDP-8")
def terminate_behind_data(t):
    """A peer that reads late gets whole FPDUs of the Sends in progress, then the whole Terminate, then FIN"""
    conn = t.passive()
    conn.peer.slow()
    conn.post("send", wr=100, n=60, sge="%d:0:65536" % conn.mr)
    bad = fpdu.tagged(fpdu.WRITE, conn.stag ^ 0x100, conn.addr, b"bad")
    conn.peer.put(bad)
    event(conn, QP_ACCESS_ERR)
    seg = conn.peer.segment()
    while seg.opcode == fpdu.SEND:
        seg = conn.peer.segment()
    conn.peer.held.insert(0, seg)
    conn.peer.expect_term(1, 1, 0, of=bad)
    conn.peer.expect_fin()


@row("DDP-55", "DDP-10")
def terminate_not_lost(t):
    """After an error the queue pair is destroyed, and the peer sends more: the peer gets Terminate and FIN, no reset"""
    ulp = t.ulp()
    for _ in range(3):
        conn = t.passive(ulp=ulp)
        bad = fpdu.tagged(fpdu.WRITE, conn.stag ^ 0x100, conn.addr, b"bad")
        conn.peer.put(bad)
        event(conn, QP_ACCESS_ERR)
        ulp.destroy(id=conn.id)
        for _ in range(40):
            conn.peer.put_write(conn.stag, conn.addr, b"more" * 300)
        conn.peer.expect_term(1, 1, 0, of=bad)
        conn.peer.expect_fin()
        conn.peer.put_write(conn.stag, conn.addr, b"more" * 300)
        conn.peer.fin()


@row("DDP-9", "DDP-51")
def peer_closes(t):
    """The peer sends FIN: the upper layer gets the event of a graceful end, and the device sends its own FIN"""
    for conn in (t.passive(), t.active()):
        conn.peer.put_send(b"last")
        conn.peer.fin()
        over(conn, 0)
        conn.peer.expect_fin()
        got = conn.poll(8)
        equal([c.status for c in got], [SUCCESS] + [FLUSH] * 7, "completions")
        equal(got[0].len, 4, "length")


def sends_wait(t):
    """Returns a connection on which the device has posted 50 Sends. The peer has read only the
    first Send, and most others still wait in the send queue."""
    conn = t.passive()
    conn.peer.slow()
    conn.post("send", wr=100, n=50, sge="%d:0:65536" % conn.mr)
    conn.peer.message(fpdu.SEND)
    return conn


def read_sends(conn):
    """Lets the peer read the other 49 Sends of a connection of sends_wait()."""
    for _ in range(49):
        equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), 65536, "size")


@row("DDP-51")
def half_closed(t):
    """After the peer's FIN the device still sends its queued Sends and the Response to a Read, then FIN"""
    conn = sends_wait(t)
    conn.peer.put_read(conn.stag, conn.addr, 3000)
    conn.peer.fin()
    sends, read = 1, b""
    while sends < 50 or len(read) < 3000:
        segs = conn.peer.message()
        if segs[0].opcode == fpdu.SEND:
            sends += 1
        else:
            read += b"".join(seg.data for seg in segs)
    equal(read, conn.memory(0, 3000), "data of the Read")
    conn.peer.expect_fin()
    over(conn, 0)
    equal([c.status for c in conn.poll(58) if c.opcode == WC_SEND and c.wr >= 100], [SUCCESS] * 50, "Sends")


@row("DDP-85", "DDP-48")
def close_of_the_other_half(t):
    """The upper layer closes after the peer's FIN: queued Sends are sent, then FIN; later Sends fail; no reset"""
    conn = sends_wait(t)
    conn.peer.fin()
    conn.ulp.disconnect(id=conn.id)
    conn.post("send", wr=200, n=2, sge="%d:0:5" % conn.mr)
    read_sends(conn)
    conn.peer.expect_fin()
    over(conn, 0)
    got = [(c.wr, c.status) for c in conn.poll(60) if c.wr >= 100]
    equal(got, [(100 + n, SUCCESS) for n in range(50)] + [(200, FLUSH), (201, FLUSH)], "completions")


@row("DDP-51")
def half_closed_reads(t):
    """The peer sends FIN instead of a Read Response: the Read completes in error"""
    conn = t.passive()
    conn.post("read", wr=100, sge="%d:0:100" % conn.mr, stag=1, raddr=0)
    conn.peer.message(fpdu.READ_REQ)
    conn.peer.fin()
    over(conn)
    got = conn.poll(9)
    equal(sorted(c.wr for c in got), list(range(8)) + [100], "completions")
    check(all(c.status == FLUSH for c in got), "completions:", got)


@row("DDP-48", "DDP-49")
def graceful_close(t):
    """A graceful close with many Sends posted: the device sends them all before FIN; Sends posted later fail"""
    conn = sends_wait(t)
    conn.ulp.disconnect(id=conn.id)
    conn.post("send", wr=200, n=2, sge="%d:0:5" % conn.mr)
    read_sends(conn)
    conn.peer.expect_fin()
    got = conn.poll(52)
    equal([(c.wr, c.status) for c in got],
          [(100 + n, SUCCESS) for n in range(50)] + [(200, FLUSH), (201, FLUSH)], "completions")
    conn.peer.fin()
    over(conn, 0)
    equal([c.status for c in conn.poll(8)], [FLUSH] * 8, "receive buffers")


@row("DDP-48", "DDP-49")
def drained(t):
    """A program that drains its send queue gets SQ_DRAINED after the last Send, and once for many later requests"""
    conn = sends_wait(t)
    conn.ulp.modify(id=conn.id, state=SQD, tell=1)
    equal(int(conn.ulp.query(id=conn.id)["draining"]), 1, "draining")
    equal(int(conn.ulp.cmd("async", ms=300)["event"]), -1, "event")
    read_sends(conn)
    event(conn, SQ_DRAINED)
    # at once: the device waits only some seconds for the peer's FIN
    equal([int(conn.ulp.query(id=conn.id)[what]) for what in ("draining", "state")], [0, SQD], "draining, state")
    equal([c.status for c in conn.poll(50)], [SUCCESS] * 50, "completions")
    conn.peer.expect_fin()
    conn.ulp.modify(id=conn.id, state=SQD, tell=1)
    event(conn, SQ_DRAINED)
    conn.ulp.modify(id=conn.id, state=SQD)
    equal(int(conn.ulp.cmd("async", ms=300)["event"]), -1, "event")
    for _ in range(20):
        conn.ulp.modify(id=conn.id, state=SQD, tell=1)
    event(conn, SQ_DRAINED)
    # the second request may come before uverbs knows of the first event
    equal([int(conn.ulp.cmd("async", ms=300)["event"]) for _ in range(2)][1], -1, "event")
    conn.peer.fin()
    over(conn, 0)


@row("DDP-48")
def graceful_slow(t):
    """The peer needs longer to read than the device waits for a FIN: a graceful close stays graceful"""
    if t.place.interface == "lo" or not t.place.lossless or t.place.path != "direct":
        raise Skip("the buffers on the way hold all Sends")
    conn = t.passive()
    conn.post("send", wr=100, n=4, sge="%d:0:65536" % conn.mr)
    conn.ulp.disconnect(id=conn.id)
    # for eight seconds, read only 32 KiB a second; a closed window opens only when the peer has
    # read some whole segments, which takes up to two seconds
    got, slow = b"", time.monotonic() + 8
    while time.monotonic() < slow:
        got += conn.peer.octets(most=16384)
        time.sleep(0.5)
    while not conn.peer.ended:
        got += conn.peer.octets()
    equal(conn.peer.ended, "fin", "the end")
    conn.peer.fin()
    over(conn, 0)
    conn.peer.take(got)
    for _ in range(4):
        equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), 65536, "size")


@row("DDP-48")
def graceful_reads(t):
    """
    Before the FIN of a graceful close the device finishes its Read, and the peer's Reads begun before and after

    When the close begins, the device is in the middle of its answer to the first of these Reads.
    """
    conn = t.passive()
    number, addr, stag = big(conn)
    conn.ulp.fill(mr=number, off=BIG - 9, len=9, byte=0x77)
    conn.post("read", wr=100, sge="%d:0:100" % conn.mr, stag=1, raddr=0)
    (req,) = conn.peer.message(fpdu.READ_REQ)
    conn.peer.put_read(stag, addr, BIG)
    first = conn.peer.segment()
    equal((first.opcode, first.last), (fpdu.READ_RESP, False), "the beginning of an answer")
    conn.ulp.disconnect(id=conn.id)
    wide(conn)
    data = first.data + b"".join(seg.data for seg in conn.peer.message(fpdu.READ_RESP))
    check(data == b"\x5a" * (BIG - 9) + b"\x77" * 9, "data of the Read that was not finished")
    conn.peer.expect_silence(0.3)
    sink, at, size, _, _ = req.read_request()
    conn.alive()
    conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, at, b"r" * size))
    conn.peer.expect_fin()
    equal(conn.poll()[0][:2], (100, SUCCESS), "the Read")
    conn.peer.fin()
    over(conn, 0)


@row("DDP-49")
def post_after_close(t):
    """Work posted after a graceful close or the connection's end fails, and no octet is sent after the FIN"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    capture = t.capture(port)
    conn = t.passive(ulp=ulp, listener=(number, port))
    conn.ulp.disconnect(id=conn.id)
    conn.peer.expect_fin()
    conn.post("send", wr=100, sge="%d:0:5" % conn.mr)
    equal(conn.poll()[0][:2], (100, FLUSH), "after the close")
    conn.peer.fin()
    over(conn)
    conn.poll(8)
    conn.post("write", wr=101, sge="%d:0:5" % conn.mr, stag=1, raddr=0)
    conn.recv(n=1, wr=102, sge="%d:0:256" % conn.rmr)
    equal(sorted(c[:2] for c in conn.poll(2)), [(101, FLUSH), (102, FLUSH)], "after the end")
    ours = [p for p in capture.stop() if p.src[1] == port]
    ends = {p.seq + len(p.payload) & 0xFFFFFFFF for p in ours if p.flags & 1}
    equal(len(ends), 1, "places of the FIN")
    (end,) = ends
    # packets whose payload ends after the place of the FIN; the only payload must be the Reply
    late = [p for p in ours if p.payload and 0 < (p.seq + len(p.payload) - end & 0xFFFFFFFF) < 1 << 31]
    check(not late, "octets after the FIN:", [(p.seq - end, p.payload.hex()) for p in late])
    equal({p.payload[:16] for p in ours if p.payload}, {mpa.REP}, "what was sent")


@row("DDP-52")
def receives_on(t):
    """After its own FIN the device places and delivers data up to the peer's FIN, also after a late post"""
    conn = t.passive()
    conn.ulp.disconnect(id=conn.id)
    conn.peer.expect_fin()
    conn.peer.put_write(conn.stag, conn.addr, b"placed")
    conn.peer.put_send(b"one")
    equal(conn.poll()[0][:2], (0, SUCCESS), "a Send after the device's FIN")
    conn.post("send", wr=100, sge="%d:0:5" % conn.mr)
    equal(conn.poll()[0][:2], (100, FLUSH), "a late post")
    conn.peer.put_send(b"three")
    equal(conn.poll()[0][:2], (1, SUCCESS), "another Send")
    equal((conn.memory(0, 6), conn.received(1, 5)), (b"placed", b"three"), "data")
    conn.peer.fin()
    over(conn, 0)
    equal([c.status for c in conn.poll(6)], [FLUSH] * 6, "receive buffers")


@row("DDP-53", "DDP-54", "DDP-57")
def cut_short(t):
    """A FIN within an FPDU is no graceful end: the upper layer gets an error, and all work is flushed"""
    for size in (1, 2, 20, -1):
        conn = t.passive()
        octets = conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"never whole"))
        conn.peer.send(octets[:size])
        conn.peer.fin()
        over(conn, -1)
        check(all(c.status == FLUSH for c in conn.poll(8)), "delivered")
        equal(conn.query()["state"], ERR, "state")
        conn.peer.expect_end()


@row("DDP-53", "DDP-54", "DDP-57")
def lost_connection(t):
    """After the peer's RST the upper layer gets an error, the queue pair is in the error state, all work is flushed"""
    for conn in (t.passive(), t.active()):
        conn.post("read", wr=100, n=6, sge="%d:0:100" % conn.mr, stag=1, raddr=0)
        conn.post("send", wr=106, flags="f", sge="%d:0:100" % conn.mr)
        conn.peer.message(fpdu.READ_REQ)
        conn.peer.rst()
        over(conn, -1)
        equal(conn.query()["state"], ERR, "state")
        got = conn.poll(15)
        check(all(c.status == FLUSH for c in got), "completions:", got)
        equal([c.wr for c in got if c.wr >= 100], list(range(100, 107)), "send queue")
        equal([c.wr for c in got if c.wr < 100], list(range(8)), "receive queue")


@row("DDP-53", "DDP-54", "DDP-55", "DDP-57")
def fatal_error(t):
    """A bad DDP header or CRC: an event, the error state, all work flushed, and Terminate 1/1/01 or 2/0/02"""
    for what in ("header", "digest"):
        conn = t.passive()
        conn.post("read", wr=100, n=2, sge="%d:0:100" % conn.mr, stag=1, raddr=0)
        conn.peer.message(fpdu.READ_REQ)
        conn.peer.message(fpdu.READ_REQ)
        if what == "header":
            bad = fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr - 1, b"bad")
            conn.peer.put(bad)
            conn.peer.expect_term(1, 1, 1, of=bad)
            event(conn, QP_ACCESS_ERR)
        else:
            conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"bad"), crc_xor=1)
            conn.peer.expect_term(2, 0, 2)
            event(conn, QP_FATAL)
        conn.peer.expect_fin()
        conn.peer.fin()
        over(conn)
        got = conn.poll(10)
        check(all(c.status == FLUSH for c in got), "completions:", got)
        equal(conn.query()["state"], ERR, "state")


@row("DDP-47")
def idle_stream(t):
    """A stream without traffic, or with Writes only, stays up"""
    conn = t.passive(recvs=0)
    conn.peer.expect_silence(1)
    equal(conn.query()["state"], RTS, "state")
    for _ in range(30):
        conn.peer.put_write(conn.stag, conn.addr, b"x")
    conn.peer.expect_silence(0.3)
    equal(conn.ulp.event(id=conn.id, ms=0)["event"], "none", "event")
    conn.alive()
    conn.recv(n=1, wr=7, sge="%d:0:0" % conn.rmr)
    conn.peer.put_send(b"")
    equal(conn.poll()[0][:3], (7, SUCCESS, WC_RECV), "a Send afterwards")
