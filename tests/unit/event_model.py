#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A model of how a process requests completion events. The process requests an event by a word in
the ring of its completion queue, until the credit of the process is used up. Then the process has
to request events by a system call (cq.c: is_armed(), spend(), iwt_cq_ask(); the provider's
iwt_req_notify_cq()). The model tries all orders of the steps of the process's threads and of the
kernel. The stores of a processor wait in its store buffer until the memory takes them; a barrier
waits for this. Later loads may overtake the stores, as on x86.

A thread arms (requests an event), polls the completions, sleeps until an event arrives, and
starts again. When all threads sleep, no completion may be left in the queue. A process that arms
again and again without calling the kernel must get at most one event more than its credit. A
model that finds no fault proves little. So the model also runs with steps left out, and must then
find a fault.
"""
import sys

PUSHES, CREDIT, ARMS = 3, 1, 5
KERNEL = 0
# values of the word; the completions of the model are not solicited
NONE, ANY, SOLICITED = 0, 1, 2


def arm(code, cut):
    """Adds the steps of a request to code: store the word, execute a barrier, and make the system
    call if the flag requires the call. cut: names of the steps to leave out."""
    code += [("store", "arm", ANY), ("nop",) if "process's barrier" in cut else ("barrier",)]
    if "call" in cut:
        return
    code += [("unless_flag", len(code) + 6), ("lock",), ("restore",),
             ("store", "flag", 0), ("store", "arm", ANY), ("unlock",)]


def sleeper(cut):
    code = []
    arm(code, cut)
    code += [("poll",), ("sleep",), ("go", 0)]
    return code


def once(cut):
    """A thread that waits for one event."""
    return sleeper(cut)[:-1] + [("poll",)]


def late(cut):
    """
    A thread that arms after the kernel has cleared the word that the first thread had stored.
    This thread must get the second event, since the first event is for the first thread.
    """
    code = [("when_cleared",)]
    arm(code, cut)
    return code + [("poll",), ("sleep_second",), ("go", 1)]


def solicited(cut):
    """A thread that makes the system call to request only solicited completions, while another
    thread requests all completions."""
    code = [("when_flag",), ("lock",), ("restore",), ("store", "flag", 0)]
    if "atomic exchange" in cut:
        code += [("unless_any", len(code) + 2), ("store", "arm", SOLICITED)]
    else:
        code += [("exchange", "arm", NONE, SOLICITED)]
    return code + [("barrier",), ("unlock",)]


def hostile(_):
    return [("store", "arm", ANY)] * ARMS


def pusher(cut):
    code = []
    for n in range(PUSHES):
        skip, end = len(code) + 12, len(code) + 13
        code += [("lock",), ("store", "prod", n + 1),
                 ("nop",) if "kernel's barrier" in cut else ("barrier",),
                 ("unless_armed", skip),
                 ("store", "arm", NONE), ("spend", skip - 3) if "count" not in cut else ("go", skip - 3),
                 ("nop",) if "flag" in cut else ("store", "flag", 1),
                 ("nop",) if "barrier behind the flag" in cut else ("barrier",),
                 ("nop",) if "second look" in cut else ("look_again",),
                 ("unlock",), ("raise",), ("go", end),
                 ("unlock",)]
    return code


FIELDS = ("pc", "buf", "prod", "arm", "flag", "cons", "credit", "asked", "lock", "events", "raised")


def first(n):
    return ((0,) * n, ((),) * n, 0, 0, 0, 0, CREDIT, 0, None, 0, 0)


def put(state, **new):
    return tuple(new.get(name, old) for name, old in zip(FIELDS, state))


def at(items, who, value):
    return items[:who] + (value,) + items[who + 1:]


def load(s, who, name):
    for key, value in reversed(s["buf"][who]):
        if key == name:
            return value
    return s[name]


def step(state, who, op):
    """Returns the state after a step, or None if the step must wait. who: number of the thread;
    op: the step."""
    s = dict(zip(FIELDS, state))
    here = s["pc"][who]
    to = lambda where, **new: put(state, pc=at(s["pc"], who, where), **new)
    kind = op[0]
    if kind == "nop":
        return to(here + 1)
    if kind == "store":
        return to(here + 1, buf=at(s["buf"], who, s["buf"][who] + (op[1:],)))
    if kind == "barrier":
        return None if s["buf"][who] else to(here + 1)
    if kind == "lock":
        return None if s["lock"] is not None or s["buf"][who] else to(here + 1, lock=who)
    if kind == "unlock":
        return None if s["buf"][who] else to(here + 1, lock=None)
    if kind == "go":
        return to(op[1])
    if kind == "unless_flag":
        return to(here + 1 if load(s, who, "flag") else op[1])
    if kind == "when_flag":
        return to(here + 1) if load(s, who, "flag") else None
    if kind == "unless_any":
        return to(op[1] if load(s, who, "arm") == ANY else here + 1)
    if kind == "exchange":
        # an atomic operation takes effect after all earlier stores of its processor
        if s["buf"][who]:
            return None
        return to(here + 1, **({op[1]: op[3]} if s[op[1]] == op[2] else {}))
    if kind == "restore":
        return to(here + 1, credit=CREDIT)
    if kind == "when_cleared":
        return to(here + 1) if s["pc"][1] > 1 and not s["arm"] else None
    if kind == "poll":
        return to(here + 1, cons=load(s, who, "prod"))
    if kind == "sleep" or kind == "sleep_second" and s["pc"][1] == len(once(())):
        return to(here + 1, events=s["events"] - 1) if s["events"] else None
    if kind == "sleep_second":
        return None
    if kind == "unless_armed":
        armed = (load(s, who, "arm") if s["credit"] else s["asked"]) == ANY
        return to(here + 1 if armed else op[1], asked=NONE if armed else s["asked"])
    if kind == "spend":
        left = s["credit"] - 1 if s["credit"] else 0
        return to(here + 1 if s["credit"] == 1 else op[1], credit=left)
    if kind == "look_again":
        return to(here + 1, asked=load(s, who, "arm"))
    assert kind == "raise"
    # the list of events has its own lock; the thread takes this lock after all its earlier stores
    if s["buf"][who]:
        return None
    return to(here + 1, events=s["events"] + 1, raised=s["raised"] + 1)


def drain(state, who):
    """The memory takes the oldest store of thread who."""
    buf = state[1]
    name, value = buf[who][0]
    return put(state, buf=at(buf, who, buf[who][1:]), **{name: value})


def explore(threads, cut=()):
    """Returns the number of states, the final states in which completions are left, and the
    largest number of events that the kernel has raised."""
    codes = [pusher(cut)] + [thread(cut) for thread in threads]
    todo, seen, bad, most = [first(len(codes))], set(), [], 0
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        most = max(most, state[-1])
        nexts = []
        for who, code in enumerate(codes):
            if state[1][who]:
                nexts.append(drain(state, who))
            if state[0][who] < len(code):
                nexts.append(step(state, who, code[state[0][who]]))
        nexts = [n for n in nexts if n is not None]
        if not nexts and (state[0][KERNEL] < len(codes[KERNEL]) or state[5] < PUSHES):
            bad.append(state)
        todo += nexts
    return len(seen), bad, most


def main():
    number, failed = 0, 0

    def point(good, what, said=""):
        nonlocal number, failed
        number += 1
        failed += not good
        print("%sok %d - events: %s" % ("" if good else "not ", number, what))
        if not good:
            print("# %s" % (said,))

    for threads, who in (([sleeper], "one thread"), ([sleeper] * 2, "two threads"), ([once, late], "one after the other"),
                         ([sleeper, solicited], "another thread wants only solicited completions")):
        states, bad, _ = explore(threads)
        point(not bad and states > 100, "%s: no completion is left in the queue (%d states)" % (who, states), bad[:1])
    for threads, cut in (([sleeper], "process's barrier"), ([sleeper], "kernel's barrier"), ([sleeper], "call"),
                         ([sleeper], "flag"), ([sleeper, solicited], "atomic exchange"), ([once, late], "barrier behind the flag"), ([once, late], "second look")):
        states, bad, _ = explore(threads, (cut,))
        point(bad, "without the %s the model finds a fault (%d states)" % (cut, states))
    _, _, most = explore([hostile])
    point(most == CREDIT + 1, "a process that never calls gets %d with a credit of %d" % (most, CREDIT))
    _, _, most = explore([hostile], ("count",))
    point(most > CREDIT + 1, "without the count, this process gets %d of %d" % (most, PUSHES))
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
