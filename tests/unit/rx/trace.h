/* SPDX-License-Identifier: GPL-2.0 */
static inline bool trace_iwt_fpdu_rx_enabled(void) { return false; }
