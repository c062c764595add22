/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows: STags for a part of a region. */
#ifndef IWT_MW_H
#define IWT_MW_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>

struct iwt_dev;
struct iwt_mr;
struct iwt_party;
struct iwt_window;

/**
 * struct iwt_mw - the verbs object of a window
 * @ibmw: verbs object; RDMA core frees the object without an RCU grace period
 * @win: window, in separate memory: engines may still look up the window after @ibmw was freed
 */
struct iwt_mw {
	struct ib_mw ibmw;
	struct iwt_window *win;
};

/**
 * struct iwt_mw_bind - parameters of a work request BIND_MW
 * @stag: index of the window, and its new key
 * @lkey: lkey of the region
 * @addr: tagged offset, in the region, of the first byte of the window
 * @len: length in bytes; 0 unbinds a window of type 1
 * @access: enum ib_access_flags
 */
struct iwt_mw_bind {
	u32 stag;
	u32 lkey;
	u64 addr;
	u64 len;
	int access;
};

static inline struct iwt_mw *to_iwt_mw(struct ib_mw *mw)
{
	return container_of(mw, struct iwt_mw, ibmw);
}

#ifdef CONFIG_INFINIBAND_IW_TCP_WINDOWS
/*
 * Functions for work requests. Bottom halves may be on or off; the functions never sleep, and
 * return IWT_OK or IWT_ERR_*.
 */
u32 iwt_mw_bind(struct iwt_dev *dev, const struct iwt_mw_bind *b,
		const struct iwt_party *party, struct list_head *list);
u32 iwt_mw_invalidate(struct iwt_mr *mr, u32 stag, const struct iwt_party *party,
		      bool remote);

/* Does a stream have a bound window of type 2? */
bool iwt_mw_any(struct iwt_dev *dev, struct list_head *list);

/* Process context, may sleep; iwt_mw_stag(): any context. */
struct iwt_window *iwt_mw_create(struct ib_pd *pd, bool type2);
u32 iwt_mw_stag(const struct iwt_window *win);
void iwt_mw_destroy(struct iwt_window *win);
void iwt_mw_end(struct iwt_dev *dev, const struct iwt_party *party,
		struct list_head *list);
#else
static inline u32 iwt_mw_bind(struct iwt_dev *dev, const struct iwt_mw_bind *b,
			      const struct iwt_party *party, struct list_head *list)
{
	return IWT_ERR_LOCAL;
}

static inline u32 iwt_mw_invalidate(struct iwt_mr *mr, u32 stag,
				    const struct iwt_party *party, bool remote)
{
	return IWT_ERR_LOCAL;
}

static inline bool iwt_mw_any(struct iwt_dev *dev, struct list_head *list)
{
	return false;
}

static inline void iwt_mw_end(struct iwt_dev *dev, const struct iwt_party *party,
			      struct list_head *list)
{
}
#endif

#endif
