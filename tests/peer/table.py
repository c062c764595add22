#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Makes the page Documentation/conformance.rst and its tables. Each row of the tables is a requirement
of an RFC (rows.py).

table.py REPORT.tsv DIR	writes DIR/conformance.rst and DIR/conformance/rfc*.tsv, from a report
			that conform.py --report has written
"""
import collections
import os
import re
import sys

from rows import ROWS, STATED, TESTS, UNMET, VERDICTS, level

NAMES = {"5040": "RDMAP", "5041": "DDP", "5042": "security", "5044": "MPA", "6581": "enhanced MPA startup",
         "7306": "RDMA protocol extensions"}
HEAD = """.. SPDX-License-Identifier: GPL-2.0
.. Made by "make conformance"; do not edit.

===========
Conformance
===========

These tables list each requirement of RFC 5044, 5041, 5040, 6581, 7306 and 5042, in our own words,
and how the driver meets the requirement. Each requirement is a *row*. ``make conformance`` tests
the module with a peer that shares no code with the module (``tests/peer``). If no test fails, the
command makes this page and its tables anew. ``Documentation/conformance`` has one file for each
RFC, with one line for each row. These are the columns of the tables:

Level
    The word of RFC 2119 that the RFC uses: MUST, SHOULD, MAY or a synonym. With two words, as in
    MUST/MAY, each word applies to a part of the row. All other entries (such as "info" and
    "advice") mean that the RFC uses no such word: the RFC describes how the protocol works, or
    gives advice.
On error
    What the RFC demands if the requirement is violated: the layer, type and code of a Terminate
    (1/2/02, for example), or another action. M, D and R are bits in the header of a Terminate.
Verdict
    The next table explains the verdicts.
How
    The tests of the row, as the name of a file in ``tests/peer`` and the name of a function in this
    file. If there are no tests, a word shows the kind of the evidence: *unit* and *selftest* name
    another test; *design* names the code that was reviewed; *host* names the part of the kernel,
    and *ulp* the documentation for programs; *absent* says what the driver does instead.

The requirements are short notes; the RFCs have the exact words. The notes use abbreviations of the
RFCs and of verbs: OOO is "out of order". ULP is the program (or the consumer in the kernel) that
uses RDMA. PRM is the privileged resource manager: the part of a system that allocates resources for
programs, which here is the kernel. RNIC is the RDMA device. PD is a protection domain, QP a queue
pair, CQ a completion queue, SQ a send queue, RQ a receive queue, and SRQ a shared receive queue.
:doc:`glossary` explains other words of the RFCs.

This table counts the rows. A row whose level has two words counts for the first word. INFO counts
the rows without a word of RFC 2119:

%s"""
MEANINGS = {
    "pass": "All tests of the row succeeded, between two hosts.",
    "other test": "Packets cannot show the behaviour; another test does.",
    "by reading": "No test can show the behaviour; the code was reviewed.",
    "by others": "Another part of the kernel, or the program, must obey.",
    "not chosen": "The RFC allows other behaviour, or has the requirement\n" + " " * 44 +
                  "only for an optional part that iw_tcp lacks.",
    "deviation": "The driver obeys differently, or not always: see *How*.",
    "not implemented": "The driver does not obey: see *How*.",
}
LEVELS = ("MUST", "SHOULD", "MAY", "INFO")
TABLE = """.. csv-table::
   :file: conformance/%s
   :delim: tab
   :header-rows: 1
   :widths: 9 8 10 33 12 8 20
"""
HEADER = ["Row", "", "Section", "Level", "Requirement", "On error", "Verdict", "How"]


def of_row(name, verdicts, whole=True):
    """ Returns the verdict on the row, and its evidence. verdicts: {name of a test: (verdict,
    reason)}. whole: all tests can run on this path, so a row with a skipped test has not passed.
    """
    tests = [t for t in TESTS if name in t.rows]
    got = {t.name: verdicts.get(t.name, ("not run", ""))[0] for t in tests}
    names = " ".join("%s.%s" % (t.area, t.name) for t in tests)
    kind, text = STATED.get(name, ("", ""))
    if "fail" in got.values():
        return "fail", names
    if kind in UNMET:
        return VERDICTS[kind], ("%s (%s)" % (text, names) if names else text)
    if "pass" in got.values() and (not whole or "skip" not in got.values()):
        return "pass", names
    if "skip" in got.values() and whole:
        return "skipped", " ".join(n for n in got if got[n] == "skip")
    if kind:
        return VERDICTS[kind], "%s: %s" % (kind, text)
    return "not run" if tests else "missing", ""


def summary(verdicts, whole=True):
    """Returns one line with the number of rows for each combination of level and verdict."""
    out = []
    counts = collections.Counter((level(it), of_row(it.id, verdicts, whole)[0]) for it in ROWS.values())
    for name in LEVELS:
        parts = ["%d %s" % (counts[name, v], v)
                 for v in (*MEANINGS, "not testable", "skipped", "fail", "not run", "missing") if counts[name, v]]
        out.append("%s: %s" % (name, ", ".join(parts)))
    return "; ".join(out)


def write(path, verdicts, whole=True):
    """Writes the report, one line for each row, to the file path. If path is "-", writes it to
    standard output, with "#| " before each line."""
    lines = []
    for it in ROWS.values():
        verdict, evidence = of_row(it.id, verdicts, whole)
        lines.append("\t".join((it.id, it.rfc, it.section, it.level, it.text, it.error, verdict, evidence)))
    lines.append("# %s" % summary(verdicts, whole))
    if path == "-":
        print("\n".join("#| " + line for line in lines))
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def cell(text):
    """Returns text, a cell of the report, escaped for reStructuredText (there, an underscore after
    a word makes a reference); an empty cell becomes "none"."""
    text = text.strip()
    if text in ("", "-"):
        return "none"
    return re.sub(r'([\\*`|]|^"|(?<=\w)_(?!\w))', r"\\\1", text)


def table_of(rfc):
    return "rfc%s.tsv" % rfc


def counts_table(rows):
    """Returns a table in reStructuredText: for each verdict, the number of rows of each level, and
    what the verdict means."""
    counts = collections.Counter((level(ROWS[r[0]]), r[6]) for r in rows)
    bar = " ".join("=" * n for n in (15, 6, 6, 6, 6, 56)) + "\n"
    line = "%-15s %6s %6s %6s %6s %s\n"
    text = bar + line % ("Verdict", *LEVELS, "Meaning") + bar
    for verdict in dict.fromkeys([*MEANINGS, *(r[6] for r in rows)]):
        text += line % (verdict, *(counts[name, verdict] for name in LEVELS), MEANINGS.get(verdict, "\\"))
    return text + bar


def document(report, out):
    """Writes the page, OUT/conformance.rst, and a table for each RFC, OUT/conformance/rfc*.tsv.
    report: the name of the file with the report."""
    with open(report, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    tables = os.path.join(out, "conformance")
    os.makedirs(tables, exist_ok=True)
    with open(os.path.join(out, "conformance.rst"), "w", encoding="utf-8") as file:
        file.write(HEAD % counts_table(rows))
        for rfc in dict.fromkeys(r[1] for r in rows):
            name = "RFC %s: %s" % (rfc, NAMES[rfc])
            file.write("\n%s\n%s\n\n%s" % (name, "=" * len(name), TABLE % table_of(rfc)))
            with open(os.path.join(tables, table_of(rfc)), "w", encoding="utf-8") as table:
                for r in [HEADER] + [r for r in rows if r[1] == rfc]:
                    table.write("\t".join(cell(text) for text in r[:1] + r[2:]) + "\n")


if __name__ == "__main__":
    document(*sys.argv[1:])
