# SPDX-License-Identifier: GPL-2.0
"""RFC 5042: security."""
from rows import stated

stated("host", "XFRM (ESP and tunnels) below TCP", "SEC-28")
