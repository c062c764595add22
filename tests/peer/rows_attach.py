# SPDX-License-Identifier: GPL-2.0
"""RFC 5044 7.1.3, 7.1.5: startup on TCP connections that are already in use. The program on the
device's side is "iwt_attach serve"."""
import subprocess

import mpa
from outcome import Skip, check, equal
from rows import row


class Serve:
    """
    A process of "iwt_attach serve". The peer sends commands to it on each connection, in streaming
    mode.
    """

    def __init__(self, place):
        command = place.ulp[:-1] + [place.ulp[-1].replace("iwt_ulp", "iwt_attach")]
        self.proc = subprocess.Popen(command + ["serve", place.device, place.there, "0"],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.line().split()[-1])

    def line(self):
        """Returns the next line of the program's output."""
        return self.proc.stdout.readline().strip()

    def close(self):
        """Ends the program."""
        crashed = (self.proc.poll() or 0) < 0
        self.proc.kill()
        self.proc.communicate()
        check(not crashed, "iwt_attach ends with status", self.proc.returncode)


def told(t, octets):
    """Starts the program, and sends octets to it; returns the Serve and the Peer."""
    t.only("iw_tcp")
    serve = t.keep(Serve(t.place))
    peer = t.connect(serve.port)
    peer.sock.sendall(octets)
    return serve, peer


def hears(peer, octets):
    """Checks that the peer receives these octets in streaming mode."""
    peer.sock.settimeout(30)
    got = b""
    while len(got) < len(octets):
        more = peer.sock.recv(len(octets) - len(got))
        check(more, "the end after", got)
        got += more
    equal(got, octets, "text")


def echoes(peer):
    """Checks that RDMA works in both directions."""
    peer.put_send(b"message")
    equal(peer.segment().data, b"message", "the message back")


@row("MPA-55", "MPA-84")
def delayed_startup(t):
    """Startup after streaming data: the responder sends its last streaming message, then gets the Request"""
    _, peer = told(t, b"accept\n")
    hears(peer, b"ack\n")
    peer.request(pd=b"pd")
    check(not peer.reply().flags & mpa.R, "accepted")
    peer.expect_silence()
    echoes(peer)


@row("MPA-55")
def delayed_initiator(t):
    """Startup after streaming data: the device is the initiator, and sends the Request"""
    _, peer = told(t, b"connect\n")
    peer.await_request()
    peer.accept()
    peer.put_send(b"message")
    got = peer.segment()
    while not got.data:     # the ready-to-receive message
        got = peer.segment()
    equal(got.data, b"message", "the message back")


@row("MPA-71")
def reject_leaves_tcp(t):
    """After the device's Reply with R both programs still use the TCP connection"""
    _, peer = told(t, b"reject\n")
    hears(peer, b"ack\n")
    peer.sock.sendall(mpa.frame(mpa.REQ, mpa.C, 1, b"please"))
    rep = mpa.receive(peer.sock)
    check(rep.key == mpa.REP and rep.flags & mpa.R and rep.pd == b"no", "a reject", rep)
    peer.sock.sendall(b"still here\n")
    hears(peer, b"still here\n")


@row("MPA-74")
def rejected_keeps_tcp(t):
    """An initiator that gets a Reply with R keeps the TCP connection, and the octets after the Reply"""
    _, peer = told(t, b"connect\n")
    req = mpa.receive(peer.sock)
    check(req.key == mpa.REQ, "a Request", req)
    peer.sock.sendall(mpa.frame(mpa.REP, mpa.C | mpa.R, 1, b"no") + b"at once\n")
    hears(peer, b"at once\n")


@row("MPA-83")
def nothing_outstanding(t):
    """The device sends no Request while its socket holds unread text; the program gets ENOTEMPTY"""
    if t.place.path != "direct" or not t.place.lossless:
        raise Skip("the text may come later")
    serve, peer = told(t, b"connect\nand more\n")
    data, end = peer.rest()
    check(not data and end != "open", "no Request", data, end)
    check("not empty" in serve.line(), "the program prints the reason")


@row("MPA-83")
def outstanding_is_the_request(t):
    """The responder takes octets that already wait in its socket as the Request"""
    _, peer = told(t, b"accept\n" + mpa.frame(mpa.REQ, mpa.C, 1))
    hears(peer, b"ack\n")
    rep = mpa.receive(peer.sock)
    check(rep.key == mpa.REP and not rep.flags & mpa.R, "accepted", rep)


def says(serve, what):
    """Checks that the next line of the program's output begins with the word what. Returns the rest
    of the line: octets, or a tuple of numbers if the word is "depths"."""
    word, _, rest = serve.line().partition(" ")
    equal(word, what, "the program's line")
    return bytes.fromhex(rest) if what != "depths" else tuple(int(number) for number in rest.split())


@row("MPA-67", "EMPA-5")
def all_private_data(t):
    """Private data of 0 to 512 octets (508 if enhanced) reach the program, and return in the Reply or reject"""
    t.only("iw_tcp")
    serve = t.keep(Serve(t.place))
    for word in (b"back\n", b"refuse\n"):
        for size in (0, 1, 4, 255, 256, 257, 507, 508, 509, 511, 512):
            for enhanced in (False, True):
                if enhanced and size > 508:
                    continue
                peer = t.connect(serve.port)
                peer.sock.sendall(word)
                hears(peer, b"ack\n")
                data = t.rng.randbytes(size)
                peer.request(pd=data, word=(9, 300) if enhanced else None)
                rep = peer.reply()
                equal(bool(rep.flags & mpa.R), word == b"refuse\n", "R, %d octets" % size)
                equal(rep.pd[4 * enhanced:], data, "private data of the Reply")
                equal(says(serve, "depths"), (9, 300) if enhanced else (mpa.ANY_DEPTH,) * 2, "depths of the Request")
                equal(says(serve, "request"), data, "private data of the Request")
                if not rep.flags & mpa.R:
                    echoes(peer)
                peer.close()
                serve.line()


@row("MPA-67", "EMPA-5")
def all_private_data_initiator(t):
    """Private data of an initiator's Request, and of the Reply or reject to it, arrive unchanged (0 to 512 octets)"""
    t.only("iw_tcp")
    serve = t.keep(Serve(t.place))
    for size in (0, 1, 255, 256, 257, 508, 512):
        for reject in (0, mpa.R):
            plain = size > 508
            peer = t.connect(serve.port)
            peer.sock.sendall(b"%s %d\n" % (b"plain" if plain else b"offer", size))
            own = bytes(n & 0xFF for n in range(size))
            other = peer.await_request()
            equal(other.enhanced, not plain, "an enhanced Request")
            equal(other.pd[0 if plain else 4:], own, "private data of the Request")
            data = t.rng.randbytes(size)
            peer.accept(mpa.C | reject, pd=data)
            equal(says(serve, "reply"), data, "private data of the Reply")
            if not reject:
                peer.put_send(b"message")
                got = peer.segment()
                equal((got if got.data else peer.segment()).data, b"message", "the message back")
            peer.close()
            serve.line()


@row("MPA-64", alone=True)
def long_fpdus_declined(t):
    """The Request asks for long FPDUs, the link's setting is switched off, the Reply grants them: connecting fails"""
    t.setting("large_fpdus", "on")
    serve, peer = told(t, b"connect\n")
    check(peer.await_request().flags & mpa.LARGE, "the Request asks for them")
    t.setting("large_fpdus", "off")
    peer.accept(mpa.C | mpa.LARGE)
    equal(serve.line(), "connect: Invalid argument", "what the program hears")
