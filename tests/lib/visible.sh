# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reads values from the output of "rdma". Needs net.sh.

# of_object KIND LINK NAME MATCH...: finds the one object in the output of "rdma -dd resource show
# KIND" whose values agree with each MATCH (NAME=VALUE), and prints the value NAME of this object.
# Fails, and prints all objects, if no object or more than one object agrees.
of_object() {
	local kind=$1 link=$2
	shift 2
	[ "$kind" = qp ] && link="link $link" || link="dev $link"
	# shellcheck disable=SC2086
	rdma -dd -j resource show "$kind" $link | python3 -c '
import json, sys
name, match = sys.argv[1], [m.split("=", 1) for m in sys.argv[2:]]
text = sys.stdin.read()
all = json.loads(text) if text.strip() else []
got = [o for o in all if not [k for k, v in match if str(o.get(k)) != v]]
if len(got) != 1:
    sys.exit("%d of %s in %s" % (len(got), match, all))
print(got[0].get(name, ""))' "$@"
}

# qp_of LINK PID: prints the number of the queue pair of a process
qp_of() { of_object qp "$1" lqpn pid="$2"; }

# connected_qp LINK PID: is the queue pair of the process connected?
connected_qp() { [ "$(of_object qp "$1" state pid="$2" 2>/dev/null)" = RTS ]; }

# counter_of LINK NAME MATCH...: finds the one queue pair counter in the output of "rdma statistic
# qp show" whose values agree with each MATCH (NAME=VALUE), and prints the value NAME of this
# counter. Fails if no counter or more than one counter agrees.
counter_of() {
	local link=$1
	shift
	rdma -j statistic qp show link "$link/1" | python3 -c '
import json, sys
name, match = sys.argv[1], [m.split("=", 1) for m in sys.argv[2:]]
text = sys.stdin.read()
all = json.loads(text) if text.strip() else []
got = [c for c in all if not [k for k, v in match if str(c.get(k)) != v]]
if len(got) != 1:
    sys.exit("%d of %s in %s" % (len(got), match, all))
def find(o):
    if isinstance(o, dict):
        if name in o:
            return o[name]
        o = list(o.values())
    for one in o if isinstance(o, list) else []:
        found = find(one)
        if found is not None:
            return found
    return None
print(find(got[0]))' "$@"
}

# counters_of LINK: prints the number of queue pair counters of LINK
counters_of() { rdma -j statistic qp show link "$1/1" | python3 -c '
import json, sys
text = sys.stdin.read()
print(len([c for c in json.loads(text) if c.get("cntn")]) if text.strip() else 0)'; }

# raw_agrees KIND LINK: does the raw dump have the form that include/uapi/rdma/iw_tcp-raw.h
# describes, and does it agree with the output of "rdma -dd"?
raw_agrees() {
	local link="dev $2"
	[ "$1" != qp ] || link="link $2"
	# shellcheck disable=SC2086
	rdma -r -j resource show "$1" $link >"$TMP/raw" && rdma -dd -j resource show "$1" $link >"$TMP/details" &&
		python3 "$(dirname "${BASH_SOURCE[0]}")/raw.py" "$1" "$TMP/raw" "$TMP/details"
}
# raw_sending LINK: does a raw dump show a queue pair in the middle of a message?
raw_sending() {
	rdma -r -j resource show qp link "$1" >"$TMP/raw" && python3 "$(dirname "${BASH_SOURCE[0]}")/raw.py" sending "$TMP/raw"
}
