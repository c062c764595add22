# SPDX-License-Identifier: GPL-2.0
# Converts a file of the driver for the newest kernel: replaces each hook of include/compat/base
# (compat_NAME or COMPAT_NAME) by the code that the hook stands for on this kernel, and removes the
# lines that include the headers of the hooks. release/patches fails if a hook remains.

# remove the includes, and a blank line after them
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
s/^\tCOMPAT_PORT_SPEED$/\t.query_port_speed = iwt_query_port_speed,/
s/^\tCOMPAT_SRQ_DETAILS$/\t.fill_res_srq_entry = iwt_fill_res_srq,\n\t.fill_res_srq_entry_raw = iwt_raw_srq,/
s/^\tCOMPAT_COUNTER_OBJ$/\t.counter_init = iwt_counter_init,\n\tINIT_RDMA_OBJ_SIZE(rdma_counter, iwt_qp_counter, counter),/
s/\bcompat_ubuf_init(&b->ubuf, &ubuf_ops);/b->ubuf.ops = \&ubuf_ops;/
s/\bcompat_set_rcvlowat(sock, /sock->ops->set_rcvlowat(sock->sk, /
s/\bcompat_set_user_timeout(/tcp_sock_set_user_timeout(/
s/\bcompat_sock_no_task_frag(sk);/sk->sk_use_task_frag = false;/
s/\bcompat_sock_custom_sockopt(s->sock);/set_bit(SOCK_CUSTOM_SOCKOPT, \&s->sock->flags);/

# remove the calls that prevent certain orders of a process's commands: the first patches of the
# series (release/core) make iw_cm accept every order
/\bcompat_iw_/d

# remove the code for older kernels: "if (!compat_NAME...)", perhaps after "else", and the next
# line, which is its only statement
/^\t\(else \)\?if (!compat_.*)$/{
	N
	d
}
# the same with a block of statements
/^\tif (!compat_.*) {$/,/^\t}$/d

# remove the checks whether a ring was freed
s/\bcompat_ring_prod(\(&[^,]*\), [^)]*)/iwt_ring_prod(\1)/
s/\bcompat_ring_exists(&cq->ring) ? \(READ_ONCE([^)]*)\) : [^;]*/\1/
s/\bcompat_ring_exists(&cq->ring) && //

# remove the functions, and the members of structures, for older kernels
/^static .*\bcompat_[a-z_]*(/,/^}$/{
	/^}$/!d
	N
	d
}
/\bcompat_mem\b/d

# remove the rest of the code for kernels whose rdma_cm does not find a device by its net device
/^\tcase NETDEV_CHANGEADDR:$/,/^\t\tbreak;$/d
s/ - compat_cm_copies//
/^\tif (compat_cm_by_netdev)$/{
	N
	s/.*\n\t\t/\t/
}
s/ On older kernels cma_validate_port() compares link layer addresses\.//

# remove the attributes for clang's analysis of locks (tests/locks), which checkpatch can't parse
s/ __guarded_by([^)]*)//
/^\t__context_unsafe(.*)$/d
