#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""kdoc.py FILE...: checks that every public function iwt_*() of a C file has a kernel-doc comment,
and that no line of any file has more than 98 columns. A function whose body has at most three lines
may have a comment of one line instead. Prints each error; fails if there is an error."""

import re
import sys

WIDTH = 98
FUNCTION = re.compile(r"^(?!static|typedef|#|\s|\}|/| \*)[\w\s\*]*?\b(iwt_\w+)\([^;]*$")


def is_short(lines, i):
    """Does the function whose name is in lines[i] have a body of at most three lines, and a comment
    of one line?"""
    first = i
    while first and lines[first - 1].strip() and not lines[first - 1].startswith(("/*", " *")):
        first -= 1
    begin = lines.index("{", i)
    body = [line for line in lines[begin + 1:lines.index("}", begin)] if line.strip()]
    return len(body) <= 3 and re.match(r"/\* .* \*/$", lines[first - 1])


def look(path):
    """Returns the errors of one file: a list of texts."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    bad = ["%s:%d: %d columns" % (path, i + 1, len(line.expandtabs(8)))
           for i, line in enumerate(lines) if len(line.expandtabs(8)) > WIDTH]
    if not path.endswith(".c"):
        return bad
    text = "\n".join(lines)
    for i, line in enumerate(lines):
        match = FUNCTION.match(line)
        if match and "=" not in line and "DECLARE" not in line:
            if not re.search(r"^ \* %s\(\) - " % match.group(1), text, re.M) and not is_short(lines, i):
                bad.append("%s:%d: no kernel-doc comment for %s()" % (path, i + 1, match.group(1)))
    return bad


def main():
    bad = [line for path in sys.argv[1:] for line in look(path)]
    print("\n".join(bad), end="\n" if bad else "")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
