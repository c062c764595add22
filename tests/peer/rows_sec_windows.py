# SPDX-License-Identifier: GPL-2.0
"""
RFC 5041 8.2, RFC 5042 6.1.1: memory windows. Verbs bind the STag of a window to one stream and to a
range of memory.
"""
import fpdu
from outcome import equal
from rows import row
from rows_ddp import event, refused
from rows_sec import write
from ulp import LOC_QP_OP_ERR, MW_BIND_ERR, QP_ACCESS_ERR, SUCCESS, WC_BIND_MW, WITH_INV


def window(conn, kind=2, off=4000, size=1000, access="wra", mw=None, **how):
    """
    Binds a window to a part of conn.mr; returns the window's number, STag and tagged offset. mw:
    the number of an existing window; without mw, makes a window of type kind (1 or 2).
    """
    number = mw or conn.ulp.new()
    if not mw:
        conn.ulp.mw(mw=number, type=kind)
    got = conn.post("bind", mw=number, mr=conn.mr, off=off, len=size, access=access, **how)
    done = conn.poll(1)[0]
    equal((done.status, done.opcode), (SUCCESS, WC_BIND_MW), "the bind")
    return number, got["stag"], 0 if "z" in access else conn.addr + off


def binds(t, ulp=None):
    """
    Returns a connection whose region permits windows. With the STag of the region itself, the
    peer may read, but not write.
    """
    return t.passive(ulp=ulp, access="lrb")


@row("DDP-75", "DDP-76", "SEC-6")
def one_stream_alone(t):
    """A window of type 2 works only on the stream that bound it; on other streams: Terminate 1/1/02, 0/1/03, 0/1/09"""
    ulp = t.ulp()
    mine = binds(t, ulp)
    _, stag, at = window(mine)

    def no(code, ulpdu):
        refused(t, code, lambda conn: ulpdu, ulp)
        mine.untouched()
    no((1, 1, 2), write(stag, at, b"theirs"))
    no((0, 1, 3), fpdu.read_request(1, 77, 0, 4, stag, at))
    no((0, 1, 3), fpdu.atomic(1, 0, 5, stag, at, 1))
    for opcode in (fpdu.SEND_INV, fpdu.SEND_SE_INV):
        no((0, 1, 9), fpdu.untagged(opcode, 0, 1, b"", stag=stag))
    # the device first checks the stream of a window, and then the range
    no((1, 1, 2), write(stag, at - 1, b"x"))
    no((1, 1, 0), write(stag ^ 1, at, b"x"))
    mine.peer.put(write(stag, at, b"mine"))
    mine.alive()
    equal(mine.memory(3999, 6), b"\xa5mine\xa5", "memory")


@row("DDP-76")
def domain_of_a_window(t):
    """A window of type 1 can be used on all streams of its domain; on other streams: Terminate 1/1/02"""
    ulp = t.ulp()
    mine, near = binds(t, ulp), t.passive(ulp=ulp)
    _, stag, at = window(mine, kind=1)
    for conn, data in ((mine, b"mine"), (near, b"near")):
        conn.peer.put(write(stag, at, data))
        conn.alive()
        equal(mine.memory(4000, 5), data + b"\xa5", "memory")
    refused(t, (1, 1, 2), lambda conn: write(stag, at, b"far"), ulp, domain=2)
    equal(mine.memory(4000, 5), b"near\xa5", "memory")


@row("DDP-78", "SEC-8")
def range_of_a_window(t):
    """One octet outside a window's range, but in its region: Terminate 1/1/01 for a Write, 0/1/01 for a Read"""
    ulp = t.ulp()
    for access in ("wr", "wrz"):
        for off, size in ((-1, 1), (0, 1001), (999, 2), (1000, 1)):
            def conn_and_window(make, access=access):
                conn = binds(t, ulp)
                _, stag, at = window(conn, access=access)
                return conn, make(stag, at)
            for code, make in (((1, 1, 1), lambda s, a, o=off, n=size: write(s, a + o, b"x" * n)),
                               ((0, 1, 1), lambda s, a, o=off, n=size: fpdu.read_request(1, 7, 0, n, s, a + o))):
                # skip offset -1 of a zero-based window: it would be the largest offset that exists
                if off < 0 and "z" in access:
                    continue
                conn, bad = conn_and_window(make)
                conn.peer.put(bad)
                conn.peer.expect_term(*code, of=bad)
                conn.untouched()


@row("DDP-78")
def offsets_of_a_window(t):
    """Offsets of a zero-based window begin at its first octet; its first and last octets are placed right"""
    conn = binds(t)
    _, stag, at = window(conn, access="wz")
    equal(at, 0, "first offset")
    conn.peer.put(write(stag, 0, b"a"), write(stag, 999, b"z"))
    conn.alive()
    equal((conn.memory(3999, 3), conn.memory(4998, 3)), (b"\xa5a\xa5", b"\xa5z\xa5"), "memory")


@row("SEC-9", "DDP-65")
def window_revoked(t):
    """A Write after a window was invalidated by either side, or bound with another key: Terminate 1/1/00"""
    ulp = t.ulp()
    for how in ("local", "peer", "key"):
        conn = binds(t, ulp)
        mw, stag, at = window(conn)
        conn.peer.put(write(stag, at, b"before"))
        conn.alive()
        if how == "peer":
            conn.peer.put(fpdu.untagged(fpdu.SEND_INV, 0, conn.peer.next(0), b"", stag=stag))
            done = conn.poll(1)[0]
            equal((done.status, done.flags & WITH_INV, done.imm), (SUCCESS, WITH_INV, stag), "receive")
        else:
            conn.post("inv", inv=stag)
            equal(conn.poll(1)[0].status, SUCCESS, "the invalidation")
        if how == "key":
            _, again, _ = window(conn, mw=mw)
            conn.peer.put(write(again, at, b"again!"))
            conn.alive()
        bad = write(stag, at, b"behind")
        conn.peer.put(bad)
        conn.peer.expect_term(1, 1, 0, of=bad)
        event(conn, QP_ACCESS_ERR)
        equal(conn.memory(4000, 7), (b"again!" if how == "key" else b"before") + b"\xa5", "memory")


@row("DDP-65")
def rights_of_a_window(t):
    """A Write or Read that the window does not permit: Terminate 0/1/02, whatever the region permits"""
    ulp = t.ulp()
    for access, make in (("r", lambda s, a: write(s, a, b"x")),
                         ("w", lambda s, a: fpdu.read_request(1, 7, 0, 1, s, a)),
                         ("wr", lambda s, a: fpdu.atomic(1, 0, 5, s, a, 1))):
        conn = t.passive(ulp=ulp, access="lwrab")
        _, stag, at = window(conn, access=access)
        bad = make(stag, at)
        conn.peer.put(bad)
        conn.peer.expect_term(0, 1, 2, of=bad)
        conn.untouched()


@row("SEC-25")
def type_1_stays(t):
    """A peer can't invalidate a window of type 1: Terminate 0/2/09; the program can't either: its request fails"""
    ulp = t.ulp()
    conn = binds(t, ulp)
    _, stag, at = window(conn, kind=1)
    refused(t, (0, 2, 9), lambda other: fpdu.untagged(fpdu.SEND_INV, 0, 1, b"", stag=stag), ulp)
    conn.peer.put(write(stag, at, b"still"))
    conn.alive()
    equal(conn.memory(4000, 6), b"still\xa5", "memory")
    conn.post("inv", inv=stag)
    equal(conn.poll(1)[0].status, LOC_QP_OP_ERR, "the invalidation")
    conn.peer.expect_term(0, 0, 0)


@row("SEC-26")
def no_window_there(t):
    """A bind to a range beyond the region completes with an error and ends the stream: Terminate 0/0/00"""
    conn = binds(t)
    conn.ulp.mw(mw=1)
    conn.post("bind", mw=1, mr=conn.mr, off=65000, len=1000, access="w")
    equal(conn.poll(1)[0].status, MW_BIND_ERR, "the bind")
    conn.peer.expect_term(0, 0, 0)
    conn.untouched()


@row("RDMAP-51")
def invalidated_in_order(t):
    """
    A Send with Invalidate between two Writes: the first Write is placed, the second: Terminate 1/1/00

    The completion of the Send contains the STag. The STag is valid until the last octet of the Send
    arrives.
    """
    ulp = t.ulp()
    for cut in (False, True):
        conn = binds(t, ulp)
        _, stag, at = window(conn)
        msn = conn.peer.next(0)
        parts = [fpdu.untagged(fpdu.SEND_INV, 0, msn, b"i" * 15, offset=off, last=bool(off), stag=stag) for off in (0, 15)]
        if not cut:
            parts = [fpdu.untagged(fpdu.SEND_INV, 0, msn, b"i" * 30, stag=stag)]
        bad = write(stag, at, b"behind")
        octets = conn.peer.frame(write(stag, at, b"before"), *parts)
        conn.peer.send(octets[:-1])
        conn.none(100)
        conn.peer.send(octets[-1:] + conn.peer.frame(bad))
        done = conn.poll(1)[0]
        equal((done.status, done.flags & WITH_INV, done.imm, done.len), (SUCCESS, WITH_INV, stag, 30), "receive")
        conn.peer.expect_term(1, 1, 0, of=bad)
        equal(conn.memory(4000, 7), b"before\xa5", "memory")
