#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests that the directory of selftests works like a kselftest: "make run_tests" on a machine and in
# a kernel tree, and a selftest in the directory into which the kernel's Makefile installs the
# selftests. Instead of all selftests, runs one that passes and one that is skipped.
# shellcheck disable=SC2317 # check() calls the functions
tests=$(dirname "$(realpath "$0")")
# shellcheck source=tests/lib/begin.sh
. "$tests/lib/begin.sh"

tree=$TMP/kernel/tools/testing/selftests
installed=$TMP/installed/iw_tcp/selftests
export IWT_QUICK=1

# run_tests DIR ARGUMENT...: runs "make run_tests" in DIR with the ARGUMENTs. Prints the output, and
# writes it to $TMP/made.
run_tests() {
	local rc=0
	make -s -C "$1" run_tests "${@:2}" >"$TMP/made" 2>&1 || rc=$?
	cat "$TMP/made"
	return $rc
}
made() { grep -q "$1" "$TMP/made"; }

# A short form of the kernel's lib.mk, with the parts that the selftests' Makefile uses
library() {
	cat <<'END'
OUTPUT ?= $(CURDIR)
TEST_GEN_FILES := $(patsubst %,$(OUTPUT)/%,$(TEST_GEN_FILES))
all: $(TEST_GEN_FILES)
run_tests: all
	@for t in $(TEST_PROGS); do (cd $(OUTPUT) && ./$$t); echo "$$t ends with $$?"; done
install: all
	@mkdir -p $(INSTALL_PATH)
	@cp -p $(TEST_PROGS) $(TEST_FILES) $(TEST_GEN_FILES) $(wildcard config settings) $(INSTALL_PATH)
	@for f in $(TEST_INCLUDES); do install -D $$f $(INSTALL_PATH)/$$f || exit; done
END
}

# whole: are all files installed that the selftests use outside their directory?
whole() {
	local name rc=0 n=0
	while read -r name; do
		n=$((n + 1))
		[ -e "$installed/$name" ] || { echo "there is no $name"; rc=1; }
	done < <(cat "$installed"/../*/*.sh | grep -oE '\.\./[a-z]+/[a-z_]+\.(sh|py|awk|json)' | sort -u)
	echo "$n names"
	[ "$n" -gt 5 ] && return "$rc"
}

# not_programs: prints the selftests that are not executable. (The kernel's test runner executes the
# selftests as programs.)
not_programs() { find "$tests/selftests" -name '*.sh' -not -perm -111 | grep .; }
installed_runs() { (cd "$installed" && ./reject.sh); }

begin make rping iwt_conn
check "all selftests are executable" not not_programs
check "a machine: a selftest passes" run_tests "$tests/selftests" TEST_PROGS=reject.sh
check "a machine: a selftest that passes is counted" made '^[1-9][0-9]* passed, 0 failed'
IWT_LINK_TYPE=siw run_tests "$tests/selftests" TEST_PROGS=budgets.sh >/dev/null
check "a machine: a selftest that skips is counted" made '^0 passed, 1 failed, 1 skipped$'

mkdir -p "$tree"
cp -a "$tests" "$tree/iw_tcp"
library >"$tree/lib.mk"
check "a kernel tree: a selftest runs" run_tests "$tree/iw_tcp/selftests" TEST_PROGS=reject.sh
check "a kernel tree: the selftest passes" made '^reject.sh ends with 0$'
IWT_LINK_TYPE=siw run_tests "$tree/iw_tcp/selftests" TEST_PROGS=budgets.sh >/dev/null
check "a kernel tree: a selftest that skips ends with 4" made '^budgets.sh ends with 4$'
check "a kernel tree: the selftests are installed" make -s -C "$tree/iw_tcp/selftests" install INSTALL_PATH="$installed"
check "installed: nothing is missing" whole
rm -rf "$tree"
check "installed: a selftest passes" installed_runs
ktap_finish
