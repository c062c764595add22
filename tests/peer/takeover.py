#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
takeover.py HOST PORT QPN...    connects queue pairs of others

HOST and PORT have a listener. Each try has to be refused at once, with EINVAL, and
must not reach the listener. TAP on standard output.
"""
import errno
import sys

import ucma
from mpa import Tap


def refused(connect):
    """Is it, and how?"""
    try:
        connect()
    except OSError as error:
        return "" if error.errno == errno.EINVAL else str(error)
    return "it is not refused"


def main(host, port, *numbers):
    """All of them."""
    tap = Tap()
    channel = ucma.Channel()
    for qpn in numbers:
        ident = channel.id()
        ident.resolve(host, int(port))
        why = refused(lambda i=ident, n=int(qpn): i.connect(n))
        tap.ok(not why, "connecting queue pair %s" % qpn, why)
    tap.ok(numbers, "there is a queue pair")
    tap.finish()


main(*sys.argv[1:])
