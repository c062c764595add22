// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Nothing special: compiles unless the headers or the compiler are broken. */
#include <infiniband/driver.h>
