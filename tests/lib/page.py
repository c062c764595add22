#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""page.py PAGE names TABLE | PAGE recipe NAME | PAGE output NAME FILE | PAGE commands "": reads
tables, commands and outputs from PAGE, a page of the documentation whose comments mark these parts.

"names" prints the first column of the table after the comment ".. names: TABLE", one name on each
line. "recipe" prints the literal block after the comment ".. recipe: NAME". "output" compares
FILE with the literal block after the comment ".. output: NAME", if the page has this comment: FILE
must contain each line of the block, in the same order; "..." in the block matches any text. With
the NAME "", "recipe" prints the names of all recipes, and "output" the names of all outputs.
"commands" prints the commands in the text of the page, such as "``ss -tn``": literals of at least
two words that begin with a word of LOOKS and do not contain "...". It leaves out commands that are
a line of a recipe or a part of such a line."""
import re
import sys


def behind(lines, mark):
    """Returns the lines after the line "mark", which is a comment."""
    return lines[lines.index(mark) + 1:]


def names(lines):
    """Yields the names in the first column of the first table."""
    borders = [i for i, line in enumerate(lines) if re.match("=+ +=+$", line)][:2]
    width = lines[borders[0]].index(" ")
    for line in lines[borders[0] + 1:borders[1]]:
        yield from re.findall(r"\w+", line[:width])


def block(lines):
    """Yields the lines of the first literal block."""
    begin = lines.index("::") + 2
    for line in lines[begin:]:
        if line and not line.startswith("    "):
            break
        yield line[4:]


# The first words of commands by which users inspect a system; commands() prints only such commands
LOOKS = ("cat", "fi_info", "ip", "iscsiadm", "modprobe", "nvme", "rdma", "ss", "ulimit")


def commands(lines):
    """Yields each command in the text that begins with a word of LOOKS and is not part of a
    recipe."""
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
    """Returns the regular expression for a line of an expected output."""
    return ".*".join(map(re.escape, " ".join(line.split()).split("...")))


def compare(lines, name, path):
    """Ends the program with an error if the output in the file path does not agree with the output
    "name" of the page."""
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
