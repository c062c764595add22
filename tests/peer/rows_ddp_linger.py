# SPDX-License-Identifier: GPL-2.0
"""
RFC 5041 6.2.1, RFC 5044 7.1.2: the device waits only for a limited time for the end of a
connection. The tests check that the connection ends; they do not check how long this takes.
"""
import socket
import threading
import time

import fpdu
import mpa
import patience
from outcome import Skip, check, equal
from rows import row
from rows_ddp_end import over
from ulp import ERR, FLUSH, SUCCESS

CLOSED = 7      # TCP_CLOSE, a state of TCP


@row("DDP-57", "MPA-88")
def never_closed(t):
    """The peer never answers a graceful close: the upper layer gets the event of the end, its work is flushed"""
    conn = t.passive()
    conn.ulp.disconnect(id=conn.id)
    conn.peer.expect_fin()
    over(conn)
    equal(conn.query()["state"], ERR, "state")
    equal([c.status for c in conn.poll(8)], [FLUSH] * 8, "receive buffers")


@row("DDP-48", "DDP-52")
def closed_late(t):
    """A graceful close to a slow peer: all posted Sends arrive, though this takes longer than the wait for a FIN"""
    if not t.place.lossless:
        raise Skip("the speed of reading needs a path without losses")
    conn = t.passive()
    conn.peer.slow()
    conn.post("send", wr=0, n=60, sge="%d:0:65536" % conn.mr)
    conn.ulp.disconnect(id=conn.id)
    for turn in range(60):
        equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), 65536, "a message")
        time.sleep(0.15)
    conn.peer.expect_fin()
    equal([c.status for c in conn.poll(60)], [SUCCESS] * 60, "completions")
    conn.peer.fin()
    over(conn)


@row("DDP-57", "MPA-88", alone=True)
def never_read(t):
    """A graceful close to a peer that reads nothing: the connection ends by force, unsent work is flushed"""
    t.setting("user_timeout", 3)
    conn = t.passive()
    conn.peer.slow()
    conn.post("send", wr=100, n=100, sge="%d:0:65536" % conn.mr)
    conn.ulp.disconnect(id=conn.id)
    over(conn)
    equal(conn.query()["state"], ERR, "state")
    got = conn.poll(108)
    check(got[-1].status == FLUSH and {c.status for c in got} <= {SUCCESS, FLUSH}, "completions:", got[-1])
    equal(sorted(c.wr for c in got if c.wr >= 100), list(range(100, 200)), "send queue")


@row("DDP-55", "MPA-88")
def terminated_never_closed(t):
    """A peer that never closes after a Terminate, silent or sending for ever: the device ends the connection"""
    if t.place.path == "proxy":
        raise Skip("the proxy reads, and hides the silent peer")
    silent, talks, ended = t.passive(), t.passive(), threading.Event()
    for conn in (silent, talks):
        conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr - 1, b"bad"))
        conn.peer.expect_term(1, 1, 1, hdr="any")
        conn.peer.expect_fin()
    threading.Thread(target=talk, args=(talks.peer, ended), daemon=True).start()
    for conn in (silent, talks):
        over(conn)
        equal(conn.query()["state"], ERR, "state")
    check(patience.until(ended.is_set, 60), "the connection is still open")


def talk(peer, ended):
    """Sends octets again and again until sending fails; then sets the threading.Event ended."""
    try:
        while True:
            peer.sock.send(b"?" * 100)
            time.sleep(0.1)
    except OSError:
        ended.set()


@row("MPA-63", "SEC-31")
def rejected_never_closed(t):
    """A rejected peer, silent or sending, never closes: the device resets the connection, the listener still works"""
    if t.place.path == "proxy":
        raise Skip("the proxy reads, and hides the silent peer")
    ulp = t.ulp()
    number, port = t.listener(ulp)
    peers = [t.connect(port) for _ in range(4)]
    silent = [t.connect(port) for _ in range(4)]
    for peer in peers + silent:
        peer.request()
        ulp.reject(id=ulp.event(id=number, want="CONNECT_REQUEST")["new"])
        check(peer.reply().flags & mpa.R, "R")
        peer.expect_fin()
    ended = [threading.Event() for _ in peers]
    for peer, end in zip(peers, ended):
        threading.Thread(target=talk, args=(peer, end), daemon=True).start()
    for end in ended:
        check(patience.until(end.is_set, 60), "a connection is still open")
    wait = patience.Wait(60)
    for peer in silent if t.place.lossless else []:
        # poll the state of TCP, because recv() does not report a RST that arrives after a FIN
        while peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != CLOSED:
            wait.check("a connection to a silent peer is still open")
            time.sleep(0.05)
    t.passive(ulp=ulp, listener=(number, port)).alive()
