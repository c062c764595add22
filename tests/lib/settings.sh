# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Changes the settings of links in configfs. A test that does so makes a directory for each link.

SETTINGS=/sys/kernel/config/iw_tcp

want_settings() { want_configfs || skip_all "no configfs here"; }

# settings_begin makes the directories of both links; settings_end removes them
settings_begin() { mkdir "$SETTINGS/$DEV_A" "$SETTINGS/$DEV_B"; }
settings_end() { rmdir "$SETTINGS/$DEV_A" "$SETTINGS/$DEV_B"; }

# set_link LINK NAME VALUE: changes a setting of LINK; set_links NAME VALUE: of both links
set_link() { echo "$3" >"$SETTINGS/$1/$2"; }
set_links() { set_link "$DEV_A" "$@" && set_link "$DEV_B" "$@"; }

# with_zerocopy COMMAND...: runs COMMAND with zero copy on both links, if the kernel supports it
with_zerocopy() {
	if [ -e /sys/kernel/realtime ]; then
		skip "with zero copy" "not with PREEMPT_RT"
		return
	fi
	set_links crc off
	check "zero copy" set_links zerocopy always
	"$@"
}

# setting LINK NAME: prints the value of a setting
setting() { cat "$SETTINGS/$1/$2"; }
