#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The table of the rows.

table.py REPORT.tsv OUT.rst	Documentation/conformance.rst from a report
"""
import collections
import sys

from rows import ROWS, STATED, TESTS, level

NAMES = {"5040": "RDMAP", "5041": "DDP", "5042": "security", "5044": "MPA", "6581": "enhanced MPA startup",
         "7306": "RDMA protocol extensions"}
HEAD = """.. SPDX-License-Identifier: GPL-2.0
.. Made by "make conformance"; do not edit.

===========
Conformance
===========

What RFC 5044, 5041, 5040, 6581, 7306 and 5042 demand, each demand in our words, and how it is
met. ``make conformance`` runs the tests against a peer that shares no code with the module
(``tests/peer``) and makes this table anew. Where no test can show something on the wire, other
evidence is named.

%s

"""


def of_row(name, verdicts):
    """Verdict and evidence of a row. With no test of it having run: "not run", unless there is other evidence."""
    tests = [t for t in TESTS if name in t.rows]
    got = {verdicts.get(t.name, ("not run", ""))[0] for t in tests}
    for verdict in ("fail", "pass"):
        if verdict in got:
            return verdict, " ".join("%s.%s" % (t.area, t.name) for t in tests)
    kind, text = STATED.get(name, ("", ""))
    if kind:
        return "not testable" if kind == "untestable" else "stated", "%s: %s" % (kind, text)
    return "not run" if tests else "missing", ""


def summary(verdicts):
    """A line: how many of each level."""
    out = []
    counts = collections.Counter((level(it), of_row(it.id, verdicts)[0]) for it in ROWS.values())
    for name in ("MUST", "SHOULD", "MAY", "INFO"):
        parts = ["%d %s" % (counts[name, v], text) for v, text in (
            ("pass", "passed"), ("stated", "by other evidence"), ("fail", "failed"), ("not run", "not run"),
            ("missing", "without evidence"), ("not testable", "not testable")) if counts[name, v]]
        out.append("%s: %s" % (name, ", ".join(parts)))
    return "; ".join(out)


def write(path, verdicts):
    """The report: one line for each row."""
    lines = []
    for it in ROWS.values():
        verdict, evidence = of_row(it.id, verdicts)
        lines.append("\t".join((it.id, it.rfc, it.section, it.level, it.text, it.error, verdict, evidence)))
    lines.append("# %s" % summary(verdicts))
    if path == "-":
        print("\n".join("#| " + line for line in lines))
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def cell(text):
    """As reStructuredText."""
    for char in "\\*`|_":
        text = text.replace(char, "\\" + char)
    return text.strip() or "-"


def document(report, out):
    """conformance.rst"""
    lines = open(report, encoding="utf-8").read().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    with open(out, "w", encoding="utf-8") as file:
        file.write(HEAD % lines[-1].lstrip("# "))
        for rfc in dict.fromkeys(r[1] for r in rows):
            name = "RFC %s: %s" % (rfc, NAMES[rfc])
            file.write("%s\n%s\n\n.. list-table::\n   :header-rows: 1\n   :widths: 8 8 8 40 16 8 20\n\n" % (
                name, "=" * len(name)))
            for r in [["Row", "", "Section", "Level", "Requirement", "On error", "Verdict", "How"]] + \
                    [r for r in rows if r[1] == rfc]:
                first = "   * - "
                for text in r[:1] + r[2:]:
                    file.write(first + cell(text) + "\n")
                    first = "     - "
            file.write("\n")


if __name__ == "__main__":
    document(*sys.argv[1:])
