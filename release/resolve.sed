# SPDX-License-Identifier: GPL-2.0
# The driver as it stands in the newest kernel: the hooks of include/compat/base replaced by
# what they are there, their headers left out. release/patches complains if a hook is left.

# with the blank line behind them
/^#include <compat\//{
	N
	/\n$/d
	D
}
s/\bcompat_create_cq\b/iwt_create_cq/
s/\bcompat_op_resize_user_cq\b/resize_user_cq/
s/\bcompat_resize_user_cq\b/iwt_resize_cq/
s/\bcompat_reg_user_mr_dmabuf\b/iwt_reg_user_mr_dmabuf/
s/\bcompat_reg_user_mr\b/iwt_reg_user_mr/
s/\bcompat_counter_bind_qp\b/iwt_counter_bind_qp/
s/\bcompat_counter_unbind_qp\b/iwt_counter_unbind_qp/
s/^\tCOMPAT_SRQ_DETAILS$/\t.fill_res_srq_entry = iwt_fill_res_srq,\n\t.fill_res_srq_entry_raw = iwt_raw_srq,/
s/^\tCOMPAT_COUNTER_OBJ$/\t.counter_init = iwt_counter_init,\n\tINIT_RDMA_OBJ_SIZE(rdma_counter, iwt_qp_counter, counter),/
s/\bcompat_ubuf_init(&b->ubuf, &ubuf_ops);/b->ubuf.ops = \&ubuf_ops;/
s/\bcompat_sock_no_task_frag(sk);/sk->sk_use_task_frag = false;/
s/\bcompat_sock_custom_sockopt(s->sock);/set_bit(SOCK_CUSTOM_SOCKOPT, \&s->sock->flags);/

# the first patches of the series (release/core) teach iw_cm to stand these orders
/\bcompat_iw_/d

# a choice that this kernel does not have
/^\tif (!compat_cm_by_netdev)$/{
	N
	d
}
/^\tcase NETDEV_CHANGEADDR:$/,/^\t\tbreak;$/d
/^static void update_gid(/,/^}$/{
	/^}$/N
	d
}
/^\tif (compat_cm_by_netdev)$/{
	N
	s/.*\n\t\t/\t/
}
s/ below them, or on older kernels compares link layer addresses\./ below them./

# what clang's analysis of locks reads (tests/locks), but checkpatch cannot
s/ __guarded_by([^)]*)//
/^\t__context_unsafe(.*)$/d
