# SPDX-License-Identifier: GPL-2.0
"""Computes CRC32c (RFC 3385) with the library peercrc.so of tests/programs. Without this library,
computes it in Python, which is slower."""
import ctypes
import os


def _table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ 0x82F63B78 if n & 1 else n >> 1
        table.append(n)
    return table


_TABLE = _table()


def slow(data):
    """Returns the CRC of data, computed in Python."""
    crc = 0xFFFFFFFF
    for octet in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _library():
    where = os.environ.get("IWT_BIN", "/opt/iw_tcp/bin")
    try:
        lib = ctypes.CDLL(os.path.join(where, "peercrc.so"))
    except OSError:
        return None
    lib.peer_crc32c.restype = ctypes.c_uint32
    lib.peer_crc32c.argtypes = (ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t)
    return lib.peer_crc32c


_FAST = _library()


def crc32c(data):
    """Returns the CRC of data."""
    return _FAST(0, bytes(data), len(data)) if _FAST else slow(data)
