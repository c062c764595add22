// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Uses no feature: compiles unless the headers or the compiler are broken. */
#include <infiniband/driver.h>
