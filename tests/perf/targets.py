# SPDX-License-Identifier: GPL-2.0
"""The targets of iw_tcp: limits for the ratio or the difference of two figures of the same run. A
figure is named by (case, contestant)."""

US = "iw_tcp"


class Target:
    """The median of the ratio of the figures "of" and "to" must be at least limit (default), at
    most limit (most), or less than limit (below)."""

    def __init__(self, text, of, to, limit, most=False, below=False):
        self.text, self.of, self.to, self.limit = text, of, to, limit
        self.most, self.below = most or below, below

    def sign(self):
        return "<" if self.below else "≤" if self.most else "≥"

    def value(self, res):
        return res.ratio(self.of, self.to)

    def held(self, value):
        if self.below:
            return value < self.limit
        return value <= self.limit if self.most else value >= self.limit

    def verdict(self, res):
        spread = self.value(res)
        if not spread:
            return "-"
        return "held" if self.held(spread.median) else "missed"

    def why_not(self, res):
        for figure in (self.of, self.to):
            if figure not in res.values:
                return res.reasons.get(figure) or "not measured"
        return ""


class Excess(Target):
    """The median of the difference of the figures "of" and "to" must be at most limit."""

    def __init__(self, text, of, to, limit):
        super().__init__(text, of, to, limit, most=True)

    def value(self, res):
        return res.difference(self.of, self.to)


def versus(text, case, other, limit, **how):
    return Target(text, (case, US), (case, other), limit, **how)


def within(text, case, base, limit, **how):
    return Target(text, (case, US), (base, US), limit, **how)


def bandwidth():
    yield versus("64 KB write, MTU 1500, to TCP", "write-64k-1500", "iperf3", 1.0)
    yield versus("64 KB read, MTU 1500, to TCP", "read-64k-1500", "iperf3", 0.9)
    yield versus("64 KB send, MTU 1500, to TCP", "send-64k-1500", "iperf3", 0.9)
    yield versus("64 KB write, MTU 9000, to TCP", "write-64k-9000", "iperf3", 1.2)
    yield versus("64 KB write, MTU 65536, to TCP", "write-64k-65536", "iperf3", 1.2)
    yield within("64 KB send, MTU 1500, to 64 KB write", "send-64k-1500", "write-64k-1500", 0.95)
    for mtu in ("1500", "9000", "65536"):
        for size, name in (("1m", "1 MB"), ("8m", "8 MB")):
            yield within(f"{name} write, MTU {mtu}, to 64 KB", f"write-{size}-{mtu}",
                         f"write-64k-{mtu}", 0.9)
    yield within("64 KB write, 1,000 QPs, to 8", "write-64k-1500-q1000", "write-64k-1500-q8", 0.8)


def messages():
    for kind, text in (("lat", "latency"), ("mean", "latency on average")):
        limit = 0.9 if kind == "lat" else 0.8
        yield versus(f"8 B write {text}, to siw", f"{kind}-write", "siw", limit, most=True)
        yield versus(f"8 B send {text}, to siw", f"{kind}-send", "siw", limit, most=True)
        yield versus(f"8 B read {text}, to siw", f"{kind}-read", "siw", 0.6, most=True)
        yield versus(f"8 B read {text}, to rxe", f"{kind}-read", "rxe", 1.0, below=True)
    yield versus("64 B writes per second, depth 128, to siw", "rate-write-64", "siw", 4.0)


def shared_and_paged():
    yield within("64 KB send, shared receives, to its own", "send-64k-1500-srq", "send-64k-1500", 0.9)
    yield within("64 B sends per second, shared receives, to its own", "rate-send-64-srq",
                 "rate-send-64", 0.9)
    yield within("64 KB write, on-demand paging, to pinned", "write-64k-1500-odp",
                 "write-64k-1500", 0.9)


def instructions():
    case = "insn-write-64k-1500"
    yield versus("instructions/B, 64 KB write, MTU 1500, to siw", case, "siw", 0.6, most=True)
    yield versus("instructions/B, 64 KB write, MTU 1500, to TCP", case, "tcp", 1.0, most=True)
    yield within("instructions/B, 64 KB write, CRC on, to off", case + "-crc", case, 1.35, most=True)
    case = "newest-write-64k-1500"
    yield within("instructions/B, 64 KB write, newest kernel, CRC on, to off", case + "-crc", case, 1.35,
                 most=True)
    yield versus("instructions/B, 1 MB read of NFS, to TCP", "insn-nfs-read-1m", "tcp", 1.0, most=True)
    # CRC is compared by numbers of instructions only, because the kernel of the laboratory "uml"
    # computes it without the processor's instruction
    for op in ("read", "write"):
        case = f"newest-nfs-{op}-1m"
        yield versus(f"instructions/B, 1 MB {op} of NFS, newest kernel, to TCP", case, "tcp", 1.0, most=True)
        yield Target(f"instructions/B, 1 MB {op} of NFS, newest kernel, CRC on, to TCP", (case + "-crc", US),
                     (case, "tcp"), 1.0, most=True)


def two_machines():
    for end in ("sender", "receiver"):
        yield versus(f"instructions/B of the {end}, 64 KB write, to TCP", f"two-write-64k-{end}",
                     "tcp", 1.0, most=True)
        yield versus(f"instructions/B of the {end}, large_fpdus, to TCP",
                     f"two-write-64k-{end}-large", "tcp", 1.0, most=True)


def far_hosts():
    for path, text in (("far", "10 ms"), ("lossy", "10 ms, 0.05 % of buffers lost"),
                       ("single", "10 ms, 0.01 % of segments lost"),
                       ("order", "1 ms, 1 % out of order"), ("plain", "10 ms, no offloads")):
        yield versus(f"1 MB write, {text}, to TCP", f"path-{path}-write-1m", "tcp", 0.9)


def consumers():
    for case, text in (("nvme-randread-4k", "NVMe 4 KB random read, depth 32"),
                       ("nvme-read-128k", "NVMe 128 KB sequential read")):
        yield versus(f"{text}, to NVMe/TCP", case, "tcp", 1.0)
        yield versus(f"{text}, to siw", case, "siw", 1.5)
    for case, text in (("nvme-write-128k", "NVMe 128 KB sequential write, to NVMe/TCP"),
                       ("iser-read-128k", "iSER 128 KB sequential read, to iSCSI over TCP"),
                       ("iser-write-128k", "iSER 128 KB sequential write, to iSCSI over TCP")):
        yield versus(text, case, "tcp", 1.3)
    for op in ("read", "write"):
        case = f"nfs-{op}-1m"
        yield versus(f"NFS 1 MB {op}, to TCP", case, "tcp", 1.3)
        yield versus(f"NFS 4 KB random {op}, depth 32, to TCP", f"nfs-rand{op}-4k", "tcp", 1.2)
    yield Excess("KB of an idle connected QP, beyond rings and socket", ("memory", US),
                 ("memory", "tcp"), 16)


def all_targets():
    for group in (bandwidth, messages, shared_and_paged, instructions, two_machines,
                  far_hosts, consumers):
        yield from group()


def measured(res):
    """Returns the targets for which at least one case was run."""
    return [t for t in all_targets() if t.of[0] in res.order or t.to[0] in res.order]
