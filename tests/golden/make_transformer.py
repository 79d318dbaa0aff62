#!/usr/bin/env python3
"""Golden values for tests/nn/nn_parity_test.cpp: small encoder-decoders of torch.nn's own layers, in float64.

    make_transformer.py [FOLDER]      # writes transformer_CASE.safetensors, beside this script by default

Each file holds a model's parameters under Heddle's names (numbers that float32 holds exactly, so one file serves both types),
a batch of sentences one after the other, and what PyTorch computes: memory, hidden, logits, loss, and "gradient.NAME" for each
parameter. "rounding" tells how far PyTorch's own float32 is from that: the largest max|a-b| / max|b|.

Needs torch and safetensors.
"""
import copy
import math
import pathlib
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file

D, HEADS, FF, LAYERS = 8, 2, 12, 2
SOURCE, TARGET = [5, 3, 7], [4, 6, 1]  # lengths
SEED = 1
SMOOTHING = 0.1

CASES = {  # norm, final norm, activation, tied embeddings
    "pre_relu_tied": ("pre", True, "relu", "all"),
    "post_gelu_free": ("post", True, "gelu", "none"),
    "post_tanh_tied": ("post", False, "gelu-tanh", "all"),
}
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}


class Model(nn.Module):
    def __init__(self, norm, final_norm, activation, tie):
        super().__init__()
        self.source_vocabulary = 13 if tie == "all" else 11
        self.target_vocabulary = 13
        options = dict(dropout=0.0, activation=ACTIVATIONS[activation], batch_first=True, norm_first=norm == "pre")
        last = lambda: nn.LayerNorm(D) if final_norm else None
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, FF, **options), LAYERS, last(),
                                             enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, HEADS, FF, **options), LAYERS, last())
        self.source = nn.Embedding(self.source_vocabulary, D)
        self.target = self.source if tie == "all" else nn.Embedding(self.target_vocabulary, D)
        self.output = nn.Linear(D, self.target_vocabulary, bias=tie == "none")
        if tie != "none":
            self.output.weight = self.target.weight
        self.tie = tie

    def embed(self, table, tokens):
        place = torch.arange(tokens.shape[1], dtype=torch.float64)[:, None]
        angle = place / 10000 ** (torch.arange(0, D, 2, dtype=torch.float64) / D)
        positions = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
        return table(tokens) * math.sqrt(D) + positions.to(table.weight.dtype)

    def forward(self, source, source_padding, target, target_padding):
        memory = self.encoder(self.embed(self.source, source), src_key_padding_mask=source_padding)
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        hidden = self.decoder(self.embed(self.target, target), memory, tgt_mask=future, tgt_key_padding_mask=target_padding,
                              memory_key_padding_mask=source_padding)
        return memory, hidden

    def named(self, pick):
        """(Heddle's name, part of pick(parameter)) for every parameter."""
        if self.tie == "all":
            yield "embedding.weight", pick(self.source.weight)
        else:
            yield "source_embedding.weight", pick(self.source.weight)
            yield "target_embedding.weight", pick(self.target.weight)
        if self.tie == "none":
            yield "output.weight", pick(self.output.weight)
            yield "output.bias", pick(self.output.bias)
        for name, parameter in list(self.encoder.named_parameters("encoder")) + list(self.decoder.named_parameters("decoder")):
            whole = pick(parameter)
            if "in_proj" in name:
                for part, piece in zip(("query", "key", "value"), whole.chunk(3)):
                    yield heddle_name(name.replace("in_proj_", part + "."), self.decoder), piece
            else:
                yield heddle_name(name, self.decoder), whole


def heddle_name(name, decoder):
    in_decoder = name.startswith("decoder")
    norms = ["self_attention_norm", "cross_attention_norm", "feed_forward_norm"] if in_decoder else \
            ["self_attention_norm", "feed_forward_norm"]
    for number, norm in enumerate(norms, 1):
        name = name.replace(f".norm{number}.", f".{norm}.")
    for theirs, ours in ((".norm.", ".final_norm."), ("self_attn", "self_attention"), ("multihead_attn", "cross_attention"),
                         ("out_proj", "output"), ("linear1", "feed_forward.inner"), ("linear2", "feed_forward.outer")):
        name = name.replace(theirs, ours)
    return name


def padded(rows):
    tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    padding = torch.arange(tokens.shape[1]) >= torch.tensor([len(row) for row in rows])[:, None]
    return tokens, padding


def build(seed, norm, final_norm, activation, tie):
    torch.manual_seed(seed)
    model = Model(norm, final_norm, activation, tie).double().train()
    for parameter in model.parameters():  # every bias and norm away from its initial 0 or 1
        parameter.data = (parameter.data + 0.2 * torch.randn_like(parameter)).float().double()
    for table in {model.source, model.target}:
        table.weight.data = (table.weight.data * D ** -0.5).float().double()
    if tie != "none":
        model.output.weight = model.target.weight
    source = [torch.randint(model.source_vocabulary, (n,)) for n in SOURCE]
    target = [torch.randint(model.target_vocabulary, (n + 1,)) for n in TARGET]
    return model, source, target


def compute(model, source, target):
    source_tokens, source_padding = padded(source)
    target_in, target_padding = padded([row[:-1] for row in target])
    memory, hidden = model(source_tokens, source_padding, target_in, target_padding)
    memory, hidden = memory[~source_padding], hidden[~target_padding]
    logits = model.output(hidden)
    loss = F.cross_entropy(logits, torch.cat([row[1:] for row in target]), label_smoothing=SMOOTHING)
    return {"memory": memory, "hidden": hidden, "logits": logits, "loss": loss}


def rounding(model, source, target):
    """How far PyTorch's own float32 is from its float64: the largest max|a-b| / max|b| of all results and gradients."""
    found = []
    for one in (model, copy.deepcopy(model).float()):
        results = compute(one, source, target)
        results["loss"].backward()
        found.append(results | dict(one.named(lambda p: p.grad)))
    model.zero_grad()
    exact, rounded = found
    return max((rounded[n] - exact[n]).abs().max() / exact[n].abs().max()
               for n in exact if not n.endswith("attention.key.bias"))


def make(norm, final_norm, activation, tie):
    model, source, target = build(SEED, norm, final_norm, activation, tie)
    own_rounding = rounding(model, source, target)
    results = compute(model, source, target)
    results["loss"].backward()
    out = {n: t.float() for n, t in model.named(lambda p: p.data)}
    out |= {"gradient." + n: t for n, t in model.named(lambda p: p.grad)}
    out |= {"expected." + n: t for n, t in results.items()}
    out |= {"batch.source": torch.cat(source).int(), "batch.source_lengths": torch.tensor(SOURCE).int(),
            "batch.target_in": torch.cat([row[:-1] for row in target]).int(),
            "batch.target_out": torch.cat([row[1:] for row in target]).int(),
            "batch.target_lengths": torch.tensor(TARGET).int()}
    out["rounding"] = own_rounding
    return {n: t.detach().clone().contiguous() for n, t in out.items()}


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, case in CASES.items():
        metadata = dict(zip(("norm", "final_norm", "activation", "tie"), map(str, case)))
        save_file(make(*case), str(folder / f"transformer_{name}.safetensors"), metadata)


if __name__ == "__main__":
    main()
