#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of the wake-up protocol of the send queue's ring, which wake_doorbell.c describes (ring.h,
tx.c: go_idle(), wake_sqpoll.c, wake_cqpoll.c; the provider's iwt_wq_publish(), iwt_cq_defer() and
iwt_cq_flush()). The model tries all orders of the steps in each of these scenarios:

- A process posts, the engine runs, and a worker polls the ring.
- One of the doorbells of a process starts the deferred mode: from then on the process must flush
  its posts at both completion queues of its queue pair. The process does not poll. So the timers
  of the two completion queues flush in place of the process, and end the mode.
- A process is in the deferred mode from the start, and its second thread polls one of the two
  completion queues.
- A process is in the deferred mode from the start. Its only thread posts and then polls one
  completion queue, while the timer of the other completion queue ends the mode.

An engine that spins for a reply (wake_reply.c) only reads the ring for a longer time, so the
model does not include spinning. No full barrier follows the store of the process's count of
unflushed posts, or the kernel's store of the flag IWT_RING_DEFERRED. So these stores may take
effect late. This may delay a post, but must not lose the post.

Memory is as weak as arm64's (tests/unit/weak.py). The scenario with the worker also models the
entries of the ring: the engine must read each entry whole. When all threads have ended, no post
may be left in the ring. A model that finds no fault proves little. So the model also runs without
each of the barriers and with steps left out, and must then find a fault.
"""
import sys

import weak

POSTS = 2
UNFLUSHED_MAX = 2
SEND, RECV = 0, 1
LOCATIONS = ("entry", "prod", "flags", "bit0", "bit1", "deferred0", "deferred1", "unflushed0", "unflushed1")
ENGINE = 0      # number of labels so far


class Model(weak.State):
    """
    cons, pollers, on0, on1: values that the kernel changes under its locks (on0, on1: the
    deferred mode at the completion queue of sends, of receives); asleep: the kernel's copy of the
    flag IWT_RING_NEED_WAKEUP; torn: the engine has read an entry that was not whole
    """
    PLAIN = ("cons", "pollers", "on0", "on1", "asleep", "torn")


def label(name):
    global ENGINE
    ENGINE += 1
    return "%s %d" % (name, ENGINE)


def sleeping(value):
    """Sets the kernel's copy of the flag. The lock is held, so no other thread sees this step."""
    return weak.local(weak.do(lambda state: setattr(state, "asleep", value)))


def engine(cut):
    """One run of the engine: iwt_tx_wanted(), iwt_tx_run(), go_idle()."""
    take, idle, none, end = (label(name) for name in ("take", "idle", "none", "end"))

    def take_all(state, who):
        for prod in state.load(who, "prod", "acquire of prod" not in cut):
            if prod.got == prod.cons:
                yield prod.at(who, idle)
                continue
            prod.cons = prod.got
            if "entries" not in cut:
                yield prod.at(who, take)
                continue
            # the model has only one entry: the newest entry
            for entry in prod.load(who, "entry", False):
                entry.torn = entry.torn or entry.got < entry.cons
                yield entry.at(who, take)

    def wanted(state, who):
        if not state.asleep:
            yield state.copy().next(who)
            return
        for prod in state.load(who, "prod", True):
            yield prod.at(who, end) if prod.got == prod.cons else prod.next(who)

    def last_look(state, who):
        for prod in state.load(who, "prod", False):
            yield prod.at(who, end) if prod.got == prod.cons else prod.next(who)

    code = [weak.lock, wanted,
            none, sleeping(0), weak.store("flags", 0),
            take, take_all,
            idle, weak.local(weak.jump_if(lambda state: state.pollers, end)),
            sleeping(1), weak.store("flags", 1)]
    code += [] if "consumer's barrier" in cut else [weak.barrier]
    code += [] if "last look" in cut else [last_look, weak.jump(none)]
    return code + [end, weak.unlock]


def begin(cut):
    """Starts the deferred mode: cqpoll_enter() in wake_cqpoll.c, for both completion queues"""
    code = []
    for cq in "01":
        def count(state, cq=cq):
            setattr(state, "on" + cq, 1)
            state.pollers += 1

        code += [weak.store("deferred" + cq, 1), weak.release, weak.lock, weak.do(count), sleeping(0),
                 weak.store("flags", 0), weak.unlock]
    return code


def call(cq, cut):
    """iwt_cqpoll_flush(): clears the bit, and runs the engine."""
    end = label("end")
    code = [weak.branch("bit%d" % cq, lambda bit: bit, end)]
    code += [weak.exchange("bit%d" % cq, 0, "order of the bit" not in cut)]
    return code + [weak.jump_if(lambda state: not getattr(state, "on%d" % cq), end)] + engine(cut) + [end]


def flush(cq, cut):
    """iwt_cq_flush() of the provider"""
    end = label("end")
    return [weak.branch("deferred%d" % cq, lambda flag: flag, end, True),
            weak.branch("unflushed%d" % cq, lambda count: count, end, "acquire of unflushed" not in cut),
            weak.exchange("unflushed%d" % cq, 0, "acquire of unflushed" not in cut, lambda count: count, end)] + \
        call(cq, cut) + [end]


def defer(cq, cut):
    """iwt_cq_defer(). The count of a completion queue that nobody polls is left out: nobody reads
    the count."""
    is_set, end = label("set"), label("end")
    bit = "bit%d" % cq

    def read(state, who):
        for new in state.load(who, "unflushed%d" % cq, True):
            new.reg = weak.put(new.reg, who, new.got + 1)
            yield new.next(who)

    def write(state, who):
        count = state.reg[who]
        new = state.stored(who, "unflushed%d" % cq, count, True)
        # reg: the count that the next step compares, in models that flush often
        new.reg = weak.put(new.reg, who, count if "flush often" in cut else 0)
        yield new

    code = [weak.branch(bit, lambda bit: not bit, is_set, True), weak.exchange(bit, 1, True), is_set]
    if "count %d" % cq not in cut:
        return code
    code = [read] + code + [write]
    if "flush often" in cut:
        code += [weak.local(weak.jump_if(lambda state, who: state.reg[who] < UNFLUSHED_MAX, end))] + flush(cq, cut)
    return code + [end]


def poster(cut, defers, begins=None):
    """Posts POSTS times. defers: the process follows the rules of the deferred mode; begins:
    number of the post whose doorbell starts the deferred mode."""
    code = []
    for n in range(POSTS):
        ring, end = label("ring"), label("end")
        code += [weak.store("entry", n + 1)] if "entries" in cut else []
        code += [weak.store("prod", n + 1, "release of prod" not in cut)]
        code += [] if "producer's barrier" in cut else [weak.barrier]
        code += [weak.branch("flags", lambda flag: not flag, ring, True)]
        if defers:
            code += ([] if "bit of the receive queue" in cut else defer(RECV, cut)) + defer(SEND, cut)
        code += [weak.jump(end), ring] + engine(cut)
        code += begin(cut) if begins == n else []
        code += [end]
    return code


def work(cut):
    """iwt_qp_run_bh(): the queued work runs at once. A delay of the work is the same as a delay
    of this thread."""
    return [weak.barrier] + engine(cut)


def leave(cq, cut):
    def less(state, who):
        if state.lock is None:
            new = state.copy()
            setattr(new, "on%d" % cq, 0)
            new.pollers -= 1
            yield new.next(who)

    run = [] if "last run" in cut else work(cut)
    late = "end of polling before the last run" in cut
    # a process that does not poll does not read the flag
    return (run + [less] if late else [less] + run) + ([] if "no poll" in cut else [weak.store("deferred%d" % cq, 0)])


def timer(cq, cut):
    """The timer of a completion queue flushes in place of the process, and ends the mode."""
    end = label("end")
    code = [weak.when(lambda state: getattr(state, "on%d" % cq)), weak.branch("bit%d" % cq, lambda bit: bit, end),
            weak.exchange("bit%d" % cq, 0, "order of the bit" not in cut)]
    return code + work(cut) + [end] + leave(cq, cut)


def ended(who):
    return lambda state: state.pc[who] is None and not state.buf[who]


def poller(cq, cut):
    """Another thread of the process polls once at any time, and once after all posts."""
    return flush(cq, cut) + [weak.when(ended(0))] + flush(cq, cut)


def sqpoll(cut):
    """A worker: set_polled(), two reads of the ring, each with a run of the engine if an entry is
    new, set_polled(), iwt_qp_run()."""
    def switch(by):
        def do(state):
            state.pollers += by
        return do

    def look(to):
        def step(state, who):
            for prod in state.load(who, "prod", True):
                # reg: the last index that the worker has read
                new = prod.got != prod.reg[who]
                prod.reg = weak.put(prod.reg, who, prod.got)
                yield prod.next(who) if new else prod.at(who, to)
        return step

    code = [weak.lock, weak.do(switch(1)), sleeping(0), weak.store("flags", 0), weak.unlock]
    for _ in range(2):
        end = label("end")
        code += [look(end)] + engine(cut) + [end]
    off = [weak.lock, weak.do(switch(-1)), weak.unlock]
    run = [] if "last run" in cut else engine(cut)
    return code + (run + off if "end of polling before the last run" in cut else off + run)


WORKER, TIMERS, SEND_POLLED, RECV_POLLED, ONE = (
    "a worker", "two timers", "a thread polls for sends", "a thread polls for receives", "one thread")
EVERYWHERE = ("producer's barrier", "consumer's barrier", "last look", "acquire of prod", "release of prod")
ENDS = ("last run", "end of polling before the last run")
POLLED = ("producer's barrier", "order of the bit", "acquire of unflushed")
SCENARIOS = (
    # name, features, threads, steps that must not be left out
    (WORKER, ("entries",), lambda cut: [poster(cut, False), sqpoll(cut)], EVERYWHERE + ENDS),
    (TIMERS, ("no poll",), lambda cut: [poster(cut, True, 0), timer(SEND, cut), timer(RECV, cut)],
     EVERYWHERE[:3] + ENDS),
    (SEND_POLLED, ("count 0", "begun"), lambda cut: [poster(cut, True), poller(SEND, cut)], POLLED),
    (RECV_POLLED, ("count 1", "begun"), lambda cut: [poster(cut, True), poller(RECV, cut)],
     POLLED + ("bit of the receive queue",)),
    (ONE, ("count 1", "flush often", "begun"), lambda cut: [poster(cut, True) + flush(RECV, cut), timer(SEND, cut)],
     ("bit of the receive queue",)),
)


def explore(has, threads, cut):
    """Returns the number of states, and a state with a fault, or None."""
    codes = [weak.assemble(code) for code in threads(has + cut)]
    begun = "begun" in has
    values = {"deferred0": 1, "deferred1": 1} if begun else {"flags": 1}
    start = Model.first(len(codes), LOCATIONS, values, asleep=not begun, on0=begun, on1=begun, pollers=2 * begun)
    return weak.explore(start, codes, lambda state, over: state.torn or over and state.cons != POSTS)


def main():
    number, failed = 0, 0
    for name, has, threads, needed in SCENARIOS:
        for cut in (None,) + needed:
            states, bad = explore(has, threads, (cut,) if cut else ())
            good = bool(bad) == bool(cut)
            number += 1
            failed += not good
            what = "without the %s the model finds a fault" % cut if cut else "no post is left in the ring"
            verdict = "ok" if good else "not ok"
            print("%s %d - ring, %s: %s (%d states)" % (verdict, number, name, what, states), flush=True)
            if bad and not good:
                print("# %s" % (bad,))
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
