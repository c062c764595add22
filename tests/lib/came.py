#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
came.py save FILE NS LINK NS LINK   saves the current counters of two links in FILE
came.py look FILE                   checks that since then each link has received everything that
                                    the other link sent, without an error, and that no request is
                                    incomplete. Writes a line for each difference to FILE.came;
                                    the file is empty if there is none.

A test may excuse a program that waits for ever at its end, but not if the link has lost a
message. came.py works only with the counters of iw_tcp.
"""
import json
import os
import subprocess
import sys

KINDS = ("send", "write", "read")
ERRORS = ("rx_crc_err", "rx_proto_err", "rx_access_err", "term_tx", "term_rx", "wr_error", "cq_overrun")


def rdma(ns, *words):
    """Returns what rdma(8) shows in a network namespace."""
    out = subprocess.run(["nsenter", "--net=/run/netns/" + ns, "rdma", *words], stdout=subprocess.PIPE,
                         check=True).stdout
    return json.loads(out) if out.strip() else []


def counters(ns, link):
    """All counters of a link."""
    found = {}
    for one in rdma(ns, "-j", "statistic", "show", "link", link + "/1"):
        found.update({name: value for name, value in one.items() if isinstance(value, int)})
    return found


def waiting(ns, link):
    """Yields a message for each connected queue pair with requests that have not completed."""
    for qp in rdma(ns, "-dd", "-j", "resource", "show", "qp", "link", link):
        started, done = qp.get("drv_sq_started"), qp.get("drv_sq_completed")
        if qp.get("state") == "RTS" and started != done:
            yield "%s: queue pair %s: %s requests began, %s completed" % (link, qp.get("lqpn"), started, done)


def differences(ends, before):
    """Yields the differences between what each link has sent and what the other one has received,
    since the counters "before" were saved."""
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
    """See above."""
    if what == "save":
        ends = [ends[:2], ends[2:]]
        with open(path, "w", encoding="ascii") as file:
            json.dump([ends, [counters(*end) for end in ends]], file)
        return
    if os.path.exists(path + ".came"):
        return      # only the first look counts: after it, the program that waits is ended
    with open(path, encoding="ascii") as file:
        ends, before = json.load(file)
    found = list(differences(ends, before))
    with open(path + ".came", "w", encoding="ascii") as file:
        file.write("".join(line + "\n" for line in found))


main(*sys.argv[1:])
