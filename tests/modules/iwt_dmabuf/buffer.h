/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BUFFER_H
#define BUFFER_H

#include "iwt_dmabuf.h"

int iwt_dmabuf_make(struct iwt_dmabuf_make *make);
int iwt_dmabuf_look(struct iwt_dmabuf_use *use);
int iwt_dmabuf_revoke(int fd);

#endif
