#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
selfcheck.py VECTORS.json: tests the encoder and the decoder of this directory with test vectors:
the expected octets of startup frames and FPDUs.
"""
import json
import struct
import sys

import crc32c
import fpdu
from fpdu import Deframer, Framer
from mpa import ANY_DEPTH, C, M, R, REP, REQ, S, Tap, enh, frame

TAP = Tap()


def startup():
    return {
        "V-S1": frame(REQ, C, 1),
        "V-S2": frame(REP, C, 1),
        "V-S3": frame(REP, C | R, 1, b"no"),
        "V-S4": frame(REQ, M | C, 1),
        "V-S5": frame(REQ, C | S, 2, enh(16, 8) + b"pd"),
        "V-S6": frame(REP, C | S, 2, enh(8, 16, 1, 0, 1, 0)),
        "V-S7": frame(REQ, C | S, 2, enh(ANY_DEPTH, ANY_DEPTH, 0, 0, 0, 0)),
        "V-S8": frame(REQ, M | C, 0),
    }


def messages():
    one = fpdu.untagged(fpdu.SEND, 0, 1, bytes(24))
    return {
        "V-F5": one, "V-F6": fpdu.untagged(fpdu.SEND, 0, 2, bytes(24)), "V-F5n": one, "V-C0": one,
        "V-D1": fpdu.tagged(fpdu.WRITE, 1, 0),
        "V-D2": fpdu.read_request(1, 1, 0, 0, 1, 0),
        "V-D3": fpdu.tagged(fpdu.READ_RESP, 1, 0),
        "V-D4": fpdu.untagged(fpdu.SEND, 0, 1),
        "V-D5": fpdu.tagged(fpdu.WRITE, 0x11223344, 0x1000, b"\x5a"),
        "V-D6": fpdu.tagged(fpdu.WRITE, 0x11223344, 0x1000, bytes(range(8)), False),
        "V-D7": fpdu.read_request(1, 0xAABBCCDD, 0x20, 100, 0x55667788, 0x300),
        "V-D8": fpdu.tagged(fpdu.READ_RESP, 0xAABBCCDD, 0x20, bytes.fromhex("deadbeef")),
        "V-D9": fpdu.untagged(fpdu.SEND_INV, 0, 2, b"xyz", stag=0xDEADBEEF),
        "V-D10": fpdu.untagged(fpdu.SEND_SE, 0, 3, b"hi"),
        "V-D11": fpdu.untagged(fpdu.SEND_SE_INV, 0, 4, stag=0xDEADBEEF),
        "V-D12": fpdu.untagged(fpdu.SEND, 0, 1, b"\xaa\xbb", offset=1482),
        "V-D13": fpdu.untagged(fpdu.SEND, 0, 0),
        "V-X1": fpdu.immediate(5, bytes(range(1, 9))),
        "V-X2": fpdu.immediate(6, bytes(range(1, 9)), se=True),
        "V-X3": fpdu.atomic(2, fpdu.FETCH_ADD, 7, 0x55667788, 0x300, 1),
        "V-T7": fpdu.terminate(0, 2, 6, b"\0\x12" + bytes.fromhex(
            "414c00000000000000000000000100000000"), 0xC0),
        "V-T8": fpdu.terminate(0, 0, 0),
    }


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        vectors = json.load(file)
    made, ulpdus = startup(), messages()
    for v in vectors:
        octets = bytes.fromhex(v["hex"])
        name, pos = v["id"], v.get("pos", 0)
        markers, crc = "pos" in v, name != "V-C0"
        if name in made:
            TAP.ok(made[name] == octets, "%s: the startup frame is encoded right" % name, made[name].hex())
            continue
        if name.startswith("V-S"):
            continue
        reader = Deframer(markers, crc)
        reader.pos = pos
        got = [seg for i in range(len(octets)) for seg in reader.feed(octets[i:i + 1])]
        good = len(got) == 1 and not reader.problems and not reader.held and got[0].size == len(octets)
        TAP.ok(good, "%s: the FPDU is decoded" % name, (got, reader.problems))
        if good:
            again = Framer(markers, crc, pos).fpdu(ulpdus.get(name, got[0].ulpdu))
            TAP.ok(again == octets, "%s: the FPDU is encoded right" % name, again.hex())
    for data in (b"", b"123456789", bytes(range(256)) * 5):
        TAP.ok(crc32c.slow(data) == crc32c.crc32c(data), "CRC of %d octets" % len(data))
    TAP.ok(crc32c.slow(b"123456789") == 0xE3069283, "CRC of 123456789")
    spoilt = Deframer(True)
    bad = Framer(True).fpdu(bytes(600), ptr_add=4)
    spoilt.feed(bad)
    TAP.ok(len(spoilt.problems) == 2, "wrong markers are noticed", spoilt.problems)
    spoilt = Deframer()
    spoilt.feed(fpdu.fpdu(bytes(20), spoil=1) + Framer().fpdu(bytes(21), pad=1))
    TAP.ok(len(spoilt.problems) == 2, "a wrong CRC and a pad are noticed", spoilt.problems)
    TAP.ok(struct.calcsize(">IIIQQQQQ") == 52, "the size of an Atomic Request")
    TAP.finish()


main()
