# SPDX-License-Identifier: GPL-2.0
"""Checks whether statements of the documents about this source tree are true, for docs-check:
numbers, features, files, sections, jobs. has(name) returns whether there is a file of this name: in
check_features() a file of the driver, in check_evidence() a file of the tree."""
import fnmatch
import re

NUMBERS = {word: n for n, word in enumerate(
    "two three four five six seven eight nine ten eleven twelve".split(), 2)}

# For each feature: a pattern that matches its name in documents, and a file of the driver that
# exists only if the feature is implemented.
FEATURES = (
    (r"shared receive queues?", "srq.c"), (r"(?:memory )?windows", "mw.c"), (r"atomic operations", "proto/atomic.c"),
    (r"on-demand paging", "mr_odp_pages.c"), (r"dma-bufs?", "mr_dmabuf_map.c"), (r"zero copy", "tx_zc.c"), (r"markers", "proto/marker.c"),
    (r"delayed startup", "cm_delayed.c"), (r"fast registration", "mr_fast.c"), (r"resiz(?:e|ing)", "cq_resize.c"),
)
NO = r"(?:is|are|do|does) not (?:\w+ )?(?:implemented|supported|exist)\b"


def check_features(text, has):
    """Yields a message for each sentence which says that a feature does not exist, although the
    driver has this feature."""
    for sentence in re.split(r"(?<=[.:])\s+|\n\n", " ".join(re.sub(r"^[-*] ", "", text, flags=re.M).split("\n"))):
        said = re.search(NO, sentence)
        for name, source in FEATURES if said else ():
            # the subject is the word just before the verb
            if re.search(r"\b%s(?: \w+)?$" % name, sentence[:said.start()].strip(), re.I) and has(source):
                yield "%s: but there is %s" % (sentence.strip()[:70], source)


def rows_of_table(lines):
    """Returns the number of rows of the simple table that begins with lines[0], without its head.
    Returns None if there is no table."""
    rule = re.compile(r"=+( +=+)+\s*$")
    rules = [n for n, line in enumerate(lines) if rule.match(line)]
    if not lines or not rule.match(lines[0]) or len(rules) < 2:
        return None
    body = lines[rules[1] + 1:rules[2]] if len(rules) > 2 else lines[1:rules[1]]
    return sum(bool(line.strip()) and not line.startswith(" ") for line in body)


def check_cells(text):
    """Yields (line, message) for each first cell of a simple table whose last word or comma shows
    that its text continues on the next line: Sphinx reads the next line as a separate row."""
    rule, width = re.compile(r"=+( +=+)+\s*$"), 0
    for n, line in enumerate(text.split("\n"), 1):
        if rule.match(line):
            width = line.index(" ")
        elif not line.strip():
            width = 0
        elif width and re.search(r"(,| (?:over|that|the|a|and|or))$", line[:width].strip()):
            yield n, "%r goes on in the next line, which is another row" % line[:width].strip()


def items_of_list(lines):
    """Returns the number of items of the list that begins with lines[0]. Returns None if there is
    no list. A paragraph without indent ends the list."""
    mark = re.match(r"([-*]|#\.|\d+\.) ", lines[0]) if lines else None
    if not mark:
        return None
    count = 0
    for line in lines:
        if re.match(r"([-*]|#\.|\d+\.) ", line):
            count += 1
        elif line.strip() and not line.startswith(" "):
            break
    return count


def check_numbers(text):
    """Yields (line, message) for each number before a table or a list ("There are five ways...:")
    that differs from the number of rows or items."""
    lines = text.split("\n")
    for n, line in enumerate(lines[:-2]):
        if not line.rstrip().endswith((":", ".")) or lines[n + 1].strip():
            continue
        first = n
        while first and lines[first - 1].strip():
            first -= 1
        sentence = re.split(r"(?<=\.)\s", " ".join(lines[first:n + 1]))[-1]
        said = re.search(r"\b(?:There are|[Ii]n|has|have|these|of) (%s) (\w+)\b" % "|".join(NUMBERS), sentence)
        if not said or not (line.rstrip().endswith(":") or sentence.startswith("There are")):
            continue
        rest = lines[n + 2:]
        count = rows_of_table(rest)
        count = items_of_list(rest) if count is None else count
        if count is not None and count != NUMBERS[said[1]]:
            yield n + 1, "%s %s, and %d of them follow" % (said[1], said[2], count)


def check_jobs(text, jobs):
    """Yields a message for each job that the text mentions ("(job ``NAME``)", "the job ``NAME``")
    and that is not in jobs, the names of the jobs of tests/check."""
    for name in re.findall(r"\bjobs? `{1,2}([\w.-]+)`", text):
        if name not in jobs:
            yield "no job " + name


def check_installed(page, installs, elsewhere=()):
    """Yields a message for each file in the section FILES of a man page that no package installs.
    installs: the lines of debian/*.install; elsewhere: files that need no package."""
    files = re.search(r"^\.SH FILES\n(.*?)(?=^\.SH|\Z)", page, re.M | re.S)
    for name in re.findall(r"(?:^\.I|^\.B|\\fI) ?(/[^\s\\]*(?:\\-[^\s\\]*)*)", files[1], re.M) if files else ():
        name = name.replace("\\-", "-").lstrip("/")
        if name not in elsewhere and not any(fnmatch.fnmatch(name, i) or name.startswith(i + "/") for i in installs):
            yield "no package installs /" + name


def check_evidence(text, headings, has, settings):
    """Yields a message for each section of the user guide, each setting and each file in text that
    does not exist. text: the evidence for a row of tests/peer/rows.tsv."""
    for section in re.findall(r'user guide, "([^"]*)"', text):
        if section not in headings:
            yield "the user guide has no section %r" % section
    for setting in re.findall(r"\bsetting (\w+)", text):
        if setting not in settings and not re.match(r"(of|that|or|and|in|is)$", setting):
            yield "no setting " + setting
    for name in re.findall(r"(?<![\w/.-])[\w/-]+\.(?:c|h|sh|py)\b", text):
        if not has(name):
            yield "no file " + name


def headings_of(text):
    """Returns the set of the section headings of a page."""
    lines = text.split("\n")
    return {a for a, b in zip(lines, lines[1:]) if a.strip() and re.fullmatch(r"([=~-])\1{3,}", b.strip())}


def check_complete(items, selftests):
    """Yields a message for each selftest that no job of "make check" runs. items: a text with the
    items of all jobs."""
    for name in sorted(selftests):
        if not re.search(r"(?:^|[\s/\\])selftests/%s\.sh\b" % re.escape(name), items):
            yield "no job of make check runs selftests/%s.sh" % name


def check_range(text, oldest, newest):
    """Yields (line, message) for each range of kernels that begins with the oldest tested kernel
    and does not end with the newest. Ranges are "6.1 to 7.2" or "6.1, 6.12 or 7.2"."""
    for found in re.finditer(r"(?<![\d.])%s(?:(?:,| to|,? and|,? or)\s+\d+\.\d+)+(?!\.?\d)" % re.escape(oldest), text):
        if not found.group().endswith(" " + newest) and not found.group().endswith("\n" + newest):
            yield text.count("\n", 0, found.start()) + 1, "%r, but the newest tested kernel is %s" % (
                " ".join(found.group().split()), newest)


def check_tested(text, tested, oldest, newest):
    """Yields a message if the first column of the table of kernels in text differs from the list of
    tested kernels, or if the list does not begin with the oldest and end with the newest."""
    rows = re.findall(r"^(\d+\.\d+)  ", text, re.M)
    if rows != tested:
        yield "the table has the kernels %s, include/compat/kernels has %s" % (" ".join(rows), " ".join(tested))
    if tested[:1] + tested[-1:] != [oldest, newest]:
        yield "the tested kernels are not those from %s to %s" % (oldest, newest)


def prove():
    """Tests the functions above: yields a message for each wrong statement that they accept, and
    for each right statement that they reject."""
    wrong = (
        list(check_features("Shared receive queues are not implemented\neither.", lambda f: True)),
        list(check_features("- **X.** Y. Memory windows do not exist.", lambda f: True)),
        list(check_numbers("There are five ways:\n\n* a\n* b\n")),
        list(check_numbers("It has three views:\n\n===  ===\na    b\n===  ===\n1    x\n2    y\n===  ===\n")),
        list(check_cells("=====  ==\na or   b\nc\n=====  ==\n")),
        list(check_jobs("(job ``nowhere``)", {"uml"})),
        list(check_range("Kernels 6.1 to\n7.1 and 6.1.5 to 7.0", "6.1", "7.2")),
        list(check_range("6.1, 6.12, or 7.3", "6.1", "7.2")),
        list(check_tested("6.1      Debian 12\nothers   6.2\n7.2      x\n", ["6.1", "6.12", "7.2"], "6.1", "7.2")),
        list(check_tested("6.1      Debian 12\n7.2      x\n", ["6.1", "7.2"], "6.1", "7.3")),
        list(check_installed(".SH FILES\n.TP\n.I /usr/lib/a.rules\nx\n", ["usr/lib/b.rules"])),
        list(check_evidence('documented: user guide, "Nothing"', {"Links"}, bool, ())),
        list(check_evidence("user guide, setting nothing", set(), bool, ("crc",))),
        list(check_evidence("nowhere.sh: x", set(), lambda name: False, ())),
        list(check_complete("IWT_X=1\\ selftests/b.sh selftests/ba.sh", {"a", "b"})),
    )
    right = (
        list(check_features("Memory windows on files are refused.", lambda f: True)),
        list(check_features("Shared receive queues are not implemented.", lambda f: False)),
        list(check_numbers("There are two ways:\n\n* a\n  b\n* c\n\nd\n")),
        list(check_cells("=====  ==\na, c   b,\n       d\n=====  ==\n\nText or\n")),
        list(check_jobs("(job ``uml``)", {"uml"})),
        list(check_range("6.1 to\n7.2; 6.1, 6.12 and 7.2; 6.2 to 7.1; two 6.1 6.12; 16.1 to 7", "6.1", "7.2")),
        list(check_tested("6.1      Debian 12\nothers   6.2\n7.2      x\n", ["6.1", "7.2"], "6.1", "7.2")),
        list(check_installed(".SH FILES\n.TP\n.I /usr/lib/a\\-b.rules\nx\n", ["usr/lib/a-b.rules"])),
        list(check_evidence('user guide, "Links"; a.sh; the setting crc', {"Links"}, bool, ("crc",))),
        list(check_complete("selftests/a.sh\\ x", {"a"})),
    )
    for n, got in enumerate(wrong):
        if len(got) != 1:
            yield "docs-check: said.py, wrong statement %d: %r" % (n, got)
    for n, got in enumerate(right):
        if got:
            yield "docs-check: said.py, right statement %d: %r" % (n, got)
