# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Changes the settings of links in configfs. configfs has the settings of a link only after the test
# has made a directory with the name of the link (settings_begin).

SETTINGS=/sys/kernel/config/iw_tcp

# want_settings: mounts configfs; skips the test if the kernel has no configfs
want_settings() { want_configfs || skip_all "no configfs here"; }

# settings_begin: makes the directories of both links
# settings_end: removes these directories
settings_begin() { mkdir "$SETTINGS/$DEV_A" "$SETTINGS/$DEV_B"; }
settings_end() { rmdir "$SETTINGS/$DEV_A" "$SETTINGS/$DEV_B"; }

# set_link LINK NAME VALUE: changes a setting of LINK
# set_links NAME VALUE: changes a setting of both links
set_link() { echo "$3" >"$SETTINGS/$1/$2"; }
set_links() { set_link "$DEV_A" "$@" && set_link "$DEV_B" "$@"; }

# may_zerocopy: does the driver support zero copy on this kernel?
may_zerocopy() { ! is_realtime && has_feature ZEROCOPY; }

# may_poll: does the driver support the setting polling on this kernel?
may_poll() { ! is_realtime && has_feature POLLING; }

# with_zerocopy COMMAND...: turns zero copy on and CRC off on both links, and runs COMMAND; does not
# restore these settings. If the driver does not support zero copy, only reports a skip.
with_zerocopy() {
	if ! may_zerocopy; then
		skip "with zero copy" "not with PREEMPT_RT, or the driver was built without ZEROCOPY"
		return
	fi
	set_links crc off
	check "zero copy" set_links zerocopy always
	"$@"
}

# setting LINK NAME: prints the value of a setting of LINK
setting() { cat "$SETTINGS/$1/$2"; }
