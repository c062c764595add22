# SPDX-License-Identifier: GPL-2.0
"""Case, the argument of each test. Its methods make connections between the raw peer, which is the
Python code of this directory, and the device under test."""
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

# The environment of a test. ulp: the words of the command that runs the upper layer on the device's
# side; here, there: addresses of the peer's and of the device's side; link: type of the link (such
# as iw_tcp); device: name of the device; path: direct or proxy; lossless: no packet is lost, late
# or duplicated; interface: the peer's network interface; run: a function that runs a command on
# the device's side.
Place = collections.namedtuple("Place", "ulp here there link device path lossless interface run")

LINKS, LINKS_LOCK = {}, threading.Lock()
MEM, RECVS = 0, 1
MEM_LEN, MEM_FILL = 65536, 0xA5


def add_arguments(p):
    """Adds the command line arguments that describe the Place of a program's cases."""
    p.add_argument("--here", required=True, help="address of the peer's side")
    p.add_argument("--there", required=True, help="address of the device's side")
    p.add_argument("--ulp", default="iwt_ulp", help="command of the upper layer, on the device's side")
    p.add_argument("--run", default="", help="words before a command that is to run on the device's side")
    p.add_argument("--link", default="iw_tcp", help="type of the device (iw_tcp)")


def counters_of(text):
    """Returns the counters in the output of "rdma statistic show link": {name: value}."""
    words = text.split()[2:]
    return {name: int(value) for name, value in zip(words[::2], words[1::2])}


class Conn:
    """
    A connection between the raw peer and a process of the upper layer. peer, ulp: both ends.
    iwt_ulp identifies its objects by numbers: id is the number of the rdma_cm_id, cq of the
    completion queue, mr of a memory region, rmr of the region of the receive buffers. mr has the
    address addr and the STag stag, and is filled with MEM_FILL. The receive buffers have recv_len
    octets each, and are in the order of posting.
    """

    def __init__(self, peer, ulp, number):
        self.peer, self.ulp, self.id = peer, ulp, number
        self.cq = self.mr = self.rmr = self.recv_len = self.qpn = None
        self.addr = self.stag = self.reply = self.event = None

    def memory(self, offset=0, size=MEM_LEN):
        """Returns size octets of mr, from offset on."""
        return self.ulp.dump(mr=self.mr, off=offset, len=size)

    def untouched(self):
        """Checks that nothing was placed in mr."""
        check(self.ulp.same(mr=self.mr, byte=MEM_FILL)["same"], "memory was written to")

    def received(self, n, size):
        """Returns the first size octets of receive buffer n."""
        return self.ulp.dump(mr=self.rmr, off=n * self.recv_len, len=size)

    def poll(self, n=1, **how):
        """Waits for n completions, and returns them."""
        return self.ulp.poll(n, cq=self.cq, **how)

    def none(self, ms=300):
        """Checks that no completion arrives for ms milliseconds."""
        self.ulp.none(ms, cq=self.cq)

    def post(self, op, **args):
        """Posts a work request to the send queue."""
        return self.ulp.cmd("post", id=self.id, op=op, **args)

    def recv(self, **args):
        """Posts a receive."""
        return self.ulp.cmd("recv", id=self.id, **args)

    def query(self):
        """Returns state, IRD and ORD of the queue pair."""
        return self.ulp.cmd("query", id=self.id)

    def alive(self):
        """Checks that the device still receives messages: it must answer a Read of mr with the
        right data."""
        offset = random.randrange(1000)
        check(self.peer.read(self.stag, self.addr + offset, 9) == self.memory(offset, 9), "Read after all")


class Closing:
    """An object for Case.keep(): the function close runs at the end of the test."""

    def __init__(self, close):
        self.close = close


class Case:
    """One run of a test. At the end of the run, close() closes everything that the methods
    opened."""

    def __init__(self, place, seed):
        self.place, self.rng = place, random.Random(seed)
        self.open, self.tcp = [], None

    def keep(self, thing):
        """Lets close() close thing at the end of the test; returns thing."""
        self.open.append(thing)
        return thing

    def close(self):
        """Closes all things of keep(), the last thing first. If closing one of them fails, closes
        the others, and then raises the first exception."""
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
        """Returns the device's counters: {name: value}."""
        return counters_of(self.place.run("rdma", "statistic", "show", "link", self.place.device + "/1",
                                          capture_output=True, text=True).stdout)

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
        """Skips the test unless the link is of this type."""
        if self.place.link != link:
            raise Skip("only for %s" % link)

    def ulp(self):
        """Starts a process of the upper layer; returns its Ulp."""
        return self.keep(Ulp(self.place.ulp))

    def listener(self, ulp, backlog=128):
        """Makes the upper layer listen; returns the number of the listener's rdma_cm_id, and the
        port."""
        for last in (False, False, False, True):
            number = ulp.new()
            try:
                return number, ulp.listen(id=number, addr=self.place.there, backlog=backlog)["port"]
            except UlpError as error:
                # rdma_cm does not know which ports TCP uses: a TCP connection may already use
                # the port that rdma_cm chooses
                if last or error.number != errno.EADDRINUSE:
                    raise
        return None

    def own_tcp(self, **how):
        """Later connections of this test use the TCP implementation of tcp.py: tcp.Tcp(**how)."""
        if self.place.interface == "lo" or self.place.path != "direct" or not self.place.lossless:
            raise Skip("only on a direct path segments arrive as they were sent")
        self.tcp = how

    def link(self):
        """Returns the Link (link.py) of the IP address that tcp.py uses."""
        key = (self.place.interface, self.place.here, self.place.there)
        with LINKS_LOCK:
            if key not in LINKS:
                LINKS[key] = Link(*key)
            return LINKS[key]

    def connect(self, port):
        """Connects to port on the device's side; returns a Peer that has not sent anything."""
        where = (self.place.there, port)
        if self.tcp is not None:
            return self.peer(Tcp(self.link(), self.link().port(), **self.tcp).open(where))
        if self.place.path == "proxy":
            proxy = self.keep(Proxy(where, self.place.here, seed=self.rng.random()))
            where = (self.place.here, proxy.port)
        return self.keep(Peer(patience.connect(where)))

    def peer(self, sock):
        """Returns a Peer for the connected socket sock."""
        return self.keep(Peer(sock))

    def capture(self, port, path=None, here=False):
        """Begins to capture the packets from or to a TCP port of the device's side (with here=True:
        of this side). Returns a pcap.Capture, whose stop() returns the packets. path: a file for
        the packets."""
        return self.keep(pcap.Capture(self.place.interface, self.place.here if here else self.place.there, port, path))

    def server(self):
        """Returns a listening socket of this side, and the port to which the upper layer must
        connect."""
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
        Makes the queue pair, the memory and the receive buffers of a connection. pd or domain: the
        protection domain (passive() and active() pass domain, because their pd is private data);
        depth: entries of the completion queue; qp: more arguments of iwt_ulp's command "qp".
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
        Makes a connection whose responder is the device; returns its Conn. listener: the result
        of listener(), if it exists already. flags, rev, word and pd (private data) are the
        arguments of Peer.request(); ird, ord and data (private data) are for the device's accept.
        first: afterwards the peer sends an empty Write, because a responder must not send
        anything before the first FPDU of the initiator.
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
        Makes a connection whose initiator is the device; returns its Conn. The peer has received
        the Request, and has not answered.
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
        Makes a connection whose initiator is the device; returns its Conn. flags, rev, word and pd
        (private data) are for the peer's Reply (Peer.accept()). rtr: if the Reply asks for a
        ready-to-receive message, receives this message, which the device must send first.
        """
        conn = self.request(**request)
        conn.peer.accept(flags, rev, pd, word)
        conn.event = conn.ulp.event(id=conn.id, want="ESTABLISHED")
        own = conn.peer.own
        if rtr and own[17] >= 2 and own[16] & mpa.S and own[20] & 0x80:
            conn.rtr = conn.peer.segment()
        return conn
