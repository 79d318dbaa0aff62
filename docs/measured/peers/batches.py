#!/usr/bin/env python3
"""The batches that `heddle train` and `heddle bench train` take from a corpus:  batches.py VOCAB TRAIN.source TRAIN.target TOKENS SEED COUNT FILE

Writes the first COUNT batches of --batch-tokens TOKENS and --seed SEED as JSON: [[[source ids of a sentence, ..], [target ids, ..]], ..], without
begin and end marks. The same plan as apps/translation/batching/batches.cpp makes, for its other options' defaults. Needs sentencepiece.
"""
import json
import sys

import sentencepiece

LOW, ALL = 2**32 - 1, 2**64 - 1
LONGEST = 120  # --max-length


def philox(key, counter):
    """Philox4x32-10, as core/random.h"""
    k0, k1, (c0, c1, c2, c3) = key & LOW, key >> 32, counter
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & LOW, (p0 >> 32) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return c0, c1, c2, c3


def stable_hash(text):
    x = 0xCBF29CE484222325
    for byte in text.encode():
        x = (x ^ byte) * 0x100000001B3 & ALL
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & ALL
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & ALL
    return x ^ x >> 33


class Sequence:
    """As core/random.h"""

    def __init__(self, key):
        self.key, self.position = key, 0

    def next(self):
        bits = philox(self.key, (self.position & LOW, self.position >> 32, 0, 0))
        self.position += 1
        return bits[1] << 32 | bits[0]

    def below(self, bound):
        while True:
            value = self.next()
            if value < ALL - ALL % bound: return value % bound

    def shuffle(self, values):
        for i in range(len(values), 1, -1):
            j = self.below(i)
            values[i - 1], values[j] = values[j], values[i - 1]


def plan(pairs, tokens, seed, epoch):
    """The batches of an epoch, as lists of the pairs' indices"""
    width = lambda pair: max(map(len, pair)) + 1  # the end mark counts
    bits = philox(seed ^ stable_hash("batches"), (epoch & LOW, epoch >> 32, 0, 0))
    numbers = Sequence(bits[0] | bits[1] << 32)
    ties = [numbers.next() for _ in pairs]
    usable = [i for i, pair in enumerate(pairs) if all(pair) and width(pair) <= min(LONGEST, tokens)]
    usable.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0]), ties[i], i))
    batches, widest = [], 0
    for i in usable:
        widest = max(widest, width(pairs[i]))
        if not batches or widest * (len(batches[-1]) + 1) > tokens:
            batches.append([])
            widest = width(pairs[i])
        batches[-1].append(i)
    numbers.shuffle(batches)
    return batches


def main():
    vocabulary, *corpus, tokens, seed, count, out = sys.argv[1:]
    tokens, seed, count = int(tokens), int(seed), int(count)
    encode = sentencepiece.SentencePieceProcessor(model_file=vocabulary).encode
    sides = [encode(open(path, encoding="utf-8").read().removesuffix("\n").split("\n")) for path in corpus]
    pairs = list(zip(*sides, strict=True))
    chosen, epoch = [], 0
    while len(chosen) < count:
        epoch += 1
        chosen += plan(pairs, tokens, seed, epoch)
    with open(out, "w") as file:
        json.dump([[[pairs[i][side] for i in batch] for side in (0, 1)] for batch in chosen[:count]], file)


if __name__ == "__main__":
    main()
