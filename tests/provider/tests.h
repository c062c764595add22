/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TESTS_H
#define TESTS_H

/* test_device.c */
void test_device(void);
/* test_cq.c */
void test_cq(void);
void test_cq_ex(void);
/* test_cq_resize.c */
void test_cq_resize(void);
/* test_pd.c */
void test_pd(void);
/* test_qp.c */
void test_qp(void);
/* test_srq.c */
void test_srq(void);
/* test_post.c */
void test_send(void);
void test_recv(void);
/* test_wr.c */
void test_wr(void);

/* test_mw.c */
void test_mw(void);
/* test_iwtdv.c */
void test_iwtdv(void);
/* test_threads.c */
void test_threads(void);

#endif
