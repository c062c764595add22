#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Tests connections in all stages of their startup while their listener ends, and while something
else happens to them.

This program is the peer. In each round, peers connect to a listener of iwt_ulp, and each peer stops
at a random stage of the startup. Then three things happen at the same time: the program answers the
Requests that it has read; the peers send more octets, FIN or RST; and the listener ends. Each peer
must get a definite end, and only the answer that the program gave. Connections that the program
accepts, also after the end of the listener, must work. At the end of the round, no TCP socket may
be left. A round depends only on the seed, and on the order of simultaneous events.
"""
import argparse
import contextlib
import random
import shlex
import subprocess
import sys
import threading
import time
import traceback

import fpdu
import mpa
import patience
from case import Case, Conn, Place, add_arguments
from outcome import Fail, Late, check, equal, is_late
from ulp import Ulp, UlpError

# Seconds until the end of a connection. If the listener ends, iw_cm may forget a Request without
# an answer; the driver then resets the connection after 60 seconds.
PATIENCE = 90
MEM_LEN = 4096
NAPS = (0, 0.0001, 0.0004, 0.001, 0.003)    # seconds; at most so long
# Stages at which a peer stops. "late": the peer connects while the listener ends. "unread": the
# program has not read the event of the Request. "delivered": the program has read the event.
EARLY = ("silent", "part", "late")
ANSWERED = ("delivered", "accepted", "working")
STAGES = EARLY + ("unread",) + ANSWERED
# What a peer does while the listener ends. "more": sends more octets of its Request.
DEEDS = ("stay", "more", "fin", "rst", "garbage")
ANSWERS = ("accept", "accept", "reject", "destroy")
# What the octets say that a peer receives
NOTHING, ACCEPT, REJECT = "no Reply", "a Reply", "a reject"


class Call:
    """
    A connection. stage, deed and answer: what the peer and the program have to do. sent: number of
    octets of the Request that were sent. garbage: octets that were sent in place of the rest.
    result: what the program did: "accepted", "rejected" (also by destroying the rdma_cm_id),
    "failed" (an accept), "unknown" (the program was killed, or its link was deleted), or None if the
    program has not read the Request.
    """

    def __init__(self, number, stage, deed, rng, most):
        self.number, self.stage, self.deed, self.rng = number, stage, deed, rng
        self.octets = mpa.frame(mpa.REQ, mpa.C, 1, bytes([number]) + bytes(rng.choice((0, 0, 9, 200))))
        self.most = len(self.octets) - (0 if most else 1)
        self.sent, self.garbage = 0, b""
        self.answer = rng.choice(ANSWERS)
        self.peer = self.conn = self.result = self.frame = None
        self.closed = False     # the program has destroyed the rdma_cm_id

    def __repr__(self):
        return "peer %d: %s, %s; %s, %s" % (self.number, self.stage, self.deed, self.answer, self.result)

    def whole(self):
        """Returns whether the peer may have sent a whole Request. Garbage may complete the Request."""
        said = self.octets[:self.sent] + self.garbage
        return said[:18] == self.octets[:18] and len(said) >= mpa.HDR_LEN + int.from_bytes(said[18:20], "big")

    def ask(self, until):
        """Sends the Request up to the octet "until"."""
        self.peer.own = self.octets
        until, begin = min(until, self.most), self.sent
        self.sent = max(until, begin)
        if until > begin:
            self.peer.send(self.octets[begin:until])

    def act(self, port, case):
        """Executes the deed of the peer. Errors mean that the connection has ended already."""
        try:
            if self.stage == "late":
                self.peer = case.connect(port)
                self.ask(self.rng.choice((0, 19, self.most)))
            if self.deed == "more":
                self.ask(self.rng.choice((self.most, self.sent + 1)))
            elif self.deed == "rst":
                self.peer.rst()
            elif self.deed == "garbage":
                self.garbage = self.rng.choice((b"\xff" * 70, b"?", fpdu.fpdu(fpdu.tagged(fpdu.WRITE, 1, 0))))
                self.peer.sock.sendall(self.garbage)
            if self.deed in ("fin", "garbage"):
                self.peer.fin()
        except OSError:
            pass

    def allowed(self, exact):
        """Returns the answers that the peer may receive. exact: the peer and the process of the
        program are still there, so only one answer is right."""
        if self.result == "accepted":
            return {ACCEPT} if exact else {ACCEPT, NOTHING}
        if self.result == "rejected":
            return {REJECT} if exact else {REJECT, NOTHING}
        if self.result == "unknown":
            return {ACCEPT, REJECT, NOTHING}
        return {REJECT, NOTHING} if self.whole() else {NOTHING}

    def received(self):
        """Returns what the peer has received: NOTHING, ACCEPT or REJECT."""
        if self.frame is None:
            self.frame = self.peer.other = mpa.receive(self.peer.sock, PATIENCE)
        if not self.frame.octets:
            return NOTHING
        check(self.frame.whole and self.frame.key == mpa.REP, "part of a Reply:", self.frame)
        return REJECT if self.frame.flags & mpa.R else ACCEPT


class Program:
    """A process of iwt_ulp, with a region that all its connections use."""

    def __init__(self, place):
        self.ulp, self.mem = Ulp(place.ulp), None

    def equip(self, conn):
        """Makes the queue pair of a connection."""
        if self.mem is None:
            self.mem = self.ulp.mr(mr=0, len=MEM_LEN, access="lwr", fill=0x5A)
        conn.cq, conn.mr, conn.addr, conn.stag = 0, 0, self.mem["addr"], self.mem["stag"]
        self.ulp.qp(id=conn.id)

    def gone(self):
        """Waits until the process, which was killed or has lost its link, has ended."""
        with contextlib.suppress(BrokenPipeError):
            self.ulp.proc.stdin.close()
        status = patience.ended(self.ulp.proc, PATIENCE)
        self.ulp.proc.stdout.close()
        check(status in (0, -9), "the program ends with status", status)


class Round:
    """
    One round. how: "destroy" (the program destroys the rdma_cm_id of the listener), "kill" (the
    process ends) or "link" (the link is deleted). what: "early" (no peer sends a whole Request),
    "answers" (each answer of the program and the deed of the same peer begin at the same time), or
    "all".
    """

    def __init__(self, case, program, how, what):
        self.case, self.program, self.ulp = case, program, program.ulp
        self.how, self.what, self.rng = how, what, case.rng
        self.errors, self.listening = [], True
        self.naps, self.order, self.at_end, self.end_nap = [], [], 0, 0
        self.barrier = threading.Barrier(2 if what == "answers" else 1)
        self.listener, self.port = case.listener(self.ulp, backlog=self.rng.choice((1, 3, 128)))
        stages, most = {"early": (EARLY, 9), "answers": (("delivered",), 20), "all": (STAGES, 9)}[what]
        self.calls = [Call(n, self.rng.choice(stages), self.rng.choice(DEEDS), random.Random(self.rng.random()),
                           what != "early") for n in range(self.rng.randrange(3, most))]
        for call in sorted(self.calls, key=lambda c: c.stage not in ANSWERED):
            self.prepare(call)

    def prepare(self, call):
        """Brings a connection to its stage."""
        if call.stage == "late":
            return
        call.peer = self.case.connect(self.port)
        if call.stage != "silent":
            call.ask(self.rng.choice((1, 16, 19, 20)) if call.stage == "part" else call.most)
        if call.stage not in ANSWERED:
            return
        event = self.ulp.event(id=self.listener, want="CONNECT_REQUEST")
        equal(event["data"], call.octets[mpa.HDR_LEN:], "private data of the event")
        call.conn = Conn(call.peer, self.ulp, event["new"])
        self.program.equip(call.conn)
        if call.stage == "delivered":
            return
        self.reply(call, "accept")
        call.received()
        call.peer.begin()
        if call.stage == "working":
            call.peer.put_write()
            call.conn.alive()

    def reply(self, call, answer):
        """Gives an answer to a Request."""
        if answer == "accept":
            if self.ulp.accept_or_not(id=call.conn.id):
                call.result = "accepted"
            else:
                call.result = "failed" if self.how == "destroy" else "unknown"
            return
        call.result = "rejected"
        try:
            self.ulp.cmd(answer, id=call.conn.id)
            call.closed = answer == "destroy"
        except UlpError:
            if self.how != "destroy":
                call.result = "unknown"
            elif call.deed in ("stay", "more") or answer == "destroy":
                raise

    def end(self):
        """Ends the listener."""
        if not self.listening:
            return
        self.listening = False
        if self.how == "kill":
            self.ulp.proc.kill()
            patience.ended(self.ulp.proc, PATIENCE)
        elif self.how == "link":
            done = self.case.place.run("rdma", "link", "delete", self.case.place.device)
            check(done.returncode == 0, "the link is deleted")
        else:
            self.ulp.destroy(id=self.listener)

    # the threads of a round

    def guard(self, do):
        """Calls do(), and stores its exception."""
        try:
            do()
        except threading.BrokenBarrierError:
            pass
        except Exception as error:      # pylint: disable=broad-except
            self.errors.append(error)
            self.barrier.abort()

    def program_acts(self):
        """The program answers Requests; the listener may end in between."""
        for n, call in enumerate(c for c in self.calls if c.stage == "delivered"):
            if n == self.at_end and self.how == "destroy":
                self.end()
            self.barrier.wait()
            time.sleep(self.naps[call.number])
            self.reply(call, call.answer)

    def peers_act(self):
        """The peers execute their deeds, in the order in which the program answers, or in any
        order."""
        for call in self.order:
            self.barrier.wait()
            time.sleep(self.naps[-1 - call.number])
            call.act(self.port, self.case)

    def end_acts(self):
        """Ends the listener at any time, from outside of the program."""
        time.sleep(self.end_nap)
        self.end()

    def race(self):
        """Runs the threads."""
        rng = self.rng
        self.naps = [rng.choice(NAPS) * rng.random() for _ in range(2 * len(self.calls))]
        self.at_end = rng.randrange(sum(c.stage == "delivered" for c in self.calls) + 1)
        self.end_nap = rng.random() * rng.choice((0.001, 0.02))
        self.order = list(self.calls)
        if self.what != "answers":
            rng.shuffle(self.order)
        acts = [self.program_acts, self.peers_act] + ([] if self.how == "destroy" else [self.end_acts])
        threads = [threading.Thread(target=self.guard, args=(act,)) for act in acts]
        for one in threads:
            one.start()
        if self.how == "destroy" and not any(c.stage == "delivered" for c in self.calls):
            time.sleep(self.end_nap)
            self.guard(self.end)
        for one in threads:
            one.join()
        if self.errors:
            raise self.errors[0]
        self.end()

    # the results of a round

    def judge(self, call):
        """Checks what a peer receives, and the end of its connection."""
        if call.peer is None or call.deed == "rst":
            return
        here = self.how == "destroy"
        stays = here and call.deed in ("stay", "more") and not (call.deed == "more" and call.stage in EARLY)
        check(not (stays and call.result == "failed"), "the accept of a Request whose peer waits fails")
        got, allowed = call.received(), call.allowed(stays)
        check(got in allowed, "the peer receives %s, allowed:" % got, sorted(allowed))
        if got == ACCEPT and stays:
            if call.peer.tx is None:
                call.peer.begin()
            if call.stage != "working":
                call.peer.put_write()
            call.conn.alive()
            if call.rng.randrange(2):
                self.ulp.disconnect(id=call.conn.id)
                call.peer.expect_fin(PATIENCE)
            return
        data, end = call.peer.rest(PATIENCE)
        if end == "open":
            raise Late("the connection does not end")
        check(got == ACCEPT or not data, "the peer receives octets", data)

    def events(self, call):
        """Checks that the program gets each event of an accepted connection once."""
        for want in "ESTABLISHED", "DISCONNECTED":
            self.ulp.event(id=call.conn.id, want=want, ms=PATIENCE * 1000)
        self.ulp.event(id=call.conn.id, want="none", ms=0)

    def closed_port(self):
        """Checks that nobody listens any more."""
        try:
            self.case.connect(self.port)
        except ConnectionRefusedError:
            return
        raise Fail("the port of the listener is open")

    def run(self):
        """Runs the round."""
        self.race()
        self.closed_port()
        for call in self.calls:
            try:
                self.judge(call)
                if call.peer:
                    call.peer.close()
                if self.how == "destroy" and call.conn and not call.closed:
                    if call.result == "accepted":
                        self.events(call)
                    self.ulp.destroy(id=call.conn.id)
            except Exception as error:
                print("# %r" % call)
                raise error


def tell_kernel(text):
    """Writes text to the kernel's log, so that the seed is known even if the kernel crashes."""
    with contextlib.suppress(OSError), open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write("listener_end.py: " + text)


def sockets():
    """Returns the number of TCP sockets of this machine."""
    with open("/proc/net/sockstat", encoding="ascii") as file:
        words = next(line for line in file if line.startswith("TCP:")).split()
    return int(words[words.index("alloc") + 1])


class Part:
    """Many rounds of the same kind."""

    def __init__(self, place, args, how, what):
        self.place, self.args, self.how, self.what = place, args, how, what
        self.rounds = args.rounds if how == "destroy" else max(args.rounds // 3, 1)
        self.program = None
        self.got = {}

    def repeats(self, number):
        """Returns the options that repeat a round."""
        return "--seed %s --part %s-%s --first %d --rounds 1" % (self.args.seed, self.how, self.what, number)

    def one(self, number):
        """Runs a round."""
        tell_kernel(self.repeats(number))
        case = Case(self.place, "%s %s %s %d" % (self.args.seed, self.how, self.what, number))
        before = sockets()
        program = self.program or Program(self.place)
        try:
            game = Round(case, program, self.how, self.what)
            game.run()
            self.count(game)
        finally:
            case.close()
        if self.how == "destroy":
            self.program = program
        else:
            program.gone()
        if self.how == "link":
            done = self.place.run("rdma", "link", "add", self.place.device, "type", self.place.link, "netdev",
                                  self.args.netdev)
            check(done.returncode == 0, "the link is added again")
        if not patience.until(lambda: sockets() <= before, PATIENCE):
            raise Late("%d TCP sockets are left" % (sockets() - before))

    def count(self, game):
        """Counts what has happened."""
        for call in game.calls:
            got = "%s, %s" % (call.result, call.received() if call.peer and call.deed != "rst" else "gone")
            self.got[got] = self.got.get(got, 0) + 1

    def accepted(self):
        """Returns how many Requests the program has accepted."""
        return sum(n for got, n in self.got.items() if got.startswith("accepted"))

    def run(self, tap):
        """Runs all rounds, and reports the results."""
        what = "%s, %s" % (self.how, self.what)
        before, number, error = Case(self.place, 0).counters(), self.args.first, None
        began = time.monotonic()
        try:
            for number in range(self.args.first, self.args.first + self.rounds):
                self.one(number)
                if number % 50 == 49:
                    print("# %s: round %d has ended" % (what, number), flush=True)
            if self.program:
                self.program.ulp.close()
        except Exception as failed:     # pylint: disable=broad-except
            error = failed
            print("# " + self.repeats(number))
            print("# " + traceback.format_exc().strip().replace("\n", "\n# "))
        print("# %s: %d rounds in %.1f s" % (what, number + 1 - self.args.first, time.monotonic() - began))
        for got, n in sorted(self.got.items()):
            print("# %s: %s: %d" % (what, got, n))
        tap.ok(error is None, "%s: each peer gets a definite end%s" % (what, " (time-out)" if is_late(error) else ""),
               error)
        # A new link has new counters. If the program is killed, this test may not know the
        # result of an accept.
        if error is None and (self.how == "destroy" or (self.how, self.what) == ("kill", "early")):
            self.counters(tap, what, before)

    def counters(self, tap, what, before):
        """Compares the counters of the device with the results of this part."""
        after = Case(self.place, 0).counters()
        if not after:
            tap.skip(what + ": counters", "this driver has no counters")
            return
        passive, late = (after[name] - before[name] for name in ("conn_passive", "conn_timeout"))
        if self.what == "early":
            if late:
                print("# time-out: of the driver")
            tap.ok(not late, "%s: no connection waits for a time limit%s" % (what, " (time-out)" if late else ""),
                   "%d connections waited" % late)
        else:
            tap.ok(passive == self.accepted(), "%s: each accept is executed once" % what,
                   "%d accepts, %d connections" % (self.accepted(), passive))


PARTS = ("destroy-early", "destroy-answers", "destroy-all", "kill-early", "kill-all", "link-early", "link-all")


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    add_arguments(p)
    p.add_argument("--device", required=True, help="name of the device")
    p.add_argument("--netdev", required=True, help="net device of the device")
    p.add_argument("--rounds", type=int, default=8,
                   help="rounds of each part in which the program goes on (8); the other parts have a third")
    p.add_argument("--first", type=int, default=0, help="number of the first round (0)")
    p.add_argument("--seed", help="repeats a run")
    p.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    p.add_argument("--trace", action="store_true", help="print the commands to the program")
    args = p.parse_args()
    args.seed = args.seed or str(random.randrange(1 << 32))
    return args


def main():
    args = arguments()
    Ulp.trace = args.trace
    before = shlex.split(args.run)
    place = Place(before + shlex.split(args.ulp), args.here, args.there, args.link, args.device, "direct", True, "",
                  lambda *words, **how: subprocess.run(before + list(words), check=False, **how))
    print("# seed", args.seed, flush=True)
    tap = mpa.Tap()
    for part in args.part or PARTS:
        Part(place, args, *part.split("-")).run(tap)
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
