# SPDX-License-Identifier: GPL-2.0
"""raw.py KIND RAW DETAILS: checks that the raw dumps of the objects of this kind (qp, cq, mr, srq)
agree with the details of the same objects. DETAILS must have been read after RAW.
raw.py sending RAW: succeeds if a queue pair in RAW is in the middle of sending a message.

RAW is a file with the output of "rdma -r -j resource show KIND", and DETAILS a file with the output
of "rdma -dd -j resource show KIND". The raw dumps are structures of
include/uapi/rdma/iw_tcp-raw.h.
"""
import json
import os
import struct
import sys

STATES = ["IDLE", "RTS", "HALF", "DRAIN", "CLOSING", "TERMINATE", "GONE", "ERROR"]
# The first values of counters and positions (proto/first.h). In the laboratory "wrap", these
# numbers wrap to 0 after a few messages.
BEFORE_WRAP = int(os.environ.get("IWT_BEFORE_WRAP", "0"))
FIRST = {"tx_send_msn": 1 - BEFORE_WRAP, "msn0": 1 - BEFORE_WRAP, "tx_pos": -4096 * BEFORE_WRAP,
         "rx_pos": -4096 * BEFORE_WRAP}
CONNECTED, USER, TX_MESSAGE = 1 << 0, 1 << 1, 1 << 3    # flags of a queue pair
MR_KINDS = ["user", "fast", "all", "dmabuf", "odp"]
LAYOUT = {
    "qp": (1, "31I", ("size head state flags term_err sq_entries sq_posted sq_started"
                            " sq_completed rq_entries rq_posted rq_taken tx_pos tx_left tx_framed"
                            " tx_send_msn tx_read_msn rx_pos msn0 msn1 msn2 msn3 mo0 mo1 mo2 mo3"
                            " ird ird_used ord ord_used reserved").split()),
    "cq": (2, "6I", "size head entries produced consumed flags".split()),
    "mr": (3, "6IQ2I", "size head kind access rights valid length extents windows".split()),
    "srq": (4, "8I", "size head flags entries max_sge posted taken limit".split()),
}


def need(good, what):
    if not good:
        sys.exit(what)


def decoded(kind, octets):
    number, layout, names = LAYOUT[kind]
    layout = "=" + layout
    need(len(octets) == struct.calcsize(layout), f"{len(octets)} octets, not {struct.calcsize(layout)}")
    raw = dict(zip(names, struct.unpack(layout, bytes(octets))))
    need(raw["size"] == len(octets) and raw["head"] == number, f"the head is wrong: {raw}")
    return raw


def apart(one, two):
    """Returns how far the index "one" is ahead of the index "two". Indexes count modulo 2^32."""
    return (one - two) % (1 << 32)


def before(one, two):
    """Returns True if the index "one" is not ahead of the index "two"."""
    return apart(two, one) < 1 << 31


def check_qp(raw, now):
    need(STATES[raw["state"]] == now["drv_rdmap_state"] == "RTS", "state")
    need(raw["flags"] & CONNECTED and raw["flags"] & USER, "not connected, or no process")
    need(raw["flags"] & TX_MESSAGE or not raw["tx_left"], "tx_left without a message")
    for name in "ird", "ord":
        need(raw[name] == now["drv_" + name], name)
    need(raw["term_err"] == int(str(now["drv_term_err"]), 0), "term_err")
    need(before(raw["sq_completed"], raw["sq_started"]), "completed before started")
    need(before(raw["sq_started"], raw["sq_posted"]), "started before posted")
    need(before(raw["rq_taken"], raw["rq_posted"]), "taken before posted")
    for name in "sq_started", "sq_completed", "rq_taken":
        need(before(raw[name], now["drv_" + name]), name + " went back")
    for name, first in FIRST.items():
        need(apart(raw[name], first), "no traffic: " + name)
    need(raw["mo3"] == raw["reserved"] == 0, "what is not used")


def check_cq(raw, now):
    need(raw["entries"] > now["cqe"] - 1, "entries")
    need(before(raw["consumed"], raw["produced"]), "consumed before produced")
    need(before(raw["produced"], now["drv_produced"]), f"produced: {raw} {now}")


def check_mr(raw, now):
    need(MR_KINDS[raw["kind"]] == now["drv_kind"], "kind")
    for name in "length", "extents", "windows", "valid":
        need(raw[name] == now["drv_" + name], name)
    for name in "rights", "access":
        need(raw[name] == int(str(now["drv_" + name]), 0), name)


def check_srq(raw, now):
    need(raw["flags"] == 1 and not now["drv_failed"], "no process, or failed")
    need(raw["entries"] == now["drv_max_wr"] and raw["max_sge"] == now["drv_max_sge"], "size")
    # rdma(8) shows indexes above 2^31 as negative numbers, so compare modulo 2^32
    need(apart(raw["taken"], now["drv_taken"]) == 0 and raw["limit"] == now["drv_limit"], "what is taken")
    need(apart(raw["posted"], raw["taken"]) == now["drv_left"], "what is left")


def raws_of(kind, name):
    with open(name) as f:
        return [decoded(kind, e["data"]) for e in json.load(f) if "data" in e]


def sending(name):
    raws = raws_of("qp", name)
    need(any(raw["flags"] & TX_MESSAGE and raw["tx_left"] for raw in raws), f"no message is being sent: {raws}")


def compare(kind, raws, details):
    raws = raws_of(kind, raws)
    with open(details) as f:
        details = [e for e in json.load(f) if any(n.startswith("drv_") for n in e)]
    # rdma(8) sends two requests: for the queue pairs of the port, and for queue pairs without a
    # port. Each of the two answers contains all queue pairs, so use only the last answer.
    if kind == "qp" and details:
        raws = raws[-len(details):]
    need(raws and len(raws) == len(details), f"{len(raws)} raw, {len(details)} others")
    for raw, now in zip(raws, details):
        globals()["check_" + kind](raw, now)


if sys.argv[1] == "sending":
    sending(sys.argv[2])
else:
    compare(*sys.argv[1:])
