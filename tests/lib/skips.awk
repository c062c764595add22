# SPDX-License-Identifier: GPL-2.0
# Reads lines "skip FILE: NAME # SKIP REASON". Prints one line for each file and reason. If there is
# only one such test, the line has its name; otherwise the line has the number of these tests and
# the last parts of their names, each once and without "(by the ...)". If the names are too many for
# a line, "..." replaces the rest.
function note(name, key) {
	sub(/ \(by the [a-z]+\)$/, "", name)
	sub(/^.*: /, "", name)
	if (seen[key, name]++ || full[key])
		return
	if (length(names[key]) > 100) {
		names[key] = names[key] "; ..."
		full[key] = 1
	} else
		names[key] = names[key] (names[key] == "" ? "" : "; ") name
}

/^skip / {
	at = index($0, " # SKIP ")
	reason = at ? ": " substr($0, at + 8) : ""
	name = substr($0, 6, (at ? at : length + 1) - 6)
	file = substr(name, 1, index(name, ": ") - 1)
	name = substr(name, length(file) + 3)
	key = file SUBSEP reason
	if (!number[key]++) {
		keys[++n] = key
		first[key] = name
	}
	note(name, key)
}

END {
	for (i = 1; i <= n; i++) {
		key = keys[i]
		split(key, part, SUBSEP)
		if (number[key] == 1)
			print part[1] ": " first[key] part[2]
		else
			print part[1] ": " number[key] " tests (" names[key] ")" part[2]
	}
}
