/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the parts of iwt_faults share. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* Which allocations may fail */
enum iwt_where {
	IWT_CALLER,	/* allocations of slabs and pages that this thread makes in the kernel */
	IWT_SLABS,	/* allocations of slabs in any context */
	IWT_PAGES,	/* allocations of pages in any context */
};

/*
 * Result of a step that has shown a fault of the kernel. Other results: 0 for success, or -1 with
 * an error in errno.
 */
#define IWT_WRONG	1

extern const char *iwt_link, *iwt_netdev, *iwt_address;
extern struct ibv_device *iwt_device;
extern struct ibv_context *iwt_context;

/* arm.c */
__attribute__((noreturn)) void iwt_die(const char *what);
void iwt_put(const char *file, const char *value);
void iwt_faults_open(void);
void iwt_only(unsigned long from, unsigned long to);
void iwt_aim(enum iwt_where where);
void iwt_arm(unsigned int n);
bool iwt_disarm(void);
unsigned int iwt_pause(void);
void iwt_resume(unsigned int left);

/* link.c */
int iwt_module_load(void);
unsigned int iwt_module_first(void);
int iwt_module_unload(void);
int iwt_link_add(void);
int iwt_link_del(void);
unsigned int iwt_link_most(void);
int iwt_link_drop(void);
int iwt_second_add(void);
int iwt_second_del(void);
int iwt_settings_make(void);
int iwt_settings_remove(void);
void iwt_set(const char *setting, const char *value);
int iwt_netdev_events(void);
int iwt_nothing(void);

/* obj.c */
int iwt_open_device(void);
int iwt_close_device(void);
int iwt_make_pd(void);
int iwt_free_pd(void);
int iwt_make_chan(void);
int iwt_free_chan(void);
int iwt_make_cq(void);
int iwt_free_cq(void);
int iwt_make_cq_ex(void);
int iwt_resize_cq(unsigned int n);
int iwt_free_cq_ex(void);
int iwt_make_qp(void);
int iwt_free_qp(void);
int iwt_make_srq(void);
int iwt_free_srq(void);
int iwt_resize_srq(unsigned int n);
int iwt_make_qp_ex(void);
int iwt_free_qp_ex(void);
int iwt_make_mr_page(void);
int iwt_make_mr(void);
int iwt_make_mr_large(void);
int iwt_free_mr(void);
int iwt_rereg_mr(unsigned int n);
int iwt_make_mr_odp(unsigned int n);
int iwt_make_mr_dmabuf(unsigned int n);
int iwt_make_mw(void);
int iwt_free_mw(void);

/* conn.c */
void iwt_look(void);
int iwt_listen(void);
int iwt_listen_all(void);
int iwt_unlisten(void);
int iwt_resolve(void);
int iwt_unresolve(void);
int iwt_connect(unsigned int n);
int iwt_accept_all(unsigned int n);
int iwt_accept_only(unsigned int n);
int iwt_post(unsigned int n);
int iwt_disconnect(void);
int iwt_knock(void);

/* attach.c */
int iwt_attach_initiator(unsigned int n);
int iwt_attach_responder(unsigned int n);
int iwt_attach_both(void);
int iwt_attach_end(void);
int iwt_direct_first(unsigned int n);
int iwt_direct_second(unsigned int n);
int iwt_direct_both(void);

#endif
