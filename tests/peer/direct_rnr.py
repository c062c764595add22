# SPDX-License-Identifier: GPL-2.0
"""Cases of direct.py with messages that wait for a receive, and with Reads that confirm messages."""
import socket
import struct
import threading
import time

import fpdu
import mpa
import ulp
from direct_end import FILL, MSG, OWN_STAG, RETRY_EXC
from outcome import check, equal


def waits(b):
    """Sends for which no receive is posted wait, and all segments after these Sends wait, too"""
    pair = b.pair().wait()
    peer = b.accepted(pair)
    pair.recv()
    texts = [bytes([65 + n]) * MSG for n in range(4)]
    for text in texts:
        peer.put_send(text)
    peer.put_write(pair.stag, pair.addr + 3000, b"behind")
    peer.put_read(pair.stag, pair.addr + 3000, 6)
    peer.put_read(OWN_STAG, 0, 0, OWN_STAG, 0)
    pair.ended([(0, ulp.SUCCESS)])
    pair.none()
    equal(pair.memory(MSG, MSG), bytes([FILL]) * MSG, "memory of the second message")
    # the device still sends; but the Read Response that confirms its Write comes after the
    # waiting Send
    pair.post("write", 1001, stag=9, raddr=0)
    equal(peer.segment().opcode, fpdu.WRITE, "a Write in the other direction")
    for number in 1, 2:
        pair.recv()
        pair.ended([(number, ulp.SUCCESS)])
        equal(pair.memory(3000, 6), bytes([FILL]) * 6, "memory of the Write")
    pair.recv()
    # answer the Read of the device that confirms its Write; receive the answers to both Reads
    answered = []
    while len(answered) < 2:
        seg = peer.segment()
        if seg.opcode == fpdu.READ_REQ:
            peer.put(fpdu.tagged(fpdu.READ_RESP, *seg.read_request()[:2]))
        else:
            equal(seg.opcode, fpdu.READ_RESP, "answer")
            answered.append(seg.data)
    equal(answered, [b"behind", b""], "data of the Reads")
    pair.ended([(3, ulp.SUCCESS), (1001, ulp.SUCCESS)])
    equal([pair.memory(n * MSG, MSG) for n in range(4)], texts, "data of the Sends")
    pair.talk(peer)


def shared(b):
    """Connections wait for receives of one shared receive queue, and some of them end"""
    srq = b.ulp.new()
    b.ulp.srq(srq=srq)
    pairs = [b.pair(srq=srq).wait() for _ in range(6)]
    peers = [b.accepted(pair) for pair in pairs]
    for peer in peers:
        peer.put_send(b"x" * MSG)
    for pair in pairs:
        pair.none(30)
    # two streams end while they wait: the others get all receives
    pairs[2].reset()
    pairs[3].destroy()
    del pairs[2:4], peers[2:4]
    pairs[3].recv(4)
    for pair, peer in zip(pairs, peers):
        equal([done.status for done in pair.poll()], [ulp.SUCCESS], "status")
        peer.put_send(b"y" * MSG)
    for pair in pairs:
        pair.none(10)
    # Sends that arrived before a peer ended its connection may still take receives
    mpa.reset(peers[0].sock)
    peers[1].sock.close()
    pairs[2].recv(4)
    for pair in pairs[2:]:
        equal([done.status for done in pair.poll()], [ulp.SUCCESS], "status")


def limit(b):
    """No receive is posted in time: the device sends a Terminate, and ends the connection"""
    for rnr in 0, 1, 3:
        pair = b.pair().wait(timer=14)
        peer = b.accepted(pair, pair.right(rnr=rnr))
        ulpdu = fpdu.untagged(fpdu.SEND, 0, peer.next(0), b"too much")
        peer.put(ulpdu)
        peer.expect_term(1, 2, 2, of=ulpdu)
        pair.reset()
        b.untouched(pair.wait())


def ends_waiting(b):
    """A Send waits; then the peer ends the connection by FIN, RST, a Terminate or garbage"""
    for end in ("fin", "rst", "terminate", "garbage", "half"):
        pair = b.pair().wait()
        peer = b.accepted(pair)
        peer.put_send(b"wait" * 16)
        pair.none(20)
        if end == "terminate":
            peer.put(fpdu.terminate(0, 0, 0))
        elif end == "garbage":
            peer.put(fpdu.tagged(fpdu.WRITE, 1, 0), crc_xor=1)
        elif end == "half":
            peer.send(peer.frame(fpdu.tagged(fpdu.WRITE, 1, 0))[:7])
        if end == "rst":
            mpa.reset(peer.sock)
        elif end in ("fin", "half"):
            peer.sock.shutdown(socket.SHUT_WR)
        pair.none(50)
        pair.recv()
        pair.post("send", 1001)
        done = {d.wr: d.status for d in pair.poll(2)}
        print("# %s: receive %d, Send %d" % (end, done[0], done[1001]))
        check(done[0] in (ulp.SUCCESS, ulp.FLUSH) and done[1001] != ulp.SUCCESS, "%s: completions:" % end, done)
        if done[0] == ulp.SUCCESS:
            equal(pair.memory(0, MSG), b"wait" * 16, "data of the Send that waited")
        if end in ("terminate", "garbage"):
            equal(done[0], ulp.SUCCESS, "%s: the Send comes before the end:" % end)
        peer.sock.close()
        pair.ends()
        pair.reset()
        b.untouched(pair.wait())


def refused_behind(b):
    """A Send waits, and no receive is posted; the peer refuses a Write of the device, or ends: the Write fails"""
    refusal = fpdu.terminate(1, 1, 0, struct.pack(">H", 14 + MSG) + fpdu.tagged(fpdu.WRITE, 5, 100)[:14], 0xC0)
    for late in False, True:
        for end, status in (("refusal", ulp.REM_ACCESS_ERR), ("terminate", ulp.REM_OP_ERR), ("fin", RETRY_EXC),
                            ("answer", ulp.SUCCESS)):
            pair = b.pair().wait()
            peer = b.accepted(pair)
            pair.recv()
            peer.put_send(b"first" * 10)
            pair.ended([(0, ulp.SUCCESS)])
            if not late:
                peer.put_send(b"wait" * 16)
            pair.post("write", 1, stag=5, raddr=100)
            equal(peer.segment().opcode, fpdu.WRITE, "a Write of the device")
            sink, sink_offset = peer.segment().read_request()[:2]
            ulpdus = [fpdu.untagged(fpdu.SEND, 0, peer.next(0), b"wait" * 16) for _ in range(1 + late)]
            if end == "answer":
                ulpdus.append(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset))
            if end in ("answer", "terminate"):
                ulpdus.append(fpdu.terminate(0, 0, 0))
            elif end == "refusal":
                ulpdus.append(refusal)
            peer.put(*ulpdus)
            if end != "terminate":
                peer.sock.shutdown(socket.SHUT_WR)
            pair.ended([(1, status)])
            if end != "answer":
                pair.ends()
                pair.reset()
                b.untouched(pair.wait())
                continue
            # every request was answered, so the Sends that wait may still take receives
            pair.recv(2)
            pair.ended([(1, ulp.SUCCESS), (2, ulp.SUCCESS)])


def full_window(b):
    """A Send waits for a receive, and the peer sends more until TCP's window is closed"""
    pair = b.pair().wait()
    peer = b.accepted(pair)
    octets, sent = b"", 0
    for _ in range(2000):
        octets += peer.frame(fpdu.untagged(fpdu.SEND, 0, peer.next(0), b"z" * MSG))
    peer.sock.settimeout(0)
    try:
        while sent < len(octets):
            sent += socket.socket.send(peer.sock, octets[sent:sent + 5000])
            time.sleep(0.001)
    except BlockingIOError:
        pass
    peer.sock.settimeout(60)
    rest = threading.Thread(target=peer.sock.sendall, args=(octets[sent:],))
    rest.start()
    got = 0
    while got < 2000:
        pair.recvs = 0
        pair.recv(20)
        for done in pair.poll(20):
            equal((done.status, done.len), (ulp.SUCCESS, MSG), "receive")
        got += 20
    rest.join()
    pair.none(20)
    pair.recvs = 0
    pair.talk(peer)


def waiting_reset(b):
    """The queue pair is reset or destroyed while a Send of the peer waits"""
    for turn in range(b.args.turns):
        pair = b.pair().wait()
        peer = b.accepted(pair)
        for _ in range(1 + turn % 3):
            peer.put_send(b"w" * MSG)
        if turn % 4 == 3:
            pair.none(10)
        post = threading.Thread(target=pair.recv)
        if turn % 2:
            post.start()
        if turn % 3:
            pair.reset()
            if turn % 2:
                post.join()
            pair.reset()
            if turn % 5 == 0:
                b.untouched(pair.wait())
        if turn % 2 and turn % 3 == 0:
            post.join()
        pair.destroy()
        peer.sock.close()


def confirming(b):
    """The device answers zero-length Reads of STag 1; a longer Read: Terminate 0/1/00"""
    pair = b.pair().wait()
    peer = b.accepted(pair)
    for offset in 0, 1, 1 << 63:
        equal(peer.read(OWN_STAG, offset, 0, OWN_STAG, 0), b"", "a Read without data")
    for _ in range(200):
        equal(peer.read(OWN_STAG, 0, 0, OWN_STAG, 0), b"", "a Read without data")
    ulpdu = peer.put_read(OWN_STAG, 0, 1, OWN_STAG, 0)
    peer.expect_term(0, 1, 0, of=ulpdu)
    # more Reads than the IRD permits, after a Send that waits
    pair = b.pair().wait()
    peer = b.accepted(pair)
    peer.put_send(b"w" * MSG)
    for _ in range(40):
        peer.put_read(OWN_STAG, 0, 0, OWN_STAG, 0)
    pair.none(20)
    pair.recv()
    pair.ended([(0, ulp.SUCCESS)])
    while True:
        seg = peer.segment()
        if seg.opcode == fpdu.TERM:
            break
        equal(seg.opcode, fpdu.READ_RESP, "answer")
        if peer.rules.count[fpdu.READ_RESP] == 40:
            break


def wrong_confirm(b):
    """Wrong, early, repeated or no answers to the confirming Read: Terminate or an error"""
    for what in ("stag", "offset", "data", "early", "twice", "nothing"):
        pair = b.pair().wait()
        peer = b.accepted(pair)
        if what == "early":
            peer.put(fpdu.tagged(fpdu.READ_RESP, OWN_STAG, 0))
            equal(peer.segment().opcode, fpdu.TERM, "a Terminate for a Response without a Read")
            continue
        pair.post("send", 1)
        equal(peer.segment().opcode, fpdu.SEND, "a Send")
        sink, sink_offset = peer.segment().read_request()[:2]
        pair.none(20)
        if what == "stag":
            peer.put(fpdu.tagged(fpdu.READ_RESP, sink + 1, sink_offset))
        elif what == "offset":
            peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset + 1, b"abcd"))
        elif what == "data":
            peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset, b"data"))
        elif what == "twice":
            peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset))
            pair.ended([(1, ulp.SUCCESS)])
            peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset))
        if what == "nothing":
            peer.sock.close()
            pair.ended([(1, RETRY_EXC)])
            continue
        equal(peer.segment().opcode, fpdu.TERM, "a Terminate")
        if what != "twice":
            done = pair.poll()[0]
            check(done.wr == 1 and done.status != ulp.SUCCESS, "%s: completion:" % what, done)


WAITING = (waits, shared, limit, ends_waiting, refused_behind, full_window, waiting_reset, confirming,
           wrong_confirm)
