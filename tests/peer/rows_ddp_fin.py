# SPDX-License-Identifier: GPL-2.0
"""RFC 5041 6.2.1: a peer sends data after its FIN. It uses the TCP of tcp.py."""
import fpdu
from outcome import equal
from rows import row
from rows_ddp_end import over
from rows_tcp import own
from tcp import ACK, FIN, PSH
from ulp import FLUSH, SUCCESS


@row("DDP-50")
def behind_fin(t):
    """
    The device does not take octets after the peer's FIN, whether they arrive before the FIN or after it

    The FIN is at the end of an FPDU, or within one.
    """
    for cut in (0, 10):
        for early in (False, True):
            conn = own(t)
            good = conn.tcp.write(conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"good")))
            more = conn.tcp.write(conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"more"),
                                                  fpdu.untagged(fpdu.SEND, 0, 2, b"more")))
            stop, octets = more + cut, bytes(conn.tcp.out)
            # the FIN has a sequence number, so the number of an octet after the FIN is one higher
            segments = [(good, octets[good:stop], ACK | FIN), (stop + 1, octets[stop:], ACK | PSH)]
            if cut:     # also send these octets with the sequence numbers that continue the stream
                segments.append((stop, octets[stop:], ACK | PSH))
            for at, data, flags in reversed(segments) if early else segments:
                conn.tcp.emit(at, data, flags)
            conn.tcp.out, conn.tcp.end, conn.tcp.whole = conn.tcp.out[:stop], stop, stop
            over(conn, -1 if cut else 0)
            equal([c.status for c in conn.poll(8)], [SUCCESS] + [FLUSH] * 7, "completions")
            equal(conn.received(0, 4), b"good", "the Send before the FIN")
            conn.untouched()
