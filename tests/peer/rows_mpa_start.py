# SPDX-License-Identifier: GPL-2.0
"""RFC 5044 7.1: startup frames, and the change from startup to full operation."""
import errno
import threading
import time

import fpdu
import mpa
from case import Conn
from outcome import check, equal
from patience import connect
from rows import row, stated
from rows_empa_ini import no_more
from ulp import FLUSH, SUCCESS

PD_MAX = 255    # the largest number of octets of private data that the kernel's interface can pass


@row("MPA-54", "MPA-59", "MPA-73", "MPA-76", "MPA-78", "MPA-91")
def reply_key(t):
    """A wrong octet in a Reply's key, or a Request's key: the device closes, the ULP gets CONNECT_ERROR"""
    ulp, server = t.ulp(), t.server()
    keys = [mpa.REQ]
    for at in range(16):
        key = bytearray(mpa.REP)
        key[at] ^= 1
        keys.append(bytes(key))
    for key in keys:
        conn = t.request(ulp=ulp, server=server)
        conn.peer.send(mpa.frame(key, mpa.C, 1) + fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, 1, b"x")))
        ulp.event(id=conn.id, want="CONNECT_ERROR")
        conn.peer.expect_end()


@row("MPA-78")
def echo(t):
    """A responder sends the Request back: the device closes, and the ULP gets CONNECT_ERROR"""
    conn = t.request()
    conn.peer.send(conn.peer.other.octets)
    conn.ulp.event(id=conn.id, want="CONNECT_ERROR")
    conn.peer.expect_end()


@row("MPA-57")
def no_queue_pair(t):
    """Accept and connect fail without a queue pair, and no connection is made"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    peer = t.connect(port)
    peer.request()
    event = ulp.event(id=number, want="CONNECT_REQUEST")
    check(ulp.fails("accept", id=event["new"]), "errno")
    reply = mpa.receive(peer.sock)
    check(reply.flags & mpa.R or not reply.octets, "a Reply:", reply)
    peer.expect_end()
    sock, port = t.server()
    number = ulp.new()
    ulp.resolve(id=number, addr=t.place.here, port=port)
    check(ulp.fails("connect", id=number), "errno")
    sock.settimeout(0.3)
    try:
        sock.accept()
        check(False, "there is a connection")
    except TimeoutError:
        pass


@row("MPA-62", "MPA-64")
def ignored_bits(t):
    """The device ignores R in a Request and the reserved bits of both frames, and sends them as 0"""
    ulp = t.ulp()
    for flags, word in ((mpa.R, None), (0x0F, None), (0x1F, None), (mpa.R | 0x1F, None), (mpa.R | 0x0F, (4, 4))):
        conn = t.passive(ulp=ulp, flags=mpa.C | flags, word=word)
        equal(conn.reply.flags & ~mpa.S, mpa.C, "flags of the Reply")
        conn.alive()
    for flags, rev in ((0x0F, 2), (0x0F, 1), (0x1F, 1)):
        conn = t.request(ulp=ulp)
        equal(conn.peer.other.flags & ~mpa.S, mpa.C, "flags of the Request")
        conn.peer.accept(mpa.C | flags, rev, word=None if rev == 2 else b"")
        ulp.event(id=conn.id, want="ESTABLISHED")
        conn.post("send", wr=1, sge="%d:0:4" % conn.mr)
        while conn.peer.segment().opcode != fpdu.SEND:
            pass


@row("MPA-63", "MPA-71")
def reject(t):
    """The ULP rejects: the device sends a Reply with R=1 and the private data, then FIN, and no FPDU"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    for data in (b"", b"no", b"n" * 200):
        peer = t.connect(port)
        peer.request()
        event = ulp.event(id=number, want="CONNECT_REQUEST")
        ulp.reject(id=event["new"], data=data or None)
        reply = peer.reply()
        check(reply.flags & mpa.R, "R:", reply)
        equal(reply.pd[:len(data)], data, "private data")
        peer.expect_fin()


stated("deviation", "programs that attach a socket (iwtdv) send and receive all lengths; rdma_cm has one octet for the length: so with"
       " rdma_cm the device rejects a Request with more than 255 octets, and such a Reply ends the connection", "MPA-67")


@row("MPA-63", "MPA-74", "MPA-67")
def rejected(t):
    """The peer rejects: the ULP gets REJECTED with the private data; the device sends FIN, and no FPDU"""
    ulp, server = t.ulp(), t.server()
    for data in (b"", b"no", t.rng.randbytes(PD_MAX)):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.accept(mpa.C | mpa.R, 1, data, b"")
        event = ulp.event(id=conn.id, want="REJECTED")
        equal(event["status"], -errno.ECONNREFUSED, "status")
        equal(event["data"][:len(data)], data, "private data")
        conn.peer.expect_fin()


@row("MPA-66", "MPA-67", "MPA-80")
def private_data(t):
    """Private data of up to 255 octets reach the ULP unchanged; a Request with more is rejected, plain or enhanced"""
    ulp = t.ulp()
    for size in (0, 1, 3, 4, 254, PD_MAX):
        data = t.rng.randbytes(size)
        conn = t.passive(ulp=ulp, pd=data)
        equal(conn.event["data"][:size], data, "private data of a Request")
        conn.alive()
        server = t.server()
        conn = t.request(ulp=ulp, server=server, data=data)
        other = conn.peer.other
        equal(other.pd_len, size + 4 * other.enhanced, "PD_Length of a Request")
        equal(other.pd[4 * other.enhanced:], data, "private data of a Request sent")
        # the first FPDU arrives with the Reply: the device must not take the FPDU as private data
        conn.peer.accept(pd=data, more=fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, 1, b"first")))
        event = ulp.event(id=conn.id, want="ESTABLISHED")
        equal(event["data"][:size], data, "private data of a Reply")
        check(not any(event["data"][size:]), "after the private data:", event["data"])
        wc = conn.poll()[0]
        equal((wc.status, wc.len, conn.received(wc.wr, 5)), (SUCCESS, 5, b"first"), "the first Send")
    number, port = t.listener(ulp)
    for size, word in ((PD_MAX + 1, None), (511, None), (512, None), (PD_MAX + 1, (1, 1))):
        peer = t.connect(port)
        peer.request(pd=bytes(size), word=word)
        reply = peer.reply()
        equal((reply.flags & (mpa.R | mpa.S | mpa.M), reply.rev),
              (mpa.R | mpa.S, 2) if word else (mpa.R, 1), "Reply, private data of %d" % size)
        peer.expect_fin()
    check(ulp.event(id=number, ms=0)["event"] == "none", "a Request was reported")


@row("MPA-66", "MPA-70", "MPA-91", "MPA-69")
def improper_length(t):
    """
    PD_Length above 512, less than the octets sent, or more and then FIN: the device closes and sends nothing

    After a Reply with PD_Length above 512, the ULP of the initiator gets CONNECT_ERROR.
    """
    ulp = t.ulp()
    number, port = t.listener(ulp)
    for octets in (mpa.frame(mpa.REQ, mpa.C, 1, bytes(513)), mpa.frame(mpa.REQ, mpa.C, 1, b"", 513),
                   mpa.frame(mpa.REQ, mpa.C, 1, bytes(600), 65535), mpa.frame(mpa.REQ, mpa.C, 1, b"abc", 2),
                   mpa.frame(mpa.REQ, mpa.C, 1) + b"\0"):
        peer = t.connect(port)
        peer.send(octets)
        peer.expect_end()
    for octets in (mpa.frame(mpa.REQ, mpa.C, 1, b"abc", 4), mpa.REQ, b"M", b""):
        peer = t.connect(port)
        peer.send(octets)
        peer.expect_silence(0.2)
        peer.fin()
        peer.expect_end()
    server = t.server()
    for octets in (mpa.frame(mpa.REP, mpa.C, 1, b"", 513), mpa.frame(mpa.REP, mpa.C, 1, bytes(600), 65535)):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.send(octets)
        ulp.event(id=conn.id, want="CONNECT_ERROR")
        conn.peer.expect_end()


@row("MPA-72", "MPA-53")
def at_once(t):
    """The device takes FPDUs that come directly after its Reply, before the ULP takes the event ESTABLISHED"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    for turn in range(60):
        peer = t.connect(port)
        peer.request(word=(4, 4) if turn % 2 else None)
        conn = Conn(peer, ulp, ulp.event(id=number, want="CONNECT_REQUEST")["new"])
        t.equip(conn, recvs=1)
        # accept() runs in a thread: it may not have returned when the Reply arrives at the peer
        accept = threading.Thread(target=ulp.accept_or_not, kwargs={"id": conn.id, "ird": 4, "ord": 4}, daemon=True)
        accept.start()
        peer.reply()
        data = b"%d" % turn
        peer.put(fpdu.untagged(fpdu.SEND, 0, peer.next(0), data),
                 fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"written"))
        peer.put_read(conn.stag, conn.addr, 9)
        equal(peer.read_response(), b"written\xa5\xa5", "Read")
        accept.join()
        wc = conn.poll()[0]
        equal((wc.status, wc.len, conn.received(0, len(data))), (SUCCESS, len(data), data), "the first Send")
        ulp.event(id=conn.id, want="ESTABLISHED")
        peer.close()
        ulp.destroy(id=conn.id)


@row("MPA-53", "MPA-56", "MPA-85")
def switch_in_pieces(t):
    """The peer's Reply (plain or enhanced) and three FPDUs come as one stream, cut anywhere: the device takes all"""
    ulp, server = t.ulp(), t.server()
    for word in (b"", None):
        size, turns = 100, [None, 1, 7]
        while turns:
            sizes = turns.pop(0)
            conn = t.request(ulp=ulp, server=server, recvs=2)
            more = b"".join(map(fpdu.fpdu, (fpdu.untagged(fpdu.SEND, 0, 1, b"first"),
                                            fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr + 3, b"written"),
                                            fpdu.untagged(fpdu.SEND, 0, 2, b"second"))))
            conn.peer.accept(rev=None if word is None else 1, word=word, more=more, sizes=sizes)
            equal(bool(conn.peer.own[16] & mpa.S), word is None, "an enhanced Reply")
            got = [(wc.wr, wc.status, wc.len) for wc in conn.poll(2)]
            equal(got, [(0, SUCCESS, 5), (1, SUCCESS, 6)], "Sends, cut %s" % sizes)
            equal((conn.received(0, 6), conn.received(1, 7), conn.memory(0, 12)),
                  (b"first\0", b"second\0", b"\xa5\xa5\xa5written\xa5\xa5"), "data, cut %s" % sizes)
            ulp.event(id=conn.id, want="ESTABLISHED")
            conn.peer.close()
            ulp.destroy(id=conn.id)
            if sizes is None:
                size = len(conn.peer.own) + len(more)
                turns += [[n, size] for n in range(1, size, 3 if word == b"" else 1)]


@row("MPA-53", "RDMAP-54")
def terminate_behind_reply(t):
    """A Reply and a Terminate come in one segment: the ULP gets ESTABLISHED, and then DISCONNECTED"""
    conn = t.request()
    conn.peer.accept(more=fpdu.fpdu(fpdu.terminate(2, 0, 2)))
    for want in ("ESTABLISHED", "DISCONNECTED"):
        conn.ulp.event(id=conn.id, want=want)
    check(all(wc.status == FLUSH for wc in conn.poll(8)), "a buffer is not flushed")
    check(conn.peer.rest()[1] != "open", "no end")


@row("MPA-69", "MPA-79", "MPA-81")
def patience(t):
    """
    Peers that are silent or send octets slowly during startup: the device sends nothing, and closes on timeout

    At the same time, the listener accepts the connections of other peers.
    """
    ulp = t.ulp()
    number, port = t.listener(ulp)
    silent, slow = t.connect(port), t.connect(port)
    halfway = t.connect(port)
    halfway.send(mpa.frame(mpa.REQ, mpa.C, 1, b"", 100))
    # 100 silent connections: not so many that the device ends the oldest of them (test half_open)
    crowd = [t.peer(connect((t.place.there, port))) for _ in range(100)]
    conn, mute = t.request(ulp=ulp), t.request(ulp=ulp)

    def trickle(peer, octets):
        # the whole frame would take 60 s, which is longer than the device's time limit for startup;
        # a device that restarted its timer at each octet would wait longer than this test
        try:
            for octet in octets:
                peer.send(bytes([octet]))
                time.sleep(0.6)
        except OSError:
            pass
    threads = [threading.Thread(target=trickle, args=args, daemon=True) for args in (
        (slow, mpa.frame(mpa.REQ, mpa.C, 1, bytes(80))), (conn.peer, mpa.frame(mpa.REP, mpa.C, 1, bytes(80))))]
    for thread in threads:
        thread.start()
    t.passive(ulp=ulp, listener=(number, port)).alive()
    for peer in [silent, slow, halfway] + crowd:
        peer.expect_end(seconds=55)
    for one in (conn, mute):
        ulp.event(id=one.id, want="UNREACHABLE", ms=55000)
        one.peer.expect_end()
    check(ulp.event(id=number, ms=0)["event"] == "none", "a Request was reported")


@row("MPA-65")
def revisions(t):
    """
    A Request of an unknown revision: the device closes; of revision 0: Reply of revision 1 with R=1, then FIN

    The device accepts Requests of revisions 1 and 2. After a Reply of revision 0 or of an unknown
    revision, the ULP gets CONNECT_ERROR; after revision 0 the device sends FIN.
    """
    ulp = t.ulp()
    number, port = t.listener(ulp)
    for rev in (3, 4, 128, 255):
        peer = t.connect(port)
        peer.request(rev=rev)
        peer.expect_end()
    peer = t.connect(port)
    peer.request(mpa.C | mpa.M, 0)
    reply = peer.reply()
    equal((reply.flags & (mpa.R | mpa.S | mpa.M), reply.rev), (mpa.R, 1), "Reply to revision 0")
    peer.expect_fin()
    check(ulp.event(id=number, ms=0)["event"] == "none", "a Request was reported")
    for rev, word in ((1, None), (2, None), (2, (4, 4))):
        conn = t.passive(ulp=ulp, rev=rev, word=word)
        equal(conn.reply.rev, rev, "revision of the Reply")
        conn.alive()
    server = t.server()
    for flags, rev, ends in ((mpa.C, 0, ("fin",)), (mpa.M | mpa.C, 0, ("fin",)), (mpa.C, 3, ("fin", "rst")),
                             (mpa.C, 255, ("fin", "rst"))):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.send(mpa.frame(mpa.REP, flags, rev))
        ulp.event(id=conn.id, want="CONNECT_ERROR")
        conn.peer.expect_end(ends)


@row("MPA-9", "MPA-97")
def versions_by_revision(t):
    """With MPA revisions 1 and 2 the device sends version 1 of DDP and RDMAP, and refuses all other versions"""
    ulp = t.ulp()
    for rev, word in ((1, None), (2, (4, 4))):
        conn = t.passive(ulp=ulp, rev=rev, word=word)
        conn.post("send", wr=1, sge="%d:0:9" % conn.mr)
        seg = conn.peer.segment()
        equal((seg.dv, seg.rv), (1, 1), "versions sent, revision %d" % rev)
        for dv, rv in [(dv, rv) for dv in range(4) for rv in range(4) if (dv, rv) != (1, 1)]:
            for tagged in (False, True):
                conn = t.passive(ulp=ulp, rev=rev, word=word)
                bad = (fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"x", dv=dv, rv=rv) if tagged else
                       fpdu.untagged(fpdu.SEND, 0, 1, b"x", dv=dv, rv=rv))
                conn.peer.put(bad)
                conn.peer.expect_term(*((0, 2, 5) if dv == 1 else (1, 1, 4) if tagged else (1, 2, 6)), of=bad)
                conn.untouched()


@row("MPA-91", "MPA-88")
def ends_in_startup(t):
    """FIN or RST during startup: the device ends the connection, and a ULP that accepts or connects gets an error"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    for end in ("fin", "rst"):
        for octets in (b"", mpa.REQ[:7], mpa.frame(mpa.REQ, mpa.C, 1, b"", 3)):
            peer = t.connect(port)
            peer.send(octets)
            getattr(peer, end)()
            if end == "fin":
                peer.expect_end()
        # the end arrives before the ULP has answered the Request
        peer = t.connect(port)
        peer.request()
        event = ulp.event(id=number, want="CONNECT_REQUEST")
        getattr(peer, end)()
        conn = Conn(peer, ulp, event["new"])
        t.equip(conn)
        time.sleep(0.2)
        check(ulp.fails("accept", id=conn.id), "errno")
    # the end arrives while the initiator waits for the other octets of the Reply
    server = t.server()
    for end in ("fin", "rst"):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.send(mpa.REP[:9])
        getattr(conn.peer, end)()
        if end == "fin":
            ulp.event(id=conn.id, want="REJECTED")
            no_more(server)
            continue
        # A RST may discard the octets before it. Then the device has received nothing, takes the
        # peer for a responder that knows only revision 1, and may connect again.
        server[0].settimeout(2)
        try:
            again = server[0].accept()[0]
            mpa.receive(again)
            again.close()
        except TimeoutError:
            pass
        # TCP does not retransmit a lost RST: then the connect times out (UNREACHABLE)
        ulp.event(id=conn.id, want=("REJECTED", "CONNECT_ERROR") + (() if t.place.lossless else ("UNREACHABLE",)))


stated("unit", "mpa_frame_test.c: for every EMSS, the MULPDU is between 128 and 64768", "MPA-6")
