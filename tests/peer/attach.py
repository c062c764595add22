#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Tests delayed startup (RFC 5044 7.1.3). This program is the peer. The program "iwt_attach serve"
runs on the side of the device under test, at HOST and PORT. In streaming mode (before MPA), the
peer sends a word that tells iwt_attach what to do.

attach.py HOST PORT

Names such as MPA-55 are the requirements (rows of rows.tsv) that a case tests.
"""
import socket
import sys
import time

import fpdu
import patience
from mpa import C, R, REP, REQ, S, Tap, enh, frame, receive, rest

TAP = Tap()


class Attach:
    """The cases, as methods."""

    def __init__(self, host, port):
        self.where = (host, int(port))

    def begin(self, word):
        sock = patience.connect(self.where)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(word + b"\n")
        return sock

    def hello(self, word):
        """Connects and sends word; returns the socket, and whether the last streaming message of
        the device's side, "ack", arrived."""
        sock = self.begin(word)
        return sock, sock.recv(4, socket.MSG_WAITALL) == b"ack\n"

    def echo(self, what, sock, crc=True):
        """Sends a Send, and checks that the device sends the same data back in a Send."""
        try:
            sock.sendall(fpdu.fpdu(fpdu.untagged(fpdu.SEND, 0, 1, b"message"), crc=crc))
            got = fpdu.receive(sock, crc)
            TAP.ok(got.good_crc and got.opcode == fpdu.SEND and got.msn == 1 and
                   got.data == b"message", what, got)
        except (EOFError, OSError) as err:
            TAP.ok(False, what, repr(err))

    def accepted(self, what, parts, flags=C, rev=1):
        """Sends parts, the pieces of a Request, after streaming data, and checks the Reply (MPA-55,
        MPA-84); returns the socket."""
        sock, ack = self.hello(b"accept")
        TAP.ok(ack, what + ": the last streaming message, and nothing else before")
        for part in parts:
            sock.sendall(part)
            time.sleep(0.001)
        rep = receive(sock)
        TAP.ok(rep.key == REP and rep.whole and not rep.flags & R and
               rep.flags & flags == flags and rep.rev == rev, what + ": Reply", rep)
        return sock

    def responder(self):
        req = frame(REQ, C, 1, b"pd")
        sock = self.accepted("a Request", [req])
        # MPA-75: the responder sends nothing before it has received the first FPDU
        sock.settimeout(0.5)
        try:
            early = sock.recv(1)
        except socket.timeout:
            early = None
        TAP.ok(early is None, "the responder sends nothing before the first FPDU", early)
        self.echo("a message", sock)
        # after the FIN of the peer, the responder sends FIN, too
        sock.shutdown(socket.SHUT_WR)
        data, end = rest(sock)
        TAP.ok(not data and end == "fin", "a graceful end", (data, end))

        sock = self.accepted("a Request in single octets", [bytes([o]) for o in req])
        self.echo("a message after a Request in single octets", sock)
        sock.close()

        word = enh(4, 4, 0, 0, 0, 0)
        sock = self.accepted("an enhanced Request", [frame(REQ, C | S, 2, word)], C | S, 2)
        self.echo("a message after an enhanced Request", sock)
        sock.close()

        # MPA-83: octets that arrive before delayed startup begins are the beginning of the Request
        sock = self.begin(b"accept")
        sock.sendall(req)
        TAP.ok(sock.recv(4, socket.MSG_WAITALL) == b"ack\n" and receive(sock).key == REP,
               "a Request that arrives before the responder waits for it")
        self.echo("a message after a Request that arrived early", sock)
        sock.close()

    def refused(self):
        """After a reject the TCP connection still works (MPA-71)."""
        sock, _ = self.hello(b"reject")
        sock.sendall(frame(REQ, C | S, 2, enh(1, 1) + b"please"))
        rep = receive(sock)
        TAP.ok(rep.key == REP and rep.flags & (R | S) == R | S and rep.pd[4:] == b"no",
               "a reject with private data", rep)
        sock.sendall(b"still here\n")
        TAP.ok(sock.recv(11, socket.MSG_WAITALL) == b"still here\n", "TCP goes on after the reject")
        sock.close()

    def closed(self, what, octets, end_ours=False):
        """Sends octets, an improper Request; checks that the device closes the TCP connection and
        sends no Reply (MPA-58, 66, 70, 91). end_ours: the peer sends FIN after the octets."""
        sock, _ = self.hello(b"accept")
        sock.sendall(octets)
        if end_ours:
            sock.shutdown(socket.SHUT_WR)
        data, end = rest(sock)
        TAP.ok(not data and end != "open", what, (data, end))
        sock.close()

    def improper(self):
        self.closed("text in the place of a Request", b"on with TCP then\n")
        self.closed("the key of a Reply", frame(REP, C, 1))
        self.closed("private data of 513 octets", frame(REQ, C, 1, pd_len=513))
        self.closed("revision 3", frame(REQ, C, 3))
        self.closed("octets after the Request", frame(REQ, C, 1) + b"x")
        self.closed("half a Request", frame(REQ, C, 1)[:13], True)
        sock, _ = self.hello(b"accept")
        sock.sendall(b"MPA")
        data, end = rest(sock, 30)
        TAP.ok(not data and end != "open", "the device closes if the peer stops in the middle of a Request (MPA-81)",
               (data, end))
        sock.close()

    def request(self, what, reply):
        """Lets the device send a Request, and answers with the octets reply; returns the socket."""
        sock = self.begin(b"connect")
        req = receive(sock)
        TAP.ok(req.key == REQ and req.whole, what + ": Request", req)
        sock.sendall(reply)
        return sock

    def initiator(self):
        good = frame(REP, C, 1, b"pd")
        sock = self.request("initiator", good)
        self.echo("initiator: a message", sock)
        sock.close()

        sock = self.begin(b"connect")
        receive(sock)
        for octet in good:
            sock.sendall(bytes([octet]))
            time.sleep(0.001)
        self.echo("initiator: a Reply in single octets", sock)
        sock.close()

        # MPA-74: after a reject, the initiator's TCP connection still works
        sock = self.request("rejected initiator", frame(REP, C | R, 1, b"no"))
        sock.sendall(b"still here\n")
        TAP.ok(sock.recv(11, socket.MSG_WAITALL) == b"still here\n", "rejected initiator: TCP goes on")
        sock.close()

        # the peer sends text after the reject, in the same segment: the text must not be lost
        sock = self.request("rejected initiator", frame(REP, C | R, 1) + b"at once\n")
        TAP.ok(sock.recv(8, socket.MSG_WAITALL) == b"at once\n", "rejected initiator: text after the Reply")
        sock.close()

        for what, octets in (("another initiator (MPA-78)", frame(REQ, C, 1)),
                             ("private data of 513 octets", frame(REP, C, 1, pd_len=513)),
                             ("revision 3", frame(REP, C, 3))):
            sock = self.request(what, octets)
            data, end = rest(sock)
            TAP.ok(not data and end != "open", what + ": closed", (data, end))
            sock.close()

    def run(self):
        self.responder()
        self.refused()
        self.improper()
        self.initiator()
        self.begin(b"bye").close()
        TAP.finish()


if __name__ == "__main__":
    Attach(*sys.argv[1:]).run()
