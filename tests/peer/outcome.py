# SPDX-License-Identifier: GPL-2.0
"""The ways in which a test ends when it does not succeed."""
import subprocess


class Fail(AssertionError):
    """The device does not do what the row demands."""


class Late(Fail):
    """Something that had to happen has not happened in its time: only this may be the host's fault."""


def is_late(error):
    """Was it a wait in vain?"""
    waits = (Late, TimeoutError, subprocess.TimeoutExpired)
    return isinstance(error, waits) or isinstance(error, Fail) and isinstance(error.__context__, waits)


class Skip(Exception):
    """The test can't run here."""


def check(good, why="", *more):
    """Fails unless good."""
    if not good:
        raise Fail(" ".join([str(why)] + [repr(m) for m in more]))


def equal(got, want, what=""):
    """Fails unless both are equal."""
    check(got == want, "%s: got %r, not %r" % (what, got, want))
