# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Packs the files of one run into an archive, which is the machine's third disk.

# payload_place STAGE SCRIPT: prints the path that SCRIPT will have in the machine. Copies SCRIPT
# into STAGE, unless SCRIPT is below tests/, because payload_pack copies the directory tests/ (but
# of tests/vm only gate-test/).
payload_place() {
	local stage=$1 script
	script=$(realpath "$2")
	case $script in
	"$TREE"/tests/*) ;;
	"$TREE"/*) install -D -m 755 "$script" "$stage/opt/iw_tcp/${script#"$TREE"/}" ;;
	*) install -D -m 755 "$script" "$stage/opt/iw_tcp/script/$(basename "$script")"
		echo "/opt/iw_tcp/script/$(basename "$script")"
		return ;;
	esac
	echo "/opt/iw_tcp/${script#"$TREE"/}"
}

# payload_pack BUILD DIR SCRIPT TIME INTERACTIVE ARGS...: makes DIR/payload.tar from the tests,
# SCRIPT and what build.sh has built in the directory BUILD. TIME is the time limit of SCRIPT in
# seconds. If INTERACTIVE is not empty, the machine runs a shell instead of SCRIPT.
payload_pack() {
	local out=$1 dir=$2 script=$3 time=$4 interactive=$5 stage=$2/stage path
	shift 5
	mkdir -p "$stage/opt/iw_tcp/vm" "$stage/opt/iw_tcp/tests"
	rsync -a --include=/vm/gate-test/ --exclude="/vm/*" --exclude=__pycache__ --exclude='*.o' --exclude='*.ko' \
		"$TREE/tests/" "$stage/opt/iw_tcp/tests/"
	# some tests run the commands of these pages and compare the output with the pages
	install -D -m 644 -t "$stage/opt/iw_tcp/Documentation" "$TREE"/Documentation/{operating,looking-inside,tracing}.rst
	install -D -m 644 -t "$stage/opt/iw_tcp/Documentation/applications" "$TREE"/Documentation/applications/*.rst
	install -m 755 -t "$stage/opt/iw_tcp/vm" "$VM_DIR"/guest/{init,gate.sh,leaks,crashed}
	[ -n "$interactive" ] && path=/opt/iw_tcp/tests/. || path=$(payload_place "$stage" "$script")
	{
		declare -p LAB LAB_KIND
		printf 'SCRIPT=%q TIME=%q INTERACTIVE=%q\n' "$path" "$time" "$interactive"
		printf 'ARGS=('; [ $# -eq 0 ] || printf '%q ' "$@"; printf ')\n'
	} >"$stage/opt/iw_tcp/vm/run.env"
	locked "$out/lock" tar -C "$out/payload" -cf "$dir/payload.tar" .
	tar -C "$stage" -rf "$dir/payload.tar" .
	rm -rf "$stage"
	truncate -s %512 "$dir/payload.tar"
}

# payload_add DIR FILES PLACE: adds the files of the directory FILES to DIR/payload.tar, which
# payload_pack has made. In the machine they are in the directory PLACE; "" is the root directory.
payload_add() {
	tar -C "$2" --transform "s,^\\.,.$3,S" -rf "$1/payload.tar" .
	truncate -s %512 "$1/payload.tar"
}
