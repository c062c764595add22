/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the parts of iwt_attach share. */
#ifndef ATTACH_H
#define ATTACH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <infiniband/iwtdv.h>
#include <infiniband/verbs.h>

#define BUF		4096
#define RECVS		16
#define PATIENCE	60	/* seconds until a missing event is an error */

/*
 * One end of a connection: a queue pair, and the socket @fd that is attached to the queue pair.
 */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t buf[RECVS + 1][BUF];	/* the last buffer is for sending */
	char text[BUF];			/* the last message received */
	int fd;
};

/*
 * A thread that accepts one MPA Request, or rejects the Request if @reject is set.
 *
 * @last_message: text that the thread sends before it waits for the Request, or NULL
 * @pd: private data of the thread's answer, or NULL
 * @err: errno of the failed call of the library, or 0
 */
struct responder {
	struct end *end;
	const char *last_message;
	bool reject;
	const char *pd;
	pthread_t thread;
	int err;
	struct iwtdv_request req;
	struct iwtdv_conn conn;
};

/* How the peer ends its stream: not at all, with a FIN, or with a reset. */
enum { STAYS, FIN, RST };

/*
 * A peer that implements MPA itself, in a thread of this program. When the peer has received the
 * Request, it sends a signal to the thread @reader, then sends @octets, and then calls @then. The
 * signal handler delays @reader until all bytes have arrived at @reader_fd, or until no byte has
 * arrived for @still milliseconds (for 5 seconds, if @still is 0). Then the handler sets
 * @going, spins @delay times in a loop, and returns.
 *
 * @how: how @then ends the stream
 * @turns: turns of a delay loop before @then ends the stream
 * @partial: @still is 0, and the handler has returned before all bytes had arrived
 */
struct peer {
	pthread_t thread;
	pthread_t reader;
	int reader_fd;
	int fd;
	uint8_t *octets;
	size_t len;
	void (*then)(struct peer *p);
	int how;
	int turns;
	int delay;
	int still;
	volatile bool going;
	volatile bool partial;
};

#define IWT_PIECE	1400
#define IWT_TINY	60000	/* number of FPDUs without payload; each FPDU has 20 bytes */
#define IWT_LAST	"after all that"
#define IWT_NO_ROOM	"not all octets fit into the buffer"

#define IWT_HELD_CTL	"/sys/kernel/debug/iwt_held/ctl"

/* Settings of the link that differ from the default */
struct link_settings {
	bool plain;	/* mpa_revision is 1 */
	bool no_crc;	/* crc is off */
};

extern struct link_settings iwt_link;
extern const char *iwt_device;
extern const char *iwt_ip;
extern const char *iwt_netns;
extern int iwt_timeout;

/* conn.c */
void iwt_die(const char *what);
void iwt_ok(bool good, const char *what);
void iwt_is(int got, int want, const char *what);
void iwt_skip(const char *what, const char *why);
int iwt_plan(void);
struct end *iwt_open(void);
void iwt_destroy_qp(struct end *e);
void iwt_close(struct end *e);
bool iwt_post(struct end *e, const char *text);
bool iwt_send(struct end *e, const char *text);
bool iwt_receive(struct end *e, const char *text);
void iwt_bursts(struct end *e[2], int times, bool good[2]);
int iwt_wc(struct ibv_cq *cq, struct ibv_wc *wc);
bool iwt_failed(struct end *e);
bool iwt_hung_up(int fd);
int iwt_modify(struct end *e, enum ibv_qp_state state);
int iwt_listen(const char *ip, uint16_t *port);
int iwt_dial(const char *ip, uint16_t port);
void iwt_mss_pair(const char *ip, int mss, int fds[2]);
void iwt_tcp_pair(const char *ip, int fds[2]);
bool iwt_say(int fd, const char *text);
bool iwt_hear(int fd, const char *text);
void iwt_respond(struct responder *r);
int iwt_responded(struct responder *r);
int iwt_connect(struct end *e, const char *pd, struct iwtdv_conn *conn);
void iwt_attach_pair(struct end *e[2], const int fds[2]);
void iwt_make_pair(struct end *e[2], const char *ip);
void iwt_close_pair(struct end *e[2]);

/* cases.c, frames.c, fds.c, icmp.c */
void iwt_cases(void);
void iwt_frames(void);
void iwt_fds(void);
void iwt_without(void);
void iwt_icmp(void);
void iwt_race(void);

/* steps.c */
int iwt_peer_begin(struct end *e, struct peer *p, const int fds[2]);
void iwt_peer_end(int fd, int how);
bool iwt_peer_ended(int fd);
struct ibv_mr *iwt_peer_memory(struct end *e);
void iwt_peer_compose(struct peer *p, const struct ibv_mr *mr, size_t payload, size_t octets);
void iwt_room_pair(int fds[2], int all);
void iwt_peer_forget(struct end *e, struct ibv_mr *mr, struct peer *p);
void iwt_steps(void);

/* held.c, crowd.c, late.c, gap.c, window.c, linger.c */
void iwt_held(void);
void iwt_crowd(void);
int iwt_owned(const char *how);
void iwt_busy(int seconds);
bool iwt_ctl(const char *line, int fd);
void iwt_late(void);
void iwt_gap(void);
void iwt_window(void);
void iwt_buffer(void);
void iwt_linger(void);
struct end *iwt_closing(int fds[2]);

/* serve.c */
int iwt_serve(uint16_t port);
int iwt_client(uint16_t port);
int iwt_hold(uint16_t port);

#endif
