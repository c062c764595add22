#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of the rules that decide which thread runs the engines of a socket (sock_run.c:
sock_run_now(), iwt_sock_run_here(), iwt_sock_run(), iwt_sock_gather(), iwt_sock_disown();
qp_engine.c: send()). The model tries all orders of the steps of

- a process in a system call. Either the process runs the engines for some budgets, and cancels
  the work item that the engines queue meanwhile. Or the process cancels the queued work item, and
  runs the engines itself, on its own processor;
- other callers. A caller runs the engines at once if the lock is free, else it queues the work
  item;
- the worker that executes the work item;
- the network, which delivers segments to the engines, or leaves several segments to one run of
  the work item, or adds the segments to the backlog if the socket has an owner;
- an owner of the socket, which passes the backlog to the engines before it releases the socket.
  As long as the socket has an owner, the engines must not send: they only set a flag, the note.
  An owner in the driver checks the note after it has released the socket. An owner outside of
  the driver does not check the note; for this case there is a second work item, which tries again
  later.

A work item behaves as in the kernel. Queueing it sets a bit, PENDING; if the bit is already set,
nothing is queued. The bit is cleared before the work item runs. Cancelling the work item also
sets the bit, even if the work item is not queued, and clears the bit afterwards.

When no thread has a step left, all requested work must be done, and the lock must be free. Memory
is sequentially consistent in this model: in the kernel, a fully ordered operation sets PENDING,
and a full barrier follows the operation that clears PENDING. A model that finds no fault proves
little. So the model also runs with steps changed, and must then find a fault.
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
    pc: step of each thread; lock: the thread that holds the lock; owned: the socket has an owner;
    rx: number of received segments; tx: number of messages to send; backlog: number of segments
    in the owner's backlog; batch: number of segments that the owner has taken from the backlog to
    process them; pending, queued: the bit PENDING, and the work item; noted: the note (in the
    driver, the flag run_wanted); retry: the second work item is queued; left: number of budgets
    that the process has left; more: the process runs the engines again; asked: number of requests
    that each other caller has left; coming: number of segments that the network has left; owns:
    how often the owner will still take the socket; early: the value of the note that an owner has
    read too early
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
    """Queues the work item. The caller holds the lock."""
    if not s.pending:
        s.pending = s.queued = True


def run(s, cut):
    """
    One run of the engines, with the lock. The engines take one segment and send one message,
    which may be the answer to the segment. If more is to be done, they queue the work item. But
    if the socket has an owner, the engines only set the note.
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
    """The first step of cancelling, which sets PENDING. behind: the second step, which clears
    PENDING. Returns False if the thread must wait."""
    if s.pending and not s.queued:
        return False            # another thread holds the bit for some steps: try again
    s.queued = False
    s.pending = True
    return go(s, who, behind)


# The functions of the threads each execute one step. They return a true value if the thread has
# executed a step, and a false value if it must wait or has no step left.

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
    """iwt_sock_run(): runs the engines at once if the lock is free, else queues the work item.
    after: the step with which the thread then continues."""
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
    """A segment arrives; this function does not process the segment. The owner calls this
    function for its backlog, without the lock. gathers: the segment waits for more segments, and
    the work item processes all together. Returns gathers."""
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
    """The last step of release_sock(), or the beginning of a round of the backlog in
    release_sock()."""
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
    """how: SYNC or HERE; kind: kind of the owner; cut: names of the changed steps. Returns the
    number of states, or None if there is a fault."""
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
