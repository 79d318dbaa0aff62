#!/usr/bin/env python3
"""Writes what Python says about case, spaces, letters and canonical decompositions into unicode_tables.cpp, between its two marks of clang-format.

    python3 apps/translation/text/make_unicode_tables.py

BLEU has to lower case and split at spaces exactly as sacrebleu does, and sacrebleu does it with Python's str. The properties of the sigma rule
(cased, case-ignorable) have no name in Python; they are read off from what str.lower() does with a capital sigma.
"""
import pathlib
import sys
import textwrap
import unicodedata

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
SIGMA, FINAL = "\u03a3", "\u03c2"


def ranges(wanted):
    """[first, last]"""
    out = []
    for c in CODE_POINTS:
        if not wanted(c):
            continue
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def lower_ranges():
    """[first, last, step, difference]: every step-th code point of first..last moves by the difference."""
    out = []
    for c in CODE_POINTS:
        lower = chr(c).lower()
        if lower == chr(c) or len(lower) > 1:
            continue
        difference = ord(lower) - c
        last = out[-1] if out else None
        if last and last[3] == difference and c - last[1] in (1, 2) and (last[0] == last[1] or last[2] == c - last[1]):
            last[2], last[1] = c - last[1], c
        else:
            out.append([c, c, 1, difference])
    return out


def ends_word(c):  # cased and not ignorable
    return (chr(c) + SIGMA).lower()[-1] == FINAL


def is_ignorable(c):
    return ("A" + chr(c) + SIGMA).lower()[-1] == FINAL and not ends_word(c)


def class_ranges():
    """[first, last, class] of the code points whose canonical combining class is not 0."""
    out = []
    for c in CODE_POINTS:
        mark = unicodedata.combining(chr(c))
        if mark == 0:
            continue
        if out and out[-1][1] == c - 1 and out[-1][2] == mark:
            out[-1][1] = c
        else:
            out.append([c, c, mark])
    return out


def decompositions(parts):
    """[code point, its parts ...] of those with this many parts, without the Hangul syllables, which follow a formula. NFC composes no single one."""
    found = ([c, *unicodedata.decomposition(chr(c)).split()] for c in CODE_POINTS)
    return [[c] + [int(part, 16) for part in rest] for c, *rest in found if len(rest) == parts and not rest[0].startswith("<")]


def gaps(rows):
    """Of each range the gap to the one before it, how many code points follow its first one, and the rest."""
    last = 0
    for first, end, *rest in rows:
        yield from [first - last, end - first, *rest]
        last = end


def steps(rows):
    """Of each decomposition the steps from the one before it to its code point and first part, and a second part, negative where NFC drops it."""
    before = (0, 0)
    for composed, first, *second in rows:
        kept = unicodedata.normalize("NFC", chr(composed)) == chr(composed)
        yield from [composed - before[0], first - before[1], *(part if kept else -part for part in second)]
        before = (composed, first)


def table(name, numbers):
    text = textwrap.fill(", ".join(map(str, numbers)), 126, break_long_words=False)
    return f"constexpr int {name}[] = {{\n{textwrap.indent(text, '    ')},\n}};\n\n"


def main():
    special = [c for c in CODE_POINTS if len(chr(c).lower()) > 1]
    if special != [0x130]:
        sys.exit(f"lower case of more than one code point: {special}; unicode.cpp knows U+0130 only")
    text = f"// Made by make_unicode_tables.py from Unicode {unicodedata.unidata_version} as Python has it; not to be edited by hand.\n"
    text += table("lower", gaps(lower_ranges()))
    text += table("cased", gaps(ranges(ends_word)))
    text += table("ignorable", gaps(ranges(is_ignorable)))
    text += table("word", gaps(ranges(lambda c: unicodedata.category(chr(c))[0] in "LMN")))
    text += table("space", gaps(ranges(lambda c: chr(c).isspace())))
    text += table("classes", gaps(class_ranges()))
    text += table("pairs", steps(decompositions(2)))
    text += table("singles", steps(decompositions(1)))
    path = pathlib.Path(__file__).with_name("unicode_tables.cpp")
    off, on = "// clang-format off\n", "// clang-format on\n"
    before, rest = path.read_text().split(off)
    path.write_text(before + off + text + on + rest.split(on)[1])


main()
