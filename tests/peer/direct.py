#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Tests direct connections with hostile peers. This program is the peer, and knows the numbers that
both ends of a direct connection must know. In some cases the peer connects to a queue pair of the
device, in other cases the device connects to the peer.

The end with the smaller GID opens the connection. (If the GIDs are equal, the queue pair numbers
decide.) So the device is the responder if the address of the peer is smaller than the address of
the device, and else the initiator. The cases are the functions in direct_rsp.py, direct_rnr.py
and direct_ini.py.
"""
import argparse
import random
import resource
import sys
import time
import traceback

import mpa
from direct_end import Bench, gid_of
from direct_ini import INITIATOR
from direct_rnr import WAITING
from direct_rsp import RESPONDER
from outcome import Skip, is_late
from ulp import Ulp


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--here", required=True, help="address of the peer")
    p.add_argument("--there", required=True, help="address of the device")
    p.add_argument("--other", help="another address of the peer")
    p.add_argument("--port", type=int, required=True, help="direct_port of the device's link")
    p.add_argument("--device", required=True, help="name of the device")
    p.add_argument("--ulp", required=True, help="command of the upper layer, on the device's side")
    p.add_argument("--rounds", type=int, default=500, help="number of random frames")
    p.add_argument("--turns", type=int, default=50, help="number of changes of state at random moments")
    p.add_argument("--seed", help="repeats a run")
    p.add_argument("--case", action="append", help="only this case; may be repeated")
    p.add_argument("--trace", action="store_true", help="print the commands to the upper layer")
    return p.parse_args()


def run(case, args, seed, tap):
    """Runs a case, and reports its result."""
    bench, error, skipped = None, None, None
    began = time.monotonic()
    try:
        bench = Bench(args, seed)
        case(bench)
    except Skip as skip:
        skipped = skip
    except Exception as failed:     # pylint: disable=broad-except
        error = failed
        print("# " + traceback.format_exc().strip().replace("\n", "\n# "))
    try:
        if bench:
            bench.close()
    except Exception as failed:     # pylint: disable=broad-except
        error = error or failed
    print("# %s: %.1f s" % (case.__name__, time.monotonic() - began))
    what = "%s (%s)" % (case.__doc__, case.__name__)
    if skipped and not error:
        tap.skip(what, skipped)
    else:
        tap.ok(error is None, what + (" (time-out)" if error and is_late(error) else ""), error)


def main():
    args = arguments()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    Ulp.trace = args.trace
    cases = RESPONDER + WAITING if gid_of(args.here) < gid_of(args.there) else INITIATOR
    seed = args.seed or str(random.randrange(1 << 32))
    print("# seed", seed)
    tap = mpa.Tap()
    for case in cases:
        if not args.case or case.__name__ in args.case:
            run(case, args, seed + case.__name__, tap)
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
