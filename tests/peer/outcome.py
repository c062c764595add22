# SPDX-License-Identifier: GPL-2.0
"""The ways in which a test ends when it does not succeed."""


class Fail(AssertionError):
    """The device does not do what the row demands."""


class Skip(Exception):
    """The test can't run here."""


def check(good, why="", *more):
    """Fails unless good."""
    if not good:
        raise Fail(" ".join([str(why)] + [repr(m) for m in more]))


def equal(got, want, what=""):
    """Fails unless both are equal."""
    check(got == want, "%s: got %r, not %r" % (what, got, want))
