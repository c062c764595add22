/* SPDX-License-Identifier: GPL-2.0 */
/* Connection management operations for iw_cm. */
#ifndef IWT_CM_H
#define IWT_CM_H

#include <linux/types.h>

struct iw_cm_conn_param;
struct iw_cm_id;
struct iwt_dev;
struct iwt_qp;

/* Operations of struct ib_device_ops. */
int iwt_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iwt_cm_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iwt_cm_reject(struct iw_cm_id *id, const void *pd, u8 pd_len);
int iwt_cm_create_listen(struct iw_cm_id *id, int backlog);
int iwt_cm_destroy_listen(struct iw_cm_id *id);

/* Before a queue pair is destroyed; see there. */
void iwt_cm_qp_abandon(struct iwt_qp *qp);

/* When a device has no clients any more, before it is freed; may sleep. */
void iwt_cm_dev_drain(struct iwt_dev *dev);

/* Module init and exit; exit waits for every connection's last work. */
int iwt_cm_init(void);
void iwt_cm_exit(void);

#endif
