/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings of a link: parameters that the administrator has to choose, because neither the peer
 * nor TCP can determine them.
 */
#ifndef IWT_CONF_H
#define IWT_CONF_H

#include <linux/types.h>

enum iwt_crc_policy {
	IWT_CRC_OFF,		/* decline the CRC; it is still used if the peer requests it */
	IWT_CRC_ON,		/* request the CRC: so both ends use it */
	IWT_CRC_REQUIRED,	/* request the CRC, and refuse a peer that declines it */
};

enum iwt_zerocopy {
	IWT_ZEROCOPY_OFF,	/* copy payload */
	IWT_ZEROCOPY_AUTO,	/* let TCP refer to payload where that is faster */
	IWT_ZEROCOPY_ALWAYS,	/* let TCP refer to payload even if that is slower: for tests */
};

/**
 * struct iwt_conf - settings of a link
 * @crc: CRC32c (RFC 5044 4.4: on unless the administrator declines it)
 * @markers: request markers in the received stream (RFC 5044 4.3)
 * @mpa_rev: highest revision of MPA to use: 1 or 2 (RFC 6581)
 * @rdmac: accept RDMAC peers, which use revision 0 (RFC 5044 C)
 * @large: offer FPDUs longer than a segment, and send such FPDUs to peers that also offer them.
 *	The offer is a bit of the startup frames that RFC 5044 7.1.1 reserves
 * @keepidle: seconds that a connection is idle before TCP probes the peer; 0: TCP's default
 * @user_timeout: the connection is lost if for this number of seconds the peer acknowledges no
 *	sent data or keeps its window closed, or if a graceful close takes longer. 0: TCP's
 *	default, and a graceful close may take as long as the peer acknowledges data
 * @tos: type of service of connections for which the program has not requested a type of service
 * @zerocopy: how to send the payload of connections without CRC and markers
 * @direct_port: TCP port of direct connections (cm_direct.c); 0: no direct connections
 * @ahead: place data that have arrived behind a gap (rx_place.c). The link then also requests
 *	markers and CRC, because only markers show where FPDUs begin behind a gap
 * @polling: workers may poll send queues, and engines may spin for a reply (wake.h)
 *
 * Each setting may be written in process context at any time, independently of the other
 * settings. A connection reads its settings at its beginning. @user_timeout is read again when a
 * graceful close begins, and @polling each time before a worker polls or an engine spins.
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
	u16 direct_port;
	bool ahead;
};

#endif
