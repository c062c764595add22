#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""guest.py FILE: makes FILE, a disk from which a PC boots a program of a few instructions. At
each tick of the timer, 18 times in a second, the program adds one to a number, and fills 16 KB of
the memory, from the address 0x20000, with this number."""
import sys

# sti; cld; xor eax,eax; mov bx,0x2000; mov es,bx
BEGIN = bytes.fromhex("fb fc 6631c0 bb0020 8ec3")
# inc eax; xor di,di; mov cx,0x1000; rep stosd; hlt; jmp to the inc
TICK = bytes.fromhex("6640 31ff b90010 f366ab f4")
AGAIN = bytes([0xeb, 256 - len(TICK) - 2])

with open(sys.argv[1], "wb") as disk:
    disk.write((BEGIN + TICK + AGAIN).ljust(510, b"\0") + b"\x55\xaa" + bytes(1 << 20))
