#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
pyverbs_run.py DIRECTORY TABLE DEVICE NETDEV: runs the tests of rdma-core in DIRECTORY, except those
of other drivers, with DEVICE on NETDEV, and compares their results with TABLE. Prints TAP.

A line of TABLE has three columns: a pattern for names of tests (CLASS.test), a regular expression
that must match the output of the test, and the reason why the test cannot pass. These cases are
failures: a test in the table passes, so its line is out of date; the output of a test does not
match its line; a line matches no test (not checked with an older rdma-core); a test that is not in
the table is skipped or fails. If a reason begins with "sometimes: ", the test may also pass,
depending on the order of events.
"""
import fnmatch
import glob
import importlib
import os
import re
import sys
import unittest
import warnings

# Tests of the private interfaces of other drivers
OTHER_DRIVERS = re.compile("test_(mlx5|efa|cuda)")


class Line:
    def __init__(self, text):
        self.pattern, said, self.reason = re.split("\t+", text)
        self.said = re.compile(said)
        self.used = False

    def fits(self, name):
        return fnmatch.fnmatchcase(name, self.pattern)


def read_table(path):
    with open(path, encoding="ascii") as file:
        return [Line(text.rstrip("\n")) for text in file if text.strip() and text[0] != "#"]


class Result(unittest.TestResult):
    """Compares each result with the table."""

    def __init__(self, table):
        super().__init__()
        self.table, self.number, self.bad = table, 0, 0

    def report(self, good, text):
        self.number += 1
        self.bad += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {text}", flush=True)

    def line_of(self, name):
        for line in self.table:
            if line.fits(name):
                line.used = True
                return line
        return None

    def judge(self, test, said):
        """said: the test's message if it was skipped or failed, None if it passed"""
        name = test.id().split(".", 2)[-1]
        line = self.line_of(name)
        if said is None:
            good = not line or line.reason.startswith("sometimes: ")
            self.report(good, name if good else f"{name} passes: delete its line")
        elif line and line.said.search(said):
            self.report(True, f"{name} # SKIP {line.reason}")
        else:
            self.report(False, f"{name} (not the words of its line)" if line else name)
            print("# " + "\n# ".join(said.splitlines()[-12:]))

    def addSuccess(self, test):
        self.judge(test, None)

    def addSkip(self, test, reason):
        self.judge(test, reason)

    def addError(self, test, err):
        self.judge(test, self._exc_info_to_string(err, test))

    addFailure = addError


def load(directory):
    """Returns all tests. The modules import each other both as top-level modules and from a
    package."""
    suite = unittest.TestSuite()
    for path in sorted(glob.glob(directory + "/test_*.py")):
        name = os.path.basename(path)[:-3]
        if not OTHER_DRIVERS.match(name):
            module = importlib.import_module("tests." + name)
            suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(module))
    return suite


def main():
    directory, table, device, netdev = sys.argv[1:]
    sys.path[:0] = [os.path.dirname(directory), directory]
    # GID 1 is the IPv4 address: the tests pass it to ibv_modify_qp() to connect queue pairs
    sys.argv[1:] = ["--dev", device, "--port", "1", "--gid", "1"]
    warnings.simplefilter("ignore")
    from args_parser import parser  # pylint: disable=import-error,import-outside-toplevel
    parser.parse_args()
    # older tests search for the net device of a physical device
    case = importlib.import_module("tests.base").RDMATestCase

    def get_ip_mac(self, dev, port, idx):
        self.args.append([dev, port, idx, *self.get_ip_mac_address(netdev)])
    setattr(case, "_get_ip_mac", get_ip_mac)
    case.get_net_name = staticmethod(lambda dev, port=None: netdev)
    result = Result(read_table(table))
    load(directory).run(result)
    # an older rdma-core has fewer tests
    if os.path.exists(directory + "/test_srq.py"):
        for line in result.table:
            if not line.used:
                result.report(False, f"no test is called {line.pattern}: delete the line")
    print(f"1..{result.number}")
    return result.bad > 0


if __name__ == "__main__":
    sys.exit(main())
