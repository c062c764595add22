/* SPDX-License-Identifier: GPL-2.0 */
/* Empty: this_cpu_add() of percpu.h disables no interrupts */
