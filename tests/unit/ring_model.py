#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The wake-up protocol of the send queue's ring (doorbell.c tells it; ring.h, tx.c: go_idle(),
sqpoll.c, cqpoll.c), and all orders in which the steps can be taken of

- a process that posts, the engine, and a worker that polls the ring;
- a process that has to flush its posts from one of its doorbells on, and the timer that
  takes the place of the process and ends that;
- such a process and its calls, which never end that, but come once more after the last post.

An engine that spins for a reply (reply_spin.c) only looks longer. The stores of each
processor wait in a buffer of its own until it executes a barrier or the memory takes them;
loads overtake them, as on x86.

Nothing may be left in the ring when all are done. Since a model that finds nothing
proves little, steps are left out of it as well, and then something must be found.
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
        # [2] from here on: take what is there
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
    """The same with jumps from base on."""
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
    POSTS times: prod, barrier, flags; then the doorbell if they say so, or its bit. With one
    of the doorbells it begins to flush; with calls that is not the first, so that some bits
    are cleared before it is counted on.
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
    """The engine runs if something is new: in the ring as who watches sees it, or its bit is set."""
    skip = base + 1 + len(engine(0, cut))
    what = "unless_new" if how == WORKER else "unless_bit"
    return [(what, skip)] + place(engine((skip,), cut), base + 1)


def watcher(cut, how):
    """
    On, some looks with a run of the engine for what is new, off, a last run. A process that calls never
    ends, but looks once more; at first TCP has the engine run.
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
    """Memory, buffers and where each is, as a tuple."""
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
    """The state after who's step, or None if it can't be taken now; last is the poster's end."""
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
        # who finds it set only reads it, which waits for no buffer
        return put(state, pc=go(here + 1), bit=1)
    if kind == "unless_bit":
        # taken with a barrier; a queue pair that does not count on it is not looked at
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
    """The memory takes who's oldest store."""
    buf = state[1]
    (name, value), rest = buf[who][0], buf[who][1:]
    return put(state, buf=at(buf, who, rest), **{name: value})


def explore(cut=(), how=WORKER):
    """How many states there are, and the last ones in which something is left or that are none."""
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
