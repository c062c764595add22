# SPDX-License-Identifier: GPL-2.0
"""Runs the upper layer of the device under test: the program iwt_ulp, which executes commands
(tests/programs/ulp/main.c)."""
import collections
import os
import subprocess
import threading
import time

import patience
from outcome import Fail, Late, check

# a completion; opcode: a number of enum ibv_wc_opcode; status: a number of enum ibv_wc_status; wr:
# the wr_id
Completion = collections.namedtuple("Completion", "wr status opcode len flags imm qpn")
SUCCESS, LOC_LEN_ERR, LOC_QP_OP_ERR, LOC_PROT_ERR, FLUSH, MW_BIND_ERR = 0, 1, 2, 4, 5, 6
REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR, GENERAL_ERR, FATAL_ERR = 9, 10, 11, 21, 20
WC_SEND, WC_WRITE, WC_READ, WC_CAS, WC_FADD, WC_BIND_MW, WC_RECV, WC_RECV_IMM = 0, 1, 2, 3, 4, 5, 128, 129
WITH_IMM, WITH_INV = 2, 8
# asynchronous events: numbers of enum ibv_event_type
(CQ_ERR, QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, COMM_EST, SQ_DRAINED) = range(6)
(SRQ_ERR, SRQ_LIMIT, LAST_WQE) = 14, 15, 16
# states of a queue pair: numbers of enum ibv_qp_state
RESET, INIT, RTR, RTS, SQD, SQE, ERR = range(7)
# commands that wait for an event, and the event= of their answer if there is no event in time
NO_EVENT = {"event": "none", "cqevent": "0", "async": "-1"}


# seconds within which a process must end
PATIENCE = int(os.environ.get("IWT_ULP_PATIENCE", "60"))


class UlpError(Fail):
    """A command of iwt_ulp failed; number: the errno, or 0 if the answer has no errno."""

    def __init__(self, command, answer):
        super().__init__("%s: %s" % (command[:100], answer))
        words = answer.split()
        self.number = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


class Ulp:
    """One process of iwt_ulp. Each command of iwt_ulp is a method of this class, for example
    ulp.listen(id=300, addr="::")."""

    trace = False   # print each command, and how long it takes

    def __init__(self, command):
        self.proc = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True)
        self.lock = threading.Lock()
        self.number = 0

    def new(self):
        """Returns a new number for an object. (Numbers below 1000 are those that iwt_ulp itself
        assigns.)"""
        self.number += 1
        return 999 + self.number

    def cmd(self, name, **args):
        """Executes a command; returns its answer: {name: value}, with numbers as int. Raises
        UlpError if the command fails, and Late if the command waited for an event in vain for a
        second or more (a shorter wait is for an event that must not happen)."""
        line = " ".join([name] + ["%s=%s" % (k, v.hex() if isinstance(v, bytes) else v)
                                  for k, v in args.items() if v is not None])
        began = time.monotonic()
        with self.lock:
            try:
                self.proc.stdin.write(line + "\n")
                self.proc.stdin.flush()
                answer = self.proc.stdout.readline()
            except OSError as error:
                answer = "err: %s" % error
        if self.trace:
            print("# %4d ms: %s -> %s" % ((time.monotonic() - began) * 1000, line[:160], answer[:160].strip()))
        words = answer.split()
        if not words or words[0] != "ok":
            raise UlpError(line, answer.strip() or "the end of iwt_ulp")
        out = {}
        for word in words[1:]:
            key, _, value = word.partition("=")
            out[key] = value if key in ("event", "data", "wc", "name", "gid") else int(value, 0)
        if args.get("ms", 0) >= 1000 and name in NO_EVENT and out["event"] == NO_EVENT[name]:
            raise Late("%s: no event" % line)
        return out

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda **args: self.cmd(name, **args)

    def accept_or_not(self, **args):
        """Accepts a request whose connection may have ended; returns whether the command
        succeeded."""
        try:
            self.cmd("accept", **args)
        except UlpError:
            return False
        return True

    def event(self, ms=30000, want=None, **args):
        """Returns the next event of the rdma_cm_id "id"; waits up to ms milliseconds for it. want:
        the name of the expected event, or a tuple of names."""
        got = self.cmd("event", ms=ms, **args)
        got["data"] = bytes.fromhex(got.get("data", ""))
        want = (want,) if isinstance(want, str) else want
        check(want is None or got["event"] in want, "event %s wanted:" % (want,), got)
        return got

    def poll(self, n=1, ms=30000, exact=True, **args):
        """Waits up to ms milliseconds for n completions, and returns them. If fewer arrive,
        raises Fail, or Late if ms is a second or more; with exact=False, returns the completions
        that have arrived."""
        words = self.cmd("poll", n=n, ms=ms, **args)["wc"].split(",")
        out = [Completion(*map(int, word.split(":"))) for word in words if word]
        if exact and len(out) < n:
            raise (Late if ms >= 1000 else Fail)("%d completions wanted: %r" % (n, out))
        return out

    def none(self, ms=300, **args):
        """Checks that no completion arrives within ms milliseconds."""
        got = self.poll(1, ms, False, **args)
        check(not got, "no completion wanted:", got)

    def dump(self, **args):
        """Returns octets of a memory region (command "dump")."""
        return bytes.fromhex(self.cmd("dump", **args)["data"])

    def fails(self, name, **args):
        """Executes the command name, which must fail; returns the errno."""
        try:
            got = self.cmd(name, **args)
        except UlpError as error:
            return error.number
        raise Fail("%s succeeds: %s" % (name, got))

    def close(self):
        """Ends the input of the process, which must then destroy its objects and exit with status
        0."""
        try:
            self.proc.stdin.close()
        except OSError:
            pass
        try:
            status = patience.ended(self.proc, PATIENCE)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            status = "none"
        self.proc.stdout.close()
        check(status == 0, "iwt_ulp ends with status", status)
