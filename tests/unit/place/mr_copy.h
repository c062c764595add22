/* SPDX-License-Identifier: GPL-2.0 */
static inline void iwt_copy(u8 *to, const u8 *from, size_t len) { memcpy(to, from, len); }
