# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of iw_tcp-link(8) for bash
_iw_tcp_link() {
	local word=${COMP_WORDS[COMP_CWORD]} words=()
	case $COMP_CWORD,${COMP_WORDS[1]} in
	1,*) words=(up down status users) ;;
	2,up | 2,down) words=(/sys/class/net/*/ifindex) words=("${words[@]%/ifindex}") words=("${words[@]##*/}") ;;
	2,users) words=(all group) ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$word")
}
complete -F _iw_tcp_link iw_tcp-link
