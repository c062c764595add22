# SPDX-License-Identifier: GPL-2.0
"""Cases of direct.py in which the device connects to the peer."""
import select
import socket
import struct
import threading
import time

import fpdu
import mpa
import patience
import ulp
from direct_end import FIELDS, LAYOUT, pack, PD_LEN, REQ_LEN, RETRY_EXC, WORD
from outcome import check, equal
from peer import Peer


class Replies:
    """
    The device's attempts to connect. After some attempts, the queue pair is reset, because the
    pauses between attempts grow.
    """

    def __init__(self, b):
        self.b, self.server, self.pair, self.left = b, b.server(), b.pair(), 0

    def again(self):
        """Resets the queue pair, and lets it connect again. On a slow machine, the device may have
        made another attempt before the reset, which has ended this attempt."""
        self.pair.reset()
        while select.select([self.server], [], [], 0)[0]:
            self.server.accept()[0].close()
        self.pair.wait()
        self.left = 6

    def attempt(self):
        """Waits for the next attempt of the device; returns the Peer."""
        if not self.left:
            self.again()
        self.left -= 1
        while True:
            peer = Peer(self.server.accept()[0])
            peer.other = mpa.receive(peer.sock)
            if peer.other.whole and not self.pair.is_early(peer.other):
                break
            peer.sock.close()
        equal(peer.other.pd[4:].hex(), self.pair.theirs().hex(), "private data of the Request")
        return peer

    def bad(self, octets, **how):
        """Answers the next attempt with octets that the device must not accept. Checks that the
        device closes the connection, after nothing or one Terminate."""
        peer = self.attempt()
        try:
            peer.send(octets, **how)
        except ConnectionError:
            pass
        data = b""
        try:
            data = peer.rest()[0]
        except ConnectionError:
            pass
        check(not data or data == fpdu.fpdu(fpdu.terminate(2, 0, 5)),
              "after a wrong Reply, the device sends nothing, or one Terminate:", data)
        check(peer.ended, "the device ends the connection after a wrong Reply")
        peer.sock.close()

    def finish(self):
        """The honest peer answers: there must be a connection."""
        self.left = max(self.left, 1)
        check(self.pair.state() in (ulp.RTS, ulp.RESET), "state", self.pair.state())
        peer = self.attempt()
        peer.accept(pd=self.pair.right())
        peer.segment()
        self.pair.talk(peer)
        self.b.keep_peer(peer)

    def reply(self, pd, word=WORD, flags=mpa.C | mpa.S, rev=2):
        """Returns the octets of a Reply."""
        return mpa.frame(mpa.REP, flags, rev, word + pd)


def ini_right(b):
    """Right replies: both ends send, write and read"""
    server = b.server()
    for turn in range(4):
        pair = b.pair()
        pair.rtr()
        if turn % 2:
            peer = b.called(server, pair, False)
            b.answer(peer, pair.right())
            peer.segment()
            pair.rts()
        else:
            pair.rts()
            peer = b.called(server, pair)
            rts = turn < 2
            b.answer(peer, pair.right() if rts else pair.right(flags=0, rnr=0, sq_psn=0))
            peer.segment()
        pair.talk(b.keep_peer(peer))


def ini_every_bit(b):
    """Replies with each bit of the private data wrong"""
    r = Replies(b)
    good = r.pair.right()
    for at in range(PD_LEN):
        for bit in range(8):
            pd = good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1:]
            if not r.pair.matches(dict(zip(FIELDS, struct.unpack(LAYOUT, pd)))):
                r.bad(r.reply(pd))
    r.finish()


def ini_replies(b):
    """Other wrong replies: lengths, rejects, garbage, FIN, RST; then a right, slow Reply"""
    r = Replies(b)
    good = r.pair.right()
    for size in (0, 1, 4, 8, 40, 55, 57, 64, 508):
        r.bad(r.reply((good + b.random(512))[:size]))
    r.bad(r.reply(b"", flags=mpa.C | mpa.S | mpa.R))
    r.bad(r.reply(good, flags=mpa.C | mpa.S | mpa.R))
    r.bad(mpa.frame(mpa.REP, mpa.C, 1, good))
    r.bad(mpa.frame(mpa.REP, mpa.C | mpa.S, 3, WORD + good))
    r.bad(mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, WORD + good))
    r.bad(mpa.frame(mpa.REP, mpa.C | mpa.S, 2, WORD + good, 0xFFFF))
    r.bad(b.random(100))
    r.bad(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    r.bad(bytes(84))
    r.bad(fpdu.fpdu(fpdu.terminate(2, 0, 5)))
    r.bad(r.reply(good[::-1]), sizes=1)
    for cut in 0, 1, 20, 24, REQ_LEN - 1:
        peer = r.attempt()
        peer.send(r.reply(good)[:cut])
        peer.sock.shutdown(socket.SHUT_WR)
        check(not peer.rest()[0] and peer.ended, "the end after FIN")
        peer.sock.close()
        peer = r.attempt()
        peer.send(r.reply(good)[:cut])
        mpa.reset(peer.sock)
    r.left = max(r.left, 1)
    peer = r.attempt()
    peer.accept(pd=good, sizes=1)
    peer.segment()
    r.pair.talk(peer)


def ini_random(b):
    """Random replies: the device accepts exactly those that a model of the rules accepts"""
    r = Replies(b)
    count = [0, 0]
    for _ in range(b.args.rounds // 3):
        values = r.pair.mine()
        for name in b.rng.sample(FIELDS, b.rng.choice((0, 1, 1, 2))):
            if isinstance(values[name], bytes):
                values[name] = b.rng.choice((b.random(16), values["gid"], values["peer_gid"]))
            else:
                most = {"version": 8, "flags": 8, "rnr": 8, "reserved": 8}.get(name, 32)
                values[name] = b.rng.choice((0, 1, values["qpn"], values["sq_psn"], b.rng.randrange(1 << most))) & (1 << most) - 1
        good = r.pair.matches(values)
        count[good] += 1
        if not good:
            r.bad(r.reply(pack(values)))
            continue
        peer = r.attempt()
        peer.accept(pd=pack(values))
        peer.segment()
        peer.sock.close()
        r.again()
    print("# %d refused, %d accepted" % tuple(count))
    check(all(count), "both results are wanted:", count)
    r.finish()


def ini_gives_up(b):
    """Posted requests complete with an error if no reply is right"""
    ways = ["silence", "reject", "rst", "fin", "garbage", "wrong psn", "part", "slow"]
    pairs = {}
    server = b.server()
    for way in ways:
        pair = b.pair()
        pairs[pair.qpn] = way, pair
    stop = threading.Event()
    held = []

    def serve():
        while not stop.is_set():
            if not patience.ready(server, 0.3):
                continue
            peer = Peer(server.accept()[0])
            held.append(peer)
            peer.other = mpa.receive(peer.sock)
            if not peer.other.whole:
                continue
            way, pair = pairs[struct.unpack(">I", peer.other.pd[12:16])[0]]
            octets = mpa.frame(mpa.REP, mpa.C | mpa.S, 2, WORD + pair.right())
            try:
                if way == "reject":
                    peer.accept(mpa.C | mpa.R)
                elif way == "rst":
                    mpa.reset(peer.sock)
                elif way == "fin":
                    peer.sock.close()
                elif way == "garbage":
                    peer.send(b.random(200))
                elif way == "wrong psn":
                    peer.accept(pd=pair.right(rq_psn=pair.psn ^ 1))
                elif way == "part":
                    peer.send(octets[:-1])
                elif way == "slow":
                    peer.send(octets[:20], sizes=1)
            except ConnectionError:
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        for _, pair in pairs.values():
            pair.wait(timeout=10, retry=1)
            pair.recv()
            pair.post("send", 1)
            pair.post("write", 2, stag=1, raddr=0)
        for way, pair in pairs.values():
            done = {d.wr: d.status for d in pair.poll(3)}
            equal((done[1], done[2], done[0]), (RETRY_EXC, ulp.FLUSH, ulp.FLUSH), "%s: status" % way)
            equal(pair.state(), ulp.ERR, "%s: state" % way)
    finally:
        stop.set()
        thread.join()
        for peer in held:
            peer.sock.close()
    for _, pair in pairs.values():
        pair.reset()
        pair.wait()
        peer = b.called(server, pair)
        b.answer(peer, pair.right())
        peer.segment()
        pair.talk(peer)


def ini_silent(b):
    """A peer that sends no Reply: after a while the device tries again, and connects"""
    server, pair = b.server(), b.pair().wait()
    first = b.keep_peer(b.called(server, pair))
    pair.recv()
    pair.post("send", 1001)
    equal(first.rest(), (b"", first.ended), "the device ends the silent connection")
    check(first.ended, "the device ends the silent connection")
    peer = b.keep_peer(b.called(server, pair))
    b.answer(peer, pair.right())
    peer.segment()
    equal(peer.segment().opcode, fpdu.SEND, "the Send that has waited")
    pair.confirm(peer)
    pair.ended([(1001, ulp.SUCCESS)])


def ini_reset(b):
    """The queue pair is reset or destroyed during its attempts"""
    server = b.server()
    pair = b.pair()
    for turn in range(b.args.turns):
        pair.wait()
        if turn % 3:
            pair.post("send", 1001)
        peer = b.called(server) if turn % 4 else None
        act = threading.Thread(target=pair.destroy if turn % 5 == 4 else pair.reset)
        act.start()
        if peer:
            time.sleep(b.rng.choice((0, 0, 0.001)))
            try:
                b.answer(peer, pair.right())
            except ConnectionError:
                pass
        act.join()
        if peer:
            check(peer.rest()[1] != "open", "turn %d: the connection ends" % turn)
            peer.sock.close()
        if turn % 5 == 4:
            pair = b.pair()
        while patience.ready(server, 0.01):
            server.accept()[0].close()
    pair.reset()
    pair.wait()
    peer = b.keep_peer(b.called(server, pair))
    b.answer(peer, pair.right())
    peer.segment()
    pair.talk(peer)


def ini_no_dial(b):
    """The device must connect, but the peer connects: the device does not listen"""
    pair = b.pair().wait()
    for _ in range(3):
        try:
            b.dial().sock.close()
            raise AssertionError("the device listens")
        except ConnectionRefusedError:
            pass
    server = b.server()
    pair.talk(b.established(server, pair))


def ini_terminate(b):
    """A Terminate directly behind a right Reply, in the same write"""
    server = b.server()
    for post in False, True:
        pair = b.pair().wait()
        if post:
            pair.post("send", 1)
        peer = b.called(server, pair)
        peer.accept(pd=pair.right(), more=fpdu.fpdu(fpdu.terminate(2, 0, 5)))
        pair.stopped(peer, post)
        pair.wait()
        pair.talk(b.established(server, pair))


INITIATOR = (ini_right, ini_every_bit, ini_replies, ini_random, ini_gives_up, ini_silent,
             ini_reset, ini_no_dial, ini_terminate)
