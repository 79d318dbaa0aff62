#!/usr/bin/env python3
"""Golden values for tests/exchange/marian_test.cpp: log p(target | source) of two small models of Marian, in float64.

    make_marian.py      # prints one line for each model and pair of sentences

The models' weights follow from the names of the arrays (weight() below), so that the test can make the same files. Marian's own
results (pymarian 1.12.42) agree with such a reading to 2e-5 a sentence. Needs NumPy.
"""
import numpy as np

D, HEADS, FF, EPS = 8, 2, 12, 1e-6
PAIRS = [([5, 9, 7, 3], [4, 11, 6, 3]), ([25, 3], [8, 3]), ([4, 4, 12, 30, 31, 8, 3], [10, 25, 24, 0, 2, 1, 3])]
CASES = {  # norm, activation, ids of source and target, tied or not
    "post": ("post", "swish", 60, 60, True),
    "pre": ("pre", "relu", 60, 26, False),
}


def weight(name, shape):
    index = np.arange(np.prod(shape), dtype=np.int64)
    values = ((index * 7919 + sum(name.encode()) * 104729) % 2003 - 1001) / 2002
    return (values + ("_ln_scale" in name)).astype(np.float32).astype(np.float64).reshape(shape)


class Marian:
    def __init__(self, norm, activation, source, target, tied):
        self.pre, self.activation, self.tied = norm == "pre", activation, tied
        self.sizes = {"encoder": source, "decoder": target}

    def embed(self, side, ids):
        name = "Wemb" if self.tied else side + "_Wemb"
        return weight(name, (self.sizes[side], D))[ids] * np.sqrt(D)

    def norm(self, x, name, suffix=""):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        return x * weight(f"{name}_ln_scale{suffix}", (1, D)) + weight(f"{name}_ln_bias{suffix}", (1, D))

    def linear(self, x, w, b, out):
        return x @ weight(w, (x.shape[-1], out)) + weight(b, (1, out))

    def sublayer(self, x, name, compute):
        if self.pre:
            return x + compute(self.norm(x, name, "_pre"))
        return self.norm(x + compute(x), name)

    def attend(self, x, memory, name, causal=False):
        q, k, v = (self.linear(y, f"{name}_W{c}", f"{name}_b{c}", D) for y, c in ((x, "q"), (memory, "k"), (memory, "v")))
        heads = []
        for h in np.split(np.arange(D), HEADS):
            scores = q[:, h] @ k[:, h].T / np.sqrt(D // HEADS)
            if causal:
                scores[np.triu_indices(len(scores), 1)] = -np.inf
            p = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(p / p.sum(-1, keepdims=True) @ v[:, h])
        return self.linear(np.concatenate(heads, -1), f"{name}_Wo", f"{name}_bo", D)

    def feed_forward(self, x, name):
        y = self.linear(x, f"{name}_W1", f"{name}_b1", FF)
        y = y / (1 + np.exp(-y)) if self.activation == "swish" else np.maximum(y, 0)
        return self.linear(y, f"{name}_W2", f"{name}_b2", D)

    def stack(self, x, side, layers, memory=None):
        position = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(D // 2) / (D // 2 - 1))
        x = x + np.concatenate([np.sin(position), np.cos(position)], -1)
        for name in (f"{side}_l{i + 1}" for i in range(layers)):
            own = f"{name}_self"
            x = self.sublayer(x, own + "_Wo", lambda y: self.attend(y, y, own, memory is not None))
            if memory is not None:
                x = self.sublayer(x, f"{name}_context_Wo", lambda y: self.attend(y, memory, f"{name}_context"))
            x = self.sublayer(x, f"{name}_ffn_ffn", lambda y: self.feed_forward(y, f"{name}_ffn"))
        return self.norm(x, side + "_top") if self.pre else x

    def score(self, source, target):
        memory = self.stack(self.embed("encoder", source), "encoder", 2)
        read = np.concatenate([np.zeros((1, D)), self.embed("decoder", target[:-1])])
        hidden = self.stack(read, "decoder", 1, memory)
        size = self.sizes["decoder"]
        w = weight("Wemb", (size, D)).T if self.tied else weight("decoder_ff_logit_out_W", (D, size))
        logits = hidden @ w + weight("decoder_ff_logit_out_b", (1, size))
        return sum(row[t] - np.log(np.exp(row - row.max()).sum()) - row.max() for row, t in zip(logits, target))


for case, options in CASES.items():
    for pair in PAIRS:
        print(f"{case} {Marian(*options).score(*pair):.9f}")
