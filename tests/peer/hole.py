#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Measures how long the receiver needs when the gap in a TCP stream closes: the time from the segment
that closes the gap until a program has all data behind the gap. Prints "p50_ns=N", the median.

The peer uses the TCP of tcp.py. It leaves out the first FPDU of a stream, sends the other octets in
buffers of many segments, waits until TCP has all of them, and then sends the first FPDU. The octets
behind the gap are Writes, and a Send at the end, whose completion tells the program that it has all
data. With --tcp the octets are a plain TCP stream, which a program reads into its memory.
"""
import argparse
import os
import shlex
import socket
import subprocess
import sys
import threading
import time

import fpdu
import mpa
import patience
from case import Case, Place, add_arguments
from outcome import Fail, equal
from tcp import Tcp
from ulp import SUCCESS

MSS = 1448                  # octets of a segment
PAYLOAD = 1400              # octets of an FPDU's payload: an FPDU with markers fits into a segment
BUFFER = 40 * MSS           # octets of a buffer, which TCP receives in one call
FIRST = 64                  # octets of the Write that is missing
WARM = 3                    # streams before the measurement, for which TCP's window grows
READER = """
import socket, sys, time
s = socket.create_server((sys.argv[1], 0))
print(s.getsockname()[1], flush=True)
c, size = s.accept()[0], int(sys.argv[2])
data = bytearray(b"x" * size)
while c.recv_into(data, size, socket.MSG_WAITALL) == size:
    print(time.monotonic_ns(), flush=True)
"""


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    add_arguments(p)
    p.add_argument("--interface", required=True, help="the peer's interface")
    p.add_argument("--octets", type=int, required=True, help="octets behind the gap")
    p.add_argument("--times", type=int, default=9, help="gaps that are measured (9)")
    p.add_argument("--crc", action="store_true", help="the peer asks for CRC")
    p.add_argument("--tcp", action="store_true", help="measure plain TCP")
    return p.parse_args()


class Rdma:
    """A program that waits for the Send at the end, without sleeping."""

    def __init__(self, case, args):
        case.own_tcp(mss=MSS + 12, stamps=True, window=65535)
        self.conn = conn = case.passive(flags=mpa.C if args.crc else 0)
        self.tcp = conn.peer.sock
        self.tcp.settle()
        mem = conn.ulp.mr(mr=conn.ulp.new(), len=args.octets, access="lwrx", fill=0)
        self.stag, self.addr = mem["stag"], mem["addr"]
        self.size = args.octets

    def add(self):
        """Adds the octets of one stream to those that the peer sends; returns the end of the first
        FPDU."""
        peer = self.conn.peer
        self.tcp.write(peer.frame(fpdu.tagged(fpdu.WRITE, self.conn.stag, self.conn.addr, bytes(FIRST))))
        end = len(self.tcp.out)
        for piece in fpdu.segments(fpdu.WRITE, self.stag, self.addr, bytes(self.size), PAYLOAD):
            self.tcp.write(peer.frame(piece))
        self.tcp.write(peer.frame(fpdu.untagged(fpdu.SEND, 0, peer.next(0), b"all")))
        return end

    def wait(self):
        """Waits until the program has all data; returns the time in nanoseconds."""
        conn = self.conn
        answer = conn.ulp.cmd("poll", cq=conn.cq, n=1, nap=0, ms=30000)
        equal(answer["wc"].split(":")[1], str(SUCCESS), "status of the completion")
        conn.recv(n=1, wr=0, sge="%d:0:%d" % (conn.rmr, conn.recv_len))
        return answer["at"]


class Plain:
    """A program that reads all octets with one system call."""

    def __init__(self, case, args, run):
        self.size = args.octets + FIRST
        self.reader = subprocess.Popen(run + [sys.executable, "-c", READER, args.there, str(self.size)],
                                       stdout=subprocess.PIPE, text=True)
        port = int(self.reader.stdout.readline())
        self.tcp = case.keep(Tcp(case.link(), case.link().port(), mss=MSS + 12, stamps=True).open((args.there, port)))

    def add(self):
        """Adds the octets of one stream to those that the peer sends; returns the end of the part
        that is left out."""
        begin = self.tcp.write(bytes(self.size))
        return begin + FIRST

    def wait(self):
        """Waits until the program has all data; returns the time in nanoseconds."""
        return int(self.reader.stdout.readline())


def have_all(tcp, begin):
    """Sends the octets from begin on, in buffers, each when the other side has answered the one
    before."""
    end = len(tcp.out)
    for at in range(begin, end, BUFFER):
        before, limit = tcp.packets, patience.Wait(20)
        tcp.segment(at, min(at + BUFFER, end))
        while tcp.packets == before:
            limit.check("an acknowledgment of octets behind a gap")
            tcp.pump(0.2)


def in_order(tcp, begin):
    """Sends the octets from begin on in order, in buffers, as TCP's window allows."""
    end, limit = len(tcp.out), patience.Wait(20)
    while begin < end:
        # before the first acknowledgment the window is not known, but never smaller than a buffer
        room = min(max(tcp.room, BUFFER), end, begin + BUFFER)
        if room > begin:
            tcp.segment(begin, room)
            begin = room
            limit.moved()
        else:
            limit.check("room in the window")
        tcp.pump(0.001 if room < end else 0)


def once(program):
    """Returns how many nanoseconds pass from the segment that closes the gap until the program has
    all data."""
    tcp = program.tcp
    begin, answer = len(tcp.out), []
    edge = program.add()
    # while the window is too small, send the octets in order, which makes it grow
    room = tcp.room - tcp.una > len(tcp.out) - begin
    waiter = threading.Thread(target=lambda: answer.append(program.wait()))
    if room:
        have_all(tcp, edge)
    waiter.start()
    time.sleep(0.02)
    start = time.monotonic_ns()
    if room:
        tcp.segment(begin, edge)
    else:
        in_order(tcp, begin)
    tcp.settle()
    waiter.join()
    if not answer:
        raise Fail("the program has not got all data")
    return answer[0] - start if room else None


def main():
    args = arguments()
    run = shlex.split(args.run)
    place = Place(run + shlex.split(args.ulp), args.here, args.there, args.link, "", "direct", True, args.interface,
                  lambda *words, **how: subprocess.run(run + list(words), check=False, **how))
    case = Case(place, 1)
    os.sched_setaffinity(0, {0})
    try:
        program = Plain(case, args, run) if args.tcp else Rdma(case, args)
        took = [once(program) for _ in range(WARM + args.times)][WARM:]
    finally:
        case.close()
    if None in took:
        print("TCP's window is too small for the octets behind the gap", file=sys.stderr)
        return 1
    print("messages=%d octets=%d ns=%d p50_ns=%d" % (len(took), args.octets, sum(took), sorted(took)[len(took) // 2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
