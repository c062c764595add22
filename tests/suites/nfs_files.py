#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nfs_files.py MODE ARGUMENT...: writes or checks files with pseudo-random content that depends on
a seed. The modes are:

write DIR SEED MB N, check DIR SEED MB N: one file of MB megabytes and N small files.
steady FILE SEED PROGRESS END: appends blocks to FILE, each with fsync, and adds a byte to
PROGRESS for each block, until the file END exists.
steady-check FILE SEED: checks that FILE consists of these blocks and nothing else."""
import os
import random
import sys

BLOCK = 65536


def small(seed, n):
    """Yields the names and contents of n small files."""
    rand = random.Random(seed)
    for i in range(n):
        size = rand.choice((0, 1, 100, 4095, 4096, 4097, 10000, 70000))
        yield "d%d/f%d" % (i % 7, i), rand.randbytes(size)


def large(seed, mb):
    rand = random.Random("large%d" % seed)
    for _ in range(mb):
        yield rand.randbytes(1 << 20)


def write(top, seed, mb, n):
    for i in range(7):
        os.makedirs("%s/d%d" % (top, i))
    with open(top + "/large", "wb") as f:
        for part in large(seed, mb):
            f.write(part)
        f.flush()
        os.fsync(f.fileno())
    for name, data in small(seed, n):
        with open("%s/%s" % (top, name), "wb") as f:
            f.write(data)


def check(top, seed, mb, n):
    with open(top + "/large", "rb") as f:
        for i, part in enumerate(large(seed, mb)):
            if f.read(len(part)) != part:
                sys.exit("megabyte %d differs" % i)
        if f.read(1):
            sys.exit("the large file is too long")
    names = set()
    for name, data in small(seed, n):
        names.add(name)
        with open("%s/%s" % (top, name), "rb") as f:
            if f.read() != data:
                sys.exit("%s differs" % name)
    found = {"d%d/%s" % (i, name) for i in range(7) for name in os.listdir("%s/d%d" % (top, i))}
    if found != names:
        sys.exit("other files: %s" % sorted(found ^ names)[:5])


def steady(path, seed, progress, end):
    rand = random.Random(seed)
    with open(path, "wb", buffering=0) as f, open(progress, "wb", buffering=0) as p:
        while not os.path.exists(end):
            f.write(rand.randbytes(BLOCK))
            os.fsync(f.fileno())
            p.write(b".")


def steady_check(path, seed):
    rand = random.Random(seed)
    blocks = 0
    with open(path, "rb") as f:
        while data := f.read(BLOCK):
            if data != rand.randbytes(BLOCK):
                sys.exit("block %d differs" % blocks)
            blocks += 1
    if not blocks:
        sys.exit("no blocks")


def main(what, path, seed, *more):
    if what in ("write", "check"):
        {"write": write, "check": check}[what](path, int(seed), *map(int, more))
    elif what == "steady":
        steady(path, int(seed), *more)
    else:
        steady_check(path, int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
