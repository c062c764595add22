# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Downloads packages of any Debian release, whatever release the host runs. Each suite (trixie, sid
# and so on) has a separate apt state: package lists and cache. The archive's address comes from the
# host's apt configuration. SUITE:ARCHITECTURE is a suite for machines whose architecture is not the
# host's.

# apt_repository: prints the location of the Debian archive that this host uses
apt_repository() {
	local uri
	# shellcheck disable=SC2016
	uri=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' \
		'Created-By: Packages' | awk '$1 == "Debian" { print $2; exit }')
	# shellcheck disable=SC2016
	[ -n "$uri" ] || uri=$(apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' | grep -E '/debian/?$' | head -n 1)
	[ -n "$uri" ] || die "apt knows no Debian archive; run apt-get update"
	printf '%s\n' "$uri"
}

# apt_in SUITE COMMAND...: runs apt-get or apt-cache within SUITE's private state
apt_in() {
	local dir=$CACHE/apt/$1 command=$2 arch=()
	case $1 in
	*:*) arch=(-o "APT::Architecture=${1#*:}" -o "APT::Architectures::=${1#*:}"
		-o "APT::Architectures::=$NATIVE") ;;
	esac
	shift 2
	"$command" -q "${arch[@]}" -o Dir::Etc::sourcelist="$dir/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State::lists="$dir/lists" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$dir" -o Dir::Cache::archives=archives \
		-o Acquire::Languages=none -o Acquire::Retries=3 \
		-o Acquire::Check-Valid-Until=false -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o APT::Get::List-Cleanup=true -o APT::Sandbox::User=root "$@"
}

apt_fetch_lists() {
	local suite=${1%:*} uri dir=$CACHE/apt/$1
	[ -z "$(find "$dir/fresh" -mmin -720 2>/dev/null)" ] || return 0
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	uri=$(apt_repository)
	{
		# From sid, most tests need only source packages. The suite sid:ARCHITECTURE also
		# has the binary packages.
		if [ "$1" = sid ]; then
			echo "deb-src $uri sid main"
		else
			echo "deb $uri $suite main"
			echo "deb-src $uri $suite main"
		fi
	} >"$dir/sources.list"
	if retry apt_in "$1" apt-get update -o APT::Update::Error-Mode=any >"$dir/log" 2>&1; then
		rm -f "$dir"/closure-*
		touch "$dir/fresh"
	elif [ -e "$dir/fresh" ]; then
		log "cannot refresh the package lists of $1; using older ones"
	else
		cat "$dir/log" >&2
		die "cannot fetch the package lists of $1"
	fi
}

# apt_update SUITE: updates SUITE's package lists if they are older than half a day
apt_update() {
	mkdir -p "$CACHE/apt"
	locked "$CACHE/apt/$1.lock" apt_fetch_lists "$1"
}

# apt_field SUITE PACKAGE FIELD: prints a field of the version of PACKAGE that apt would install
apt_field() {
	apt_in "$1" apt-cache show --no-all-versions "$2" |
		sed -n "s/^$3: //p;/^\$/q" || true
}

# apt_closure SUITE PATTERN PACKAGES...: prints "package=version" for each of PACKAGES, for each
# dependency whose name matches PATTERN, for each such dependency of these dependencies, and so on
apt_closure() {
	local suite=$1 pattern=$2 memo; shift 2
	memo=$CACHE/apt/$suite/closure-$(hash_of "$pattern" "$@")
	if [ ! -s "$memo" ]; then
		apt_walk "$suite" "$pattern" "$@" >"$memo.$$"
		mv "$memo.$$" "$memo"
	fi
	cat "$memo"
}

apt_walk() {
	local suite=$1 pattern=$2 package seen=' '; shift 2
	while [ $# -gt 0 ]; do
		package=$1; shift
		[[ $seen != *" $package "* ]] || continue
		seen+="$package "
		printf '%s=%s\n' "$package" "$(apt_field "$suite" "$package" Version)"
		# of alternative dependencies, the first one is enough
		# shellcheck disable=SC2046
		set -- "$@" $(apt_field "$suite" "$package" Depends | tr ',' '\n' |
			awk '{ print $1 }' | grep -E "$pattern" || true)
	done
}

# apt_download SUITE DIR PACKAGES...: downloads the .deb files of PACKAGES into DIR
apt_download() {
	local suite=$1 dir=$2; shift 2
	(cd "$dir" && retry apt_in "$suite" apt-get download "$@")
}
