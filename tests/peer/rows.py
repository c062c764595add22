# SPDX-License-Identifier: GPL-2.0
"""The rows, which are the requirements of the RFCs (rows.tsv), and the evidence for each row: tests
(row()) or other evidence (stated())."""
import collections
import os
import re

Row = collections.namedtuple("Row", "id rfc section level binds text error")
Test = collections.namedtuple("Test", "rows name fn alone area")

# The kinds of evidence other than tests, for rows that packets can't prove. VERDICTS has the
# verdict of each kind in the table. The kinds in UNMET say that a row is not fulfilled or not
# proven: this is the verdict even if all tests of the row pass.
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
    Decorates a function as a test of these rows. The function has a Case (case.py) as its
    argument, and raises Skip to skip the test. Any other exception means that the test fails. The
    first line of its docstring is the name of the test in the output. alone: no other test may
    run at the same time.
    """
    def add(fn):
        for name in ids:
            assert name in ROWS, name
        TESTS.append(Test(ids, fn.__name__, fn, alone, fn.__module__))
        return fn
    return add


def stated(kind, text, *ids):
    """Stores text as the evidence of this kind (one of KINDS) for the rows ids, which may also have
    tests."""
    assert kind in KINDS and text
    for name in ids:
        assert name in ROWS and name not in STATED, name
        STATED[name] = (kind, text)


load()
