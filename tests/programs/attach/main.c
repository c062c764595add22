// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of delayed startup: RDMA starts on sockets that the program has connected (iwtdv(7)).
 * "TAP" means that the program prints results in the Test Anything Protocol.
 *
 *	iwt_attach cases DEVICE IP [SETTING...]	startup, TAP; settings of the link: "plain"
 *						(revision 1) or "nocrc" (CRC off)
 *	iwt_attach fds DEVICE IP [NETNS]	descriptors that cannot be attached, TAP
 *	iwt_attach without DEVICE IP		a driver without delayed startup, TAP
 *	iwt_attach icmp DEVICE IP		ICMP errors, which must not end a connection, TAP
 *	iwt_attach race DEVICE IP		other system calls during an attach, TAP
 *	iwt_attach held DEVICE IP		a socket that has an owner at the attach, TAP
 *	iwt_attach crowd DEVICE IP		many sockets that have an owner, TAP
 *	iwt_attach late DEVICE IP		calls that began before the attach, TAP
 *	iwt_attach owned DEVICE IP HOW		a connection whose socket the module iwt_held owns
 *						until the link is deleted; HOW: "hold" or "ambush"
 *	iwt_attach steps DEVICE IP		much work at once, TAP
 *	iwt_attach gap DEVICE IP		a connection that ends during an attach, TAP
 *	iwt_attach window DEVICE IP		a full receive buffer at the attach, TAP
 *	iwt_attach buffer DEVICE IP		a small receive buffer at the attach, TAP
 *	iwt_attach linger DEVICE IP		the end of a stream whose socket has an owner, TAP
 *	iwt_attach serve DEVICE IP PORT		a server; its clients choose its actions (serve.c)
 *	iwt_attach client DEVICE IP PORT	connects to "serve", until the server ends
 *	iwt_attach hold DEVICE IP PORT		an initiator that receives no Reply
 *
 * DEVICE is an RDMA device. IP is an address of this device; for "client" and "hold" IP and PORT
 * are the address of the server. NETNS is the file of another network namespace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"

const char *iwt_device, *iwt_ip, *iwt_netns;
struct link_settings iwt_link;
int iwt_timeout;	/* timeout of the startup, in milliseconds */

static void parse_settings(char **words)
{
	for (; *words; words++) {
		iwt_link.plain |= !strcmp(*words, "plain");
		iwt_link.no_crc |= !strcmp(*words, "nocrc");
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[1] : "";
	uint16_t port = argc > 4 ? atoi(argv[4]) : 0;

	if (argc > 3) {
		iwt_device = argv[2];
		iwt_ip = argv[3];
	}
	if (!strcmp(what, "serve"))
		return iwt_serve(port);
	if (!strcmp(what, "client"))
		return iwt_client(port);
	if (!strcmp(what, "hold"))
		return iwt_hold(port);
	if (!strcmp(what, "owned"))
		return iwt_owned(argc > 4 ? argv[4] : "");
	if (!strcmp(what, "cases")) {
		parse_settings(argv + 4);
		iwt_cases();
	} else if (!strcmp(what, "fds")) {
		iwt_netns = argv[4];
		iwt_fds();
	} else if (!strcmp(what, "without")) {
		iwt_without();
	} else if (!strcmp(what, "icmp")) {
		iwt_icmp();
	} else if (!strcmp(what, "held")) {
		iwt_held();
	} else if (!strcmp(what, "crowd")) {
		iwt_crowd();
	} else if (!strcmp(what, "late")) {
		iwt_late();
	} else if (!strcmp(what, "steps")) {
		iwt_steps();
	} else if (!strcmp(what, "gap")) {
		iwt_gap();
	} else if (!strcmp(what, "window")) {
		iwt_window();
	} else if (!strcmp(what, "buffer")) {
		iwt_buffer();
	} else if (!strcmp(what, "busy")) {
		iwt_busy(4);
	} else if (!strcmp(what, "linger")) {
		iwt_linger();
	} else if (!strcmp(what, "race")) {
		iwt_timeout = 300;
		iwt_race();
	} else {
		fprintf(stderr, "usage: see %s\n", __FILE__);
		return 2;
	}
	return iwt_plan();
}
