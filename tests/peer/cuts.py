# SPDX-License-Identifier: GPL-2.0
"""
Cuts a part of a stream into random segments: overlapping, doubled, out of order.

schedule() returns the (begin, end) of each segment, in the order of sending. Together the segments
cover the whole part. Segments may overlap. (The receiver may still lack octets, because it drops
segments if its buffer is full.)
"""


def _bounds(rng, begin, end, most):
    """Returns the sorted bounds of random pieces of [begin, end), with begin and end; there are at
    most "most" pieces."""
    count = min(rng.randint(1, most), end - begin)
    return [begin] + sorted(rng.sample(range(begin + 1, end), count - 1)) + [end]


def _pieces(rng, begin, end, most=8):
    cuts = _bounds(rng, begin, end, most)
    return list(zip(cuts, cuts[1:]))


def _reach(rng, size):
    """Returns a random number of octets by which a segment overlaps its neighbour: often 0, 1 or
    2, otherwise at most 40 or at most size."""
    return rng.choice((0, 0, 1, 2, rng.randint(0, 40), rng.randint(0, size)))


def _wider(rng, pieces, left, right):
    size = max(end - begin for begin, end in pieces)
    return [(begin - (_reach(rng, size) if left else 0), end + (_reach(rng, size) if right else 0))
            for begin, end in pieces]


def in_order(rng, begin, end):
    """Segments in order; a segment may begin before the end of the segment before it."""
    return _wider(rng, _pieces(rng, begin, end), True, False)


def backwards(rng, begin, end):
    """Segments from the last to the first; a segment may overlap the segment sent before it."""
    return _wider(rng, _pieces(rng, begin, end), rng.random() < 0.3, True)[::-1]


def shuffled(rng, begin, end):
    """Segments in any order."""
    out = _wider(rng, _pieces(rng, begin, end, 12), True, True)
    rng.shuffle(out)
    return out


def hole(rng, begin, end):
    """All segments except the first; then the first segment, which may overlap others."""
    first, *others = _pieces(rng, begin, end, 10)
    others = _wider(rng, others, True, True) if others else []
    if rng.random() < 0.5:
        rng.shuffle(others)
    return others + [(first[0], rng.randint(first[1], end))]


def growing(rng, begin, end):
    """Segments that begin at the same octet, each longer than the segment before it."""
    return [(begin, place) for place in _bounds(rng, begin, end, 6)[1:]]


def merged(rng, begin, end):
    """Some segments, and then one segment with all octets."""
    pieces = _pieces(rng, begin, end)
    return rng.sample(pieces, rng.randint(0, len(pieces))) + [(begin, end)]


def octets(rng, begin, end):
    """Some segments of one to three octets, then one segment with the rest."""
    middle = min(begin + rng.randint(1, 24), end)
    out = [(place, place + rng.choice((1, 1, 1, 2, 3))) for place in range(begin, middle)]
    if rng.random() < 0.5:
        rng.shuffle(out)
    return out + ([(middle - rng.choice((0, 1, 3)), end)] if middle < end else [])


WAYS = (in_order, backwards, shuffled, hole, growing, merged, octets)
SPANS = (40, 300, 1500, 1500, 4000, 20000)


def schedule(rng, begin, end, floor, ways=WAYS):
    """Returns the (begin, end) of segments that cover [begin, end). A segment may begin before
    begin, but not before floor. ways: for each part, one of these functions is chosen
    at random."""
    out, at = [], begin
    while at < end:
        part = min(rng.choice(SPANS), end - at)
        out += rng.choice(ways)(rng, at, at + part)
        at += part
    for _ in range(rng.choice((0, 0, 1, 3))):
        first, last = rng.choice(out)
        out.insert(rng.randint(0, len(out)), (first - rng.choice((0, 10, 300)), last))
    if rng.random() < 0.2:
        out[0], out[-1] = out[-1], out[0]
    if rng.random() < 0.1:
        out.insert(rng.randint(0, len(out)), (begin, end))
    return [(max(first, floor), min(last, end)) for first, last in out if first < end]
