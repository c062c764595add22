# SPDX-License-Identifier: GPL-2.0
# Reads the output of suite.sh, and prints one line for each result: "pass", "fail ITEM: REASON" or
# "skip ITEM: REASON". Also prints "forgiven ITEM: TEXT" for a line "# forgiven: TEXT", and
# "report ITEM: TEXT" for a line "# report: TEXT". An item also fails if its plan is missing or
# wrong, if the item did not end, or if its exit status is neither 0 nor 4. -v items= is the number
# of items that must run. The environment variable WITHOUT lists items whose results are left out,
# one on each line. -v late=1: the time limit of the laboratory ended the run. A failure that a time
# limit caused ends with the text " (time-out)", as in the output of tests.
function fail(why) { print "fail " name ": " why; bad++ }

BEGIN {
	n = split(ENVIRON["WITHOUT"], names, "\n")
	for (i = 1; i <= n; i++)
		without[names[i]] = 1
}

{ sub(/\r$/, "") }

/^=== begin / {
	name = substr($0, 11)
	inside = !(name in without)
	seen = bad = 0
	plan = -1
	begun++
	next
}

!inside { next }

/^=== end / {
	status = $NF
	mark = status == 124 ? " (time-out)" : ""
	if (plan == -1)
		fail("no plan" mark)
	else if (plan != seen)
		fail("planned " plan " tests, ran " seen mark)
	if (status != 0 && status != 4 && !bad)
		fail("exit status " status mark)
	inside = 0
	next
}

/^1\.\.0 +# SKIP/ {
	sub(/^1\.\.0 +# SKIP */, "")
	print "skip " name ": " $0
	plan = seen = 0
	next
}

/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; next }

/^ok .*# SKIP/ { seen++; sub(/^ok [0-9]* *-? */, ""); print "skip " name ": " $0; next }
/^ok( |$)/ { seen++; print "pass"; next }
/^not ok( |$)/ { seen++; sub(/^not ok [0-9]* *-? */, ""); fail($0); next }
/^Bail out!/ { fail($0) }
sub(/^# forgiven: /, "") { print "forgiven " name ": " $0 }
sub(/^# report: /, "") { print "report " name ": " $0 }

END {
	mark = late ? " (time-out)" : ""
	if (inside)
		fail("did not end" mark)
	if (begun < items) {
		name = "suite"
		fail((items - begun) " of " items " tests did not begin" mark)
	}
}
