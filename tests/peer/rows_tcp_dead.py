# SPDX-License-Identifier: GPL-2.0
"""
The path loses all packets for ten seconds, and then works again. In the states of startup, the
tests check that the connection is made, or that the reject arrives. In the later states of an
endpoint (proto/cmfsm.c) and of a queue pair (proto/qpfsm.c), and in both roles, the tests check
that no message is lost. The peer uses the TCP of tcp.py.
"""
import time
from concurrent.futures import ThreadPoolExecutor

import fpdu
import mpa
from case import Conn
from outcome import Fail, Late, check, equal, is_late
from rows import row
from rows_tcp_lost import SENDS, SIZE, stuck
from ulp import FLUSH, SUCCESS

DEAD = 10           # seconds for which the path loses all packets
RECVS = 8           # number of receives that a connection has
LONG = 60           # seconds to wait for an event that is late

# ---- the path ----


def cut(tcp):
    """Makes the peer's TCP lose all received packets from now on."""
    tcp.loses = lambda packet: True


def back(tcp):
    """Waits for DEAD seconds, then repairs the path."""
    end = time.monotonic() + DEAD
    while time.monotonic() < end:
        tcp.pump(1)
    tcp.loses = lambda packet: False


def lost_at_first(which):
    """
    Returns a function for Tcp.loses. It drops packets for which which(packet) is true, for DEAD
    seconds from the first such packet on.
    """
    since = []

    def loses(packet):
        if which(packet):
            since.append(time.monotonic())
        return bool(since) and which(packet) and time.monotonic() < since[0] + DEAD
    return loses


def read_on(conn):
    """Opens the peer's window again."""
    conn.tcp.window = 65535
    conn.tcp.acknowledge()


def probed_rarely(tcp):
    """
    Waits until the device's TCP has probed the closed window after a pause of six seconds. TCP
    doubles the pauses, so the next pause is longer than DEAD seconds.
    """
    while tcp.pump(6):
        pass
    check(tcp.pump(LONG), "TCP does not probe the closed window")
    tcp.settle()


# ---- the states of a queue pair, and of an endpoint that has a queue pair ----


def begin(make, **how):
    """Returns a connection in full operation; make: t.passive or t.active."""
    conn = make(recvs=RECVS, **how)
    conn.tcp = conn.peer.sock
    conn.tcp.settle()
    return conn


def begin_stuck(make):
    """
    Returns a connection with a closed window and more Sends than the device's TCP takes, and the
    wr_ids of the Sends that are complete.
    """
    conn = begin(make, swr=512, depth=600)
    return conn, stuck(conn)


def one_message(conn):
    """Checks that the Send of post_one() arrives at the peer."""
    equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND, LONG)), 100, "octets of the Send")


def post_one(conn):
    """Lets the device post a Send of 100 octets. The Send completes immediately, because TCP
    takes its octets."""
    conn.post("send", wr=1000, sge="%d:0:100" % conn.mr)
    wc = conn.poll()[0]
    equal((wc.wr, wc.status), (1000, SUCCESS), "completion of the Send")


def send_late(conn):
    """Sends a Send from the peer."""
    conn.peer.put_send(b"late")


def late_received(wc):
    """Checks the completion of the receive for the Send of send_late()."""
    equal((wc.wr, wc.status, wc.len), (0, SUCCESS, 4), "completion of the receive")


def takes_one(conn):
    """Sends a Send from the peer, and checks that the device receives it."""
    send_late(conn)
    late_received(conn.poll()[0])


def all_messages(conn):
    """Checks that all Sends of begin_stuck() arrive, and that FIN follows."""
    for _ in range(SENDS):
        equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND, LONG)), SIZE, "octets of a Send")
    conn.peer.expect_fin(LONG)


def all_complete(conn, begun, recvs):
    """
    Checks that all Sends of begin_stuck() and recvs receives complete. begun: the wr_ids of the
    Sends that were complete before. Returns the completions of the receives.
    """
    got = conn.poll(SENDS - len(begun) + recvs, ms=LONG * 1000)
    equal([wc.status for wc in got if wc.wr >= 1000], [SUCCESS] * (SENDS - len(begun)), "Sends")
    return [wc for wc in got if wc.wr < 1000]


def ended(conn):
    """Sends the peer's FIN, and checks that the consumer gets DISCONNECTED."""
    conn.peer.fin()
    conn.ulp.event(id=conn.id, want="DISCONNECTED", ms=LONG * 1000)


def in_rts(make):
    """RTS: a Send is lost"""
    conn = begin(make)
    cut(conn.tcp)
    post_one(conn)
    back(conn.tcp)
    one_message(conn)
    takes_one(conn)


def in_half(make):
    """HALF: the peer's FIN has arrived, Sends are not sent yet, and the window is closed"""
    conn, begun = begin_stuck(make)
    conn.tcp.send_fin()
    conn.tcp.settle()
    cut(conn.tcp)
    back(conn.tcp)
    read_on(conn)
    all_messages(conn)
    all_complete(conn, begun, RECVS)


def in_drain(make):
    """DRAIN: the consumer closes, and Sends are not sent yet"""
    conn, begun = begin_stuck(make)
    conn.ulp.disconnect(id=conn.id)
    cut(conn.tcp)
    back(conn.tcp)
    read_on(conn)
    all_messages(conn)
    # at once: the device waits only some seconds for the peer's FIN
    send_late(conn)
    late_received(all_complete(conn, begun, 1)[0])
    ended(conn)


def in_closing(make):
    """CLOSING: a Send and FIN are lost"""
    conn = begin(make)
    cut(conn.tcp)
    post_one(conn)
    conn.ulp.disconnect(id=conn.id)
    back(conn.tcp)
    one_message(conn)
    conn.peer.expect_fin(LONG)
    takes_one(conn)
    ended(conn)


def in_closing_acknowledged(make):
    """
    CLOSING: the device's FIN has been acknowledged, and a Send of the peer comes when the path
    works again
    """
    conn = begin(make)
    post_one(conn)
    conn.ulp.disconnect(id=conn.id)
    one_message(conn)
    conn.peer.expect_fin(LONG)
    cut(conn.tcp)
    back(conn.tcp)
    takes_one(conn)
    ended(conn)


def bad(conn):
    """Sends an FPDU with a wrong version from the peer; the device must answer with a Terminate."""
    at = conn.tcp.write(conn.peer.frame(b"\xff" + fpdu.tagged(fpdu.WRITE, 1, 0, b"")[1:]))
    conn.tcp.segment(at, len(conn.tcp.out))
    conn.tcp.whole = len(conn.tcp.out)


def terminated(conn):
    """Checks that a Terminate and FIN arrive, possibly after some Sends."""
    seg = conn.peer.segment(LONG)
    while seg.opcode == fpdu.SEND:
        seg = conn.peer.segment(LONG)
    equal(seg.opcode, fpdu.TERM, "opcode after the Sends")
    conn.peer.expect_fin(LONG)


def terminates_late(conn):
    """Makes the device send a Terminate, whose octets wait for the window while the path is dead."""
    bad(conn)
    conn.tcp.settle()
    cut(conn.tcp)
    back(conn.tcp)
    read_on(conn)
    terminated(conn)


def in_terminate_pending(make):
    """TERMINATE: the window is closed, and the Terminate waits after the octets that TCP has"""
    conn, _ = begin_stuck(make)
    terminates_late(conn)


def in_terminate_pending_unprobed(make):
    """
    TERMINATE: the window has been closed for so long that the device's TCP does not probe it while
    the path is dead, and the Terminate waits after the octets that TCP has
    """
    conn, _ = begin_stuck(make)
    probed_rarely(conn.tcp)
    terminates_late(conn)


def in_closing_unprobed(make):
    """
    CLOSING: the window has been closed for so long that the device's TCP does not probe it while
    the path is dead; a Send and FIN wait for the window
    """
    conn = begin(make)
    conn.tcp.window = 0
    conn.tcp.acknowledge()
    post_one(conn)
    probed_rarely(conn.tcp)
    conn.ulp.disconnect(id=conn.id)
    cut(conn.tcp)
    back(conn.tcp)
    read_on(conn)
    one_message(conn)
    conn.peer.expect_fin(LONG)
    takes_one(conn)
    ended(conn)


def in_terminate(make):
    """TERMINATE: a Send, the Terminate and FIN are lost"""
    conn = begin(make)
    cut(conn.tcp)
    post_one(conn)
    bad(conn)
    back(conn.tcp)
    one_message(conn)
    terminated(conn)


def in_linger(make):
    """
    LINGER: the queue pair is destroyed after a close; FIN, and a Send before the close, are lost
    """
    conn = begin(make)
    cut(conn.tcp)
    post_one(conn)
    conn.ulp.disconnect(id=conn.id)
    conn.ulp.destroy(id=conn.id)
    back(conn.tcp)
    one_message(conn)
    conn.peer.expect_fin(LONG)


def in_closed(make):
    """CLOSED: both sides have closed; the device's FIN, and a Send before it, are lost"""
    conn = begin(make)
    cut(conn.tcp)
    post_one(conn)
    conn.tcp.send_fin()
    conn.ulp.event(id=conn.id, want="DISCONNECTED")
    equal([wc.status for wc in conn.poll(RECVS)], [FLUSH] * RECVS, "receives")
    back(conn.tcp)
    one_message(conn)
    conn.peer.expect_fin(LONG)


STATES = (in_rts, in_half, in_drain, in_closing, in_closing_acknowledged, in_terminate_pending,
          in_terminate_pending_unprobed, in_closing_unprobed, in_terminate, in_linger, in_closed)


# ---- the states of startup ----


def to_server(t, which):
    """Lets the device connect, and checks that the connection works. which: as in
    lost_at_first()."""
    sock, port = t.server()
    sock.tcp.loses = lost_at_first(which)
    works(t.active(server=(sock, port)))


def in_connecting(t):
    """CONNECTING: the device's SYN is lost"""
    to_server(t, lambda packet: True)


def in_wait_rep(t):
    """WAIT_REP: the device's Request is lost"""
    to_server(t, lambda packet: packet.payload)


def in_wait_rep_behind_request(t):
    """WAIT_REP: the peer's Reply is late"""
    conn = t.request()
    time.sleep(DEAD)
    conn.peer.accept()
    conn.ulp.event(id=conn.id, want="ESTABLISHED", ms=LONG * 1000)


def works(conn):
    """Checks that a Send works in both directions."""
    conn.tcp = conn.peer.sock
    post_one(conn)
    one_message(conn)
    takes_one(conn)


def requested(t, delay):
    """
    Connects to a listener of the device's side, and sends the Request after a delay in seconds.
    Returns the connection, which the consumer has not yet accepted.
    """
    ulp = t.ulp()
    number, port = t.listener(ulp)
    peer = t.connect(port)
    time.sleep(delay)
    peer.request()
    event = ulp.event(id=number, want="CONNECT_REQUEST", ms=LONG * 1000)
    conn = Conn(peer, ulp, event["new"])
    t.equip(conn)
    return conn


def accepted(conn):
    """Checks that the Reply arrives, and that the connection works."""
    conn.peer.reply(LONG)
    conn.ulp.event(id=conn.id, want="ESTABLISHED")
    conn.peer.put_write()
    works(conn)


def in_wait_req(t):
    """WAIT_REQ: the peer's Request is late"""
    conn = requested(t, DEAD)
    conn.ulp.accept(id=conn.id, ird=4, ord=4)
    accepted(conn)


def in_wait_ulp(t):
    """WAIT_ULP: the consumer accepts, and the Reply is lost"""
    conn = requested(t, 0)
    cut(conn.peer.sock)
    conn.ulp.accept(id=conn.id, ird=4, ord=4)
    back(conn.peer.sock)
    accepted(conn)


def in_linger_rejected(t):
    """LINGER: the consumer rejects, and Reply and FIN are lost"""
    conn = requested(t, 0)
    cut(conn.peer.sock)
    conn.ulp.reject(id=conn.id)
    back(conn.peer.sock)
    check(conn.peer.reply(LONG).flags & mpa.R, "the Reply has no R")
    conn.peer.expect_fin(LONG)


STARTUP = (in_connecting, in_wait_rep, in_wait_rep_behind_request, in_wait_req, in_wait_ulp, in_linger_rejected)


def together(scenes, arg):
    """Runs all functions in scenes, with the argument arg, at the same time; fails if one of them
    fails."""
    with ThreadPoolExecutor(len(scenes)) as pool:
        results = [(scene, pool.submit(scene, arg)) for scene in scenes]
    errors = [(scene, result.exception()) for scene, result in results if result.exception()]
    if errors:
        kind = Late if all(is_late(error) for _, error in errors) else Fail
        raise kind("\n".join("%s: %s" % (scene.__doc__, error) for scene, error in errors))


@row("DDP-48", "DDP-52", "DDP-55", "MPA-88")
def dead_to_responder(t):
    """A path that is dead for ten seconds, in each state of a responder's connection: nothing is lost"""
    t.own_tcp()
    together(STATES, t.passive)


@row("DDP-48", "DDP-52", "DDP-55", "MPA-88")
def dead_to_initiator(t):
    """A path that is dead for ten seconds, in each state of an initiator's connection: nothing is lost"""
    t.own_tcp()
    together(STATES, t.active)


@row("MPA-81")
def dead_at_startup(t):
    """A path that is dead for ten seconds, in each state of startup: the connection is made, or its reject arrives"""
    t.own_tcp()
    together(STARTUP, t)
