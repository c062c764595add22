#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of the resize of a process's completion queue: how the entries move to the new ring (the
kernel's cq_resize.c and cq.c: put_user_entry(); the provider's cq_resize.c and iwt_cq_clean()).
The model tries all orders of the steps of the kernel, a thread that polls, a thread that removes
the completions of a queue pair, and the thread that resizes.

Each completion that is not removed must be polled once, in order. No completion may be lost while
the queue has room. Memory is sequentially consistent in this model: in the real code, the index
is stored with release and loaded with acquire semantics, and everything else happens under locks.
A model that finds no fault proves little. So the model also runs with steps left out or changed,
and must then find a fault (except where the kernel is never told, which only costs room).
"""
import sys

import model

PUSHES = 5
GONE = 3        # number of the completion whose queue pair is destroyed
FREE = None
GARBAGE = "garbage"


class Fault(Exception):
    pass


# pc: step of each thread; lock: the thread that holds the process's lock of the queue; prod,
# cons: indexes; old, new: entries of both rings; mode: the rings to which the kernel writes;
# room: how many entries the kernel uses; reads_new: the process reads the new ring; taken: the
# polled completions; regs: a value that each thread keeps; gone: the queue pair is destroyed
class State(model.State):
    FIELDS = ("pc", "lock", "prod", "cons", "old", "new", "mode", "room", "reads_new", "taken", "regs", "gone")


KERNEL, POLLER, RESIZER, CLEANER = range(4)


def put(ring, index, value):
    at = index % len(ring)
    return ring[:at] + (value,) + ring[at + 1:]


def get(ring, index):
    return ring[index % len(ring)]


def reg(s, who, value):
    s.regs = s.regs[:who] + (value,) + s.regs[who + 1:]


def process_ring(s):
    return s.new if s.reads_new else s.old


def take_lock(s, who):
    if s.lock is not None:
        return False
    s.lock = who
    return True


# The functions of the threads each execute one step. They return False if the thread must wait or
# has no step left.

def kernel(s, cut):
    """Adds one completion, under the kernel's lock; waits while the queue has no room."""
    n = s.pc[KERNEL]
    if n == PUSHES or s.prod - s.cons >= s.room:
        return False
    if n == GONE and s.gone:
        # a destroyed queue pair has no completions
        n += 1
        if n >= PUSHES:
            return False
    if s.mode in ("old", "both"):
        s.old = put(s.old, s.prod, n)
    if s.mode == "new" or (s.mode == "both" and "both" not in cut):
        s.new = put(s.new, s.prod, n)
    s.prod += 1
    s.pc = (n + 1,) + s.pc[1:]
    return True


def poller(s, cut):
    """Locks, reads the index, reads an entry, releases the entry, unlocks; in an endless loop."""
    step = s.pc[POLLER]
    if step == 0:
        if not take_lock(s, POLLER):
            return False
        reg(s, POLLER, s.prod)
    elif step == 1:
        if s.regs[POLLER] == s.cons:
            s.lock = None
            s.pc = s.pc[:1] + (0,) + s.pc[2:]
            return True
        value = get(process_ring(s), s.cons)
        if value == GARBAGE or value is FREE:
            raise Fault("the poller read an entry that has no completion")
        s.taken += (value,)
        s.cons += 1
        s.pc = s.pc[:1] + (0,) + s.pc[2:]
        s.lock = None
        return True
    s.pc = s.pc[:1] + (step + 1,) + s.pc[2:]
    return True


def cleaner(s, cut):
    """Destroys the queue pair of one completion: locks, removes its entry, unlocks."""
    step = s.pc[CLEANER]
    if step == 0:
        s.gone = True
    elif step == 1:
        if not take_lock(s, CLEANER):
            return False
        ring, kept = process_ring(s), s.prod
        for index in range(s.prod - 1, s.cons - 1, -1):
            value = get(ring, index)
            if value == GONE:
                continue
            kept -= 1
            ring = put(ring, kept, value)
        if s.reads_new:
            s.new = ring
        else:
            s.old = ring
        s.cons = kept
        s.lock = None
    else:
        return False
    s.pc = s.pc[:3] + (step + 1,)
    return True


def resizer(s, cut):
    step = s.pc[RESIZER]
    done = 6
    if step == 0:
        # the command that begins the resize
        if s.prod - s.cons > len(s.new):
            step = done - 1         # the kernel refuses: too many entries for the new ring
        else:
            s.mode = "both"
            s.room = max(len(s.old), len(s.new)) if "room" in cut else min(len(s.old), len(s.new))
            if "kernel copies" in cut:
                for i in range(s.cons, s.prod):
                    s.new = put(s.new, i, get(s.old, i))
    elif step == 1:
        if "lock" not in cut:
            if not take_lock(s, RESIZER):
                return False
        reg(s, RESIZER, (s.cons, s.prod))
        if "tell first" in cut:
            s.mode, s.room, s.old = "new", len(s.new), (GARBAGE,) * len(s.old)
    elif step == 2:
        if "kernel copies" not in cut:
            for i in range(*s.regs[RESIZER]):
                s.new = put(s.new, i, get(s.old, i))
    elif step == 3:
        s.reads_new = True
    elif step == 4:
        if "lock" not in cut:
            s.lock = None
    elif step == 5:
        # IWT_METHOD_CQ_RESIZED: from now on the kernel may reuse the old entries
        if "tell" not in cut and "tell first" not in cut:
            s.mode, s.room, s.old = "new", len(s.new), (GARBAGE,) * len(s.old)
    else:
        return False
    s.pc = s.pc[:2] + (step + 1,) + s.pc[3:]
    return True


def check(s):
    if list(s.taken) != sorted(set(s.taken)):
        raise Fault("taken twice, or out of order: %s" % (s.taken,))


def check_end(s):
    wanted = [n for n in range(PUSHES) if n != GONE]
    if [n for n in s.taken if n != GONE] != wanted and s.pc[KERNEL] == PUSHES and s.cons == s.prod:
        raise Fault("lost: %s" % (s.taken,))
    if s.cons != s.prod:
        raise Fault("a completion was not polled")


def explore(old, new, cut, first):
    start = State(pc=(0, 0, 0, 0), lock=None, prod=first, cons=first, old=(FREE,) * old, new=(FREE,) * new,
                  mode="old", room=old, reads_new=False, taken=(), regs=(None,) * 4, gone=False)
    seen, todo = {start.key()}, [start]
    while todo:
        s = todo.pop()
        moved = False
        for who in (kernel, poller, resizer, cleaner):
            t = s.copy()
            if not who(t, cut):
                continue
            check(t)
            if t.key() != s.key():
                moved = True
            if t.key() not in seen:
                seen.add(t.key())
                todo.append(t)
        # the end: only the poller can still move, in its endless loop
        if not moved or (s.pc[RESIZER] == 6 and s.pc[CLEANER] == 2 and s.lock is None and
                         s.pc[POLLER] == 0 and s.cons == s.prod and
                         (s.pc[KERNEL] == PUSHES or (s.pc[KERNEL] == GONE and GONE == PUSHES - 1))):
            check_end(s)
    return len(seen)


def faulty(cut):
    for old, new in SIZES:
        for first in (0, 1, 3):
            try:
                explore(old, new, cut, first)
            except Fault as fault:
                return str(fault)
    return None


SIZES = ((2, 4), (4, 2), (2, 2), (4, 8))
CUTS = {
    "both": "the kernel writes to the old ring alone until the process tells it",
    "kernel copies": "the kernel copies the entries in use, not the process",
    "lock": "the process moves without its lock",
    "tell first": "the kernel is told before the process has copied",
    "tell": "the kernel is never told: no fault, but no more room either",
    "room": "the queue has the room of the larger of both",
}


def main():
    bad = n = 0

    def result(good, what):
        nonlocal bad, n
        n += 1
        bad += not good
        print("%sok %d - %s" % ("" if good else "not ", n, what))

    states = 0
    for old, new in SIZES:
        for first in (0, 1, 3):
            try:
                states += explore(old, new, (), first)
            except Fault as fault:
                print("# %d to %d: %s" % (old, new, fault))
                result(False, "from %d to %d entries" % (old, new))
    result(states > 1000, "no completion is lost or doubled in %d states" % states)
    for cut, what in CUTS.items():
        fault = faulty((cut,))
        if cut == "tell":
            result(fault is None, what)
        else:
            result(fault is not None, "found: %s (%s)" % (what, fault))
    print("1..%d" % n)
    return bad != 0


sys.exit(main())
