#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The wake-up protocol of the send queue's ring (ring.h, tx.c: go_idle(), qp_watch.c,
qp_tend.c), and all the orders in which a process that posts, the engine and a worker
that watches can take their steps; or a process that is counted on from one of its
doorbells on, and the timer, which stands in for it and ends that. Each processor's
stores wait in a buffer of its own until it executes a barrier or the memory takes
them; loads overtake them, as on x86.

Nothing may be left in the ring when all are done. Since a model that finds nothing
proves little, steps are left out of it as well, and then something must be found.
"""
import sys

POSTS, LOOKS = 2, 2
POSTER, WATCHER = 0, 1


def engine(after, cut):
    """One run of the engine; continues at after."""
    return [
        ("lock",),
        ("store", "flags", 0),
        # [2] from here on: take what is there
        ("take", 2),
        ("watched", 9),
        ("store", "flags", 1),
        ("nop",) if "consumer's barrier" in cut else ("barrier",),
        ("go", 9) if "last look" in cut else ("none_left", 9),
        ("store", "flags", 0),
        ("go", 2),
        ("unlock",),
        ("go", after),
    ]


def place(code, base):
    """The same with jumps from base on."""
    out = []
    for op in code:
        if op[0] in ("take", "watched", "none_left") or op[0] == "go" and isinstance(op[1], int):
            op = (op[0], base + op[1])
        elif op[0] == "go":
            op = ("go", op[1][0])
        out.append(op)
    return out


def poster(cut, tends):
    """POSTS times: prod, barrier, flags; the doorbell if they say so, with which it may begin to tend."""
    begin = [("lock",), ("on", 1), ("store", "flags", 0), ("unlock",)] if tends else []
    code = []
    for n in range(POSTS):
        code += [("store", "prod", n + 1),
                 ("nop",) if "producer's barrier" in cut else ("barrier",)]
        run = len(code) + 1
        last = run + len(engine(0, cut))
        end = last + (len(begin) if n == 0 else 0)
        code += [("unless_flags", end)] + place(engine((last,), cut), run)
        if n == 0:
            code += begin
    return code


def watcher(cut, tends):
    """On, some looks with a run of the engine for what is new, off, a last run."""
    code = [("lock",), ("on", 1), ("store", "flags", 0), ("unlock",)]
    if tends:
        code = [("when_on",)]
    for _ in range(LOOKS):
        run = len(code) + 1
        end = run + len(engine(0, cut))
        code += [("unless_new", end)] + place(engine((end,), cut), run)
    off = [("lock",), ("on", 0), ("unlock",)]
    late = "end of the watch before the last run" in cut
    run = place(engine((0,), cut), len(code) + (0 if late else len(off)))
    run[-1] = ("nop",)
    if "last run" in cut:
        return code + off
    return code + (run + off if late else off + run)


class State:
    """Memory, buffers and where each is, as a tuple."""
    FIELDS = ("pc", "buf", "prod", "flags", "cons", "on", "lock", "seen")

    @staticmethod
    def first():
        return ((0, 0), ((), ()), 0, 1, 0, 0, None, 0)


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


def step(state, who, op):
    """The state after who's step, or None if it can't be taken now."""
    pc, buf, _, _, cons, on, lock, seen = state
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
    if kind == "on":
        return put(state, pc=go(here + 1), on=op[1])
    if kind == "take":
        prod = load(state, who, "prod")
        return put(state, pc=go(here + 1 if prod == cons else op[1]), cons=prod)
    if kind == "watched":
        return put(state, pc=go(op[1] if on else here + 1))
    if kind == "none_left":
        return put(state, pc=go(op[1] if load(state, who, "prod") == cons else here + 1))
    if kind == "unless_flags":
        return put(state, pc=go(here + 1 if load(state, who, "flags") else op[1]))
    assert kind == "unless_new"
    prod = load(state, who, "prod")
    return put(state, pc=go(here + 1 if prod != seen else op[1]), seen=prod)


def drain(state, who):
    """The memory takes who's oldest store."""
    buf = state[1]
    (name, value), rest = buf[who][0], buf[who][1:]
    return put(state, buf=at(buf, who, rest), **{name: value})


def explore(cut=(), tends=False):
    """How many states there are, and the last ones in which something is left or that are none."""
    code = (poster(cut, tends), watcher(cut, tends))
    todo, seen, bad = [State.first()], set(), []
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        nexts = [drain(state, who) for who in (POSTER, WATCHER) if state[1][who]]
        nexts += [step(state, who, code[who][state[0][who]]) for who in (POSTER, WATCHER)
                  if state[0][who] < len(code[who])]
        nexts = [n for n in nexts if n is not None]
        if not nexts:
            done = all(state[0][who] == len(code[who]) for who in (POSTER, WATCHER))
            if not done or state[4] != POSTS:
                bad.append(state)
        todo += nexts
    return len(seen), bad


def main():
    number, failed = 0, 0
    cuts = ["producer's barrier", "consumer's barrier", "last look", "last run", "end of the watch before the last run"]
    for tends, cut in [(tends, cut) for tends in (False, True) for cut in [None] + cuts]:
        states, bad = explore((cut,) if cut else (), tends)
        good = bool(bad) == bool(cut) and states > 100
        number += 1
        failed += not good
        what = "without the %s something is found" % cut if cut else "nothing is left in the ring"
        who = "a process that polls" if tends else "a worker"
        print("%sok %d - ring, %s: %s (%d states)" % ("" if good else "not ", number, who, what, states))
        if not good:
            print("# %s" % (bad[:1],))
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
