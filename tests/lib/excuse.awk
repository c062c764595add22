# SPDX-License-Identifier: GPL-2.0
# awk -f excuse.awk file=1 STANDSTILL file=2 LOG file=3 RESULTS: which failures of a job may have
# been caused by a machine that stood still. Prints "ITEM<tab>REASON" for each item that failed,
# if a standstill (a line of standstill.sh) fell into the run of each of them. Prints nothing if
# one failed without a standstill, or if something failed that is no item, for example the gate
# of a laboratory. Only one complaint of the gate is excused: an RCU stall, because RCU notices a
# long standstill, too. Then the items that ran during the standstill count as failed.
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
file == 2 && /^vm: gate: the script's own exit status/ { next }
file == 2 && /^vm: gate: kernel messages \([0-9]+ / { sub(/.*\(/, ""); complaints = $0 + 0; next }
file == 2 && /^vm: gate: / { gate = 1 }
file == 2 && complaints {
	complaints--
	if (/rcu: INFO: rcu_[a-z]+ (self-)?detected (expedited )?stall/)
		rcu = 1
	else
		gate = 1
	next
}
file == 2 { next }
file == 3 && /^fail the gate of the lab / && rcu && !gate { stalled = 1; next }

/^fail / {
	found = 0
	for (i = 1; i <= items; i++)
		if (index(substr($0, 6), order[i] ": ") == 1)
			failed[order[i]] = found = 1
	if (!found)
		hard = 1
}

# beside(): the longest standstill during the run of item, of at least that many seconds
function beside(item, least, i, most) {
	for (i = 1; i <= stalls; i++)
		if (length_of[i] >= least && until[i] >= begin[item] && (!(item in end) || until[i] - length_of[i] <= end[item]) &&
		    (!most || length_of[i] > length_of[most]))
			most = i
	return most ? "processor " cpu[most] " stood still for " length_of[most] " s" : ""
}

END {
	for (i = 1; i <= items && stalled; i++)
		if (beside(order[i], 15) != "")
			failed[order[i]] = laid = 1
	if (stalled && !laid)
		hard = 1
	for (i = 1; i <= items && !hard; i++)
		if (order[i] in failed && !((item = order[i]) in said)) {
			said[item] = 1
			why = beside(item, 0)
			if (why == "")
				hard = 1
			out = out item "\t" why "\n"
		}
	if (!hard)
		printf "%s", out
}
