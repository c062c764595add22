# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Reports of data races (KCSAN). If a function of this tree is on the stack of one of the two
# processors, the report fails the run like every other bad message. Other reports are about the
# rest of the kernel: messages() leaves them out, and races_elsewhere prints their functions.
# Reports about five races are treated in the same way, although a function of this tree may be on
# a stack: any module can cause these races by a correct call. core() recognises these races by the
# two functions that access the memory:
# - the workqueue reads work->data without a mark, while a caller queues the work;
# - TCP reads or ends the ownership of a socket, while another task tries to lock the socket;
# - the scheduler reads the flags of a task, while the task asks for a capability;
# - an XArray removes an empty node, while a reader looks up an entry of this node;
# - rdma_nl reads the values of a counter without the lock under which the driver writes them.

# The awk program of both filters below. The program holds back the lines of a report until the
# report ends. Then it prints the lines if a line has a function of this tree and core() does not
# recognise the report; otherwise it drops the lines. With names=1 it prints no lines, and at the
# end it prints the functions and the numbers of the dropped reports.
RACES_AWK='
function is_ours(line) {
	return line ~ /BUG: KCSAN:|\+0x[0-9a-f]+\/0x[0-9a-f]+/ &&
		line ~ /\[iw_tcp\]|(^|[^A-Za-z0-9_])iwt_/
}
function core(title) {
	return title ~ /data-race in (__pwq_activate_work|clear_pending_if_disabled|move_linked_works|process_one_work) \/ (mod_delayed_work_on|queue_work_on|queue_delayed_work_on)( |$)/ ||
		title ~ /data-race in (__tcp_ack_snd_check \/ lock_sock_nested|lock_sock_nested \/ release_sock)( |$)/ ||
		title ~ /data-race in xa_load \/ xas_store( |$)/ ||
		title ~ /data-race in kthread_is_per_cpu \/ ns_capable_noaudit( |$)/ ||
		title ~ /data-race in fill_res_counter_entry \/ iwt_counter_update_stats/
}
function let_go() {
	if (core(title)) ours = 0
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

# without_races_elsewhere: a filter that removes the reports of these races outside this tree
without_races_elsewhere() { awk "$RACES_AWK"; }

# races_elsewhere: a filter that prints a line "NUMBER<tab>FUNCTIONS" for each race outside this
# tree, where NUMBER is the number of its reports
races_elsewhere() { awk -v names=1 "$RACES_AWK" | sort -k1,1nr -k2; }
