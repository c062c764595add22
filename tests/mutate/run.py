#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""run.py proto|driver|provider|FILE... [--count N] [--seed S] [--jobs J]: mutation testing.
proto: the files of the driver that the unit tests contain (proto/ and UNIT); driver: all other
files of the driver; provider: the files of the provider.
run.py --survivors TSV: tests those faults again that survived an earlier run.
With --lab, the laboratory tests all faults. --tried TSV leaves out the faults that an earlier run
has tested. TSV is a file of results.

Makes one small fault at a time (mutants.py), and runs quick tests: the unit tests if they contain
all the files, the provider's tests if all files are the provider's, else quick.sh in the laboratory
uml. If no test notices a fault, the fault has survived. Then either a test is missing, or the fault
does not change what the driver or the provider does. In the second case add the fault and the
reason to the file "equivalent". Prints TAP, a line for each fault that compiles. Fails if a fault
survived, if no fault was tested, or if the tests fail without a fault.

A test that only becomes slow does not notice a fault. So if a wait times out, the tests run again
with three times the time limits. If a wait times out again, the fault counts as "timed out", not as
"killed". The results are also in build/mutate/unit.tsv, provider.tsv or lab.tsv. The program
chooses faults at random; the longer a file is, the more faults are in it. It prints the seed.
"""

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
DRIVER = "drivers/infiniband/sw/iw_tcp"
PROVIDER = "userspace-provider"
OUT = os.path.join(TOP, "build", "mutate")
sys.path.insert(0, HERE)
import mutants  # noqa: E402  pylint: disable=wrong-import-position

# (beginning of a file's name, selftests that quick.sh runs first for the file). The first entry
# that matches the name of the file counts.
TESTS = (
    ("cm_delayed", "attach"), ("verbs_delayed", "attach"), ("sock_takeover", "attach attach_held"),
    ("sock_run", "receive_window attach_held"), ("sock_owner", "qp_owner"), ("cm_addr", "ipv6 listen netns"),
    ("wake_cqpoll", "deferred_posts threads"), ("qp_engine", "budgets deferred_posts"), ("dev.", "link mac_address netdev_kinds"),
    ("wake.", "deferred_posts"), ("wake_doorbell", "deferred_posts polling srq"), ("wake_cpu", "deferred_posts"), ("wake_migrate", "deferred_posts"),
    ("wake_reply", "polling deferred_posts"), ("wake_sqpoll", "polling deferred_posts"), ("cm_caller", "qp_owner"),
    ("cm_direct_pace", "direct direct_crowd"), ("cm_direct", "direct direct_peer direct_gone"), ("gid", "gids"),
    ("rx_wait", "rc_semantics srq"), ("rx_ahead", "rc_semantics"), ("rx_term", "rc_semantics"), ("sq_confirm", "rc_semantics deferred_posts kernel_verbs"), ("tx_confirm", "rc_semantics"),
    ("cm_listen", "listen listener_end"), ("cm_dial", "local_ports tos"), ("cm_work", "reject cm_orders listener_end"),
    ("cm_ep", "reject listener_end"), ("cm_upcall", "reject listener_end"), ("cm_", "reject"), ("cm.", "ipv6 listener_end"),
    ("config", "link_settings"), ("cq_resize", "cq_resize kernel_verbs"), ("cq", "cq_resize extended_verbs deferred_posts threads"), ("device", "link"),
    ("link", "link netdevs"), ("main", "link"), ("mmap", "hostile"),
    ("mr_dmabuf", "dmabuf"), ("mr_odp", "odp"), ("mr_prefetch", "odp"), ("mr_extents", "memory kernel_verbs"), ("mr_sgl", "deferred_posts"),
    ("mr_stag", "memory windows kernel_verbs"), ("mr_fast", "kernel_verbs"), ("mr", "memory hostile kernel_verbs"), ("qp.", "kernel_verbs"), ("qp_run", "kernel_verbs"),
    ("qp_stream", "kernel_verbs srq"), ("qp_modify", "limits deferred_posts"),
    ("stream", "deferred_posts odp"), ("restrack", "resources visible_names srq"), ("raw_dump", "resources srq"), ("stats_errors", "counters visible_names"), ("stats_port", "port_counters"), ("memlock", "log memlock"), ("stats", "counters"), ("rx_", "torture"), ("rx", "budgets"),
    ("sock_send", "zerocopy far_hosts receive_window"), ("sock_tune", "far_hosts receive_window link_settings zerocopy"), ("sock_bind", "local_ports"), ("sock.", "receive_window unload local_ports"), ("sock_ahead", "torture"), ("sock_alive", "link_settings"), ("sock_state", "ipv6"), ("sock_ulp", "attach"), ("sock", "receive_window"), ("tx_buf", "shrinker"),
    ("tx_zc", "zerocopy"), ("tx.", "kernel_verbs"), ("tx_sched", "kernel_verbs rc_semantics"), ("tx_s", "kernel_verbs"), ("readq", "kernel_verbs"),
    ("wake_rt", "realtime"), ("verbs_dev", "abi_skew hostile deferred_posts"),
    ("verbs_ring", "cq_resize deferred_posts srq hostile"), ("verbs_srq", "srq kernel_verbs limits"), ("verbs_mw", "windows limits"), ("mw", "windows"),
    ("verbs_qp", "limits hostile deferred_posts kernel_verbs"),
    ("verbs_", "hostile deferred_posts kernel_verbs"),
    ("sq", "deferred_posts kernel_verbs"), ("rq", "deferred_posts"),
    ("srq", "srq kernel_verbs rc_semantics"), ("async_event", "srq cq_resize kernel_verbs"),
)


# The files outside of proto/ that the unit tests contain
UNIT = ("sock_cursor.c", "sock_recv.c", "rx_alike.c", "rx_place.c", "stats_qp.c", "mw.c", "gid.c", "wake_habit.c")


def judge_of(path):
    """Returns the name of the tests that must notice faults of the file: a key of JUDGES."""
    if os.path.dirname(path) == PROVIDER:
        return "provider"
    if path.startswith(DRIVER + "/proto/") or path in [DRIVER + "/" + name for name in UNIT]:
        return "unit"
    return "lab"


# argument of this program: (directory of the sources, name of their tests)
SETS = {"proto": (DRIVER, "unit"), "driver": (DRIVER, "lab"), "provider": (PROVIDER, "provider")}


def sources(which):
    """Returns the paths of the files that the list of arguments selects: [a key of SETS], or
    paths."""
    if len(which) != 1 or which[0] not in SETS:
        return which
    top, judge = SETS[which[0]]
    found = []
    for folder, _, names in os.walk(os.path.join(TOP, top)):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), TOP)
            if name.endswith(".c") and judge_of(path) == judge:
                found.append(path)
    return sorted(found)


def known():
    """Returns the faults of the file "equivalent": {(path, text of the line, old, new)}."""
    with open(os.path.join(HERE, "equivalent"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    return {tuple(row[:4]) for row in rows}


def key(mutant, source):
    text = " ".join(source.split("\n")[mutant.line - 1].split())
    return (mutant.path, text, " ".join(mutant.old.split()), " ".join(mutant.new.split()))


def all_faults(paths):
    same, found = known(), []
    for path in paths:
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            source = file.read()
        for fault in mutants.mutants(os.path.join(TOP, path)):
            fault = fault._replace(path=path)
            if key(fault, source) not in same:
                found.append(fault)
    return found


def run(command, seconds, log, **keywords):
    """Runs a command with output to the file log. Returns the exit status, or None if the command
    took longer than seconds."""
    with open(log, "wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                                  stdin=subprocess.DEVNULL, start_new_session=True,
                                                  **keywords) as child:
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 15)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                child.wait()
            return None


# The result of a test run. why: a text about the failure, or None if the tests passed; waited: True
# if the failure was a time-out
Outcome = collections.namedtuple("Outcome", "why waited")
PASSED = Outcome(None, False)
UNSAID = Outcome("it ended early", False)   # the log of a run that failed has no failure


def failure(log):
    """Returns the Outcome for the first failure in the log of a run that failed."""
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("not ok") or "ERROR: " in line or "runtime error" in line \
                    or line.startswith(("vm: gate:", "Bail out", "# time-out: quick")):
                why = " ".join(line.split())
                return Outcome(why[:110], why.endswith("(time-out)") or why.startswith("# time-out"))
    return UNSAID


class Native:
    """A worker that runs a test program on this machine, with its own copy of the tested files."""

    def __init__(self, number, judge, folder, variable, program):
        """judge: the name of the tests; folder: the directory of the tested files; variable: the
        variable of the tests' Makefile that contains this directory"""
        self.folder = folder
        self.dir = os.path.join(OUT, "%s-%d" % (judge, number))
        self.log = self.dir + ".log"
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.copytree(os.path.join(TOP, folder), os.path.join(self.dir, "copy"))
        self.make = ["make", "-s", "-C", os.path.join(TOP, "tests", judge), "build",
                     "OUT=%s/out" % self.dir, "%s=%s/copy" % (variable, self.dir),
                     "UAPI=" + os.path.join(TOP, "include/uapi")]
        self.program = os.path.join(self.dir, "out", program)

    def place(self, path):
        return os.path.join(self.dir, "copy", os.path.relpath(path, self.folder))

    def build(self):
        return run(self.make, 300, self.log) == 0

    def test(self, _path, times=1):
        """Runs the tests, with "times" times the usual time limits. Returns the Outcome."""
        status = run([self.program], 60 * times, self.log)
        if status == 0:
            return PASSED
        # a test may notice the fault before another test hangs
        out = failure(self.log)
        return Outcome("endless", True) if status is None and out == UNSAID else out


class Lab:
    """A worker that runs quick.sh in the laboratory uml, with its own copy of the tree."""

    def __init__(self, number):
        self.dir = os.path.join(OUT, "lab-%d" % number)
        self.log = self.dir + ".log"
        os.makedirs(self.dir, exist_ok=True)
        subprocess.run(["rsync", "-a", "--delete", "--exclude=/.git", "--exclude=/build", TOP + "/", self.dir + "/"],
                       check=True)

    def place(self, path):
        return os.path.join(self.dir, path)

    def build(self):
        return run(["tests/vm/build", "uml"], 600, self.log, cwd=self.dir) == 0

    def test(self, path, times=1):
        """Runs the tests, with "times" times the usual time limits. Returns the Outcome."""
        name = os.path.basename(path)
        extra = next((tests for begin, tests in TESTS if name.startswith(begin)), "")
        status = run(["tests/vm/run", "--lab", "uml", "--time", str(700 * times), "tests/mutate/quick.sh", str(times)] +
                     extra.split(), 900 * times, self.log, cwd=self.dir)
        if status == 0:
            return PASSED
        return Outcome("endless", True) if status in (None, 124) else failure(self.log)


# name of the tests: (constructor of a worker with this number, how many faults to try)
JUDGES = {
    "unit": (lambda number: Native(number, "unit", DRIVER, "DRIVER", "unit"), 300),
    "provider": (lambda number: Native(number, "provider", PROVIDER, "PROVIDER", "provider-test"),
                 100),
    "lab": (Lab, 80),
}


class Results:
    """Prints the result of each fault, writes it to the file of results, and counts the results."""

    def __init__(self, name):
        self.lock = threading.Lock()
        self.count = {"killed": 0, "timed out": 0, "survived": 0, "no mutant": 0}
        self.number = 0
        self.file = open(os.path.join(OUT, name), "w", encoding="utf-8")  # pylint: disable=consider-using-with

    def tell(self, fault, verdict, why=""):
        name = fault.path.removeprefix(DRIVER + "/")
        text = "%s:%d: %s: %s" % (name, fault.line, " ".join(fault.old.split())[:70], fault.what)
        with self.lock:
            self.count[verdict] += 1
            self.file.write("\t".join((verdict, fault.path, str(fault.line), " ".join(fault.old.split()),
                                       " ".join(fault.new.split()), why)) + "\n")
            self.file.flush()
            if verdict == "no mutant":
                return
            self.number += 1
            word = "not ok" if verdict == "survived" else "ok"
            why = "timed out: " + why if verdict == "timed out" else why
            print("%s %d - %s%s" % (word, self.number, text, " # " + why if why else ""), flush=True)


def one(worker, fault, results):
    """Tests one fault: makes it in the worker's copy, builds and tests the copy, and removes the
    fault. Returns whether the copy compiled."""
    place = worker.place(fault.path)
    with open(os.path.join(TOP, fault.path), encoding="utf-8") as file:
        source = file.read()
    try:
        with open(place, "w", encoding="utf-8") as file:
            file.write(mutants.applied(source, fault))
        if not worker.build():
            results.tell(fault, "no mutant")
            return False
        out = worker.test(fault.path)
        if out.waited:
            out = worker.test(fault.path, 3)
        results.tell(fault, "timed out" if out.waited else "killed" if out.why else "survived", out.why or "")
        return True
    finally:
        with open(place, "w", encoding="utf-8") as file:
            file.write(source)


def work(worker, faults, wanted, results, lock, end):
    while time.time() < end:
        with lock:
            if not faults or wanted[0] <= 0:
                return
            wanted[0] -= 1
            fault = faults.pop()
        if not one(worker, fault, results):
            with lock:
                wanted[0] += 1


def arguments():
    p = argparse.ArgumentParser(description="mutation testing")
    p.add_argument("what", nargs="*", help="proto, driver, provider, or files")
    p.add_argument("--count", type=int, help="faults to try (proto 300, provider 100, others 80)")
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--tried", help="a file of results: not what it has, whatever came of it")
    p.add_argument("--survivors", help="a file of results: what survived, once more")
    p.add_argument("--lab", action="store_true", help="in the laboratory, not by other tests")
    p.add_argument("--line", type=int, help="only faults in this line")
    p.add_argument("--time", type=int, default=1 << 30, help="seconds, after which no other begins")
    p.add_argument("--list", action="store_true", help="print the faults, test none")
    return p.parse_args()


def recorded(path):
    """Returns the contents of a file of results: {(path, line, old, new): verdict}."""
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return {(row[1], int(row[2]), row[3], row[4]): row[0] for row in rows}


def name_of(fault):
    """Returns the key of a fault in the result of recorded()."""
    return (fault.path, fault.line, " ".join(fault.old.split()), " ".join(fault.new.split()))


def survivors(path):
    """Returns the faults whose verdict in a file of results is "survived"."""
    told = {name for name, verdict in recorded(path).items() if verdict == "survived"}
    return [fault for fault in all_faults(sorted({name[0] for name in told})) if name_of(fault) in told]


def meant(args):
    """Returns the faults that the arguments select, and the name of the tests for all of them: a key
    of JUDGES."""
    if args.survivors:
        faults = survivors(args.survivors)
        paths = {fault.path for fault in faults}
    else:
        paths = sources([os.path.relpath(os.path.abspath(p), TOP) if os.path.exists(p) else p
                         for p in args.what])
        tried = recorded(args.tried) if args.tried else {}
        faults = [f for f in all_faults(paths)
                  if (not args.line or f.line == args.line) and name_of(f) not in tried]
    judges = {judge_of(path) for path in paths}
    return faults, "lab" if args.lab or len(judges) != 1 else judges.pop()


def main():
    args = arguments()
    faults, judge = meant(args)
    if args.list or not faults:
        for fault in faults:
            print("%s:%d: %s -> %s" % (fault.path, fault.line, " ".join(fault.old.split()), " ".join(fault.new.split())))
        return 0 if faults else 2
    random.Random(args.seed).shuffle(faults)
    total = len(faults)
    worker_of, usual = JUDGES[judge]
    wanted = args.count or (total if args.survivors or args.line else usual)
    os.makedirs(OUT, exist_ok=True)
    print("# %d of %d faults, --seed %d" % (min(wanted, total), total, args.seed), flush=True)
    workers = [worker_of(n) for n in range(args.jobs)]
    for worker in workers:
        # with long time limits, because here a time-out would end the whole run
        out = worker.test(faults[0].path, 3) if worker.build() else Outcome("it does not build", False)
        if out.why:
            print("Bail out! without a fault: %s (%s)" % (out.why, worker.log))
            return 1
    results, lock, left = Results(judge + ".tsv"), threading.Lock(), [wanted]
    threads = [threading.Thread(target=work, args=(w, faults, left, results, lock, time.time() + args.time))
               for w in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("1..%d" % results.number)
    print("# killed %(killed)d, timed out %(timed out)d, survived %(survived)d, did not compile %(no mutant)d" %
          results.count)
    return 1 if results.count["survived"] or not results.number else 0


if __name__ == "__main__":
    sys.exit(main())
