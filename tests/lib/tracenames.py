# SPDX-License-Identifier: GPL-2.0
"""tracenames.py DRIVER UAPI: prints the constants that have no name in DRIVER/trace_names.h.

If trace_names.h names one constant of an enum, it has to name all of them. A constant that only
counts the other constants has no name: it is the last constant, and the enum gives it no value.
Also prints an error if trace_names.h names constants of fewer than six enums.
"""
import glob
import re
import sys


def read(name):
    with open(name, encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


driver, uapi = sys.argv[1:]
named = set(re.findall(r"IWT_[NL]\((\w+),", read(f"{driver}/trace_names.h")))
found = 0
for header in glob.glob(f"{driver}/**/*.h", recursive=True) + glob.glob(f"{uapi}/*.h"):
    for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", read(header), re.S):
        all_of = re.findall(r"^\s*(\w+)", body.replace(",", "\n"), re.M)
        if not named.intersection(all_of):
            continue
        found += 1
        for constant in all_of:
            if constant not in named and not re.search(rf"\b{constant}\s*,?\s*$", body):
                print(f"{header}: {constant} has no name in trace_names.h")
if found < 6:
    print(f"trace_names.h names the constants of only {found} enums")
