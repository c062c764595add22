# SPDX-License-Identifier: GPL-2.0
"""RFC 7306 (and 6580): Immediate Data, atomics."""
from rows import stated

stated("absent", "opcode F is refused as unknown, see RDMAP-7", "EXT-36")
