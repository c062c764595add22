# SPDX-License-Identifier: GPL-2.0
"""Captures packets on an interface, reads and writes pcap files, and reassembles TCP streams."""
import collections
import ctypes
import ipaddress
import socket
import shutil
import struct
import subprocess
import threading
import time

from outcome import Skip, check

MAGIC, ETHERNET = 0xA1B2C3D4, 1
FIN, SYN, RST, ACK = 1, 2, 4, 16
ETH_P_ALL = 3
SOL_PACKET, PACKET_STATISTICS = 263, 6

Packet = collections.namedtuple("Packet", "time src dst seq ack flags window options payload df fragment")


def tcp(frame, when=0.0):
    """Returns the Packet in an Ethernet frame, or None if the frame has no TCP header or is an IP
    fragment. when: the time of the frame."""
    if len(frame) < 34:
        return None
    kind, df, fragment = struct.unpack(">H", frame[12:14])[0], False, False
    ip = frame[14:]
    if kind == 0x0800:
        size, total = (ip[0] & 15) * 4, struct.unpack(">H", ip[2:4])[0]
        bits = struct.unpack(">H", ip[6:8])[0]
        df, fragment, protocol = bool(bits & 0x4000), bool(bits & 0x3FFF), ip[9]
        src, dst, body = ip[12:16], ip[16:20], ip[size:total]
    elif kind == 0x86DD and len(ip) >= 40:
        protocol, total = ip[6], struct.unpack(">H", ip[4:6])[0]
        src, dst, body, df = ip[8:24], ip[24:40], ip[40:40 + total], True
    else:
        return None
    if protocol != socket.IPPROTO_TCP or fragment or len(body) < 20:
        return None
    sport, dport, seq, ack, head, flags, window = struct.unpack(">HHIIBBH", body[:16])
    head = (head >> 4) * 4
    name = ipaddress.ip_address
    return Packet(when, (str(name(src)), sport), (str(name(dst)), dport), seq, ack, flags, window,
                  body[20:head], body[head:], df, fragment)


def only_port(sock, port):
    """Lets a packet socket receive only packets from or to a TCP port (by a classic BPF filter)."""
    ldh, ldh_x, ldx_ip, jeq, ret = 0x28, 0x48, 0xB1, 0x15, 0x06
    program = ((ldh, 0, 0, 12), (jeq, 0, 4, 0x86DD),
               (ldh, 0, 0, 54), (jeq, 7, 0, port), (ldh, 0, 0, 56), (jeq, 5, 6, port),
               (ldx_ip, 0, 0, 14), (ldh_x, 0, 0, 14), (jeq, 2, 0, port), (ldh_x, 0, 0, 16), (jeq, 0, 1, port),
               (ret, 0, 0, 1 << 18), (ret, 0, 0, 0))
    octets = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *words) for words in program))
    sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", len(program), ctypes.addressof(octets)))


class Capture:
    """
    Captures the packets of an interface from or to an address and TCP port, from now on until
    stop(). (The port alone is not sufficient: another address may use the same port at the same
    time.) path: a pcap file for the packets, or None.
    """

    def __init__(self, interface, address, port, path=None):
        self.end, self.packets, self.frames = (str(ipaddress.ip_address(address)), port), [], []
        self.keep = path
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)   # SO_RCVBUFFORCE
        only_port(self.sock, port)
        self.sock.bind((interface, 0))
        self.sock.settimeout(0.2)
        self.over, self.lost = False, 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while True:
            # read self.over before the wait, because packets that arrive before stop() must be read
            over = self.over
            try:
                frame, where = self.sock.recvfrom(1 << 17)
            except socket.timeout:
                if over:
                    return
                continue
            except OSError:
                return
            # a loopback interface shows each packet twice
            if where[0] == "lo" and where[2] == socket.PACKET_OUTGOING:
                continue
            packet = tcp(frame, time.time())
            if packet and self.end in (packet.src, packet.dst):
                self.packets.append(packet)
                if self.keep:
                    self.frames.append((packet.time, frame))

    def stop(self):
        """ Ends the capture when no more packets arrive; returns all packets. Sets self.lost to the
        number of packets that the socket dropped. """
        self.over = True
        self.thread.join()
        self.lost = struct.unpack("II", self.sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
        self.sock.close()
        if self.keep:
            write(self.keep, self.frames)
            self.keep = None
        return self.packets

    def close(self):
        """Ends the capture, if stop() was not called."""
        if self.thread.is_alive():
            self.stop()


def write(path, frames):
    """Writes a pcap file; frames: (time, octets) of each frame."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, 1 << 18, ETHERNET))
        for when, frame in frames:
            file.write(struct.pack("<IIII", int(when), int(when % 1 * 1e6), len(frame), len(frame)) + frame)


def read(path):
    """Returns the Packets in a pcap file: Ethernet, in either byte order, with micro- or
    nanoseconds."""
    with open(path, "rb") as file:
        head = file.read(24)
        order = "<" if struct.unpack("<I", head[:4])[0] in (MAGIC, 0xA1B23C4D) else ">"
        out = []
        while True:
            part = file.read(16)
            if len(part) < 16:
                return out
            sec, usec, size, _ = struct.unpack(order + "IIII", part)
            packet = tcp(file.read(size), sec + usec / 1e6)
            if packet:
                out.append(packet)


class Flow:
    """
    One direction of a TCP connection. octets: the stream after the SYN; pieces: the segments as
    (offset, size), in the order of sending, without retransmissions; again: the retransmitted
    segments, as (offset, size).
    """

    def __init__(self, packets):
        self.packets = packets
        self.octets, self.pieces, self.again, self.problems = bytearray(), [], [], []
        first = next((p for p in packets if p.flags & SYN), None)
        self.isn = first.seq + 1 if first else min((p.seq for p in packets), default=0)
        self.options = first.options if first else b""
        self.ended = [p.flags & (FIN | RST) for p in packets if p.flags & (FIN | RST)]
        later = {}
        for packet in packets:
            if packet.payload:
                self._data(packet, later)
        if later:
            self.problems.append("a gap at %d of the stream" % len(self.octets))

    def _data(self, packet, later):
        at, data = packet.seq - self.isn & 0xFFFFFFFF, packet.payload
        # streams of tests are shorter than 2^32 octets, so offsets do not wrap
        if at + len(data) <= len(self.octets) or at in later:
            self.again.append((at, len(data)))
        else:
            self.pieces.append((at, len(data)))
        later[at] = max(later.get(at, b""), data, key=len)
        while True:
            begin = next((a for a in later if a <= len(self.octets)), None)
            if begin is None:
                return
            data = later.pop(begin)
            old = self.octets[begin:begin + len(data)]
            if old != data[:len(old)]:
                self.problems.append("other octets when sent again, at %d" % begin)
            self.octets += data[len(old):]


def tshark(path, fields, condition):
    """
    Runs tshark on the packets in the file path that match condition, a display filter. Returns a
    list of the values of the fields for each packet; without fields, returns the text of tshark.
    """
    if not shutil.which("tshark"):
        raise Skip("no tshark here")
    words = ["tshark", "-r", path, "-Y", condition] + (["-T", "fields"] if fields else ["-V"])
    for field in fields:
        words += ["-e", field]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    check(done.returncode == 0, "tshark:", done.stderr[-300:])
    if not fields:
        return done.stdout
    return [line.split("\t") for line in done.stdout.splitlines()]


def flows(packets):
    """Returns the Flow of each direction: {(source, destination): Flow}."""
    parts = collections.defaultdict(list)
    for packet in packets:
        parts[packet.src, packet.dst].append(packet)
    return {ends: Flow(part) for ends, part in parts.items()}
