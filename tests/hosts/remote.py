#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs commands on another host, for two connected laboratories.

remote.py serve ADDRESS PORT             a server: listens at ADDRESS and PORT, and executes the
                                         commands that clients send, until a client sends "end"
remote.py run ADDRESS PORT COMMAND       a client: bash on the server executes COMMAND; the client
                                         prints the output, and exits with the status of COMMAND
remote.py run ADDRESS PORT -- WORD...    the same; each WORD is one word of the command
"""
import shlex
import socket
import subprocess
import sys
import threading


def receive(conn):
    data = b""
    while True:
        part = conn.recv(65536)
        if not part:
            return data
        data += part


def obey(conn, ended):
    with conn:
        command = receive(conn).decode()
        if command == "end":
            conn.sendall(b"\0000")
            ended.set()
            return
        done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        # the exit status that a shell uses for a signal
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        conn.sendall(done.stdout.replace(b"\0", b"") + b"\0%d" % status)


def serve(address):
    ended = threading.Event()
    with socket.create_server(address) as listener:
        listener.settimeout(0.5)
        while not ended.is_set():
            try:
                conn = listener.accept()[0]
            except TimeoutError:
                continue
            conn.settimeout(None)
            threading.Thread(target=obey, args=(conn, ended)).start()
    return 0


def run(address, command):
    with socket.create_connection(address, timeout=20) as conn:
        conn.settimeout(None)
        conn.sendall(command.encode())
        conn.shutdown(socket.SHUT_WR)
        output, _, status = receive(conn).rpartition(b"\0")
    sys.stdout.buffer.write(output)
    return int(status or b"255")


def main():
    what, address, port = sys.argv[1:4]
    if what == "serve":
        return serve((address, int(port)))
    words = sys.argv[4:]
    command = shlex.join(words[1:]) if words[0] == "--" else words[0]
    return run((address, int(port)), command)


if __name__ == "__main__":
    sys.exit(main())
