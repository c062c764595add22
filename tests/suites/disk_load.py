#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""disk_load.py DISK MB PROGRESS END: writes and compares random blocks of DISK with O_DIRECT.

Each of four processes uses a quarter of the first MB megabytes of DISK. A step writes a block, or
reads and compares a block (if the block was written before), and adds a byte to the file PROGRESS.
When the file END exists, the processes compare all blocks that they have written. Prints the number
of compared bytes. Fails if a process has failed."""
import mmap
import os
import random
import sys

SIZES = (4096, 16384, 65536)
PROCESSES = 4


class Part:
    def __init__(self, disk, begin, octets, seed):
        self.fd = os.open(disk, os.O_RDWR | os.O_DIRECT)
        self.begin, self.seed = begin, seed
        self.rand = random.Random(seed)
        self.size = SIZES[seed % len(SIZES)]
        self.versions = [0] * (octets // self.size)
        self.buf = mmap.mmap(-1, self.size)
        self.compared = 0

    def content(self, n):
        return random.Random("%d/%d/%d" % (self.seed, n, self.versions[n])).randbytes(self.size)

    def write(self, n):
        self.versions[n] += 1
        self.buf[:] = self.content(n)
        done = os.pwrite(self.fd, self.buf, self.begin + n * self.size)
        assert done == self.size, "%d octets written" % done

    def compare(self, n):
        if not self.versions[n]:
            return
        done = os.preadv(self.fd, [self.buf], self.begin + n * self.size)
        assert done == self.size, "%d octets read" % done
        if self.buf[:] != self.content(n):
            sys.exit("process %d: block %d differs from version %d" % (self.seed, n, self.versions[n]))
        self.compared += self.size

    def run(self, progress, end):
        while not os.path.exists(end):
            n = self.rand.randrange(len(self.versions))
            if self.rand.random() < 0.6:
                self.write(n)
            else:
                self.compare(n)
            os.write(progress, b".")
        for n in range(len(self.versions)):
            self.compare(n)


def main(disk, mb, progress, end):
    share = (int(mb) << 20) // PROCESSES
    out = os.open(progress, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    pipe_in, pipe_out = os.pipe()
    children = []
    for i in range(PROCESSES):
        pid = os.fork()
        if not pid:
            part = Part(disk, i * share, share, i)
            part.run(out, end)
            os.write(pipe_out, b"%d\n" % part.compared)
            os._exit(0)
        children.append(pid)
    bad = sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in children)
    os.close(pipe_out)
    with os.fdopen(pipe_in) as f:
        print("compared", sum(map(int, f)))
    sys.exit(bad)


if __name__ == "__main__":
    main(*sys.argv[1:])
