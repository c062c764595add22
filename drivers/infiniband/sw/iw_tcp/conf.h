/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a link: only what can't be negotiated, and TCP does not know. */
#ifndef IWT_CONF_H
#define IWT_CONF_H

#include <linux/types.h>

enum iwt_crc_policy {
	IWT_CRC_OFF,		/* decline it; it is used if the peer asks for it */
	IWT_CRC_ON,		/* ask for it: so both ends use it */
	IWT_CRC_REQUIRED,	/* and refuse a peer that declines it */
};

enum iwt_zerocopy {
	IWT_ZEROCOPY_OFF,	/* payload is copied */
	IWT_ZEROCOPY_AUTO,	/* TCP refers to payload where that pays */
	IWT_ZEROCOPY_ALWAYS,	/* and where it does not: for tests */
};

/**
 * struct iwt_conf - settings of a link
 * @crc: CRC32c (RFC 5044 4.4: on unless the administrator declines it)
 * @markers: ask for markers in what we receive (RFC 5044 4.3)
 * @mpa_rev: highest revision of MPA that is spoken: 1 or 2 (RFC 6581)
 * @rdmac: accept RDMAC peers, of revision 0 (RFC 5044 C)
 * @large: send FPDUs longer than a segment to peers that consent, by a bit that
 *	RFC 5044 7.1.1 reserves
 * @keepidle: seconds that a connection is idle before the peer is probed; 0: as TCP does
 * @user_timeout: seconds without an acknowledgment, with a closed window, or of a graceful close,
 *	after which the connection is lost; 0: as TCP does, and a close may take as long as
 *	the peer acknowledges something
 * @tos: type of service of connections whose program has not asked for another one
 * @zerocopy: payload of connections without CRC and markers
 * @polling: workers may poll send queues, and engines may spin for a reply (wake.h)
 *
 * Written in process context at any time, each on its own; read once for each connection, when
 * it begins. @polling is read each time that it matters.
 */
struct iwt_conf {
	enum iwt_crc_policy crc;
	bool markers;
	u8 mpa_rev;
	bool rdmac;
	bool large;
	u16 keepidle;
	u16 user_timeout;
	u8 tos;
	enum iwt_zerocopy zerocopy;
	bool polling;
};

#endif
