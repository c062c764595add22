#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
takeover.py HOST PORT QPN...    tries to connect queue pairs of other processes

Each attempt connects the queue pair with the number QPN to HOST and PORT, where a program must
listen. The attempt must fail immediately, with EINVAL, so that the listening program sees no
connection. Writes TAP to standard output.
"""
import errno
import sys

import ucma
from mpa import Tap


def refused(connect):
    """Calls connect(). Returns "" if the call fails with EINVAL, else a text about its result."""
    try:
        connect()
    except OSError as error:
        return "" if error.errno == errno.EINVAL else str(error)
    return "connect() succeeds"


def main(host, port, *numbers):
    """Tries all queue pairs."""
    tap = Tap()
    channel = ucma.Channel()
    for qpn in numbers:
        ident = channel.id()
        ident.resolve(host, int(port))
        why = refused(lambda i=ident, n=int(qpn): i.connect(n))
        tap.ok(not why, "connecting queue pair %s of another process fails with EINVAL" % qpn, why)
    tap.ok(numbers, "there are queue pairs to try")
    tap.finish()


main(*sys.argv[1:])
