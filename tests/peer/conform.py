#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Runs the tests of the rows, and reports the results in TAP.

This program runs on the peer's side. To run a command on the device's side, it puts the words of
--run in front of the command. tests/peer/README describes the tests.
"""
import argparse
import concurrent.futures
import importlib
import os
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
import traceback
import zlib

import table
from case import Case, Place, add_arguments
from outcome import Skip, is_late
from peer import Peer
from rows import ROWS, STATED, TESTS
from ulp import Ulp

AREAS = ("mpa", "attach", "ddp", "rdmap", "empa", "ext", "sec", "opt", "tcp",
         "end")
HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    add_arguments(p)
    p.add_argument("--device", default="", help="name of the device")
    p.add_argument("--interface", default="lo", help="interface of the peer's side, to capture packets (lo)")
    p.add_argument("--path", default="direct", choices=("direct", "proxy"), help="path between both sides (direct)")
    p.add_argument("--lossy", action="store_true", help="packets get lost, late or doubled on the way")
    p.add_argument("--area", action="append", choices=AREAS, help="only the tests of rows_AREA*.py")
    p.add_argument("--row", action="append", help="only the tests of these rows, or tests of that name")
    p.add_argument("--jobs", type=int, default=8, help="tests at a time (8)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--complete", action="store_true", help="fail if a row has neither a test nor other evidence")
    p.add_argument("--report", help="write a table of the rows here (- : among the output, each line behind \"#| \")")
    p.add_argument("--list", action="store_true", help="name the tests, run none")
    p.add_argument("--trace", action="store_true", help="say what the upper layers do")
    p.add_argument("--slow", action="store_true", help="say how long each test took")
    return p.parse_args()


def wanted(args):
    for name in sorted(os.listdir(HERE)):
        if name.startswith("rows_") and name.endswith(".py"):
            importlib.import_module(name[:-3])
    names = [t.name for t in TESTS]
    twice = {n for n in names if names.count(n) > 1}
    assert not twice, "two tests of one name: %s" % twice
    return [t for t in TESTS
            if (not args.area or t.area.split("_")[1] in args.area) and
            (not args.row or t.name in args.row or set(t.rows) & set(args.row))]


def title(test):
    doc = (test.fn.__doc__ or test.name).strip().splitlines()[0].rstrip(".")
    return "%s %s: %s" % (" ".join(test.rows), test.name, doc)


GOING = {}      # identifier of a thread: (the test that it runs, time when the test began)


def tell_going(*_):
    """Handles SIGTERM: prints the call stack of each test that is running, and exits."""
    frames = sys._current_frames()      # pylint: disable=protected-access
    for thread, (test, since) in list(GOING.items()):
        where = " < ".join("%s:%d" % (os.path.basename(frame.filename), frame.lineno)
                           for frame in reversed(traceback.extract_stack(frames.get(thread))))
        print("# %s goes on since %.0f s: %s" % (test.name, time.monotonic() - since, where), flush=True)
    os._exit(1)     # pylint: disable=protected-access


def run(test, place, seed):
    """Runs one test, and lists it in GOING while it runs."""
    GOING[threading.get_ident()] = test, time.monotonic()
    try:
        return run_one(test, place, seed)
    finally:
        del GOING[threading.get_ident()]


def run_one(test, place, seed):
    """
    Runs one test; returns its verdict ("pass", "skip", "fail", or "late": a wait timed out), the
    reason, and how many seconds the test took.
    """
    case = Case(place, zlib.crc32(("%d%s" % (seed, test.name)).encode()))
    began = time.monotonic()
    verdict, why = "pass", ""
    try:
        test.fn(case)
    except Skip as skip:
        verdict, why = "skip", str(skip)
    except AssertionError as error:
        where = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.find("rows_") >= 0]
        verdict, why = "late" if is_late(error) else "fail", "line %s: %s" % (where[-1].lineno if where else "?", error)
    except Exception as error:      # pylint: disable=broad-except
        verdict, why = "late" if is_late(error) else "fail", traceback.format_exc() + repr(error)
    try:
        case.close()
    except Exception as error:      # pylint: disable=broad-except
        verdict, why = "fail", "at the end: %r" % error
    return verdict, why, time.monotonic() - began


class Report:
    """Prints TAP, and stores the verdicts: {name of the test: (verdict, reason)}."""

    def __init__(self, slow):
        self.number, self.bad, self.slow = 0, 0, slow
        self.verdicts = {}

    def line(self, verdict, text, why="", late=False):
        self.number += 1
        self.bad += verdict == "fail"
        if verdict == "fail":
            print("\n".join("# " + line for line in why.splitlines()[-20:]))
        print("%sok %d - %s%s%s" % ("not " if verdict == "fail" else "", self.number, text, " (time-out)" if late else "",
                                    " # SKIP " + why if verdict == "skip" else ""), flush=True)

    def test(self, test, verdict, why, took):
        late = verdict == "late"
        verdict = "fail" if late else verdict
        self.verdicts[test.name] = (verdict, why)
        if self.slow:
            print("# %.1f s: %s" % (took, test.name))
        self.line(verdict, title(test), "%s\nafter %.1f s" % (why, took) if verdict == "fail" else why, late)


def main():
    args = arguments()
    tests = wanted(args)
    if args.list:
        for test in tests:
            print(title(test))
        return 0
    # allow many open files: a proxy needs two file descriptors for each connection
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before = shlex.split(args.run)
    place = Place(before + shlex.split(args.ulp), args.here, args.there, args.link, args.device, args.path,
                  not args.lossy, args.interface,
                  lambda *words, **how: subprocess.run(before + list(words), check=False, **how))
    Ulp.trace = args.trace
    Peer.lossy = args.lossy
    report = Report(args.slow)
    signal.signal(signal.SIGTERM, tell_going)
    with concurrent.futures.ThreadPoolExecutor(max(args.jobs, 1)) as pool:
        going = {pool.submit(run, t, place, args.seed): t for t in tests if not t.alone}
        for done in concurrent.futures.as_completed(going):
            report.test(going[done], *done.result())
    for test in tests:
        if test.alone:
            report.test(test, *run(test, place, args.seed))
    whole = args.path == "direct" and not args.lossy and args.interface != "lo"
    if args.complete:
        tested = {name for t in TESTS for name in t.rows}
        missing = [name for name in ROWS if name not in tested and name not in STATED]
        report.line("fail" if missing else "pass", "every row has a test or other evidence",
                    "%d without: %s" % (len(missing), " ".join(missing)))
        print("# " + table.summary(report.verdicts, whole))
    if args.report:
        table.write(args.report, report.verdicts, whole)
    print("1..%d" % report.number)
    return 1 if report.bad or not report.number else 0


if __name__ == "__main__":
    sys.exit(main())
