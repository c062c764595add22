#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""stall.py DIR: mounts a file system (FUSE) with one file, "file", at DIR. Prints "# mounted", and
serves until a signal ends this process. The server never answers a request to read the file. A
page fault in a mapping of the file does not end, even if the process gets SIGKILL, because the
kernel waits for requests that the server has read. All requests end when this process ends."""
import ctypes
import os
import stat
import struct
import sys

SIZE = 64 << 20
ROOT, FILE = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 26, 36, 42
NO_ANSWER = (FORGET, READ, INTERRUPT, BATCH_FORGET)
RELEASES = (18, 25, 29)     # RELEASE, FLUSH, RELEASEDIR
ENOENT, ENOSYS = 2, 38
KEEP_CACHE = 2
VERSION = 7, 23


def attr(node):
    """Returns a struct fuse_attr."""
    mode, size = (stat.S_IFDIR | 0o755, 0) if node == ROOT else (stat.S_IFREG | 0o444, SIZE)
    return struct.pack("=6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body):
    """Returns (error, body) of the answer to a request."""
    if opcode == INIT:
        # no flags, no readahead; max_background, congestion_threshold, max_write, time_gran
        return 0, struct.pack("=4I2H2I9I", *VERSION, 0, 0, 12, 9, 4096, 1, *[0] * 9)
    if opcode == LOOKUP:
        if body.rstrip(b"\0") != b"file":
            return ENOENT, b""
        return 0, struct.pack("=4Q2I", FILE, 1, 3600, 3600, 0, 0) + attr(FILE)
    if opcode == GETATTR:
        return 0, struct.pack("=Q2I", 3600, 0, 0) + attr(node)
    if opcode == OPEN:
        # otherwise another open() would wait for the pages that never arrive
        return 0, struct.pack("=Q2I", 0, KEEP_CACHE, 0)
    return (0 if opcode in RELEASES else ENOSYS), b""


def main(where):
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"stall", where.encode(), b"fuse", 0, options):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("# mounted", flush=True)
    while True:
        request = os.read(fuse, 1 << 17)
        opcode, unique, node = struct.unpack_from("=4xIQQ", request)
        if opcode in NO_ANSWER:
            continue
        error, body = answer(opcode, node, request[40:])
        os.write(fuse, struct.pack("=IiQ", 16 + len(body), -error, unique) + body)


main(sys.argv[1])
