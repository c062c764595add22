# SPDX-License-Identifier: GPL-2.0
"""RFC 5044 4.4, 7.2, 8: CRC by agreement, whole FPDUs, and how a stream ends."""
import errno
import subprocess
import time

import fpdu
import mpa
from outcome import Skip, check, equal
from rows import row, stated
from ulp import ERR, FLUSH, SUCCESS, WC_RECV

stated("absent", "the driver checks an FPDU only after TCP has received its segments, and TCP acknowledges these segments", "MPA-92")
stated("ulp", "documented: user guide, setting crc", "MPA-31")


@row("MPA-16", "MPA-15", "MPA-29", "MPA-32", "MPA-33", "MPA-34", "MPA-61", alone=True)
def crc_pairs(t):
    """In both roles: CRC is used in both directions if either frame has C=1; otherwise any CRC field is valid"""
    for word, own in (("on", mpa.C), ("off", 0)):
        t.setting("crc", word)
        for flags in (0, mpa.C):
            for make in (t.passive, t.active):
                conn = make(flags=flags)
                # if the peer's Request has C=1, the device's Reply may have any C
                if make == t.active or not flags:
                    equal(conn.peer.other.flags & mpa.C, own, "C of the device's frame, setting " + word)
                crc = bool(own | flags)
                equal((conn.peer.tx.crc, conn.peer.rx.crc), (crc, crc), "the peer's use")
                for wr, size in enumerate((1, 2, 3, 4, 5000)):
                    # message() checks each FPDU: it must have a CRC field, and, if CRC is in use,
                    # the right CRC
                    conn.post("send", wr=wr, sge="%d:0:%d" % (conn.mr, size))
                    equal(sum(len(seg.data) for seg in conn.peer.message()), size, "size sent")
                conn.poll(5)
                conn.peer.put_send(b"five!")
                wc = conn.poll()[0]
                equal((wc.status, wc.len, conn.received(wc.wr, 5)), (SUCCESS, 5, b"five!"), "a Send")
                conn.peer.put(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), b"again"), crc_is=0xDEADBEEF)
                wc = conn.poll()[0]
                if crc:
                    equal(wc.status, FLUSH, "status of a Send with a wrong CRC")
                    conn.peer.expect_term(2, 0, 2)
                    conn.peer.expect_fin()
                else:
                    equal((wc.status, wc.len, conn.received(wc.wr, 5)), (SUCCESS, 5, b"again"), "without CRC")


@row("MPA-29", "MPA-61", alone=True)
def crc_required(t):
    """
    The link requires CRC, and a plain or enhanced Request declines it: Reply with R=1, then FIN

    After a plain Reply that declines CRC, the device sends FIN, and the ULP gets CONNECT_ERROR;
    after a reject that declines CRC, the ULP gets REJECTED. Connections with peers that use CRC
    work. The test crc_declined_enhanced has an enhanced Reply that declines CRC.
    """
    t.setting("crc", "required")
    ulp, server = t.ulp(), t.server()
    listener = t.listener(ulp)
    for word in (None, (1, 1)):
        peer = t.connect(listener[1])
        peer.request(0, word=word)
        reply = peer.reply()
        equal((reply.flags & (mpa.R | mpa.S | mpa.M), reply.rev), (mpa.R | mpa.S, 2) if word else (mpa.R, 1), "Reply")
        peer.expect_fin()
    check(ulp.event(id=listener[0], ms=0)["event"] == "none", "a Request was reported")
    for flags, want, status in ((0, "CONNECT_ERROR", None), (mpa.R, "REJECTED", -errno.ECONNREFUSED)):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.accept(flags, 1, word=b"")
        event = ulp.event(id=conn.id, want=want)
        check(status is None or event["status"] == status, "status:", event)
        conn.peer.expect_fin()
    passive = t.passive(ulp=ulp, listener=listener)
    equal(passive.reply.flags, mpa.C, "flags of the Reply")
    for conn in (passive, t.active(ulp=ulp, server=server, rev=1, word=b"")):
        conn.alive()


@row("MPA-7", "MPA-12")
def odd_sizes(t):
    """Messages of 0 to 67 octets in both directions arrive with the right length, boundaries and data"""
    conn = t.passive(recvs=80)
    data = t.rng.randbytes(200)
    conn.ulp.set(mr=conn.mr, off=1000, data=data)
    for size in range(68):
        conn.peer.put_send(data[:size])
        conn.peer.put_write(conn.stag, conn.addr + 9000 + 100 * size, data[size:2 * size])
        conn.post("send", wr=999, sge="%d:1000:%d" % (conn.mr, size) if size else None, flags="u")
    for size in range(68):
        wc = conn.poll()[0]
        equal((wc.wr, wc.status, wc.len), (size, SUCCESS, size), "completion")
        equal(conn.received(size, size), data[:size], "data received")
        # the octets after the data in the receive buffer are still zero
        check(not any(conn.received(size, 100)[size:]), "octets after the data")
        (seg,) = conn.peer.message(fpdu.SEND)
        equal((len(seg.ulpdu), seg.data), (18 + size, data[:size]), "data sent")
    conn.alive()
    for size in range(68):
        equal(conn.memory(9000 + 100 * size, 100), data[size:2 * size] + b"\xa5" * (100 - size), "data written")


@row("MPA-13")
def pad_is_covered(t):
    """A pad octet is changed after the CRC was computed: Terminate 2/0/02, and nothing is placed"""
    ulp = t.ulp()
    for size, pads in ((3, 1), (2, 2), (1, 3)):
        for pad in range(pads):
            conn = t.passive(ulp=ulp)
            octets = bytearray(conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"12345"[:size])))
            equal(any(octets[-4 - pads:-4]), False, "pad")
            octets[-5 - pad] = 0xEE
            conn.peer.send(octets)
            conn.peer.expect_term(2, 0, 2)
            conn.untouched()


@row("MPA-51", "MPA-50")
def last_octet(t):
    """The device places and completes nothing of an FPDU, in one write or in pieces, until its last octet comes"""
    for sizes in (None, 97):
        conn = t.passive()
        octets = conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"w" * 500))
        conn.peer.send(octets[:-1], sizes)
        conn.peer.expect_silence(0.2)
        conn.untouched()
        conn.peer.send(octets[-1:])
        conn.alive()
        equal(conn.memory(0, 501), b"w" * 500 + b"\xa5", "memory")
        octets = conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"s" * 200))
        conn.peer.send(octets[:-1], sizes)
        conn.peer.expect_silence(0.2)
        conn.none(100)
        check(conn.ulp.same(mr=conn.rmr, byte=0)["same"], "a receive buffer was written to")
        conn.peer.send(octets[-1:])
        equal(conn.poll()[0][:4], (0, SUCCESS, WC_RECV, 200), "completion")
        equal(conn.received(0, 201), b"s" * 200 + b"\0", "receive buffer")


@row("MPA-86", "MPA-87")
def half_close(t):
    """The peer sends FIN: its last Send is delivered, the ULP gets DISCONNECTED, the device's Sends arrive, then FIN"""
    ulp = t.ulp()
    # the device's Sends complete before the peer reads, because the peer's window is large enough
    # for all three Sends
    for size in (0, 100, 20000):
        conn = t.passive(ulp=ulp)
        for wr in range(3):
            conn.post("send", wr=wr, sge="%d:0:%d" % (conn.mr, size) if size else None)
        check(all(wc.status == SUCCESS for wc in conn.poll(3)), "the device's Sends")
        conn.peer.put_send(b"last words")
        conn.peer.fin()
        wc = conn.poll()[0]
        equal((wc.status, conn.received(wc.wr, 10)), (SUCCESS, b"last words"), "the peer's Send")
        ulp.event(id=conn.id, want="DISCONNECTED")
        for _ in range(3):
            equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), size, "size")
        conn.peer.expect_fin()
        check(all(wc.status == FLUSH for wc in conn.poll(7)), "buffers left")


@row("MPA-87", "MPA-86")
def close_before_first(t):
    """
    The initiator sends FIN and has sent no FPDU: the responder's Send is flushed, and the ULP gets DISCONNECTED

    The responder must not send before the first FPDU, so it can never send. With close, the ULP
    disconnects before the FIN arrives.
    """
    ulp = t.ulp()
    for close in (False, True):
        conn = t.passive(ulp=ulp, first=False, recvs=2)
        conn.post("send", wr=7, sge="%d:0:3" % conn.mr)
        conn.peer.expect_silence(0.3)
        if close:
            ulp.disconnect(id=conn.id)
            conn.peer.expect_silence(0.3)
        conn.peer.fin()
        equal(sorted((wc.wr, wc.status) for wc in conn.poll(3)), [(0, FLUSH), (1, FLUSH), (7, FLUSH)], "completions")
        ulp.event(id=conn.id, want="DISCONNECTED")
        conn.peer.expect_end()


@row("MPA-86", "MPA-94")
def own_close(t):
    """The ULP disconnects: its Send arrives whole, then FIN; after the peer's FIN the ULP gets DISCONNECTED"""
    conn = t.passive()
    conn.post("send", wr=1, sge="%d:0:50000" % conn.mr)
    conn.poll()
    conn.ulp.disconnect(id=conn.id)
    equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), 50000, "size")
    conn.peer.expect_fin()
    conn.peer.fin()
    conn.ulp.event(id=conn.id, want="DISCONNECTED")
    check(all(wc.status == FLUSH for wc in conn.poll(8)), "buffers left")


@row("MPA-88")
def cut_off(t):
    """RST or FIN before or within an FPDU: the ULP gets DISCONNECTED, its receives are flushed, nothing is delivered"""
    ulp = t.ulp()
    # TCP does not retransmit a lost RST
    ends = ("rst", "fin") if t.place.lossless else ("fin",)
    for make in (t.passive, t.active):
        for end in ends:
            for part in (0, 1, 30, 119):
                conn = make(ulp=ulp)
                octets = conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"x" * 96))
                equal(len(octets), 120, "size of the FPDU")
                conn.peer.send(octets[:part])
                getattr(conn.peer, end)()
                ulp.event(id=conn.id, want="DISCONNECTED")
                check(all(wc.status == FLUSH for wc in conn.poll(8)), "a buffer is not flushed")
                equal(conn.query()["state"], ERR, "state")
                if end == "fin":
                    conn.peer.expect_end()


@row("MPA-88")
def reset_behind_reply(t):
    """RST directly after a Reply: the connect fails, or the connection is established and then ends"""
    if not t.place.lossless:
        raise Skip("TCP does not repeat a RST that got lost")
    ulp = t.ulp()
    for _ in range(25):
        conn = t.request(ulp=ulp)
        conn.peer.accept()
        conn.peer.rst()
        got = ulp.event(id=conn.id)["event"]
        check(got in ("ESTABLISHED", "CONNECT_ERROR", "UNREACHABLE"), "event", got)
        if got == "ESTABLISHED":
            ulp.event(id=conn.id, want="DISCONNECTED")
            check(all(wc.status == FLUSH for wc in conn.poll(8)), "a buffer is not flushed")
            equal(conn.query()["state"], ERR, "state")


@row("MPA-88")
def reset_while_sending(t):
    """RST while Sends wait for room: the first Sends succeed, the others and all receives are flushed"""
    conn = t.passive()
    for wr in range(100, 200):
        conn.post("send", wr=wr, sge="%d:0:65536" % conn.mr)
    time.sleep(0.2)
    conn.peer.rst()
    conn.ulp.event(id=conn.id, want="DISCONNECTED")
    got = conn.poll(108)
    equal([(wc.wr, wc.status) for wc in got if wc.wr < 100], [(n, FLUSH) for n in range(8)], "receives")
    sends = [wc for wc in got if wc.wr >= 100]
    equal([wc.wr for wc in sends], list(range(100, 200)), "Sends")
    good = [wc.status for wc in sends].count(SUCCESS)
    check(good < 100, "no Send was flushed")
    equal([wc.status for wc in sends], [SUCCESS] * good + [FLUSH] * (100 - good), "statuses of Sends")


@row("MPA-88", alone=True)
def black_hole(t):
    """The peer's packets are lost: the device's TCP gives up, the ULP gets DISCONNECTED, its receives are flushed"""
    if t.place.interface == "lo" or not t.place.lossless or t.place.path != "direct":
        raise Skip("needs a direct link without losses that is not the loopback interface")
    was = t.place.run("sysctl", "-n", "net.ipv4.tcp_retries2", capture_output=True, text=True).stdout.strip()
    words = ["tc", "qdisc", "replace", "dev", t.place.interface, "root", "netem", "loss", "100%"]
    if t.place.link == "iw_tcp":
        t.setting("user_timeout", 0)
    conn = t.passive()
    try:
        t.place.run("sysctl", "-qw", "net.ipv4.tcp_retries2=2")
        if subprocess.run(words, check=False, capture_output=True).returncode:
            raise Skip("no netem here")
        conn.post("send", wr=99, sge="%d:0:100" % conn.mr)
        equal(conn.poll()[0].wr, 99, "completion: TCP has it")
        conn.ulp.event(id=conn.id, want="DISCONNECTED")
        check(all(wc.status == FLUSH for wc in conn.poll(8)), "a buffer is not flushed")
        equal(conn.query()["state"], ERR, "state")
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", t.place.interface, "root"], check=False, capture_output=True)
        t.place.run("sysctl", "-qw", "net.ipv4.tcp_retries2=" + was)
