#!/usr/bin/env python3
"""Writes bleu.json: what sacrebleu 2.6 says about awkward text, for bleu_test.cpp.

    python3 tests/golden/make_bleu.py > tests/golden/bleu.json
    python3 tests/golden/make_bleu.py --random 2000 --seed 7 > more.json     # HEDDLE_BLEU_GOLDEN=more.json build/release/tests/bleu_test
"""
import argparse
import json
import random

import sacrebleu

CASES = {
    "identical": (["The cat sat on the mat.", "A dog runs."], ["The cat sat on the mat.", "A dog runs."]),
    "empty hypothesis": (["", "A man rides a bike down the street."], ["Two dogs play in the snow.", "A man rides a bike along the street."]),
    "all hypotheses empty": (["", "  "], ["one two three", "four five"]),
    "empty reference": (["something is said here", "a b c d e"], ["", "a b c d e"]),
    "all references empty": (["one two three four"], [""]),
    "both empty": ([""], [""]),
    "very short lines": (["Hi", "No.", "Yes"], ["Hi", "No!", "Yes"]),
    "no four-gram in the hypotheses": (["a b c", "d e f"], ["a b c", "d e f"]),
    "no match at all": (["one two three four five"], ["six seven eight nine ten"]),
    "unigram matches only": (["d a c b e g f"], ["a x b y c z d w e"]),
    "exponential smoothing, two orders": (["a b c d e"], ["a b x c d y e"]),
    "clipped counts": (["the the the the the the the"], ["the cat is on the mat and the dog"]),
    "brevity penalty": (["A man rides a bike"], ["A man rides a bike down the street on a sunny day"]),
    "longer than the reference": (["A man rides a bike down the street on a sunny day"], ["A man rides a bike"]),
    "numbers with separators": (
        ["It cost 1,234.56 dollars, i.e. 3.5% of 10.000,00.", "On 2016-07-31 at 12:30, 5-10 people; 3-D."],
        ["It cost 1,234.56 dollars (3.5 % of 10,000.00).", "On 2016-7-31 at 12.30, 5-10 people, 3D."]),
    "dashes and hyphens": (
        ["a well-known 19-year-old -- 1990-95 \u2013 1-a", "re-\u00a0entry"],
        ["a well known 19-year old - 1990-1995 - 1-a", "re- entry"]),
    "stops and commas in a row": (
        ["Wait... what?! No,,, 1..2 .5 5. ,6 6, ...,", ". , . ,"],
        ["Wait ... what ?! No , 1..2 0.5 5 . ,6 6 , ...", ".,.,"]),
    "quotes": (
        ["\u201eGuten Tag\u201c, said \u201cshe\u201d; 'it''s' \"ok\"", "\u00abNon\u00bb \u2018a\u2019"],
        ["\"Guten Tag\", said \"she\"; 'it's' \"ok\"", "\u00abOui\u00bb \u2018a\u2019"]),
    "entities": (
        ["Tom &amp; Jerry &lt;b&gt; &quot;hi&quot; &amp;quot; &amp;lt; &apos; & &#39;"],
        ["Tom & Jerry <b> \"hi\" \" < ' & '"]),
    "skipped": (
        ["a <skipped> b<skipped>c &lt;skipped&gt; d e f", "<skip<skipped>ped> x y z"],
        ["a b c <skipped> d e f", "<skipped> x y z"]),
    "no-break spaces": (
        ["10\u00a0000\u00a0euros for\u202fall of us\u2009here", "a\u2007b\u2060c\ufeffd"],
        ["10 000 euros for all of us here", "a b c d"]),
    "odd white space": (
        ["a\tb\x0bc\x0cd\x1ce\x1df\x1eg\x1fh\x85i\u2028j\u2029k\u3000l\u1680m\u180en\u200bo p  "],
        ["a b c d e f g h i j k l m n o p"]),
    "white space at the ends": (["  a b c d e \u00a0 ", "x y z w v\u3000"], ["a b c d e", "x y z w v"]),
    "CJK": (
        ["\u6211\u559c\u6b22\u732b\u3002 \u4f60\u597d\uff0c\u4e16\u754c", "\u6771\u4eac \u306f \u65e5\u672c \u306e \u9996\u90fd \u3067\u3059"],
        ["\u6211\u559c\u6b22\u732b\u3002 \u4f60\u597d\uff01\u4e16\u754c", "\u6771\u4eac \u304c \u65e5\u672c \u306e \u9996\u90fd \u3067\u3059 \u3002"]),
    "digits that are not ASCII": (
        ["\u0661\u0662.\u0663 and \u00b2,\u00b3 \u0967.\u0968, 1\u0660.2"],
        ["\u0661\u0662.\u0663 and \u00b2,\u00b3 \u0967.\u0968 , 1\u0660.2"]),
    "emoji and combining": (
        ["I \u2764\ufe0f you \U0001f600.\U0001f601 cafe\u0301, caf\u00e9", "\U0001f468\u200d\U0001f469\u200d\U0001f467 ok then yes"],
        ["I \u2764 you \U0001f600. \U0001f601 caf\u00e9, caf\u00e9", "\U0001f468\u200d\U0001f469\u200d\U0001f467 ok then yes"]),
    "case": (
        ["THE CAT SAT ON THE MAT", "\u0130stanbul \u00c4\u00d6\u00dc STRASSE STRA\u1e9eE"],
        ["the cat sat on the mat", "i\u0307stanbul \u00e4\u00f6\u00fc strasse stra\u00dfe"]),
    "sigma": (
        ["\u039f\u0394\u039f\u03a3 \u03a3\u0391\u03a3. \u03a3 A\u03a3'B A\u03a3' \u0391\u00ad\u03a3 x y"],
        ["\u03bf\u03b4\u03bf\u03c2 \u03c3\u03b1\u03c2. \u03c3 a\u03c3'b a\u03c2' \u03b1\u00ad\u03c2 x y"]),
    "every ASCII sign": (
        ["".join(chr(c) for c in range(32, 127)) + " tail of words"],
        [" ".join(chr(c) for c in range(32, 127)) + " tail of words"]),
    "carriage return inside": (["a b\rc d e f\r", "one-\rtwo three four five"], ["a b c d e f", "one- two three four five"]),
    "line ends inside": (["one-\ntwo three\nfour five six", "a b c d\n"], ["onetwo three four five six", "a b c d"]),
    "NUL and DEL inside": (["a\x00b c d e\x7ff g"], ["a\x00b c d e\x7ff g h"]),
}

ODD = ["\u00a0", "\u202f", "\u3000", "\u200b", "\t", "\x1f", "\x85", "...", ",", ".", "-", "--", "'", "\"", "\u201e", "\u201c", "\u2019",
       "&amp;", "&quot;", "&lt;", "&", "<skipped>", "/", "1,000", "3.5", "2-3", "5.", ".5", "\u00df", "\u1e9e", "\u0130", "\u03a3",
       "\u4e2d\u6587", "\u3002", "\U0001f600", "e\u0301", "\u0663", "\u00bd", "\u2028", "\n", "-\n", ""] + list("()[]{}~`^|\\@#$%*+=:;?!_<>")
WORDS = "a the man woman dog Two people are in front of Street rides bike Red and shirt with his white ÄPFEL Straße grün ΟΔΟΣ".split()


def line(rng):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(0, 14))) + rng.choice(["", ".", "!", " ."])


def any_code_point(rng):
    return chr(rng.choice([rng.randrange(0, 0x300), rng.randrange(0x300, 0xD800), rng.randrange(0xE000, 0x20000)]))


def disturbed(rng, text):
    """Odd pieces put in, or put in the place of what was there; sometimes any code point at all."""
    for _ in range(rng.randrange(0, 6)):
        at = rng.randrange(0, len(text) + 1)
        piece = rng.choice(ODD) if rng.random() < 0.85 else any_code_point(rng)
        text = text[:at] + piece + text[at + rng.choice([0, 0, 1, 3]):]
    return text.upper() if rng.random() < 0.1 else text


def scored(name, hypotheses, references, lowercase):
    bleu = sacrebleu.corpus_bleu(hypotheses, [references], lowercase=lowercase)
    return {"name": name, "lowercase": lowercase, "hypotheses": hypotheses, "references": references, "score": bleu.score,
            "precisions": bleu.precisions, "matches": list(bleu.counts), "totals": list(bleu.totals), "brevity_penalty": bleu.bp,
            "hypothesis_length": bleu.sys_len, "reference_length": bleu.ref_len}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int, default=0, help="this many random disturbed lines instead of the fixed cases")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    cases = []
    for group in range(options.random // 4):
        references = [disturbed(rng, line(rng)) for _ in range(4)]
        hypotheses = [disturbed(rng, r if rng.random() < 0.8 else line(rng)) for r in references]
        cases.append(scored(f"random {group}", hypotheses, references, rng.random() < 0.5))
    if not options.random:
        for name, (hypotheses, references) in CASES.items():
            cases += [scored(name, hypotheses, references, lowercase) for lowercase in (False, True)]
        references = [disturbed(rng, line(rng)) for _ in range(60)]
        hypotheses = [disturbed(rng, r) for r in references]
        cases += [scored("sixty disturbed lines", hypotheses, references, lowercase) for lowercase in (False, True)]
        together = [[text for case in CASES.values() for text in case[side]] for side in (0, 1)]
        cases.append(scored("all fixed cases together", *together, False))
    print("[" + ",\n".join(json.dumps(case) for case in cases) + "]")


main()
