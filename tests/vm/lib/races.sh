# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reports of data races (KCSAN). One with a function of this tree's in it, at any
# depth of either processor's stack, is judged as every other message. One without is
# the rest of the kernel's own: it is left out, and races_elsewhere names it.

# How a line of a report begins and ends, what is this tree's in a line
RACES_AWK='
function is_ours(line) {
	return line ~ /BUG: KCSAN:|\+0x[0-9a-f]+\/0x[0-9a-f]+/ &&
		line ~ /\[iw_tcp\]|(^|[^A-Za-z0-9_])iwt_/
}
function let_go() {
	if (title != "" && !ours) {
		sub(/.*BUG: KCSAN: /, "", title)
		if (names) count[title]++
	} else if (!names)
		printf "%s", held
	held = title = ""
	ours = inside = 0
}
/==============================/ {
	closing = inside
	held = held $0 "\n"
	inside = 1
	if (closing) let_go()
	next
}
inside {
	held = held $0 "\n"
	if (/BUG: KCSAN:/) title = $0
	if (is_ours($0)) ours = 1
	next
}
!names
END {
	if (inside) let_go()
	for (title in count) print count[title] "\t" title
}'

# without_races_elsewhere: a filter for the kernel's messages
without_races_elsewhere() { awk "$RACES_AWK"; }

# races_elsewhere: of the kernel's messages, how often which race was left out
races_elsewhere() { awk -v names=1 "$RACES_AWK" | sort -k1,1nr -k2; }
