/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_NET_IPV6_H
#define UNIT_NET_IPV6_H

#include "dev.h"

#endif
