# SPDX-License-Identifier: GPL-2.0
"""The figures of a run: reads raw.tsv, and computes the results."""

WHO = ("iw_tcp", "siw", "rxe", "tcp", "discard", "iperf3")
DISTURBED = 12      # per cent; a figure is disturbed if other processes used more of the machine
LESS_IS_BETTER = ("us", "KB", "instructions/B", "instructions/message", "instructions/operation")
COUNTED = ("insn", "newest", "path", "two")     # views whose clock counts instructions


def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def median(values):
    return quantile(values, 0.5)


class Spread:
    """The median, the quartiles (low, high) and the number n of some values."""

    def __init__(self, values):
        self.n = len(values)
        self.median = median(values)
        self.low = quantile(values, 0.25)
        self.high = quantile(values, 0.75)


class Results:
    def __init__(self):
        self.env = {}
        self.order = []     # cases, in the order of the lines
        self.values = {}    # (case, who): {round: value}
        self.units = {}     # case: unit
        self.reasons = {}   # (case, who): the reason for a missing value
        self.bad = {}       # (case, who): rounds that other processes disturbed
        self.total = 0
        self.dropped = 0

    def add(self, view, case, rnd, who, value, unit, status, reason, others):
        if case not in self.order:
            self.order.append(case)
        if status != "ok":
            self.reasons[case, who] = reason if status == "none" else "failed: " + reason
            return
        self.units[case] = unit
        self.total += 1
        self.values.setdefault((case, who), {})[int(rnd)] = float(value)
        # if the clock counts instructions, other processes do not change the figures
        if view not in COUNTED and float(others or 0) > DISTURBED:
            self.bad.setdefault((case, who), set()).add(int(rnd))

    def drop(self):
        """Drops the disturbed rounds of each case and contestant, if at least half of its rounds
        were not disturbed."""
        for cell, rounds in self.bad.items():
            values = self.values[cell]
            if len(rounds) * 2 <= len(values):
                self.dropped += len(rounds)
                for rnd in rounds:
                    del values[rnd]

    def remark(self):
        bad = sum(map(len, self.bad.values()))
        return "" if not bad else (
            f"While {bad} of {self.total} figures were taken, other programs had more than "
            f"{DISTURBED} % of the machine; {self.dropped} of these are left out, "
            f"{bad - self.dropped} are not, for lack of better ones")

    def spread(self, case, who):
        values = self.values.get((case, who))
        return Spread(list(values.values())) if values else None

    def pairs(self, of, to):
        """Returns [(figure of "of", figure of "to")] for all rounds that have both figures. "of"
        and "to" are (case, contestant)."""
        mine, theirs = self.values.get(of, {}), self.values.get(to, {})
        return [(mine[r], theirs[r]) for r in mine if theirs.get(r)]

    def ratio(self, of, to):
        both = [a / b for a, b in self.pairs(of, to)]
        return Spread(both) if both else None

    def difference(self, of, to):
        both = [a - b for a, b in self.pairs(of, to)]
        return Spread(both) if both else None

    def unit(self, case):
        return self.units.get(case, "")

    def less(self, case):
        return self.unit(case) in LESS_IS_BETTER

    def who(self, case):
        return [w for w in WHO if (case, w) in self.values or (case, w) in self.reasons]


def load(path):
    res = Results()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word = line.rstrip("\n").split("\t")
            if word[0] == "env" and len(word) >= 3:
                res.env[word[1]] = word[2]
            elif len(word) >= 7:
                res.add(*(word + ["", ""])[:9])
    res.drop()
    return res


def number(value):
    """Returns value as text for a table: about three digits, at most three decimals, no exponent;
    "-" for None. A difference may be negative. (The limits are the numbers that are rounded to a
    digit more: 9.996 is 10.0, not 10.00.)"""
    if value is None:
        return "-"
    decimals = sum(abs(value) < limit for limit in (99.95, 9.995, 0.0995))
    return f"{value:,.{decimals}f}"


def as_dict(res):
    """Returns the results in the form of results.json."""
    cases = {}
    for case in res.order:
        cell = {}
        for who in res.who(case):
            s = res.spread(case, who)
            cell[who] = {"reason": res.reasons.get((case, who))} if not s else {
                "median": s.median, "q1": s.low, "q3": s.high,
                "rounds": res.values[case, who]}
        cases[case] = {"unit": res.unit(case), "contestants": cell}
    return {"environment": res.env, "cases": cases}
