# SPDX-License-Identifier: GPL-2.0
"""Cases of direct.py in which the peer connects to the device."""
import contextlib
import struct
import threading
import time

import fpdu
import mpa
import ulp
from direct_end import FIELDS, gid_of, HALF_OPEN, LAYOUT, LINGERING, OWN_STAG, pack, PD_LEN, REQ_LEN, RETRY_EXC, RNR_FOREVER, WORD
from outcome import Fail, Late, Skip, check, equal


def right(b):
    """Right private data: both ends send, write and read"""
    for rts in True, False:
        pair = b.pair().wait()
        pd = pair.right() if rts else pair.right(flags=0, rnr=0, sq_psn=0)
        pair.talk(b.accepted(pair, pd))
    pair = b.pair()
    pair.rtr()
    b.refused(b.request(pair.right(flags=0, rnr=0, sq_psn=0)))
    # a queue pair in RTR does not know its sq_psn: the device does not check rq_psn
    peer = b.accepted(pair, pair.right(rq_psn=b.rng.randrange(1 << 24)), pair.theirs(False))
    pair.rts()
    pair.talk(peer)


def every_bit(b):
    """Each bit of the private data wrong, and all bits of each octet"""
    pair = b.pair().wait()
    good = pair.right()
    for at in range(PD_LEN):
        for change in [1 << bit for bit in range(8)] + [0xFF, 0x7F, 0xF0, 0x0F]:
            pd = good[:at] + bytes([good[at] ^ change]) + good[at + 1:]
            values = dict(zip(FIELDS, struct.unpack(LAYOUT, pd)))
            if not pair.matches(values):
                b.refused(b.request(pd))
    b.untouched(pair)
    # rnr is the only octet that may have other values
    for rnr in range(RNR_FOREVER):
        pair = b.pair().wait()
        pair.talk(b.accepted(pair, pair.right(rnr=rnr)))


def lengths(b):
    """Private data that are too short or too long"""
    pair = b.pair().wait()
    good = pair.right()
    for size in list(range(PD_LEN)) + [57, 58, 60, 63, 64, 112, 255, 256, 257, 507, 508]:
        b.refused(b.request((good + b.random(512))[:size]))
    b.untouched(pair)


def random_frames(b):
    """Random private data: the device accepts exactly those that a model of the rules accepts"""
    pair, _ = b.pair(), b.pair().wait()      # the listener exists as long as a queue pair waits
    rts, ready = True, False
    count = [0, 0]
    for turn in range(b.args.rounds):
        if not ready:
            rts = b.rng.random() < 0.9
            pair.rtr()
            if rts:
                pair.rts()
            else:
                time.sleep(0.1)     # a queue pair in RTR is not ready at first
            ready = True
        values = pair.mine()
        for name in b.rng.sample(FIELDS, b.rng.choice((0, 1, 1, 2, 3))):
            size = len(values[name]) if isinstance(values[name], bytes) else None
            if size:
                values[name] = b.rng.choice((b.random(size), values["gid"], values["peer_gid"], bytes(size),
                                             bytes([values[name][0] ^ 1]) + values[name][1:]))
            else:
                most = {"version": 8, "flags": 8, "rnr": 8, "reserved": 8}.get(name, 32)
                values[name] = b.rng.choice((0, 1, (1 << most) - 1, values["qpn"], values["peer_qpn"],
                                             values["sq_psn"], values["rq_psn"], values[name] ^ 1 << b.rng.randrange(most),
                                             b.rng.randrange(1 << most))) & (1 << most) - 1
        octets = b.request(pack(values), mpa.enh(b.rng.randrange(2, 64), b.rng.randrange(2, 64)))
        good = pair.matches(values, rts)
        count[good] += 1
        if not good:
            b_reject, b.reject = b.reject, None     # each reject has depths of its Request
            b.refused(octets)
            b.reject = b_reject
            equal(pair.state(), ulp.RTS if rts else ulp.RTR, "state after a refused Request")
            continue
        peer, reply = b.ask(octets)
        check(reply.whole and not reply.flags & mpa.R, "accepted, by the model: turn %d" % turn, values, reply)
        equal(reply.pd[4:].hex(), pair.theirs(rts).hex(), "private data of the Reply")
        b.refused(b.request(pack(values)))
        peer.sock.close()
        pair.reset()
        ready = False
    print("# %d refused, %d accepted" % tuple(count))
    check(all(count), "both results are wanted:", count)
    pair.reset()
    b.untouched(pair.wait())


def improper(b):
    """Frames that are no Requests: the device closes the connection, and sends nothing"""
    pair = b.pair().wait()
    good = b.request(pair.right())
    frames = [mpa.frame(mpa.REP, mpa.C | mpa.S, 2, WORD + pair.right()), b"GET / HTTP/1.1\r\n\r\n" + b" " * 90,
              bytes(REQ_LEN), mpa.frame(mpa.REQ, mpa.C | mpa.S, 3, WORD + pair.right()),
              mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, WORD + pair.right(), 513),
              mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, WORD + pair.right(), 0xFFFF),
              mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, b"abc")]
    frames.append(fpdu.fpdu(fpdu.terminate(2, 0, 5)))
    for at in range(16):
        frames.append(good[:at] + bytes([good[at] ^ 1 << b.rng.randrange(8)]) + good[at + 1:])
    for octets in frames:
        peer = b.dial()
        peer.send(octets)
        data, end = peer.rest()
        check(not data and end != "open", "the device closes the connection:", octets, data, end)
        peer.sock.close()
    b.untouched(pair)


def more_octets(b):
    """Octets that the peer sends after its Request, before the Reply"""
    pair = b.pair().wait()
    for octets in b"x", b.random(100), fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, 1, b"early")):
        peer = b.dial()
        peer.send(b.request(pair.right()) + octets)
        data = peer.rest()[0]
        check(not data or data[16] & mpa.R, "no connection is wanted:", data)
        peer.sock.close()
    b.untouched(pair)


def plain(b):
    """Requests of other kinds: revision 1, or without peer-to-peer mode"""
    b.pair().wait()
    for what, octets in (("revision 1", lambda pair: mpa.frame(mpa.REQ, mpa.C, 1, pair.right())),
                         ("no enhanced word", lambda pair: mpa.frame(mpa.REQ, mpa.C, 2, pair.right())),
                         ("no Reads", lambda pair: b.request(pair.right(), mpa.enh(0, 0))),
                         ("no Reads of the device", lambda pair: b.request(pair.right(), mpa.enh(0, 6)))):
        pair = b.pair().wait()
        peer, reply = b.ask(octets(pair))
        check(reply.whole and reply.flags & mpa.R, what, reply)
        check(len(reply.pd) == (4 if reply.flags & mpa.S else 0), "%s: a reject tells nothing:" % what, reply)
        peer.sock.close()
        b.untouched(pair)
    # without peer-to-peer mode, the first FPDU of the peer has the effect of a ready-to-receive message
    pair = b.pair().wait()
    pair.talk(b.accepted(pair, word=mpa.enh(6, 6, 0, 0, 0, 0)))
    # a single Read at a time is enough to confirm messages
    pair = b.pair().wait()
    peer = b.accepted(pair, word=mpa.enh(1, 1))
    for number in range(3):
        pair.post("send", number)
        equal(peer.segment().opcode, fpdu.SEND, "a Send of the device")
        pair.confirm(peer)
        pair.ended([(number, ulp.SUCCESS)])


def twice(b):
    """Two or more Requests at the same time: exactly one is accepted"""
    b.pair().wait()
    for turn in range(20):
        pair = b.pair().wait()
        peers = [b.dial() for _ in range(2 + turn % 4)]
        octets = b.request(pair.right())
        for peer in peers:
            peer.own = octets
            peer.send(octets)
        good = []
        for peer in peers:
            peer.other = mpa.receive(peer.sock)
            check(peer.other.whole and peer.other.key == mpa.REP, "Reply:", peer.other)
            if not peer.other.flags & mpa.R:
                good.append(peer)
        equal(len(good), 1, "accepted Requests")
        good[0].begin()
        good[0].put_write()
        pair.talk(good[0])
        for peer in peers:
            peer.sock.close()
        pair.destroy()


def second(b):
    """A second connection beside the first one, and after its end"""
    keep, pair = b.pair().wait(), b.pair().wait()   # while keep waits, the listener exists
    peer = b.accepted(pair)
    for _ in range(5):
        b.refused(b.request(pair.right()))
        pair.talk(peer)
    peer.sock.close()
    b.refused(b.request(pair.right()))
    equal(pair.state(), ulp.RTS, "state after the peer has gone")
    pair.post("send", 3)
    pair.ended([(3, RETRY_EXC)])
    b.refused(b.request(pair.right()))
    pair.reset()
    b.refused(b.request(pair.right()))
    b.untouched(pair.wait())
    b.untouched(keep)


def slowly(b):
    """Requests octet by octet, and Requests that never end"""
    pair = b.pair().wait()
    octets = b.request(pair.right())
    halves = []
    for size in range(0, len(octets), 3):
        peer = b.keep_peer(b.dial())
        peer.send(octets[:size])
        halves.append(peer)
    # the honest peer is slow, too
    pair.talk(b.accepted(pair, sizes=1))
    # a peer that completes its Request later is refused, if there still is a listener
    for peer, size in zip(halves, range(0, len(octets), 3)):
        try:
            peer.send(octets[size:])
        except ConnectionError:
            continue
        reply = mpa.receive(peer.sock)
        check(not reply.octets or reply.flags & mpa.R, "a reject, or the end:", reply)


def silent(b):
    """Many silent connections: the oldest ones end, and the honest peer connects"""
    pair, keep = b.pair().wait(), b.pair().wait()
    peers = []
    for number in range(HALF_OPEN + 200):
        peer = b.keep_peer(b.dial())
        if number % 3 == 1:
            peer.send(b.request(pair.right())[:1 + number % (REQ_LEN - 1)])
        peers.append(peer)
    pair.talk(b.accepted(pair))
    # a listener keeps at most HALF_OPEN silent connections, so at least the 200 oldest have ended
    for peer in peers[:200]:
        equal(peer.rest()[0], b"", "what the device sends to a silent peer")
        check(peer.ended in ("fin", "rst"), "the oldest connections end:", peer.ended)
    for peer in peers:
        peer.sock.close()
    b.untouched(keep)


def port_closed(b):
    """Checks that there is no listener."""
    try:
        b.dial().sock.close()
    except ConnectionRefusedError:
        return
    raise Fail("the port is open though no queue pair waits")


def forgotten(b):
    """Silent connections when the listener ends, and silent connections for a long time"""
    pair, late = b.pair().wait(), b.timeouts()
    silents = [b.keep_peer(b.dial()) for _ in range(20)]
    for peer in silents[10:]:
        peer.send(b.request(pair.right())[:50])
    pair.talk(b.accepted(pair))     # now no queue pair waits, so there is no listener
    for peer in silents:
        check(peer.rest()[1] != "open", "without a listener silent connections end")
    if b.timeouts() != late:
        raise Late("without a listener silent connections end only at the time limit")
    port_closed(b)
    pair = b.pair().wait()
    silents = [b.keep_peer(b.dial()) for _ in range(4)]
    silents[0].send(b.request(pair.right())[:-1])
    silents[1].send(b.request(pair.right())[:1])
    b.refused(b.request(pair.right(magic=1)))
    reject = b.keep_peer(b.ask(b.request(pair.right(magic=1)))[0])     # stays open after the reject
    for peer in silents + [reject]:
        check(peer.rest()[1] != "open", "the device ends a silent connection")
    b.untouched(pair)


def another_address(b):
    """A Request from an address that is not the address in the GID"""
    pair, _ = b.pair().wait(), b.pair().wait()
    b.refused(b.request(pair.right()), source=b.args.other)
    # here the private data name the address that connects, but the queue pair waits for another
    # peer
    b.refused(b.request(pair.right(gid=gid_of(b.args.other))), source=b.args.other)
    b.untouched(pair)
    # a queue pair that waits for the other address
    pair = b.pair()
    pair.rtr(gid=gid_of(b.args.other))
    pair.rts()
    pd = pair.right(gid=gid_of(b.args.other))
    b.refused(b.request(pd))
    theirs = pair.theirs()[:40] + gid_of(b.args.other)
    pair.talk(b.accepted(pair, pd, theirs, source=b.args.other))


def reset_race(b, keep):
    """
    Sends Requests while the only queue pair that waits for the peer is reset, destroyed or moved to
    the error state. keep: another queue pair, which keeps the listener open, or None: then some of
    the peers never send the whole Request. Returns a queue pair that waits.
    """
    pair, count = b.pair(), {"accepted": 0, "refused": 0, "ended": 0}
    for turn in range(b.args.turns):
        pair.wait()
        octets = b.request(pair.right())
        peers = [b.dial() for _ in range(3)]
        cut = b.rng.choice((0, 1, 20, 50, len(octets) - 1, len(octets)))
        for peer in peers:
            # if the first peer has sent its whole Request, the listener may end at once
            with contextlib.suppress(ConnectionError):
                peer.send(octets[:cut])
        how = b.rng.choice(("reset", "error", "destroy"))
        act = threading.Thread(target={
            "reset": pair.reset, "destroy": pair.destroy,
            "error": lambda: pair.ulp.modify(id=pair.id, state=ulp.ERR)}[how])  # pylint: disable=cell-var-from-loop
        delay = b.rng.choice((0, 0, 0.0005, 0.002))
        act.start()
        time.sleep(delay)
        for peer in peers:
            if keep or b.rng.randrange(2):
                with contextlib.suppress(ConnectionError):
                    peer.send(octets[cut:])
        act.join()
        for peer in peers:
            reply = mpa.receive(peer.sock)
            what = "accepted" if reply.whole and not reply.flags & mpa.R else "refused" if reply.whole else "ended"
            count[what] += 1
            if what == "accepted":
                equal(reply.pd[4:].hex(), pair.theirs().hex(), "private data of the Reply")
            check(peer.rest()[1] != "open", "turn %d: the connection ends (%s)" % (turn, what))
            peer.sock.close()
        if not keep:
            port_closed(b)
        elif how == "destroy":
            b.refused(b.request(pair.right()))
        if how == "destroy":
            pair = b.pair()
        else:
            pair.reset()
    print("# Requests:", count)
    return pair.wait()


def while_reset(b):
    """Requests while the queue pair is reset, destroyed or moved to the error state"""
    keep = b.pair().wait()
    b.untouched(reset_race(b, keep))
    b.untouched(keep)


def listener_ends(b):
    """Requests, and parts of Requests, while the listener ends because no queue pair waits any more"""
    b.untouched(reset_race(b, None))


def lost(b):
    """The peer ends the connection by FIN, RST, a Terminate or garbage: posted requests fail"""
    for end in ("fin", "rst", "terminate", "garbage", "wrong crc", "half"):
        pair = b.pair().wait()
        peer = b.accepted(pair)
        if end == "rst":
            mpa.reset(peer.sock)
        elif end == "terminate":
            peer.put(fpdu.terminate(0, 0, 0))
        elif end == "garbage":
            peer.send(bytes([0xFF]) * 70000)
        elif end == "wrong crc":
            peer.put(fpdu.tagged(fpdu.WRITE, 1, 0), crc_xor=1)
        elif end == "half":
            peer.send(peer.frame(fpdu.tagged(fpdu.WRITE, 1, 0))[:7])
            peer.sock.close()
        else:
            peer.sock.close()
        pair.post("write", 1, stag=1, raddr=0)
        pair.post("send", 2)
        done = sorted(pair.poll(2))
        check(done[0].status in (RETRY_EXC, ulp.FLUSH, ulp.GENERAL_ERR, ulp.REM_OP_ERR, ulp.FATAL_ERR) and
              done[1].status == ulp.FLUSH, "%s: completions:" % end, done)
        print("# %s: status %d" % (end, done[0].status))
        peer.sock.close()
        pair.ends()
        pair.reset()
        b.untouched(pair.wait())


def midway(b):
    """The peer confirms some messages, and ends the stream without refusing one: the next one fails"""
    for end, status in (("fin", RETRY_EXC), ("rst", RETRY_EXC), ("part", RETRY_EXC), ("terminate", ulp.REM_OP_ERR),
                        ("terminate of MPA", RETRY_EXC)):
        pair = b.pair().wait()
        peer = b.accepted(pair)
        pair.talk(peer)
        pair.recv()
        pair.post("write", 2, stag=1, raddr=0)
        pair.post("send", 3)
        while peer.segment().opcode != fpdu.SEND:
            pass
        pair.none(20)
        if end == "rst":
            peer.rst()
        elif end == "terminate":
            peer.put(fpdu.terminate(0, 0, 0))
        elif end == "terminate of MPA":
            peer.put(fpdu.terminate(2, 0, 1))
        else:
            if end == "part":
                peer.send(peer.frame(fpdu.tagged(fpdu.READ_RESP, OWN_STAG, 0))[:7])
            peer.fin()
        done = {d.wr: d.status for d in pair.poll(3)}
        equal([done[2], done[3], done[pair.recvs - 1]], [status, ulp.FLUSH, ulp.FLUSH], "%s: status" % end)
        pair.ends()
        peer.close()
        pair.reset()
        b.untouched(pair.wait())


def refused_write(b):
    """The peer refuses a Write of no octets, which fails, or one that does not exist: the first request fails"""
    nothing = fpdu.tagged(fpdu.WRITE, 5, 1000)
    for of, code, statuses in (
            (nothing, (1, 1, 0), [ulp.SUCCESS, ulp.REM_ACCESS_ERR, ulp.FLUSH, ulp.FLUSH]),
            (nothing, (0, 1, 2), [ulp.SUCCESS, ulp.REM_ACCESS_ERR, ulp.FLUSH, ulp.FLUSH]),
            (fpdu.tagged(fpdu.WRITE, 5, 1001), (1, 1, 1), [ulp.REM_OP_ERR, ulp.FLUSH, ulp.FLUSH, ulp.FLUSH]),
            (fpdu.tagged(fpdu.WRITE, 6, 1000), (1, 1, 1), [ulp.REM_OP_ERR, ulp.FLUSH, ulp.FLUSH, ulp.FLUSH])):
        pair = b.pair().wait()
        peer = b.accepted(pair)
        pair.talk(peer)
        pair.post("write", 0, stag=5, raddr=100)
        pair.post("write", 1, size=0, stag=5, raddr=1000)
        pair.post("send", 2)
        pair.post("write", 3, stag=5, raddr=5000)
        seg = peer.segment()
        while (seg.opcode, seg.offset) != (fpdu.WRITE, 5000):
            check((seg.opcode, seg.offset) != (fpdu.WRITE, 1000) or not seg.data, "a Write of no octets is wanted:", seg)
            seg = peer.segment()
        head = struct.pack(">H", len(of)) + of[:14]
        peer.put(fpdu.terminate(*code, head, 0xC0))
        done = {d.wr: d.status for d in pair.poll(4)}
        equal([done[wr] for wr in range(4)], statuses, "status, Terminate %s of %s" % (code, of.hex()))
        peer.close()
        pair.ends()
        pair.reset()
        b.untouched(pair.wait())


def terminate_first(b):
    """A Terminate in place of the ready-to-receive message"""
    for post in False, True:
        pair = b.pair().wait()
        if post:
            pair.post("send", 1)
        peer, reply = b.ask(b.request(pair.right()))
        check(reply.whole and not reply.flags & mpa.R, "a Reply is wanted:", reply)
        peer.begin()
        peer.put(fpdu.terminate(2, 0, 5))
        pair.stopped(peer, post)
        b.untouched(pair.wait())


def reset_before_end(b):
    """A queue pair is reset after each Terminate, and the peers answer no more: few connections stay"""
    pair, keep, most = b.pair(), b.pair().wait(), 0
    for turn in range(LINGERING + 100):
        pair.wait()
        peer = b.accepted(pair)
        peer.put(fpdu.tagged(fpdu.WRITE, pair.stag, pair.addr - 1, b"bad"))
        equal(peer.segment().opcode, fpdu.TERM, "opcode")
        peer.silence()
        pair.reset()
        if turn % 50 == 49:
            now = b.closing()
            most = max(most, now)
            if now < turn - 50:     # the limit is reached, or the oldest connections have ended
                break
    # the last reset returns a moment before its socket is closed
    check(most <= LINGERING + 1, "connections that stay:", most)
    b.untouched(keep)
    if most < LINGERING:
        raise Skip("on this machine at most %d connections stay at a time" % most)


RESPONDER = (right, every_bit, lengths, random_frames, improper, more_octets, plain, twice, second,
             slowly, silent, forgotten, another_address, while_reset, listener_ends, lost, midway, refused_write,
             terminate_first, reset_before_end)
