# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Tests of a directory (/srv/share) that a server exports and a client mounts on /mnt, both on
# this machine. Needs lib.sh. The suite sets the amount of data (MB, FILES).

MANY=$here/nfs_files.py

# remount [SED-SCRIPT]: unmounts, drops the cached data, and mounts again
remount() { cook here umount && echo 3 >/proc/sys/vm/drop_caches && cook here mount "${1:-}"; }
# write_all: writes a large file and many small files at the client
# read_all: reads these files at the client and at the server, compares their contents with the
# written data, and removes the files
write_all() { python3 "$MANY" write /mnt/all 7 $MB $FILES; }
read_all() {
	python3 "$MANY" check /mnt/all 7 $MB $FILES && verified $((MB << 20)) &&
		python3 "$MANY" check /srv/share/all 7 $MB $FILES && rm -r /mnt/all
}
