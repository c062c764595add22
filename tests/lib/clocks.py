#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""clocks.py: prints the waits of tests that count the time of an ordinary clock. Such a wait can fail
because the machine stood still. tests/README tells how a test must limit its waits. EXCEPTIONS
lists the uses of an ordinary clock that cannot make a test fail, or must be exact, with the number
of the lines and the reason."""
import pathlib
import re

TESTS = pathlib.Path(__file__).parents[1]
C_FILES = "programs/*/*.c",
SCRIPTS = "selftests/*.sh", "soak/*.sh", "suites/*", "lib/*.sh", "lib/harness-test", "vm/guest/*.sh"

# name: files, and a pattern of their lines. poll() for up to a second is one slice of a longer wait,
# or waits for an event that must not happen.
RULES = {
    "poll": (C_FILES, r"(?<!\w)(p?poll|p?select|epoll_p?wait)\((?!\)|.*, (-1|0|[1-9]\d{0,2}|1000)\))"),
    "alarm": (C_FILES, r"(?<!\w)(alarm|setitimer|timer_settime)\(|SO_(RCV|SND)TIMEO|timed(wait|lock)\("),
    "clock": (C_FILES, r"\btime\(NULL\)|\b(clock_gettime|iwt_now|bench_now)\("),
    "timeout": (SCRIPTS, r"(?<![-\w])timeout (-k \S+ )?[\"'$0-9]"),
    "SECONDS": (SCRIPTS, r"\$SECONDS\b|\(\(SECONDS\b"),
}

DURATION = "how long the test works, which is no limit of a wait"
MEASURES = "measures a time, and does not limit a wait"
SEED = "the seed of random numbers"
BENCH = "the tests do not use this part of the benchmark"
FUZZ = "a step of the fuzzer that takes too long is no failure"
EXCEPTIONS = {
    ("programs/bench/flow.c", "clock"): (1, MEASURES),
    ("programs/bench/flow.c", "poll"): (1, "one slice of a wait that patient() limits"),
    ("programs/bench/lat.c", "clock"): (3, MEASURES),
    ("programs/bench/mem.c", "clock"): (2, MEASURES),
    ("programs/bench/pace.c", "clock"): (1, MEASURES),
    ("programs/bench/setup.c", "clock"): (2, MEASURES),
    ("programs/bench/setup.c", "poll"): (1, BENCH),
    ("programs/common/bench_base.c", "alarm"): (1, DURATION),
    ("programs/common/bench_base.c", "clock"): (4, MEASURES),
    ("programs/common/patience.c", "poll"): (2, "the helper itself"),
    ("programs/common/patience.c", "clock"): (1, "the helper itself"),
    ("programs/common/random.c", "clock"): (1, SEED),
    ("programs/cmorder/main.c", "clock"): (2, SEED + ", and " + DURATION),
    ("programs/direct/die.c", "alarm"): (1, "the moment at which the process dies"),
    ("programs/direct/end.c", "tries"): (1, "waits for a completion that must not arrive"),
    ("programs/direct/rc.c", "clock"): (1, "the device must not give up too early"),
    ("programs/fuzzabi/attach.c", "poll"): (2, FUZZ),
    ("programs/fuzzabi/cm.c", "poll"): (1, FUZZ),
    ("programs/fuzzabi/judge.c", "tries"): (1, FUZZ),
    ("programs/fuzzabi/main.c", "clock"): (3, SEED + ", and " + DURATION),
    ("programs/fuzzabi/race.c", "tries"): (2, FUZZ),
    ("programs/hostile/main.c", "clock"): (1, SEED),
    ("programs/one/patient.c", "alarm"): (1, "the helper itself"),
    ("programs/one/polling.c", "clock"): (1, MEASURES),
    ("programs/one/tcpref.c", "clock"): (8, MEASURES),
    ("programs/one/tcpref.c", "poll"): (2, BENCH),
    ("programs/queues/times.c", "clock"): (1, MEASURES),
    ("programs/ulp/post.c", "clock"): (1, MEASURES),
    ("programs/verify/post.c", "poll"): (1, "one slice of a wait that patient() limits"),
    ("programs/verify/events.c", "clock"): (2, "the device must not raise an event too early"),
    ("programs/verify/post.c", "clock"): (2, MEASURES),
    ("programs/windows/cost.c", "clock"): (2, MEASURES),
    ("programs/windows/race.c", "clock"): (1, DURATION),
    ("lib/harness-test", "timeout"): (5, "tests what the harness does with status 124"),
    ("lib/harness-test", "SECONDS"): (1, MEASURES),
    ("lib/job.sh", "SECONDS"): (2, "limits the time of the whole run, which includes standstills"),
    ("lib/suite.sh", "timeout"): (1, "for machines without iwt_patient"),
    ("lib/suite.sh", "SECONDS"): (2, MEASURES),
    ("lib/wait.sh", "SECONDS"): (1, "for machines without iwt_patient"),
    ("selftests/counters.sh", "SECONDS"): (4, DURATION),
    ("selftests/deferred_posts.sh", "SECONDS"): (1, DURATION),
    ("selftests/limits.sh", "SECONDS"): (2, MEASURES),
    ("selftests/resources.sh", "SECONDS"): (1, DURATION),
    ("selftests/tracing.sh", "SECONDS"): (2, DURATION),
    ("soak/choice.sh", "SECONDS"): (1, MEASURES),
    ("soak/neterrors.sh", "SECONDS"): (2, MEASURES),
    ("soak/soak.sh", "SECONDS"): (4, DURATION),
}


def width(line):
    """Returns the width of the space at the beginning of a line."""
    return len(line) - len(line.lstrip())


def tries(lines):
    """Yields the numbers of the loops of a C file that sleep a counted number of times until a
    condition is true: such a number of times is a time limit, too."""
    for i, line in enumerate(lines):
        if not re.search(r"\b(for|while) \(.*(\+\+|--)", line) or "patient(" in line:
            continue
        end = i + 1
        while end < len(lines) and (not lines[end].strip() or width(lines[end]) > width(line)):
            end += 1
        body = " ".join(lines[i + 1:end])
        if "sleep(" in body and ("&&" in line or re.search(r"\)\s+break;|\breturn\b", body)):
            yield i + 1


def found(path, lines):
    """Yields (name of a rule, number of a line) for each line that breaks a rule."""
    for name, (globs, pattern) in RULES.items():
        if any(path.match(glob) for glob in globs):
            for i, line in enumerate(lines):
                if not line.strip().startswith(("#", "*", "/*")) and re.search(pattern, line):
                    yield name, i + 1
    if path.suffix == ".c":
        for number in tries(lines):
            yield "tries", number


def main():
    """Prints the lines that break a rule, unless a file has exactly the excepted number of them."""
    lines = {key: [] for key in EXCEPTIONS}
    for path in sorted({path for glob in C_FILES + SCRIPTS for path in TESTS.glob(glob)}):
        file = str(path.relative_to(TESTS))
        for name, number in found(path, path.read_text(encoding="utf-8").split("\n")):
            lines.setdefault((file, name), []).append(number)
    for (file, name), numbers in lines.items():
        allowed = EXCEPTIONS.get((file, name), (0, ""))[0]
        if len(numbers) != allowed:
            print("tests/%s: %d waits by an ordinary clock (%s), %d are allowed: lines %s" %
                  (file, len(numbers), name, allowed, numbers))


main()
