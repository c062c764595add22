#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of the wake-up protocol of the send queue's ring (doorbell.c describes it; ring.h, tx.c:
go_idle(), sqpoll.c, cqpoll.c). It tries all orders of the steps of

- a process that posts, the engine, and a worker that polls the ring;
- a process that must flush its posts from one of its doorbells on, and the timer that looks in
  place of the process and ends this;
- such a process and its calls, which never end this, but come once more after the last post.

An engine that spins for a reply (reply_spin.c) only looks longer. The stores of each processor
wait in its store buffer until it executes a barrier or the memory takes them; loads overtake
them, as on x86.

Nothing may be left in the ring when all are done. A model that finds no fault proves little, so
it also runs with steps left out, and must then find a fault.
"""
import sys

POSTS, LOOKS = 3, 2
POSTER, POLLER = 0, 1
WORKER, TIMER, CALLS = "a worker", "a timer", "calls of the process"


def engine(after, cut):
    """One run of the engine; continues at after."""
    return [
        ("lock",),
        ("store", "flags", 0),
        # index 2: take all posts that are there
        ("take", 2),
        ("polled", 9),
        ("store", "flags", 1),
        ("nop",) if "consumer's barrier" in cut else ("barrier",),
        ("go", 9) if "last look" in cut else ("none_left", 9),
        ("store", "flags", 0),
        ("go", 2),
        ("unlock",),
        ("go", after),
    ]


def place(code, base):
    """The same code, with jumps relative to base."""
    out = []
    for op in code:
        if op[0] in ("take", "polled", "none_left") or op[0] == "go" and isinstance(op[1], int):
            op = (op[0], base + op[1])
        elif op[0] == "go":
            op = ("go", op[1][0])
        out.append(op)
    return out


def poster(cut, how):
    """
    POSTS times: stores prod, barrier, reads flags; then rings the doorbell if the flags say so,
    else sets its bit. With one of the doorbells the process begins to flush; with calls this is
    not the first one, so that some bits are cleared before the device relies on the process.
    """
    begins = {WORKER: None, TIMER: 0, CALLS: 1}[how]
    begin = [("lock",), ("on", 1), ("store", "flags", 0), ("unlock",)]
    code = []
    for n in range(POSTS):
        code += [("store", "prod", n + 1),
                 ("nop",) if "producer's barrier" in cut else ("barrier",)]
        run = len(code) + 1
        rung = place(engine((run + len(engine(0, cut)),), cut), run)
        if n == begins:
            rung += begin
        bit = run + len(rung) + 1
        code += [("unless_flags", bit)] + rung + [("go", bit + 1), ("set_bit",)]
    return code


def look(cut, how, base):
    """The engine runs if something is new: the watcher sees it in the ring, or the bit is set."""
    skip = base + 1 + len(engine(0, cut))
    what = "unless_new" if how == WORKER else "unless_bit"
    return [(what, skip)] + place(engine((skip,), cut), base + 1)


def watcher(cut, how):
    """
    Switches polling on, looks some times (the engine runs if something is new), switches it off,
    runs the engine a last time. A process that calls never switches it off, but looks once more;
    at first TCP makes the engine run.
    """
    code = [("lock",), ("on", 1), ("store", "flags", 0), ("unlock",)]
    if how == TIMER:
        code = [("when_on",)]
    if how == CALLS:
        code = place(engine((len(engine(0, cut)),), cut), 0)
    for _ in range(LOOKS):
        code += look(cut, how, len(code))
    if how == CALLS:
        return code + ([] if "last run" in cut else [("when_posted",)] + look(cut, how, len(code) + 1))
    off = [("lock",), ("on", 0), ("unlock",)]
    late = "end of polling before the last run" in cut
    run = place(engine((0,), cut), len(code) + (0 if late else len(off)))
    run[-1] = ("nop",)
    if "last run" in cut:
        return code + off
    return code + (run + off if late else off + run)


class State:
    """Memory, store buffers and the position of each thread, as a tuple."""
    FIELDS = ("pc", "buf", "prod", "flags", "cons", "on", "lock", "seen", "bit")

    @staticmethod
    def first():
        return ((0, 0), ((), ()), 0, 1, 0, 0, None, 0, 0)


def load(state, who, name):
    _, buf, prod, flags = state[:4]
    for key, value in reversed(buf[who]):
        if key == name:
            return value
    return prod if name == "prod" else flags


def put(state, **new):
    return tuple(new.get(name, old) for name, old in zip(State.FIELDS, state))


def at(pair, who, value):
    return (value, pair[1]) if who == 0 else (pair[0], value)


def step(state, who, op, last):
    """The state after the step of who, or None if it can't be taken now; last: the poster's end."""
    pc, buf, _, _, cons, on, lock, seen, bit = state
    go = lambda where: at(pc, who, where)
    here = pc[who]
    kind = op[0]
    if kind == "nop":
        return put(state, pc=go(here + 1))
    if kind == "store":
        return put(state, pc=go(here + 1), buf=at(buf, who, buf[who] + (op[1:],)))
    if kind == "barrier":
        return None if buf[who] else put(state, pc=go(here + 1))
    if kind == "lock":
        return None if lock is not None or buf[who] else put(state, pc=go(here + 1), lock=who)
    if kind == "unlock":
        return None if buf[who] else put(state, pc=go(here + 1), lock=None)
    if kind == "go":
        return put(state, pc=go(op[1]))
    if kind == "when_on":
        return put(state, pc=go(here + 1)) if on else None
    if kind == "when_posted":
        return put(state, pc=go(here + 1)) if pc[POSTER] == last and not buf[POSTER] else None
    if kind == "set_bit":
        # a poster that finds the bit set only reads it, which does not wait for its store buffer
        return put(state, pc=go(here + 1), bit=1)
    if kind == "unless_bit":
        # taken with a barrier; ignored if the queue pair does not rely on the process
        return None if buf[who] else put(state, pc=go(here + 1 if bit and on else op[1]), bit=0)
    if kind == "on":
        return put(state, pc=go(here + 1), on=op[1])
    if kind == "take":
        prod = load(state, who, "prod")
        return put(state, pc=go(here + 1 if prod == cons else op[1]), cons=prod)
    if kind == "polled":
        return put(state, pc=go(op[1] if on else here + 1))
    if kind == "none_left":
        return put(state, pc=go(op[1] if load(state, who, "prod") == cons else here + 1))
    if kind == "unless_flags":
        return put(state, pc=go(here + 1 if load(state, who, "flags") else op[1]))
    assert kind == "unless_new"
    prod = load(state, who, "prod")
    return put(state, pc=go(here + 1 if prod != seen else op[1]), seen=prod)


def drain(state, who):
    """The memory takes the oldest store of who."""
    buf = state[1]
    (name, value), rest = buf[who][0], buf[who][1:]
    return put(state, buf=at(buf, who, rest), **{name: value})


def explore(cut=(), how=WORKER):
    """Returns the number of states, and the final ones in which something is left or stuck."""
    code = (poster(cut, how), watcher(cut, how))
    todo, seen, bad = [State.first()], set(), []
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        nexts = [drain(state, who) for who in (POSTER, POLLER) if state[1][who]]
        nexts += [step(state, who, code[who][state[0][who]], len(code[POSTER])) for who in (POSTER, POLLER)
                  if state[0][who] < len(code[who])]
        nexts = [n for n in nexts if n is not None]
        if not nexts:
            done = all(state[0][who] == len(code[who]) for who in (POSTER, POLLER))
            if not done or state[4] != POSTS:
                bad.append(state)
        todo += nexts
    return len(seen), bad


def main():
    number, failed = 0, 0
    cuts = ["producer's barrier", "consumer's barrier", "last look", "last run"]
    end = "end of polling before the last run"
    for how, cut in [(how, cut) for how in (WORKER, TIMER, CALLS) for cut in [None] + cuts + [end]]:
        if how == CALLS and cut == end:
            continue
        states, bad = explore((cut,) if cut else (), how)
        good = bool(bad) == bool(cut) and states > 100
        number += 1
        failed += not good
        what = "without the %s something is found" % cut if cut else "nothing is left in the ring"
        print("%sok %d - ring, %s: %s (%d states)" % ("" if good else "not ", number, how, what, states))
        if not good:
            print("# %s" % (bad[:1],))
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
