#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
report.py GCOV REASONS FIRST: reports which lines and functions of the driver were executed.

GCOV: a file with lines of JSON, as "gcov -j -t" writes them. REASONS: a file with lines "FILE
FUNCTION REASON" for functions that no test executes; the FUNCTION * means all functions of FILE.
If a REASON begins with "sometimes", it depends on the order of events whether the function is
executed. Prints TAP; the number of the first result is FIRST. Lines "# report: ", which make check
prints even if a test passes (lib/job.sh), contain the good results and each function that nothing
enters.
"""
import collections
import json
import os
import sys

DRIVER = "drivers/infiniband/sw/iw_tcp/"
LEAST = 90      # per cent of the lines


class Counted:
    """Maps (file, line) and (file, function) to the number of executions: the sum over all objects,
    because several objects may contain the functions of the same header."""

    def __init__(self):
        self.lines = collections.Counter()
        self.functions = collections.Counter()

    def add(self, report):
        for file in report["files"]:
            name = os.path.normpath(file["file"])
            if DRIVER not in name:
                continue
            name = name[name.index(DRIVER) + len(DRIVER):]
            for line in file["lines"]:
                self.lines[name, line["line_number"]] += line["count"]
            for function in file["functions"]:
                # the compiler may split a function; the name of the new part has a suffix
                self.functions[name, function["name"].split(".")[0]] += function["execution_count"]

    def share(self, name=None):
        """Returns (number of executed lines, number of lines) of the file name, or of all files."""
        times = [n for (file, _), n in self.lines.items() if name in (None, file)]
        return sum(map(bool, times)), len(times)


def read_reasons(path):
    """Returns the lines of the file REASONS: {(file, function): reason}."""
    reasons = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, function, reason = line.split(None, 2)
                reasons[name, function] = reason.strip()
    return reasons


def ranges(numbers):
    """Returns a sorted list of numbers as a text: "1-3 7" for [1, 2, 3, 7]."""
    out = []
    for n in numbers:
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in out)


def files(counted):
    """Yields a text for each file: the share of the lines that were executed, and which were
    not."""
    for name in sorted({file for file, _ in counted.lines}):
        done, of = counted.share(name)
        missing = ranges(sorted(n for (file, n), times in counted.lines.items() if file == name and not times))
        yield "%3d %% of %4d lines  %s%s" % (100 * done // of, of, name, missing and ": not " + missing)


def results(counted, reasons):
    """Yields (good, text) for each result, and (None, text) for each function that nothing
    enters."""
    done, of = counted.share()
    yield of > 0 and done * 100 >= of * LEAST, "lines that were executed: %.1f %% of %d" % (100 * done / max(of, 1), of)
    idle = {(name, "*" if (name, "*") in reasons else function)
            for (name, function), times in counted.functions.items() if not times}
    for key in sorted(idle & set(reasons)):
        yield None, "nothing enters %s %s(): %s" % (*key, reasons[key])
    for key in sorted(idle - set(reasons)):
        yield False, "nothing enters %s %s(), and there is no reason" % key
    stale = [key for key in sorted(set(reasons) - idle)
             if not reasons[key].startswith("sometimes") or key not in counted.functions]
    for key in stale:
        yield False, "%s %s() has a reason and does not need it" % key
    if idle <= set(reasons) and not stale:
        yield True, "of %d functions, all but the %d that have a reason are entered" % (len(counted.functions), len(idle))


def main(gcov, reasons, first):
    counted, number, failed = Counted(), int(first), 0
    with open(gcov, encoding="utf-8") as file:
        for line in file:
            if line.startswith("{"):
                counted.add(json.loads(line))
    for text in files(counted):
        print("# " + text)
    for good, text in results(counted, read_reasons(reasons)):
        if good is not False:
            print("# report: " + text)
        if good is None:
            continue
        failed += not good
        print("%sok %d - %s" % ("" if good else "not ", number, text))
        number += 1
    print("1..%d" % (number - 1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
