#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py DIR [--document FILE]: makes results.json, report.md and report.html in DIR
from DIR/raw.tsv, and prints the tables. Replaces the text of FILE between the comments BEGIN and
END by the targets."""
import json
import sys

import page
import results
import text

BEGIN, END = ".. figures begin", ".. figures end"


def sections(res):
    """Yields (title, remark, rows) for each table: the targets, then ratios and figures of each
    view, then the reasons for missing figures."""
    yield "Targets", f"{text.summary(res)}", text.target_rows(res)
    kinds = {"insn": "instructions", "newest": "instructions, newest kernel", "path": "far hosts", "two": "two machines"}
    for prefix, title in (("", "native speed"), *kinds.items()):
        cases = [c for c in res.order if (c.split("-")[0] if c.split("-")[0] in kinds else "") == prefix]
        if cases:
            yield f"Ratios, {title}", "Median (quartiles) of the rounds' ratios.", \
                text.ratio_rows(res, cases)
            yield f"Figures, {title}", "Median (quartiles) of the rounds.", \
                text.value_rows(res, cases)
    if res.reasons:
        yield "No figure", "", text.reason_rows(res)


def write(path, content):
    with open(path, "w", encoding="utf-8") as f:
        f.write(content)


def as_markdown(res):
    parts = ["# iw_tcp: measurements", ""] + [f"- {line}" for line in text.setting(res)]
    for title, remark, rows in sections(res):
        parts += ["", f"## {title}", "", remark, "", text.markdown(rows)]
    return "\n".join(parts) + "\n"


def as_rst(res):
    """Returns the table of the targets. The documentation needs no other table, because report.md
    and report.html have all figures."""
    _, remark, rows = next(sections(res))
    return "\n".join([*(f"* {line}" for line in text.setting(res)), "", remark, "", text.rst(rows)]) + "\n"


def document(res, path):
    with open(path, encoding="utf-8") as f:
        old = f.read()
    head, rest = old.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    write(path, f"{head}{BEGIN}\n\n{as_rst(res)}\n{END}{tail}")


def main(args):
    out = args[0]
    res = results.load(f"{out}/raw.tsv")
    if not res.order:
        print("no figures")
        return 1
    write(f"{out}/results.json", json.dumps(results.as_dict(res), indent=1) + "\n")
    write(f"{out}/report.md", as_markdown(res))
    write(f"{out}/report.html", page.page(res, list(sections(res))))
    for title, _, rows in reversed(list(sections(res))):
        rows = list(rows)
        if len(rows) > 1:
            print(f"{title}\n\n{text.plain(rows)}\n")
    if res.remark():
        print(res.remark() + "\n")
    if "--document" in args:
        document(res, args[args.index("--document") + 1])
    print(f"targets: {text.summary(res)}; see {out}/report.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
