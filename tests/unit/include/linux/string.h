/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_STRING_H
#define IWT_SHIM_STRING_H

#include <string.h>

#endif
