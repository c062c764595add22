# SPDX-License-Identifier: GPL-2.0
"""A TCP proxy, which divides the streams of both directions into new segments: at random, or at a
given offset."""
import random
import socket
import threading
import time

import patience


def at_random(rng):
    """Yields random sizes of writes, mostly small ones."""
    while True:
        yield rng.choice((1, 2, 3, 4, 7, 20, 61, 509, 512, 1449, 5000))


def at(offset):
    """Yields sizes of writes that cut the stream once, at offset; the writes after it are large."""
    yield offset
    while True:
        yield 1 << 16


class Proxy:
    """
    Listens on a port of address, and forwards connections to where, an (address, port).
    cuts(direction) returns a generator of the sizes of writes; direction is 0 for the stream to
    where, 1 for the stream from where. pause: seconds between writes.
    """

    def __init__(self, where, address, cuts=None, pause=0.0, seed=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.where, self.pause = where, pause
        self.rng = random.Random(seed)
        self.cuts = cuts or (lambda direction: at_random(self.rng))
        self.sock = socket.create_server((address, 0), family=family)
        self.port = self.sock.getsockname()[1]
        self.open = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                near, _ = self.sock.accept()
                far = patience.connect(self.where)
            except OSError:
                return
            for sock in (near, far):
                sock.settimeout(None)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.open.append(sock)
            for pair in ((near, far, 0), (far, near, 1)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source, sink, direction):
        sizes = self.cuts(direction)
        size, held = next(sizes), b""
        try:
            while True:
                got = source.recv(1 << 16)
                if not got:
                    sink.shutdown(socket.SHUT_WR)
                    return
                held = got
                while held:
                    part, held = held[:size], held[size:]
                    sink.sendall(part)
                    # if part is shorter than size, the next write completes this size
                    size = size - len(part) or next(sizes)
                    if self.pause:
                        time.sleep(self.pause)
        except OSError:
            # forward a reset
            linger = bytes((1, 0, 0, 0, 0, 0, 0, 0))
            try:
                sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                sink.shutdown(socket.SHUT_RDWR)
                sink.close()
            except OSError:
                pass

    def close(self):
        """Ends the proxy and all its connections."""
        self.sock.close()
        for sock in self.open:
            try:
                sock.close()
            except OSError:
                pass
