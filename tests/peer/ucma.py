# SPDX-License-Identifier: GPL-2.0
"""
Uses the device file of rdma_cm without librdmacm. So a process can send commands that the library
never sends, and can use the number of any queue pair. The process need not open an RDMA device.

    channel = Channel()
    id = channel.id()
    id.resolve("10.77.0.2", 7174)       # address and route
    id.connect(qpn=17)                  # raises OSError if the kernel refuses the command
    channel.event()                     # returns (event, status, uid, number of the rdma_cm_id)

The events are numbers of enum rdma_cm_event_type.
"""
import ctypes
import ipaddress
import os
import socket
import struct

import patience

(CREATE_ID, DESTROY_ID, RESOLVE_ROUTE, CONNECT, LISTEN, ACCEPT, REJECT, GET_EVENT, BIND,
 RESOLVE_ADDR) = (0, 1, 4, 6, 7, 8, 9, 12, 20, 21)
(ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, ROUTE_ERROR, CONNECT_REQUEST, CONNECT_RESPONSE,
 CONNECT_ERROR, UNREACHABLE, REJECTED, ESTABLISHED, DISCONNECTED, DEVICE_REMOVAL) = range(12)
PS_TCP, QPT_RC = 0x0106, 2
ANSWER = 512
PATIENCE = 20


class NoEvent(Exception):
    """There was no event within the time limit."""


def sockaddr(host, port):
    """Returns a struct sockaddr_storage with the address, and the length of the address."""
    address = ipaddress.ip_address(host)
    if address.version == 4:
        raw = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s", port, address.packed)
        size = 16
    else:
        raw = struct.pack("=H", socket.AF_INET6) + struct.pack(">HI16sI", port, 0, address.packed, 0)
        size = 28
    return raw.ljust(128, b"\0"), size


def conn_param(qpn, private):
    """Returns a struct rdma_ucm_conn_param; private: the private data."""
    return struct.pack("=II256s8B", qpn, 0, private, len(private), 0, 4, 4, 0, 7, 7, 1)


class Channel:
    """An open file of rdma_cm: an event channel."""

    def __init__(self):
        self.fd = os.open("/dev/infiniband/rdma_cm", os.O_RDWR | os.O_CLOEXEC)

    def command(self, number, body, out=0):
        """Executes the command with this number and the structure body. out: the size of the buffer
        for the answer, whose address is in body. Raises OSError if the command fails."""
        os.write(self.fd, struct.pack("=IHH", number, len(body), out) + body)

    def id(self, uid=1):
        """Creates an rdma_cm_id; returns its Id. If uid is 0, the kernel reports no events of the
        rdma_cm_id."""
        answer = ctypes.create_string_buffer(ANSWER)
        self.command(CREATE_ID, struct.pack("=QQHB5x", uid, ctypes.addressof(answer), PS_TCP,
                                            QPT_RC), ANSWER)
        return Id(self, struct.unpack_from("=I", answer)[0])

    def event(self, timeout=PATIENCE):
        """Returns the next event: (event, status, uid, number of the rdma_cm_id). Raises NoEvent if
        no event arrives within timeout seconds."""
        answer = ctypes.create_string_buffer(ANSWER)
        if not patience.ready(self.fd, timeout):
            raise NoEvent
        self.command(GET_EVENT, struct.pack("=Q", ctypes.addressof(answer)), ANSWER)
        uid, number, event, status = struct.unpack_from("=QIIi", answer)
        return event, status, uid, number

    def expect(self, *events):
        """Returns the next event; raises OSError if it is not one of events."""
        got = self.event()
        if got[0] not in events:
            raise OSError(-got[1], "event %d, status %d" % got[:2])
        return got


class Id:
    """An rdma_cm_id of the kernel; number: its number in the commands."""

    def __init__(self, channel, number):
        self.channel, self.number = channel, number

    def bind(self, host, port):
        """Does what rdma_bind_addr() does."""
        addr, size = sockaddr(host, port)
        self.channel.command(BIND, struct.pack("=IHH", self.number, size, 0) + addr)

    def listen(self, backlog=16):
        """Does what rdma_listen() does."""
        self.channel.command(LISTEN, struct.pack("=II", self.number, backlog))

    def resolve(self, host, port):
        """Does what rdma_resolve_addr() and rdma_resolve_route() do, and reads their events."""
        addr, size = sockaddr(host, port)
        self.channel.command(RESOLVE_ADDR, struct.pack("=IIHHI", self.number, PATIENCE * 1000, 0,
                                                       size, 0) + bytes(128) + addr)
        self.channel.expect(ADDR_RESOLVED)
        self.channel.command(RESOLVE_ROUTE, struct.pack("=II", self.number, PATIENCE * 1000))
        self.channel.expect(ROUTE_RESOLVED)

    def connect(self, qpn, private=b""):
        """Does what rdma_connect() does, for the queue pair with the number qpn."""
        self.channel.command(CONNECT, conn_param(qpn, private) +
                             struct.pack("=II8x", self.number, 0))

    def accept(self, qpn, private=b""):
        """Does what rdma_accept() does, for the queue pair with the number qpn."""
        self.channel.command(ACCEPT, struct.pack("=Q", 1) + conn_param(qpn, private) +
                             struct.pack("=II8x", self.number, 0))

    def reject(self):
        """Does what rdma_reject() does."""
        self.channel.command(REJECT, struct.pack("=IBB2x256x", self.number, 0, 0))

    def destroy(self):
        """Does what rdma_destroy_id() does. The caller must have read all events of the
        rdma_cm_id."""
        answer = ctypes.create_string_buffer(ANSWER)
        self.channel.command(DESTROY_ID, struct.pack("=QII", ctypes.addressof(answer), self.number,
                                                     0), ANSWER)
