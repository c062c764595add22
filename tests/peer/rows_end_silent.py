# SPDX-License-Identifier: GPL-2.0
"""The device waits only for a limited time for peers that are silent, read nothing, or never
close."""
import subprocess
import threading
import time

import fpdu
from outcome import Skip, check, equal
from rows import row
from ulp import ERR, FLUSH, SUCCESS


def lost(conn, n):
    """
    Checks that the ULP gets DISCONNECTED, and that its n work requests complete, the last of them
    flushed.
    """
    conn.ulp.event(id=conn.id, want="DISCONNECTED")
    got = conn.poll(n)
    check({SUCCESS, FLUSH} >= {wc.status for wc in got} and got[-1].status == FLUSH, "statuses:", got[-1])
    equal(conn.query()["state"], ERR, "state")


def more_than_fits(t, times):
    """
    Returns a connection whose peer reads nothing. The device has posted "times" Sends of 64 KiB,
    which are more than the buffers on the path can take.
    """
    conn = t.passive()
    conn.peer.slow()
    for wr in range(times):
        conn.post("send", wr=wr, sge="%d:0:65536" % conn.mr)
    return conn


@row("MPA-88", alone=True)
def dead_while_idle(t):
    """The peer of an idle connection disappears: the device ends the connection (settings keepidle, user_timeout)"""
    if t.place.interface == "lo" or not t.place.lossless or t.place.path != "direct":
        raise Skip("needs a direct link without losses that is not the loopback interface")
    t.setting("keepidle", 1)
    t.setting("user_timeout", 2)
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
    """The peer's TCP answers, but its window stays closed: the device ends the connection (setting user_timeout)"""
    t.setting("user_timeout", 2)
    lost(more_than_fits(t, 100), 108)


@row("MPA-86", alone=True)
def endless_close(t):
    """In a graceful close the peer reads slowly, without end: the device ends the connection (setting user_timeout)"""
    t.setting("user_timeout", 4)
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
    """The device receives an FPDU longer than TCP's receive buffer can hold, and the FPDUs after it"""
    if t.place.path != "direct":
        raise Skip("the proxy's TCP sends the segments")
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
