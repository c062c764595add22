# SPDX-License-Identifier: GPL-2.0
"""RFC 5041: headers, segments, queues, buffers, teardown."""
import fpdu
from outcome import check, equal
from rows import row, stated
from ulp import FLUSH, SUCCESS

stated("host", "XFRM (ESP and tunnels) below TCP", "DDP-82", "DDP-83")


def refused(t, code, ulpdu, ulp=None, hdr=None, **how):
    """What ulpdu(conn) gives is answered by a Terminate, and nothing comes of it."""
    conn = t.passive(ulp=ulp, **how)
    bad = ulpdu(conn)
    conn.peer.put(bad, fpdu.untagged(fpdu.SEND, 0, 1, b"later"))
    conn.peer.expect_term(*code, of=bad, hdr=hdr)
    conn.peer.expect_fin()
    conn.untouched()
    check(all(c.status == FLUSH for c in conn.poll(8)), "a Send was delivered")


@row("DDP-16")
def reserved_bits(t):
    """The reserved bits of DDP are not looked at"""
    conn = t.passive()
    conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"x", rsvd=15))
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"y", rsvd=15))
    equal(conn.poll()[0][1], SUCCESS, "status")
    equal(conn.memory(0, 1), b"x", "memory")


@row("DDP-18")
def versions(t):
    """Any DDP version but 1: 1/1/04 tagged, 1/2/06 untagged"""
    ulp = t.ulp()
    for dv in (0, 2, 3):
        refused(t, (1, 1, 4), lambda c, v=dv: fpdu.tagged(fpdu.WRITE, c.stag, c.addr, b"x", dv=v), ulp)
        refused(t, (1, 2, 6), lambda c, v=dv: fpdu.untagged(fpdu.SEND, 0, 1, b"x", dv=v), ulp)


@row("DDP-38")
def nothing_is_not_checked(t):
    """STag and offset of a Write of nothing are not checked"""
    conn = t.passive(first=False)
    conn.peer.put_write(0xDEADBEEF, 1 << 63)
    conn.alive()


@row("DDP-67", "DDP-68", "DDP-70", "DDP-71", "DDP-72")
def bounds(t):
    """A Write one octet before or behind the region: 1/1/01, nothing placed"""
    ulp = t.ulp()
    for offset, size in ((-1, 1), (-1, 9), (65536, 1), (65535, 2), (65000, 537)):
        refused(t, (1, 1, 1), lambda c, o=offset, n=size: fpdu.tagged(
            fpdu.WRITE, c.stag, c.addr + o, b"e" * n), ulp)


@row("DDP-63")
def message_numbers(t):
    """Message numbers that are not the next one: 1/2/03"""
    ulp = t.ulp()
    for msn in (0, 2, 3, 70000, 0xFFFFFFFF):
        refused(t, (1, 2, 3), lambda c, n=msn: fpdu.untagged(fpdu.SEND, 0, n, b"x"), ulp)


@row("DDP-13", "DDP-14", "DDP-26", "DDP-27", "DDP-29", "DDP-30", "DDP-41")
def send_segments(t):
    """Sends of many segments: L, MSN and MO of each"""
    conn = t.passive()
    for msn, size in enumerate((1, 5000, 0, 20000), 1):
        conn.post("send", wr=msn, sge="%d:0:%d" % (conn.mr, size) if size else None)
        offset = 0
        for seg in conn.peer.message(fpdu.SEND):
            equal((seg.queue, seg.msn, seg.offset), (0, msn, offset), "header")
            offset += len(seg.data)
        equal(offset, size, "size")
