# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for the other files
# Sets the limits of all TCP memory (net.ipv4.tcp_mem). The limits apply to the whole machine, so
# only tests in laboratories may use this file. Needs left.sh. A test that sources this file calls
# normal() at its end, which restores the limits.

MEM=/proc/sys/net/ipv4/tcp_mem
MUCH=$(cat $MEM)

normal() { echo "$MUCH" >$MEM; }
# pressed: puts TCP under memory pressure. TCP then takes back memory that sockets have in reserve,
# and does not enlarge its buffers.
# over: puts TCP over its limit. TCP then gives a socket only the one buffer that the socket needs
# to make progress.
pressed() { echo "1 1 ${MUCH##*[[:space:]]}" >$MEM; }
over() { echo "1 1 1" >$MEM; }

# A Python program that fills the buffers of 16 connections; nothing reads from these connections
HOGGING='
import socket, time
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
listener.bind(("127.0.0.1", 0))
listener.listen(16)
keep = []
for i in range(16):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20)
    s.connect(listener.getsockname())
    s.setblocking(False)
    keep += [s, listener.accept()[0]]
    try:
        while True:
            s.send(bytes(1 << 16))
    except BlockingIOError:
        pass
time.sleep(3600)'

hogged() { [ "$(tcp_has mem)" -gt 2000 ]; }

# hog: starts a process whose TCP connections use more memory than the limits of pressed() and
# over(); sets HOG to its pid
hog() {
	start python3 -c "$HOGGING"
	HOG=$PID
	busywait "$IWT_TIME" hogged
}

# under_pressure: does the kernel report that TCP is under memory pressure?
under_pressure() { awk '$1 == "TCP" { exit $5 != "yes" }' /proc/net/protocols; }
