# SPDX-License-Identifier: GPL-2.0
"""
Memory that is as weak as arm64's, and threads that use it.

The stores of a thread wait in its buffer. The memory takes the stores in any order, with two
exceptions: stores to the same place stay in order, and a store with release follows all earlier
stores. All threads see the same order of the stores that the memory has taken (this is so on
arm64 and x86, but not on all architectures). A load of a place to which the thread's own store
still waits gives the value of this store. Any other load may have been executed early. So it
gives the present value of the place, or an older value. But the value is not older than the value
that the place had at the thread's last barrier, nor older than the value that the thread's last
load of the same place gave. And after a load with acquire, later loads give only values that are
at least as new as the store whose value the load with acquire gave. A load is never executed
after a later store of the same thread. Where this would matter, the protocols that use this file
have a branch or a lock between the load and the store.

Taking a lock is an acquire, releasing a lock is a release, and neither is a full barrier. A
read-modify-write uses the newest value. An ordered read-modify-write is a full barrier, like the
kernel's xchg(); this is more than the C language promises.

Code is a list of steps. A step is a function of the state and the thread; it yields the states
that may follow. A string in the list is a label.
"""
import operator


def put(items, at, value):
    return items[:at] + (value,) + items[at + 1:]


class State:
    """
    pc: each thread's next step, None after its last step; buf: each thread's stores that the
    memory has not taken; log: stores that the memory has taken, oldest first; base: value of each
    place before the stores of the log; seen: for each thread, how many stores of the log the
    thread must have seen: a load gives the last of these stores to the place, or a later store;
    last: as seen, but for each thread and each place; lock: the thread that holds the lock;
    given: length of the log when the lock was last released; reg: one value of each thread, for
    steps that keep a value; got: the result of load(). A subclass adds more names in PLAIN.
    """
    PLAIN = ()
    WEAK = ("pc", "buf", "seen", "last", "base", "log", "lock", "given", "reg")

    def __init_subclass__(cls):
        cls.keys = staticmethod(operator.itemgetter(*cls.WEAK, *cls.PLAIN))

    @classmethod
    def first(cls, threads, places, values, **plain):
        state = cls()
        state.places = places
        state.pc, state.buf = (0,) * threads, ((),) * threads
        state.seen, state.last = (0,) * threads, ((0,) * len(places),) * threads
        state.base = tuple(values.get(place, 0) for place in places)
        state.log, state.lock, state.given, state.reg = (), None, 0, (0,) * threads
        for name in cls.PLAIN:
            setattr(state, name, plain.get(name, 0))
        return state

    def copy(self):
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def key(self):
        return self.keys(self.__dict__)

    def next(self, who):
        self.pc = put(self.pc, who, self.pc[who] + 1)
        return self

    def at(self, who, where):
        self.pc = put(self.pc, who, where)
        return self

    def stored(self, who, place, value, release=False):
        new = self.copy()
        new.buf = put(self.buf, who, self.buf[who] + ((place, value, release),))
        return new.next(who)

    def load(self, who, place, acquire):
        """Yields each value that the load can give, as a new state with .got."""
        for name, value, _ in reversed(self.buf[who]):
            if name == place:
                new = self.copy()
                new.got = value
                yield new
                return
        where = self.places.index(place)
        since = max(self.seen[who], self.last[who][where])
        value, at = self.base[where], 0
        found = []
        for index, (name, stored) in enumerate(self.log, 1):
            if index > since and name == place:
                found.append((value, at))
            if name == place:
                value, at = stored, index
        for value, at in found + [(value, at)]:
            new = self.copy()
            new.got = value
            new.last = put(self.last, who, put(self.last[who], where, at))
            if acquire:
                new.seen = put(self.seen, who, max(self.seen[who], at))
            yield new

    def newest(self, place):
        for name, value in reversed(self.log):
            if name == place:
                return value
        return self.base[self.places.index(place)]

    def take(self, who, index):
        """The memory takes a store, or the release of the lock."""
        new = self.copy()
        place, value, _ = self.buf[who][index]
        new.buf = put(self.buf, who, self.buf[who][:index] + self.buf[who][index + 1:])
        if place is None:
            new.lock, new.given = None, len(self.log)
        else:
            new.log = self.log + ((place, value),)
        return new

    def takes(self, who):
        """Yields the states in which the memory has taken one store of a thread."""
        buf, places = self.buf[who], set()
        for index, (place, _, release) in enumerate(buf):
            if not (release and index) and place not in places:
                yield self.take(who, index)
            places.add(place)

    def shorten(self):
        """Drops values that no thread can load any more, so that equivalent states are equal."""
        least = min(self.seen)
        base = list(self.base)
        for place, value in self.log[:least]:
            base[self.places.index(place)] = value
        self.base, self.log = tuple(base), self.log[least:]
        self.seen = tuple(max(seen - least, 0) for seen in self.seen)
        self.last = tuple(tuple(max(at - least, 0) for at in last) for last in self.last)
        self.given = max(self.given - least, 0)
        self.last = tuple(tuple(at if at > seen else 0 for at in last) for seen, last in zip(self.seen, self.last))
        return self


# -- steps

def store(place, value, release_=False):
    def step(state, who):
        yield state.stored(who, place, value, release_)
    return step


def barrier(state, who):
    """A full barrier"""
    if not state.buf[who]:
        new = state.copy()
        new.seen = put(state.seen, who, len(state.log))
        yield new.next(who)


def release(state, who):
    """A barrier between stores: earlier stores are visible before later stores."""
    if not state.buf[who]:
        yield state.copy().next(who)


def lock(state, who):
    """Takes the lock, but not before the thread's own earlier unlock has taken effect: arm64
    orders the unlock before the lock, and the kernel relies on this order."""
    if state.lock is None and not any(release_ for _, _, release_ in state.buf[who]):
        new = state.copy()
        new.lock = who
        new.seen = put(state.seen, who, max(state.seen[who], state.given))
        yield new.next(who)


def unlock(state, who):
    yield state.stored(who, None, None, True)


def branch(place, go_on, to, acquire=False):
    """Loads the place. to: the label to which the step jumps unless go_on(value) is true."""
    def step(state, who):
        for new in state.load(who, place, acquire):
            yield new.next(who) if go_on(new.got) else new.at(who, to)
    return step


def exchange(place, value, ordered, go_on=None, to=None):
    """A read-modify-write, which stores a new value. ordered: it is a full barrier. to: the label
    to which the step jumps unless go_on(the old value) is true."""
    def step(state, who):
        buf = state.buf[who]
        if ordered and buf or any(name == place for name, _, _ in buf):
            return
        new = state.copy()
        old = state.newest(place)
        new.log = state.log + ((place, value),)
        where = state.places.index(place)
        new.last = put(state.last, who, put(state.last[who], where, len(new.log)))
        if ordered:
            new.seen = put(state.seen, who, len(new.log))
        yield new.next(who) if not go_on or go_on(old) else new.at(who, to)
    return step


def local(step):
    """Marks a step as local: no other thread can notice it, so it happens at once."""
    step.local = True
    return step


def do(change):
    """Changes values that locks protect, or that the kernel keeps in order in another way."""
    def step(state, who):
        new = state.copy()
        change(new)
        yield new.next(who)
    return step


def jump(to):
    def step(state, who):
        yield state.copy().at(who, to)
    return local(step)


def jump_if(test, to):
    def step(state, who):
        yes = test(state, who) if test.__code__.co_argcount == 2 else test(state)
        yield state.copy().at(who, to) if yes else state.copy().next(who)
    return step


def when(test):
    """Waits until test(state) is true, perhaps for ever. When the thread continues, it sees all
    stores that the memory has taken."""
    def step(state, who):
        if test(state):
            new = state.copy()
            new.seen = put(state.seen, who, len(state.log))
            yield new.next(who)
    step.waits = True
    return step


def assemble(code):
    """Returns the steps, and the index of each label."""
    steps, labels = [], {}
    for item in code:
        if isinstance(item, str):
            labels[item] = len(steps)
        else:
            steps.append(item)
    return steps, labels


def explore(start, codes, bad):
    """
    Tries all orders. bad(state, over) decides whether a state is a fault; over is true if no
    thread can execute a step. It is also a fault if no thread can execute a step, and a thread is
    stopped at a step that is not when().

    Returns the number of states, and a state with a fault, or None.
    """
    def place(state, who):
        """Moves a thread past labels and local steps."""
        steps, labels = codes[who]
        while state.pc[who] is not None:
            where = labels.get(state.pc[who], state.pc[who])
            if where == len(steps):
                where = None
            state.pc = put(state.pc, who, where)
            if where is None or not hasattr(steps[where], "local"):
                return state
            state, = steps[where](state, who)
        return state

    def resolve(state):
        for who in range(len(codes)):
            state = place(state, who)
        # a waiting thread continues with everything that the memory has taken
        end = len(state.log)
        state.seen = tuple(end if pc is None or hasattr(steps[pc], "waits") else seen
                           for (steps, _), pc, seen in zip(codes, state.pc, state.seen))
        return state.shorten()

    todo, seen = [resolve(start)], set()
    while todo:
        state = todo.pop()
        key = state.key()
        if key in seen:
            continue
        seen.add(key)
        nexts, stuck = [], False
        for who, (steps, _) in enumerate(codes):
            nexts += state.takes(who)
            if state.pc[who] is None:
                continue
            step = steps[state.pc[who]]
            nexts += step(state, who)
            stuck |= not hasattr(step, "waits")
        over = not nexts
        if bad(state, over) or over and stuck:
            return len(seen), key
        todo += [resolve(new) for new in nexts]
    return len(seen), None
