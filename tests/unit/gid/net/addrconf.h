/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_NET_ADDRCONF_H
#define UNIT_NET_ADDRCONF_H

#include "dev.h"

#endif
