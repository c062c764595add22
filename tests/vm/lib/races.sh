# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reports of data races (KCSAN). If a function of this tree is on the stack of either processor,
# the report fails the run like every other bad message. Other reports are about the rest of the
# kernel: messages() leaves them out, and races_elsewhere prints their functions.

# RACES_AWK recognises the beginning and the end of a report, and lines with a function of this tree
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

# without_races_elsewhere: a filter that removes reports of races outside this tree
without_races_elsewhere() { awk "$RACES_AWK"; }

# races_elsewhere: prints, for each race outside this tree, how many reports there were
races_elsewhere() { awk -v names=1 "$RACES_AWK" | sort -k1,1nr -k2; }
