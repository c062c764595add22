# SPDX-License-Identifier: GPL-2.0
"""
Both ends of the direct connections of direct.py: a queue pair of the device, and the peer, which
knows all numbers that the two ends of the connection must know.
"""
import ipaddress
import os
import random
import shlex
import socket
import struct
import subprocess
import time

import fpdu
import mpa
import patience
import ulp
from case import Closing, counters_of
from outcome import check, equal
from peer import Peer
from ulp import Ulp

MAGIC, VERSION, RTS_FLAG, RNR_FOREVER = 0x69774443, 1, 1, 7
PD_LEN, REQ_LEN = 56, mpa.HDR_LEN + 4 + 56
LAYOUT = ">IBBBBIIII16s16s"
FIELDS = "magic version flags rnr reserved qpn peer_qpn sq_psn rq_psn gid peer_gid".split()
OWN_STAG = 1            # the STag of the Reads that confirm messages
RETRY_EXC, RNR_EXC = 12, 13
MEM_LEN, FILL, MSG = 4096, 0xA5, 64
HALF_OPEN = 1024        # the most half-open connections of a direct listener
LINGERING = 1024        # the most connections of a link that wait for the peer's FIN without a queue pair
WORD = mpa.enh(6, 6)


def gid_of(address):
    """Returns the GID of an address, 16 octets."""
    address = ipaddress.ip_address(address)
    return address.packed if address.version == 6 else bytes(10) + b"\xff\xff" + address.packed


def pack(values):
    """Returns private data with these values of FIELDS."""
    return struct.pack(LAYOUT, *[values[name] for name in FIELDS])


class Pair:
    """
    A queue pair of the device, and the numbers of the queue pair that the peer pretends to have.
    The receive buffers of the queue pair are the first half of the memory mr, each MSG octets.
    """

    def __init__(self, bench, srq=None):
        self.bench, self.ulp, self.srq = bench, bench.ulp, srq
        rng = bench.rng
        self.id, self.cq, self.mr = self.ulp.new(), self.ulp.new(), self.ulp.new()
        self.qpn = self.ulp.direct(id=self.id, scq=self.cq, rcq=self.cq, srq=srq)["qpn"]
        mem = self.ulp.mr(mr=self.mr, len=MEM_LEN, access="lwra", fill=FILL)
        self.addr, self.stag = mem["addr"], mem["stag"]
        self.peer_qpn = rng.randrange(1 << 24)
        self.psn, self.peer_psn = rng.randrange(1 << 24), rng.randrange(1 << 24)
        self.recvs = 0

    def rtr(self, gid=None, **how):
        """Changes the queue pair to RTR."""
        self.ulp.rtr(id=self.id, index=self.bench.index, gid=gid or self.bench.gid, qpn=self.peer_qpn,
                     psn=self.peer_psn, **how)

    def rts(self, **how):
        """Changes the queue pair to RTS."""
        self.ulp.rts(id=self.id, psn=self.psn, **how)

    def wait(self, timer=12, **how):
        """Changes the queue pair to RTS: from now on it waits for the peer, or connects."""
        self.rtr(timer=timer)
        self.rts(**how)
        return self

    def reset(self):
        """Changes the queue pair to RESET, and drops its completions."""
        self.ulp.modify(id=self.id, state=ulp.RESET)
        while self.ulp.poll(1, 0, False, cq=self.cq):
            pass
        self.recvs = 0

    def destroy(self):
        """Destroys the queue pair."""
        self.ulp.destroy(id=self.id)

    def state(self):
        """Returns the state of the queue pair."""
        return self.ulp.query(id=self.id)["state"]

    def ends(self):
        """Waits until the queue pair is in the error state. The device may delay this state until
        the peer has received a Terminate."""
        check(patience.until(lambda: self.state() == ulp.ERR, 30), "the queue pair must enter the error state:", self.state())

    def mine(self, **other):
        """Returns the right private data of the peer, with other values for some fields."""
        return {"magic": MAGIC, "version": VERSION, "flags": RTS_FLAG, "rnr": RNR_FOREVER, "reserved": 0,
                "qpn": self.peer_qpn, "peer_qpn": self.qpn, "sq_psn": self.peer_psn, "rq_psn": self.psn,
                "gid": self.bench.gid, "peer_gid": self.bench.dev_gid, **other}

    def right(self, **other):
        """Returns the octets of mine()."""
        return pack(self.mine(**other))

    def theirs(self, rts=True, rnr=RNR_FOREVER):
        """Returns the private data that the device must send."""
        return pack({"magic": MAGIC, "version": VERSION, "flags": RTS_FLAG if rts else 0,
                     "rnr": rnr if rts else 0, "reserved": 0, "qpn": self.qpn, "peer_qpn": self.peer_qpn,
                     "sq_psn": self.psn if rts else 0, "rq_psn": self.peer_psn,
                     "gid": self.bench.dev_gid, "peer_gid": self.bench.gid})

    def is_early(self, frame):
        """Has the device sent this Request before the change to RTS? On a slow machine this is
        possible, because the device waits only 50 milliseconds for the change, and then
        connects."""
        return frame.pd[4:] == self.theirs(False)

    def matches(self, values, rts=True):
        """Must the device accept a startup frame with these values? A model of the rules in
        Documentation/direct-connections.rst; rts: the device's queue pair is in RTS."""
        peer_rts = values["flags"] == RTS_FLAG
        return (values["magic"] == MAGIC and values["version"] == VERSION and
                values["flags"] in (0, RTS_FLAG) and values["reserved"] == 0 and
                (values["qpn"], values["peer_qpn"]) == (self.peer_qpn, self.qpn) and
                (values["gid"], values["peer_gid"]) == (self.bench.gid, self.bench.dev_gid) and
                (values["rnr"] <= RNR_FOREVER if peer_rts else values["rnr"] == values["sq_psn"] == 0) and
                values["rq_psn"] < 1 << 24 and values["sq_psn"] < 1 << 24 and
                (not rts or values["rq_psn"] == self.psn) and
                (not peer_rts or values["sq_psn"] == self.peer_psn) and (rts or peer_rts))

    def recv(self, n=1):
        """Posts n receives; the wr_id of a receive is its number."""
        for _ in range(n):
            where = {"srq": self.srq} if self.srq is not None else {"id": self.id}
            self.ulp.recv(wr=self.recvs, sge="%d:%d:%d" % (self.mr, self.recvs * MSG, MSG), **where)
            self.recvs += 1

    def post(self, op, wr, size=MSG, **how):
        """Posts a request with the first octets of the second half of mr."""
        self.ulp.post(id=self.id, op=op, wr=wr, sge="%d:%d:%d" % (self.mr, MEM_LEN // 2, size), **how)

    def poll(self, n=1):
        """Waits for n completions, and returns them."""
        return self.ulp.poll(n, cq=self.cq)

    def none(self, ms=100):
        """Checks that no completion arrives within ms milliseconds."""
        self.ulp.none(ms, cq=self.cq)

    def memory(self, offset, size):
        """Returns octets of mr."""
        return self.ulp.dump(mr=self.mr, off=offset, len=size)

    def ended(self, wrs):
        """Waits for a completion of each request: wrs is a list of (wr_id, status)."""
        got = [(done.wr, done.status) for done in self.poll(len(wrs))]
        equal(sorted(got), sorted(wrs), "wr_id and status of completions")

    def stopped(self, peer, posted):
        """
        Checks that the device ends the connection after the peer has sent a Terminate in the
        startup, and that the Send 1 fails; posts this Send first, unless it is posted. Then resets
        the queue pair.
        """
        check(peer.rest()[1] != "open", "the device ends the connection")
        peer.close()
        print("# state %s" % self.state())
        if not posted:
            self.post("send", 1)
        self.ended([(1, RETRY_EXC)])
        self.reset()

    def confirm(self, peer):
        """Receives a Read that confirms messages, and answers it."""
        seg = peer.segment()
        check(seg.opcode == fpdu.READ_REQ, "a Read that confirms is wanted:", seg)
        sink, sink_offset, size, stag, offset = seg.read_request()
        equal((sink, size, stag, offset), (OWN_STAG, 0, OWN_STAG, 0), "a Read that confirms")
        peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset))

    def talk(self, peer):
        """Checks that the connection works: a Send, a Write and a Read in each direction."""
        data = os.urandom(MSG)
        number = self.recvs
        self.recv()
        peer.put_send(data)
        self.ended([(number, ulp.SUCCESS)])
        equal(self.memory(number * MSG, MSG), data, "a Send of the peer")
        peer.put_write(self.stag, self.addr + MEM_LEN - MSG, data)
        equal(peer.read(self.stag, self.addr + MEM_LEN - MSG, MSG), data, "a Write and a Read of the peer")
        self.ulp.set(mr=self.mr, off=MEM_LEN // 2, data=data)
        self.post("send", 1001)
        seg = peer.segment()
        equal((seg.opcode, seg.data), (fpdu.SEND, data), "a Send of the device")
        self.confirm(peer)
        self.ended([(1001, ulp.SUCCESS)])
        self.post("write", 1002, stag=55, raddr=1 << 33)
        seg = peer.segment()
        equal((seg.opcode, seg.stag, seg.offset, seg.data), (fpdu.WRITE, 55, 1 << 33, data), "a Write of the device")
        self.confirm(peer)
        self.ended([(1002, ulp.SUCCESS)])
        self.post("read", 1003, stag=55, raddr=7)
        sink, sink_offset, size, stag, offset = peer.segment().read_request()
        equal((size, stag, offset), (MSG, 55, 7), "a Read of the device")
        peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset, data[::-1]))
        self.ended([(1003, ulp.SUCCESS)])
        equal(self.memory(MEM_LEN // 2, MSG), data[::-1], "data of a Read of the device")


class Bench:
    """The environment of a case, and the peer's side of connections."""

    def __init__(self, args, seed):
        self.args, self.rng = args, random.Random(seed)
        self.open = []
        self.gid, self.dev_gid = gid_of(args.here), gid_of(args.there)
        self.ulp = self.keep(Ulp(shlex.split(args.ulp)))
        self.ulp.open(device=args.device)
        self.index = 1      # of the GID that is the address of the device
        while self.ulp.gid(index=self.index)["gid"] != self.dev_gid.hex():
            self.index += 1
        self.reject = None

    def keep(self, thing):
        """Lets close() close thing; returns thing."""
        self.open.append(thing)
        return thing

    def close(self):
        """Closes everything."""
        for thing in reversed(self.open):
            thing.close()

    def pair(self, **how):
        """Returns a new Pair."""
        return Pair(self, **how)

    def random(self, n):
        """Returns n random octets."""
        return bytes(self.rng.randrange(256) for _ in range(n))

    # the device is the responder

    def dial(self, source=None):
        """Connects to the device's listener of direct connections; returns a Peer. source: another
        address of the peer."""
        sock = patience.Socket(socket.AF_INET6 if ":" in self.args.there else socket.AF_INET)
        sock.settimeout(60)
        if source:
            sock.bind((source, 0))
        sock.connect((self.args.there, self.args.port))
        return Peer(sock)

    def ask(self, octets, source=None, **how):
        """Sends octets, a Request; returns the Peer, and the Reply, which may be incomplete."""
        peer = self.dial(source)
        peer.own = octets
        peer.send(octets, **how)
        peer.other = mpa.receive(peer.sock)
        return peer, peer.other

    def request(self, pd, word=WORD):
        """Returns the octets of a Request with the private data pd."""
        return mpa.frame(mpa.REQ, mpa.C | mpa.S, 2, word + pd)

    def refused(self, octets, source=None, **how):
        """Sends octets. The device must answer with a reject, and all rejects must have the same
        octets."""
        peer, reply = self.ask(octets, source, **how)
        check(reply.whole and reply.key == mpa.REP and reply.flags & mpa.R, "a reject is wanted:", reply)
        check(len(reply.pd) == 4, "a reject tells nothing:", reply)
        self.reject = self.reject or reply.octets
        equal(reply.octets, self.reject, "the reject, which must always be the same")
        peer.sock.close()

    def accepted(self, pair, pd=None, theirs=None, word=WORD, source=None, **how):
        """Connects as the honest peer of pair; returns the Peer in full operation. A queue pair in
        RTR may refuse the peer at first. theirs: the private data that the device must send."""
        octets = self.request(pair.right() if pd is None else pd, word)
        wait = patience.Wait(30)
        while True:
            peer, reply = self.ask(octets, source, **how)
            if not (reply.whole and reply.flags & mpa.R):
                break
            peer.sock.close()
            wait.check("the device refuses the honest peer")
            time.sleep(0.01)
        check(reply.whole and reply.key == mpa.REP and reply.rev == 2, "a Reply is wanted:", reply)
        equal(reply.pd[4:].hex(), (theirs or pair.theirs()).hex(), "private data of the Reply")
        peer.begin()
        peer.put_write()
        return self.keep_peer(peer)

    def keep_peer(self, peer):
        """Lets close() close the socket of peer; returns peer."""
        self.keep(Closing(peer.sock.close))
        return peer

    def run(self, *words):
        """Runs a command in the device's namespace; returns its output."""
        return subprocess.check_output(shlex.split(self.args.ulp)[:-1] + list(words)).decode()

    def timeouts(self):
        """Returns how many connections the device has ended because of a time limit; None if the
        driver has no counters."""
        time.sleep(0.03)    # the RDMA core reads the counters at most every 10 ms
        return counters_of(self.run("rdma", "statistic", "show", "link", self.args.device + "/1")).get("conn_timeout")

    def closing(self):
        """Returns how many sockets of the device's namespace have sent FIN, and still belong to the
        driver."""
        lines = self.run("cat", "/proc/net/tcp6" if ":" in self.args.there else "/proc/net/tcp").split("\n")
        fields = [line.split() for line in lines[1:] if line]
        return sum(f[3] in ("04", "05") and f[9] != "0" for f in fields)    # state, inode

    def untouched(self, pair):
        """Checks that nothing has happened to the queue pair, and that the honest peer can
        connect."""
        equal(pair.state(), ulp.RTS, "state")
        pair.none(0)
        peer = self.accepted(pair)
        pair.talk(peer)
        return peer

    # the device is the initiator

    def server(self):
        """Listens for the device."""
        family = socket.AF_INET6 if ":" in self.args.here else socket.AF_INET
        return self.keep(patience.server((self.args.here, self.args.port), family=family, backlog=64))

    def called(self, server, pair=None, rts=True):
        """Accepts a connection of the device; returns the Peer that has received the Request.
        pair: the queue pair that must have sent the Request; rts: whether this queue pair is in
        RTS."""
        while True:
            peer = Peer(server.accept()[0])
            frame = peer.await_request()
            check(frame.rev == 2 and len(frame.pd) == 4 + PD_LEN, "Request:", frame)
            if not (pair and rts and pair.is_early(frame)):
                break
            peer.sock.close()
        if pair:
            equal(frame.pd[4:].hex(), pair.theirs(rts).hex(), "private data of the Request")
        return peer

    def answer(self, peer, pd):
        """Accepts the Request with the private data pd."""
        peer.accept(pd=pd)

    def established(self, server, pair):
        """Answers the next attempt of the device as the honest peer; returns the Peer, which has
        received the ready-to-receive message."""
        peer = self.called(server, pair)
        self.answer(peer, pair.right())
        seg = peer.segment()
        check(seg.opcode in (fpdu.WRITE, fpdu.READ_REQ) and not seg.data[28:], "ready-to-receive message:", seg)
        if seg.opcode == fpdu.READ_REQ:
            sink, sink_offset = seg.read_request()[:2]
            peer.put(fpdu.tagged(fpdu.READ_RESP, sink, sink_offset))
        return self.keep_peer(peer)
