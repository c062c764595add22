# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A directory of a server that a client mounts on /mnt: /srv/share, on this machine. Needs lib.sh;
# the suite says how much is written (MB, FILES).

MANY=$here/nfs_files.py

# remount [CHANGE]: the client forgets what it has read
remount() { cook here umount && echo 3 >/proc/sys/vm/drop_caches && cook here mount "${1:-}"; }
write_all() { python3 "$MANY" write /mnt/all 7 $MB $FILES; }
read_all() {
	python3 "$MANY" check /mnt/all 7 $MB $FILES && verified $((MB << 20)) &&
		python3 "$MANY" check /srv/share/all 7 $MB $FILES && rm -r /mnt/all
}
