# SPDX-License-Identifier: GPL-2.0
"""
The peer sends a RST while the device sends data, or data and then a RST (RFC 5040 5.5, 6.2). The
peer uses the TCP of tcp.py.
"""
import subprocess

import fpdu
from case import Closing
from outcome import Skip, check, equal
from rows import row
from rows_tcp import own
from ulp import FLUSH, SUCCESS

SENDS = 400         # number of Sends of SIZE octets: far more than TCP takes with a closed window
SIZE = 2000
WRITES = 2500       # number of empty Writes: one run takes fewer, and all fit into the window


def stuck(conn, **how):
    """
    Closes the peer's window, and posts more Sends than the device's TCP takes. Returns the wr_ids
    of the Sends that are complete, because TCP has taken their octets.
    """
    conn.tcp.window = 0
    conn.tcp.acknowledge()
    conn.post("send", wr=1000, n=SENDS, sge="%d:0:%d" % (conn.mr, SIZE), **how)
    done = conn.poll(SENDS, ms=500, exact=False)
    check(len(done) < SENDS and all(wc.status == SUCCESS for wc in done), "before the RST:", done)
    return [wc.wr for wc in done]


def held_by_tcp(t, tcp):
    """Returns the number of octets that the device's TCP has taken, and that are not
    acknowledged."""
    words = t.place.run("ss", "-Htn", "dport", "=", ":%d" % tcp.port, capture_output=True, text=True).stdout.split()
    return int(words[2])


def none_succeeds(conn, begun, others, more=0):
    """
    Checks the Sends of stuck() that were not complete: at most "more" of them succeed; the rest,
    and all receives, are flushed. begun: the result of stuck(); others: the number of receives.
    """
    rest = conn.poll(SENDS - len(begun) + others)
    good = [wc.wr for wc in rest if wc.status != FLUSH]
    check(len(good) <= more, "Sends complete with success, but TCP has not all their octets:", good)


@row("RDMAP-55", "DDP-54")
def refused_fails(t):
    """A RST comes before TCP has taken all octets of a Send, which is copied into FPDUs: the Send is flushed"""
    conn = own(t, swr=512, depth=600)
    begun = stuck(conn)
    conn.tcp.send_rst()
    none_succeeds(conn, begun, 8)


@row("RDMAP-55", "DDP-54", alone=True)
def refused_by_reference_fails(t):
    """A RST comes before TCP has taken all octets of a Send with zero copy: the Send is flushed"""
    t.setting("crc", "off")
    t.setting("zerocopy", "always")
    conn = own(t, flags=0, swr=512, depth=600)
    begun = stuck(conn)
    # with zero copy, a Send that TCP has taken completes only when TCP releases its memory
    taken = held_by_tcp(t, conn.tcp) // SIZE
    conn.tcp.send_rst()
    none_succeeds(conn, begun, 8, taken)


@row("RDMAP-78")
def refused_fails_before_terminate(t):
    """The device ends the stream by a Terminate: a Send that TCP has not taken whole is flushed"""
    conn = own(t, swr=512, depth=600)
    begun = stuck(conn)
    # an FPDU with a wrong version of DDP
    conn.peer.put(b"\xff" + fpdu.tagged(fpdu.WRITE, 1, 0, b"")[1:])
    none_succeeds(conn, begun, 8)


def together(t):
    """Makes packets arrive together from now on, if the peer sends them without a pause."""
    dev = ["tc", "qdisc", "replace", "dev", t.place.interface, "root", "netem"]
    if subprocess.run(dev + ["slot", "300ms"], check=False, capture_output=True).returncode:
        raise Skip("no netem here")
    dev[2] = "del"
    t.keep(Closing(lambda: subprocess.run(dev[:-1], check=False, capture_output=True)))


@row("MPA-88", "RDMAP-55", alone=True)
def reset_behind_much(t):
    """RST after more data than the device takes in one run, while it sends: the Send before the RST is delivered"""
    conn = own(t, swr=512, depth=600)
    begun = stuck(conn)
    tcp = conn.tcp
    begin = tcp.write(conn.peer.frame(fpdu.tagged(fpdu.WRITE, 1, 0, b"")) * WRITES)
    tcp.write(conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), b"the last")))
    # leave a gap of 1000 octets: TCP passes on the octets after the gap when the gap is closed
    for at in range(begin + 1000, len(tcp.out), 1000):
        tcp.segment(at, min(at + 1000, len(tcp.out)))
    together(t)
    tcp.segment(begin, begin + 1000)
    tcp.send_rst()
    rest = conn.poll(SENDS - len(begun) + 8)
    equal([wc.status for wc in rest if wc.wr == 0], [SUCCESS], "the Send")
    equal(conn.received(0, 8), b"the last", "the Send")
    check(all(wc.status == FLUSH for wc in rest if wc.wr), "requests other than the Send: ", rest)
