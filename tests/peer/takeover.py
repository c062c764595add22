#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
takeover.py HOST PORT QPN...    tries to connect queue pairs of other processes

A program must listen at HOST and PORT. Each attempt must be refused at once, with EINVAL, and
must not reach the listener. TAP on standard output.
"""
import errno
import sys

import ucma
from mpa import Tap


def refused(connect):
    """Returns "" if connect() fails with EINVAL, else what happened."""
    try:
        connect()
    except OSError as error:
        return "" if error.errno == errno.EINVAL else str(error)
    return "it is not refused"


def main(host, port, *numbers):
    """Tries all queue pairs."""
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
