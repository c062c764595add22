# SPDX-License-Identifier: GPL-2.0
"""Case, the argument of each test: makes both ends of connections with the device under test."""
import collections
import errno
import random
import socket
import threading

import mpa
import patience
import pcap
from link import Link
from outcome import Skip, check
from peer import Peer
from proxy import Proxy
from tcp import Listener, Tcp
from ulp import Ulp, UlpError

# Where a test runs. path: direct or proxy; lossless: no packet is lost, late or duplicated; ulp:
# the command of the upper layer; here, there: addresses of the peer's and of the device's side;
# link: type of the link; device: name of the device; interface: the peer's network interface;
# run: a function that runs a command on the device's side.
Place = collections.namedtuple("Place", "ulp here there link device path lossless interface run")

LINKS, LINKS_LOCK = {}, threading.Lock()
MEM, RECVS = 0, 1       # numbers of the memory regions of a connection's first user
MEM_LEN, MEM_FILL = 65536, 0xA5


def add_arguments(p):
    """Adds the command line arguments that describe the Place of a program's cases."""
    p.add_argument("--here", required=True, help="address of the peer's side")
    p.add_argument("--there", required=True, help="address of the device's side")
    p.add_argument("--ulp", default="iwt_ulp", help="command of the upper layer, on the device's side")
    p.add_argument("--run", default="", help="words before a command that is to run on the device's side")
    p.add_argument("--link", default="iw_tcp", help="type of the device (iw_tcp)")


class Conn:
    """
    A connection between the raw peer and a process of the upper layer. peer, ulp: both ends; id,
    cq: numbers of the rdma_cm connection and of the completion queue in the process; mr: number
    of a memory region at addr with stag, filled with MEM_FILL; rmr: number of the region of the
    receive buffers, which have recv_len octets each and are in the order of posting.
    """

    def __init__(self, peer, ulp, number):
        self.peer, self.ulp, self.id = peer, ulp, number
        self.cq = self.mr = self.rmr = self.recv_len = self.qpn = None
        self.addr = self.stag = self.reply = self.event = None

    def memory(self, offset=0, size=MEM_LEN):
        """The contents of mr."""
        return self.ulp.dump(mr=self.mr, off=offset, len=size)

    def untouched(self):
        """Checks that nothing was placed in mr."""
        check(self.ulp.same(mr=self.mr, byte=MEM_FILL)["same"], "memory was written to")

    def received(self, n, size):
        """The first size octets of receive buffer n."""
        return self.ulp.dump(mr=self.rmr, off=n * self.recv_len, len=size)

    def poll(self, n=1, **how):
        """Waits for n completions."""
        return self.ulp.poll(n, cq=self.cq, **how)

    def none(self, ms=300):
        """Checks that no completion arrives."""
        self.ulp.none(ms, cq=self.cq)

    def post(self, op, **args):
        """Posts a work request to the send queue."""
        return self.ulp.cmd("post", id=self.id, op=op, **args)

    def recv(self, **args):
        """Posts a receive."""
        return self.ulp.cmd("recv", id=self.id, **args)

    def query(self):
        """State, IRD and ORD of the queue pair."""
        return self.ulp.cmd("query", id=self.id)

    def alive(self):
        """Checks that the stream still works in the inbound direction: a Read of memory is
        answered."""
        offset = random.randrange(1000)
        check(self.peer.read(self.stag, self.addr + offset, 9) == self.memory(offset, 9), "Read after all")


class Closing:
    """An action at the end of a test."""

    def __init__(self, close):
        self.close = close


class Case:
    """One run of a test. Everything that it opens is closed at its end."""

    def __init__(self, place, seed):
        self.place, self.rng = place, random.Random(seed)
        self.open, self.tcp = [], None

    def keep(self, thing):
        """Keeps a thing, to close it at the end."""
        self.open.append(thing)
        return thing

    def close(self):
        """Closes all things, also if closing one of them fails."""
        errors = []
        for thing in reversed(self.open):
            try:
                thing.close()
            except Exception as error:      # pylint: disable=broad-except
                errors.append(error)
        self.open = []
        if errors:
            raise errors[0]

    def counters(self):
        """The device's counters."""
        text = self.place.run("rdma", "statistic", "show", "link", self.place.device + "/1",
                              capture_output=True, text=True).stdout
        words = text.split()[2:]
        return {name: int(value) for name, value in zip(words[::2], words[1::2])}

    def setting(self, name, value):
        """Changes a setting of the link until the end of the test. The test must be declared
        alone=True."""
        self.only("iw_tcp")
        where = "/sys/kernel/config/iw_tcp/" + self.place.device
        before = ("mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config; "
                  "mkdir -p %s; cd %s; " % (where, where))

        def put(value):
            done = self.place.run("sh", "-c", "%s cat %s; echo %s >%s; cd /; rmdir %s" % (
                before, name, value, name, where), capture_output=True, text=True)
            check(not done.stderr, "setting %s:" % name, done.stderr)
            return done.stdout.strip()
        was = put(value)
        self.keep(Closing(lambda: put(was)))

    def only(self, link):
        """Skips unless the link is of this type."""
        if self.place.link != link:
            raise Skip("only for %s" % link)

    def ulp(self):
        """Starts a new upper layer."""
        return self.keep(Ulp(self.place.ulp))

    def listener(self, ulp, backlog=128):
        """Makes the upper layer listen; returns the listener's number and the port to connect
        to."""
        for last in (False, False, False, True):
            number = ulp.new()
            try:
                return number, ulp.listen(id=number, addr=self.place.there, backlog=backlog)["port"]
            except UlpError as error:
                # rdma_cm does not see which ports TCP uses, so a TCP connection may already use
                # the port that it picks
                if last or error.number != errno.EADDRINUSE:
                    raise
        return None

    def own_tcp(self, **how):
        """Later connections of this test use the TCP implementation of tcp.py: tcp.Tcp(**how)."""
        if self.place.interface == "lo" or self.place.path != "direct" or not self.place.lossless:
            raise Skip("only on a direct path segments arrive as they were sent")
        self.tcp = how

    def link(self):
        """The Link, and so the IP address, that the TCP of tcp.py uses."""
        key = (self.place.interface, self.place.here, self.place.there)
        with LINKS_LOCK:
            if key not in LINKS:
                LINKS[key] = Link(*key)
            return LINKS[key]

    def connect(self, port):
        """A peer that is connected to the device's side and has not sent anything."""
        where = (self.place.there, port)
        if self.tcp is not None:
            return self.peer(Tcp(self.link(), self.link().port(), **self.tcp).open(where))
        if self.place.path == "proxy":
            proxy = self.keep(Proxy(where, self.place.here, seed=self.rng.random()))
            where = (self.place.here, proxy.port)
        return self.keep(Peer(patience.connect(where)))

    def peer(self, sock):
        """The peer of a connection."""
        return self.keep(Peer(sock))

    def capture(self, port, path=None, here=False):
        """Captures packets of a port of the device's side (here: of this side); stop() returns
        them."""
        return self.keep(pcap.Capture(self.place.interface, self.place.here if here else self.place.there, port, path))

    def server(self):
        """A socket to which the upper layer can connect, and the port that it should use."""
        if self.tcp is not None:
            sock = self.keep(Listener(self.link(), **self.tcp))
            return sock, sock.getsockname()[1]
        family = socket.AF_INET6 if ":" in self.place.here else socket.AF_INET
        sock = self.keep(patience.server((self.place.here, 0), family=family, backlog=64))
        port = sock.getsockname()[1]
        if self.place.path == "proxy":
            port = self.keep(Proxy((self.place.here, port), self.place.here, seed=self.rng.random())).port
        return sock, port

    def equip(self, conn, recvs=8, recv_len=256, access="lwr", pd=None, domain=None, depth=None, **qp):
        """
        Makes queue pair, memory and receive buffers for a connection, in protection domain pd (or
        domain, because in passive() and active() pd means private data), with a completion queue of
        depth entries.
        """
        ulp, pd = conn.ulp, domain if pd is None else pd
        conn.cq, conn.mr, conn.rmr, conn.recv_len = ulp.new(), ulp.new(), ulp.new(), recv_len
        if depth:
            ulp.cq(cq=conn.cq, depth=depth)
        conn.qpn = ulp.qp(id=conn.id, scq=conn.cq, rcq=conn.cq, pd=pd, **qp)["qpn"]
        mem = ulp.mr(mr=conn.mr, len=MEM_LEN, access=access, fill=MEM_FILL, pd=pd)
        conn.addr, conn.stag = mem["addr"], mem["stag"]
        ulp.mr(mr=conn.rmr, len=max(recvs * recv_len, 1), access="l", pd=pd)
        if recvs:
            conn.recv(n=recvs, wr=0, sge="%d:0:%d" % (conn.rmr, recv_len))

    def passive(self, flags=mpa.C, rev=1, pd=b"", word=None, ulp=None, ird=4, ord=4, data=b"",
                first=True, listener=None, **equip):
        """
        The device is the responder (of this listener, or a new one): it accepts the peer's Request
        (flags, rev, private data pd, word) with ird, ord and private data. first: the peer then
        sends an empty Write; before that a responder must not send anything.
        """
        ulp = ulp or self.ulp()
        number, port = listener or self.listener(ulp)
        peer = self.connect(port)
        peer.request(flags, rev, pd, word)
        event = ulp.event(id=number, want="CONNECT_REQUEST")
        conn = Conn(peer, ulp, event["new"])
        conn.event = event
        self.equip(conn, **equip)
        ulp.accept(id=conn.id, ird=ird, ord=ord, data=data or None)
        conn.reply = peer.reply()
        ulp.event(id=conn.id, want="ESTABLISHED")
        if first:
            peer.put_write()
        return conn

    def request(self, ulp=None, ird=4, ord=4, data=b"", server=None, **equip):
        """
        The device is the initiator: the peer has received its Request, and has not answered yet.
        """
        ulp = ulp or self.ulp()
        sock, port = server or self.server()
        number = ulp.new()
        here = self.place.here if self.tcp is None else sock.getsockname()[0]
        ulp.resolve(id=number, addr=here, port=port)
        conn = Conn(None, ulp, number)
        self.equip(conn, **equip)
        ulp.connect(id=number, ird=ird, ord=ord, data=data or None)
        conn.peer = self.keep(Peer(sock.accept()[0]))
        conn.peer.await_request()
        return conn

    def active(self, flags=mpa.C, rev=None, pd=b"", word=None, rtr=True, **request):
        """
        The device is the initiator; the peer accepts with flags and so on (see Peer.accept). rtr:
        if the Reply asks for a ready-to-receive message, the device must send it first, and this
        method receives it.
        """
        conn = self.request(**request)
        conn.peer.accept(flags, rev, pd, word)
        conn.event = conn.ulp.event(id=conn.id, want="ESTABLISHED")
        own = conn.peer.own
        if rtr and own[17] >= 2 and own[16] & mpa.S and own[20] & 0x80:
            conn.rtr = conn.peer.segment()
        return conn
