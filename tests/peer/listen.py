#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Makes listeners that librdmacm cannot make.

listen.py rdma HOST PORT    makes a listener of rdma_cm, also if there is no RDMA device
listen.py tcp HOST PORT     makes a listener of TCP, and accepts no connection
                            ("rdma" and "tcp" print "listening", and run until they are killed)
listen.py first HOST PORT [TO]
                            makes listeners at 200 ports, one after the other, while clients try
                            to connect to each port (of the address TO) as early as possible;
                            prints each connection that was lost
listen.py bind HOST PORT FILE
                            binds an rdma_cm_id to an address again and again until FILE exists;
                            prints "begun" after the first bind, and at the end how often each
                            result occurred
listen.py grace HOST PORT READER
                            closes listeners while READER, a debugfs file of iwt_ktest, makes a
                            kernel thread prevent the end of RCU grace periods; checks that this
                            does not delay other listeners
"""
import collections
import errno
import itertools
import multiprocessing
import os
import queue
import signal
import socket
import struct
import sys
import threading

import mpa
import patience
import ucma

CLIENTS = 3
PORTS = 200


def rdma(channel, host, port):
    """Makes a listening rdma_cm_id; returns its ucma.Id."""
    ident = channel.id()
    ident.bind(host, port)
    ident.listen()
    return ident


def forever():
    """Prints "listening", and sleeps."""
    print("listening", flush=True)
    while True:
        signal.pause()


def call(host, port):
    """
    Connects and sends a Request. Returns "" if a Reply arrives, None if there is no listener, else
    a text about the error.
    """
    sock = patience.Socket()
    try:
        sock.connect((host, port))
        sock.settimeout(ucma.PATIENCE)
        sock.sendall(mpa.frame(mpa.REQ, mpa.C, 1))
        return "" if sock.recv(16) == mpa.REP else "no Reply"
    except ConnectionRefusedError:
        return None
    except OSError as error:
        return str(error)
    finally:
        sock.close()


def client(host, base, results):
    """
    Runs in a client process: connects to each port as soon as possible, and adds (port, error) to
    results for each connection that fails. If the machine stands still, the device's time limit for
    a Request may expire before the device reads the Request. So after an error the client connects
    again, as long as the port has a listener.
    """
    for port in range(base, base + PORTS):
        while (why := call(host, port)) is None:
            pass
        while why:
            results.put((port, why))
            why = call(host, port)
    results.put((None, ""))


def told(results, seconds):
    """Collects results until all clients have ended, but for at most this number of seconds.
    Returns how many clients have ended, and a list of texts about the lost connections."""
    ended, lost, wait = 0, [], patience.Wait(seconds)
    while ended < CLIENTS:
        try:
            port, why = results.get(timeout=max(wait.turn(), 0.01))
        except queue.Empty:
            if not wait.left():
                break
            continue
        if port is None:
            ended += 1
        else:
            lost.append("port %d: %s" % (port, why))
    return ended, lost


def first(host, base, target=None):
    """
    Executes "first". Prints each lost connection; the calling script compares their number with the
    number of connections that the device ended because of its time limit.
    """
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
            for n in range(CLIENTS):
                request = ucma.Id(channel, channel.expect(ucma.CONNECT_REQUEST)[3])
                request.reject()
                request.destroy()
            ident.destroy()
        ended, lost = told(results, ucma.PATIENCE)
        good, why = ended == CLIENTS, "only %d clients have ended" % ended
    except ucma.NoEvent:
        print("# time-out: no request for %d s at port %d, of which %d came" % (ucma.PATIENCE, base + i, n))
        good, why, lost = False, "a request did not come", told(results, 1)[1]
    for one in clients:
        one.kill()
    for line in lost:
        print("# lost: " + line)
    tap.ok(good, "a listener is ready as soon as its port exists", why)
    tap.finish()


def bind(host, port, until):
    """Executes "bind"."""
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
    """Connects and resets the connection, again and again, without end."""
    while True:
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.connect_ex((host, port))


def reader(path, out):
    """
    Runs in a process: starts the RCU reader in the kernel, which prevents the end of grace
    periods until during() stops the reader. When the reader has ended, puts "" into out, or an
    error if its own time limit ended the reader. path: the debugfs file of iwt_ktest.
    """
    with open(path, "wb", buffering=0) as file:
        try:
            file.write(b"begin")
            out.put("")
        except OSError as error:
            out.put(str(error))


def is_ended(host, port):
    """Sends a bad Request to a listener; returns whether the listener ends the connection."""
    with patience.connect((host, port)) as sock:
        sock.sendall(b"not MPA's, whatever it may be else")
        try:
            return not sock.recv(1)
        except ConnectionResetError:
            return True


def during(path, what):
    """Runs the function what() while no grace period can end. Returns "", or an error if the reader
    ended too early."""
    out = multiprocessing.Queue()
    one = multiprocessing.Process(target=reader, args=(path, out))
    one.start()
    # on a machine that stands still, the reader may end before this process sees its beginning
    while open(path, "rb").read(1) != b"1" and out.empty():
        pass
    what()
    with open(path, "wb", buffering=0) as file:
        file.write(b"end")
    why = out.get()
    one.join()
    return why


def grace(host, base, path):
    """Executes "grace": checks that the code which closes a listener does not wait for a grace
    period while it holds a lock that other listeners need."""
    tap = mpa.Tap()
    channel = ucma.Channel()
    other = ucma.Channel()
    rdma(other, host, base)
    ports = itertools.count(base + 1)

    def close():
        """Closes a listener to which clients connect, and uses other listeners meanwhile. Returns
        the result of during()."""
        port = next(ports)
        going = rdma(channel, host, port)
        floods = [multiprocessing.Process(target=flood, args=(host, port), daemon=True)
                  for _ in range(2)]
        for one in floods:
            one.start()

        def others():
            threading.Thread(target=going.destroy).start()
            rdma(other, host, next(ports))
            is_ended(host, base)

        if port == base + 1:
            others()        # first without the reader: a first use does more in the kernel
            why = ""
        else:
            why = during(path, others)
        for one in floods:
            one.kill()
            one.join()
        return why

    close()
    # The reader ends by itself after ten seconds. On a busy machine, this is accepted twice.
    good = late = 0
    while good < 5 and late < 3:
        if close():
            late += 1
        else:
            good += 1
    for n in range(5):
        if n >= good:
            print("# time-out: the reader ended after ten seconds", flush=True)
        tap.ok(n < good, "closing does not wait for a grace period", "the reader ended by itself, three times in all")
    tap.finish()


def main(kind, host, port, *more):
    """Executes the command "kind"."""
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
