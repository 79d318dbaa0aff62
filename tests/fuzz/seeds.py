#!/usr/bin/env python3
"""The kept inputs of the fuzz targets: seeds/TARGET.txt holds those of one target, as text.

    tests/fuzz/seeds.py unpack TARGET FOLDER       writes each input to FOLDER/NAME
    tests/fuzz/seeds.py add TARGET NAME FILE       adds the bytes of FILE, such as a finding, as an input

An input begins after the line "== NAME" and ends before the next such line; the line break in front of that is not part of it. Bytes that are
not printable ASCII are \\t, \\r or \\xNN, a backslash is \\\\, and in binary inputs \\n is a line break. seeds.h
reads the same.
"""
import os
import re
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")
_NAMED = {b"\\t": b"\t", b"\\r": b"\r", b"\\n": b"\n", b"\\\\": b"\\"}


def escaped(data):
    text = re.sub(rb"[^\n -\[\]-~]", lambda byte: b"\\x%02x" % byte[0][0], data)
    for short, byte in ((b"\\t", b"\\x09"), (b"\\r", b"\\x0d"), (b"\\\\", b"\\x5c")):
        text = text.replace(byte, short)
    if len(re.findall(rb"[^\n\r\t -~]", data)) > len(data) / 8:
        text = text.replace(b"\n", b"\\n")
    return re.sub(rb"^==", rb"\\x3d=", text, flags=re.MULTILINE)


def unescaped(text):
    return re.sub(rb"\\(?:x([0-9a-f]{2})|.)", lambda one: bytes([int(one[1], 16)]) if one[1] else _NAMED[one[0]], text)


def load(target):
    """{name: bytes}"""
    with open(os.path.join(HERE, target + ".txt"), "rb") as file:
        parts = re.split(rb"(?:^|\n)== (.*)\n", file.read()[:-1])[1:]
    return {name.decode(): unescaped(text) for name, text in zip(parts[::2], parts[1::2])}


def save(target, seeds):
    with open(os.path.join(HERE, target + ".txt"), "wb") as file:
        for name, data in sorted(seeds.items()):
            file.write(b"== " + name.encode() + b"\n" + escaped(data) + b"\n")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "unpack":
        target, folder = sys.argv[2:]
        os.makedirs(folder)
        for name, data in load(target).items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
    elif len(sys.argv) == 5 and sys.argv[1] == "add":
        target, name, path = sys.argv[2:]
        with open(path, "rb") as file:
            save(target, {**load(target), name: file.read()})
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
