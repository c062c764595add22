# SPDX-License-Identifier: GPL-2.0
"""RFC 5040: the messages that the device sends for operations of the upper layer, their order, and
the completions."""
import fpdu
import mpa
from outcome import check, equal
from rows import row
from rows_rdmap_term import BIG, big, narrow, wide
from ulp import RTS, SUCCESS, WC_READ, WC_RECV, WC_SEND, WC_WRITE


def answer(conn, request, data, size=1400):
    """Sends the peer's Response to a Read Request, in segments of size octets."""
    sink, offset = request.read_request()[:2]
    conn.peer.put(*fpdu.segments(fpdu.READ_RESP, sink, offset, data, size))


def filled(t, conn, size=20000):
    """Puts random octets into the beginning of the memory; returns the octets."""
    data = t.rng.randbytes(size)
    conn.ulp.set(mr=conn.mr, off=0, data=data)
    return data


@row("RDMAP-1", "RDMAP-2", "RDMAP-3", "RDMAP-4", "RDMAP-5", "RDMAP-6", "RDMAP-21", "RDMAP-42", "RDMAP-24", "RDMAP-25",
     "RDMAP-48", "RDMAP-49", "RDMAP-73")
def headers(t):
    """Writes and all kinds of Send: every header octet of the first segment is right, each operation is one message"""
    conn = t.passive(recvs=0)
    data = filled(t, conn)
    msn = 0
    for op, opcode, flags, size in (
            ("write", 0x40, "", 20000), ("write", 0x40, "", 1), ("write", 0x40, "", 0), ("send", 0x43, "", 3000),
            ("send", 0x43, "", 0), ("send", 0x45, "s", 10), ("send", 0x45, "s", 0), ("send_inv", 0x44, "", 5000),
            ("send_inv", 0x46, "s", 7), ("send_inv", 0x44, "", 0)):
        conn.post(op, wr=1, sge="%d:0:%d" % (conn.mr, size) if size else None, flags=flags,
                  stag=0xCAFE0001, raddr=0xFFFF000011112222, inv=0xBEEF0002)
        segs = conn.peer.message()
        first, last = segs[0].ulpdu, len(segs) == 1
        if op == "write":
            want = bytes([0xC1 if last else 0x81, opcode]) + bytes.fromhex("cafe0001ffff000011112222")
        else:
            msn += 1
            stag = "beef0002" if op == "send_inv" else "00000000"
            want = bytes([0x41 if last else 1, opcode]) + bytes.fromhex(
                stag + "00000000" + "%08x" % msn + "00000000")
        equal(first[:len(want)].hex(), want.hex(), "%s of %d" % (op, size))
        check(b"".join(s.data for s in segs) == data[:size], "data of %s of %d" % (op, size))
        equal(conn.poll()[0][:3], (1, SUCCESS, WC_WRITE if op == "write" else WC_SEND), "completion")


@row("RDMAP-3", "RDMAP-8", "RDMAP-9", "RDMAP-28", "RDMAP-32", "RDMAP-12", "RDMAP-6", "RDMAP-11")
def read_requests(t):
    """Every octet of the device's Read Requests is right, with sink and source at odd offsets"""
    conn = t.passive(recvs=0)
    local = conn.ulp.mr(mr=conn.ulp.new(), len=70000, access="l", off=3)
    number = conn.ulp.number + 999
    for msn, (size, at, source) in enumerate(((0, 0, 0), (1, 5, 7), (60001, 13, (1 << 64) - 60001)), 1):
        conn.post("read", wr=msn, sge="%d:%d:%d" % (number, at, size), stag=0xFFFFFFFF, raddr=source)
        seg = conn.peer.segment()
        want = bytes.fromhex("4141" + "00000000" + "00000001" + "%08x" % msn + "00000000")
        want += fpdu.read_request(0, local["lkey"], local["addr"] + at, size, 0xFFFFFFFF, source)[18:]
        equal(seg.ulpdu.hex(), want.hex(), "Read Request")
        data = t.rng.randbytes(size)
        answer(conn, seg, data)
        equal(conn.poll()[0][:4], (msn, SUCCESS, WC_READ, size), "completion")
        check(conn.ulp.dump(mr=number, off=at, len=size) == data, "data")


@row("RDMAP-23", "RDMAP-30", "RDMAP-47", "RDMAP-66", "RDMAP-68", "RDMAP-63", "RDMAP-73", "RDMAP-24")
def submission_order(t):
    """Mixed operations are sent and completed in the order of posting, also if Reads are answered late"""
    conn = t.passive(recvs=0, ord=16)
    filled(t, conn)
    kinds = {"send": (fpdu.SEND, WC_SEND), "write": (fpdu.WRITE, WC_WRITE), "read": (fpdu.READ_REQ, WC_READ)}
    ops = [t.rng.choice(("send", "write", "read")) for _ in range(40)] + ["read", "write", "send"]
    reads, posted = 0, []
    for op in ops:
        if op == "read" and reads == 12:
            op = "write"
        reads += op == "read"
        conn.post(op, wr=len(posted), sge="%d:30000:%d" % (conn.mr, t.rng.choice((0, 9, 3000))),
                  stag=0x1000 + len(posted), raddr=len(posted) << 32)
        posted.append(op)
    requests = []
    for n, op in enumerate(posted):
        segs = conn.peer.message(kinds[op][0])
        if op == "write":
            equal((segs[0].stag, segs[0].offset), (0x1000 + n, n << 32), "Write %d" % n)
        elif op == "read":
            equal(segs[0].read_request()[3:], (0x1000 + n, n << 32), "Read %d" % n)
            requests.append(segs[0])
    first = posted.index("read")
    equal([c.wr for c in conn.poll(first)] if first else [], list(range(first)), "completions before the first Read")
    conn.none()
    for seg in requests:
        answer(conn, seg, b"r" * seg.read_request()[2])
    got = conn.poll(len(posted) - first)
    equal([(c.wr, c.status) for c in got], [(n, SUCCESS) for n in range(first, len(posted))], "completions")
    equal([c.opcode for c in got], [kinds[op][1] for op in posted[first:]], "opcodes")


@row("RDMAP-38", "RDMAP-71", "RDMAP-72", "RDMAP-27", "RDMAP-40")
def read_completes(t):
    """A Read completes when the last octet of its Response arrives, not before, and needs no other message"""
    conn = t.passive(recvs=0)
    conn.post("read", wr=7, sge="%d:101:3000" % conn.mr, stag=9, raddr=5)
    seg = conn.peer.segment()
    data = t.rng.randbytes(3000)
    parts = list(fpdu.segments(fpdu.READ_RESP, *seg.read_request()[:2], data, 1400))
    for part in parts[:-1]:
        conn.peer.put(part)
        conn.none(200)
    octets = conn.peer.frame(parts[-1])
    conn.peer.send(octets[:-1])
    conn.none(200)
    conn.peer.send(octets[-1:])
    equal(conn.poll()[0][:4], (7, SUCCESS, WC_READ, 3000), "completion")
    check(conn.memory(100, 3002) == b"\xa5" + data + b"\xa5", "data")


@row("RDMAP-63", "RDMAP-72")
def responses_in_order(t):
    """The Responses to eight Reads come together: the Reads complete in order, each with its data"""
    conn = t.passive(recvs=0, ord=8)
    for wr in range(8):
        conn.post("read", wr=wr, sge="%d:%d:%d" % (conn.mr, 4000 * wr, 500 * wr), stag=9, raddr=0)
    requests = [conn.peer.segment() for _ in range(8)]
    data = [t.rng.randbytes(500 * n) for n in range(8)]
    conn.peer.put(*[u for n, seg in enumerate(requests)
                    for u in fpdu.segments(fpdu.READ_RESP, *seg.read_request()[:2], data[n], 1400)])
    for n, wc in enumerate(conn.poll(8)):
        equal(wc[:4], (n, SUCCESS, WC_READ, 500 * n), "completion")
        check(conn.memory(4000 * n, 500 * n) == data[n], "data of %d" % n)


@row("RDMAP-65")
def fence(t):
    """A request with a fence waits for the Reads before it; a request without a fence does not wait"""
    conn = t.passive(recvs=0)
    for op, opcode in (("send", fpdu.SEND), ("write", fpdu.WRITE), ("read", fpdu.READ_REQ)):
        conn.post("read", wr=1, sge="%d:0:10" % conn.mr, stag=9, raddr=0)
        conn.post("write", wr=2, stag=8, raddr=0)
        conn.post(op, wr=3, sge="%d:20:10" % conn.mr, stag=7, raddr=0, flags="f")
        conn.post("write", wr=4, stag=6, raddr=0)
        request = conn.peer.segment()
        equal((request.opcode, conn.peer.segment().stag), (fpdu.READ_REQ, 8), "before the fence")
        conn.peer.expect_silence()
        answer(conn, request, b"0123456789")
        seg = conn.peer.segment()
        equal(seg.opcode, opcode, "the request with the fence")
        equal(conn.peer.segment().stag, 6, "the Write after the fence")
        if op == "read":
            answer(conn, seg, b"0123456789")
        equal([(c.wr, c.status) for c in conn.poll(4)], [(n, SUCCESS) for n in (1, 2, 3, 4)], "completions")


@row("RDMAP-74", "RDMAP-75")
def ord_kept(t):
    """The device never has more Reads outstanding than ORD; the requests posted after them wait"""
    for depth in (1, 2, 5):
        conn = t.passive(recvs=0, ord=depth, ird=7)
        got = conn.query()
        equal((got["state"], got["ord"], got["ird"]), (RTS, depth, 7), "queue pair")
        conn.post("read", wr=0, n=9, sge="%d:0:10" % conn.mr, stag=9, raddr=0)
        conn.post("write", wr=9, stag=5, raddr=0)
        out = [conn.peer.segment() for _ in range(depth)]
        conn.peer.expect_silence(0.3)
        for n in range(9):
            answer(conn, out.pop(0), b"0123456789")
            if depth + n < 9:
                out.append(conn.peer.segment())
                equal(out[-1].opcode, fpdu.READ_REQ, "opcode")
        equal(conn.peer.segment().stag, 5, "the Write after the Reads")
        equal([c.wr for c in conn.poll(10)], list(range(10)), "completions")


@row("RDMAP-74")
def depths(t):
    """IRD and ORD of the device are at least 16; a queue pair has the smaller values of the ULP and the peer"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp)
    device = ulp.device()
    check(device["ird"] >= 16 and device["ord"] >= 16, "device", device)
    for word, asked, want in (((3, 9), (16, 16), (9, 3)), ((16, 1), (5, 2), (1, 2)), ((1, 16), (16, 1), (16, 1)),
                              ((7, 9), (5, 6), (5, 6)), ((2, 16), (4, 16), (4, 2))):
        conn = t.passive(ulp=ulp, word=word, ird=asked[0], ord=asked[1])
        got = conn.query()
        equal((got["ird"], got["ord"]), want, "queue pair, Request %s, asked %s" % (word, asked))
        equal(tuple(w & mpa.ANY_DEPTH for w in conn.reply.words()), want, "Reply")


@row("RDMAP-67")
def completes_when_sent(t):
    """Sends whose octets TCP has not taken do not complete; after the peer reads again, all Sends complete"""
    conn = t.passive(recvs=0)
    narrow(conn)
    number = conn.ulp.new()
    conn.ulp.mr(mr=number, len=1 << 20, access="l", fill=7)
    conn.post("send", wr=0, n=12, sge="%d:0:%d" % (number, 1 << 20))
    conn.peer.segment()
    got = conn.poll(12, ms=1000, exact=False)
    check(len(got) < 12, "all Sends are complete, but the peer has not read them")
    wide(conn)
    total = sum(len(seg.data) for _ in range(11) for seg in conn.peer.message(fpdu.SEND))
    check(11 << 20 > total > 10 << 20, "octets", total)
    rest = conn.poll(11 - len(got), exact=True) if len(got) < 11 else []
    equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), 1 << 20, "octets of the last Send")
    rest += conn.poll(12 - len(got) - len(rest)) if len(got) + len(rest) < 12 else []
    equal([(c.wr, c.status) for c in got + rest], [(n, SUCCESS) for n in range(12)], "completions")


@row("RDMAP-62", "RDMAP-45")
def write_then_send(t):
    """When a Send completes, the Writes before it are in memory (60 Sends in one stream)"""
    conn = t.passive(recvs=60)
    data = [t.rng.randbytes(t.rng.choice((1, 900, 1000))) for _ in range(60)]
    octets = b""
    for n, part in enumerate(data):
        octets += conn.peer.frame(*fpdu.segments(fpdu.WRITE, conn.stag, conn.addr + 1000 * n, part, 333))
        octets += conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), bytes([n])))
    conn.peer.send(octets, sizes=[1000, 77, 4000])
    for n, part in enumerate(data):
        equal(conn.poll()[0][:4], (n, SUCCESS, WC_RECV, 1), "completion")
        check(conn.memory(1000 * n, len(part)) == part, "the Write before Send %d" % n)
        equal(conn.received(n, 1), bytes([n]), "Send %d" % n)


@row("RDMAP-64", "RDMAP-69", "RDMAP-31")
def write_then_read(t):
    """A Read returns the data of the Write before it (2000 Reads, four at a time, in one write or in pieces)"""
    conn = t.passive(ird=4)
    for turn in range(500):
        data = [t.rng.randbytes(40 + n) for n in range(4)]
        octets = b""
        for n, part in enumerate(data):
            octets += conn.peer.frame(
                *fpdu.segments(fpdu.WRITE, conn.stag, conn.addr + 64 * n, part, 30),
                fpdu.read_request(conn.peer.next(1), n, 0, len(part), conn.stag, conn.addr + 64 * n))
        conn.peer.send(octets, sizes=None if turn % 4 else 100)
        for n, part in enumerate(data):
            check(conn.peer.read_response(n, 0) == part, "data of %d in turn %d" % (n, turn))


@row("RDMAP-62", "RDMAP-64", "RDMAP-39")
def send_then_read(t):
    """The Response to a Read after a Send does not come before the Send has been delivered"""
    conn = t.passive(recvs=20)
    for n in range(20):
        octets = conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), b"s" * 100))
        octets += conn.peer.frame(fpdu.read_request(conn.peer.next(1), 1, 0, 9, conn.stag, conn.addr))
        conn.peer.send(octets, sizes=50)
        equal(len(conn.peer.read_response(1, 0)), 9, "Read")
        equal(conn.poll(1, ms=0)[0][:3], (n, SUCCESS, WC_RECV), "the Send is complete already")


@row("RDMAP-70", "RDMAP-61")
def sends_overtake_reads(t):
    """
    While the peer's Reads wait, its later Sends complete, and a later Send of the device overtakes Responses

    The first Send of the device completes although the peer reads nothing.
    """
    reads = 12
    conn = t.passive(word=(4, reads), ird=reads)
    equal(conn.query()["ird"], reads, "IRD")
    conn.post("send", wr=76, sge="%d:0:20" % conn.mr)
    equal(conn.poll()[0][:2], (76, SUCCESS), "a Send that the peer has not looked at")
    _, addr, stag = big(conn)
    conn.peer.put_read(stag, addr, BIG)
    equal(conn.peer.message(fpdu.SEND)[0].data, b"\xa5" * 20, "the Send")
    first = conn.peer.segment()
    for turn in range(1, reads):
        conn.peer.put_read(stag, addr, turn, turn, 0)
    for wr in range(8):
        conn.peer.put_send(b"x")
        equal(conn.poll()[0][:3], (wr, SUCCESS, WC_RECV), "completion")
    # all Reads have arrived at the device, and no Read has its whole Response
    conn.post("send", wr=77, sge="%d:0:10" % conn.mr)
    wide(conn)
    octets = len(first.data) + sum(len(seg.data) for seg in conn.peer.message(fpdu.READ_RESP))
    equal(octets, BIG, "octets of the Read")
    equal(conn.poll()[0][:2], (77, SUCCESS), "the later Send")
    order = [conn.peer.message()[0] for _ in range(reads)]
    (place,) = [n for n, seg in enumerate(order) if seg.opcode == fpdu.SEND]
    equal(order.pop(place).data, b"\xa5" * 10, "the Send")
    check(place < reads - 1, "the Send came after all Responses")
    equal([(seg.opcode, seg.stag, len(seg.data)) for seg in order],
          [(fpdu.READ_RESP, n, n) for n in range(1, reads)], "Responses")
