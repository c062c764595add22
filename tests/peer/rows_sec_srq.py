# SPDX-License-Identifier: GPL-2.0
"""
Shared receive queues: which stream gets a receive, and the effects of a peer that uses many
receives.
"""
import fpdu
from outcome import check, equal
from rows import row
from rows_ddp_end import over
from rows_sec_count import details
from ulp import ERR, FLUSH, LAST_WQE, QP_REQ_ERR, SRQ_LIMIT, SUCCESS

LEN = 256


class Shared:
    """
    A shared receive queue with recvs receives, in its own protection domain, and several streams
    that use the queue. limit: the device raises an event when fewer receives than this remain (0:
    no event).
    """

    def __init__(self, t, recvs, limit=0, streams=2):
        self.ulp = t.ulp()
        first = t.passive(ulp=self.ulp, recvs=0)    # the process opens the device with its first connection
        self.number, self.mem, self.domain = self.ulp.new(), self.ulp.new(), self.ulp.new()
        self.recvs = recvs
        self.ulp.mr(mr=self.mem, len=recvs * LEN, access="l", pd=self.domain)
        self.ulp.srq(srq=self.number, depth=64, pd=self.domain)
        self.ulp.recv(srq=self.number, wr=0, n=recvs, sge="%d:0:%d" % (self.mem, LEN))
        if limit:
            self.ulp.srq(srq=self.number, limit=limit, pd=self.domain)
        self.conns = [t.passive(ulp=self.ulp, recvs=0, srq=self.number) for _ in range(streams)]
        self.other = first

    def data(self, n, size):
        """Returns the first size octets of receive n."""
        return self.ulp.dump(mr=self.mem, off=n * LEN, len=size)

    def events(self, n):
        """Returns a sorted list of the next n asynchronous events: (event, number of the queue
        pair)."""
        got = [self.ulp.cmd("async", ms=30000) for _ in range(n)]
        return sorted((int(e["event"]), e.get("qpn", 0)) for e in got)

    def no_event(self):
        """Checks that no asynchronous event arrives within 0.3 seconds."""
        equal(int(self.ulp.cmd("async", ms=300)["event"]), -1, "event")


def completions(conn, n):
    """Returns a list of the next n completions: (wr_id, status, number of the queue pair)."""
    return [(c.wr, c.status, c.qpn) for c in conn.poll(n)]


@row("DDP-59", "SEC-17")
def shared_incomplete(t):
    """A Send that is not complete keeps its receive; Sends of other streams take the next receives, and complete"""
    q = Shared(t, 4)
    one, two = q.conns
    one.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"begin-", last=False))
    one.alive()
    two.peer.put_send(b"other")
    equal(completions(two, 1), [(1, SUCCESS, two.qpn)], "the other stream")
    one.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"end", offset=6))
    equal(completions(one, 1), [(0, SUCCESS, one.qpn)], "the first stream")
    equal((q.data(0, 9), q.data(1, 5)), (b"begin-end", b"other"), "octets")


@row("DDP-59")
def shared_out_of_order(t):
    """A segment whose MSN is not the next one takes no receive of a shared queue"""
    q = Shared(t, 1)
    one, two = q.conns
    bad = fpdu.untagged(fpdu.SEND, 0, 2, b"second")
    one.peer.put(bad)
    one.peer.expect_term(1, 2, 3, of=bad)
    two.peer.put_send(b"first")
    equal(completions(two, 1), [(0, SUCCESS, two.qpn)], "completions")
    equal(q.data(0, 5), b"first", "octets")


@row("DDP-59", "DDP-60")
def shared_empty(t):
    """A Send that finds the shared queue empty ends its stream (Terminate 1/2/02), and no other stream"""
    q = Shared(t, 1)
    one, two = q.conns
    two.peer.put_send(b"mine")
    equal(completions(two, 1), [(0, SUCCESS, two.qpn)], "completions")
    bad = fpdu.untagged(fpdu.SEND, 0, 1, b"none")
    one.peer.put(bad)
    one.peer.expect_term(1, 2, 2, of=bad)
    one.peer.expect_fin()
    one.peer.fin()
    over(one)
    equal(q.events(2), [(QP_REQ_ERR, one.qpn), (LAST_WQE, one.qpn)], "events")
    two.alive()
    q.ulp.recv(srq=q.number, wr=7, sge="%d:0:%d" % (q.mem, LEN))
    two.peer.put_send(b"again")
    equal(completions(two, 1), [(7, SUCCESS, two.qpn)], "completions")


@row("SEC-17")
def shared_last(t):
    """A stream that ends raises an event and flushes only the receives that it has taken"""
    q = Shared(t, 3)
    one, two = q.conns
    one.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"half", last=False))
    one.alive()
    one.ulp.modify(id=one.id, state=ERR)
    equal(q.events(1), [(LAST_WQE, one.qpn)], "event")
    equal(completions(one, 1), [(0, FLUSH, one.qpn)], "the receive that the stream had taken")
    one.none()
    for n in (1, 2):
        two.peer.put_send(b"%d" % n)
    equal(completions(two, 2), [(n, SUCCESS, two.qpn) for n in (1, 2)], "the receives that no stream had taken")
    q.no_event()


@row("SEC-17")
def shared_silent(t):
    """After an error of a stream, the event comes although the peer does not end the connection"""
    t.only("iw_tcp")
    state = None
    for _ in range(3):
        one = Shared(t, 3).conns[0]
        bad = fpdu.untagged(fpdu.SEND, 0, 3, b"wrong")
        one.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"half", last=False), bad)
        got = sorted(int(one.ulp.cmd("async", ms=30000)["event"]) for _ in range(2))
        # the device waits for the peer's FIN, but only for some seconds
        state = details(t, "qp", lqpn=one.qpn)["drv_rdmap_state"]
        equal(got, [QP_REQ_ERR, LAST_WQE], "events")
        equal(completions(one, 1), [(0, FLUSH, one.qpn)], "the receive that the stream had taken")
        if state == "TERMINATE":
            break
    equal(state, "TERMINATE", "state after the event")


@row("SEC-17")
def shared_fairness(t):
    """An event reports that few receives are left, and the completions name the stream that took them"""
    q = Shared(t, 16, limit=4, streams=3)
    greedy = q.conns[1]
    for n in range(12):
        greedy.peer.put_send(b"%02d" % n)
    taken = completions(greedy, 12)
    equal(taken, [(n, SUCCESS, greedy.qpn) for n in range(12)], "completions")
    q.no_event()
    greedy.peer.put_send(b"12")
    equal(completions(greedy, 1), [(12, SUCCESS, greedy.qpn)], "completions")
    equal(q.events(1), [(SRQ_LIMIT, 0)], "event")
    greedy.peer.put_send(b"13")
    equal(completions(greedy, 1), [(13, SUCCESS, greedy.qpn)], "completions")
    q.no_event()
    # the program ends this stream; the other streams continue
    greedy.ulp.modify(id=greedy.id, state=ERR)
    greedy.peer.put_send(b"more")
    equal(q.events(1), [(LAST_WQE, greedy.qpn)], "event")
    for n, conn in ((14, q.conns[0]), (15, q.conns[2])):
        conn.peer.put_send(b"fair")
        equal(completions(conn, 1), [(n, SUCCESS, conn.qpn)], "completions")
        equal(q.data(n, 4), b"fair", "octets")


@row("SEC-5")
def shared_domain(t):
    """Receives are checked against the queue's domain, the peer's STags against the stream's domain"""
    q = Shared(t, 2)
    one, two = q.conns
    equal(one.ulp.query(id=one.id)["state"], 3, "state")
    bad = fpdu.tagged(fpdu.WRITE, q.ulp.mr(mr=q.ulp.new(), len=64, access="lw", pd=q.domain)["stag"], 0, b"bad")
    one.peer.put_send(b"good")
    equal(completions(one, 1), [(0, SUCCESS, one.qpn)], "completions")
    one.peer.put(bad)
    term = one.peer.segment()
    check(term.opcode == fpdu.TERM, "this is no Terminate:", term)
    # a receive whose lkey belongs to the domain of the queue pair, not to the domain of the
    # shared queue
    q.ulp.recv(srq=q.number, wr=5, sge="%d:0:16" % two.mr)
    two.peer.put_send(b"second")
    equal(completions(two, 1), [(1, SUCCESS, two.qpn)], "completions")
    two.peer.put_send(b"third")
    got = two.poll(1)[0]
    check(got.wr == 5 and got.status != SUCCESS, "a key of another domain:", got)
    two.untouched()
