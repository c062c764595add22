# SPDX-License-Identifier: GPL-2.0
"""The rows of the matrix (rows.tsv), and the proof of each row: tests, or other evidence."""
import collections
import os
import re

Row = collections.namedtuple("Row", "id rfc section level binds text error")
Test = collections.namedtuple("Test", "rows name fn alone area")

# Kinds of statements about rows that packets can't prove, and the verdict of each kind in the
# table. A row of the last three kinds counts as not fulfilled or not proven, whatever its tests
# show.
KINDS = {
    "unit": "a test of tests/unit (named)",
    "selftest": "a test of tests/selftests, suites or provider (named)",
    "design": "how the code is made, found by reading it (which file)",
    "host": "the kernel outside of the module does it",
    "ulp": "asked of the program above, which gets what it needs for it (what)",
    "absent": "a choice that the RFC leaves open, not taken",
    "deviation": "not met, or not everywhere: what is done otherwise, and why",
    "not implemented": "what a program gets that asks for it",
    "untestable": "can't be tested; the reason",
}
VERDICTS = {
    "unit": "other test", "selftest": "other test", "design": "by reading", "host": "by others", "ulp": "by others",
    "absent": "not chosen", "deviation": "deviation", "not implemented": "not implemented",
    "untestable": "not testable",
}
UNMET = ("deviation", "not implemented", "untestable")

ROWS = collections.OrderedDict()
TESTS = []
STATED = {}


def load():
    """Reads rows.tsv into ROWS."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rows.tsv"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                it = Row(*line.rstrip("\n").split("\t"))
                ROWS[it.id] = it


def level(it):
    """Returns the level of a row: MUST, SHOULD, MAY or INFO."""
    for name, words in (("MUST", "MUST|must"), ("SHOULD", "SHOULD|NOT REC|recommended|should"),
                        ("MAY", "MAY|OPTIONAL")):
        if re.match(words, it.level):
            return name
    return "INFO"


def row(*ids, alone=False):
    """
    Decorates a test: a function of a Case (case.py) that raises Fail or Skip, or succeeds. The
    first line of its docstring says what the test shows. alone: no other test may run meanwhile.
    """
    def add(fn):
        for name in ids:
            assert name in ROWS, name
        TESTS.append(Test(ids, fn.__name__, fn, alone, fn.__module__))
        return fn
    return add


def stated(kind, text, *ids):
    """States something about rows, with or without tests: kind is one of KINDS."""
    assert kind in KINDS and text
    for name in ids:
        assert name in ROWS and name not in STATED, name
        STATED[name] = (kind, text)


load()
