#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""monitor.py PID LOG: copies a laboratory's output from standard input to standard output and to
the file LOG. Lines "#| ..." are written only to LOG, and, except "#| env", get an additional field:
the percentage of this machine's processor time that processes other than PID and its descendants
have used since the previous line with this field."""
import os
import sys
import time


def busy():
    """Returns the busy time of all processors in clock ticks, including time that the host
    stole."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, soft, steal = map(int, f.readline().split()[1:9])
    return user + nice + system + irq + soft + steal


def processes():
    """Returns {pid: (pid of the parent, ticks of the process and of its children that ended)}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                word = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(pid)] = int(word[1]), sum(map(int, word[11:15]))
    return found


def own(root):
    """Returns the processor time of the process root and its descendants, in ticks."""
    found = processes()

    def below(pid):
        while pid in found:
            if pid == root:
                return True
            pid = found[pid][0]
        return False

    return sum(ticks for pid, (_, ticks) in found.items() if below(pid))


class Watch:
    def __init__(self, root):
        self.root = root
        self.scale = os.sysconf("SC_CLK_TCK") * os.cpu_count() / 100
        self.last = self.now()

    def now(self):
        return time.monotonic(), busy(), own(self.root)

    def others(self):
        last, self.last = self.last, self.now()
        seconds, used, mine = (b - a for a, b in zip(last, self.last))
        return max(0, (used - mine) / (max(seconds, 0.01) * self.scale))


def main(root, log):
    watch = Watch(int(root))
    with open(log, "a", encoding="utf-8") as out:
        for line in sys.stdin:
            line = line.replace("\r", "").rstrip("\n")
            if line.startswith("#| "):
                if not line.startswith("#| env"):
                    line += f"\t{watch.others():.0f}"
                print(line, file=out, flush=True)
            else:
                print(line, file=out, flush=True)
                print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
