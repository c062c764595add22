# SPDX-License-Identifier: GPL-2.0
"""Makes report.html: one file, which a browser can show without any other file."""
from html import escape
import re

import plots
from results import WHO
import targets
import text

STYLE = """
:root { --paper:#fff; --ink:#1c2024; --soft:#60666d; --rule:#dfe3e8; --panel:#f7f8fa;
 --iw_tcp:#0b6bcb; --siw:#e07a1f; --rxe:#8e57c2; --tcp:#2a9d5c; --discard:#74c69d; --iperf3:#5b6b7a;
 --held:#2a9d5c; --missed:#d1373f; }
@media (prefers-color-scheme: dark) { :root { --paper:#15181c; --ink:#e6e8ea; --soft:#9aa2ab;
 --rule:#30363d; --panel:#1c2127; --iw_tcp:#58a6ff; --siw:#f0a04b; --rxe:#b48cf2; --tcp:#56d38a;
 --discard:#357a52; --iperf3:#9fb0c0; --held:#56d38a; --missed:#ff6b6b; } }
body { background:var(--paper); color:var(--ink); font:15px/1.5 system-ui,sans-serif;
 max-width:1000px; margin:2rem auto; padding:0 1rem; }
h1 { font-size:1.7rem; margin-bottom:.2rem } h2 { margin-top:2.4rem; font-size:1.25rem }
p.setting { color:var(--soft); margin:.1rem 0 }
figure { background:var(--panel); border:1px solid var(--rule); border-radius:8px; margin:1rem 0; padding:1rem; }
figcaption { font-weight:600; margin-bottom:.6rem }
figcaption small { font-weight:400; color:var(--soft) }
svg { width:100%; height:auto; font:12px system-ui,sans-serif }
.label { fill:var(--soft) } .case { fill:var(--ink); font-weight:600 } .tick { fill:var(--soft); font-size:11px }
.grid { stroke:var(--rule) } .spread { stroke:var(--ink); stroke-width:1.5; opacity:.65 }
.limit { stroke:var(--ink); stroke-width:1.5 } .curve { fill:none; stroke-width:2.2 }
div.wide { overflow-x:auto } table { border-collapse:collapse; font-size:13px; white-space:nowrap }
th,td { padding:.25rem .7rem; border-bottom:1px solid var(--rule); text-align:right }
th { color:var(--soft); font-weight:600 } td:first-child,th:first-child { text-align:left }
td.held { color:var(--held); font-weight:600 } td.missed { color:var(--missed); font-weight:600 }
"""
CLASSES = (*WHO, "held", "missed")

STORAGE = r"(insn|newest)-(nfs|nvme|iser)"
# The bar charts: (title, remark, pattern that matches the names of the cases in the chart)
CHARTS = (
    ("64 KB messages, by operation and MTU", "more is better", r"(write|read|send)-64k-\d+"),
    ("Several queue pairs, both directions", "more is better", r"(write|read|send)-\w+-\d+-(q\d+|bidir)"),
    ("Large messages", "more is better", r"(write|read|send)-(1|8)m-\d+"),
    ("Small messages", "one queue pair, depth 128; more is better", r"rate-.*"),
    ("Latency", "one message at a time, polling; less is better", r"lat-.*"),
    ("Latency on average", "the same runs' total time; less is better", r"mean-.*"),
    ("NVMe and iSCSI disks in memory, 4 KB random, depth 32", "more is better", r"(nvme|iser)-rand.*"),
    ("NVMe and iSCSI disks in memory, 128 KB sequential", "more is better", r"(nvme|iser)-(read|write)-.*"),
    ("NFS, a file in memory, 1 MB sequential", "more is better", r"nfs-(read|write)-.*"),
    ("NFS, a file in memory, 4 KB random, depth 32", "more is better", r"nfs-rand.*"),
    ("NFS, files created and removed", "one at a time; more is better", r"nfs-create.*"),
    ("Connections", "16 at a time, or one; more is better", r"conn.*"),
    ("As perftest measures it", "more is better", r"perftest-[a-z]+-\d+[km](-direct)?"),
    ("Small messages without rdma_cm", "measured by perftest; more is better", r"perftest-rate-.*"),
    ("Latency without rdma_cm", "measured by perftest; less is better", r"perftest-lat-.*"),
    ("1 MB messages to a far host", "more is better", r"path-.*"),
    ("Time from the end of a gap until all data are there", "by size of the data behind the gap; less is better", r"hole-.*"),
    ("Delay of 64 KB messages, median", "paths that lose or delay segments; less is better", r"tail-.*-p50.*"),
    ("Delay of 64 KB messages, 99 % are faster", "less is better", r"tail-.*-p99(-.*)?"),
    ("Delay of 64 KB messages, 99.9 % are faster", "less is better", r"tail-.*-p999.*"),
    ("Instructions per octet, both ends together", "less is better", r"insn-(write|read|send)-\d+[km]-.*"),
    ("Instructions per octet, newest kernel", "less is better", r"newest-(write|read|send)-\d+[km]-.*"),
    ("Instructions per octet of storage", "both ends together; less is better", STORAGE + r"-(read|write)-.*"),
    ("Instructions per operation of storage", "both ends together; less is better", STORAGE + r"-(rand|create).*"),
    ("Instructions per octet of one end, two machines", "less is better", r"two-.*"),
    ("Instructions per message, both ends together", "less is better", r"(insn|newest)-\w+-\d+-.*"),
)


def colours():
    return "".join(f".bar.{c} {{ fill:var(--{c}) }} .curve.{c} {{ stroke:var(--{c}) }} "
                   f".ink.{c} {{ fill:var(--{c}) }}\n" for c in CLASSES)


def figure(title, remark, picture):
    return (f"<figure><figcaption>{escape(title)} <small>{escape(remark)}</small></figcaption>"
            f"{picture}</figure>")


def charts(res):
    for title, remark, pattern in CHARTS:
        clusters = []
        cases = [c for c in res.order if re.fullmatch(pattern, c)]
        for case in cases:
            cells = [(w, res.spread(case, w)) for w in res.who(case) if res.spread(case, w)]
            if cells:
                clusters.append((case.removeprefix("insn-"), cells))
        if clusters:
            yield figure(title, remark, plots.bars(clusters, res.unit(cases[0])))


def octets(size):
    return int(size.rstrip("km")) * {"k": 1024, "m": 1 << 20}.get(size[-1], 1)


def sweeps(res):
    """Yields a plot of bandwidth by message size, for each operation with at least three sizes."""
    for op in ("write", "read", "send"):
        sizes = {}
        for case in res.order:
            found = re.fullmatch(op + r"-(\d+[km]?)-1500", case)
            if found:
                sizes[octets(found.group(1))] = case
        series = {}
        for size, case in sorted(sizes.items()):
            for who in res.who(case):
                if res.spread(case, who) and who != "iperf3":
                    series.setdefault(who, []).append((size, res.spread(case, who)))
        if len(sizes) > 2 and series:
            yield figure(f"{op.capitalize()} by size", "MTU 1500, one queue pair; more is better",
                         plots.curves(series, "Gb/s"))


def table(rows):
    head, *rest = [list(r) for r in rows]

    def cell(c):
        mark = f' class="{c}"' if c in ("held", "missed") else ""
        return f"<td{mark}>{escape(c)}</td>"

    body = "".join("<tr>" + "".join(cell(c) for c in r) + "</tr>" for r in rest)
    heads = "".join(f"<th>{escape(h)}</th>" for h in head)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def page(res, sections):
    parts = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width, initial-scale=1">',
             f"<title>iw_tcp: measurements</title><style>{STYLE}{colours()}</style></head><body>",
             "<h1>iw_tcp: measurements</h1>"]
    parts += [f'<p class="setting">{escape(s)}</p>' for s in text.setting(res)]
    for i, (title, remark, rows) in enumerate(sections):
        if i == 1:
            parts += ["<h2>Plots</h2>", *sweeps(res), *charts(res)]
        parts.append(f"<h2>{escape(title)}</h2><p>{escape(remark)}</p>")
        if i == 0:
            picture = plots.distance(targets.measured(res), res)
            if picture:
                parts.append(figure("Distance from each target",
                                    "right of the line it is held; the figure is the ratio", picture))
        parts.append(table(rows))
    return "\n".join(parts) + "\n</body></html>\n"
