#!/usr/bin/env python3
"""Writes unicode_tables.cpp: what Python says about case, spaces, letters and canonical decompositions, as sorted tables.

    python3 apps/translation/text/make_unicode_tables.py > apps/translation/text/unicode_tables.cpp

BLEU has to lower case and split at spaces exactly as sacrebleu does, and sacrebleu does it with Python's str. The properties of the sigma rule
(cased, case-ignorable) have no name in Python; they are read off from what str.lower() does with a capital sigma. sacrebleu's tokenizer intl asks the
package `regex` (pip install regex) for the categories P, S and N, and that has a newer Unicode than Python.
"""
import importlib.metadata
import sys
import unicodedata

import regex

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
SIGMA, FINAL = "\u03a3", "\u03c2"


def ranges(wanted):
    """[first, last], or [first] of one code point."""
    out = []
    for c in CODE_POINTS:
        if not wanted(c):
            continue
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return [one[:1] if one[0] == one[1] else one for one in out]


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


def in_category(letter):
    return lambda c: regex.match(rf"\p{{{letter}}}", chr(c)) is not None


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


def decompositions():
    """[code point, first], or [code point, first, second, 1 if NFC keeps it], without the Hangul syllables, which follow a formula."""
    out = []
    for c in CODE_POINTS:
        parts = unicodedata.decomposition(chr(c))
        if parts and not parts.startswith("<"):
            kept = [1] if unicodedata.normalize("NFC", chr(c)) == chr(c) else []
            out.append([c] + [int(part, 16) for part in parts.split()] + kept)
    return out


def table(name, rows, form, code_points=2):
    print(f"constexpr {form} {name}[] = {{")
    line = "   "
    for row in rows:
        cell = " {" + ", ".join(f"0x{v:X}" if i < code_points else str(v) for i, v in enumerate(row)) + "},"
        if len(line) + len(cell) > 130:
            print(line)
            line = "   "
        line += cell
    print(line + "\n};\n")


def main():
    special = [c for c in CODE_POINTS if len(chr(c).lower()) > 1]
    if special != [0x130]:
        sys.exit(f"lower case of more than one code point: {special}; unicode.cpp knows U+0130 only")
    print(f"// Made by make_unicode_tables.py from Unicode {unicodedata.unidata_version} as Python has it; not to be edited by hand.")
    newer = regex.search(r"supports Unicode ([\d.]+\d)", importlib.metadata.metadata("regex").get_payload())[1]
    print(f"// Punctuation, symbols and numbers: from Unicode {newer} as the package regex {regex.__version__} has it.")
    print('#include "apps/translation/text/unicode_tables.h"\n\nnamespace heddle::app {\nnamespace {\n\n// clang-format off')
    table("lower_table", lower_ranges(), "LowerRange")
    table("cased_table", ranges(ends_word), "CodeRange")
    table("ignorable_table", ranges(is_ignorable), "CodeRange")
    table("word_table", ranges(lambda c: unicodedata.category(chr(c))[0] in "LMN"), "CodeRange")
    table("space_table", ranges(lambda c: chr(c).isspace()), "CodeRange")
    for name, letter in (("punctuation", "P"), ("symbol", "S"), ("number", "N")):
        table(f"{name}_table", ranges(in_category(letter)), "CodeRange")
    table("class_table", class_ranges(), "ClassRange")
    table("decomposition_table", decompositions(), "Decomposition", code_points=3)
    print("// clang-format on\n\n}  // namespace\n")
    print("std::span<const LowerRange> lower_ranges() { return lower_table; }")
    for name in ("cased", "ignorable", "word", "space", "punctuation", "symbol", "number"):
        print(f"std::span<const CodeRange> {name}_ranges() {{ return {name}_table; }}")
    print("std::span<const ClassRange> class_ranges() { return class_table; }")
    print("std::span<const Decomposition> decompositions() { return decomposition_table; }")
    print("\n}  // namespace heddle::app")


main()
