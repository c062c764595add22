#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of how a stream of a direct connection waits for a receive, and how a process that posts
the receive wakes the stream (rq.c, srq.c, rx_wait.c; the provider's iwt_wq_publish()). The model
tries all orders of the steps in each of these scenarios:

- Two streams share a receive queue, to which a process posts one receive. Meanwhile the first
  stream ends. So in some orders this stream ends after it was woken, and its receive must wake the
  other stream.
- Two streams share a receive queue, to which a process posts a list of two receives.
- Two threads post one receive each to a receive queue that two streams share.
- Three streams wait for receives of a queue that they share. Two threads post one receive each.
- One stream waits for receives of its own queue, to which two threads post.

A doorbell wakes a few of the streams that wait, but not more than there are receives that no other
woken stream will take. A stream that takes a receive, or ends after it was woken, wakes the next.
A woken stream must always find a receive, and when no thread can continue, no stream may wait for
a receive while one is posted.

Memory is as weak as arm64's (tests/unit/weak.py), and a stream must read each entry of the ring
whole. A model that finds no fault proves little. So the model also runs without each of the
barriers and with steps left out, and must then find a fault.
"""
import sys

import weak

LOCATIONS = ("entry", "prod", "flags")
OUT, WAITING, WOKEN = range(3)
AT_ONCE = 1     # number of streams that one thread wakes
LABELS = 0      # number of labels so far


class Model(weak.State):
    """
    cons: index of the next receive; waiting: the streams that wait, oldest first; woken: number of
    woken streams that have not taken their receive; mode: of each stream; due: for each stream, a
    run of its engine is queued; need: number of messages of each stream that have no receive yet;
    bad: a stream has read an entry that was not whole, or was woken in vain
    """
    PLAIN = ("cons", "waiting", "woken", "mode", "due", "need", "bad")


def label(name):
    global LABELS
    LABELS += 1
    return "%s %d" % (name, LABELS)


def entered(state, who, mode):
    """A stream changes its mode."""
    state.woken += (mode == WOKEN) - (state.mode[who] == WOKEN)
    state.mode = weak.put(state.mode, who, mode)


def wake(cut):
    """wake_some() in srq.c; the lock of the queue is held."""
    def step(state, who):
        for new in state.load(who, "prod", True):
            most = AT_ONCE
            left = new.got - new.cons
            while new.waiting and most and left > (0 if "count of the woken" in cut else new.woken):
                first, new.waiting = new.waiting[0], new.waiting[1:]
                entered(new, first, WOKEN)
                new.due = weak.put(new.due, first, True)
                most -= 1
                left -= "count of the woken" in cut
            quiet = not new.waiting or "flag while others wait" in cut
            yield new.stored(who, "flags", 0) if quiet else new.next(who)
    return step


def take(stream, cut):
    """A run of the engine, iwt_srq_next() or iwt_rq_next(), for all messages of the stream."""
    begin, sleep, taken, again, end = (label(name) for name in ("begin", "sleep", "taken", "again", "end"))

    def look(acquire, to, other):
        def step(state, who):
            for new in state.load(who, "prod", acquire):
                own = new.mode[stream] == WOKEN
                found = new.got - new.cons - new.woken + own > 0
                new.bad = new.bad or own and not found
                yield new.at(who, to if found else other)
        return step

    def read(state, who):
        for new in state.load(who, "entry", False) if "entries" in cut else (state.copy(),):
            new.cons += 1
            # the model has only one entry: the newest entry
            new.bad = new.bad or "entries" in cut and new.got < new.cons
            entered(new, stream, OUT)
            new.need = weak.put(new.need, stream, new.need[stream] - 1)
            yield new.next(who)

    def wait(state):
        entered(state, stream, WAITING)
        state.waiting += (stream,)

    read = read if "entries" in cut else weak.local(read)
    code = [begin, weak.local(weak.jump_if(lambda state: not state.need[stream], end)),
            look("acquire of prod" not in cut, taken, sleep),
            sleep, weak.store("flags", 1)]
    code += [] if "consumer's barrier" in cut else [weak.barrier]
    code += [] if "last look" in cut else [look(True, taken, again)]
    code += [again, weak.local(weak.do(wait)), weak.jump(end), taken, read]
    code += [weak.store("flags", 0)] if "own" in cut else [] if "wake-up of the next" in cut else [wake(cut)]
    return code + [weak.jump(begin), end]


def engine(stream, cut):
    """A stream, whose engine runs when its run is queued. A stream that waits reads nothing."""
    run, end = label("run"), label("end")

    def start(state):
        state.due = weak.put(state.due, stream, False)

    def waits(state):
        return state.mode[stream] == WAITING

    own = "own" in cut
    code = [run, weak.when(lambda state: state.due[stream]), weak.lock, weak.local(weak.do(start))]
    if own:
        # the ring of the stream's own queue shows whether the stream still has to wait
        def leave(state):
            state.waiting = ()
            entered(state, stream, OUT)

        code += [weak.local(weak.do(leave))]
    else:
        code += [weak.local(weak.jump_if(waits, end))]
    return code + take(stream, cut) + [end, weak.unlock, weak.jump(run)]


def leaves(stream, cut):
    """A stream ends: iwt_srq_leave()"""
    end = label("end")

    def leave(state):
        # This thread is the last one, so its register is the last one, too. The register says
        # whether the stream was woken and has not taken a receive.
        state.reg = state.reg[:-1] + (state.mode[stream] == WOKEN,)
        state.waiting = tuple(other for other in state.waiting if other != stream)
        was = state.woken
        entered(state, stream, OUT)
        state.woken = was if "return of the receive" in cut else state.woken
        state.need = weak.put(state.need, stream, 0)

    code = [weak.lock, weak.local(weak.do(leave))]
    if "passing on" not in cut:
        code += [weak.local(weak.jump_if(lambda state, who: not state.reg[who], end)), wake(cut)]
    return code + [end, weak.unlock]


def poster(first, count, cut, after=None):
    """
    Posts count receives as one list; the first has the index first. after: this thread gets the
    provider's lock only after the thread before this thread has released the lock
    """
    ring, end, last = label("ring"), label("end"), first + count

    def published(state):
        # the provider's lock is held until the flag has been read
        state.reg = (1,) + state.reg[1:]

    code = [weak.when(lambda state: state.reg[0])] if after else []
    code += [weak.store("entry", last)] if "entries" in cut else []
    code += [weak.store("prod", last, "release of prod" not in cut)]
    code += [] if "producer's barrier" in cut else [weak.barrier]
    code += [weak.branch("flags", lambda flag: not flag, ring, True)]
    code += [weak.release, weak.local(weak.do(published)), weak.jump(end), ring]
    code += [weak.release, weak.local(weak.do(published))]
    if "own" in cut:
        # IWT_METHOD_QP_DOORBELL
        code += [weak.barrier, weak.do(lambda state: setattr(state, "due", (True,)))]
    else:
        code += [weak.lock, wake(cut), weak.unlock]
    return code + [end]


COMMON = ("producer's barrier", "consumer's barrier", "last look", "acquire of prod", "release of prod")
SCENARIOS = (
    # name, features, messages of each stream, threads after the streams, steps that must not be left out
    ("a stream ends", (), (1, 1), lambda cut: [poster(0, 1, cut), leaves(0, cut)],
     COMMON[:3] + ("passing on", "return of the receive")),
    ("a list", (), (1, 1), lambda cut: [poster(0, 2, cut)], ("producer's barrier", "wake-up of the next")),
    ("two threads", ("entries",), (1, 1), lambda cut: [poster(0, 1, cut), poster(1, 1, cut, True)],
     COMMON + ("flag while others wait",)),
    ("three streams", ("all wait",), (1, 1, 1), lambda cut: [poster(0, 1, cut), poster(1, 1, cut, True)],
     ("producer's barrier", "count of the woken", "flag while others wait")),
    ("own queue", ("own", "entries"), (2,), lambda cut: [poster(0, 1, cut), poster(1, 1, cut, True)], COMMON),
)


def left_behind(state):
    return state.woken or (any(state.need) and state.newest("prod") != state.cons)


def explore(has, need, threads, cut):
    """Returns the number of states, and a state with a fault, or None."""
    cut = has + cut
    codes = [weak.assemble(code) for code in [engine(n, cut) for n in range(len(need))] + threads(cut)]
    wait = "all wait" in has
    start = Model.first(len(codes), LOCATIONS, {"flags": wait}, need=need, bad=False,
                        waiting=tuple(range(len(need))) if wait else (),
                        mode=(WAITING if wait else OUT,) * len(need), due=(not wait,) * len(need))
    return weak.explore(start, codes, lambda state, over: state.bad or over and left_behind(state))


def main():
    number, failed = 0, 0
    for name, has, need, threads, needed in SCENARIOS:
        for cut in (None,) + needed:
            states, bad = explore(has, need, threads, (cut,) if cut else ())
            good = bool(bad) == bool(cut)
            number += 1
            failed += not good
            what = "without the %s the model finds a fault" % cut if cut else "no stream waits for a posted receive"
            print("%sok %d - receives, %s: %s (%d states)" % ("" if good else "not ", number, name, what, states),
                  flush=True)
            if bad and not good:
                print("# %s" % (bad,))
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
