# SPDX-License-Identifier: GPL-2.0
"""Peers that are silent, read nothing, or never end: the device does not wait for them for ever."""
import subprocess
import threading
import time

import fpdu
from outcome import Skip, check, equal
from rows import row
from ulp import ERR, FLUSH, SUCCESS


def lost(conn, n):
    """Expects that the ULP hears of the end, and that all its posts are flushed."""
    conn.ulp.event(id=conn.id, want="DISCONNECTED")
    got = conn.poll(n)
    check({SUCCESS, FLUSH} >= {wc.status for wc in got} and got[-1].status == FLUSH, "statuses:", got[-1])
    equal(conn.query()["state"], ERR, "state")


def more_than_fits(t, times):
    """A connection with more to send than its peer, which reads nothing, has room for."""
    conn = t.passive()
    conn.peer.slow()
    for wr in range(times):
        conn.post("send", wr=wr, sge="%d:0:65536" % conn.mr)
    return conn


@row("MPA-88", alone=True)
def dead_while_idle(t):
    """A peer that has gone without a word, while nothing is sent (settings keepalive, patience)"""
    if t.place.interface == "lo" or not t.place.lossless or t.place.path != "direct":
        raise Skip("packets can't be withheld here")
    t.setting("keepalive", 1)
    t.setting("patience", 2)
    conn = t.passive()
    words = ["tc", "qdisc", "replace", "dev", t.place.interface, "root", "netem", "loss", "100%"]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        raise Skip("no netem here")
    try:
        lost(conn, 8)
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", t.place.interface, "root"], check=False, capture_output=True)


@row("MPA-88", alone=True)
def closed_window(t):
    """A peer that answers, and takes nothing (setting patience)"""
    t.setting("patience", 2)
    lost(more_than_fits(t, 100), 108)


@row("MPA-86", alone=True)
def endless_close(t):
    """A peer that takes what comes before the end a little at a time, without end (setting patience)"""
    t.setting("patience", 4)
    conn = more_than_fits(t, 120)
    stop = threading.Event()

    def sip():
        try:
            while not stop.is_set() and conn.peer.sock.recv(8192):
                time.sleep(0.1)
        except OSError:
            pass
    thread = threading.Thread(target=sip)
    thread.start()
    try:
        conn.ulp.disconnect(id=conn.id)
        lost(conn, 128)
    finally:
        stop.set()
        conn.peer.rst()
        thread.join()


@row("MPA-7", alone=True)
def too_long_to_be_held(t):
    """An FPDU of more octets than TCP may keep here is received all the same, and what follows it"""
    if t.place.path != "direct":
        raise Skip("not the peer's connection")
    was = t.place.run("sysctl", "-n", "net.ipv4.tcp_rmem", capture_output=True, text=True).stdout.strip()
    t.place.run("sysctl", "-qw", "net.ipv4.tcp_rmem=4096 16384 32768")
    try:
        conn = t.passive()
        data = t.rng.randbytes(60000)
        for _ in range(2):
            conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, data))
            conn.alive()
            check(conn.memory(0, len(data)) == data, "memory")
            data = data[::-1]
    finally:
        t.place.run("sysctl", "-qw", "net.ipv4.tcp_rmem=" + was)
