#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""settings.py DIRECTORY SEED ROUNDS OFF: writes random texts to the settings of a link, which are
files in DIRECTORY. After each write, compares the kernel's error, and the values that all
settings show, with a model. OFF is a list, separated by commas, of the settings for which this
driver accepts only the value "off" or 0. Prints TAP."""
import errno
import os
import random
import re
import sys

FLAG = {"off": "off", "0": "off", "n": "off", "N": "off", "on": "on", "1": "on", "y": "on", "Y": "on"}
CRC = {"required": "required", **FLAG}
ZEROCOPY = {"off": "off", "auto": "auto", "always": "always"}
ALPHABET = "0123456789abcdefonrequildwasytNY+-xX \n\t.,\0\x7f\xff"
EDGES = (0, 1, 2, 3, 4, 7, 8, 59, 60, 252, 253, 254, 255, 256, 32766, 32767, 32768, 65535, 65536, 2**31, 2**32,
         2**32 + 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 10**30)


def number(text, bits):
    """Parses text as kstrtou8(), kstrtou16() and so on do with base 0, for a type of this many
    bits. Returns (value, None) or (None, errno)."""
    m = re.match(r"\+?(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))", text)
    if not m:
        return None, errno.EINVAL
    value = int(m[1], 16) if m[1] else int(m[2], 8) if m[2] else int(m[3])
    # if a number does not fit into 64 bits, the kernel reports ERANGE, and does not check the
    # text after the number
    if value < 2**64 and text[m.end():] not in ("", "\n"):
        return None, errno.EINVAL
    return (value, None) if value < 2**bits else (None, errno.ERANGE)


def bounded(bits, good, bad=errno.ERANGE):
    def model(text):
        value, err = number(text, bits)
        if err:
            return None, err
        return (str(value), None) if good(value) else (None, bad)
    return model


def word(words):
    return lambda text: (words[text.removesuffix("\n")], None) if text.removesuffix("\n") in words else (None, errno.EINVAL)


def models(off):
    """Returns {setting: model}. A model is a function of the text that is written to the setting.
    It returns (value that the setting shows after the write, None) or (None, errno)."""
    flag, zerocopy = word(FLAG), word(ZEROCOPY)

    def possible(name, setting):
        def model(text):
            value, err = setting(text)
            return (None, errno.EOPNOTSUPP) if name in off and value not in (None, "off", "0") else (value, err)
        return model
    return {"crc": word(CRC), "markers": flag, "rdmac_permissive": flag, "large_fpdus": flag,
            "mpa_revision": bounded(8, lambda n: 1 <= n <= 2), "keepidle": bounded(16, lambda n: n <= 32767),
            "user_timeout": bounded(16, lambda n: n <= 32767), "tos": bounded(8, lambda n: not n & 3, errno.EINVAL),
            "zerocopy": possible("zerocopy", zerocopy), "polling": possible("polling", flag),
            "direct_port": possible("direct_port", bounded(16, lambda n: True)),
            "ahead": possible("ahead", flag)}


def guess(rnd):
    """Returns a random text: a word or a number, correct or damaged, or random characters."""
    kind = rnd.randrange(4)
    if kind == 0:
        text = rnd.choice(list(CRC) + list(ZEROCOPY) + ["yes", "no", "true", "ON", "Off", "10", "1 ", "none", "of"])
    elif kind == 1:
        text = rnd.choice(("%d", "0x%x", "0%o", "+%d", "-%d", "0X%X")) % (rnd.choice(EDGES) if rnd.random() < .7
                                                                          else rnd.randrange(70000))
    else:
        text = "".join(rnd.choice(ALPHABET) for _ in range(rnd.choice((0, 1, 1, 2, 3, 8, 100, 4000))))
    if kind < 2 and rnd.random() < .3:
        at = rnd.randrange(len(text) + 1)
        text = text[:at] + rnd.choice(ALPHABET) + text[at + rnd.randrange(2):]
    return text + rnd.choice(("", "\n"))


def write(path, text):
    """Writes text to the file path; returns the errno, or None if the write succeeded."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode("latin-1"))
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)
    return None


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def search(directory, rnd, rounds, model, off):
    """Returns a text about the first difference between the kernel and the model, or None if there
    is no difference. Tries at least "rounds" texts, and up to ten times as many until each setting
    has accepted and refused five of them; returns a text if even this is not sufficient. The
    settings in "off", which accept a single value, may accept fewer."""
    names = list(model)
    shown = {name: read(directory + "/" + name).rstrip("\n") for name in names}
    accepted, refused = dict.fromkeys(names, 0), dict.fromkeys(names, 0)

    def too_few():
        return min(n for name, n in accepted.items() if name not in off) < 5 or min(refused.values()) < 5
    for tried in range(10 * rounds):
        if tried >= rounds and not too_few():
            break
        name = rnd.choice(names)
        text = guess(rnd)
        # an empty text never reaches the driver. Of any other text, the driver gets only the part
        # before the first NUL.
        if not text:
            continue
        value, err = model[name](text.split("\0")[0])
        got = write(directory + "/" + name, text)
        if got != err:
            return "%s: %r: errno %s instead of %s" % (name, text, got, err)
        if err is None:
            shown[name] = value
        (refused if err else accepted)[name] += 1
        for other in names:
            now = read(directory + "/" + other)
            if now != shown[other] + "\n":
                return "%s: %r: %s shows %r instead of %r" % (name, text, other, now, shown[other])
    if too_few():
        return "too few were tried: accepted %s, refused %s" % (accepted, refused)
    return None


def main(directory, seed, rounds, off):
    off = off.split(",")
    model = models(off)
    print("TAP version 13\n1..2\n# seed", seed)
    different = set(os.listdir(directory)) ^ set(model)
    print("%sok 1 - the settings are known%s" % (different and "not " or "", "".join("\n# " + d for d in different)))
    wrong = search(directory, random.Random(int(seed)), int(rounds), model, off)
    print("%sok 2 - %s random texts" % ("not " if wrong else "", rounds))
    if wrong:
        print("#", wrong)
    return bool(wrong or different)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
