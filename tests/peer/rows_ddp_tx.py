# SPDX-License-Identifier: GPL-2.0
"""RFC 5041: segments that the device sends, and how the device uses TCP."""
import collections
import socket
import time

import fpdu
import mpa
import patience
import stream
from outcome import Late, Skip, check, equal
from rows import row
from ulp import FLUSH, LOC_LEN_ERR, SUCCESS, WC_READ, WC_SEND, WC_WRITE, UlpError


def sge(conn, size, at=0):
    """Returns a gather list of one element in the region mr; None if size is 0."""
    return "%d:%d:%d" % (conn.mr, at, size) if size else None


@row("DDP-13", "DDP-14", "DDP-25", "DDP-26", "DDP-27", "DDP-29", "DDP-30", "DDP-41")
def send_segments(t):
    """Each segment of a long Send has the right L bit, queue, MSN and MO"""
    conn = t.passive()
    for msn, size in enumerate((1, 5000, 0, 20000, 65536), 1):
        conn.post("send", wr=msn, sge=sge(conn, size))
        offset = 0
        for seg in conn.peer.message(fpdu.SEND):
            equal((seg.tagged, seg.queue, seg.msn, seg.offset), (False, 0, msn, offset), "header")
            offset += len(seg.data)
            equal(seg.last, offset == size, "L of the segment that ends at %d of %d" % (offset, size))
        equal(offset, size, "size")


@row("DDP-13", "DDP-14", "DDP-20", "DDP-21", "DDP-22", "DDP-36", "DDP-41")
def write_segments(t):
    """Each segment of a long Write, to any tagged offset, has the right L bit, STag, TO and RsvdULP octet"""
    conn = t.passive()
    for turn, (size, at) in enumerate(((1, 0), (2048, 16384), (20000, (1 << 64) - 20000), (65536, 0xFFFFFFF1),
                                       (3000, 0x123456789ABCDEF1))):
        conn.post("write", wr=turn, sge=sge(conn, size), stag=0xABCDEF00 + turn, raddr=at)
        offset = 0
        for seg in conn.peer.message(fpdu.WRITE):
            equal((seg.tagged, seg.stag, seg.offset), (True, 0xABCDEF00 + turn, at + offset), "header")
            equal(seg.ulpdu[1], 0x40 | fpdu.WRITE, "the upper layer's octet")
            offset += len(seg.data)
            equal(seg.last, offset == size, "L of the segment that ends at %d of %d" % (offset, size))
        equal(offset, size, "size")


@row("DDP-16", "DDP-17", "DDP-19", "DDP-23", "DDP-31", "DDP-37")
def ddp_headers(t):
    """Every kind of message has a header of 14 or 18 octets, DV 1, reserved bits 0; zero length makes one segment"""
    conn = t.active()
    conn.ulp.set(mr=conn.mr, data=b"payload!")
    want = []
    for size in (8, 0):
        data, read = b"payload!"[:size], b"\0\0\0" + bytes([size])
        conn.post("write", wr=1, sge=sge(conn, size), stag=0x1234, raddr=0x55)
        want.append("c140" "00001234" "0000000000000055" + data.hex())
        conn.post("send", wr=2, sge=sge(conn, size))
        want.append("4143" "00000000" "00000000" "0000000%d" "00000000" % (1 if size else 2) + data.hex())
        conn.post("read", wr=3, sge=sge(conn, size, 64), stag=0x9876, raddr=0x66)
        want.append(("4141" "00000000" "00000001" "0000000%d" "00000000" % (1 if size else 2), read))
    for one in want:
        seg = conn.peer.segment()
        if isinstance(one, tuple):
            equal((seg.ulpdu[:18].hex(), seg.data[12:16], len(seg.ulpdu)), one + (46,), "Read Request")
            sink, at, size, _, _ = seg.read_request()
            conn.peer.put_write()
            conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, at, b"r" * size))
        else:
            equal(seg.ulpdu.hex(), one, "segment")
    for size in (8, 0):
        conn.peer.put_read(conn.stag, conn.addr, size, 0x4321, 0x77)
        equal(conn.peer.segment().ulpdu.hex(), "c142" "00004321" "0000000000000077" + b"payload!"[:size].hex(),
              "Read Response")
    conn.peer.put(fpdu.untagged(fpdu.SEND, 9, 1))
    equal(conn.peer.segment().ulpdu[:20].hex(), "4147" "00000000" "00000002" "00000001" "00000000" "1201", "Terminate")
    equal([wc.status for wc in conn.poll(6)], [SUCCESS] * 6, "completions")


@row("DDP-34", "DDP-35")
def all_data(t):
    """The device sends all data of a gather list with several elements, and places all data that it receives"""
    conn = t.passive()
    data = t.rng.randbytes(65536)
    conn.peer.put_write(conn.stag, conn.addr, data, size=1031)
    conn.alive()
    check(conn.memory() == data, "data that the peer wrote")
    pieces = "%d:1:999,%d:1000:1,%d:40000:25536,%d:1:40000" % ((conn.mr,) * 4)
    conn.post("send", wr=1, sge=pieces)
    want = data[1:1000] + data[1000:1001] + data[40000:] + data[1:40001]
    check(b"".join(seg.data for seg in conn.peer.message(fpdu.SEND)) == want, "what was sent")
    conn.post("write", wr=2, sge=pieces, stag=1, raddr=0)
    check(b"".join(seg.data for seg in conn.peer.message(fpdu.WRITE)) == want, "data that the device wrote")
    check(conn.peer.read(conn.stag, conn.addr, 65536) == data, "what was read")


@row("DDP-40", "DDP-43")
def ddp_order(t):
    """Messages are sent, and complete, in the order of their submission"""
    conn = t.passive()
    kinds = [t.rng.choice(("send", "write", "read")) for _ in range(60)]
    for wr, kind in enumerate(kinds):
        size = t.rng.choice((0, 5, 3000))
        conn.post(kind, wr=wr, sge=sge(conn, size), stag=wr + 1, raddr=wr)
    codes = {"send": fpdu.SEND, "write": fpdu.WRITE, "read": fpdu.READ_REQ}
    for wr, kind in enumerate(kinds):
        segs = conn.peer.message(codes[kind])
        if kind == "write":
            equal(segs[0].stag, wr + 1, "STag")
        elif kind == "read":
            sink, at, size, stag, _ = segs[0].read_request()
            equal(stag, wr + 1, "source STag")
            conn.peer.put(*fpdu.segments(fpdu.READ_RESP, sink, at, b"r" * size, 1400))
    codes = {"send": WC_SEND, "write": WC_WRITE, "read": WC_READ}
    equal([(wc.wr, wc.status, wc.opcode) for wc in conn.poll(60)],
          [(wr, SUCCESS, codes[kind]) for wr, kind in enumerate(kinds)], "completions")


@row("DDP-1", "DDP-32")
def ddp_mulpdu(t):
    """DDP Segments are as long as TCP's segments allow, and no longer"""
    if t.place.path != "direct":
        raise Skip("the peer does not see TCP's segments")
    conn = t.passive()
    emss = conn.peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    conn.post("send", wr=1, sge=sge(conn, 65536))
    conn.post("write", wr=2, sge=sge(conn, 65536), stag=1, raddr=0)
    segs = conn.peer.message(fpdu.SEND) + conn.peer.message(fpdu.WRITE)
    for seg in segs:
        check(seg.size <= emss and len(seg.ulpdu) <= 64768, "segment longer than EMSS %d:" % emss, seg.size)
    full = min(emss - emss % 4, (64768 + 2 + 3 & ~3) + 4)
    # with a large EMSS, the first FPDU may be shorter: the device frames FPDUs in pieces of memory
    # of up to 32 KiB, and the current piece may be nearly full
    check(segs[0].size == full or emss > 32768 and segs[0].size >= 16384, "size of an FPDU:", segs[0].size, emss)


def route(t, mtu):
    """Makes a route from the device's side to the peer with this MTU. If mtu is 0, deletes the
    route."""
    ip = ["ip", "-6" if ":" in t.place.here else "-4", "route"]
    where = t.place.run(*ip, "get", t.place.here, capture_output=True, text=True).stdout.split()
    words = (["replace", t.place.here, "dev", where[where.index("dev") + 1], "mtu", str(mtu)] if mtu else
             ["del", t.place.here])
    done = t.place.run(*ip, *words, capture_output=True, text=True)
    check(done.returncode == 0, "route:", done.stderr)


Undo = collections.namedtuple("Undo", "close")


@row("DDP-1", "DDP-2", alone=True)
def mulpdu_changes(t):
    """The path's MTU shrinks: FPDUs already framed keep their size, later ones are shorter, all data arrive"""
    if t.place.path != "direct" or t.place.interface == "lo":
        raise Skip("the path's MTU can't be changed here")
    conn = t.passive()
    data = t.rng.randbytes(65536)
    for at in range(0, 65536, 16384):
        conn.ulp.set(mr=conn.mr, off=at, data=data[at:at + 16384])
    conn.peer.slow()

    def message(size=65536):
        segs = conn.peer.message(fpdu.SEND)
        check(b"".join(seg.data for seg in segs) == data[:size], "data of a Send of %d" % size)
        return [seg.size for seg in segs]

    conn.post("send", wr=0, n=40, sge=sge(conn, 65536))
    sizes = [message()]
    route(t, 1300)
    t.keep(Undo(lambda: route(t, 0)))
    sizes += [message() for _ in range(39)]
    conn.post("send", wr=40, sge=sge(conn, 20000))
    after = message(20000)
    check(max(after) < 1300, "segments after the change:", after)
    check(max(sizes[0]) > 1300, "segments before the change:", sizes[0])
    check(max(sizes[1]) == max(sizes[0]), "FPDUs framed before the change:", sizes[1])
    equal([(wc.wr, wc.status) for wc in conn.poll(41)], [(n, SUCCESS) for n in range(41)], "completions")


@row("DDP-3")
def transferred_or_failed(t):
    """After a reset all messages complete, in the order of posting: the first with success, the others in error"""
    conn = t.passive()
    conn.peer.slow()
    conn.post("send", wr=100, n=60, sge=sge(conn, 65536))
    conn.post("write", wr=160, n=20, sge=sge(conn, 65536), stag=1, raddr=0)
    conn.peer.message(fpdu.SEND)
    conn.peer.rst()
    got = conn.poll(88)
    sent = [wc for wc in got if wc.wr >= 100]
    equal([wc.wr for wc in sent], list(range(100, 180)), "send queue")
    equal([(wc.wr, wc.status) for wc in got if wc.wr < 100], [(n, FLUSH) for n in range(8)], "receive queue")
    states = [wc.status for wc in sent]
    check(set(states) == {SUCCESS, FLUSH} and states == sorted(states), "completions:", states)
    conn.none()


def long_region(ulp, number, piece, pieces, access="lo"):
    """
    Registers a region that contains the same memory, of "piece" octets, "pieces" times; number: the
    number of the region; returns its keys and address. If possible, the region uses on-demand paging, because User-Mode Linux
    needs a mapping in its host for each present page of a process, and a process of the host can
    have only 65530 mappings.
    """
    try:
        return ulp.mr(mr=number, len=piece, again=pieces, access=access)
    except UlpError:
        with open("/proc/cpuinfo", encoding="ascii") as cpu:
            if "User Mode Linux" in cpu.read():
                raise Skip("a process may not have so many pages here") from None
        return ulp.mr(mr=number, len=piece, again=pieces, access=access.replace("o", ""))


@row("DDP-33")
def too_long_to_post(t):
    """A message may have 2^32-1 octets; a longer one completes with a local length error"""
    ulp, piece, pieces = t.ulp(), 4 << 20, 65
    listener, number = t.listener(ulp), None
    for op in ("write", "send"):
        for size in (1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 8):
            conn = t.passive(ulp=ulp, listener=listener, sge=16)
            if number is None:
                number = ulp.new()
                long_region(ulp, number, piece, pieces)
            each, rest = divmod(size, 16)
            check(each + rest <= piece * pieces, "the region is too short")
            conn.peer.slow()
            conn.post(op, wr=1, stag=1, raddr=0, sge=",".join(
                "%d:0:%d" % (number, each + (rest if turn == 15 else 0)) for turn in range(16)))
            if size >= 1 << 32:
                equal(conn.poll()[0][:2], (1, LOC_LEN_ERR), "a message of %d octets" % size)
                equal(conn.peer.segment().opcode, fpdu.TERM, "opcode after the post")
            else:
                got = [conn.peer.segment() for _ in range(100)]
                equal({seg.opcode for seg in got}, {fpdu.SEND if op == "send" else fpdu.WRITE}, "opcode")
                check(not any(seg.last for seg in got), "the message has ended")
                conn.peer.rst()
                equal(conn.poll()[0][:2], (1, FLUSH), "a message of %d octets, cut short" % size)


@row("RDMAP-11")
def longest_reads(t):
    """A Read of 2^32-1 octets begins, at the requester and at the responder"""
    longest, piece = (1 << 32) - 1, 4 << 20
    ulp = t.ulp()
    listener = t.listener(ulp)
    number = ulp.new()
    region = long_region(ulp, number, piece, (1 << 32) // piece, "lro")
    conn = t.passive(ulp=ulp, listener=listener, recvs=0)
    conn.post("read", wr=1, sge="%d:0:%d" % (number, longest), stag=9, raddr=5)
    sink, sink_offset, size, stag, source = conn.peer.segment().read_request()
    equal((sink, sink_offset, size, stag, source), (region["lkey"], region["addr"], longest, 9, 5), "Read Request")
    conn.peer.put_read(region["stag"], region["addr"], longest)
    data = t.rng.randbytes(1400)
    for at in range(0, 1400 * 100, 1400):
        conn.peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset + at, data, last=False))
        seg = conn.peer.segment()
        equal((seg.opcode, seg.last), (fpdu.READ_RESP, False), "Response")
    # no message tells that the last segment has been placed
    if not patience.until(lambda: ulp.dump(mr=number, off=1400 * 99, len=1400) == data, 30):
        raise Late("the last segment is not placed")
    conn.peer.rst()
    equal(conn.poll()[0][:2], (1, FLUSH), "a Read that is cut short")


@row("DDP-46")
def both_directions(t):
    """Both directions work as soon as the Reply arrives, even for a Send in the same TCP segment as the Reply"""
    conn = t.request()
    octets = fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, 1, b"at once"))
    conn.peer.accept(mpa.C, more=octets)
    conn.ulp.event(id=conn.id, want="ESTABLISHED")
    if conn.peer.own[17] >= 2:
        conn.peer.segment()
    equal((conn.poll()[0].len, conn.received(0, 7)), (7, b"at once"), "received")
    conn.post("send", wr=1, sge=sge(conn, 5))
    conn.peer.message(fpdu.SEND)


@row("DDP-84")
def receive_window(t):
    """The advertised TCP window has room for several segments, and its right edge never moves back"""
    if t.place.path != "direct" or not t.place.lossless:
        raise Skip("the peer sees the proxy's window")
    ulp = t.ulp()
    number, port = t.listener(ulp)
    capture = t.capture(port)
    conn = t.passive(ulp=ulp, listener=(number, port))
    emss = conn.peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    data = t.rng.randbytes(65536)
    for _ in range(12):
        conn.peer.put_write(conn.stag, conn.addr, data)
    conn.alive()
    time.sleep(0.1)
    packets = capture.stop()
    ours = [p for p in packets if p.src[1] == port]
    shift = next(stream.window_scale(p.options) for p in ours if p.flags & 2)
    edges = [(p.ack + (p.window << (0 if p.flags & 2 else shift)), p.window << shift) for p in ours
             if p.flags & 16 and not p.flags & 2]
    check(len(edges) > 5, "packets:", len(edges))
    for before, after in zip(edges, edges[1:]):
        check((after[0] - before[0] & 0xFFFFFFFF) < 1 << 31, "the window's right edge moved back:", before, after)
    check(min(w for _, w in edges) >= min(4 * emss, 65536), "window:", min(w for _, w in edges), emss)
