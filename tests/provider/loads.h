/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before all sources. Each atomic load of the provider first calls the fake, which may
 * then change the shared memory, as a real kernel may do at any moment.
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
