#!/usr/bin/env python3
"""The log-probability of each translation, by a model of Heddle's in PyTorch:  load_in_pytorch.py RUN SOURCES TARGETS

docs/model-format.md says what the names mean. Needs torch, safetensors, sentencepiece and Python 3.11.
"""
import pathlib, sys, tomllib

import sentencepiece
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

run, sources, targets = map(pathlib.Path, sys.argv[1:4])
config = tomllib.loads((run / "config.toml").read_text())
if others := [name for name, of in (("decoder-only", True), ("gated", True), ("norm-kind", "rms"), ("positions", "rotary"), ("positions", "alibi")) if config.get(name) == of]:
    sys.exit(f"{run}: {', '.join(f'{name} = {config[name]}' for name in others)}: this script does not compute that; heddle score does")
weights = {name: tensor.double() for name, tensor in load_file(run / "model.safetensors").items()}
activation = {"relu": F.relu, "gelu": F.gelu, "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu}[config["activation"]]
BOS, EOS = 2, 3

def linear(x, name):
    return F.linear(x, weights[name + ".weight"], weights.get(name + ".bias"))

def norm(x, name):
    return F.layer_norm(x, x.shape[-1:], weights[name + ".weight"], weights[name + ".bias"], config.get("norm-eps", 1e-5))

def attention(x, memory, name, causal=False):
    heads = lambda y: y.unflatten(-1, (-1, config["head-dim"])).transpose(0, 1)  # [heads, tokens, head_dim]
    query, key, value = (heads(linear(y, f"{name}.{part}")) for y, part in ((x, "query"), (memory, "key"), (memory, "value")))
    mixed = F.scaled_dot_product_attention(query, *(y.repeat_interleave(len(query) // len(y), 0) for y in (key, value)), is_causal=causal)
    return linear(mixed.transpose(0, 1).flatten(1), name + ".output")

def stack(x, name, memories=None):  # what each layer gives, behind the final norm
    results = []
    for i in range(config[name + "-layers"]):
        layer = f"{name}.layers.{i}."
        sublayers = {"self_attention": lambda y: attention(y, y, layer + "self_attention", causal=memories is not None)}
        if memories is not None:
            memory = memories[i if config.get("memory") == "layer" else -1]
            sublayers["cross_attention"] = lambda y: attention(y, memory, layer + "cross_attention")
        inner, outer = layer + "feed_forward.inner", layer + "feed_forward.outer"
        sublayers["feed_forward"] = lambda y: linear(activation(linear(y, inner)), outer)
        for part, sublayer in sublayers.items():
            place = f"{layer}{part}_norm"
            x = x + sublayer(norm(x, place)) if config["norm"] == "pre" else norm(x + sublayer(x), place)
        results.append(norm(x, name + ".final_norm") if config["final-norm"] else x)
    return results

def embed(tokens, side):
    table = weights["embedding.weight" if config["tie"] in ("all", "embeddings") else side + "_embedding.weight"]
    width = table.shape[1]
    pairs = torch.arange(width // 2).double()
    angle = torch.arange(len(tokens))[:, None] / 10000 ** (pairs / max(1, width // 2 - 1) if config["positions"] == "marian" else 2 * pairs / width)
    axis = -1 if config["positions"] == "sinusoidal" else 1
    places = weights.get(side + "_positions.weight", torch.stack([angle.sin(), angle.cos()], axis).flatten(1))
    return table[tokens] * (width ** 0.5 if config.get("scale-embeddings", True) else 1) + places[:len(tokens)], table

def encoded(path, side):
    file = next(run / name for name in ("vocab.model", f"vocab.{side}.model") if (run / name).exists())
    text = path.read_text("utf-8").removesuffix("\n")
    return sentencepiece.SentencePieceProcessor(str(file)).encode((text.lower() if config["lowercase"] else text).split("\n"))

for source, target in zip(encoded(sources, "source"), encoded(targets, "target"), strict=True):
    x, table = embed([BOS] + target, "target")
    hidden = stack(x, "decoder", stack(embed(source + [EOS], "source")[0], "encoder"))[-1]
    logits = F.linear(hidden, weights.get("output.weight", table), weights.get("output.bias"))
    print(repr(-F.cross_entropy(logits, torch.tensor(target + [EOS]), reduction="sum").item()))
