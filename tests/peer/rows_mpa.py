# SPDX-License-Identifier: GPL-2.0
"""RFC 5044: FPDUs, CRC, and streams that are cut at any octet. Other rows of RFC 5044 are in
rows_mpa_*.py."""
import os
import tempfile
import time

import fpdu
import mpa
import pcap
import stream
from case import Conn
from outcome import Skip, check, equal
from rows import row, stated
from ulp import SUCCESS

stated("ulp", "the program sets its own time limits; the driver ends a connection if TCP gives up (keepidle, user_timeout)", "MPA-82")
stated("host", "the kernel's IPsec (XFRM) encrypts the packets of TCP; a program (an IKE daemon) agrees on the keys", "MPA-95")
stated("selftest", "ipsec.sh: the keys are removed during traffic; when there are new keys, the same connection continues", "MPA-96")


@row("MPA-58", "MPA-70", "MPA-76", "MPA-91")
def request_key(t):
    """
    A Request with a wrong octet in its key, or with a Reply's key: the device closes and sends nothing

    If the first octets of a Request are wrong, the device does not wait for the other octets.
    """
    ulp = t.ulp()
    _, port = t.listener(ulp)
    keys = [mpa.REP]
    for at in range(16):
        key = bytearray(mpa.REQ)
        key[at] ^= 1
        keys.append(bytes(key))
    for key in keys:
        peer = t.connect(port)
        peer.send(mpa.frame(key, mpa.C, 1))
        peer.expect_end()
    for octets in (b"G", b"GET / HTTP/1.0\r\n\r\n"):
        silent, peer = t.connect(port), t.connect(port)
        peer.send(octets)
        peer.expect_end()
        # a device that closes only because of its time limit would end the older connection first
        silent.expect_silence(0.05)


@row("MPA-13")
def pad_ignored(t):
    """The device accepts pad octets that are not zero if the CRC is right, and does not place them"""
    conn = t.passive()
    conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"12345"), pad=0xEE)
    conn.alive()
    equal(conn.memory(0, 8), b"12345\xa5\xa5\xa5", "memory")


@row("MPA-38", "MPA-89", "MPA-50", "MPA-93", "MPA-94")
def crc_mismatch(t):
    """One wrong bit in length, header, payload or CRC: Terminate 2/0/02, FIN, nothing placed or delivered"""
    good = fpdu.fpdu(fpdu.tagged(fpdu.WRITE, 0, 0, b"12345"))
    ulp = t.ulp()
    # in the length, only the lowest bit may be wrong: with other bits, the device would wait for a
    # longer FPDU
    for bit in [8] + list(range(16, len(good) * 8, 37)):
        conn = t.passive(ulp=ulp)
        octets = bytearray(conn.peer.frame(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"12345")))
        octets[bit // 8] ^= 1 << bit % 8
        conn.peer.send(octets + conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, 1, b"later")))
        conn.peer.expect_term(2, 0, 2)
        conn.peer.expect_fin()
        conn.untouched()
        check(all(c.status for c in conn.poll(8)), "a Send was delivered")


@row("MPA-75")
def responder_waits(t):
    """A responder with a posted Send sends nothing until it has received the first FPDU"""
    conn = t.passive(first=False)
    conn.post("send", wr=1, sge="%d:0:20" % conn.mr)
    conn.peer.expect_silence(1.5)
    conn.peer.put_write()
    seg = conn.peer.segment()
    equal((seg.opcode, seg.data), (fpdu.SEND, bytes([0xA5]) * 20), "the Send")


@row("MPA-2", "MPA-10", "MPA-14")
def whole_stream(t):
    """A captured stream of Sends of many sizes obeys the rules for framing, headers and message numbers"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    capture = t.capture(port)
    conn = t.passive(ulp=ulp, listener=(number, port))
    sizes = [0, 1, 2, 3, 4, 5, 1000, 1428, 1429, 20000, 65536]
    for wr, size in enumerate(sizes):
        conn.post("send", wr=wr, sge="%d:0:%d" % (conn.mr, size) if size else None)
    for size in sizes:
        equal(sum(len(seg.data) for seg in conn.peer.message(fpdu.SEND)), size, "size")
    conn.peer.fin()
    conn.peer.expect_fin()
    (seen,) = stream.connections(capture.stop()).values()
    check(not seen.problems, "problems:", seen.problems)
    equal(seen.responder.rules.count[fpdu.SEND], len(sizes), "Sends")


@row("MPA-48", "MPA-53", "OPT-15")
def every_cut(t):
    """The device understands the peer's stream (Request, Writes, Read Request) cut in two at any octet"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    size = 20 + 20 + 28 + 52     # Request, two Writes, Read Request
    for cut in range(1, size):
        peer = t.connect(listener[1])
        peer.request(sizes=[cut, size] if cut < 20 else None)
        event = ulp.event(id=listener[0], want="CONNECT_REQUEST")
        conn = Conn(peer, ulp, event["new"])
        t.equip(conn, recvs=0)
        ulp.accept(id=conn.id)
        peer.reply()
        octets = peer.frame(fpdu.tagged(fpdu.WRITE, 1, 0),
                            fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"%06d" % cut),
                            fpdu.read_request(1, 77, 0, 8, conn.stag, conn.addr))
        at = max(cut - 20, 0)
        peer.send(octets[:at])
        time.sleep(0.002)
        peer.send(octets[at:])
        equal(peer.read_response(77, 0), b"%06d\xa5\xa5" % cut, "memory, cut at %d" % cut)
        peer.close()
        ulp.destroy(id=conn.id)


@row("MPA-48", "MPA-53", "EMPA-7")
def single_octets(t):
    """The device understands an enhanced Request, a Write in four segments and a Send that all come in single octets"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    peer = t.connect(port)
    peer.request(word=(1, 1), pd=b"octet by octet", sizes=1)
    event = ulp.event(id=number, want="CONNECT_REQUEST")
    equal(event["data"][:14], b"octet by octet", "private data")
    conn = Conn(peer, ulp, event["new"])
    t.equip(conn)
    ulp.accept(id=conn.id)
    peer.reply()
    peer.put(fpdu.tagged(fpdu.WRITE, 1, 0), *fpdu.segments(fpdu.WRITE, conn.stag, conn.addr, bytes(range(100)), 33),
             fpdu.untagged(fpdu.SEND, 0, peer.next(0), b"whole"), sizes=1)
    wc = conn.poll()[0]
    equal((wc.status, wc.len, conn.received(wc.wr, 5)), (SUCCESS, 5, b"whole"), "the Send")
    equal(conn.memory(0, 101), bytes(range(100)) + b"\xa5", "memory")


@row("MPA-7", "MPA-48")
def segment_sizes(t):
    """A Write of 20001 octets in segments of 37, 1300 or 20001 octets is placed; Reads of 20001, 1 and 0 octets follow"""
    ulp = t.ulp()
    for size, flags, word in ((37, mpa.C, None), (1300, 0, None), (20001, mpa.C, None), (1300, mpa.C, (4, 4))):
        conn = t.passive(ulp=ulp, flags=flags, word=word)
        data = t.rng.randbytes(20001)
        conn.peer.put_write(conn.stag, conn.addr, data, size)
        conn.peer.put_send(b"written")
        equal(conn.poll()[0][:2], (0, SUCCESS), "the Send after the Write")
        check(conn.memory(0, 20002) == data + b"\xa5", "memory, segments of %d" % size)
        for offset, length in ((0, 20001), (5, 1), (0, 0)):
            check(conn.peer.read(conn.stag, conn.addr + offset, length) == data[offset:offset + length],
                  "Read of %d, segments of %d" % (length, size))


@row("MPA-30")
def default_crc(t):
    """Without a setting, the device asks for CRC in Request and Reply, and uses CRC, also if the peer does not ask"""
    passive = t.passive(flags=0)
    equal(passive.reply.flags & mpa.C, mpa.C, "C in the Reply")
    active = t.active(flags=0)
    equal(active.peer.other.flags & mpa.C, mpa.C, "C in the Request")
    for conn in (passive, active):
        conn.alive()
        conn.post("send", wr=1, sge="%d:0:5" % conn.mr)
        conn.peer.message(fpdu.SEND)


@row("MPA-30", "MPA-68", "MPA-35")
def tshark_opinion(t):
    """tshark finds the CRC flag set in the device's Request, and a right CRC in both FPDUs"""
    if t.place.path != "direct" or not t.place.lossless:
        raise Skip("tshark needs each startup frame in one segment")
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "pcap")
        server = t.server()
        capture = t.capture(server[1], path, here=True)
        conn = t.active(server=server)
        conn.post("write", wr=1, sge="%d:0:100" % conn.mr, stag=5, raddr=77)
        conn.peer.message(fpdu.WRITE)
        (seen,) = stream.connections(capture.stop()).values()
        if seen.initiator.flow.again:
            raise Skip("tshark leaves out retransmitted segments")
        (request,) = pcap.tshark(path, ["iwarp_mpa.crc_flag", "iwarp_mpa.rev"], "iwarp_mpa.key.req")
        check(request[0] in ("1", "True"), "Request:", request)
        text = pcap.tshark(path, [], "iwarp_mpa.fpdu")
        check(text.count("Good CRC32") == 2 and "Bad CRC32" not in text, "FPDUs:", text)
