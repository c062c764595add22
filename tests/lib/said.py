# SPDX-License-Identifier: GPL-2.0
"""Checks whether statements of the documents about this source tree are true, for docs-check:
numbers, features, files, sections, jobs, and which tests run where. has(name) returns whether there
is a file of this name: in check_features() a file of the driver, in check_evidence() a file of the
tree."""
import collections
import fnmatch
import re
import shlex

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


# A job of tests/check. labs: the laboratories that its command names; works: its tests, each with its
# variables and arguments, and its command
Job = collections.namedtuple("Job", "name labs works")


def jobs_of(items):
    """Returns the Jobs in the output of "tests/check --items"."""
    lines = [line.split("\t") for line in items.splitlines()]
    return [Job(name, re.findall(r"--lab ([\w.-]+)", command), [command, *shlex.split(tests)])
            for name, command, tests in lines]


NAME = r"`*[\w.-]*\w`*"
NAMES = r"(%s(?:(?:, and|,| and) %s)*)" % (NAME, NAME)
HOURS = r"\bfor (an hour|half an hour|\d+ seconds|\d+ minutes|\d+ hours)\b"
RUN = r"`{0,2}make (check(?:-long)?)`{0,2} runs?\s"


def labs_in(text, labs, before=r"(?:the )?(?:laborator(?:y|ies) |labs? )?"):
    """Returns the laboratories in text: "in ``uml`` and ``6.12``", "in the laboratory ``uml``"."""
    lists = re.findall(r"\b[Ii]n " + before + NAMES, re.sub(r"\s*\([^)]*\)", "", text))
    found = [re.findall(r"[\w.-]*\w", re.sub(r"\band\b", "", words)) for words in lists]
    return [name for names in found if names[0] in labs for name in names if name in labs]


def scripts_in(text):
    """Returns the scripts that text names: any script that ends in .sh, and ``tests/...``."""
    return re.findall(r"(?<![\w./-])(?:tests/)?((?:[\w-]+/)*[\w-]+\.sh)\b", text) + \
        [name for name in re.findall(r"``tests/([\w/-]+)``", text)]


def seconds_of(words):
    """Returns the seconds of "half an hour", "70 seconds" and so on."""
    if words.endswith("an hour"):
        return 1800 if words.startswith("half") else 3600
    return int(words.split()[0]) * {"seconds": 1, "minutes": 60, "hours": 3600}[words.split()[1]]


def runs_of(jobs, script, lab=None, options=()):
    """Returns the works that run the script with these options in the laboratory (None: in any)."""
    return [work for job in jobs if lab in (None, *job.labs) for work in job.works
            if all(re.search(re.escape(option) + r"(?!\S)", work) for option in options) and
            any(word == script or word.endswith("/" + script) for word in work.split())]


def check_run(claim, jobs, labs, default):
    """Yields what is wrong with a claim, the rest of a sentence after "``make check`` runs". jobs: the
    Jobs of this command. See check_runs()."""
    scripts, where = scripts_in(claim), labs_in(claim, labs)
    options = re.findall(r"``(--[^`]+|[A-Z]\w*=[^`]*)``", claim)
    times = re.split(HOURS, claim)[1:]
    if not scripts and (times or re.match(r"(this|the) test\b", claim)):
        yield "no script is named"
    for script in scripts:
        for lab in where or [None]:
            if not runs_of(jobs, script, lab, options):
                yield " ".join(["no job runs", script, *options, "in " + lab if lab else ""]).strip()
    for lab in where if not scripts else ():
        if not any(lab in job.labs for job in jobs):
            yield "no job in " + lab
    for words, rest in zip(times[::2], times[1::2]):
        for script in scripts:
            for lab in labs_in(rest, labs) or [None]:
                took = sum(int((re.findall(r"--time (\d+)", work) or [default(script)])[0])
                           for work in runs_of(jobs, script, lab, options))
                if took and took != seconds_of(words):
                    yield "%s runs for %d seconds%s" % (script, took, " in " + lab if lab else "")


def check_place(sentence, jobs, labs):
    """Yields a message for each script of a job that the sentence names together with a laboratory in
    which no job runs the script."""
    for script in scripts_in(sentence):
        for lab in labs_in(sentence, labs, "the laborator(?:y|ies) ") if runs_of(jobs, script) else ():
            if not runs_of(jobs, script, lab):
                yield "%s: no job runs %s in %s" % (sentence[:50], script, lab)


def check_programs(sentence, sets):
    """Yields a message for each job that the sentence names with the wrong command or program."""
    for name, command in re.findall(r"``([\w.-]+)`` of ``make (check(?:-long)?)``", sentence):
        if name not in [job.name for job in sets[command]]:
            yield "make %s has no job %s" % (command, name)
    named = re.findall(r"``(tests/[^`]+)``,? \(?the job ``([\w.-]+)``", sentence)
    named += [(program, name) for name, program in re.findall(r"job ``([\w.-]+)`` runs ``(tests/[^`]+)``", sentence)]
    for program, name in named:
        if not any(runs_command(job, program) for jobs in sets.values() for job in jobs if job.name == name):
            yield "the job %s does not run %s" % (name, program)
    for program, command in re.findall(r"``(tests/[^`]+)``,? (?:is )?a job of ``make (check(?:-long)?)``", sentence):
        if not any(runs_command(job, program) for job in sets[command]):
            yield "no job of make %s runs %s" % (command, program)


def runs_command(job, command):
    """Does the job run this command on this machine, perhaps with a time limit or more arguments?"""
    return " %s " % command in re.sub(r" --time \d+", "", job.works[0]) + " "


def check_runs(text, sets, labs, default):
    """
    Yields a message for each wrong statement about what "make check" and "make check-long" run. sets:
    {"check": Jobs, "check-long": Jobs}; labs: names of all laboratories; default(script): returns
    the seconds that a script runs without --time. A statement has one of these forms, in which LIST
    is a list of names:

      ``make check`` runs LIST [for 70 seconds] [with ``OPTIONS``] [in LIST]
      ``make check`` runs these commands (or: such pairs)::
      in the laboratory LIST, ``SCRIPT`` ...     (one of the two commands runs the script there)
      the job ``NAME`` of ``make check``; the job ``NAME`` runs ``tests/PROGRAM``
      ``tests/PROGRAM``, a job of ``make check``; ``tests/PROGRAM`` (the job ``NAME``)
    """
    for sentence in re.split(r"(?<=[.:;])\s+|\n\n", re.sub(r"(?<!\n)\n(?!\n)\s*", " ", text)):
        first, *claims = re.split(RUN, sentence)
        for command, claim in zip(claims[::2], claims[1::2]):
            for what in check_run(claim, sets[command], labs, default):
                yield "make %s runs %s: %s" % (command, claim[:50], what)
        yield from check_place(first, [job for jobs in sets.values() for job in jobs], labs)
        yield from check_programs(sentence, sets)
    for command, block in re.findall(RUN + r"(?:these\scommands|such\spairs)::\n\n((?: {4}.*\n)+)", text):
        for line in block.splitlines():
            if not any(runs_command(job, line.strip()) for job in sets[command]):
                yield "make %s does not run %s" % (command, line.strip())


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


def check_defaults(text, source):
    """Yields a message for each default in tests/README ("IWT_NAME  SCRIPT.sh: meaning (300)") that the
    script does not have. source: a function that returns the text of a script."""
    for name, meanings in re.findall(r"^    (IWT_\w+) +(.*(?:\n {20}.*)*)", text, re.M):
        for script, number in re.findall(r"([\w/]+\.sh): [^;()]*\((\d+)", " ".join(meanings.split())):
            if not re.search(r"%s:-%s\b" % (name, number), source(script)):
                yield "%s: %s is not %s without the variable" % (script, name, number)


# for prove(): jobs, wrong statements about them, and right statements
JOBS = {"check": jobs_of("t\ttests/vm/run --lab uml x\tselftests/a.sh\\ --time\\ 40 selftests/a.sh\\ --time\\ 30\n"
                         "f\ttests/vm/run --lab 6.12 x\tselftests/b.sh N=3\\ soak/c.sh\n"
                         "h\thost_suite tests/x/run --quick \th\n"),
        "check-long": jobs_of("l\ttests/vm/run --lab debug x\tselftests/a.sh\\ --time\\ 1800\n"
                              "x\thost_suite tests/x/run --lab uml \tx\n"
                              "two\thost_suite tests/vm/two --time 900 6.1 7.2 d.sh \ttwo\n")}
WRONG_RUNS = (
    "``make check`` runs ``a.sh`` in ``debug``.",
    "``make check`` runs ``a.sh`` and ``b.sh`` in the laboratory ``uml``.",
    "``make check`` runs ``b.sh`` in the laboratories ``6.12`` and ``uml``.",
    "``make check`` runs ``nothing.sh``.",
    "``make check-long`` runs ``tests/x/run`` with ``--quick`` in ``uml``.",
    "``make check-long`` runs ``tests/selftests/b.sh``.",
    "``make check`` runs ``a.sh`` for 60 seconds in ``uml``.",
    "``make check`` runs ``a.sh`` for 70 seconds in ``uml`` and for 5 minutes in ``debug``.",
    "``make check`` runs ``b.sh`` for 11 seconds in ``6.12``.",
    "``make check-long`` runs ``a.sh`` for an hour.",
    "``make check`` runs ``a.sh``; ``make check-long`` runs this test.",
    "``make check`` runs it for 70 seconds.",
    "``make check`` runs ``c.sh`` with ``N=4`` in ``6.12``.",
    "``make check`` runs ``a.sh`` with ``--time 4`` in ``uml``.",
    "``make check-long`` runs everything in ``6.12``.",
    "make check runs a test in the labs 6.12 (a kernel) and debug",
    "In the laboratory ``debug``, ``b.sh`` runs.",
    "the job ``t`` of ``make check-long``.",
    "``tests/x/run --slow`` is a job of ``make check``.",
    "The job ``t`` runs ``tests/x/run``.",
    "``tests/x/run`` (the job ``l``).",
    "``make check-long`` runs such pairs::\n\n    tests/vm/two 6.1 7.2 e.sh\n",
)
RIGHT_RUNS = """
``make check`` runs ``a.sh`` for 70 seconds in ``uml``, and more.
``make check-long`` runs ``a.sh`` for
half an hour in the laboratory ``debug``. ``make check`` runs ``b.sh`` for 10 seconds in ``6.12``;
``make check`` runs ``c.sh`` with ``N=3`` in ``6.12``. ``make check`` runs ``b.sh`` and ``soak/c.sh``
in ``6.12``, and ``make check-long`` runs ``a.sh`` in ``debug``. In the laboratory ``debug``,
``a.sh`` and ``nothing.sh`` run. In ``make check`` nothing runs for 3 seconds. ``make check-long``
runs ``tests/x/run`` in ``uml``. ``make check`` runs the rest in
``uml`` and ``6.12``. make check runs a test in the labs 6.12 (a kernel) and uml.
``t`` of ``make check``. ``tests/x/run --quick`` is a job of ``make check``. The job ``x`` of
``make check-long`` runs ``tests/x/run``. ``tests/x/run``, the job ``h`` of ``make check``.
``make check-long`` runs these commands::

    tests/vm/two 6.1 7.2 d.sh
"""


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
        *(list(check_runs(text, JOBS, {"uml", "6.12", "debug"}, lambda script: 10)) for text in WRONG_RUNS),
        list(check_defaults("    IWT_A   a.sh: one (1); b.sh:\n%stwo (2 or 3)\n" % (20 * " "), lambda script: "${IWT_A:-1}")),
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
        list(check_defaults("    IWT_A   a.sh: one (1), two\n    IWT_B   x\n", lambda script: "${IWT_A:-1}")),
        list(check_runs(RIGHT_RUNS, JOBS, {"uml", "6.12", "debug"}, lambda script: 10)),
    )
    for n, got in enumerate(wrong):
        if len(got) != 1:
            yield "docs-check: said.py, wrong statement %d: %r" % (n, got)
    for n, got in enumerate(right):
        if got:
            yield "docs-check: said.py, right statement %d: %r" % (n, got)
