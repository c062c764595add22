# SPDX-License-Identifier: GPL-2.0
"""The exceptions that end a test without success, and the checks that raise them."""
import subprocess


class Fail(AssertionError):
    """The device does not do what the row demands."""


class Late(Fail):
    """
    A wait timed out. A slow host can cause only failures of this kind.
    """


def is_late(error):
    """Returns whether the exception error means that a wait timed out."""
    waits = (Late, TimeoutError, subprocess.TimeoutExpired)
    return isinstance(error, waits) or isinstance(error, Fail) and isinstance(error.__context__, waits)


class Skip(Exception):
    """The test can't run in this environment."""


def check(good, why="", *more):
    """Raises Fail unless good is true; why and more are the message."""
    if not good:
        raise Fail(" ".join([str(why)] + [repr(m) for m in more]))


def equal(got, want, what=""):
    """Raises Fail unless got and want are equal; what: the name of the value, for the message."""
    check(got == want, "%s: got %r, not %r" % (what, got, want))
