# SPDX-License-Identifier: GPL-2.0
"""RFC 5042: limits for the resources that a peer can use, and checks of the numbers that peers and
processes supply."""
import errno
import resource
import struct

import fpdu
import mpa
import patience
from outcome import Skip, check, equal
from peer import Peer
from rows import row, stated
from rows_ddp import refused
from rows_ddp_end import over
from rows_rdmap_term import BIG, big, until_term
from rows_tcp import own
from ulp import CQ_ERR, ERR, FLUSH, LOC_LEN_ERR, QP_FATAL, SUCCESS, Ulp

stated("selftest", "hostile.sh (iwt_hostile): a process changes its rings at random, also while the kernel reads them, maps other"
       " parts of the device, posts work requests by system calls, and registers memory that it does not have; two"
       " honest processes continue to exchange data",
       "SEC-1")
stated("design", "only verbs_*.c, which ib_core calls, create protection domains, queues, queue pairs and STags; dev.h"
       " limits their numbers (IWT_MAX_*); the kernel trusts no number in a ring that a process can write", "SEC-2")
stated("design", "verbs_cq.c: only iwt_create_cq() and iwt_resize_cq() create entries, up to IWT_MAX_CQE; cq.c: cq->prod"
       " belongs to the kernel, which only compares the consumer index of a process", "SEC-18")
stated("host", "uverbs: a completion queue belongs to one open file, and no other open file can use it", "SEC-21")
stated("ulp", "documented: user guide, \"Security responsibilities of applications\"",
       "SEC-10", "SEC-11", "SEC-12", "SEC-13", "SEC-15", "SEC-19", "SEC-29")
stated("host", "TCP's keepalive, which is on for every connection; the setting keepidle of the link determines its time", "SEC-16")
stated("design", "there is no firmware; the module loads nothing", "SEC-30")
stated("host", "limits of IP and TCP: net.ipv4.route.min_pmtu, net.ipv4.tcp_min_snd_mss", "SEC-32")
stated("selftest", "ipsec.sh: all operations over ESP; when the keys are removed, the traffic waits, and it continues when there"
       " are keys again", "SEC-28")


@row("SEC-20")
def completions_lost(t):
    """A completion queue overflows: two events, its stream ends (Terminate 0/0/00), and other streams continue"""
    ulp = t.ulp()
    other = t.passive(ulp=ulp)
    conn = t.passive(ulp=ulp, depth=4, recvs=32, recv_len=16)
    for turn in range(24):
        conn.peer.put_send(b"%02d" % turn)
    events = [ulp.cmd("async", ms=30000) for _ in range(2)]
    equal(sorted(int(e["event"]) for e in events), [CQ_ERR, QP_FATAL], "asynchronous events")
    equal([e["qpn"] for e in events if "qpn" in e], [conn.qpn], "queue pair")
    conn.peer.expect_term(0, 0, 0)
    conn.peer.expect_fin()
    conn.peer.fin()
    over(conn)
    equal(conn.query()["state"], ERR, "state")
    equal([c.wr for c in conn.poll(4)], [0, 1, 2, 3], "completions that were kept")
    equal(ulp.fails("poll", cq=conn.cq), errno.EIO, "errno")
    other.peer.put_send(b"mine")
    equal(other.poll()[0].status, SUCCESS, "status")
    other.alive()
    fresh = t.passive(ulp=ulp)
    fresh.alive()


@row("SEC-22")
def read_flood(t):
    """A peer has more Reads outstanding than agreed: its stream gets Terminate 1/2/02, other streams continue"""
    ulp = t.ulp()
    other = t.passive(ulp=ulp)
    conn = t.passive(ulp=ulp, word=(4, 4), ird=4)
    ird = conn.reply.words()[0] & 0x3FFF
    check(0 < ird <= 4, "IRD of the Reply:", ird)
    # the peer does not read the Responses, so Reads wait at the device, until one Read is too many
    asked = [fpdu.read_request(conn.peer.next(1), 77, 1 << 40, 65536, conn.stag, conn.addr) for _ in range(400)]
    conn.peer.put(*asked)
    other.alive()
    other.peer.put_send(b"mine")
    equal(other.poll()[0].status, SUCCESS, "status")
    answered = 0
    seg = conn.peer.segment()
    while seg.opcode == fpdu.READ_RESP:
        answered += seg.last
        seg = conn.peer.segment()
    equal((seg.opcode, seg.term()), (fpdu.TERM, (1, 2, 2)), "Terminate")
    check(answered < 400, "all were answered")
    check(seg.data[6:24] in [a[:18] for a in asked], "header in the Terminate", seg)
    other.alive()


def free_memory():
    """
    Returns the free memory of this machine in octets. Unlike MemFree in /proc/meminfo, the number
    includes the free pages in the lists of each processor.
    """
    with open("/proc/sys/vm/stat_refresh", encoding="ascii") as refresh:
        refresh.read()
    with open("/proc/zoneinfo", encoding="ascii") as lines:
        words = [line.split() for line in lines]
    return resource.getpagesize() * sum(int(w[-1]) for w in words if w[:2] == ["pages", "free"] or w[:1] == ["count:"])


def pass_by(conn, *sizes):
    """
    Makes the device send Writes of these sizes, and lets the peer read them. The Writes use the
    rest of the memory in which the device frames FPDUs, so that the device needs other memory for
    later FPDUs.
    """
    for size in sizes:
        conn.post("write", wr=1, sge="%d:0:%d" % (conn.mr, size), stag=1, raddr=0)
    left = sum(sizes)
    while left > 0:
        left -= len(conn.peer.sock.recv(1 << 17))


def short_answers(conns, mover, places):
    """
    Lets the peer send 30 short Reads on each connection in conns, in turn. Between two Reads, the
    device sends much data on the connection mover. places: for each connection, the place in the
    device's stream up to which the peer's TCP acknowledges; without places, it acknowledges
    everything. Returns by how many octets the free memory decreased.
    """
    before = free_memory()
    for _ in range(30):
        for conn, place in zip(conns, places or [None] * len(conns)):
            begin = conn.tcp.write(conn.peer.frame(fpdu.read_request(conn.peer.next(1), 77, 0, 16, conn.stag, conn.addr)))
            conn.tcp.segment(begin, len(conn.tcp.out), ack=place)
            if not places:
                equal(conn.peer.read_response(77, 0), bytes([0xA5]) * 16, "answer")
            pass_by(mover, 32768, 3000)
        equal({wc.status for wc in mover.poll(2 * len(conns))}, {SUCCESS}, "statuses")
    return before - free_memory()


@row("SEC-22", alone=True)
def short_answers_held(t):
    """
    480 unacknowledged answers to short Reads hold less than 6 MiB of memory

    TCP accounts for only about a tenth of the memory. At the end the peer acknowledges the answers,
    and all answers must be right.
    """
    ulp = t.ulp()
    mover = t.passive(ulp=ulp)
    listener = t.listener(ulp)
    conns = [own(t, ulp=ulp, listener=listener) for _ in range(16)]
    taken = short_answers(conns, mover, None)
    for conn in conns:
        conn.tcp.answer = False
    held = short_answers(conns, mover, [conn.tcp.taken for conn in conns]) - taken
    # TCP accounts for about 600 KB of this memory
    check(held < 6 << 20, "octets held by 480 answers:", held)
    for conn in conns:
        conn.tcp.answer = True
        conn.tcp.acknowledge()
        for _ in range(30):
            equal(conn.peer.read_response(77, 0), bytes([0xA5]) * 16, "answer")


@row("SEC-23")
def read_limits(t):
    """IRD and ORD are at most the device's limits; one Read more than IRD (0, 1 or 5): Terminate 1/2/02"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp, word=(0x3FFE, 0x3FFE), ird=255, ord=255)
    most = ulp.device()
    reply = [w & 0x3FFF for w in conn.reply.words()]
    check(reply[0] <= most["ird"] and reply[1] <= most["ord"], "Reply:", reply, most)
    got = conn.query()
    equal((got["ird"], got["ord"]), tuple(reply), "queue pair")
    refused(t, (1, 2, 2), lambda c: fpdu.read_request(1, 77, 0, 4, c.stag, c.addr), ulp,
            word=mpa.enh(0, 0, 0, 0, 0, 0), ird=0)
    for ird in (1, 5):
        conn = t.passive(ulp=ulp, word=(4, ird), ird=9, recvs=1)
        equal((conn.query()["ird"], conn.reply.words()[0] & mpa.ANY_DEPTH), (ird, ird), "IRD")
        _, addr, stag = big(conn)
        conn.peer.put_read(stag, addr, BIG)
        first = conn.peer.segment()
        for turn in range(1, ird):
            conn.peer.put_read(stag, addr, turn)
        # as many Reads as IRD are no error: the device delivers a Send that follows them
        conn.peer.put_send(b"good")
        equal(conn.poll()[0][:2], (0, SUCCESS), "the Send")
        bad = conn.peer.put_read(stag, addr, 9)
        check(0 < until_term(conn, first) < BIG, "octets")
        conn.peer.expect_term(1, 2, 2, of=bad)
        conn.peer.expect_fin()


@row("SEC-24", alone=True)
def slow_paths(t):
    """The counters show FPDUs that are tiny, and FPDUs that begin within segments"""
    if t.place.link != "iw_tcp" or t.place.path != "direct" or not t.place.lossless:
        raise Skip("the device must get the segments as the peer sends them")
    conn = t.passive()
    conn.alive()
    many = 300
    was = t.counters()
    conn.peer.put(*[write_of_nothing()] * many)
    conn.alive()
    now = t.counters()
    grown = {k: now[k] - was[k] for k in now}
    check(grown["rx_fpdu"] >= many, "FPDUs:", grown["rx_fpdu"])
    check(grown["rx_segs"] < many // 2, "segments with many FPDUs each:", grown["rx_segs"])
    octets = conn.peer.frame(*[fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr, b"u" * 30)] * many)
    conn.peer.send(octets[:3])
    was = t.counters()
    for at in range(3, len(octets), 52):        # segments as long as an FPDU, none of which begins with an FPDU
        conn.peer.send(octets[at:at + 52])
    conn.alive()
    now = t.counters()
    grown = {k: now[k] - was[k] for k in now}
    check(grown["rx_fpdu"] >= many, "FPDUs:", grown["rx_fpdu"])
    check(grown["rx_aligned"] < many // 10, "FPDUs at the beginning of a segment:", grown["rx_aligned"])


def write_of_nothing():
    """Returns a zero-length Write, the smallest DDP Segment."""
    return fpdu.tagged(fpdu.WRITE, 1, 0)


@row("SEC-26")
def not_ones_own(t):
    """Registering read-only memory for writing fails (EFAULT); remote write without local write fails (EINVAL)"""
    ulp = t.ulp()
    conn = t.passive(ulp=ulp)
    for access in ("lw", "l", "lwr"):
        equal(ulp.fails("mr", mr=ulp.new(), len=8192, ro=1, access=access), errno.EFAULT, "errno, access " + access)
    # a peer may write only to memory to which the process itself may write
    equal(ulp.fails("mr", mr=ulp.new(), len=8192, access="w"), errno.EINVAL, "errno")
    number = ulp.new()
    mem = ulp.mr(mr=number, len=8192, ro=1, fill=7, access="r")
    equal(conn.peer.read(mem["stag"], mem["addr"] + 4000, 200), bytes([7]) * 200, "read")
    bad = fpdu.tagged(fpdu.WRITE, mem["stag"], mem["addr"], b"w")
    conn.peer.put(bad)
    conn.peer.expect_term(0, 1, 2, of=bad)
    check(ulp.same(mr=number, byte=7)["same"], "memory")


@row("SEC-27")
def fair_share(t):
    """A process without privilege can register no more memory than RLIMIT_MEMLOCK permits"""
    command = t.place.ulp
    less = ["prlimit", "--memlock=262144:262144", "setpriv", "--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock"]
    ulp = t.keep(Ulp(command[:-1] + less + command[-1:]))
    conn = t.passive(ulp=ulp, recvs=1)
    equal(ulp.fails("mr", mr=ulp.new(), len=1 << 20, access="l"), errno.ENOMEM, "errno")
    number = ulp.new()
    ulp.mr(mr=number, len=1 << 16, access="lw")
    held = 0
    while held < 8:
        try:
            ulp.mr(mr=ulp.new(), len=1 << 16, access="l")
        except AssertionError:
            break
        held += 1
    check(held < 4, "regions of 64 KiB:", held)
    ulp.dereg(mr=number)
    ulp.mr(mr=ulp.new(), len=1 << 16, access="l")
    conn.alive()


@row("SEC-31", alone=True)
def half_open(t):
    """The number of silent connections to a listener has a limit, and the device still serves other peers"""
    if not t.place.lossless:
        raise Skip("a lost RST or FIN hides which connections the device has ended")
    ulp = t.ulp()
    listener = t.listener(ulp, backlog=16)
    many, was = 260, t.counters()["conn_timeout"]
    silent = [t.keep(Peer(patience.connect((t.place.there, listener[1])))) for _ in range(many)]
    for turn in range(3):
        t.passive(ulp=ulp, listener=listener).alive()
    # count only connections that the device ended because of the limit, which is at least 128, and
    # not those that it ended because of their time limit
    wait, ended, late = patience.Wait(60), 0, 0
    while ended - late < many - 140:
        wait.check("only %d of %d have been ended, %d of them by time" % (ended, many, late))
        ended = sum(peer.rest(0.001)[1] != "open" for peer in silent)
        late = t.counters()["conn_timeout"] - was
    check(all(peer.ended for peer in silent[:50]), "an old connection is still open")


def short(opcode):
    """Returns a DDP Segment with this opcode, a whole header and 20 more octets."""
    if opcode in (fpdu.WRITE, fpdu.READ_RESP):
        return fpdu.tagged(opcode, 1, 0, bytes(20))
    queue = {fpdu.READ_REQ: 1, fpdu.TERM: 2}.get(opcode, 0)
    return fpdu.untagged(opcode, queue, 1, bytes(20))


@row("SEC-33")
def lengths_of_fpdus(t):
    """A ULPDU_Length of less than the DDP header, in each kind of segment: Terminate 1/0/00"""
    ulp = t.ulp()
    for opcode in (fpdu.WRITE, fpdu.READ_REQ, fpdu.READ_RESP, fpdu.SEND, fpdu.SEND_INV, fpdu.TERM):
        header = 14 if opcode in (fpdu.WRITE, fpdu.READ_RESP) else 18
        for size in range(header):
            if opcode not in (fpdu.WRITE, fpdu.SEND) and size not in (0, 1, 2, header - 1):
                continue
            # the Terminate can include only the DDP Segment Length (or nothing, if the length is
            # 0), because the header is incomplete
            refused(t, (1, 0, 0), lambda c, o=opcode, n=size: short(o)[:n], ulp,
                    hdr=(0x80, struct.pack(">H", size)) if size else (0, b""))


@row("SEC-33")
def lengths_of_frames(t):
    """A Request with PD_Length above 512: the device closes; with 512, which the ULP can't get: Reply with R=1"""
    ulp = t.ulp()
    listener = t.listener(ulp)
    for claimed in (513, 514, 1024, 0x8000, 0xFFFF):
        peer = t.connect(listener[1])
        peer.send(mpa.frame(mpa.REQ, mpa.C, 1, bytes(600), pd_len=claimed))
        peer.expect_end()
    # private data of 512 octets are too long for rdma_cm: the device rejects the Request
    peer = t.connect(listener[1])
    peer.request(pd=b"p" * 512)
    check(peer.reply().flags & mpa.R, "accepted", peer.other)
    for size in (0, 1, 250):
        t.passive(ulp=ulp, listener=listener, pd=b"p" * size).alive()


@row("SEC-33")
def sums(t):
    """
    Offset + length beyond the buffer, or 32 or 64 bits: Terminate 1/2/05, 1/2/04, 1/1/03, 0/1/04, 0/1/01

    A Read Request that is too long: Terminate 1/2/05; a Read Request that is too short: Terminate
    0/2/FF.
    """
    ulp = t.ulp()
    conn = t.passive(ulp=ulp)
    bad = fpdu.untagged(fpdu.SEND, 0, 1, bytes(257))
    conn.peer.put(bad)
    conn.peer.expect_term(1, 2, 5, of=bad)
    equal([c.status for c in conn.poll(8)], [LOC_LEN_ERR] + [FLUSH] * 7, "statuses")
    check(conn.ulp.same(mr=conn.rmr, byte=0)["same"], "receive buffers")
    refused(t, (1, 2, 4), lambda c: fpdu.untagged(fpdu.SEND, 0, 1, b"x" * 8, offset=0xFFFFFFFC), ulp)
    refused(t, (1, 1, 3), lambda c: fpdu.tagged(fpdu.WRITE, c.stag, (1 << 64) - 4, b"x" * 8), ulp)
    refused(t, (0, 1, 4), lambda c: fpdu.read_request(1, 7, 0, 8, c.stag, (1 << 64) - 4), ulp)
    refused(t, (0, 1, 1), lambda c: fpdu.read_request(1, 7, 0, 0xFFFFFFFF, c.stag, c.addr), ulp)
    refused(t, (1, 2, 5), lambda c: fpdu.read_request(1, 7, 0, 8, c.stag, c.addr, more=b"x"), ulp)
    refused(t, (0, 2, 0xFF), lambda c: fpdu.read_request(1, 7, 0, 8, c.stag, c.addr)[:-1], ulp)
