#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
raw_initiator.py HOST PORT: moves data with an initiator that implements MPA, DDP and RDMAP
itself.

The responder is "iwt_hostile -s", which accepts all connections, grants 64 KiB of
memory by its private data (address, STag and length in host order), and answers
each Send with the first 32 octets of that memory.
"""
import random
import socket
import struct
import sys

import fpdu
import patience
from mpa import C, R, REQ, S, Tap, enh, frame, receive, reset, rest

TAP = Tap()


class Peer:
    """A connection in RDMA mode."""

    def __init__(self, where, flags=C, rev=1, word=b""):
        self.sock = patience.connect(where)
        self.sock.sendall(frame(REQ, flags, rev, word))
        self.reply = receive(self.sock)
        pd = self.reply.pd[4:] if flags & S else self.reply.pd
        if self.reply.flags & R or len(pd) < 16:
            raise EOFError("no grant: %s" % self.reply)
        self.addr, self.stag, self.size = struct.unpack("=QII", pd[:16])
        self.crc = bool(self.reply.flags & C)
        self.msn = 0
        self.reads = 0

    def send(self, data=b""):
        self.msn += 1
        self.sock.sendall(fpdu.fpdu(fpdu.untagged(fpdu.SEND, fpdu.QN_SEND, self.msn, data), self.crc))

    def read(self, offset, size, sink=77, sink_offset=1 << 40):
        """Reads the responder's memory; returns "read" and the data, or what is wrong."""
        self.reads += 1
        self.sock.sendall(fpdu.read(self.reads, sink, sink_offset, size, self.stag,
                                    self.addr + offset, crc=self.crc))
        data = b""
        while True:
            got = fpdu.receive(self.sock, self.crc)
            if not (got.version and got.good_crc and got.tagged and got.opcode == fpdu.READ_RESP and
                    got.stag == sink and got.offset == sink_offset + len(data)):
                return "bad segment", got
            data += got.data
            if got.last:
                return "read", data

    def close(self):
        self.sock.close()


class Wire:
    """The cases."""

    def __init__(self, host, port):
        self.where = (host, int(port))

    def moves(self, what, flags=C, rev=1, word=b"", size=1300):
        """Tests a Write, a Send and its answer, and a Read."""
        try:
            peer = Peer(self.where, flags, rev, word)
            data = random.randbytes(20001)
            if word:
                peer.sock.sendall(fpdu.write(1, 0, b"", 1, crc=peer.crc))
            peer.sock.sendall(fpdu.write(peer.stag, peer.addr, data, size, crc=peer.crc))
            # the peer's first receive is at the beginning of that memory, too
            peer.send(b"x" * 19)
            data = b"x" * 19 + data[19:]
            got = fpdu.receive(peer.sock, peer.crc)
            good = (got.version and got.good_crc and not got.tagged and got.last and
                    got.opcode == fpdu.SEND and (got.queue, got.msn, got.offset) == (0, 1, 0))
            TAP.ok(good and got.data == data[:32], what + ": Write, Send and its answer", got)
            how, back = peer.read(0, len(data))
            TAP.ok(how == "read" and back == data, what + ": Read", how)
            how, back = peer.read(5, 1)
            TAP.ok(how == "read" and back == data[5:6], what + ": Read of one octet", how)
            how, back = peer.read(0, 0)
            TAP.ok(how == "read" and back == b"", what + ": Read of nothing", how)
            peer.close()
        except (OSError, EOFError) as error:
            TAP.ok(False, what, repr(error))

    def octets(self):
        """Sends FPDUs in single octets."""
        peer = Peer(self.where)
        stream = fpdu.write(peer.stag, peer.addr, bytes(range(100)), 33)
        for octet in stream:
            peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.sock.sendall(bytes([octet]))
        peer.send()
        TAP.ok(fpdu.receive(peer.sock).data == bytes(range(32)), "FPDUs in single octets")
        peer.close()

    def refused(self, what, stream, term):
        """Expects a Terminate, and that nothing was placed."""
        try:
            peer = Peer(self.where)
            # a responder sends nothing before it has a good FPDU
            peer.sock.sendall(fpdu.write(1, 0, b"", 1) + stream(peer))
            got = fpdu.receive(peer.sock)
            data, end = rest(peer.sock)
            good = (got.good_crc and got.opcode == fpdu.TERM and
                    (got.queue, got.msn, got.offset) == (fpdu.QN_TERM, 1, 0))
            TAP.ok(good and got.term() == term and not data and end == "fin", what,
                   (got, got.term(), data, end))
            peer.close()
        except (OSError, EOFError) as error:
            TAP.ok(False, what, repr(error))

    def refusals(self):
        def tagged(stag=0, offset=0, **how):
            return lambda p: fpdu.write(p.stag ^ stag, p.addr + offset, b"evil", 9, **how)

        def send(queue=0, msn=1, offset=0, data=b"", opcode=fpdu.SEND):
            return lambda p: fpdu.fpdu(fpdu.untagged(opcode, queue, msn, data, offset))

        def read(stag=0, offset=0, size=4):
            return lambda p: fpdu.read(1, 1, 0, size, p.stag ^ stag, p.addr + offset)

        self.refused("a wrong CRC: 2/0/02", tagged(spoil=1), (2, 0, 2))
        self.refused("a Write by a wrong STag: 1/1/00", tagged(stag=0x100), (1, 1, 0))
        self.refused("a Write by a wrong key: 1/1/00", tagged(stag=1), (1, 1, 0))
        self.refused("a Write over the end: 1/1/01", tagged(offset=65533), (1, 1, 1))
        self.refused("a Write before the beginning: 1/1/01", tagged(offset=-1), (1, 1, 1))
        self.refused("a queue that is not there: 1/2/01", send(queue=3), (1, 2, 1))
        self.refused("a message number ahead: 1/2/03", send(msn=70000), (1, 2, 3))
        self.refused("an offset ahead: 1/2/04", send(offset=4), (1, 2, 4))
        self.refused("a message too long: 1/2/05", send(data=bytes(257)), (1, 2, 5))
        self.refused("a Read by a wrong STag: 0/1/00", read(stag=0x100), (0, 1, 0))
        self.refused("a Read over the end: 0/1/01", read(offset=65533), (0, 1, 1))
        self.refused("an operation that is not there: 0/2/06", send(opcode=15), (0, 2, 6))
        self.refused("DDP of another version: 1/2/06",
                     lambda p: fpdu.fpdu(b"\x42" + fpdu.untagged(3, 0, 1)[1:]), (1, 2, 6))
        self.refused("RDMAP of another version: 0/2/05",
                     lambda p: fpdu.fpdu(b"\x41\x83" + fpdu.untagged(3, 0, 1)[2:]), (0, 2, 5))

    def cuts(self):
        """Ends by FIN and RST at every offset of the Request, then of the first FPDU."""
        request = frame(REQ, C | S, 2, enh(4, 4) + b"private")
        for end in (socket.socket.close, reset):
            for at in range(len(request) + 1):
                sock = patience.connect(self.where)
                sock.sendall(request[:at])
                end(sock)
        self.moves("after a cut at every octet of a Request")
        length = len(fpdu.write(0, 0, b"12345", 9))
        for end in (socket.socket.close, reset):
            for at in range(length + 1):
                peer = Peer(self.where)
                peer.sock.sendall(fpdu.write(peer.stag, peer.addr, b"12345", 9)[:at])
                end(peer.sock)
        self.moves("after a cut at every octet of an FPDU")

    def run(self):
        self.moves("revision 1")
        self.moves("revision 1, no CRC asked for", flags=0)
        self.moves("revision 1, large segments", size=20001)
        self.moves("revision 1, small segments", size=37)
        self.moves("enhanced, peer to peer", flags=C | S, rev=2, word=enh(4, 4))
        self.octets()
        silent = patience.connect(self.where)
        self.moves("beside a silent one")
        silent.close()
        self.refusals()
        self.cuts()


if __name__ == "__main__":
    Wire(*sys.argv[1:]).run()
    TAP.finish()
