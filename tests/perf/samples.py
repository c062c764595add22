#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""samples.py SYMBOLS NAMES: prints how each processor spent its time while a case ran in the
laboratory uml: the shares of the GROUPS, and the NAMES functions with the most samples. Reads the
output of "perf script" on standard input, and the lines of symbols.sh in the file SYMBOLS. Counts
only those half seconds in which the network code has at least half as many samples as in its
busiest half second."""
import bisect
import collections
import re
import sys

HOST = 0xffff800000000000       # the first address of this machine's own kernel (x86-64)
DRIVERS = ("[iw_tcp]", "[siw]", "[rdma_rxe]")
LINE = re.compile(r"\s*(.*?)\s+(\d+)\s+\[(\d+)\]\s+([\d.]+):\s+([0-9a-f]+)\s*(.*)")
GROUPS = ("copies", "driver", "kernel", "programs", "host")


class Symbols:
    def __init__(self, path):
        found = {}
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                words = line.split()
                if len(words) >= 3 and words[0] == "#K":
                    found[int(words[1], 16)] = " ".join(words[2:])
        self.at = sorted(found)
        self.names = [found[a] for a in self.at]

    def name(self, address):
        """Returns the name of the function at address, or None if the address does not belong to
        the laboratory's kernel."""
        i = bisect.bisect_right(self.at, address) - 1
        # an address more than 64 KiB after the start of a function is not in this function
        if i < 0 or address - self.at[i] > 0x10000:
            return None
        return self.names[i]


def group(name):
    if name.startswith("host "):
        return "host"
    if name.startswith("program "):
        return "programs"
    if re.match(r"mem(cpy|set|move)|iwt_copy", name):
        return "copies"
    return "driver" if name.endswith(DRIVERS) else "kernel"


def samples(lines, symbols):
    """Yields (number of the half second, processor, name of the function) for each sample, except
    those of idle processors and of perf."""
    for line in lines:
        found = LINE.match(line)
        if not found or found[1].startswith(("swapper", "perf")):
            continue
        address = int(found[5], 16)
        if address >= HOST:
            name = "host " + (found[6] or "?").split("+")[0]
        else:
            name = symbols.name(address) or "program " + found[1]
        yield int(float(found[4]) * 2), int(found[3]), name


def is_network(name):
    return name.startswith("tcp_") or name.endswith(DRIVERS)


def main(path, names):
    all_samples = list(samples(sys.stdin, Symbols(path)))
    per = collections.Counter(t for t, _, name in all_samples if is_network(name))
    if not per:
        print("samples: nothing of the network code was seen", file=sys.stderr)
        return 1
    used = {t for t, n in per.items() if n * 2 >= max(per.values())}
    for cpu in sorted({cpu for _, cpu, _ in all_samples}):
        count = collections.Counter(name for t, c, name in all_samples if c == cpu and t in used)
        total = sum(count.values())
        if not total:
            continue
        shares = collections.Counter()
        for name, n in count.items():
            shares[group(name)] += n
        print("processor %d: %.0f samples a second: %s" % (cpu, total * 2 / len(used), ", ".join(
            "%s %.0f %%" % (g, 100 * shares[g] / total) for g in GROUPS)))
        for name, n in count.most_common(names):
            print("  %5.1f %%  %s" % (100 * n / total, name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
