/* SPDX-License-Identifier: GPL-2.0 */
/* Workqueues for the workers of pagers. */
#ifndef IWT_MR_ODP_QUEUE_H
#define IWT_MR_ODP_QUEUE_H

struct iwt_pager_queue;
struct work_struct;

/* Maximum number of faults that one pager resolves at the same time. */
#define IWT_PAGER_WORKERS	16

struct iwt_pager_queue *iwt_pager_queue_get(void);
void iwt_pager_queue_put(struct iwt_pager_queue *q);
void iwt_pager_queue_work(struct iwt_pager_queue *q, struct work_struct *work);

#endif
