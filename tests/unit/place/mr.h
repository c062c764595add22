/* SPDX-License-Identifier: GPL-2.0 */
/* Stub: see rx_priv.h. */
