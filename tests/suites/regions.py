#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""regions.py [--part] FROM TO SIZE COUNT: checks that messages arrived unchanged.

FROM and TO are the first parts of file names. The files have the contents of the memory regions
of the sending and the receiving end (tests/programs/preload/regions.c). COUNT messages of SIZE
bytes (at least 64) of FROM must be in TO. With --part, TO must also have bytes that are not in
FROM: if both ends had the same content from the beginning, the comparison would prove nothing."""
import glob
import sys

BLOCK = 64


def contents(prefix):
    """Returns the contents of all regions of one end."""
    found = []
    for name in sorted(glob.glob(glob.escape(prefix) + ".*")):
        with open(name, "rb") as file:
            found.append(file.read())
    return found


def index(regions):
    """Maps each block to its region and offset. Skips blocks that repeat a single byte."""
    where = {}
    for region in regions:
        for at in range(0, len(region) - BLOCK + 1, BLOCK):
            block = region[at:at + BLOCK]
            if block.count(block[0]) < BLOCK:
                where.setdefault(block, (region, at))
    return where


def common(a, at, b, bt):
    """Compares a, from the offset at on, with b, from the offset bt on. Returns the number of bytes
    before the first difference."""
    most = min(len(a) - at, len(b) - bt)
    n, step = 0, most
    while step:
        step = min(step, most - n)
        if a[at + n:at + n + step] == b[bt + n:bt + n + step]:
            n += step
            if n == most:
                break
        else:
            step //= 2
    return n


def runs(region, where):
    """Yields the lengths of the parts of region that are also in the regions of the other end. The
    dictionary where has the blocks of the other end."""
    at = 0
    while at + BLOCK <= len(region):
        found = where.get(region[at:at + BLOCK])
        n = common(region, at, *found) if found else 0
        if n:
            yield n
        at += -(-max(n, 1) // BLOCK) * BLOCK


def main(args):
    part = args[0] == "--part"
    source, target, size, count = args[part:]
    size, count = int(size), int(count)
    where, regions = index(contents(source)), contents(target)
    found = [n for region in regions for n in runs(region, where)]
    messages = sum(n // size for n in found)
    octets = sum(len(region) for region in regions)
    print("%d of %d octets came, %d of %d messages of %d octets" % (sum(found), octets, messages, count, size))
    if messages < count:
        sys.exit("some did not come as they were sent")
    if part and sum(found) == octets:
        sys.exit("both ends had the same content before")


main(sys.argv[1:])
