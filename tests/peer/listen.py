#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Listeners that librdmacm cannot make.

listen.py rdma HOST PORT    listens by rdma_cm only, also without a device
listen.py tcp HOST PORT     listens by TCP, and accepts nothing
                            (both print "listening", and run until they are killed)
listen.py first HOST PORT [TO]  listens at 200 ports, one after the other, while several
                            clients try to be the first to connect, to TO if that is another
                            address: none is reset
listen.py bind HOST PORT FILE
                            binds to an address without a pause until there is FILE, prints
                            "begun" after the first time, and in the end how many times that
                            had which result
listen.py grace HOST PORT READER
                            ends listeners, which must not delay others while a reader
                            prevents the end of the kernel's grace periods (see iwt_ktest)
"""
import collections
import errno
import multiprocessing
import os
import signal
import socket
import struct
import sys
import threading

import mpa
import ucma

CLIENTS = 3
PORTS = 200


def rdma(channel, host, port):
    """Makes a listening identifier."""
    ident = channel.id()
    ident.bind(host, port)
    ident.listen()
    return ident


def forever():
    """Prints "listening", and sleeps."""
    print("listening", flush=True)
    while True:
        signal.pause()


def first_one(host, port):
    """Connects as soon as possible; returns "" for an answer, else what happened."""
    while True:
        sock = socket.socket()
        try:
            sock.connect((host, port))
            break
        except ConnectionRefusedError:
            sock.close()
    try:
        sock.settimeout(ucma.PATIENCE)
        sock.sendall(mpa.frame(mpa.REQ, mpa.C, 1))
        return "" if sock.recv(16) == mpa.REP else "no Reply"
    except OSError as error:
        return str(error)
    finally:
        sock.close()


def client(host, base, results):
    """A client process: connects to all ports."""
    results.put([first_one(host, base + i) for i in range(PORTS)])


def first(host, base, target=None):
    """Checks that no connection comes too early."""
    tap = mpa.Tap()
    results = multiprocessing.Queue()
    channel = ucma.Channel()
    clients = [multiprocessing.Process(target=client, args=(target or host, base, results))
               for _ in range(CLIENTS)]
    for one in clients:
        one.start()
    try:
        for i in range(PORTS):
            ident = rdma(channel, host, base + i)
            for _ in range(CLIENTS):
                request = ucma.Id(channel, channel.expect(ucma.CONNECT_REQUEST)[3])
                request.reject()
                request.destroy()
            ident.destroy()
        bad = [why for _ in clients for why in results.get() if why]
    except ucma.NoEvent:
        bad = ["a request did not come"]
    for one in clients:
        one.kill()
    tap.ok(not bad, "a listener is there when its port is", "%d: %s" % (len(bad), bad[:3]))
    tap.finish()


def bind(host, port, until):
    """Binds without a pause."""
    results = collections.Counter()
    channel = ucma.Channel()
    while not os.path.exists(until):
        ident = channel.id()
        try:
            ident.bind(host, port)
            results["bound"] += 1
        except OSError as error:
            results[errno.errorcode[error.errno]] += 1
        ident.destroy()
        if results.total() == 1:
            print("begun", flush=True)
    for what, number in sorted(results.items()):
        print(what, number)


def flood(host, port):
    """Connects and resets, without end."""
    while True:
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.connect_ex((host, port))


def reader(path, out):
    """Prevents the end of grace periods; was it told to stop before its time was over?"""
    with open(path, "wb", buffering=0) as file:
        try:
            file.write(b"begin")
            out.put("")
        except OSError as error:
            out.put(str(error))


def is_ended(host, port):
    """Does the listener read a connection, and end it because its Request is bad?"""
    with socket.create_connection((host, port), ucma.PATIENCE) as sock:
        sock.sendall(b"not MPA's, whatever it may be else")
        try:
            return not sock.recv(1)
        except ConnectionResetError:
            return True


def during(tap, path, what):
    """Runs the function what while no grace period ends."""
    out = multiprocessing.Queue()
    one = multiprocessing.Process(target=reader, args=(path, out))
    one.start()
    while open(path, "rb").read(1) != b"1":
        pass
    what()
    with open(path, "wb", buffering=0) as file:
        file.write(b"end")
    why = out.get()
    one.join()
    tap.ok(not why, "no grace period is waited for", why)


def grace(host, base, path):
    """Checks that closing does not wait for a grace period while it holds a lock."""
    tap = mpa.Tap()
    channel = ucma.Channel()
    other = ucma.Channel()
    rdma(other, host, base)
    for i in range(1, 13, 2):
        going = rdma(channel, host, base + i)
        floods = [multiprocessing.Process(target=flood, args=(host, base + i), daemon=True)
                  for _ in range(2)]
        for one in floods:
            one.start()

        def others(going=going, i=i):
            thread = threading.Thread(target=going.destroy)
            thread.start()
            rdma(other, host, base + i + 1)
            is_ended(host, base)
            return thread

        if i == 1:
            others()        # the first time, the kernel does more
        else:
            during(tap, path, others)
        for one in floods:
            one.kill()
            one.join()
    tap.finish()


def main(kind, host, port, *more):
    """Runs one of the kinds above."""
    port = int(port)
    if kind == "rdma":
        channel = ucma.Channel()
        rdma(channel, host, port)
        forever()
    elif kind == "tcp":
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(5)
        forever()
    elif kind == "first":
        first(host, port, *more)
    elif kind == "bind":
        bind(host, port, *more)
    else:
        grace(host, port, *more)


if __name__ == "__main__":
    main(*sys.argv[1:])
