#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of who runs the engines of a socket (sock_run.c: run_now(), iwt_sock_run_here(),
iwt_sock_run()). It tries all orders of the steps of

- a process in a system call, which runs them for some budgets and takes back the work that they
  queue meanwhile; or which takes them to its own processor;
- others who want them to run: at once if the lock is free, else by work;
- the worker that does the work.

Work is what the kernel makes of it. To queue it is to set a bit, PENDING; if that is set already,
nothing is queued. The bit is cleared before the work begins. To cancel work is to set the bit, too,
even if the work is not queued, and to clear it afterwards.

Whatever was wanted has to be done when nobody has a step left. Memory is sequentially consistent
here: PENDING is changed by fully ordered operations, and a full barrier is behind its end. A model
that finds no fault proves little, so it also runs with steps changed, and must then find a fault.
"""
import sys

import model

WANTS = 2       # of each of the others
OTHERS = 2
BUDGETS = 3
SYNC, HERE = "budgets", "here"


class State(model.State):
    """pc: of the caller, the worker, and the others"""
    FIELDS = ("pc", "lock", "wanted", "pending", "queued", "left", "more", "asked")


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


def run(s):
    """The engines do one thing, and queue work if more is to be done."""
    if s.wanted:
        s.wanted -= 1
    if s.wanted and not s.pending:
        s.pending = s.queued = True


def cancel(s, who, behind):
    """First step: take the bit. The second one, at behind, gives it back."""
    if s.pending and not s.queued:
        return False            # somebody else has it, for some steps: look again
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
        run(s)
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
        run(s)
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
    run(s)
    s.lock = None
    return go(s, 1, "begin")


def other(who):
    def step(s, cut):
        pc, n = s.pc[who], s.asked[who - 2]
        if pc == "begin":
            if n == WANTS:
                return False
            s.asked = at(s.asked, who - 2, n + 1)
            s.wanted += 1
            return go(s, who, "try")
        if pc == "try":
            return go(s, who, "run" if lock(s, who) else "queue")
        if pc == "run":
            run(s)
            s.lock = None
            return go(s, who, "begin")
        if pc == "queue":
            if s.pending:
                return go(s, who, "begin")
            s.pending = True
            return go(s, who, "queued")
        s.queued = True
        return go(s, who, "begin")
    return step


def explore(how, cut):
    """Return: the number of states, or None with a fault."""
    steps = [caller_sync if how == SYNC else caller_here, worker] + [other(2 + i) for i in range(OTHERS)]
    start = State(pc=("begin",) * len(steps), lock=None, wanted=0, pending=False, queued=False, left=BUDGETS,
                  more=False, asked=(0,) * OTHERS)
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
        if not moved and (s.wanted or s.lock is not None or s.pending):
            return None
    return len(seen)


CUTS = {
    (SYNC, "look"): "work is cancelled whether it is queued or not",
    (SYNC, "go on"): "work is cancelled, and the engines do not run once more",
    (HERE, "run first"): "work is cancelled behind the run",
}


def main():
    bad = n = 0

    def result(good, what):
        nonlocal bad, n
        n += 1
        bad += not good
        print("%sok %d - %s" % ("" if good else "not ", n, what))

    for how in SYNC, HERE:
        states = explore(how, ())
        result(states, "%s: nothing is left undone in %s states" % (how, states))
    for (how, cut), what in CUTS.items():
        result(not explore(how, (cut,)), "found: %s" % what)
    print("1..%d" % n)
    return bad != 0


sys.exit(main())
