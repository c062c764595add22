#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory regions of dma-bufs. The kernel's udmabuf or the module iwt_dmabuf exports the dma-bufs;
# iwt_dmabuf also moves and revokes buffers.
# IWT_ROUNDS: a number (60) from which iwt_memory computes how often it repeats its tests; a third
# of this number is the number of random regions of each kind of dma-buf. IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_memory
only_iw_tcp "other software drivers have no such regions"
only_with DMABUF
want_settings
modprobe -q iwt_dmabuf || missing_all "module iwt_dmabuf"
two_links
settings_begin

# regions WHAT: runs all dma-buf tests of iwt_memory
regions() {
	tap "$1" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_memory" -a $IP_A -t dmabuf \
		-n "${IWT_ROUNDS:-60}" ${IWT_SEED:+-s "$IWT_SEED"}
}

regions "copied"
with_zerocopy regions "with zero copy"
settings_end
check "the exporter is not in use" modprobe -r iwt_dmabuf
ktap_finish
