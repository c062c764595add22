/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_LINUX_INETDEVICE_H
#define UNIT_LINUX_INETDEVICE_H

#include "dev.h"

#endif
