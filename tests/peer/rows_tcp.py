# SPDX-License-Identifier: GPL-2.0
"""
Segments that overlap: TCP's receive queue contains some octets twice. The device must still process
each octet once, and in order (RFC 5044 5.2, A.4).

The device takes an FPDU from the queue as soon as the FPDU is complete. So the queue grows only
while an FPDU is incomplete, and these tests complete an FPDU late.
"""
import fpdu
from outcome import equal
from rows import row
from ulp import SUCCESS, WC_RECV


def stream_of(conn, sizes, size=16):
    """
    Adds FPDUs to the peer's stream, and does not send them: Writes of these sizes, which follow
    each other in memory, and then a Send of size octets. Returns a list of the places of the FPDUs
    in the stream and of the end of the stream, the octets of the Writes, and the octets of the
    Send.
    """
    rng = conn.rng
    data = rng.randbytes(sum(sizes))
    places, done = [], 0
    for each in sizes:
        places.append(conn.tcp.write(conn.peer.frame(fpdu.tagged(
            fpdu.WRITE, conn.stag, conn.addr + done, data[done:done + each]))))
        done += each
    text = rng.randbytes(size)
    places.append(conn.tcp.write(conn.peer.frame(fpdu.untagged(fpdu.SEND, 0, conn.peer.next(0), text))))
    return places + [len(conn.tcp.out)], data, text


def arrived(conn, data, text):
    """Retransmits until all octets are acknowledged. Checks that the device has placed the Writes
    of stream_of(), and that the Send has completed."""
    conn.tcp.settle()
    got = conn.poll()[0]
    equal((got.wr, got.status, got.opcode, got.len), (conn.sends, SUCCESS, WC_RECV, len(text)), "completion")
    equal(conn.received(conn.sends, len(text)), text, "Send")
    conn.sends += 1
    equal(conn.memory(0, len(data)), data, "memory")
    conn.alive()


def own(t, flags=0x40, tcp=None, **how):
    """
    Returns a connection whose responder is the device, and whose peer uses the TCP of tcp.py. tcp:
    arguments of t.own_tcp(); how: arguments of t.passive().
    """
    t.own_tcp(**(tcp or {}))
    conn = t.passive(flags=flags, **how)
    conn.tcp, conn.rng, conn.sends = conn.peer.sock, t.rng, 0
    conn.tcp.settle()
    return conn


def scripted(t, sizes, script, **how):
    """
    Sends the FPDUs of stream_of(conn, sizes) in the segments that script() returns, and checks that
    they arrive. script(size, places) gets the number of octets of all FPDUs and the places of the
    FPDUs, and returns the segments as (begin, end). In script(), the first FPDU has the place 0.
    how: arguments of own().
    """
    conn = own(t, **how)
    places, data, text = stream_of(conn, sizes)
    base = places[0]
    for begin, end in script(places[-1] - base, [p - base for p in places]):
        conn.tcp.segment(base + begin, base + end)
    arrived(conn, data, text)


@row("OPT-14", "MPA-49")
def covers_out_of_order(t):
    """A segment in order overlaps octets that came out of order, and completes the FPDU"""
    scripted(t, [1000], lambda size, at: [(400, size), (0, 700)])


@row("OPT-14", "MPA-49")
def covers_many_out_of_order(t):
    """FPDUs come out of order; then one segment in order overlaps half of them"""
    scripted(t, [300] * 5, lambda size, at: [(at[2] + 9, at[4] + 7), (at[1] - 1, at[3]), (at[3] - 50, size),
                                             (0, at[2] + 100)])


@row("OPT-14", "MPA-49")
def begins_before_what_waits(t):
    """After a part of an FPDU come segments that begin before this FPDU, and within it"""
    scripted(t, [500, 500], lambda size, at: [(0, at[1] + 100), (at[1] - 200, at[1] + 200),
                                              (at[1] + 50, at[1] + 300), (at[1] + 299, size)])


@row("OPT-14", "MPA-49")
def grows_from_its_beginning(t):
    """An FPDU is retransmitted many times from its beginning, each time with more octets"""
    scripted(t, [1200], lambda size, at: [(0, end) for end in range(20, size, 60)] + [(0, size)])


@row("OPT-14", "MPA-49")
def overlaps_out_of_order(t):
    """Segments that come out of order overlap each other, before the first segment comes"""
    scripted(t, [1100], lambda size, at: [(100, 300), (200, 450), (400, 700), (380, 720), (650, size), (0, 101)])


@row("OPT-14", "MPA-49")
def backwards(t):
    """Segments come from the end to the beginning of the stream; each overlaps the segment that was sent before it"""
    scripted(t, [700, 1, 700], lambda size, at: [(begin, min(begin + 90, size)) for begin in
                                                  range(size - size % 50, -1, -50)])


@row("OPT-14", "MPA-49")
def single_octets_overlap(t):
    """Segments of one octet, then segments of two octets, which begin with the last octet received"""
    scripted(t, [60], lambda size, at: [(n, n + 1) for n in range(40)] + [(n, n + 2) for n in range(39, size - 1)])


@row("OPT-14", "MPA-49")
def single_octets_out_of_order(t):
    """Every second octet comes first, then segments of three octets around each missing octet"""
    scripted(t, [200], lambda size, at: [(n, n + 1) for n in range(1, size, 2)] +
             [(max(n - 1, 0), min(n + 2, size)) for n in range(0, size, 2)])


@row("OPT-14", "MPA-49")
def header_twice(t):
    """Length, header, pad, CRC and part of the payload of an FPDU come twice, in overlapping segments"""
    def script(size, at):
        cuts = [1, 2, 3, 15, 16, 17, at[1] - 8, at[1] - 5, at[1] - 4, at[1] - 1, at[1], at[1] + 1, size]
        return [(max(end - 20, 0), end) for end in cuts]
    scripted(t, [333], script)


@row("OPT-14", "MPA-49")
def merged_retransmission(t):
    """Small segments with gaps between them, then two long segments that cover all of the stream"""
    scripted(t, [1000], lambda size, at: [(begin, begin + 70) for begin in range(80, 900, 80)] + [(0, 1000), (30, size)])


@row("OPT-14", "MPA-49")
def retransmission_of_all(t):
    """Segments repeat octets that the device has taken, and continue with new octets"""
    scripted(t, [400, 400, 300], lambda size, at: [(0, at[1]), (0, at[1] + 30), (at[1] - 1, at[2] + 1), (0, size)])


@row("OPT-14", "MPA-49")
def large_segments(t):
    """Buffers of many segments overlap; a network card that merges segments makes such buffers"""
    scripted(t, [6000, 9000, 30000], lambda size, at: [(20000, size), (5000, 12000), (0, 7000), (11000, 25000)])


@row("OPT-14", "MPA-49", "OPT-17")
def fragments_overlap(t):
    """Segments of several IP fragments overlap"""
    conn = own(t)
    places, data, text = stream_of(conn, [1000, 300])
    first, last = places[0], places[-1]
    for begin, end in ((500, last - first), (100, 400), (300, 900), (0, 150)):
        conn.tcp.segment(first + begin, first + end, fragments=104)
    arrived(conn, data, text)


@row("OPT-14", "MPA-49", alone=True)
def overlap_with_markers(t):
    """Overlapping segments of FPDUs with markers"""
    t.setting("markers", "on")
    scripted(t, [1300, 1000], lambda size, at: [(1030, size), (at[1] - 600, at[1] + 200), (510, 1100), (0, 700)])


@row("OPT-14", "MPA-49", alone=True)
def overlap_without_crc(t):
    """Overlapping segments of FPDUs without CRC"""
    t.setting("crc", "off")
    scripted(t, [1000, 1000], lambda size, at: [(900, size), (at[1] - 600, at[1] + 200), (0, 700)], flags=0)


@row("OPT-14", "MPA-49")
def sequence_numbers_wrap(t):
    """Overlapping segments at the place where TCP's sequence numbers wrap to 0"""
    scripted(t, [1000, 1000], lambda size, at: [(900, size), (at[1] - 600, at[1] + 200), (0, 700)],
             tcp={"isn": (1 << 32) - 1100})


@row("OPT-14", "MPA-49")
def overlap_with_stamps(t):
    """Overlapping segments with timestamps, without selective acknowledgments"""
    scripted(t, [1000, 1000], lambda size, at: [(900, size), (at[1] - 600, at[1] + 200), (0, 700)],
             tcp={"stamps": True, "sack": False})
