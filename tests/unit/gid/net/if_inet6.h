/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_NET_IF_INET6_H
#define UNIT_NET_IF_INET6_H

#include "dev.h"

#endif
