# SPDX-License-Identifier: GPL-2.0
# awk -f excuse.awk file=1 STANDSTILL file=2 LOG file=3 RESULTS: prints which items of a failed
# job must run once more, because the machine stood still while these items ran. If standstills
# can explain all failures of the job, prints "ITEM<tab>REASON" for each item to repeat; otherwise
# prints nothing. The environment variable ITEMS lists all items of the job, one on each line.
#
# STANDSTILL is the file that standstill.sh writes, LOG is the output of the job, and RESULTS is the
# output of count.awk. A standstill during the run of an item can explain only:
# - a failure that ends with " (time-out)" and contains no word of the variable never: the test
#   waited too long for something;
# - that a time limit ended the item or the laboratory;
# - RCU's report of a stall, the only kernel message that is excused. In this case all items that
#   ran during a standstill of 15 seconds or more must run once more.
# If the job has one failure of another kind, no failure of the job is excused.
BEGIN {
	count = split(ENVIRON["ITEMS"], all, "\n")
	rcu_info = "rcu: INFO: rcu_[a-z]+ (self-)?detected (expedited )?stall"
	rcu_warning = "WARNING: .*kernel/rcu/tree_stall\\.h:[0-9]+ "
	# failures with these words are never excused, even if the line ends with " (time-out)"
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

/^fail (.*: )?the gate of the lab( |$)/ { if (rcu) stalled = 1; else hard = 1; next }
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

# beside(): returns a text about the longest standstill of at least "least" seconds during the run
# of item, or "" if there was no such standstill
function beside(item, least, i, most) {
	for (i = 1; i <= stalls; i++)
		if (length_of[i] >= least && until[i] >= begin[item] && (!(item in end) || until[i] - length_of[i] <= end[item]) &&
		    (!most || length_of[i] > length_of[most]))
			most = i
	return most ? "processor " cpu[most] " stood still for " length_of[most] " s" : ""
}

# once_more(): adds item to the output, with the longest standstill during the run of the item
# "during" as the reason. Without such a standstill, no failure of the job is excused.
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
	# The time limit of the laboratory was over before these items started. A standstill at any
	# time since the first item began may be the reason.
	for (i = 1; i <= count && over; i++)
		if (!(all[i] in begin)) {
			begin[all[i]] = begin[order[1]]
			once_more(all[i], all[i])
		}
	if (!hard)
		printf "%s", out
}
