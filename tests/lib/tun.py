#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Uses tun devices.

tun.py cable NS NETDEV NS NETDEV [NUMBER]
                                    creates a tun device in each of two namespaces, prints
                                    "ready", and passes packets between them until it is killed; the
                                    devices have the type NUMBER (ARPHRD_*)
tun.py type NETDEV NUMBER           creates a persistent tun device of any type (ARPHRD_*) in this
                                    namespace
"""
import ctypes
import fcntl
import os
import select
import struct
import sys

TUNSETIFF, TUNSETPERSIST, TUNSETLINK = 0x400454ca, 0x400454cb, 0x400454cd
TUN_NO_PI = 0x1001
CLONE_NEWNET = 0x40000000


def create(netdev):
    """Creates a tun device in this namespace; returns its file descriptor."""
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", netdev.encode(), TUN_NO_PI))
    return fd


def create_in(namespace, netdev):
    """Enters a namespace, and creates a tun device there; returns its file descriptor."""
    with open("/run/netns/" + namespace, "rb") as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    return create(netdev)


def cable(ns_a, netdev_a, ns_b, netdev_b, number=None):
    """Executes "cable"."""
    a, b = create_in(ns_a, netdev_a), create_in(ns_b, netdev_b)
    for fd in (a, b) if number else ():
        fcntl.ioctl(fd, TUNSETLINK, int(number))
    other = {a: b, b: a}
    print("ready", flush=True)
    while True:
        for fd in select.select([a, b], [], [])[0]:
            try:
                os.write(other[fd], os.read(fd, 65536))
            except OSError as e:
                print(e, flush=True)    # the other device is down: the packet is lost


def with_type(netdev, number):
    """Executes "type"."""
    fd = create(netdev)
    fcntl.ioctl(fd, TUNSETLINK, int(number))
    fcntl.ioctl(fd, TUNSETPERSIST, 1)


{"cable": cable, "type": with_type}[sys.argv[1]](*sys.argv[2:])
