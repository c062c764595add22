# SPDX-License-Identifier: GPL-2.0
"""RFC 5040: operations, Terminate, ordering."""
import fpdu
from outcome import check, equal
from rows import row, stated
from rows_ddp import refused
from ulp import SUCCESS, WC_RECV

stated("ulp", "documented: user guide", "RDMAP-59", "RDMAP-60", "RDMAP-61", "RDMAP-70")


@row("RDMAP-7", "RDMAP-86")
def opcodes(t):
    """Opcodes that are not there: 0/2/06"""
    ulp = t.ulp()
    for opcode in (12, 13, 14, 15):
        refused(t, (0, 2, 6), lambda c, o=opcode: fpdu.untagged(o, 0, 1, b"x"), ulp)


@row("RDMAP-10", "RDMAP-33", "RDMAP-36", "RDMAP-41")
def read_response(t):
    """A Read of several segments: sink STag and offset are those of the Request"""
    conn = t.passive()
    data = t.rng.randbytes(9000)
    conn.ulp.set(mr=conn.mr, off=3, data=data)
    got = conn.peer.read(conn.stag, conn.addr + 3, len(data), 0xFEDCBA98, (1 << 64) - 9000)
    check(got == data, "data")


@row("RDMAP-5", "RDMAP-6")
def ignored_fields(t):
    """Reserved bits, and an Invalidate STag where there is none to be, are not looked at"""
    conn = t.passive()
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"one", rsv=3, stag=conn.stag))
    conn.peer.put(fpdu.untagged(fpdu.SEND_SE, 0, 2, b"two", stag=conn.stag))
    for wr, wc in enumerate(conn.poll(2)):
        equal((wc.wr, wc.status, wc.opcode, wc.len), (wr, SUCCESS, WC_RECV, 3), "completion")
    conn.alive()


@row("RDMAP-89", "RDMAP-91", "RDMAP-92", "RDMAP-35", "RDMAP-83", "RDMAP-16")
def read_refused(t):
    """Reads that can't be: 0/1/00, 01, 04, with all headers"""
    ulp = t.ulp()
    for code, stag, offset, size in ((0, 0x100, 0, 4), (0, 1, 0, 4), (1, 0, -1, 4), (1, 0, 65533, 4),
                                     (1, 0, 0, 0xFFFFFFFF)):
        refused(t, (0, 1, code), lambda c, s=stag, o=offset, n=size: fpdu.read_request(
            1, 77, 0, n, c.stag ^ s, c.addr + o), ulp)
    refused(t, (0, 1, 4), lambda c: fpdu.read_request(1, 77, 0, 16, c.stag, (1 << 64) - 8), ulp)
