#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Startup against a peer that speaks for itself.

startup.py initiator HOST PORT            connects to a listener that accepts all
startup.py responder HOST PORT COMMAND... is connected to by COMMAND, which must
                                          print the names of rdma_cm's events

The rows of the RFCs are named where a case stands for one.
"""
import socket
import subprocess
import sys
import threading
import time

from mpa import ANY_DEPTH, C, M, R, REP, REQ, S, Tap, enh, frame, receive, reset, rest

TAP = Tap()
MANY = 300
# Terminates that an initiator sends instead of its first FPDU (RFC 6581 8)
TERM_IRD = bytes.fromhex("0016414700000000000000020000000100000000200600006540fb1b")
TERM_RTR = bytes.fromhex("0016414700000000000000020000000100000000200700001bd2babe")
# and one of a responder (2/0/02), as its first
TERM_CRC = bytes.fromhex("0016414700000000000000020000000100000000200200007fe42585")
# a ready-to-receive message: length, DDP and RDMAP control of an RDMA Write
FPDU_RTR = 20
RTR_WRITE = b"\x00\x0e\xc1\x40"


class Initiator:
    """Requests to a listener."""

    def __init__(self, host, port):
        self.where = (host, int(port))

    def connect(self):
        return socket.create_connection(self.where, timeout=60)

    def closed(self, what, octets, fin=False):
        """An improper Request: the connection ends without a word (5044 7.1.2 r2)."""
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
        self.refused("revision 0", frame(REQ, M | C, 0), R, 1)
        self.refused("markers, revision 1", frame(REQ, M | C, 1), R, 1)
        self.refused("markers, enhanced", frame(REQ, M | C | S, 2, enh(1, 1)), R | S, 2)

    def proper(self):
        self.accepted("revision 1", frame(REQ, C, 1),
                      lambda r: r.flags == C and r.rev == 1 and not r.pd)
        self.accepted("revision 1, no CRC asked for", frame(REQ, 0, 1), lambda r: r.flags == C)
        self.accepted("R and the reserved bits", frame(REQ, 0x7F, 1), lambda r: r.flags == C)
        for n in (1, 255, 256, 511, 512):
            self.accepted("private data of %d octets" % n, frame(REQ, C, 1, b"p" * n))
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
        sock = self.connect()
        for octet in frame(REQ, C | S, 2, enh(1, 1) + b"octet by octet"):
            sock.sendall(bytes([octet]))
        TAP.ok(receive(sock).key == REP, "a Request in single octets")
        sock.close()

    def holds_back(self):
        """Nothing behind the Reply before the first FPDU (5044 7.1.2 r4)."""
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
        """One deadline for all of the startup (5044 7.1.2 r10), and nobody waits for others."""
        ended = []
        thread = threading.Thread(target=self.trickle, args=(ended,))
        thread.start()
        silent = self.connect()
        crowd = [self.connect() for _ in range(MANY)]
        self.accepted("beside %d silent ones" % MANY, frame(REQ, C, 1))
        data, end = rest(silent, 100)
        TAP.ok(not data and end != "open", "a silent initiator is closed upon", (data, end))
        thread.join()
        TAP.ok(ended == [True], "one who trickles octets is closed upon")
        left = sum(rest(sock, 100)[1] == "open" for sock in crowd)
        TAP.ok(left == 0, "all of these are closed upon", left)

    def run(self):
        self.improper()
        self.unserved()
        self.proper()
        self.holds_back()
        self.resets()
        self.patience()


class Responder:
    """Replies to a client."""

    def __init__(self, host, port, command):
        self.command = command
        self.fpdu = b""
        self.sock = socket.create_server((host, int(port)))
        self.sock.settimeout(90)

    def begin(self):
        """A client, whose Request waits for its answer."""
        proc = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        sock, _ = self.sock.accept()
        return proc, sock, receive(sock)

    def client(self, what, event, reply, then=None, test=lambda data, end: True):
        """Answer one client; @event must be among what it prints."""
        proc, sock, req = self.begin()
        for part in reply if isinstance(reply, list) else [reply]:
            sock.sendall(part)
        if then:
            then(sock)
        end = rest(sock) if sock.fileno() >= 0 else None
        out = proc.communicate(timeout=120)[0].decode(errors="replace")
        sock.close()
        TAP.ok(event in out and (end is None or test(*end)), what, (end, out))
        return req

    def request(self):
        req = self.client("a Reply of wrong key", "CONNECT_ERROR", b"x" * 20,
                          test=lambda data, end: not data and end != "open")
        good = req.key == REQ and req.flags == C | S and req.rev == 2 and req.enhanced
        TAP.ok(good and req.words()[0] & 0xC000 == 0x8000 and req.words()[1] & 0xC000 == 0xC000,
               "the Request: enhanced, CRC, peer to peer, Write and Read offered", req)

    def improper(self):
        silent = lambda data, end: not data and end != "open"
        fin = lambda sock: sock.shutdown(socket.SHUT_WR)
        for what, octets in (
                ("another initiator", frame(REQ, C, 1)),
                ("revision 3", frame(REP, C | S, 3, enh(1, 1))),
                ("private data of 513 octets", frame(REP, C, 1, pd_len=513)),
                ("an enhanced word of no octets", frame(REP, C | S, 2)),
                ("an enhanced word of 3 octets", frame(REP, C | S, 2, bytes(3))),
                ("markers wanted", frame(REP, M | C | S, 2, enh(1, 1)))):
            self.client("Reply: " + what, "CONNECT_ERROR", octets, test=silent)
        self.client("the end instead of a Reply", "REJECTED", b"", fin, silent)
        self.client("the end within the Reply", "REJECTED", frame(REP, C, 1)[:15], fin, silent)
        self.client("a reset instead of a Reply", "REJECTED", b"", reset)

    def refusals(self):
        fin = lambda data, end: not data and end == "fin"
        self.client("a reject", "REJECTED, error -111", frame(REP, C | R, 1, b"no"), test=fin)
        self.client("a reject, enhanced", "REJECTED, error -111",
                    frame(REP, C | R | S, 2, enh(0, 0) + b"n" * 508), test=fin)

    def unfit(self):
        self.client("more reads than the Request allows: Terminate 2/0/06", "CONNECT_ERROR",
                    frame(REP, C | S, 2, enh(1, 200)),
                    test=lambda data, end: data == TERM_IRD and end == "fin")
        self.client("no ready-to-receive message: Terminate 2/0/07", "CONNECT_ERROR",
                    frame(REP, C | S, 2, enh(1, 1, 1, 1, 0, 0)),
                    test=lambda data, end: data == TERM_RTR and end == "fin")

    def first(self, sock):
        """The first FPDU; then the end."""
        self.fpdu = sock.recv(FPDU_RTR, socket.MSG_WAITALL)
        sock.shutdown(socket.SHUT_WR)

    def established(self, what, reply):
        """A good Reply, upon which the ready-to-receive message comes (6581 9.2)."""
        self.client(what, "ESTABLISHED", reply, self.first)
        TAP.ok(self.fpdu[:4] == RTR_WRITE, "%s: a Write of no octets comes first" % what, self.fpdu.hex())

    def proper(self):
        fin = lambda sock: sock.shutdown(socket.SHUT_WR)
        good = frame(REP, C | S, 2, enh(1, 1))
        self.established("a good Reply", good)
        self.established("a good Reply in single octets", [bytes([octet]) for octet in good])
        self.client("a plain Reply of revision 1", "ESTABLISHED", frame(REP, C, 1), fin)
        self.client("an FPDU in one segment with the Reply", "DISCONNECT", good + TERM_CRC,
                    test=lambda data, end: end != "open")

    def run(self):
        # meets silence, beside all that follows
        proc, sock, _ = self.begin()
        self.request()
        self.improper()
        self.refusals()
        self.unfit()
        self.proper()
        out = proc.communicate(timeout=120)[0].decode(errors="replace")
        sock.close()
        TAP.ok("UNREACHABLE" in out, "a silent responder", out)


def main():
    role, args = sys.argv[1], sys.argv[2:]
    if role == "initiator":
        Initiator(*args).run()
    else:
        Responder(args[0], args[1], args[2:]).run()
    TAP.finish()


if __name__ == "__main__":
    main()
