# SPDX-License-Identifier: GPL-2.0
"""RFC 5040: operations, Terminate, ordering."""
import fpdu
from outcome import check, equal
from rows import row, stated
from ulp import SUCCESS, WC_RECV

stated("ulp", "documented: user guide, \"Order and completion\"", "RDMAP-59", "RDMAP-60")


@row("RDMAP-10", "RDMAP-33", "RDMAP-36", "RDMAP-41")
def read_response(t):
    """A Read Response of several segments has the sink STag and offset of the Request, and the right data"""
    conn = t.passive()
    data = t.rng.randbytes(9000)
    conn.ulp.set(mr=conn.mr, off=3, data=data)
    got = conn.peer.read(conn.stag, conn.addr + 3, len(data), 0xFEDCBA98, (1 << 64) - 9000)
    check(got == data, "data")


@row("RDMAP-5", "RDMAP-6")
def ignored_fields(t):
    """The device ignores reserved bits, and the Invalidate STag of Sends without Invalidate"""
    conn = t.passive()
    conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"one", rsv=3, stag=conn.stag))
    conn.peer.put(fpdu.untagged(fpdu.SEND_SE, 0, 2, b"two", stag=conn.stag))
    for wr, wc in enumerate(conn.poll(2)):
        equal((wc.wr, wc.status, wc.opcode, wc.len), (wr, SUCCESS, WC_RECV, 3), "completion")
    conn.alive()
