# SPDX-License-Identifier: GPL-2.0
"""
RFC 5041: checks of received segments. rows_ddp_tx.py tests sent segments, rows_ddp_end.py the end
of a stream.
"""
import fpdu
from outcome import check, equal
from rows import row, stated
from ulp import FLUSH, LOC_LEN_ERR, QP_ACCESS_ERR, QP_REQ_ERR, SUCCESS, WC_RECV

stated("host", "the kernel's IPsec (XFRM) encrypts the packets of TCP; a program (an IKE daemon) agrees on the keys", "DDP-82")
stated("selftest", "ipsec.sh: the keys are removed during traffic; when there are new keys, the same connection continues", "DDP-83")
stated("selftest", "verify.sh in the laboratory wrap, where both ends begin with a number 24 below the wrap; ddp_test.c"
       " (test_advance) shows that the receiver expects 0 after 0xFFFFFFFF", "DDP-28")
stated("host", "TCP drops data that arrive after the peer's FIN, so they have no effect on the stream", "DDP-50")
stated("design", "each region and each queue pair has a protection domain, and only queue pairs of its domain can "
       "use an STag; one queue pair alone can use a window of type 2 (verbs_mr.c, proto/access.c)", "DDP-77")
stated("design", "the kernel module is both parts: only the module creates STags, protection domains and queue "
       "pairs (verbs_mr.c, mr.c), and it checks everything that it reads from a ring (sq.c, rq.c)", "DDP-81")


def event(conn, want, ms=30000):
    """Waits for an asynchronous event of the queue pair, and ignores other events."""
    got = None
    while got != want:
        answer = conn.ulp.cmd("async", ms=ms)
        got = int(answer["event"])
        check(got >= 0, "no asynchronous event %d" % want)
    equal(answer["qpn"], conn.qpn, "queue pair of the event")


def refused(t, code, ulpdu, ulp=None, hdr=None, **how):
    """
    Makes a connection, and sends the ULPDU that ulpdu(conn) returns. Checks that the device answers
    with a Terminate (code: layer, type, code), writes to no memory, and delivers no Send. hdr: as
    in Peer.expect_term(); how: arguments of t.passive().
    """
    conn = t.passive(ulp=ulp, **how)
    bad = ulpdu(conn)
    conn.peer.put(bad, fpdu.untagged(fpdu.SEND, 0, 1, b"later"))
    conn.peer.expect_term(*code, of=bad, hdr=hdr)
    conn.peer.expect_fin()
    conn.untouched()
    check(all(c.status == FLUSH for c in conn.poll(8)), "a Send was delivered")
    check(conn.ulp.same(mr=conn.rmr, byte=0)["same"], "a receive buffer was written to")


@row("DDP-12", "DDP-73")
def kinds_of_buffer(t):
    """Tagged data go to the STag, untagged data to the next buffer; an opcode of the other kind: Terminate 0/2/06"""
    conn = t.passive()
    conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr + 5, b"tagged"))
    conn.peer.put_send(b"first")
    conn.peer.put_send(b"second")
    equal([(wc.wr, wc.len) for wc in conn.poll(2)], [(0, 5), (1, 6)], "buffers")
    equal((conn.received(0, 6), conn.received(1, 7)), (b"first\0", b"second\0"), "received")
    equal(conn.memory(4, 8), b"\xa5tagged\xa5", "memory")
    ulp = t.ulp()
    for opcode in (fpdu.WRITE, fpdu.READ_RESP):
        refused(t, (0, 2, 6), lambda c, o=opcode: fpdu.untagged(o, 0, 1, b"x"), ulp)
    for opcode in (fpdu.SEND, fpdu.SEND_INV, fpdu.SEND_SE, fpdu.SEND_SE_INV, fpdu.READ_REQ, fpdu.TERM):
        refused(t, (0, 2, 6), lambda c, o=opcode: fpdu.tagged(o, c.stag, c.addr, b"x"), ulp)


@row("DDP-4", "DDP-7", "DDP-44", "DDP-43")
def sizes_received(t):
    """Sends of 0 to 19 octets and of many segments, in various TCP writes, are delivered whole, once, in order"""
    sizes = list(range(20)) + [1000, 4000, 1400, 2801, 8192]
    conn = t.passive(recvs=len(sizes), recv_len=8192)
    sent = [t.rng.randbytes(size) for size in sizes]
    for turn, data in enumerate(sent):
        msn = conn.peer.next(0)
        ulpdus = [fpdu.untagged(fpdu.SEND, 0, msn, data[at:at + 700], at, at + 700 >= len(data))
                  for at in range(0, len(data) or 1, 700)]
        conn.peer.put(*ulpdus, sizes=(None, 1, [3, 17], 1000)[turn % 4] if len(data) < 4000 else None)
    for turn, wc in enumerate(conn.poll(len(sizes))):
        equal((wc.wr, wc.status, wc.opcode, wc.len), (turn, SUCCESS, WC_RECV, sizes[turn]), "completion")
        check(conn.received(turn, sizes[turn]) == sent[turn], "data of Send %d" % turn)
    conn.none()


@row("DDP-15")
def delivered_when_whole(t):
    """A Send is delivered only when its last segment has arrived completely"""
    conn = t.passive()
    whole = conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"one", 0, False),
                            fpdu.untagged(fpdu.SEND, 0, 1, b"two", 3, False))
    last = conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"placed"),
                           fpdu.untagged(fpdu.SEND, 0, 1, b"three", 6, True),
                           fpdu.untagged(fpdu.SEND, 0, 2, b"next", 0, True))
    conn.peer.send(whole + last[:-1])
    (one,) = conn.poll(1)
    conn.none()
    equal((one.wr, one.len), (0, 11), "the first")
    equal((conn.received(0, 11), conn.memory(0, 6)), (b"onetwothree", b"placed"), "data")
    conn.peer.send(last[-1:])
    (two,) = conn.poll(1)
    equal((two.wr, two.len), (1, 4), "the second")
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 3, b"", 0, False))
    conn.alive()
    conn.none()


@row("DDP-16", "DDP-20", "DDP-24")
def not_looked_at(t):
    """The device ignores reserved bits, and RsvdULP fields that differ between the segments of a message"""
    conn = t.passive()
    conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"x", rsvd=15))
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"y", rsvd=15))
    # the device ignores the Invalidate STag of a Send without invalidation
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 2, b"a", 0, False, stag=77))
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 2, b"b", 1, False, stag=conn.stag))
    conn.peer.put(fpdu.untagged(fpdu.SEND_SE, 0, 2, b"c", 2, True, stag=1 << 31))
    for wc, size in zip(conn.poll(2), (1, 3)):
        equal((wc.status, wc.opcode, wc.len, wc.flags), (SUCCESS, WC_RECV, size, 0), "completion")
    equal((conn.memory(0, 1), conn.received(1, 3)), (b"x", b"abc"), "data")


@row("DDP-45", "DDP-20")
def solicited_field(t):
    """A Send with Solicited Event raises a solicited completion event, a plain Send does not"""
    conn = t.passive()
    conn.ulp.arm(cq=conn.cq, solicited=1)
    conn.peer.put_send(b"quiet")
    conn.poll()
    equal(conn.ulp.cqevent(cq=conn.cq, ms=300)["event"], "0", "event of a Send")
    conn.peer.put(fpdu.untagged(fpdu.SEND_SE, 0, conn.peer.next(0), b"loud"))
    equal(conn.ulp.cqevent(cq=conn.cq, ms=30000)["event"], "1", "event of a Send with SE")


@row("DDP-21", "DDP-42", "DDP-35")
def tagged_segments(t):
    """The device places every Write segment: out of order, overlapping, and with another STag in between"""
    conn = t.passive()
    other = conn.ulp.mr(mr=conn.ulp.new(), of=conn.mr, off=4096, len=4096, access="lwr")
    shadow = bytearray(b"\xa5" * 65536)

    def put(at, data, last, there=None):
        shadow[at:at + len(data)] = data
        stag, addr = (other["stag"], other["addr"] - 4096) if there else (conn.stag, conn.addr)
        conn.peer.put(fpdu.tagged(fpdu.WRITE, stag, addr + at, data, last))
    put(300, b"c" * 100, False)
    put(100, b"a" * 100, False)
    put(200, b"b" * 100, False)
    put(150, b"again" * 10, True)
    put(9, b"one", False)
    put(4099, b"other", False, True)
    put(12, b"one", True)
    for _ in range(60):
        size = t.rng.randrange(1, 1400)
        put(t.rng.randrange(65536 - size), t.rng.randbytes(size), t.rng.random() < 0.5)
    conn.alive()
    check(conn.memory() == bytes(shadow), "memory")


@row("DDP-22")
def any_offset(t):
    """Writes and Reads at any 64-bit tagged offset: at both ends of the range, across 2^32, and above"""
    conn = t.passive()
    for base in (0, 1 << 40, 0xFFFFF000, (1 << 64) - 8192):
        number = conn.ulp.new()
        got = conn.ulp.mr(mr=number, len=8192, fill=0x11, access="lwr", iova=base)
        for at, size in ((4095, 3), (8191, 1), (8000, 192), (0, 7), (5001, 999)):
            data = t.rng.randbytes(size)
            conn.peer.put(fpdu.tagged(fpdu.WRITE, got["stag"], base + at, data))
            conn.alive()
            equal(conn.ulp.dump(mr=number, off=at, len=size), data, "memory at %d" % at)
            equal(conn.peer.read(got["stag"], base + at, size, 3, (1 << 64) - size), data, "Read at %d" % at)


@row("DDP-18", "DDP-73")
def versions(t):
    """A DDP version other than 1: Terminate 1/1/04 for a tagged segment, 1/2/06 for an untagged one"""
    ulp = t.ulp()
    for dv in (0, 2, 3):
        refused(t, (1, 1, 4), lambda c, v=dv: fpdu.tagged(fpdu.WRITE, c.stag, c.addr, b"x", dv=v), ulp)
        refused(t, (1, 2, 6), lambda c, v=dv: fpdu.untagged(fpdu.SEND, 0, 1, b"x", dv=v), ulp)


@row("DDP-38")
def nothing_is_not_checked(t):
    """The STag and the tagged offset of a Write or a Read Response of no octets are not checked"""
    conn = t.passive(first=False)
    for stag, offset in ((0xDEADBEEF, 1 << 63), (0, 0), (conn.stag ^ 1, conn.addr), (conn.stag, conn.addr - 1),
                         (conn.stag, conn.addr + 65537), (conn.stag, (1 << 64) - 1)):
        conn.peer.put_write(stag, offset)
        conn.alive()
    for stag, offset in ((0, 0), (0xDEADBEEF, 1 << 63)):
        conn.post("read", wr=1, sge="%d:1000:0" % conn.mr, stag=0x500, raddr=0)
        equal(conn.peer.segment().read_request()[2], 0, "octets of the Read")
        conn.peer.put(fpdu.tagged(fpdu.READ_RESP, stag, offset))
        equal(conn.poll()[0][:2], (1, SUCCESS), "completion")


@row("DDP-67", "DDP-68", "DDP-70", "DDP-71", "DDP-72", "DDP-73")
def bounds(t):
    """A Write that begins before the region or ends after it, by one octet: Terminate 1/1/01, nothing is placed"""
    ulp = t.ulp()
    for offset, size in ((-1, 1), (-1, 9), (65536, 1), (65535, 2), (65000, 537)):
        refused(t, (1, 1, 1), lambda c, o=offset, n=size: fpdu.tagged(
            fpdu.WRITE, c.stag, c.addr + o, b"e" * n), ulp)


@row("DDP-69", "DDP-73")
def write_wraps(t):
    """A Write whose range wraps around 2^64: Terminate 1/1/03, because the wrap is checked before the bounds"""
    ulp = t.ulp()
    for back, size in ((8, 16), (1, 2), (1400, 1401)):
        refused(t, (1, 1, 3), lambda c, b=back, n=size: fpdu.tagged(
            fpdu.WRITE, c.stag, (1 << 64) - b, b"w" * n), ulp)


@row("DDP-63", "DDP-73")
def message_numbers(t):
    """A Send whose MSN is not the next one: Terminate 1/2/03, and the Send is neither placed nor delivered"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp)
    conn.peer.put_send(b"one")
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 2, b"half", 0, False))
    equal(conn.poll()[0].status, SUCCESS, "status")
    again = fpdu.untagged(fpdu.SEND, 0, 1, b"again")
    conn.peer.put(again)
    conn.peer.expect_term(1, 2, 3, of=again)
    check(all(c.status == FLUSH for c in conn.poll(7)), "delivered")
    equal((conn.received(0, 16), conn.received(1, 16)), (b"one" + bytes(13), b"half" + bytes(12)), "buffers")
    check(conn.ulp.same(mr=conn.rmr, off=2 * conn.recv_len, byte=0)["same"], "another buffer was written to")
    for msn in (0, 2, 3, 70000, 0xFFFFFFFF):
        refused(t, (1, 2, 3), lambda c, n=msn: fpdu.untagged(fpdu.SEND, 0, n, b"x"), ulp)


@row("DDP-37", "DDP-64")
def nothing_received(t):
    """A zero-length Send consumes a buffer; if no buffer is posted, the device answers with Terminate 1/2/02"""
    conn = t.passive()
    conn.peer.put_send(b"")
    conn.peer.put_send(b"x")
    equal([(wc.wr, wc.status, wc.len) for wc in conn.poll(2)], [(0, SUCCESS, 0), (1, SUCCESS, 1)], "completions")
    conn = t.passive(recvs=0)
    ulpdu = fpdu.untagged(fpdu.SEND, 0, 1)
    conn.peer.put(ulpdu)
    conn.peer.expect_term(1, 2, 2, of=ulpdu)


@row("DDP-39", "DDP-42", "DDP-61", "DDP-73")
def message_offsets(t):
    """
    A Send segment whose MO leaves a gap, goes back, or is outside the buffer: Terminate 1/2/04, no delivery

    The device does not place the wrong segment, even if a good segment of the Send came before it.
    """
    ulp = t.ulp()
    for offset in (1, 255, 256, 257, 0xFFFFFFF0, 0xFFFFFFFF):
        refused(t, (1, 2, 4), lambda c, o=offset: fpdu.untagged(fpdu.SEND, 0, 1, b"y" * 32, o), ulp)
    for offset in (0, 9, 11):
        conn = t.passive(ulp=ulp)
        conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"0123456789", 0, False))
        bad = fpdu.untagged(fpdu.SEND, 0, 1, b"wrong", offset)
        conn.peer.put(bad)
        conn.peer.expect_term(1, 2, 4, of=bad)
        conn.peer.expect_fin()
        check(all(c.status == FLUSH for c in conn.poll(8)), "a Send was delivered")
        equal(conn.received(0, 16), b"0123456789" + bytes(6), "buffer")


@row("DDP-58", "DDP-73")
def wrong_queues(t):
    """A queue that does not exist: Terminate 1/2/01; a queue for another kind of message: Terminate 0/2/06"""
    ulp = t.ulp()
    for queue in (3, 4, 0x80000000, 0xFFFFFFFF):
        refused(t, (1, 2, 1), lambda c, q=queue: fpdu.untagged(fpdu.SEND, q, 1, b"x"), ulp)
    refused(t, (0, 2, 6), lambda c: fpdu.untagged(fpdu.SEND, 1, 1, b"x"), ulp)
    refused(t, (0, 2, 6), lambda c: fpdu.untagged(fpdu.SEND, 2, 1, b"x"), ulp)
    refused(t, (0, 2, 6), lambda c: fpdu.untagged(fpdu.TERM, 0, 1, b"\x20\2\0\0"), ulp)


@row("DDP-59", "DDP-60", "DDP-73")
def no_buffer(t):
    """A Send for which no buffer is posted: Terminate 1/2/02; the Sends before it are delivered"""
    conn = t.passive(recvs=2)
    for data in (b"one", b"two"):
        conn.peer.put_send(data)
    bad = fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), b"three")
    conn.peer.put(bad)
    conn.peer.expect_term(1, 2, 2, of=bad)
    conn.peer.expect_fin()
    equal([(wc.wr, wc.status) for wc in conn.poll(2)], [(0, SUCCESS), (1, SUCCESS)], "completions")
    conn.none()
    event(conn, QP_REQ_ERR)


def held_up(conn, sends=100):
    """Posts more Sends than the device can send now; returns how many Sends are not complete."""
    conn.post("send", wr=1, n=sends, sge="%d:0:65536" % conn.mr)
    left = sends - len(conn.poll(sends, ms=700, exact=False))
    check(left, "all Sends were sent")
    return left


@row("RDMAP-38", "RDMAP-68")
def read_completes_while_blocked(t):
    """A Read completes, though TCP does not accept the messages behind it"""
    ulp = t.ulp()
    for size in (65536, 50000, 30000, 17000):
        conn = t.passive(ulp=ulp, swr=110)
        conn.peer.slow()
        conn.post("read", wr=501, sge="%d:0:4" % conn.mr, stag=5, raddr=77)
        sink, at, length, _, _ = conn.peer.segment().read_request()
        conn.post("send", wr=1, n=100, sge="%d:0:%d" % (conn.mr, size))
        conn.none(500)
        conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, at, b"r" * length))
        equal([(wc.wr, wc.status) for wc in conn.poll(1)], [(501, SUCCESS)], "completion of the Read")
        for _ in range(100):
            equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), size, "size of a Send")
        conn.poll(100)


@row("DDP-59", "DDP-73")
def too_many_reads(t):
    """While the device can't send, it accepts as many Reads as IRD permits; one more Read: Terminate 1/2/02"""
    conn = t.passive(ird=2)
    data = t.rng.randbytes(200)
    conn.ulp.set(mr=conn.mr, off=0, data=data)
    conn.peer.slow()

    def requests(n):
        return [fpdu.read_request(conn.peer.next(1), 70 + at, at << 40, 50 + at, conn.stag, conn.addr + 60 * at)
                for at in range(n)]

    def answer(seg):
        at = seg.stag - 70
        equal((seg.opcode, seg.offset, seg.last), (fpdu.READ_RESP, at << 40, True), "Read Response")
        equal(seg.data, data[60 * at:60 * at + 50 + at], "data of Read %d" % at)
        return at

    # the device can't send its Sends yet, nor its answers to Reads
    left = held_up(conn)
    conn.peer.put(*requests(2))
    # a Send after the Read Requests: when the Send completes, the device has received the Requests
    conn.peer.put_send(b"behind")
    while conn.poll()[0].opcode != WC_RECV:
        left -= 1
    check(left, "the device has sent all Sends")
    sends, answers = 0, []
    while sends < 100 or len(answers) < 2:
        segs = conn.peer.message()
        if segs[0].opcode == fpdu.SEND:
            sends += 1
        else:
            answers += [answer(seg) for seg in segs]
    equal(answers, [0, 1], "answers")
    conn.poll(left)
    held_up(conn)
    *_, bad = asked = requests(3)
    conn.peer.put(*asked)
    answers, seg = [], conn.peer.segment()
    while seg.opcode != fpdu.TERM:
        if seg.opcode != fpdu.SEND:
            answers.append(answer(seg))
        seg = conn.peer.segment()
    conn.peer.held.insert(0, seg)
    conn.peer.expect_term(1, 2, 2, of=bad)
    conn.peer.expect_fin()
    # the device sends a Terminate as soon as possible, and does not answer the other Reads
    equal(answers, [0, 1][:len(answers)], "answers before the Terminate")


@row("DDP-62", "DDP-73")
def too_long(t):
    """A Send longer than its buffer, in one or more segments: Terminate 1/2/05, the excess segment is not placed"""
    ulp = t.ulp()
    for first, size in ((0, 257), (0, 1000), (250, 7), (256, 1)):
        conn = t.passive(ulp=ulp)
        if first:
            conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"f" * first, 0, False))
        bad = fpdu.untagged(fpdu.SEND, 0, 1, b"e" * size, first)
        conn.peer.put(bad)
        conn.peer.expect_term(1, 2, 5, of=bad)
        wc = conn.poll(8)
        equal([c.status for c in wc], [LOC_LEN_ERR] + [FLUSH] * 7, "completions")
        equal(conn.received(0, 512), b"f" * first + bytes(512 - first), "buffers")
    # segments of the same size, which the device receives in one run: the third segment does not
    # fit into the buffer
    conn = t.passive(ulp=ulp)
    alike = [fpdu.untagged(fpdu.SEND, 0, 1, b"g" * 100, at, False) for at in (0, 100, 200, 300)]
    conn.peer.put(*alike)
    conn.peer.expect_term(1, 2, 5, of=alike[2])
    equal([c.status for c in conn.poll(8)], [LOC_LEN_ERR] + [FLUSH] * 7, "completions")
    equal(conn.received(0, 512), b"g" * 200 + bytes(312), "buffers")
    # a Read Request that is too long is no error of the Send before it
    conn = t.passive(ulp=ulp)
    bad = fpdu.untagged(fpdu.READ_REQ, 1, 1, bytes(60))
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"f" * 8, 0, False), bad)
    conn.peer.expect_term(1, 2, 5, of=bad)
    equal([c.status for c in conn.poll(8)], [FLUSH] * 8, "completions")


def deregistered(conn, size):
    """Registers the first size octets of conn.mr as a region, and deregisters the region; returns
    its former STag."""
    number = conn.ulp.new()
    stag = conn.ulp.mr(mr=number, of=conn.mr, len=size, access="lwr")["stag"]
    conn.ulp.dereg(mr=number)
    return stag


@row("DDP-65", "DDP-21", "DDP-73")
def wrong_stags(t):
    """A Write to an STag that does not exist (another index or key, zero, a deregistered one): Terminate 1/1/00"""
    ulp = t.ulp()
    for wrong in (1, 0x80, 0x100, 0x80000000, 0xFFFFFFFF):
        refused(t, (1, 1, 0), lambda c, w=wrong: fpdu.tagged(fpdu.WRITE, c.stag ^ w, c.addr, b"x"), ulp)
    refused(t, (1, 1, 0), lambda c: fpdu.tagged(fpdu.WRITE, 0, c.addr, b"x"), ulp)
    for size in (1, 65536):
        refused(t, (1, 1, 0), lambda c, n=size: fpdu.tagged(fpdu.WRITE, deregistered(c, n), c.addr, b"x"), ulp)


@row("DDP-78", "DDP-79", "DDP-65")
def stag_taken_back(t):
    """
    A Write to an STag of a part of memory works; after deregistration the answer is Terminate 1/1/00

    Eight regions that are registered after the deregistration do not get this STag.
    """
    ulp = t.ulp()
    conn = t.passive(ulp=ulp)
    number = ulp.new()
    got = ulp.mr(mr=number, of=conn.mr, off=100, len=50, access="lwr")
    conn.peer.put(fpdu.tagged(fpdu.WRITE, got["stag"], got["addr"] + 49, b"z"))
    conn.alive()
    equal(conn.memory(148, 3), b"\xa5z\xa5", "memory")
    ulp.dereg(mr=number)
    more = [ulp.mr(mr=ulp.new(), of=conn.mr, off=100, len=50, access="lwr")["stag"] for _ in range(8)]
    check(got["stag"] not in more, "an STag was used again")
    bad = fpdu.tagged(fpdu.WRITE, got["stag"], got["addr"], b"late")
    conn.peer.put(bad)
    conn.peer.expect_term(1, 1, 0, of=bad)
    equal(conn.memory(100, 4), b"\xa5" * 4, "memory")


@row("DDP-66", "DDP-80")
def write_rights(t):
    """A Write to a region without the remote write right: Terminate 0/1/02, and an event for the upper layer"""
    ulp = t.ulp()
    for access in ("l", "lr", ""):
        conn = t.passive(ulp=ulp, access=access)
        bad = fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"x")
        conn.peer.put(bad)
        conn.peer.expect_term(0, 1, 2, of=bad)
        conn.peer.expect_fin()
        conn.untouched()
        event(conn, QP_ACCESS_ERR)


@row("DDP-80")
def access_events(t):
    """A Write or Read refused for STag, right, domain, bounds or wrap raises an event for the upper layer"""
    ulp = t.ulp()
    other = t.passive(ulp=ulp, domain=1)
    wrap = (1 << 64) - 8
    # (Terminate for a Write, Terminate for a Read, access rights of the region, function that
    # returns STag, address and size of the access)
    for write, read, access, where in (
            ((1, 1, 0), (0, 1, 0), "lwr", lambda c: (c.stag ^ 0x100, c.addr, 1)),
            ((0, 1, 2), (0, 1, 2), "l", lambda c: (c.stag, c.addr, 1)),
            ((1, 1, 2), (0, 1, 3), "lwr", lambda c: (other.stag, other.addr, 1)),
            ((1, 1, 1), (0, 1, 1), "lwr", lambda c: (c.stag, c.addr - 1, 1)),
            ((1, 1, 1), (0, 1, 1), "lwr", lambda c: (c.stag, c.addr + 65535, 2)),
            ((1, 1, 3), (0, 1, 4), "lwr", lambda c: (c.stag, wrap, 16))):
        for reads, code in enumerate((write, read)):
            conn = t.passive(ulp=ulp, access=access)
            stag, at, size = where(conn)
            bad = (fpdu.read_request(1, 77, 0, size, stag, at) if reads else
                   fpdu.tagged(fpdu.WRITE, stag, at, b"x" * size))
            conn.peer.put(bad)
            event(conn, QP_ACCESS_ERR)
            conn.peer.expect_term(*code, of=bad)
    other.untouched()


@row("DDP-74")
def domains_apart(t):
    """A Write to a region of another protection domain: Terminate 1/1/02, and an event for the upper layer"""
    ulp = t.ulp()
    other = t.passive(ulp=ulp, domain=1)
    conn = t.passive(ulp=ulp, domain=2)
    bad = fpdu.tagged(fpdu.WRITE, other.stag, other.addr, b"x")
    conn.peer.put(bad)
    conn.peer.expect_term(1, 1, 2, of=bad)
    conn.peer.expect_fin()
    event(conn, QP_ACCESS_ERR)
    other.untouched()
    other.peer.put(fpdu.tagged(fpdu.WRITE, other.stag, other.addr, b"x"))
    other.alive()
    equal(other.memory(0, 1), b"x", "memory")


@row("DDP-6")
def ddp_digest(t):
    """An FPDU with a changed octet, or with zero in its CRC field: Terminate 2/0/02, its payload is not placed"""
    ulp = t.ulp()
    for at in (3, 8, 16, 17, -1):
        conn = t.passive(ulp=ulp)
        octets = bytearray(conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"12345678")))
        octets[at] ^= 0x41
        conn.peer.send(octets)
        conn.peer.expect_term(2, 0, 2)
        conn.untouched()
    conn = t.passive(ulp=ulp)
    conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"12345678"), crc_is=0)
    conn.peer.expect_term(2, 0, 2)
    conn.untouched()
