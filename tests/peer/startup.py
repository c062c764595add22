#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Tests startup with a peer that implements MPA itself.

startup.py initiator HOST PORT            connects to a listener that accepts everything
startup.py responder HOST PORT COMMAND... listens; COMMAND connects, and must print the
                                          names of rdma_cm's events
startup.py ROLE.CASE ...                  one case, which needs these settings of the link:
    crc_required                          crc=required
    revision_1                            mpa_revision=1
    rdmac                                 rdmac_permissive=on
    private_data                          responder; COMMAND sends private data, with
                                          its first Request or a later one

Cases that prove a row of rows.tsv name the row.
"""
import select
import socket
import struct
import subprocess
import sys
import threading
import time

import fpdu
import patience
from mpa import ANY_DEPTH, C, M, R, REP, REQ, S, Tap, enh, frame, receive, reset, rest

TAP = Tap()
MANY = 300
# Terminates that an initiator sends instead of its first FPDU (RFC 6581 8)
TERM_LOCAL = bytes.fromhex("0016414700000000000000020000000100000000200500001680d5f1")
TERM_IRD = bytes.fromhex("0016414700000000000000020000000100000000200600006540fb1b")
TERM_RTR = bytes.fromhex("0016414700000000000000020000000100000000200700001bd2babe")
# and a Terminate of a responder (2/0/02), as its first message
TERM_CRC = bytes.fromhex("0016414700000000000000020000000100000000200200007fe42585")
# ready-to-receive messages of an initiator: empty Write, Read Request and Send
RTR_WRITE = bytes.fromhex("000ec140000000010000000000000000ebd34c5f")
RTR_READ = bytes.fromhex("002e4141000000000000000100000001000000000000000100000000"
                         "000000000000000000000001000000000000000027dbd7e7")
RTR_SEND = bytes.fromhex("0012414300000000000000000000000100000000587be8c4")


def marked(first):
    """The first FPDU of a stream with markers: a marker precedes it, and the CRC covers the marker."""
    length = struct.unpack(">H", first[:2])[0]
    return fpdu.Framer(markers=True).fpdu(first[2:2 + length])


class RdmacStream:
    """The stream of an RDMAC peer: version 0, markers, CRC (5044 C.1)."""

    def __init__(self, sock):
        self.sock = sock
        self.out = fpdu.Framer(markers=True)
        self.into = fpdu.Deframer(markers=True)
        self.segments = []

    def send(self, ulpdu):
        """Sends one FPDU."""
        self.sock.sendall(self.out.fpdu(ulpdu))

    def receive(self):
        """Receives one segment."""
        self.sock.settimeout(60)
        while not self.segments:
            got = self.sock.recv(4096)
            if not got:
                raise EOFError(self.into.held.hex())
            self.segments += self.into.feed(got)
        return self.segments.pop(0)

    def good(self, seg):
        """Is the version 0 in both headers, and were all markers and CRCs right so far?"""
        return (seg.dv, seg.rv) == (0, 0) and not self.into.problems


class Initiator:
    """Requests to a listener."""

    def __init__(self, host, port):
        self.where = (host, int(port))

    def connect(self):
        return patience.connect(self.where)

    def closed(self, what, octets, fin=False):
        """An improper Request: the connection ends without a Reply (5044 7.1.2 r2)."""
        sock = self.connect()
        sock.sendall(octets)
        if fin:
            sock.shutdown(socket.SHUT_WR)
        data, end = rest(sock)
        TAP.ok(not data and end != "open", what, (data, end))
        sock.close()

    def refused(self, what, octets, flags, rev):
        """A Request that can't be served: Reply with R, then FIN."""
        sock = self.connect()
        sock.sendall(octets)
        rep = receive(sock)
        data, end = rest(sock)
        good = rep.key == REP and rep.flags & (R | S | M) == flags and rep.rev == rev
        TAP.ok(good and not data and end == "fin", what, (rep, data, end))
        sock.close()

    def accepted(self, what, octets, test=lambda rep: True, keep=False):
        """A Request that is accepted."""
        sock = self.connect()
        sock.sendall(octets)
        rep = receive(sock)
        TAP.ok(rep.key == REP and rep.whole and not rep.flags & R and test(rep), what, rep)
        if keep:
            return sock
        sock.close()
        return None

    def improper(self):
        self.closed("no MPA at all", b"GET / HTTP/1.0\r\n\r\n")
        for at in (0, 9, 15):
            key = bytearray(REQ)
            key[at] ^= 1
            self.closed("key wrong in octet %d" % at, frame(bytes(key), C, 1))
        self.closed("the key of a Reply", frame(REP, C, 1))
        for n in (513, 65535):
            self.closed("private data of %d octets" % n, frame(REQ, C, 1, pd_len=n))
        for rev in (3, 255):
            self.closed("revision %d" % rev, frame(REQ, C, rev))
        for n in range(4):
            self.closed("an enhanced word of %d octets" % n, frame(REQ, C | S, 2, bytes(n)))
        self.closed("octets behind the Request", frame(REQ, C, 1) + b"x")
        self.closed("private data that end early", frame(REQ, C, 1, b"xx", 20), fin=True)
        self.closed("half a header", REQ, fin=True)
        self.closed("nothing", b"", fin=True)

    def unserved(self):
        # more private data than the kernel's interface can pass to a ULP: refused
        for n in (256, 511, 512):
            self.refused("private data of %d octets" % n, frame(REQ, C, 1, b"p" * n), R, 1)
        self.refused("private data of 256 octets, enhanced",
                     frame(REQ, C | S, 2, enh(1, 1) + b"p" * 256), R | S, 2)
        self.refused("revision 0", frame(REQ, M | C, 0), R, 1)

    def proper(self):
        self.accepted("revision 1", frame(REQ, C, 1),
                      lambda r: r.flags == C and r.rev == 1 and not r.pd)
        self.accepted("revision 1, no CRC asked for", frame(REQ, 0, 1), lambda r: r.flags == C)
        self.accepted("markers wanted", frame(REQ, M | C, 1), lambda r: r.flags == C)
        self.accepted("markers wanted, enhanced", frame(REQ, M | C | S, 2, enh(1, 1)),
                      lambda r: r.flags == C | S)
        self.accepted("R and the reserved bits", frame(REQ, 0x7F, 1), lambda r: r.flags == C)
        for n in (1, 255):
            self.accepted("private data of %d octets" % n, frame(REQ, C, 1, b"p" * n))
        self.accepted("private data of 255 octets, enhanced",
                      frame(REQ, C | S, 2, enh(1, 1) + b"p" * 255), lambda r: r.enhanced)
        self.accepted("revision 1 with S, which means nothing there", frame(REQ, C | S, 1, enh(1, 1)),
                      lambda r: r.flags == C and r.rev == 1 and not r.pd)
        self.accepted("revision 2, plain", frame(REQ, C, 2, b"pd"),
                      lambda r: r.flags == C and r.rev == 2)
        self.accepted("enhanced, peer to peer", frame(REQ, C | S, 2, enh(16, 8) + b"pd"),
                      lambda r: r.enhanced and r.words()[0] & 0x8000 and r.words()[1] & 0xC000)
        self.accepted("enhanced, client and server", frame(REQ, C | S, 2, enh(16, 8, 0, 0, 0, 0)),
                      lambda r: r.enhanced and not (r.words()[0] | r.words()[1]) & 0xC000)
        self.accepted("enhanced, A clear and B, C, D set", frame(REQ, C | S, 2, enh(16, 8, 0, 1, 1, 1)),
                      lambda r: r.enhanced and not (r.words()[0] | r.words()[1]) & 0xC000)
        self.accepted("depths of 0", frame(REQ, C | S, 2, enh(0, 0, 0, 0, 0, 0)),
                      lambda r: r.words() == (0, 0))
        self.accepted("the largest depths", frame(REQ, C | S, 2, enh(0x3FFE, 0x3FFE, 0, 0, 0, 0)),
                      lambda r: max(r.words()) < ANY_DEPTH)
        self.accepted("no depths", frame(REQ, C | S, 2, enh(ANY_DEPTH, ANY_DEPTH, 0, 0, 0, 0)),
                      lambda r: r.words() == (ANY_DEPTH, ANY_DEPTH))
        self.accepted("no inbound reads told of", frame(REQ, C | S, 2, enh(ANY_DEPTH, 1, 0, 0, 0, 0)),
                      lambda r: r.words() == (1, ANY_DEPTH))
        self.accepted("no outbound reads told of", frame(REQ, C | S, 2, enh(0, ANY_DEPTH, 0, 0, 0, 0)),
                      lambda r: r.words() == (ANY_DEPTH, 0))
        self.accepted("no inbound reads at all", frame(REQ, C | S, 2, enh(0, 4, 0, 0, 0, 0)),
                      lambda r: r.words()[1] == 0)

    def rtr(self):
        """The Reply has all offered kinds, but a Send only if no other is offered (6581 9.2)."""
        for send, write, read in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1),
                                  (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)):
            def good(rep, send=send, write=write, read=read):
                first, second = rep.words()
                kinds = first >> 14 & 1, second >> 15, second >> 14 & 1
                want = ((0, write, read) if write or read else
                        (1, 0, 0) if send else kinds)
                return first & 0x8000 and kinds == want and any(kinds) and \
                    (first & ANY_DEPTH or not kinds[2])
            self.accepted("ready to receive: Send %d, Write %d, Read %d" % (send, write, read),
                          frame(REQ, C | S, 2, enh(4, 0, 1, send, write, read)), good)

    def ready(self, what, words, first, msn):
        """The ULP does not receive the RTR message: the ping after it fills the posted buffer."""
        sock = self.accepted(what, frame(REQ, C | S, 2, words), keep=True)
        sock.sendall(first)
        if first == RTR_READ:
            fpdu.receive(sock)
        ping = struct.pack(">QII", 0x1000, 7, 64)
        sock.sendall(fpdu.fpdu(fpdu.untagged(fpdu.SEND, fpdu.QN_SEND, msn, ping)))
        seg = fpdu.receive(sock)
        TAP.ok(seg.opcode == fpdu.READ_REQ and seg.msn == 1 and
               seg.data[12:] == struct.pack(">IIQ", 64, 7, 0x1000), what + ": the ULP goes on", seg)
        sock.close()

    def split(self):
        sock = self.connect()
        for octet in frame(REQ, C | S, 2, enh(1, 1) + b"octet by octet"):
            sock.sendall(bytes([octet]))
        TAP.ok(receive(sock).key == REP, "a Request in single octets")
        sock.close()

    def holds_back(self):
        """The responder sends nothing after the Reply before it gets an FPDU (5044 7.1.2 r4)."""
        sock = self.accepted("a Request, and then silence", frame(REQ, C, 1), keep=True)
        data, end = rest(sock, 2)
        TAP.ok(not data and end == "open", "the responder holds back", (data, end))
        sock.close()

    def resets(self):
        for cut in (0, 10, 20):
            sock = self.connect()
            sock.sendall(frame(REQ, C, 1)[:cut])
            reset(sock)
        self.accepted("after resets at every stage", frame(REQ, C, 1))

    def trickle(self, ended):
        sock = self.connect()
        try:
            for octet in frame(REQ, C | S, 2, enh(1, 1) + bytes(400)):
                sock.sendall(bytes([octet]))
                time.sleep(0.5)
            ended.append(False)
        except OSError:
            ended.append(True)
        sock.close()

    def patience(self):
        """One deadline for the whole startup (5044 7.1.2 r10), and no connection waits for others."""
        ended = []
        thread = threading.Thread(target=self.trickle, args=(ended,))
        thread.start()
        silent = self.connect()
        crowd = [self.connect() for _ in range(MANY)]
        self.accepted("beside %d silent ones" % MANY, frame(REQ, C, 1))
        data, end = rest(silent, 100)
        TAP.ok(not data and end != "open", "a silent initiator is closed upon", (data, end))
        thread.join()
        TAP.ok(ended == [True], "a peer that trickles octets is closed upon")
        left = sum(rest(sock, 100)[1] == "open" for sock in crowd)
        TAP.ok(left == 0, "all of these are closed upon", left)

    def crc_required(self):
        self.refused("no CRC", frame(REQ, 0, 1), R, 1)
        self.refused("no CRC, enhanced", frame(REQ, S, 2, enh(1, 1)), R | S, 2)
        self.accepted("CRC", frame(REQ, C, 1), lambda r: r.flags == C)

    def revision_1(self):
        self.closed("revision 2", frame(REQ, C | S, 2, enh(1, 1)))
        self.closed("revision 2, plain", frame(REQ, C, 2))
        self.accepted("revision 1", frame(REQ, C, 1), lambda r: r.flags == C and r.rev == 1)

    def rdmac(self):
        """A permissive responder (5044 C.2.3, C.2.4)."""
        self.refused("revision 0 without markers", frame(REQ, C, 0), R, 1)
        self.accepted("revision 1", frame(REQ, C, 1), lambda r: r.flags == C and r.rev == 1)
        self.accepted("revision 2", frame(REQ, C | S, 2, enh(1, 1)), lambda r: r.enhanced)
        sock = self.accepted("revision 0", frame(REQ, M | C, 0),
                             lambda r: r.flags == M | C and r.rev == 0, keep=True)
        stream = RdmacStream(sock)
        stream.send(fpdu.tagged(fpdu.WRITE, 1, 0, dv=0, rv=0))
        ping = struct.pack(">QII", 0x1000, 7, 1000)
        stream.send(fpdu.untagged(fpdu.SEND, fpdu.QN_SEND, 1, ping, dv=0, rv=0))
        seg = stream.receive()
        TAP.ok(stream.good(seg) and seg.opcode == fpdu.READ_REQ,
               "its messages: version 0, markers, CRC", seg)
        sink, offset, size, *_ = seg.read_request()
        for at in range(0, size, 100):
            stream.send(fpdu.tagged(fpdu.READ_RESP, sink, offset + at, bytes(100), at + 100 == size,
                                    dv=0, rv=0))
        seg = stream.receive()
        TAP.ok(stream.good(seg) and seg.opcode == fpdu.SEND, "the ULP goes on", seg)
        stream.send(fpdu.tagged(fpdu.WRITE, 1, 0))
        seg = stream.receive()
        TAP.ok(stream.good(seg) and seg.opcode == fpdu.TERM and seg.term() == (1, 1, 4),
               "version 1 in between: Terminate 1/1/04", seg)
        sock.close()

    def run(self):
        self.improper()
        self.unserved()
        self.proper()
        self.rtr()
        self.ready("a Write to be ready", enh(1, 1, 1, 0, 1, 0), RTR_WRITE, 1)
        self.ready("a Read to be ready", enh(1, 0, 1, 0, 0, 1), RTR_READ, 1)
        self.ready("a Send to be ready", enh(1, 1, 1, 1, 0, 0), RTR_SEND, 2)
        self.split()
        self.holds_back()
        self.resets()
        self.patience()


class Responder:
    """Replies to a client."""

    def __init__(self, host, port, command):
        self.command = command
        self.sock = patience.server((host, int(port)), 90)

    def begin(self):
        """Starts a client; returns it, and its Request, which waits for an answer."""
        proc = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return proc, *self.another()

    def another(self):
        """Accepts a connection; returns it and its Request."""
        sock, _ = self.sock.accept()
        return sock, receive(sock)

    def client(self, what, event, reply, then=None, test=lambda data, end: True, old=None):
        """
        Answers one client, which must print @event. With @old, the first connection ends by the
        function old instead of a Reply, and the answer is for the client's second Request.
        """
        proc, sock, req = self.begin()
        if old:
            old(sock)
            sock.close()
            sock, again = self.another()
            TAP.ok(req.enhanced and again.key == REQ and again.flags == C and again.rev == 1 and
                   again.pd == req.pd[4:], what + ": a plain Request follows", (req, again))
        for part in reply if isinstance(reply, list) else [reply]:
            sock.sendall(part)
        if then:
            then(sock)
        end = rest(sock) if sock.fileno() >= 0 else None
        out = patience.output(proc, 120)[0].decode(errors="replace")
        sock.close()
        TAP.ok(event in out and (end is None or test(*end)), what, (end, out))
        TAP.ok(not select.select([self.sock], [], [], 0)[0], what + ": and no more connections")
        return req

    def request(self):
        req = self.client("a Reply of wrong key", "CONNECT_ERROR", b"x" * 20,
                          test=lambda data, end: not data and end != "open")
        good = req.key == REQ and req.flags == C | S and req.rev == 2 and req.enhanced
        TAP.ok(good and req.words()[0] & 0xC000 == 0xC000 and req.words()[1] & 0xC000 == 0xC000,
               "the Request: enhanced, CRC, peer to peer, all kinds to be ready offered", req)

    def improper(self):
        silent = lambda data, end: not data and end != "open"
        fin = lambda sock: sock.shutdown(socket.SHUT_WR)
        for what, octets in (
                ("another initiator", frame(REQ, C, 1)),
                ("revision 3", frame(REP, C | S, 3, enh(1, 1))),
                ("private data of 513 octets", frame(REP, C, 1, pd_len=513)),
                ("an enhanced word of no octets", frame(REP, C | S, 2)),
                ("an enhanced word of 3 octets", frame(REP, C | S, 2, bytes(3)))):
            self.client("Reply: " + what, "CONNECT_ERROR", octets, test=silent)
        self.client("revision 0: closed in order", "CONNECT_ERROR", frame(REP, M | C, 0),
                    test=lambda data, end: not data and end == "fin")
        self.client("the end within the Reply", "REJECTED", frame(REP, C, 1)[:15], fin, silent)
        self.client("a reset within the Reply", "REJECTED", REP, reset)

    def old(self):
        """A responder that does not know RFC 6581 closes at an enhanced Request (6581 10)."""
        end = lambda sock: sock.shutdown(socket.SHUT_WR)
        silent = lambda data, end: not data and end != "open"
        for what, old in (("the end", end), ("a reset", reset)):
            what += " instead of a Reply"
            self.client(what, "ESTABLISHED", frame(REP, C, 1), end, old=old)
            self.client(what + ", reject", "REJECTED, error -111", frame(REP, C | R, 1, b"no"), old=old)
            self.client(what + ", twice", "REJECTED, error -104", b"", end, silent, old=old)
        self.client("an enhanced Reply to a plain Request", "CONNECT_ERROR",
                    frame(REP, C | S, 2, enh(1, 1)), test=silent, old=end)

    def private_data(self):
        """The second Request has the private data, too."""
        proc, sock, req = self.begin()
        while not req.pd[4:]:
            sock.close()
            sock, req = self.another()
        sock.close()
        sock, again = self.another()
        TAP.ok(req.enhanced and again.rev == 1 and again.pd and again.pd == req.pd[4:],
               "private data of the first Request in the second", (req, again))
        proc.terminate()
        proc.communicate()
        sock.close()

    def refusals(self):
        fin = lambda data, end: not data and end == "fin"
        self.client("a reject", "REJECTED, error -111", frame(REP, C | R, 1, b"no"), test=fin)
        self.client("a reject, enhanced", "REJECTED, error -111",
                    frame(REP, C | R | S, 2, enh(0, 0) + b"n" * 508), test=fin)

    def unfit(self):
        self.client("more reads than the Request allows: Terminate 2/0/06", "CONNECT_ERROR",
                    frame(REP, C | S, 2, enh(1, 200)),
                    test=lambda data, end: data == TERM_IRD and end == "fin")
        self.client("more reads, and markers in front of the Terminate", "CONNECT_ERROR",
                    frame(REP, M | C | S, 2, enh(1, 200)),
                    test=lambda data, end: data == marked(TERM_IRD) and end == "fin")
        self.client("no ready-to-receive message: Terminate 2/0/07", "CONNECT_ERROR",
                    frame(REP, C | S, 2, enh(1, 1, 1, 0, 0, 0)),
                    test=lambda data, end: data == TERM_RTR and end == "fin")
        self.client("no place for a Read to be ready: Terminate 2/0/07", "CONNECT_ERROR",
                    frame(REP, C | S, 2, enh(0, 1, 1, 0, 0, 1)),
                    test=lambda data, end: data == TERM_RTR and end == "fin")
        self.client("private data of 256 octets: Terminate 2/0/05", "CONNECT_ERROR",
                    frame(REP, C | S, 2, enh(1, 1) + b"p" * 256),
                    test=lambda data, end: data == TERM_LOCAL and end == "fin")
        self.client("private data of 256 octets, plain", "CONNECT_ERROR", frame(REP, C, 1, b"p" * 256),
                    test=lambda data, end: not data and end == "fin")

    def established(self, what, reply, first=RTR_WRITE):
        """After a good Reply, the device sends the ready-to-receive message (6581 9.2)."""
        got = []

        def end(sock):
            got.append(sock.recv(len(first), socket.MSG_WAITALL))
            sock.shutdown(socket.SHUT_WR)

        self.client(what, "ESTABLISHED", reply, end)
        TAP.ok(got == [first], what + ": and what comes first", got)

    def proper(self):
        fin = lambda sock: sock.shutdown(socket.SHUT_WR)
        good = frame(REP, C | S, 2, enh(1, 1))
        self.established("a good Reply", good)
        self.established("a good Reply in single octets", [bytes([octet]) for octet in good])
        for kinds, first in (((1, 1, 1), RTR_WRITE), ((1, 0, 1), RTR_READ), ((0, 0, 1), RTR_READ),
                             ((1, 1, 0), RTR_WRITE), ((1, 0, 0), RTR_SEND)):
            self.established("ready to receive: Send %d, Write %d, Read %d" % kinds,
                             frame(REP, C | S, 2, enh(1, 1, 1, *kinds)), first)
        self.established("markers wanted", frame(REP, M | C | S, 2, enh(1, 1)), marked(RTR_WRITE))
        self.established("no place for a Read to be ready, but a Send",
                         frame(REP, C | S, 2, enh(0, 1, 1, 1, 0, 1)), RTR_SEND)
        self.established("more reads than asked for, but not than possible",
                         frame(REP, C | S, 2, enh(1, 128)))
        self.established("depths that are not told", frame(REP, C | S, 2, enh(ANY_DEPTH, ANY_DEPTH)))
        self.established("private data of 255 octets", frame(REP, C | S, 2, enh(1, 1) + b"p" * 255))
        self.client("client and server", "ESTABLISHED", frame(REP, C | S, 2, enh(1, 1, 0, 0, 0, 0)), fin)
        self.client("a plain Reply of revision 1", "ESTABLISHED", frame(REP, C, 1), fin)
        self.client("an FPDU in one segment with the Reply", "DISCONNECT", good + TERM_CRC,
                    test=lambda data, end: end != "open")

    def crc_required(self):
        fin = lambda sock: sock.shutdown(socket.SHUT_WR)
        self.client("no CRC", "CONNECT_ERROR", frame(REP, S, 2, enh(1, 1)),
                    test=lambda data, end: data == TERM_LOCAL and end == "fin")
        self.client("no CRC, plain", "CONNECT_ERROR", frame(REP, 0, 1),
                    test=lambda data, end: not data and end == "fin")
        self.client("a reject without CRC", "REJECTED, error -111", frame(REP, R, 1))
        self.client("CRC", "ESTABLISHED", frame(REP, C, 1), fin)

    def revision_1(self):
        fin = lambda sock: sock.shutdown(socket.SHUT_WR)
        req = self.client("a Reply", "ESTABLISHED", frame(REP, C, 1), fin)
        TAP.ok(req.key == REQ and req.flags == C and req.rev == 1, "the Request: plain", req)
        self.client("a Reply of revision 2", "CONNECT_ERROR", frame(REP, C, 2),
                    test=lambda data, end: not data and end != "open")
        self.client("the end instead of a Reply", "REJECTED, error -104", b"", fin,
                    lambda data, end: not data and end != "open")

    def rdmac(self):
        """A permissive initiator (5044 C.2.3, C.2.5)."""
        fin = lambda sock: sock.shutdown(socket.SHUT_WR)
        got = []

        def first(sock):
            stream = RdmacStream(sock)
            seg = stream.receive()
            got.append((stream.good(seg), seg.opcode))
            sock.shutdown(socket.SHUT_WR)

        req = self.client("a Reply of revision 1", "ESTABLISHED", frame(REP, C, 1), fin)
        TAP.ok(req.flags == C and req.rev == 1, "the Request: plain", req)
        self.client("a Reply of revision 0", "ESTABLISHED", frame(REP, M | C, 0), first)
        TAP.ok(got == [(True, fpdu.SEND)], "its messages: version 0, markers, CRC", got)
        self.client("a reject of revision 0", "REJECTED, error -111", frame(REP, M | C | R, 0, b"no"))
        self.client("a Reply of revision 0 without markers", "CONNECT_ERROR", frame(REP, C, 0),
                    test=lambda data, end: not data and end == "fin")

    def run(self):
        # this client gets no answer during all other cases
        proc, sock, _ = self.begin()
        self.request()
        self.improper()
        self.old()
        self.refusals()
        self.unfit()
        self.proper()
        out = patience.output(proc, 120)[0].decode(errors="replace")
        sock.close()
        TAP.ok("UNREACHABLE" in out, "a silent responder", out)


def main():
    role, _, case = sys.argv[1].partition(".")
    host, port, *command = sys.argv[2:]
    peer = Initiator(host, port) if role == "initiator" else Responder(host, port, command)
    getattr(peer, case or "run")()
    TAP.finish()


if __name__ == "__main__":
    main()
