/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_LINUX_ETHERDEVICE_H
#define UNIT_LINUX_ETHERDEVICE_H

#include "dev.h"

#endif
