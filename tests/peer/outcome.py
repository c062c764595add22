# SPDX-License-Identifier: GPL-2.0
"""How a test ends when it does not succeed."""


class Fail(AssertionError):
    """It is not as the row demands."""


class Skip(Exception):
    """It can't be tried here."""


def check(good, why="", *more):
    """Fail unless good."""
    if not good:
        raise Fail(" ".join([str(why)] + [repr(m) for m in more]))


def equal(got, want, what=""):
    """Fail unless they are equal."""
    check(got == want, "%s: got %r, not %r" % (what, got, want))
