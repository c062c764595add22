#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
came.py save FILE NS LINK NS LINK   saves the current counters of two links in FILE
came.py look FILE                   checks that since "save" each link has received as many Sends,
                                    Writes and Reads as the other link sent, that no link counted an
                                    error, and that each connected queue pair has completed all
                                    requests that it began to process.
                                    Writes a line for each violation to FILE.came; without
                                    violations, FILE.came is empty. Does nothing if FILE.came
                                    exists.

Tests of fi_pingpong use came.py (lib/pair.sh). fi_pingpong itself may wait for ever, or crash,
just before it ends. A test excuses this only if FILE.came is empty. came.py needs the counters of
iw_tcp.
"""
import json
import os
import subprocess
import sys

KINDS = ("send", "write", "read")
ERRORS = ("rx_crc_err", "rx_proto_err", "rx_access_err", "term_tx", "term_rx", "wr_error", "cq_overrun")


def rdma(ns, *words):
    """Runs rdma(8) with these words in the network namespace ns; returns its decoded JSON
    output."""
    out = subprocess.run(["nsenter", "--net=/run/netns/" + ns, "rdma", *words], stdout=subprocess.PIPE,
                         check=True).stdout
    return json.loads(out) if out.strip() else []


def counters(ns, link):
    """Returns all counters of a link: {name: value}."""
    found = {}
    for one in rdma(ns, "-j", "statistic", "show", "link", link + "/1"):
        found.update({name: value for name, value in one.items() if isinstance(value, int)})
    return found


def waiting(ns, link):
    """Yields a text for each connected queue pair that has begun to process requests and has not
    completed them."""
    for qp in rdma(ns, "-dd", "-j", "resource", "show", "qp", "link", link):
        started, done = qp.get("drv_sq_started"), qp.get("drv_sq_completed")
        if qp.get("state") == "RTS" and started != done:
            yield "%s: queue pair %s: %s requests began, %s completed" % (link, qp.get("lqpn"), started, done)


def differences(ends, before):
    """Yields a text for each violation since the counters "before" were saved. ends: the
    (namespace, link) of both links."""
    now = [counters(*end) for end in ends]
    moved = [{name: n - was.get(name, 0) for name, n in new.items()} for new, was in zip(now, before)]
    if not all("tx_send" in new for new in now):
        yield "no counters of what was sent"
        return
    for (one, other), links in ((moved, ends), (moved[::-1], ends[::-1])):
        for kind in KINDS:
            sent, got = one["tx_" + kind], other["rx_" + kind]
            if sent != got:
                yield "%s sent %d of %s, %s got %d" % (links[0][1], sent, kind, links[1][1], got)
        for name in ERRORS:
            if one[name]:
                yield "%s: %s %d" % (links[0][1], name, one[name])
    for end in ends:
        yield from waiting(*end)


def main(what, path, *ends):
    """Runs the command "save" or "look"; ends: NS LINK NS LINK."""
    if what == "save":
        ends = [ends[:2], ends[2:]]
        with open(path, "w", encoding="ascii") as file:
            json.dump([ends, [counters(*end) for end in ends]], file)
        return
    if os.path.exists(path + ".came"):
        return      # keep the first result: afterwards, the test kills the waiting program
    with open(path, encoding="ascii") as file:
        ends, before = json.load(file)
    found = list(differences(ends, before))
    with open(path + ".came", "w", encoding="ascii") as file:
        file.write("".join(line + "\n" for line in found))


main(*sys.argv[1:])
