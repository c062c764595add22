# SPDX-License-Identifier: GPL-2.0
"""
Waits for expected events, as tests/programs/common/patience.h does. A time limit starts again at
each progress, and counts only the time in which this machine ran: a processor of a virtual machine
may stand still for minutes, with all tasks bound to it.

A wait of less than a second is for an event that must not happen, and uses the ordinary clock.
"""
import os
import select
import socket
import subprocess
import threading
import time

from outcome import Late

# Without the file of iwt_patient: however long two looks at the time are apart, no more than this
# number of seconds counts
LATE = 1
SLICE = 0.2     # seconds between two looks at the time


class Clock:
    """The seconds in which all processors ran: iwt_patient writes them to the file $IWT_CLOCK."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.sum, self.looked, self.told = 0.0, None, None
        self.file = None
        if path:
            try:
                self.file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass

    def read(self):
        """The seconds in the file: two reads must agree, because iwt_patient may be writing."""
        if self.file is None:
            return None
        for _ in range(100):
            one, other = (os.pread(self.file, 24, 0) for _ in range(2))
            if one and one == other:
                return int(one) / 1000
        return None

    def now(self):
        """Returns the seconds that have counted so far."""
        with self.lock:
            now, told = time.monotonic(), self.read()
            if told is None:
                told = self.told    # if a read of the file fails, a later one succeeds
            if self.looked is not None:
                if self.told is not None:
                    self.sum += max(told - self.told, 0)
                else:
                    self.sum += min(now - self.looked, LATE)
            self.looked, self.told = now, told
            return self.sum


CLOCK = Clock(os.environ.get("IWT_CLOCK"))
running = CLOCK.now


class Wait:
    """A time limit in seconds; moved() starts it again."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.now = running if seconds >= 1 else time.monotonic
        self.moved()

    def moved(self):
        """Starts the time limit again, because there was progress."""
        self.end = self.now() + self.seconds

    def left(self):
        """Returns how many seconds are left; 0 if the time limit is over."""
        return max(self.end - self.now(), 0)

    def check(self, what):
        """Raises Late if the time limit is over."""
        if not self.left():
            raise Late(what)

    def turn(self):
        """Seconds until the next look."""
        return min(self.left(), SLICE)


def ready(fd, seconds, events=select.POLLIN):
    """Waits for an event of a file; returns whether it came."""
    poll, wait = select.poll(), Wait(seconds)
    poll.register(fd, events)
    while True:
        turn = wait.turn()
        if poll.poll(turn * 1000):
            return True
        if not turn:
            return False


def until(there, seconds, pause=0.05):
    """Waits until there() is true; returns what it returned last."""
    wait = Wait(seconds)
    while True:
        over, got = not wait.left(), there()
        if got or over:
            return got
        time.sleep(pause)


def ended(proc, seconds):
    """The status of a process; raises subprocess.TimeoutExpired if it does not end."""
    wait = Wait(seconds)
    while True:
        turn = wait.turn()
        try:
            return proc.wait(max(turn, 0.01))
        except subprocess.TimeoutExpired:
            if not turn:
                raise


class Socket(socket.socket):
    """
    A socket whose time limit (settimeout()) uses CLOCK, and starts again at each piece of data.
    """

    limit = None

    def settimeout(self, value):
        """Sets the limit."""
        self.limit = value
        super().settimeout(None if value is None else 0)

    def gettimeout(self):
        """The limit."""
        return self.limit

    def _do(self, call, events, *args):
        while True:
            try:
                return call(*args)
            except BlockingIOError:
                if not self.limit:
                    raise
            if not ready(self, self.limit, events):
                raise socket.timeout("timed out")

    def recv(self, size, flags=0):
        """Like the method of socket.socket."""
        data = self._do(super().recv, select.POLLIN, size, flags)
        while flags & socket.MSG_WAITALL and 0 < len(data) < size:
            more = self._do(super().recv, select.POLLIN, size - len(data), flags)
            if not more:
                break
            data += more
        return data

    def accept(self):
        """Like the method of socket.socket."""
        sock, where = self._do(super().accept, select.POLLIN)
        return Socket(fileno=sock.detach()), where

    def send(self, *args):
        """Like the method of socket.socket."""
        return self._do(super().send, select.POLLOUT, *args)

    def sendall(self, data, flags=0):
        """Like the method of socket.socket."""
        data = memoryview(data)
        while data:
            data = data[self.send(data, flags):]

    def connect(self, where):
        """Like the method of socket.socket."""
        try:
            super().connect(where)
        except BlockingIOError:
            if not self.limit:
                raise
            if not ready(self, self.limit, select.POLLOUT):
                raise socket.timeout("timed out") from None
            error = self.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                raise OSError(error, os.strerror(error)) from None


def connect(where, seconds=60):
    """A connection to (address, port)."""
    sock = Socket(socket.AF_INET6 if ":" in where[0] else socket.AF_INET)
    sock.settimeout(seconds)
    try:
        sock.connect(where)
    except OSError:
        sock.close()
        raise
    return sock


def server(where, seconds=60, **how):
    """A listening socket."""
    sock = Socket(fileno=socket.create_server(where, **how).detach())
    sock.settimeout(seconds)
    return sock
