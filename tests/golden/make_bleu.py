#!/usr/bin/env python3
"""Writes bleu.json: what sacrebleu 2.6 says about awkward text, for bleu_test.cpp.

    python3 tests/golden/make_bleu.py > tests/golden/bleu.json
    python3 tests/golden/make_bleu.py --files HYPOTHESES REFERENCES         # of two files, as program_evaluate_test.cpp asks

Each case has its lines once, and a score for each tokenizer that it was scored by.
"""
import argparse
import json
import logging
import pathlib
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

TOKENIZERS = ["13a", "zh", "char", "none"]

# These are scored by every tokenizer.
OF_ALL_SCRIPTS = {
    "Chinese": (
        ["\u6211\u4eec\u4eca\u5929\u53bb\u5b66\u6821\u3002", " \u4ed6\u8bf4\uff1a\u201c\u4f60\u597d\uff0c\u4e16\u754c\uff01\u201d\u2026\u2026", "\u6211\u7528iPhone 15 Pro\u62cd\u4e863.5\u5c0f\u65f6\u3002"],
        ["\u6211\u4eec\u4eca\u5929\u53bb\u4e0a\u5b66\u3002", "\u4ed6\u8bf4\uff1a\u300c\u4f60\u597d\uff0c\u4e16\u754c\uff01\u300d\u2026\u2026", "\u6211\u7528 iPhone 15 Pro \u62cd\u4e863.5\u4e2a\u5c0f\u65f6\u3002"]),
    "Japanese": (
        ["\u79c1\u306f\u732b\u304c\u597d\u304d\u3067\u3059\u3002", "\uff76\uff80\uff76\uff85\u3068\u30ab\u30bf\u30ab\u30ca\u30fc\u3001\uff21\uff22\uff23\uff11\uff12\uff13"],
        ["\u50d5\u306f\u732b\u304c\u5927\u597d\u304d\u3060\u3002", "\uff76\uff80\uff76\uff85\u3068\u30ab\u30bf\u30ab\u30ca\u3001\uff21\uff22\uff23 \uff11\uff12\uff13"]),
    "Thai and Khmer": (
        ["\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27 \u0e51\u0e52.\u0e53", "\u1781\u17d2\u1789\u17bb\u17c6\u179f\u17d2\u179a\u17a1\u17b6\u1789\u17cb\u17d4"],
        ["\u0e1c\u0e21\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27\u0e21\u0e32\u0e01 \u0e51\u0e52.\u0e53", "\u1781\u17d2\u1789\u17bb\u17c6\u179f\u17d2\u179a\u17a1\u17b6\u1789\u17cb\u1786\u17d2\u1798\u17b6\u17d4"]),
    "the ends of zh's ranges": (
        ["".join("a" + chr(c) for c in (0x1FFF, 0x2000, 0x2001, 0x2A6D, 0x2A6E, 0x2E7F, 0x2E80, 0x2FDF, 0x2FE0, 0x2FF0, 0x3040, 0x30FF, 0x3100,
                                        0x3130, 0x319F, 0x31A0, 0x31EF, 0x31F0, 0x4DB5, 0x4DB6, 0x4DFF, 0x4E00, 0x9FBB, 0x9FBC, 0xF8FF, 0xF900,
                                        0xFA2D, 0xFA2E, 0xFA30, 0xFA6A, 0xFA6B, 0xFA70, 0xFAD9, 0xFADA, 0xFE0F, 0xFE10, 0xFE20, 0xFE30, 0xFE4F,
                                        0xFE50, 0xFEFF, 0xFF00, 0xFFEF, 0xFFF0, 0x20000, 0x2A6D6, 0x2F800, 0x2FA1D))],
        ["a b c d e a\u2001 a a\u2a6d a \u2a6e \u4e00\u9fbb \U00020000 \uff00 \uffef a"]),
    "white space, entities and <skipped>": (
        ["\u3000\u3000. a &lt;b&gt; <skipped>\u4e2d\u3000\u6587-\n1-2", ". ,5 \t"], [". a <b> \u4e2d\u6587- 1-2", " . ,5"]),
    "numbers and signs of all scripts": (
        ["3.5 \u0663\u066b\u0665 x\u00b2. \u00bd,\u2162. \u20ac5 5\u20ac $3 \u20bf1 \u20c11 a\u00b7b \u00a7\u00a71 n\u00ba1. \U0001f600! 5\u3001\u4e94\u3001 \u3007\u3002 \u0e3f1 \u00b0C 1\u2033"],
        ["3.5 \u0663\u066b\u0665 x\u00b2 . \u00bd , \u2162 . \u20ac 5 5 \u20ac $ 3 \u20bf 1 \u20c1 1 a \u00b7 b \u00a7 1 n\u00ba 1. \U0001f600 ! 5 \u4e94 \u3007 \u0e3f 1 \u00b0 C 1 \u2033"]),
}

ODD = ["\u00a0", "\u202f", "\u3000", "\u200b", "\t", "\x1f", "\x85", "...", ",", ".", "-", "--", "'", "\"", "\u201e", "\u201c", "\u2019",
       "&amp;", "&quot;", "&lt;", "&", "<skipped>", "/", "1,000", "3.5", "2-3", "5.", ".5", "\u00df", "\u1e9e", "\u0130", "\u03a3",
       "\u4e2d\u6587", "\u3002", "\U0001f600", "e\u0301", "\u0663", "\u00bd", "\u2028", "\n", "-\n", ""] + list("()[]{}~`^|\\@#$%*+=:;?!_<>")
WITHOUT_SPACES = [
    "我们 今天 去 上学 很 高兴 见到 你 的 猫 他 说 ， 。 “ ” ！ …… iPhone 15 3.5 \U00020000 〇 ㊀ ０１２".split(),
    "私 は 猫 が 好き です 今日 学校 へ 行き ます 。 、 「 」 カタカナ ー ｶﾀｶﾅ ＡＢＣ 10 Tokyo".split(),
    "ฉัน รัก แมว วันนี้ ไป โรงเรียน มาก ๆ ฯ ๑๒ 2.5 ฿ ខ្ញុំ ស្រឡាញ់ ។ မြန်မာ ໄທ".split(),
]
WORDS = "a the man woman dog Two people are in front of Street rides bike Red and shirt with his white ÄPFEL Straße grün ΟΔΟΣ".split()


def line(rng):
    if rng.random() < 0.4:
        words = rng.choice(WITHOUT_SPACES)
        return "".join(rng.choice(words) + rng.choice(["", "", "", "", " "]) for _ in range(rng.randrange(0, 14)))
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


def scored(name, hypotheses, references, ways):
    """`ways`: pairs of lowercase and tokenizer."""
    scores = []
    for lowercase, tokenizer in ways:
        bleu = sacrebleu.corpus_bleu(hypotheses, [references], lowercase=lowercase, tokenize=tokenizer)
        scores.append({"lowercase": lowercase, "tokenizer": tokenizer, "score": bleu.score, "precisions": bleu.precisions,
                       "matches": list(bleu.counts), "totals": list(bleu.totals), "brevity_penalty": bleu.bp,
                       "hypothesis_length": bleu.sys_len, "reference_length": bleu.ref_len})
    return {"name": name, "hypotheses": hypotheses, "references": references, "scores": scores}


def fixed_cases():
    both = [(False, "13a"), (True, "13a")]
    of_all = [(lowercase, tokenizer) for tokenizer in TOKENIZERS for lowercase in (False, True)]
    cases = [scored(name, *lines, both) for name, lines in CASES.items()]
    cases += [scored(name, *lines, [(False, tokenizer) for tokenizer in TOKENIZERS]) for name, lines in OF_ALL_SCRIPTS.items()]
    rng = random.Random(1)
    references = [disturbed(rng, line(rng)) for _ in range(60)]
    cases.append(scored("sixty disturbed lines", [disturbed(rng, r) for r in references], references, of_all))
    together = [[text for case in CASES.values() for text in case[side]] for side in (0, 1)]
    return cases + [scored("all fixed cases together", *together, of_all)]


def of_files(*paths):
    hypotheses, references = (path.read_bytes().decode().removesuffix("\n").split("\n") for path in paths)
    return scored("files", hypotheses, references, [(False, tokenizer) for tokenizer in TOKENIZERS])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=pathlib.Path, nargs=2, help="these lines instead of the fixed cases")
    options = parser.parse_args()
    logging.disable()
    cases = [of_files(*options.files)] if options.files else fixed_cases()
    print("[" + ",\n".join(json.dumps(case) for case in cases) + "]")


main()
