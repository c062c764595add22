# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Messages, and the cache of prepared files (artefacts). Every script in tests/vm sources this
# file.
set -euo pipefail
shopt -s inherit_errexit

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034 # for the other files
TREE=$(cd "$VM_DIR/../.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/iw_tcp/vm
export LC_ALL=C
umask 022

log() { printf 'vm: %s\n' "$*" >&2; }
die() { log "error: $*"; exit 1; }

# retry COMMAND...: three attempts, for commands that use the network
retry() {
	local n
	for n in 1 2 3; do
		if "$@"; then return 0; fi
		log "attempt $n failed: $*"
		sleep $((n * 2))
	done
	return 1
}

# hash_of WORDS...: prints a short key of its arguments
hash_of() { printf '%s\n' "$@" | sha256sum | cut -c1-12; }

# file_hash FILES...: prints a short key of the files' contents
file_hash() { cat -- "$@" | sha256sum | cut -c1-12; }

# locked FILE COMMAND...: runs COMMAND while this shell holds a lock on FILE. COMMAND does not
# inherit the lock, so a daemon that COMMAND starts cannot keep it.
locked() {
	local file=$1 fd rc=0; shift
	exec {fd}>"$file"
	flock "$fd"
	"$@" {fd}>&- || rc=$?
	exec {fd}>&-
	return "$rc"
}

# pin DIR: prune() does not remove DIR until this process and its children have ended
pin() {
	local fd
	exec {fd}<"$1"
	flock -s "$fd"
	touch -c "$1"
}

# prune NAME KEEP: removes artefacts of NAME that were not used for two days, except the directory
# KEEP
prune() {
	local dir fd
	for dir in "$CACHE/$1"-????????????; do
		if [ ! -d "$dir" ] || [ "$dir" = "$2" ]; then continue; fi
		[ -n "$(find "$dir" -maxdepth 0 -mmin +2880)" ] || continue
		exec {fd}<"$dir"
		if flock -xn "$fd"; then
			mv "$dir" "$dir.old" && rm -rf "$dir.old"
		fi
		exec {fd}<&-
	done
}

build_artefact() {
	local name=$1 dir=$2; shift 2
	[ ! -d "$dir" ] || return 0
	rm -rf "$CACHE/$name-"*.tmp "$CACHE/$name-"*.old
	mkdir "$dir.tmp"
	log "preparing $name"
	local start=$SECONDS
	# A separate shell, because "set -e" has no effect inside a condition. Its output is
	# written to a log, and the log is shown if the shell fails.
	# shellcheck disable=SC2016
	if ! bash -c '. "$1/lib/all.sh"; shift; "$@"' build "$VM_DIR" "$@" "$dir.tmp" \
		>"$CACHE/$name.log" 2>&1 </dev/null; then
		tail -n 40 "$CACHE/$name.log" >&2
		rm -rf "$dir.tmp"
		die "cannot prepare $name (see $CACHE/$name.log)"
	fi
	sync -f "$dir.tmp"
	mv -T "$dir.tmp" "$dir"
	log "$name is ready after $((SECONDS - start)) s"
	prune "$name" "$dir"
}

# artefact VAR NAME KEY BUILDER [ARGS]: sets VAR to the cached directory of NAME with KEY. If
# there is no such directory, "BUILDER ARGS tempdir" fills a temporary one, which is renamed when
# it is complete. With LAB_READY=1 nothing is built: if the directory is missing, the program ends
# with status 3.
artefact() {
	local -n result=$1
	local name=$2 key=$3; shift 3
	mkdir -p "$CACHE"
	result=$CACHE/$name-$key
	[ -d "$result" ] || [ -z "${LAB_READY:-}" ] || exit 3
	[ -d "$result" ] ||
		locked "$CACHE/$name.lock" build_artefact "$name" "$result" "$@"
	pin "$result"
}
