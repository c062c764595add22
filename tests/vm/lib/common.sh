# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Messages, and the cache. An artefact is a directory of the cache: a userland, a kernel or the
# like, which is made once and then used by many runs. all.sh sources this file first.
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

# retry COMMAND...: runs COMMAND until it succeeds, at most three times; for commands that use the
# network
retry() {
	local n
	for n in 1 2 3; do
		if "$@"; then return 0; fi
		log "attempt $n failed: $*"
		sleep $((n * 2))
	done
	return 1
}

# hash_of WORDS...: prints a short hash (12 hexadecimal digits) of its arguments
hash_of() { printf '%s\n' "$@" | sha256sum | cut -c1-12; }

# file_hash FILES...: prints a short hash of the files' contents
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

# pin DIR: marks the artefact DIR as used now, and locks DIR, so that prune() does not remove DIR.
# The lock ends when this process and its children, which inherit the lock, have ended.
pin() {
	local fd
	exec {fd}<"$1"
	flock -s "$fd"
	touch -c "$1"
}

# prune NAME KEEP: removes the artefacts NAME-HASH that were not used for two days. Never removes
# the directory KEEP, or a directory that a process has locked (pin).
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
	# Run the builder in a separate shell, because "set -e" has no effect inside a condition.
	# The output of this shell goes to a log. If the shell fails, show the end of the log.
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

# artefact VAR NAME KEY BUILDER [ARGS]: sets VAR to the artefact NAME-KEY, where KEY is a hash of
# everything that determines the contents. If this directory is missing, runs "BUILDER ARGS DIR" to
# fill a temporary directory DIR, and renames DIR when it is complete. With LAB_READY=1 builds
# nothing: if the directory is missing, the program ends with status 3.
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
