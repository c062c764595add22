#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Converts the test vectors of the file JSON for the C tests and the fuzzers.

vectors.py header JSON        prints the vectors as C initialisers
vectors.py seeds JSON DIR     writes a file for each vector, in DIR/startup
                              or DIR/fpdu; Terminates also in DIR/term
"""
import json
import pathlib
import sys


def load(path):
    with open(path, encoding="ascii") as f:
        vectors = json.load(f)
    for v in vectors:
        v["octets"] = bytes.fromhex(v["hex"])
        if len(v["octets"]) != v["len"]:
            sys.exit(f"{path}: {v['id']}: {v['len']} octets announced, "
                     f"{len(v['octets'])} there")
    return vectors


def header(vectors):
    print("/* SPDX-License-Identifier: GPL-2.0 */")
    for i, v in enumerate(vectors):
        octets = ",".join(str(o) for o in v["octets"])
        print(f"static const u8 octets_{i}[] = {{{octets}}};")
    print("const struct vector vectors[] = {")
    for i, v in enumerate(vectors):
        pos = v.get("pos", 0)
        markers = int("pos" in v)
        desc = json.dumps(v["desc"])
        print(f'{{ "{v["id"]}", {desc}, octets_{i}, {v["len"]}, '
              f'{pos}, {markers} }},')
    print("};")
    print(f"const u32 vector_count = {len(vectors)};")


def kind(vector):
    if vector["id"].startswith("V-S"):
        return "startup"
    return "fpdu"


def seeds(vectors, where):
    for v in vectors:
        files = {kind(v): v["octets"]}
        if v["id"].startswith("V-T"):
            # the Terminate message, without the headers before it, the pad and the CRC
            length = int.from_bytes(v["octets"][:2], "big")
            files["term"] = v["octets"][20:2 + length]
        for name, octets in files.items():
            directory = pathlib.Path(where) / name
            directory.mkdir(parents=True, exist_ok=True)
            (directory / v["id"]).write_bytes(octets)


def main():
    match sys.argv[1:]:
        case ["header", path]:
            header(load(path))
        case ["seeds", path, where]:
            seeds(load(path), where)
        case _:
            sys.exit(__doc__)


main()
