# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sources every file of this directory; a file comes after the files that it depends on.
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/common.sh"
. "$here/apt.sh"
. "$here/root.sh"
. "$here/kernel.sh"
. "$here/uml.sh"
. "$here/foreign.sh"
. "$here/kcsan.sh"
. "$here/series.sh"
. "$here/lab.sh"
. "$here/build.sh"
. "$here/packages.sh"
. "$here/payload.sh"
. "$here/races.sh"
. "$here/machine.sh"
