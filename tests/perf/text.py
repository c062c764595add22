# SPDX-License-Identifier: GPL-2.0
"""Makes the tables as text, for the terminal, Markdown and reStructuredText."""
from results import COUNTED, WHO, number
import targets

NAMES = {"tcp": "TCP", "discard": "TCP, discarded", "iperf3": "iperf3"}


def name(who):
    return NAMES.get(who, who)


def with_spread(s):
    if not s:
        return "-"
    if s.n < 2:
        return number(s.median)
    return f"{number(s.median)} ({number(s.low)}..{number(s.high)})"


def machine(res, case):
    """Returns the machine on which a figure of this case was measured. If the clock counted
    instructions, the figure is the same on any machine."""
    return "any" if case.split("-")[0] in COUNTED else res.env.get("uml.machine", "unknown")


def target_rows(res):
    yield ("target", "ratio or difference (quartiles)", "limit", "figures", "verdict", "machine")
    for t in targets.measured(res):
        of, to = res.spread(*t.of), res.spread(*t.to)
        figures = t.why_not(res) or \
            f"{number(of.median)} / {number(to.median)} {res.unit(t.of[0])}"
        yield (t.text, with_spread(t.value(res)), f"{t.sign()} {t.limit:g}", figures, t.verdict(res),
               machine(res, t.of[0]))


def contestants(res, cases):
    return [w for w in WHO if any(w in res.who(c) for c in cases)]


def ratio_rows(res, cases):
    others = [w for w in contestants(res, cases) if w != "iw_tcp"]
    yield ("iw_tcp to", *(name(w) for w in others), "better is")
    for case in cases:
        row = [with_spread(res.ratio((case, "iw_tcp"), (case, w))) for w in others]
        if all(cell == "-" for cell in row):
            continue
        yield (case, *row, "less" if res.less(case) else "more")


def value_rows(res, cases):
    who = contestants(res, cases)
    yield ("case", *(name(w) for w in who), "unit")
    for case in cases:
        yield (case, *(with_spread(res.spread(case, w)) for w in who), res.unit(case))


def reason_rows(res):
    yield ("case", "contestant", "why there is no figure")
    for (case, who), why in res.reasons.items():
        yield (case, name(who), why)


def plain(rows):
    rows = [list(r) for r in rows]
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows)


def markdown(rows):
    rows = list(rows)
    lines = ["| " + " | ".join(r) + " |" for r in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)


def rst(rows):
    # a cell with a single hyphen would start a list, so write a dash
    rows = [["–" if c == "-" else c for c in r] for r in rows]
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    rule = "  ".join("=" * w for w in widths)
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def summary(res):
    verdicts = [t.verdict(res) for t in targets.measured(res)]
    return ", ".join(f"{verdicts.count(v)} {word}" for v, word in
                     (("held", "held"), ("missed", "missed"), ("-", "not measured"))
                     if verdicts.count(v)) or "none"


def setting(res):
    """Yields a line for each view that was measured, and a line about disturbed figures, if there
    are any."""
    for view, what in (("uml", "native speed"), ("insn", "instructions counted"),
                       ("newest", "instructions counted, newest kernel"),
                       ("path", "far hosts, a nanosecond for each instruction"),
                       ("two", "two machines, instructions of each counted")):
        if f"{view}.kernel" in res.env:
            e = {k.split(".", 1)[1]: v for k, v in res.env.items() if k.startswith(view + ".")}
            rounds = e["rounds"] + (" round" if e["rounds"] == "1" else " rounds")
            yield (f"{what}: kernel {e['kernel']}, {e['processors']} processor(s), {rounds}"
                   + (f" of {e['milliseconds']} ms a figure" if view == "uml" else "")
                   + f", {e['date']}")
    if res.remark():
        yield res.remark()
