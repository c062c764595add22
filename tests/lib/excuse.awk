# SPDX-License-Identifier: GPL-2.0
# awk -f excuse.awk file=1 STANDSTILL file=2 LOG file=3 RESULTS: which failures of a job may come from a
# machine that stood still. Prints "ITEM<tab>REASON" for each item that failed, if a
# standstill (a line of standstill.sh) fell into each one's run; nothing if one
# failed without, or if something failed that is no item, as the gate of a laboratory.
{ sub(/\r$/, "") }

file == 1 { until[++stalls] = $1; cpu[stalls] = $2; length_of[stalls] = $3; next }

file == 2 && /^=== begin / { item = substr($0, 11); order[++items] = item; open = 1; next }
file == 2 && /^=== end / { open = 0; next }
file == 2 && /^=== at / {
	if (open)
		begin[item] = $3
	else
		end[item] = $3
	next
}
file == 2 { next }

/^fail / {
	found = 0
	for (i = 1; i <= items; i++)
		if (index(substr($0, 6), order[i] ": ") == 1)
			failed[order[i]] = found = 1
	if (!found)
		hard = 1
}

# the longest standstill in the run of an item
function beside(item, i, most) {
	for (i = 1; i <= stalls; i++)
		if (until[i] >= begin[item] && (!(item in end) || until[i] - length_of[i] <= end[item]) &&
		    (!most || length_of[i] > length_of[most]))
			most = i
	return most ? "processor " cpu[most] " stood still for " length_of[most] " s" : ""
}

END {
	for (i = 1; i <= items && !hard; i++)
		if (order[i] in failed && !((item = order[i]) in said)) {
			said[item] = 1
			why = beside(item)
			if (why == "")
				hard = 1
			out = out item "\t" why "\n"
		}
	if (!hard)
		printf "%s", out
}
