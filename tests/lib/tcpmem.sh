# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # for the other files
# Limits the memory of TCP as a whole (net.ipv4.tcp_mem). The limit applies to the whole machine,
# so only tests in laboratories may use this file. Needs left.sh. A test that sources this file
# calls normal() at its end.

MEM=/proc/sys/net/ipv4/tcp_mem
MUCH=$(cat $MEM)

normal() { echo "$MUCH" >$MEM; }
# pressed: TCP is under memory pressure: it takes back memory that sockets hold in reserve, and its
# buffers no longer grow.
# over: TCP is over its limit: it refuses memory, except one buffer that each socket needs to make
# progress.
pressed() { echo "1 1 ${MUCH##*[[:space:]]}" >$MEM; }
over() { echo "1 1 1" >$MEM; }

# A Python program that fills the buffers of 16 connections, whose receivers do not read
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

# hog: starts a process that holds more TCP memory than the limit; HOG is its pid
hog() {
	start python3 -c "$HOGGING"
	HOG=$PID
	busywait "$IWT_TIME" hogged
}

# under_pressure: does the kernel report that TCP is under memory pressure?
under_pressure() { awk '$1 == "TCP" { exit $5 != "yes" }' /proc/net/protocols; }
