/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The TCP socket below a connection. sock*.c are the only files that
 * know struct sock; everything above speaks of struct iwt_sock.
 *
 * Locking: "the socket lock" is that of TCP. Callbacks run with it held, in
 * softirq or, when a process owned the socket, in that process's
 * release_sock(); the latter is told by iwt_sock_in_backlog(), and nothing may
 * be transmitted there. No callback may sleep.
 */
#ifndef IWT_SOCK_H
#define IWT_SOCK_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/workqueue.h>

#include "sock_cursor.h"

struct bio_vec;
struct iwt_sock;
struct net;
struct sk_buff;
struct ubuf_info;

enum iwt_sock_state {
	IWT_SOCK_CONNECTING,
	IWT_SOCK_OPEN,
	IWT_SOCK_PEER_CLOSED,	/* FIN received, our direction still open */
	IWT_SOCK_CLOSED,	/* both directions ended, reset or failed */
};

/**
 * struct iwt_sock_ops - who listens to a socket
 * @data_ready: octets, a FIN or, on a listener, a connection arrived
 * @write_space: there is room again after a short iwt_sock_send_pages()
 * @state_change: iwt_sock_state() may have a new value
 * @kick: answer to iwt_sock_kick(); never in the backlog
 *
 * All are called with the socket lock held and bottom halves off, or in the
 * backlog; a member may be NULL.
 */
struct iwt_sock_ops {
	void (*data_ready)(struct iwt_sock *s, void *ctx);
	void (*write_space)(struct iwt_sock *s, void *ctx);
	void (*state_change)(struct iwt_sock *s, void *ctx);
	void (*kick)(struct iwt_sock *s, void *ctx);
};

/* Where a connection goes and with which properties. */
struct iwt_sock_addr {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	int ifindex;		/* bound to this interface, or 0 */
	u8 tos;
	bool tos_set;
	bool v6only;
};

int iwt_sock_init(void);
void iwt_sock_exit(void);

/* Connection management: process context, may sleep, return 0 or -errno. */
int iwt_sock_connect(struct net *net, const struct iwt_sock_addr *addr,
		     const struct iwt_sock_ops *ops, void *ctx,
		     struct iwt_sock **out);
int iwt_sock_listen(struct net *net, const struct iwt_sock_addr *addr,
		    int backlog, const struct iwt_sock_ops *ops, void *ctx,
		    struct iwt_sock **out);
int iwt_sock_accept(struct iwt_sock *listener, const struct iwt_sock_ops *ops,
		    void *ctx, struct iwt_sock **out);
int iwt_sock_recv(struct iwt_sock *s, void *buf, u32 len);
int iwt_sock_send(struct iwt_sock *s, const void *buf, u32 len);
void iwt_sock_set_ops(struct iwt_sock *s, const struct iwt_sock_ops *ops,
		      void *ctx);
void iwt_sock_set_patience(struct iwt_sock *s, u32 keepalive, u32 patience);
void iwt_sock_shutdown(struct iwt_sock *s);
void iwt_sock_release(struct iwt_sock *s, bool abort);
int iwt_sock_names(struct iwt_sock *s, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote);

/* Sockets of processes (sock_user.c): as above. */
int iwt_sock_look(int fd, struct net *net, bool *unread,
		  struct sockaddr_storage *local);
int iwt_sock_take(int fd, struct net *net, const struct iwt_sock_ops *ops,
		  void *ctx, bool *unread, struct iwt_sock **out);
int iwt_sock_keep(struct iwt_sock *s);
void iwt_sock_give_back(struct iwt_sock *s);

/* Any context. */
enum iwt_sock_state iwt_sock_state(const struct iwt_sock *s);
int iwt_sock_error(const struct iwt_sock *s);
u32 iwt_sock_acked(const struct iwt_sock *s);
void iwt_sock_kick(struct iwt_sock *s);
void iwt_sock_call(struct iwt_sock *s);
void iwt_sock_pull(struct iwt_sock *s);
void iwt_sock_kick_later(struct iwt_sock *s);
void iwt_sock_retry(struct iwt_sock *s);

/* With the socket lock held (inside a callback). */
bool iwt_sock_in_backlog(const struct iwt_sock *s);
void iwt_sock_follow_route(struct iwt_sock *s);
bool iwt_sock_writable(struct iwt_sock *s);
bool iwt_sock_starved(const struct iwt_sock *s);
u32 iwt_sock_mss(const struct iwt_sock *s);
int iwt_sock_send_page(struct iwt_sock *s, struct page *page, u32 off, u32 len,
		       int flags);
bool iwt_sock_may_lend(const struct iwt_sock *s, bool anywhere);
int iwt_sock_send_lent(struct iwt_sock *s, const struct bio_vec *piece, u32 n,
		       u32 bytes, u32 skip, struct ubuf_info *ubuf);

/* Segments with octets in them; TCP's own counts, retransmissions included. */
struct iwt_sock_segs {
	u32 in;
	u32 out;
};

u32 iwt_sock_peek(struct iwt_sock *s, struct iwt_sock_cursor *cur);
bool iwt_sock_begins_segment(const struct iwt_sock *s,
			     const struct iwt_sock_cursor *cur, u32 used);
struct iwt_sock_segs iwt_sock_segs(const struct iwt_sock *s);
void iwt_sock_consume(struct iwt_sock *s, u32 len);
void iwt_sock_set_aside(struct iwt_sock *s);
bool iwt_sock_blind(const struct iwt_sock *s);
void iwt_sock_await(struct iwt_sock *s, u32 len);
bool iwt_sock_at_eof(const struct iwt_sock *s);

#endif
