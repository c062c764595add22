# SPDX-License-Identifier: GPL-2.0
"""
RFC 5042: which memory a stream may access, and until when. rows_sec_res.py tests the use of
resources.
"""
import threading
import time

import fpdu
import patience
from outcome import check, equal
from rows import row, stated
from rows_ddp import refused
from ulp import SUCCESS

stated("deviation", "no peer can invalidate a region of a process, or a window that is bound to another stream; but a"
       " region of a fast registration is valid on all streams of its protection domain, and consumers in the kernel"
       " need that a peer may invalidate it", "SEC-25")


def region(conn, off, size, **how):
    """Registers another region, which is a part of conn.mr; returns its address, STag and
    number."""
    number = conn.ulp.new()
    got = conn.ulp.mr(mr=number, of=conn.mr, off=off, len=size, **how)
    return got["addr"], got["stag"], number


def write(stag, addr, data):
    """Returns an RDMA Write of one segment."""
    return fpdu.tagged(fpdu.WRITE, stag, addr, data)


@row("SEC-3")
def streams_apart(t):
    """An error on one stream ends that stream, and no other of the same process and protection domain"""
    ulp = t.ulp()
    good = t.passive(ulp=ulp)
    for ulpdu, code in ((write(1, 0, b"x"), (1, 1, 0)), (fpdu.untagged(15, 0, 1), (0, 2, 6)),
                        (fpdu.untagged(fpdu.SEND, 9, 1), (1, 2, 1))):
        bad = t.passive(ulp=ulp)
        bad.peer.put(ulpdu)
        bad.peer.expect_term(*code, of=ulpdu)
        good.alive()
    bad = t.passive(ulp=ulp)
    bad.peer.rst()
    good.peer.put_send(b"still here")
    equal(good.poll()[0].status, SUCCESS, "status")
    good.alive()


@row("SEC-4", "SEC-5")
def domains(t):
    """Access to a region of another protection domain: Terminate 1/1/02 (Write), 0/1/03 (Read), 0/1/09 (invalidate)"""
    ulp = t.ulp()
    other = t.passive(ulp=ulp, domain=1)
    at, stag = other.addr, other.stag

    def no(code, ulpdu):
        refused(t, code, lambda conn: ulpdu, ulp, domain=2)
        other.untouched()
    no((1, 1, 2), write(stag, at, b"mine"))
    no((0, 1, 3), fpdu.read_request(1, 77, 0, 4, stag, at))
    # the device first checks the domain of the region, and then whether invalidation is allowed
    for opcode in (fpdu.SEND_INV, fpdu.SEND_SE_INV):
        no((0, 1, 9), fpdu.untagged(opcode, 0, 1, b"", stag=stag))
    other.peer.put(write(stag, at, b"mine"))
    other.alive()
    equal(other.memory(0, 5), b"mine\xa5", "memory")


@row("SEC-5")
def domain_before_bounds(t):
    """The device checks a region's protection domain before its bounds: Terminate 1/1/02 and 0/1/03"""
    ulp = t.ulp()
    other = t.passive(ulp=ulp, domain=1)
    addr, stag = other.addr, other.stag
    refused(t, (1, 1, 2), lambda conn: write(stag, addr + (1 << 30), b"x"), ulp, domain=2)
    refused(t, (0, 1, 3), lambda conn: fpdu.read_request(1, 7, 0, 9, stag, addr - 5), ulp, domain=2)
    other.untouched()


@row("SEC-25")
def shared_region(t):
    """A peer can't invalidate a region that streams of one domain share: Terminate 0/2/09"""
    ulp = t.ulp()
    one = t.passive(ulp=ulp)
    stag = one.stag
    for opcode, wrong in ((fpdu.SEND_INV, 0), (fpdu.SEND_SE_INV, 0), (fpdu.SEND_INV, 1), (fpdu.SEND_INV, 256)):
        refused(t, (0, 2, 9), lambda conn, o=opcode, w=wrong: fpdu.untagged(o, 0, 1, b"", stag=stag ^ w), ulp)
        one.alive()
    one.peer.put(write(stag, one.addr, b"as before"))
    one.alive()
    equal(one.memory(0, 9), b"as before", "memory")


OFF, SIZE = 1001, 9003      # a part of memory that is not aligned, and that crosses page borders


@row("SEC-8")
def write_bounds(t):
    """Writes up to each bound of a region are placed; a Write one octet beyond: Terminate 1/1/01"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp)
    addr, stag, _ = region(conn, OFF, SIZE, access="lwr")
    page = -addr % 4096
    inside = [(0, 1), (SIZE - 1, 1), (page - 1, 1), (page, 1), (page - 3, 7), (page + 4095, 3), (SIZE - 900, 900)]
    shadow = bytearray(b"\xa5" * len(conn.memory()))
    for turn, (at, size) in enumerate(inside):
        shadow[OFF + at:OFF + at + size] = bytes([turn]) * size
        conn.peer.put(write(stag, addr + at, bytes([turn]) * size))
    whole = t.rng.randbytes(SIZE)
    conn.alive()
    equal(conn.memory(), bytes(shadow), "memory")
    conn.peer.put_write(stag, addr, whole)
    conn.alive()
    shadow[OFF:OFF + SIZE] = whole
    equal(conn.memory(), bytes(shadow), "memory")
    for at, size in ((-1, 1), (-1, 2), (SIZE, 1), (SIZE - 1, 2), (SIZE - 700, 701), (-page, 4), (4096 * 4, 1)):
        def bad(c, at=at, size=size):
            addr, stag, _ = region(c, OFF, SIZE, access="lwr")
            return write(stag, addr + at, b"e" * size)
        refused(t, (1, 1, 1), bad, ulp)


@row("SEC-8")
def later_segment(t):
    """The last segment of a Write leaves the region: Terminate 1/1/01; only the segments before it are placed"""
    conn = t.passive()
    addr, stag, _ = region(conn, OFF, SIZE, access="lwr")
    parts = list(fpdu.segments(fpdu.WRITE, stag, addr, b"w" * (SIZE + 1), 1000))
    conn.peer.put(*parts)
    conn.peer.expect_term(1, 1, 1, of=parts[-1])
    conn.peer.expect_fin()
    memory = conn.memory()
    equal(memory[:OFF], b"\xa5" * OFF, "memory before the region")
    equal(memory[OFF:OFF + 9000], b"w" * 9000, "the segments before the last one")
    equal(set(memory[OFF + 9000:]), {0xA5}, "memory after the segments")


@row("SEC-8")
def read_bounds(t):
    """Reads up to each bound of a region are answered; a Read one octet beyond: Terminate 0/1/01"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp)
    data = t.rng.randbytes(len(conn.memory()))
    ulp.set(mr=conn.mr, off=0, data=data)
    addr, stag, _ = region(conn, OFF, SIZE, access="r")
    for at, size in ((0, 1), (SIZE - 1, 1), (0, SIZE), (-addr % 4096 - 2, 4)):
        equal(conn.peer.read(stag, addr + at, size), data[OFF + at:OFF + at + size], "read")
    for at, size in ((-1, 1), (SIZE, 1), (SIZE - 1, 2), (0, SIZE + 1), (-1, SIZE + 1)):
        def bad(c, at=at, size=size):
            addr, stag, _ = region(c, OFF, SIZE, access="lr")
            return fpdu.read_request(1, 77, 0, size, stag, addr + at)
        refused(t, (0, 1, 1), bad, ulp)


@row("SEC-8")
def response_bounds(t):
    """A Read Response that leaves the Read's sink: Terminate 1/1/01; with another STag: 1/1/00; nothing is placed"""
    ulp = t.ulp()
    for stag, at, size, code in ((0, -1, 1, 1), (0, 100, 1, 1), (0, 0, 101, 1), (0, 1, 100, 1), (0, -50, 100, 1),
                                 (1, 0, 100, 0), (256, 0, 100, 0)):
        conn = t.passive(ulp=ulp)
        conn.post("read", wr=1, sge="%d:500:100" % conn.mr, stag=5, raddr=77)
        sink, to, asked, _, _ = conn.peer.segment().read_request()
        equal(asked, 100, "size")
        bad = fpdu.tagged(fpdu.READ_RESP, sink ^ stag, to + at, b"r" * size)
        conn.peer.put(bad)
        conn.peer.expect_term(1, 1, code, of=bad)
        conn.untouched()
        check(conn.poll()[0].status != SUCCESS, "the Read succeeded")


@row("SEC-9")
def revoked(t):
    """A Write (or its second segment) to a deregistered region: Terminate 1/1/00; a Read: Terminate 0/1/00"""
    ulp = t.ulp()

    def gone(conn):
        addr, stag, number = region(conn, 0, 4096, access="lwr")
        conn.peer.put(write(stag, addr, b"before"))
        conn.alive()
        equal(conn.memory(0, 6), b"before", "memory")
        ulp.dereg(mr=number)
        ulp.fill(mr=conn.mr, len=6, byte=0xA5)
        return addr, stag

    refused(t, (1, 1, 0), lambda c: write(gone(c)[1], c.addr, b"late"), ulp)
    refused(t, (0, 1, 0), lambda c: fpdu.read_request(2, 77, 0, 4, gone(c)[1], c.addr), ulp)
    conn = t.passive(ulp=ulp)
    addr, stag, number = region(conn, 0, 4096, access="lwr")
    first, last = fpdu.segments(fpdu.WRITE, stag, addr, b"s" * 2000, 1000)
    octets = conn.peer.frame(first, last)
    conn.peer.send(octets[:1500])
    # the first segment has been sent whole, and of the second segment only the beginning
    wait = patience.Wait(30)
    while not ulp.same(mr=conn.mr, off=0, len=1000, byte=ord("s"))["same"]:
        wait.check("the first segment")
        time.sleep(0.01)
    ulp.dereg(mr=number)
    conn.peer.send(octets[1500:])
    conn.peer.expect_term(1, 1, 0, of=last)
    check(ulp.same(mr=conn.mr, off=1000, len=1000, byte=0xA5)["same"], "placed after revocation")


@row("SEC-9")
def revoked_at_full_rate(t):
    """A region is deregistered during a flood of Writes: no octet changes after deregistration has returned"""
    ulp = t.ulp()
    for _ in range(4):
        conn = t.passive(ulp=ulp)
        addr, stag, number = region(conn, 0, 32768, access="lwr")
        block = conn.peer.frame(*fpdu.segments(fpdu.WRITE, stag, addr, b"f" * 32768, 1400))
        block += conn.peer.frame(*fpdu.segments(fpdu.WRITE, stag, addr, b"g" * 32768, 1400))
        stop = threading.Event()

        def flood(conn=conn, block=block, stop=stop):
            try:
                while not stop.is_set():
                    conn.peer.sock.sendall(block)
            except OSError:
                pass
        thread = threading.Thread(target=flood)
        thread.start()
        try:
            wait = patience.Wait(30)
            while conn.memory(0, 1) == b"\xa5":
                wait.check("nothing arrives")
            ulp.dereg(mr=number)
            ulp.fill(mr=conn.mr, len=65536, byte=0xC3)
            seg = conn.peer.segment()
            equal((seg.opcode, seg.term()), (fpdu.TERM, (1, 1, 0)), "Terminate")
            check(ulp.same(mr=conn.mr, byte=0xC3)["same"], "placed after revocation")
        finally:
            stop.set()
            conn.peer.rst()
            thread.join()


@row("SEC-14")
def write_only(t):
    """Reads without the read right (but zero-length Reads work), Writes without the write right: Terminate 0/1/02"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp, access="lw")
    equal(conn.peer.read(conn.stag, conn.addr, 0), b"", "Read of nothing")
    conn.peer.put(write(conn.stag, conn.addr, b"w"))
    equal(conn.peer.read(conn.stag, conn.addr + 65536, 0), b"", "Read of nothing")
    equal(conn.memory(0, 2), b"w\xa5", "memory")
    for access in ("lw", "l"):
        refused(t, (0, 1, 2), lambda c: fpdu.read_request(1, 77, 0, 1, c.stag, c.addr), ulp, access=access)
    for access in ("lr", "l", "r"):
        refused(t, (0, 1, 2), lambda c: write(c.stag, c.addr, b"w"), ulp, access=access)


@row("SEC-7")
def stags(t):
    """STags are spread over 32 bits, have no pattern, and are not reused soon"""
    conn = t.passive()
    n, got = 1000, []
    for turn in range(n):
        number = conn.ulp.new()
        got.append(conn.ulp.mr(mr=number, of=conn.mr, len=64, access="l")["stag"])
        if turn % 2:
            conn.ulp.dereg(mr=number)
    # Among 1000 random numbers of 32 bits, two are equal in one of about 8000 runs. The bounds of
    # the other checks are at least nine standard deviations from the mean.
    check(len(set(got)) >= n - 1, "repeated:", n - len(set(got)))
    for bit in range(32):
        ones = sum(s >> bit & 1 for s in got)
        check(350 < ones < 650, "bit %d is set %d times of %d" % (bit, ones, n))
    check(len({s & 0xFF for s in got}) > 200, "key octets:", len({s & 0xFF for s in got}))
    steps = [(b - a) & 0xFFFFFFFF for a, b in zip(got, got[1:])]
    near = sum(min(s, (1 << 32) - s) < 1 << 20 for s in steps)
    check(near < 12, "%d of %d lie near the one before" % (near, n))
    check(len(set(steps)) >= n - 3, "steps repeat")
    check(all(s >> 8 for s in got), "an STag has index 0")
