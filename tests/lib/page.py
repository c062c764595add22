#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""page.py PAGE names TABLE | PAGE recipe NAME | PAGE output NAME FILE | PAGE commands "": parts of a
page that the page itself marks.

names prints what is in the first column of the table behind the comment ".. names: TABLE", a name
on each line. recipe prints the literal block behind the comment ".. recipe: NAME". output compares
FILE with the literal block behind the comment ".. output: NAME", if there is one: each of its
lines must be in FILE, in this order. In such a line "..." is any text. With the NAME "" both print
the names of all that there are. commands prints the commands that the page has in its text, as
"``ss -tn``", and that are not lines of recipes, or parts of such."""
import re
import sys


def behind(lines, mark):
    """The lines behind a comment."""
    return lines[lines.index(mark) + 1:]


def names(lines):
    """The first column of the first table."""
    borders = [i for i, line in enumerate(lines) if re.match("=+ +=+$", line)][:2]
    width = lines[borders[0]].index(" ")
    for line in lines[borders[0] + 1:borders[1]]:
        yield from re.findall(r"\w+", line[:width])


def block(lines):
    """The first literal block."""
    begin = lines.index("::") + 2
    for line in lines[begin:]:
        if line and not line.startswith("    "):
            break
        yield line[4:]


# What a text tells to look at something with
LOOKS = ("cat", "fi_info", "ip", "iscsiadm", "modprobe", "nvme", "rdma", "ss", "ulimit")


def commands(lines):
    """The commands in the text."""
    cooked = [line for i, mark in enumerate(lines) if mark.startswith(".. recipe: ") for line in block(lines[i + 1:])]
    seen = set()
    for literal in re.findall(r"``([^`]+)``", "\n".join(lines)):
        words = literal.split()
        text = " ".join(words)
        if len(words) > 1 and words[0] in LOOKS and "..." not in text and text not in seen \
                and not any(text in line for line in cooked):
            seen.add(text)
            yield text


def pattern(line):
    """The regular expression of a line of an expected output."""
    return ".*".join(map(re.escape, " ".join(line.split()).split("...")))


def compare(lines, name, path):
    """Is the output in the file as the page says?"""
    mark = ".. output: " + name
    if mark not in lines:
        return
    with open(path, encoding="utf-8", errors="replace") as f:
        got = [" ".join(line.split()) for line in f]
    for line in block(behind(lines, mark)):
        if line.strip() in ("", "..."):
            continue
        want = re.compile(pattern(line))
        while got and not want.search(got[0]):
            got.pop(0)
        if not got:
            sys.exit("the page expects: " + line)
        got.pop(0)


def main(page, kind, name, path=None):
    with open(page, encoding="utf-8") as f:
        lines = f.read().split("\n")
    if kind == "output" and name:
        compare(lines, name, path)
        return
    if kind == "commands":
        out = list(commands(lines))
    elif not name:
        out = [line.split(": ")[1] for line in lines if line.startswith(".. %s: " % kind)]
    else:
        out = {"names": names, "recipe": block}[kind](behind(lines, ".. %s: %s" % (kind, name)))
    text = "\n".join(out).rstrip("\n")
    if text:
        print(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
