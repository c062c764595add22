# SPDX-License-Identifier: GPL-2.0
"""RFC 5040 5.5 with zero copy: a Write completes, so that the upper layer may change the memory,
only when TCP no longer refers to this memory."""
import os
import subprocess

import fpdu
from outcome import Skip, check, equal
from rows import row
from ulp import FLUSH, SUCCESS

SIZE = 1200     # octets of one segment: TCP may delay a second one until an acknowledgment
RECVS = 8       # number of receives that t.passive() posts


class Plug:
    """Lets an interface lose all packets that it sends, until pull(). run: a function that runs a
    command on the side of the interface."""

    def __init__(self, run, name):
        self.run, self.name, self.on = run, name, False
        if run("tc", "qdisc", "replace", "dev", name, "root", "netem", "loss", "100%", capture_output=True).returncode:
            raise Skip("no netem here")
        self.on = True

    def pull(self):
        """Lets the interface send packets again."""
        if self.on:
            self.run("tc", "qdisc", "del", "dev", self.name, "root", capture_output=True)
        self.on = False

    close = pull


def no_acks(t):
    """Blocks the peer's interface, so that the device's side gets no acknowledgment; returns the
    Plug."""
    return t.keep(Plug(lambda *words, **how: subprocess.run(words, check=False, **how), t.place.interface))


def no_data(t):
    """Blocks the interface of the device's side, so that no packet of the device arrives; returns
    the Plug."""
    text = t.place.run("ip", "-o", "route", "get", t.place.here, capture_output=True, text=True).stdout
    return t.keep(Plug(t.place.run, text.split(" dev ")[1].split()[0]))


def prepare(t, zerocopy="always", **how):
    """Returns a connection without CRC, on a link with this value of the setting zerocopy; its
    "data" are random octets at the beginning of the memory."""
    if t.place.interface == "lo" or not t.place.lossless or t.place.path != "direct":
        raise Skip("needs a direct link without losses that is not the loopback interface")
    if os.path.exists("/sys/kernel/realtime") or "PREEMPT_RT" in os.uname().version:
        raise Skip("not with PREEMPT_RT")
    t.setting("crc", "off")
    t.setting("zerocopy", zerocopy)
    conn = t.passive(flags=0, **how)
    conn.data = t.rng.randbytes(SIZE)
    conn.ulp.set(mr=conn.mr, off=0, data=conn.data)
    return conn


def write(conn, wr, size=SIZE, **how):
    """Posts a Write with the wr_id wr; with zero copy, TCP gets references to its memory."""
    conn.post("write", wr=wr, sge="%d:0:%d" % (conn.mr, size), stag=0x100, raddr=0, **how)


def arrives(conn, data):
    """Checks that a Write with these data arrives at the peer."""
    check(b"".join(seg.data for seg in conn.peer.message(fpdu.WRITE)) == data, "data")


def unacknowledged(t, *wrs):
    """
    Posts Writes with these wr_ids while the device's side gets no acknowledgment. Checks that the
    first Write arrives, and that no Write completes. Returns the connection and the Plug.
    """
    conn = prepare(t)
    plug = no_acks(t)
    for wr in wrs:
        write(conn, wr)
    arrives(conn, conn.data)
    conn.none()
    return conn, plug


def all_complete(conn):
    """Checks the completions of three Writes (wr_ids 101, 102, 103) and of all receives: the first
    Write succeeds, everything else succeeds or is flushed, and the Writes complete in order."""
    got = conn.poll(3 + RECVS)
    writes = [wc for wc in got if wc.wr > 100]
    equal([wc.wr for wc in writes], [101, 102, 103], "order")
    check(writes[0].status == SUCCESS and {wc.status for wc in got} == {SUCCESS, FLUSH}, "statuses:", got)


@row("RDMAP-67", alone=True)
def copied(t):
    """Without zero copy a Write completes as soon as TCP has its octets, also if they are not acknowledged"""
    conn = prepare(t, "off")
    before = t.counters()["tx_zerocopy"]
    no_acks(t)
    write(conn, 1)
    equal([wc.wr for wc in conn.poll()], [1], "completion")
    arrives(conn, conn.data)
    equal(t.counters()["tx_zerocopy"], before, "octets given by reference")


@row("RDMAP-67", alone=True)
def probing(t):
    """A connection that began with tcp_mtu_probing=2 may probe for a larger MTU for its lifetime: data are copied"""
    name = "net.ipv4.tcp_mtu_probing"
    was = t.place.run("sysctl", "-n", name, capture_output=True, text=True).stdout.strip()
    try:
        t.place.run("sysctl", "-qw", name + "=2")
        probes = prepare(t)
    finally:
        t.place.run("sysctl", "-qw", name + "=" + was)
    before = t.counters()["tx_zerocopy"]
    write(probes, 1)
    arrives(probes, probes.data)
    equal([wc.wr for wc in probes.poll()], [1], "completion")
    equal(t.counters()["tx_zerocopy"], before, "octets given by reference")
    usual = prepare(t)
    write(usual, 1)
    arrives(usual, usual.data)
    check(t.counters()["tx_zerocopy"] > before, "another connection uses zero copy")


@row("RDMAP-67", "RDMAP-68", alone=True)
def acknowledged(t):
    """With zero copy a Write completes only after it was acknowledged, and later requests complete after it"""
    conn = prepare(t)
    before = t.counters()["tx_zerocopy"]
    plug = no_acks(t)
    write(conn, 1)
    conn.post("send", wr=2, sge="%d:0:10" % conn.mr, flags="i")
    arrives(conn, conn.data)
    conn.peer.message(fpdu.SEND)
    conn.none()
    equal(conn.query()["state"], 3, "state")
    plug.pull()
    equal([(wc.wr, wc.status) for wc in conn.poll(2)], [(1, SUCCESS), (2, SUCCESS)], "completions")
    check(t.counters()["tx_zerocopy"] >= before + SIZE, "octets given by reference:", t.counters()["tx_zerocopy"])
    conn.alive()


@row("RDMAP-67", alone=True)
def unsignalled(t):
    """The completion of a Send after unsignalled Writes comes only after the Writes were acknowledged"""
    conn = prepare(t)
    plug = no_acks(t)
    write(conn, 1, flags="u")
    conn.post("send", wr=2, sge="%d:0:1" % conn.mr, flags="i")
    arrives(conn, conn.data)
    conn.none()
    plug.pull()
    equal([(wc.wr, wc.status) for wc in conn.poll()], [(2, SUCCESS)], "completion")


@row("RDMAP-67", alone=True)
def deregistered(t):
    """A region is deregistered while TCP refers to its memory: the memory stays, and the Write arrives"""
    conn = prepare(t)
    plug = no_data(t)
    write(conn, 1)
    conn.ulp.dereg(mr=conn.mr)
    conn.none()
    plug.pull()
    arrives(conn, conn.data)
    equal([(wc.wr, wc.status) for wc in conn.poll()], [(1, SUCCESS)], "completion")


@row("RDMAP-68", alone=True)
def reset_takes_back(t):
    """The queue pair goes to the error state with unacknowledged Writes: all complete in order, the peer gets RST"""
    conn, plug = unacknowledged(t, 101, 102, 103)
    conn.ulp.modify(id=conn.id, state=6)
    all_complete(conn)
    plug.pull()
    equal(conn.peer.rest()[1], "rst", "end")


@row("RDMAP-68", alone=True)
def lost(t):
    """The peer resets the connection while Writes are unacknowledged: all requests complete, in order"""
    conn, plug = unacknowledged(t, 101, 102, 103)
    plug.pull()
    conn.peer.rst()
    conn.ulp.event(id=conn.id, want="DISCONNECTED")
    all_complete(conn)


@row("RDMAP-67", alone=True)
def destroyed(t):
    """The process of a queue pair ends while a Write is unacknowledged: the device resets the connection"""
    conn, plug = unacknowledged(t, 1)
    conn.ulp.close()
    plug.pull()
    equal(conn.peer.rest()[1], "rst", "end")


@row("RDMAP-68", alone=True)
def closed_in_order(t):
    """A graceful close: the Write completes, and FIN is sent, only after the Write's acknowledgment"""
    conn = prepare(t)
    plug = no_acks(t)
    write(conn, 1)
    conn.ulp.disconnect(id=conn.id)
    arrives(conn, conn.data)
    conn.none()
    conn.peer.expect_silence()
    plug.pull()
    equal(conn.poll()[0][:2], (1, SUCCESS), "completion")
    conn.peer.expect_fin()
