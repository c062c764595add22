#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""borrowed.py NAMESPACE DEVICE-INDEX ADDRESS: tests what RDMA netlink shows to a privileged process
on a socket that an unprivileged process has opened. The unprivileged process opens the socket in
NAMESPACE and passes the socket to this process, which has privileges. This process uses the socket
to request the queue pairs of the device, and prints how often ADDRESS occurs in the answers.
Fails if the kernel refuses the request, or if no answer contains a queue pair."""
import array
import ctypes
import os
import socket
import struct
import sys

NETLINK_RDMA, NLDEV, RES_QP_GET, DEV_INDEX = 20, 5, 10, 1
REQUEST, DUMP, DONE, ERROR = 1, 0x300, 3, 2


def lend(namespace, channel):
    """Runs in the process without privileges: opens the socket, and sends it through channel."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(os.open("/run/netns/" + namespace, os.O_RDONLY), 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
    lent = array.array("i", [sock.fileno()])
    channel.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, lent)])


def borrow(namespace):
    """Returns the socket that the process without privileges opened."""
    ours, theirs = socket.socketpair()
    if not os.fork():
        lend(namespace, theirs)
        os._exit(0)
    data = ours.recvmsg(1, socket.CMSG_LEN(4))[1][0][2]
    os.wait()
    return socket.socket(fileno=array.array("i", data)[0])


def dump(sock, device):
    """Requests the queue pairs of the device on sock, and yields each received datagram."""
    kind = NLDEV << 10 | RES_QP_GET
    sock.send(struct.pack("=IHHIIHHI", 24, kind, REQUEST | DUMP, 1, 0, 8, DEV_INDEX, device))
    while True:
        data = sock.recv(1 << 16)
        yield data
        kind = struct.unpack_from("=IH", data)[1]
        if kind == ERROR:
            sys.exit("the kernel refuses: %d" % struct.unpack_from("=i", data, 16))
        if kind == DONE:
            return


answers = list(dump(borrow(sys.argv[1]), int(sys.argv[2])))
if not any(b"rdmap_state" in each for each in answers):
    sys.exit("no answer has a queue pair")
print(sum(each.count(sys.argv[3].encode()) for each in answers))
