# SPDX-License-Identifier: GPL-2.0
"""
The peer sends FIN or RST at every point of startup and of the stream (RFC 5044 7.1, 8). The peer
uses the TCP of tcp.py.
"""
import select
import time

import fpdu
import mpa
from case import Conn
from outcome import check, equal
from rows import row
from rows_attach import told
from ulp import ERR, FLUSH

# The events that an initiator may get if its connection ends during startup
ENDED = ("REJECTED", "CONNECT_ERROR", "UNREACHABLE", "DISCONNECTED")


def end_at(tcp, how, place):
    """Ends the peer's stream at a place, by FIN or RST (how: "fin" or "rst")."""
    if how == "fin":
        tcp.end = place
        tcp.segment(place, place + 1)
    else:
        tcp.send_rst(place)


def lost(conn, recvs=8):
    """Checks that the upper layer gets DISCONNECTED, that all receives are flushed, and that the
    queue pair is in the state ERR."""
    conn.ulp.event(id=conn.id, want="DISCONNECTED")
    check(all(wc.status == FLUSH for wc in conn.poll(recvs)), "a buffer is not flushed")
    equal(conn.query()["state"], ERR, "state")


def dead_or_lost(conn, recvs=8):
    """
    Checks that the connect or accept of the device fails, or that the connection is established and
    then ends.
    """
    got = conn.ulp.event(id=conn.id, want=ENDED + ("ESTABLISHED",))["event"]
    if got == "ESTABLISHED":
        lost(conn, recvs)


def works(t, ulp, listener):
    """Checks that the next connection to the listener works."""
    conn = t.passive(ulp=ulp, listener=listener)
    conn.alive()
    conn.peer.rst()
    lost(conn)


@row("MPA-88", "MPA-70")
def ends_in_request(t):
    """FIN or RST after each octet of an incomplete Request: the listener still works, and the ULP gets no event"""
    t.own_tcp()
    ulp = t.ulp()
    listener = t.listener(ulp)
    octets = mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, mpa.enh(4, 4) + b"pd")
    for how in ("fin", "rst"):
        for part in range(len(octets)):
            peer = t.connect(listener[1])
            tcp = peer.sock
            tcp.write(octets)
            if part:
                tcp.segment(0, part)
            end_at(tcp, how, part)
            peer.close()
    equal(ulp.event(id=listener[0], ms=300)["event"], "none", "event")
    works(t, ulp, listener)


@row("MPA-88")
def ends_behind_request(t):
    """FIN or RST after a Request, before or at accept: accept fails or the connection ends, the listener still works"""
    t.own_tcp()
    ulp = t.ulp()
    listener = t.listener(ulp)
    for how in ("fin", "rst"):
        for late in (False, True):
            peer = t.connect(listener[1])
            peer.request()
            if not late:
                end_at(peer.sock, how, len(peer.sock.out))
            event = ulp.event(id=listener[0], ms=30000 if late else 300)
            if event["event"] == "none" and not late:
                continue    # the connection ended before the ULP got an event
            equal(event["event"], "CONNECT_REQUEST", "event")
            conn = Conn(peer, ulp, event["new"])
            t.equip(conn)
            if late:
                end_at(peer.sock, how, len(peer.sock.out))
            if ulp.accept_or_not(id=conn.id):
                dead_or_lost(conn)
            peer.close()
    works(t, ulp, listener)


def accepted_and(t, ulp, octets, how, place):
    """
    Lets the device send a Request. Sends the first "place" octets of octets and then FIN or RST
    (how), without a pause and without an acknowledgment between them. Returns the connection.
    """
    conn = t.request(ulp=ulp)
    tcp = conn.peer.sock
    tcp.answer = False      # do not send acknowledgments
    begin = tcp.write(octets)
    if place:
        tcp.segment(begin, begin + place)
    end_at(tcp, how, begin + place)
    return conn


@row("MPA-88")
def ends_in_reply(t):
    """FIN or RST within a Reply: the initiator gets an event that there is no connection"""
    t.own_tcp()
    ulp = t.ulp()
    octets = mpa.frame(mpa.REP, mpa.C | mpa.S, 2, mpa.enh(4, 4) + b"pd")
    for how in ("fin", "rst"):
        # at least one octet of the Reply: otherwise the device would try again, with revision 1
        for part in (1, 15, 16, 17, 19, 20, 21, 23, 24, len(octets) - 1):
            conn = accepted_and(t, ulp, octets, how, part)
            ulp.event(id=conn.id, want=ENDED)
            conn.peer.close()


@row("MPA-88")
def ends_behind_reply(t):
    """FIN or RST directly after a whole Reply: the connect fails, or the connection is established and ends"""
    t.own_tcp()
    ulp = t.ulp()
    octets = mpa.frame(mpa.REP, mpa.C | mpa.S, 2, mpa.enh(4, 4) + b"pd")
    for _ in range(10):
        for how in ("rst", "fin"):
            conn = accepted_and(t, ulp, octets, how, len(octets))
            dead_or_lost(conn)
            conn.peer.close()


@row("MPA-88")
def ends_behind_reply_revision_1(t):
    """FIN or RST after a Reply of revision 1 and part of an FPDU: the connect fails, or the connection ends"""
    t.own_tcp()
    ulp = t.ulp()
    reply = mpa.frame(mpa.REP, mpa.C, 1)
    more = fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, 1, b"x" * 96))
    for how in ("rst", "fin"):
        for part in (0, 1, 2, 60, len(more) - 1):
            conn = accepted_and(t, ulp, reply + more, how, len(reply) + part)
            dead_or_lost(conn)
            conn.peer.close()


def says(serve, word):
    """Checks that the next line of the program's output begins with word."""
    check(select.select([serve.proc.stdout], [], [], 30)[0], "the program prints nothing; expected:", word)
    check(serve.line().startswith(word), "the program does not print:", word)


@row("MPA-88")
def ends_attached(t):
    """FIN or RST within or directly after the Reply to an initiator in streaming mode: its connect returns"""
    t.own_tcp()
    octets = mpa.frame(mpa.REP, mpa.C, 1)
    for how in ("rst", "fin"):
        for part in (len(octets), 3, len(octets), 0, len(octets)):
            serve, peer = told(t, b"connect\n")
            peer.await_request()
            tcp = peer.sock
            tcp.answer = False
            begin = tcp.write(octets)
            if part:
                tcp.segment(begin, begin + part)
            end_at(tcp, how, begin + part)
            says(serve, "connect: ")
            peer.close()
            # check that the program has finished this connection, and accepts another connection
            t.connect(serve.port).sock.sendall(b"bye\n")
            says(serve, "bye: ")


@row("MPA-88")
def ends_in_fpdu(t):
    """FIN or RST before or within an FPDU, FIN also in a segment with octets: the connection ends"""
    t.own_tcp()
    ulp = t.ulp()
    listener = t.listener(ulp)
    a_send, a_write = fpdu.untagged(fpdu.SEND, 0, 1, b"x" * 96), fpdu.tagged(fpdu.WRITE, 1, 0, b"12345")
    cuts = [(a_send, part) for part in list(range(0, 24)) + [110, 115, 116, 117, 118, 119]]
    for ulpdu, part in cuts + [(a_write, part) for part in range(1, 28)]:
        for how in ("rst", "fin", "fin with octets") if ulpdu == a_send else ("rst", "fin"):
            conn = t.passive(ulp=ulp, listener=listener, recvs=1)
            tcp = conn.peer.sock
            begin = tcp.write(conn.peer.frame(ulpdu))
            if how == "fin with octets":
                tcp.end = begin + part
                tcp.segment(max(begin + part - 9, 0), begin + part + 1)
                tcp.segment(begin, begin + part + 1)
            else:
                if part:
                    tcp.segment(begin, begin + part)
                end_at(tcp, how, begin + part)
            lost(conn, 1)
            conn.peer.close()


@row("MPA-88")
def fin_out_of_order(t):
    """FIN comes before octets that precede it, some of which come twice: the Send is delivered first"""
    t.own_tcp()
    ulp = t.ulp()
    for cut in ([(40, 121), (0, 60)], [(100, 121), (50, 110), (0, 70)], [(0, 30), (20, 121), (20, 121)],
                [(119, 121), (0, 120)], [(120, 121), (10, 120), (0, 30)]):
        conn = t.passive(ulp=ulp)
        tcp = conn.peer.sock
        begin = tcp.write(conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"x" * 96)))
        tcp.end = len(tcp.out)
        equal(tcp.end - begin, 120, "size of the FPDU")
        for first, last in cut:
            tcp.segment(begin + first, begin + last)
        got = conn.poll()[0]
        equal((got.status, got.len), (0, 96), "the Send")
        lost(conn, 7)
        tcp.settle()
        conn.peer.expect_fin()


@row("MPA-88", "DDP-50")
def octets_behind_fin(t):
    """The device does not take octets after a FIN, and takes the octets before it"""
    t.own_tcp()
    conn = t.passive()
    tcp = conn.peer.sock
    tcp.settle()
    conn.peer.next(0)
    begin = tcp.write(conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"x" * 96)))
    tcp.write(conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 2, b"y" * 96)))
    tcp.segment(begin + 130, begin + 240)
    tcp.emit(begin + 60, tcp.out[begin + 60:begin + 120], flags=0x11)
    tcp.segment(begin, begin + 70)
    got = conn.poll()[0]
    equal((got.status, conn.received(got.wr, 96)), (0, b"x" * 96), "the Send")
    lost(conn, 7)


@row("MPA-88")
def reset_out_of_window(t):
    """A RST whose sequence number is not the next one expected changes nothing"""
    t.own_tcp()
    conn = t.passive()
    tcp = conn.peer.sock
    tcp.settle()
    for place in (tcp.nxt - 1, tcp.nxt + 1, tcp.nxt + 5000, tcp.nxt + (1 << 30)):
        tcp.emit(place, b"", 4)
        tcp.nxt = len(tcp.out)
    conn.peer.put_send(b"still there")
    equal(conn.poll()[0].status, 0, "status")
    conn.alive()
    time.sleep(0.1)
    tcp.send_rst()
    lost(conn, 7)
