# SPDX-License-Identifier: GPL-2.0
"""Information for administrators: counters, and the details that "rdma resource" shows."""
import contextlib
import json
import time

import fpdu
import mpa
import patience
from outcome import Skip, check, equal
from peer import Peer
from rows import row
from rows_ddp_end import over
from rows_rdmap_term import other_region
from ulp import LOC_PROT_ERR, SUCCESS

# the bound for the half-open connections of a listener is at least this number
LEAST_BOUND = 128

# counters of connections, of errors of the peer, and of errors of the program
ERRORS = ("rx_crc_err", "rx_proto_err", "rx_access_err", "term_tx", "term_rx", "cq_overrun", "conn_active",
          "conn_passive", "conn_rejected", "conn_failed", "conn_timeout", "conn_retry_rev1", "conn_evicted", "mpa_bad")


def settled(t):
    """Waits until the counters do not change any more, and returns them."""
    before, now = None, t.counters()
    while now != before:
        time.sleep(0.05)
        before, now = now, t.counters()
    return now


@contextlib.contextmanager
def counted(t, **want):
    """
    Checks that the code in the "with" block increases the counters in ERRORS by these numbers, and
    no other counter in ERRORS. want: {name: number}.
    """
    t.only("iw_tcp")
    before = settled(t)
    yield
    got = {}
    for _ in range(100):
        now = settled(t)
        got = {name: now[name] - before[name] for name in ERRORS if now[name] != before[name]}
        if got == want:
            return
    equal(got, want, "counters")


def terminated(conn, code=None):
    """
    Checks that the device sends a Terminate (code: layer, type, code; None: any), and that the
    connection ends after the peer's FIN.
    """
    seg = conn.peer.segment()
    equal(seg.opcode, fpdu.TERM, "opcode")
    equal(seg.term(), code or seg.term(), "Terminate")
    conn.peer.fin()
    over(conn)


@row("MPA-89", "SEC-24", alone=True)
def crc_errors_counted(t):
    """A wrong CRC is counted as a CRC error, and as no other error"""
    with counted(t, rx_crc_err=1, term_tx=1, conn_passive=1):
        conn = t.passive()
        conn.peer.put(fpdu.untagged(fpdu.SEND, 0, 1, b"bad"), crc_xor=1)
        conn.peer.expect_term(2, 0, 2)
        conn.peer.fin()
        over(conn)


@row("DDP-70", "SEC-24", alone=True)
def protocol_errors_counted(t):
    """Segments with wrong headers are counted as protocol errors, and not as access errors"""
    ulp = t.ulp()
    for bad, code in ((fpdu.untagged(fpdu.SEND, 0, 2, b"bad"), (1, 2, 3)),
                      (fpdu.untagged(0xF, 0, 1, b"bad"), (0, 2, 6)),
                      (fpdu.untagged(fpdu.SEND_INV, 0, 1, b"bad", stag=1), (0, 2, 9)),
                      (fpdu.tagged(fpdu.WRITE, 1, 0, b"bad", dv=0), (1, 1, 4))):
        with counted(t, rx_proto_err=1, term_tx=1, conn_passive=1):
            conn = t.passive(ulp=ulp)
            conn.peer.put(bad)
            terminated(conn, code)


@row("DDP-70", "SEC-24", alone=True)
def access_errors_counted(t):
    """Access to memory that the peer may not access is counted: Writes, Reads, atomics, Sends with Invalidate"""
    ulp = t.ulp()
    for bad in (lambda c: fpdu.tagged(fpdu.WRITE, c.stag ^ 0x100, c.addr, b"bad"),
                lambda c: fpdu.tagged(fpdu.WRITE, c.stag, c.addr - 1, b"bad"),
                lambda c: fpdu.read_request(1, 77, 0, 70000, c.stag, c.addr),
                lambda c: fpdu.atomic(1, fpdu.FETCH_ADD, 5, c.stag, c.addr, 1),
                lambda c: fpdu.untagged(fpdu.SEND_INV, 0, 1, b"bad", stag=other_region(c)[0]),
                lambda c: fpdu.untagged(fpdu.SEND_SE_INV, 0, 1, b"bad", stag=other_region(c)[0])):
        with counted(t, rx_access_err=1, term_tx=1, conn_passive=1):
            conn = t.passive(ulp=ulp)
            conn.peer.put(bad(conn))
            terminated(conn)


@row("DDP-70", "SEC-24", alone=True)
def own_errors_not_counted(t):
    """A receive with an invalid buffer is the program's own error: no error of the peer is counted"""
    with counted(t, term_tx=1, conn_passive=1):
        conn = t.passive(recvs=0)
        conn.recv(n=1, wr=5, sge="%d:0:100:1" % conn.mr)
        conn.peer.put_send(b"good")
        equal(conn.poll()[0][:2], (5, LOC_PROT_ERR), "completion")
        terminated(conn)


@row("RDMAP-78", "SEC-24", alone=True)
def terminates_counted(t):
    """A Terminate from the peer is counted"""
    with counted(t, term_rx=1, conn_passive=1):
        conn = t.passive()
        conn.peer.put(fpdu.terminate(0, 2, 0xFF))
        over(conn)


@row("SEC-20", "SEC-24", alone=True)
def overruns_counted(t):
    """A completion queue that overflows is counted once"""
    with counted(t, cq_overrun=1, conn_passive=1, term_tx=1):
        conn = t.passive(depth=4, recvs=32, recv_len=16)
        for turn in range(32):
            conn.peer.put_send(b"%02d" % turn)
        terminated(conn)


@row("EMPA-31", "MPA-88", "SEC-24", alone=True)
def failures_counted(t):
    """The device counts an initiator's connections that are tried again, accepted, rejected, or fail"""
    if t.place.path == "proxy":
        raise Skip("the device connects to the proxy, and this does not fail")
    ulp, failed = t.ulp(), ("CONNECT_ERROR", "REJECTED", "UNREACHABLE")
    server = t.server()
    for ends, want in ((("close", "accept"), {"conn_retry_rev1": 1, "conn_active": 1}),
                       (("close", "rst"), {"conn_retry_rev1": 1, "conn_failed": 1}),
                       (("close", "reject"), {"conn_retry_rev1": 1, "conn_rejected": 1})):
        with counted(t, **want):
            conn = t.request(ulp=ulp, server=server)
            conn.peer.close()
            peer = t.keep(Peer(server[0].accept()[0]))
            peer.await_request()
            if ends[1] == "rst":
                peer.rst()
            else:
                peer.accept(mpa.C | (mpa.R if ends[1] == "reject" else 0))
            ulp.event(id=conn.id, want="ESTABLISHED" if ends[1] == "accept" else failed)
    with counted(t, conn_failed=1, mpa_bad=1):
        conn = t.request(ulp=ulp, server=server)
        conn.peer.send(mpa.frame(mpa.REQ, mpa.C, 1))
        ulp.event(id=conn.id, want=failed)
    server[0].close()
    with counted(t, conn_failed=1):
        number = ulp.new()
        ulp.resolve(id=number, addr=t.place.here, port=server[1])
        ulp.qp(id=number)
        ulp.connect(id=number)
        ulp.event(id=number, want=failed)


@row("MPA-66", "MPA-58", "SEC-24", alone=True)
def bad_requests_counted(t):
    """The device counts improper Requests, and Requests that it can't serve or that the program rejects"""
    ulp = t.ulp()
    number, port = t.listener(ulp)
    for octets in (b"GET / HTTP/1.1\r\nHost: there\r\n\r\n", mpa.frame(mpa.REP, mpa.C, 1),
                   mpa.frame(mpa.REQ, mpa.C, 1, b"", 513), mpa.frame(mpa.REQ, mpa.C, 1) + b"?"):
        with counted(t, mpa_bad=1):
            peer = t.connect(port)
            peer.send(octets)
            peer.expect_end()
    with counted(t, conn_rejected=1):
        peer = t.connect(port)
        peer.request(pd=bytes(300))
        check(peer.reply().flags & mpa.R, "R")
        peer.close()
    with counted(t, conn_rejected=1):
        peer = t.connect(port)
        peer.request()
        ulp.reject(id=ulp.event(id=number, want="CONNECT_REQUEST")["new"])
        check(peer.reply().flags & mpa.R, "R")
        peer.close()
    with counted(t):        # a scan of ports connects and closes: this is no error
        t.connect(port).close()


def objects(t, kind, match):
    """
    Returns the objects of this kind that "rdma resource show" prints and whose values match
    ({name: value}), and the error output of the command.
    """
    done = t.place.run("rdma", "-dd", "-j", "resource", "show", kind, "link" if kind == "qp" else "dev",
                       t.place.device, capture_output=True, text=True)
    return [one for one in json.loads(done.stdout or "[]") if all(one.get(k) == v for k, v in match.items())], done.stderr


def details(t, kind, **match):
    """Returns the attributes that the driver adds to the output of "rdma resource show", for the
    one object whose values match: {name: value}."""
    got, said = objects(t, kind, match)
    for _ in range(20):
        if got:
            break
        # the list that the RDMA core makes may lack an object if other objects are destroyed
        # at the same time
        time.sleep(0.05)
        got, said = objects(t, kind, match)
    check(len(got) == 1, "there is not one %s with %s:" % (kind, match), got, said)
    return {k: v for k, v in got[0].items() if k.startswith("drv_")}


@row("SEC-24")
def resource_details(t):
    """
    The command "rdma -dd resource show" shows the state of queue pair, completion queue and region

    The command shows the queue pair and the completion queue even after the end of the stream.
    """
    t.only("iw_tcp")
    conn = t.passive()
    pid = conn.ulp.proc.pid
    conn.post("send", wr=1, n=3, sge="%d:0:5" % conn.mr)
    for _ in range(3):
        conn.peer.message(fpdu.SEND)
        conn.peer.put_send(b"hello")
    equal([wc.status for wc in conn.poll(6)], [SUCCESS] * 6, "completions")
    got = details(t, "qp", lqpn=conn.qpn)
    want = {"drv_rdmap_state": "RTS", "drv_term_err": 0, "drv_sq_started": 3, "drv_sq_completed": 3, "drv_rq_taken": 3}
    equal({name: got[name] for name in want}, want, "queue pair")
    got = details(t, "cq", pid=pid)
    equal((got["drv_produced"], got["drv_overrun"]), (6, 0), "completion queue")
    got = details(t, "mr", pid=pid, mrlen=65536)
    equal([got["drv_" + name] for name in ("kind", "valid", "rights", "length")], ["user", 1, 23, 65536], "region")
    conn.peer.put(fpdu.tagged(fpdu.WRITE, conn.stag, conn.addr - 1, b"bad"))
    conn.peer.expect_term(1, 1, 1, hdr="any")
    conn.peer.fin()
    over(conn)
    got = details(t, "qp", lqpn=conn.qpn)
    equal((got["drv_rdmap_state"], got["drv_term_err"] & 0xFFFF), ("ERROR", 0x1101), "queue pair after a Terminate")
    equal(details(t, "cq", pid=pid)["drv_produced"], 11, "completions, including flushed ones")


@row("SEC-31", "SEC-24", alone=True)
def evictions_counted(t):
    """The device evicts and counts the silent connections above a listener's bound, and no more than these"""
    t.only("iw_tcp")
    if not t.place.lossless:
        raise Skip("a lost RST or FIN hides which connections the device has ended")
    listener = t.listener(t.ulp(), backlog=16)
    more, was = 12, settled(t)
    where = (t.place.there, listener[1])
    silent = [t.keep(Peer(patience.connect(where))) for _ in range(LEAST_BOUND + more)]
    wait, evicted, late = patience.Wait(60), 0, 0
    # on a slow machine, the time limit of some silent connections expires before the bound is
    # exceeded
    while evicted + late < more:
        wait.check("only %d of %d were evicted" % (evicted, more))
        evicted, late = (t.counters()[name] - was[name] for name in ("conn_evicted", "conn_timeout"))
    check(all(peer.rest(5)[1] != "open" for peer in silent[:evicted]), "an old connection is still open")
    check(settled(t)["conn_evicted"] - was["conn_evicted"] <= more, "too many were evicted")
