"""The same lines as tests/unicode_test_lines.h, number by number: keep the two alike.

Random numbers are those of core/random.h: Philox4x32-10 with a 64-bit key, word 0 and 1 of the counter's block.
"""
import json
import pathlib

MASK = (1 << 64) - 1
PIECES = json.loads((pathlib.Path(__file__).parent / "unicode_test_lines.json").read_text())


def mix(x):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = ((x ^ x >> 33) * factor) & MASK
    return x ^ x >> 33


def stable_hash(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return mix(value)


def first_key(seed, update, name):
    """Generator::next_key's first key of an update."""
    key = 0
    for part in (seed, update, 0, stable_hash(name), 0):
        key = mix(((key ^ part) + 0x9E3779B97F4A7C15) & MASK)
    return key


class Sequence:
    def __init__(self, key):
        self.key, self.position = key, 0

    def next(self):
        a, b, c, d = self.position & 0xFFFFFFFF, self.position >> 32, 0, 0
        k, l = self.key & 0xFFFFFFFF, self.key >> 32
        for _ in range(10):
            p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = q >> 32 ^ b ^ k, q & 0xFFFFFFFF, p >> 32 ^ d ^ l, p & 0xFFFFFFFF
            k, l = k + 0x9E3779B9 & 0xFFFFFFFF, l + 0xBB67AE85 & 0xFFFFFFFF
        self.position += 1
        return b << 32 | a

    def below(self, bound):
        limit = MASK - MASK % bound
        while True:
            value = self.next()
            if value < limit:
                return value % bound

    def pick(self, pieces):
        return PIECES[pieces][self.below(len(PIECES[pieces]))]


def line(rng):
    text = ""
    for i in range(rng.below(14)):
        if i > 0:
            text += rng.pick("spaces") if rng.below(8) == 0 else " "
        text += rng.pick("words")
    return text + rng.pick("ends")


def code_point(rng):
    kind = rng.below(4)
    if kind == 0:
        return chr(0x4E00 + rng.below(0x5000))
    return chr(0x1F300 + rng.below(0x400)) if kind == 1 else chr(1 + rng.below(0x4FF))


def disturbed(rng, text):
    for _ in range(rng.below(6)):
        at = rng.below(len(text) + 1)
        piece = code_point(rng) if rng.below(6) == 0 else rng.pick("odd")
        text = text[:at] + piece + text[at + rng.below(4):]
    return text


def unicode_test_lines(seed, count):
    """References, the translations of a system, and those of another that is somewhat worse."""
    rng = Sequence(seed)
    references, first, second = [], [], []
    for _ in range(count):
        reference = line(rng)
        if rng.below(3) == 0:
            reference = disturbed(rng, reference)
        kind = rng.below(20)
        if kind == 0:
            translation = ""
        elif kind == 1:
            translation = rng.pick("spaces")
        elif kind == 2:
            translation = reference
        elif kind == 3:
            translation, reference = reference, ""
        elif kind < 6:
            translation = line(rng)
        elif kind < 8:
            translation = reference.lower()
        else:
            translation = disturbed(rng, reference)
        references.append(reference)
        first.append(translation)
        other = rng.below(10)
        second.append(disturbed(rng, translation) if other == 0 else disturbed(rng, reference) if other == 1 else translation)
    return references, first, second
