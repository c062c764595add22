# SPDX-License-Identifier: GPL-2.0
"""Draws plots in SVG. CSS classes select the colours; page.py defines these classes."""
from html import escape
from math import ceil, floor, log10

from results import number
from text import name

WIDTH, LEFT, RIGHT = 860, 270, 120


def tag(kind, content="", **attrs):
    words = "".join(f' {k.rstrip("_").replace("_", "-")}="{v}"' for k, v in attrs.items())
    return f"<{kind}{words}>{content}</{kind}>" if content != "" else f"<{kind}{words}/>"


def label(x, y, content, anchor="start", cls="label"):
    return tag("text", escape(content), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=cls)


def line(x1, y1, x2, y2, cls):
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=cls)


def svg(height, parts, what):
    return tag("svg", tag("title", escape(what)) + "".join(parts), viewBox=f"0 0 {WIDTH} {height:.0f}",
               role="img", xmlns="http://www.w3.org/2000/svg")


def ticks(top):
    """Returns round numbers from 0 to at most top, for the ticks of an axis."""
    step = 10 ** floor(log10(top / 4))
    step *= next(f for f in (1, 2, 5, 10) if top / (step * f) <= 6)
    return [i * step for i in range(int(top / step) + 1)]


def bars(clusters, unit):
    """Draws a bar chart. clusters: [(label, [(contestant, Spread)])], all in the same unit."""
    high, gap, y = 17, 14, 6.0
    top = max(max(s.high, s.median) for _, cells in clusters for _, s in cells)
    scale = (WIDTH - LEFT - RIGHT) / top
    height = 30 + sum(len(cells) * high + gap for _, cells in clusters)
    parts = []
    for t in ticks(top):
        x = LEFT + t * scale
        parts += [line(x, 0, x, height - 22, "grid"), label(x, height - 8, f"{t:,g}", "middle", "tick")]
    parts.append(label(WIDTH - 4, height - 8, unit, "end", "tick"))
    for text, cells in clusters:
        parts.append(label(LEFT - 94, y + len(cells) * high / 2 + 4, text, "end", "case"))
        for who, s in cells:
            mid, width = y + high / 2 - 1, max(1.5, s.median * scale)
            parts.append(tag("rect", x=LEFT, y=f"{y:.1f}", width=f"{width:.1f}", height=high - 3,
                             rx=2, class_=f"bar {who}"))
            parts.append(label(LEFT - 6, mid + 4, name(who), "end"))
            end = width
            if s.n > 1:
                parts.append(line(LEFT + s.low * scale, mid, LEFT + s.high * scale, mid, "spread"))
                end = max(width, s.high * scale)
            parts.append(label(LEFT + end + 6, mid + 4, number(s.median)))
            y += high
        y += gap
    return svg(height, parts, unit)


def decades(low, high):
    return [10.0 ** e for e in range(floor(log10(low)), ceil(log10(high)) + 1)]


def size_name(octets):
    for unit, name_ in ((1 << 20, "M"), (1 << 10, "K")):
        if octets >= unit:
            return f"{octets / unit:g}{name_}"
    return str(octets)


def curves(series, unit):
    """Draws curves with two logarithmic axes. series: {contestant: [(bytes, Spread)]}."""
    height, bottom, left = 340, 30, 60
    points = [(x, s.median) for line_ in series.values() for x, s in line_]
    xs = sorted({x for x, _ in points})
    marks = decades(min(v for _, v in points), max(v for _, v in points))
    lx, hx, ly, hy = log10(xs[0]), log10(xs[-1]), log10(marks[0]), log10(marks[-1])

    def at(x, y):
        return (left + (log10(x) - lx) / (hx - lx or 1) * (WIDTH - left - RIGHT),
                height - bottom - (log10(y) - ly) / (hy - ly or 1) * (height - bottom - 14))

    parts = []
    for m in marks:
        y = at(xs[0], m)[1]
        parts += [line(left, y, WIDTH - RIGHT, y, "grid"), label(left - 6, y + 4, f"{m:g}", "end", "tick")]
    for x in xs:
        parts.append(label(at(x, marks[0])[0], height - 10, size_name(x), "middle", "tick"))
    parts.append(label(WIDTH - RIGHT + 24, height - 10, f"B; {unit}", "start", "tick"))
    parts += curve_lines(series, at)
    return svg(height, parts, unit)


def curve_lines(series, at):
    parts, taken = [], []
    for who, line_ in sorted(series.items(), key=lambda s: -s[1][-1][1].median):
        where = [at(x, s.median) for x, s in line_]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        parts.append(tag("polyline", points=path, class_=f"curve {who}"))
        parts += [tag("circle", tag("title", f"{escape(name(who))} {size_name(o)}: {number(s.median)}"),
                      cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, class_=f"bar {who}")
                  for (x, y), (o, s) in zip(where, line_)]
        x, y = where[-1]
        y = max(y, taken[-1] + 14) if taken else y
        taken.append(y)
        parts.append(label(x + 9, y + 4, name(who), "start", f"ink {who}"))
    return parts


def distance(targets, res):
    """Draws how far each figure is from the limit of its target, on a logarithmic axis. A bar to
    the right of 1 means that the target is held."""
    rows = [(t, t.value(res)) for t in targets]
    rows = [(t, (t.limit / s.median if t.most else s.median / t.limit), s) for t, s in rows if s and s.median > 0]
    if not rows:
        return ""
    left, high = 440, 21
    low = min(0.1, *(v for _, v, _ in rows)) if len(rows) > 1 else 0.1
    marks = decades(low, max(10.0, *(v for _, v, _ in rows)) if len(rows) > 1 else 10.0)
    lx, hx = log10(marks[0]), log10(marks[-1])
    height = len(rows) * high + 34

    def at(v):
        return left + (log10(v) - lx) / (hx - lx) * (WIDTH - left - 80)

    parts = [line(at(m), 0, at(m), height - 22, "grid") for m in marks]
    parts += [label(at(m), height - 6, f"{m:g} x", "middle", "tick") for m in marks]
    for i, (t, v, s) in enumerate(rows):
        y, verdict = 4 + i * high, "held" if t.held(s.median) else "missed"
        a, b = sorted((at(1.0), at(v)))
        parts += [label(left - 70, y + 13, t.text, "end", "case"),
                  label(left - 10, y + 13, f"{t.sign()} {t.limit:g}", "end", "tick"),
                  tag("rect", x=f"{a:.1f}", y=y, width=f"{max(2, b - a):.1f}", height=high - 6, rx=2,
                      class_=f"bar {verdict}"),
                  label(max(b, at(1.0)) + 6, y + 12, number(s.median))]
    parts.append(line(at(1.0), 0, at(1.0), height - 22, "limit"))
    return svg(height, parts, "targets")
