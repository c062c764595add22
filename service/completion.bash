# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of iw_tcp-link(8) for bash
_iw_tcp_link() {
	local word=${COMP_WORDS[COMP_CWORD]} words=() name quoted
	case $COMP_CWORD,${COMP_WORDS[1]} in
	1,*) words=(up down status users) ;;
	2,up | 2,down) words=(/sys/class/net/*/ifindex) words=("${words[@]%/ifindex}") words=("${words[@]##*/}") ;;
	2,users) words=(all group) ;;
	esac
	# compgen -W would execute commands in the names of net devices
	COMPREPLY=()
	for name in "${words[@]}"; do
		printf -v quoted %q "$name"
		[[ $name != "$word"* && $quoted != "$word"* ]] || COMPREPLY+=("$quoted")
	done
}
complete -F _iw_tcp_link iw_tcp-link
