# SPDX-License-Identifier: GPL-2.0
# awk -f excuse.awk file=1 STANDSTILL file=2 LOG file=3 RESULTS: which items of a job have to run
# once more, because all that is wrong with the job may have been caused by a machine that stood
# still. Prints "ITEM<tab>REASON" for each, or nothing. ITEMS, in the environment, are all items of
# the job, one a line.
#
# A standstill (a line of standstill.sh) that fell into the run of an item explains that something
# was waited for in vain: a failure with " (time-out)" at its end, also of the item as a whole, or
# of the laboratory. And it explains RCU's own report of it, the only message of the kernel that is
# excused: then the items that ran during a long standstill have to run once more. It explains
# nothing else: one failure of another kind, and nothing of the job is excused.
BEGIN {
	count = split(ENVIRON["ITEMS"], all, "\n")
	rcu_info = "rcu: INFO: rcu_[a-z]+ (self-)?detected (expedited )?stall"
	rcu_warning = "WARNING: .*kernel/rcu/tree_stall\\.h:[0-9]+ "
	# what no wait explains, whatever the line says besides
	never = "differ|instead of|wrong (octet|data)|corrupt|leak|( is| are) left|crash|signal [0-9]|status 1[3-9][0-9]"
}

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
file == 2 && /^vm: gate: the (script's own exit status|first of them)/ { next }
file == 2 && /^vm: gate: kernel messages \([0-9]+ / { sub(/.*\(/, ""); complaints = $0 + 0; next }
file == 2 && /^vm: gate: / { gate = 1 }
file == 2 && complaints {
	complaints--
	if ($0 ~ rcu_info || $0 ~ rcu_warning)
		rcu = 1
	else
		gate = 1
	next
}
file == 2 { next }

/^fail the gate of the lab / { if (rcu) stalled = 1; else hard = 1; next }
/^fail the time of the lab was over / { over = 1; next }
/^fail suite: .* did not begin \(time-out\)$/ { next }

/^fail / {
	what = substr($0, 6)
	found = ""
	for (i = 1; i <= items; i++)
		if (index(what, order[i] ": ") == 1 && length(order[i]) > length(found))
			found = order[i]
	what = substr(what, length(found) + 3)
	if (found == "" || what !~ / \(time-out\)$/ || what ~ never)
		hard = 1
	failed[found] = 1
}

# beside(): the longest standstill during the run of item, of at least that many seconds
function beside(item, least, i, most) {
	for (i = 1; i <= stalls; i++)
		if (length_of[i] >= least && until[i] >= begin[item] && (!(item in end) || until[i] - length_of[i] <= end[item]) &&
		    (!most || length_of[i] > length_of[most]))
			most = i
	return most ? "processor " cpu[most] " stood still for " length_of[most] " s" : ""
}

# once_more(): item has to run once more, because of a standstill during the run of another
function once_more(item, during, why) {
	if (item in said)
		return
	said[item] = 1
	why = beside(during, 0)
	if (why == "")
		hard = 1
	out = out item "\t" why "\n"
}

END {
	if (gate)
		hard = 1
	for (i = 1; i <= items && stalled; i++)
		if (beside(order[i], 15) != "")
			failed[order[i]] = laid = 1
	if (stalled && !laid)
		hard = 1
	for (i = 1; i <= items; i++)
		if (order[i] in failed || (over && !(order[i] in end)))
			once_more(order[i], order[i])
	# what did not begin is late because of all that did
	for (i = 1; i <= count && over; i++)
		if (!(all[i] in begin)) {
			begin[all[i]] = begin[order[1]]
			once_more(all[i], all[i])
		}
	if (!hard)
		printf "%s", out
}
