# SPDX-License-Identifier: GPL-2.0
"""
Waits for expected events, as tests/programs/common/patience.h does. A time limit starts again
whenever there is progress, and does not count the time in which a processor stood still: a
processor of a virtual machine may stand still for minutes, with all tasks bound to this processor.

A wait of less than a second is for an event that must not happen, and uses the ordinary clock.
"""
import os
import select
import socket
import subprocess
import threading
import time

from outcome import Late

# Without the file of iwt_patient, the time between two readings of the clock counts as at most this
# number of seconds
LATE = 1
SLICE = 0.2     # seconds between two readings of the clock


class Clock:
    """Counts the seconds in which all processors ran. iwt_patient writes this time to the file
    path ($IWT_CLOCK)."""

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
        """Returns the seconds in the file, or None. Two reads of the file must agree, because
        iwt_patient may write to the file at this moment."""
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
                told = self.told    # the read failed: a later read will return the new time
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
        """Raises Late, with the message what, if the time limit is over."""
        if not self.left():
            raise Late(what)

    def turn(self):
        """Returns how many seconds to wait before the clock must be read again."""
        return min(self.left(), SLICE)


def ready(fd, seconds, events=select.POLLIN):
    """Waits until one of the events of poll(2) occurs on the file fd; returns whether it
    occurred."""
    poll, wait = select.poll(), Wait(seconds)
    poll.register(fd, events)
    while True:
        turn = wait.turn()
        if poll.poll(turn * 1000):
            return True
        if not turn:
            return False


def until(there, seconds, pause=0.05):
    """Calls there() until its result is true, or the time limit is over; returns the last
    result."""
    wait = Wait(seconds)
    while True:
        over, got = not wait.left(), there()
        if got or over:
            return got
        time.sleep(pause)


def ended(proc, seconds):
    """Waits until the process proc ends, and returns its status; raises subprocess.TimeoutExpired
    if it does not end in time."""
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
    A socket whose time limit (settimeout()) uses CLOCK, and starts again whenever data arrive or
    are sent.
    """

    limit = None

    def settimeout(self, value):
        """Sets the time limit, in seconds; None: no limit."""
        self.limit = value
        super().settimeout(None if value is None else 0)

    def gettimeout(self):
        """Returns the time limit."""
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
    """Connects to where, an (address, port); returns the Socket."""
    sock = Socket(socket.AF_INET6 if ":" in where[0] else socket.AF_INET)
    sock.settimeout(seconds)
    try:
        sock.connect(where)
    except OSError:
        sock.close()
        raise
    return sock


def server(where, seconds=60, **how):
    """Returns a Socket that listens at where, an (address, port)."""
    sock = Socket(fileno=socket.create_server(where, **how).detach())
    sock.settimeout(seconds)
    return sock
