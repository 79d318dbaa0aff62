#!/usr/bin/env python3
"""Writes scores.json: what sacrebleu 2.6 says about 2,000 disturbed lines, for metrics_test.cpp and bootstrap_test.cpp.

    python3 tests/golden/make_scores.py > tests/golden/scores.json
"""
import json
import logging

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from unicode_test_lines import Sequence, unicode_test_lines, first_key, stable_hash

SEED, LINES = 20150917, 2000
BOOTSTRAP_LINES, RESAMPLES, BOOTSTRAP_SEED = 300, 400, 5


def metrics(lowercase, effective_order=False):
    return {"bleu": BLEU(lowercase=lowercase, effective_order=effective_order), "chrf": CHRF(lowercase=lowercase),
            "chrf++": CHRF(lowercase=lowercase, word_order=2)}


def scores(hypotheses, references, lowercase):
    corpus, sentence = metrics(lowercase), metrics(lowercase, effective_order=True)
    return {name: {"corpus": corpus[name].corpus_score(hypotheses, [references]).score,
                   "sentences": [sentence[name].sentence_score(h, [r]).score for h, r in zip(hypotheses, references)]}
            for name in corpus}


class HeddleDraws:
    """Stands in for numpy's generator, so that sacrebleu draws the lines that paired_bootstrap draws."""

    def choice(self, lines, size, replace):
        assert replace and size[1] == lines
        numbers = (Sequence(first_key(BOOTSTRAP_SEED, resample, "bootstrap")) for resample in range(size[0]))
        return numpy.array([[one.below(lines) for _ in range(lines)] for one in numbers])


def bootstrap():
    references, first, second = (lines[:BOOTSTRAP_LINES] for lines in unicode_test_lines(SEED, LINES))
    numpy.random.default_rng = lambda seed: HeddleDraws()
    _, results = PairedTest([("first", first), ("second", second)], metrics(False), [references], "bs", RESAMPLES)()
    out = {"lines": BOOTSTRAP_LINES, "resamples": RESAMPLES, "seed": BOOTSTRAP_SEED}
    for name, metric in (("bleu", "BLEU"), ("chrf", "chrF2"), ("chrf++", "chrF2++")):
        a, b = results[metric]
        out[name] = {"p": b.p_value} | {
            which: {"score": one.score, "mean": float(one.mean), "half_width": float(one.ci)}
            for which, one in (("first", a), ("second", b))}
    return out


def golden():
    references, first, _ = unicode_test_lines(SEED, LINES)
    out = {"sacrebleu": sacrebleu.__version__, "seed": SEED, "lines": LINES,
           "hash": stable_hash("".join(h + "\0" + r + "\0" for h, r in zip(first, references)))}
    for case in ("mixed", "lowercase"):
        out[case] = scores(first, references, case == "lowercase")
    for score in out["lowercase"].values():
        sentences = score.pop("sentences")
        score["mean"] = sum(sentences) / len(sentences)
    for score in out["mixed"].values():
        score["sentences"] = [round(one, 4) for one in score["sentences"]]
    return out | {"bootstrap": bootstrap()}


logging.disable()
print(json.dumps(golden()).replace('], "', '],\n"').replace('}, "', '},\n"'))
