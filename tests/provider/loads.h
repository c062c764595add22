/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before all sources: what the provider reads of the shared memory calls the fake first,
 * which can be a kernel that changes it at this very moment.
 */
#ifndef FAKE_LOADS_H
#define FAKE_LOADS_H

void fake_load(const void *word);

#define __atomic_load_n(word, order) ({			\
	__typeof__(word) word_ = (word);		\
	fake_load(word_);				\
	__atomic_load_n(word_, order);			\
})

#endif
