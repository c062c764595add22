# SPDX-License-Identifier: GPL-2.0
"""RFC 5044, appendices A and B: advice on segmentation."""
from rows import stated

stated("host", "IP reassembly of the kernel", "OPT-17")
