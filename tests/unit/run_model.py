#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of the rules that decide which thread runs the engines of a socket (sock_run.c:
sock_run_now(), iwt_sock_run_here(), iwt_sock_run(), iwt_sock_gather(), iwt_sock_disown();
qp_engine.c: send()). It tries all orders of the steps of

- a process in a system call. It runs the engines for some budgets and cancels the work that they
  queue meanwhile; or it moves their queued work to its own processor;
- other callers that want the engines to run: at once if the lock is free, else by queued work;
- the worker that executes the work;
- the network, which delivers segments: to the engines, or to work that takes several segments
  together, or to the backlog if the socket has an owner;
- an owner, who passes the backlog to the engines before it releases the socket. Meanwhile the
  engines must not send: they set a flag, the note. An owner in the driver checks the note after
  it has released the socket. An owner outside of the driver does not; for this case there is a
  second work, which tries again later.

Work behaves as in the kernel. Queueing work sets a bit, PENDING; if the bit is already set,
nothing is queued. The bit is cleared before the work begins. Cancelling work sets the bit, too,
even if the work is not queued, and clears it afterwards.

When no thread has a step left, all requested work must be done. Memory is sequentially consistent
in this model: fully ordered operations change PENDING, and a full barrier follows when it is
cleared. A model that finds no fault proves little. So the model also runs with steps changed, and
must then find a fault.
"""
import sys

import model

BUDGETS = 3
SYNC, HERE = "budgets", "here"
# kinds of owners of the socket
NOBODY, OURS, FOREIGN = "no owner", "an owner in the driver", "an owner outside"
CALLER, WORKER, RETRY, NET, OWNER, OTHER = range(6)     # threads; OTHER: the first other caller


class State(model.State):
    """
    pc: step of each thread; rx, tx: number of received segments, and of messages to send;
    backlog, batch: segments in the owner's backlog, and segments of it that the owner processes
    now; noted: the flag run_wanted; retry: the work that tries again is queued; left: budgets
    that the caller has left; more: the caller runs the engines again; asked: requests that each
    other caller has left; coming, owns: segments that the network, and turns that the owner has
    left; early: the note as an owner has read it too early
    """
    FIELDS = ("pc", "lock", "owned", "rx", "tx", "backlog", "batch", "pending", "queued", "noted", "retry", "left",
              "more", "asked", "coming", "owns", "early")


def at(values, who, value):
    return values[:who] + (value,) + values[who + 1:]


def go(s, who, pc):
    s.pc = at(s.pc, who, pc)
    return True


def lock(s, who):
    if s.lock is not None:
        return False
    s.lock = who
    return True


def queue(s):
    """The caller holds the lock."""
    if not s.pending:
        s.pending = s.queued = True


def run(s, cut):
    """
    With the lock: the engines take one segment and send one message, which may be the answer to
    the segment. Work is queued if there is more to do. If the socket has an owner, the engines
    only set the note.
    """
    if s.owned:
        s.noted = "note" not in cut
        s.retry = "retry" not in cut
        return
    s.noted = False
    if s.rx:
        s.rx -= 1
        s.tx += 1
    if s.tx:
        s.tx -= 1
    if s.rx or s.tx:
        queue(s)


def cancel(s, who, behind):
    """The first step sets the bit. The second step, at behind, clears it."""
    if s.pending and not s.queued:
        return False            # another thread holds the bit for some steps: try again
    s.queued = False
    s.pending = True
    return go(s, who, behind)


def caller_sync(s, cut):
    pc = s.pc[0]
    if pc == "begin":
        if not lock(s, 0):
            return False
        s.left -= 1
        return go(s, 0, "run")
    if pc == "run":
        run(s, cut)
        return go(s, 0, "look" if s.left else "end")
    if pc == "look":
        return go(s, 0, "cancel" if s.pending or "look" in cut else "end")
    if pc == "cancel":
        found = s.queued
        if not cancel(s, 0, "cancelled"):
            return False
        s.more = (found if "look" in cut else True) and "go on" not in cut
        return True
    if pc == "cancelled":
        s.pending = False
        return go(s, 0, "end")
    if pc == "end":
        s.lock = None
        more, s.more = s.more, False
        return go(s, 0, "begin" if more and s.left else None)
    return False


def caller_here(s, cut):
    pc = s.pc[0]
    if pc == "begin":
        return lock(s, 0) and go(s, 0, "run" if "run first" in cut else "cancel")
    if pc == "cancel":
        return cancel(s, 0, "cancelled")
    if pc == "cancelled":
        s.pending = False
        return go(s, 0, "end" if "run first" in cut else "run")
    if pc == "run":
        run(s, cut)
        return go(s, 0, "cancel" if "run first" in cut else "end")
    if pc == "end":
        s.lock = None
        return go(s, 0, None)
    return False


def worker(s, cut):
    pc = s.pc[1]
    if pc == "begin":
        if not s.queued:
            return False
        s.queued = False
        s.pending = False
        return go(s, 1, "lock")
    if pc == "lock":
        return lock(s, 1) and go(s, 1, "run")
    run(s, cut)
    s.lock = None
    return go(s, 1, "begin")


def want(s, who, cut, pc, after):
    """iwt_sock_run(): runs at once if the lock is free, else by work. Continues at after."""
    if pc == "try":
        return go(s, who, "run" if lock(s, who) else "queue")
    if pc == "run":
        run(s, cut)
        s.lock = None
        return go(s, who, after)
    if pc == "queue":
        if s.pending:
            return go(s, who, after)
        s.pending = True
        return go(s, who, "queued")
    s.queued = True
    return go(s, who, after)


def other(who):
    def step(s, cut):
        pc, n = s.pc[who], s.asked[who - OTHER]
        if pc != "begin":
            return want(s, who, cut, pc, "begin")
        if not n:
            return False
        s.asked = at(s.asked, who - OTHER, n - 1)
        s.tx += 1
        return go(s, who, "try")
    return step


def retry(s, cut):
    if s.pc[RETRY] == "begin":
        if not s.retry:
            return False
        s.retry = False
        return go(s, RETRY, "lock")
    if not lock(s, RETRY):
        return False
    run(s, cut)
    s.lock = None
    return go(s, RETRY, "begin")


def arrives(s, who, cut, gathers):
    """A segment arrives, and is not processed yet. The owner calls this for its backlog, without
    the lock. Returns whether the segment waits for others (gathers)."""
    s.rx += 1
    if not gathers:
        return False
    if "gather" in cut:
        return True
    if who == NET:
        queue(s)
        return True
    if s.pending:
        return True
    s.pending = True
    return go(s, who, "gathered")


def net(gathers):
    def step(s, cut):
        if s.pc[NET] == "begin":
            if not s.coming or not lock(s, NET):
                return False
            s.coming -= 1
            return go(s, NET, "deliver")
        if s.owned:
            s.backlog += 1
        elif not arrives(s, NET, cut, gathers):
            run(s, cut)
        s.lock = None
        return go(s, NET, "begin")
    return step


def backlog(s, cut, gathers):
    """The owner processes a segment of its backlog."""
    s.batch -= 1
    if arrives(s, OWNER, cut, gathers):
        return s.pc[OWNER] == "gathered" or go(s, OWNER, "backlog")
    s.rx -= 1
    s.tx += 1
    return go(s, OWNER, "backlog" if "note of the backlog" in cut else "try")


def let_go(s, kind, cut):
    """The last step of release_sock(), or one round of the backlog in it."""
    if s.backlog:
        s.batch, s.backlog = s.backlog, 0
        s.lock = None
        return go(s, OWNER, "backlog")
    s.owned = False
    s.lock = None
    return go(s, OWNER, "look" if kind == OURS and "look" not in cut else "begin")


def owner(kind, gathers):
    def step(s, cut):
        pc = s.pc[OWNER]
        if pc == "begin":
            if not s.owns or s.lock is not None:
                return False
            s.owns -= 1
            s.owned = True
            return go(s, OWNER, "own")
        if pc == "own":
            s.early = "early look" in cut and s.noted
            return go(s, OWNER, "release") if "early look" in cut else lock(s, OWNER) and go(s, OWNER, "let go")
        if pc == "release":
            return lock(s, OWNER) and go(s, OWNER, "let go")
        if pc == "let go":
            return let_go(s, kind, cut)
        if pc == "backlog":
            return backlog(s, cut, gathers) if s.batch else go(s, OWNER, "own")
        if pc == "gathered":
            s.queued = True
            return go(s, OWNER, "backlog")
        if pc == "look":
            noted = s.early if "early look" in cut else s.noted
            return go(s, OWNER, "try" if noted else "begin")
        return want(s, OWNER, cut, pc, "backlog" if s.owned else "begin")
    return step


def explore(how, kind, cut):
    """Returns the number of states, or None if there is a fault."""
    alone = kind == NOBODY
    others = 2 if alone else 1
    steps = [caller_sync if how == SYNC else caller_here, worker, retry]
    steps += [other(OTHER + i) for i in range(others)]
    # the driver's decision whether to gather segments may change at any time
    steps += [] if alone else [net(False), net(True), owner(kind, False), owner(kind, True)]
    start = State(pc=("begin",) * (OTHER + others), lock=None, owned=False, rx=0, tx=0, backlog=0, batch=0,
                  pending=False, queued=False, noted=False, retry=False, left=BUDGETS if alone else 2, more=False,
                  asked=(2 if alone else 1,) * others, coming=0 if alone else 2, owns=1 if how == SYNC else 2,
                  early=False)
    seen, todo = {start.key()}, [start]
    while todo:
        s = todo.pop()
        moved = False
        for step in steps:
            t = s.copy()
            if not step(t, cut):
                continue
            moved = True
            if t.key() not in seen:
                seen.add(t.key())
                todo.append(t)
        if not moved and (s.rx or s.tx or s.backlog or s.lock is not None or s.pending):
            return None
    return len(seen)


CUTS = (
    (SYNC, NOBODY, ("look",), "work is cancelled whether it is queued or not"),
    (SYNC, NOBODY, ("go on",), "work is cancelled, and the engines do not run once more"),
    (HERE, NOBODY, ("run first",), "work is cancelled after the run"),
    (HERE, OURS, ("note", "retry"), "a caller that finds an owner leaves no note"),
    (HERE, OURS, ("retry", "look"), "the owner does not look whether there is a note"),
    (HERE, OURS, ("retry", "early look"), "the owner looks before it releases the socket"),
    (HERE, FOREIGN, ("retry",), "nothing tries again, and the owner does not know of notes"),
    (HERE, OURS, ("note of the backlog",), "the engines leave no note in the backlog"),
    (HERE, OURS, ("gather",), "segments are left to a run that nobody queues"),
)


def main():
    bad = n = 0

    def result(good, what):
        nonlocal bad, n
        n += 1
        bad += not good
        print("%sok %d - %s" % ("" if good else "not ", n, what))

    for how in SYNC, HERE:
        for kind, cut in (NOBODY, ()), (OURS, ("retry",)), (FOREIGN, ()):
            states = explore(how, kind, cut)
            without = ", without the work that tries again" if cut else ""
            result(states, "%s, %s%s: nothing is left undone in %s states" % (how, kind, without, states))
    for how, kind, cut, what in CUTS:
        result(not explore(how, kind, cut), "found: %s" % what)
    print("1..%d" % n)
    return bad != 0


sys.exit(main())
