#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Measures how many instructions the device executes for streams of different shapes (kinds of
messages, and sizes of segments), and reports in TAP. Twice as many segments must not need more
than MOST times as many instructions: a peer chooses the shape, and the device does the work in
bottom halves, while no task can run.

Needs a machine of one processor whose clock counts instructions (LAB_ICOUNT=1). On this machine,
each instruction takes one nanosecond. So the nanoseconds for which the processor is busy after
sending begins are the number of instructions that sender and receiver execute. One system call
sends all octets of a stream, and TCP's large buffers (TSO) have these octets in one piece of
memory.
"""
import argparse
import shlex
import subprocess
import sys

from case import Case, Place, add_arguments
from mpa import Tap
from shape_kinds import class_of
from shape_stream import Shape

MOST = 2.2          # the largest quotient of the instructions for two streams: N and 2 N segments
TRIES = 3           # measurements; the smallest counts, because the kernel may do other work, too


class Gate:
    """Measures all shapes."""

    def __init__(self, place, echo):
        self.case, self.echo = Case(place, 0), echo
        self.ulp = self.case.ulp()
        self.listener = self.case.listener(self.ulp)
        self.case.setting("crc", "off")
        self.settings = {}

    def stream(self, shape):
        """Makes a connection for the shape; returns its Stream."""
        return class_of(shape)(self.case, shape, self.ulp, self.echo if shape.who == "kernel" else self.listener)

    def set(self, name, on):
        """Turns a setting of the link on or off."""
        if self.settings.get(name) != on:
            self.settings[name] = on
            self.case.setting(name, "on" if on else "off")

    def costs(self, shape, *counts):
        """ Returns, for each count, the number of instructions: the smallest of TRIES measurements.
        A shape that ends its connection needs a new connection for each measurement. """
        if shape.ends:
            streams = [self.stream(shape) for _ in range(TRIES * len(counts))]
        else:
            streams = [self.stream(shape)] * (TRIES * len(counts))
        out = []
        for n, stream in enumerate(streams):
            out.append(stream.cost(counts[n // TRIES]))
            if shape.ends:
                stream.end()
            else:
                stream.finish()
        if not shape.ends:
            streams[0].end()
        return [min(out[n:n + TRIES]) for n in range(0, len(out), TRIES)]

    def judge(self, tap, shape):
        """Checks that twice as many segments need 0.5 to MOST times as many instructions."""
        self.set("markers", shape.markers)
        self.set("ahead", shape.ahead)
        count = shape.many()
        once, twice = self.costs(shape, count, 2 * count)
        times = twice / max(once, 1)
        # The quotient may be as small as 0.5: a few large segments need few instructions, compared
        # with other work, whose amount varies.
        tap.ok(once > 0 and 0.5 <= times <= MOST, "%s: twice the segments cost about twice as much" % shape,
               "%d and %d segments: %.2f times" % (count, 2 * count, times))
        print("# %s: %d and %d instructions for %d and %d segments: %.2f times, %d for each" % (
            shape, once, twice, count, 2 * count, times, (twice - once) // count), flush=True)

    def close(self):
        """Ends the upper layer."""
        self.case.close()


def shapes():
    """Yields all shapes."""
    for crc in (False, True):
        for payload in (1, 100, 1400):
            for kind in ("write", "send", "response"):
                yield Shape("process", kind, payload, crc)
            for kind in ("send", "response"):
                yield Shape("kernel", kind, payload, crc)
    for kind in ("write_beyond", "send_too_long", "response_too_long"):
        yield Shape("process", kind, 4)
    yield Shape("kernel", "response_too_long", 4)
    for who in ("process", "kernel"):
        for kind in ("send", "response"):
            yield Shape(who, kind, (4, 8))
            yield Shape(who, kind, 4, True, True)
    yield Shape("process", "send", 4, sges=4)
    yield Shape("process", "send", 7, sges=16)
    yield Shape("process", "writes", 4)
    yield Shape("process", "writes", 0)
    yield Shape("process", "write", (4, 8))
    yield Shape("process", "write", 4, True, True)
    yield Shape("process", "whole", 24, True)
    yield Shape("process", "whole", 24, True, True)
    for kind in ("write", "send", "response"):
        yield Shape("process", kind, 4, False, True)
    for crc in (False, True):
        for kind in ("write", "send", "response"):
            yield Shape("process", kind, 100, crc, True)
        for kind in ("write", "send"):
            yield Shape("process", kind, 1400, crc, True)
        for payload in (4, 100):
            yield Shape("process", "reads", payload, crc)
        yield Shape("process", "atomics", 8, crc)
        yield Shape("process", "immediates", 8, crc)
        yield Shape("process", "solicited_sends", 4, crc)
    yield Shape("process", "invalidating_sends", 4)
    for kind in ("write_ahead", "write_ahead_apart", "whole_ahead"):
        yield Shape("process", kind, 24, True, True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    add_arguments(p)
    p.add_argument("--device", required=True, help="name of the device")
    p.add_argument("--interface", required=True, help="interface of the peer's side")
    p.add_argument("--echo", type=int, required=True, help="port of iwt_echo on the device's side")
    p.add_argument("--only", default="", help="shapes with this text in their names")
    args = p.parse_args()
    before = shlex.split(args.run)
    place = Place(before + shlex.split(args.ulp), args.here, args.there, args.link, args.device, "direct", True,
                  args.interface, lambda *words, **how: subprocess.run(before + list(words), check=False, **how))
    tap, gate = Tap(), Gate(place, args.echo)
    for shape in shapes():
        if args.only in str(shape):
            gate.judge(tap, shape)
    gate.close()
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
