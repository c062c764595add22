# SPDX-License-Identifier: GPL-2.0
"""box.py [OPTION...] COMMAND...: prints the configuration of a container (config.json of the OCI
runtime specification) that runs COMMAND.

--root PATH     the root directory of the container, a mount; the container gets it read only
--net PATH      the file of the network namespace of the container
--device PATH   a character device of this machine that the container gets; may be repeated
--group GID     a further group of the user; may be repeated
--memlock BYTES the limit of locked memory (65536)
--bind PATH     a directory of this machine that the container gets besides "/", read only, such as
                a directory under /tmp; may be repeated

--root and --net are required.
"""
import argparse
import json
import os
import stat

parser = argparse.ArgumentParser()
parser.add_argument("--root", required=True)
parser.add_argument("--net", required=True)
parser.add_argument("--device", action="append", default=[])
parser.add_argument("--group", type=int, action="append", default=[])
parser.add_argument("--memlock", type=int, default=65536)
parser.add_argument("--bind", action="append", default=[])
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()

NOBODY = 65534
KINDS = {"pid": "pid", "ipc": "ipc", "uts": "uts", "mount": "mnt"}


def device(path):
    numbers = os.stat(path).st_rdev
    return {"path": path, "type": "c", "major": os.major(numbers), "minor": os.minor(numbers),
            "fileMode": stat.S_IMODE(os.stat(path).st_mode), "uid": 0, "gid": os.stat(path).st_gid}


def mount(where, kind, *options):
    return {"destination": where, "type": kind, "source": kind, "options": ["nosuid", "nodev", *options]}


print(json.dumps({
    "ociVersion": "1.0.0",
    "process": {
        "user": {"uid": NOBODY, "gid": NOBODY, "additionalGids": args.group},
        "args": args.command,
        "cwd": "/",
        "env": [f"{name}={value}" for name, value in os.environ.items()],
        "capabilities": {},
        "noNewPrivileges": True,
        "rlimits": [{"type": "RLIMIT_MEMLOCK", "soft": args.memlock, "hard": args.memlock}],
    },
    "root": {"path": args.root, "readonly": True},
    "mounts": [
        mount("/proc", "proc"),
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
        mount("/sys", "sysfs", "ro"),
        mount("/tmp", "tmpfs"),
        *({"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]} for path in args.bind),
    ],
    "linux": {
        # not every kernel has all kinds of namespaces
        "namespaces": [*({"type": kind} for kind, name in KINDS.items() if os.path.exists(f"/proc/self/ns/{name}")),
                       {"type": "network", "path": args.net}],
        "devices": [device(path) for path in args.device],
    },
}, indent=1))
