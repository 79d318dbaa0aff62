#!/usr/bin/env python3
"""Marian, from its Python package:  marian_peer.py JOB [translate]

It cannot be the same model: its sinusoids have other wave lengths, with the cosines behind the sines, and its decoder starts with a zero vector
in place of the begin mark. (--transformer-train-position-embeddings changes nothing in this package: the losses stay the same.) So it cannot
translate with a run's weights, and its losses are compared with those of `jax_peer.py JOB marian`, which has the same weights and these rules.
Where losses are compared, each update is a run of its own that resumes from the one before, because only so its batches can be given. Where
speed is measured, Marian makes its own batches of the same sentences, about as many as there are updates.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version

import numpy
import sentencepiece

import common

DIFFERS = "other positions and no begin mark: losses compared with JAX by these rules; speed with its own batches of the same sentences"

job, mode = common.read_job()
if mode == "translate": raise SystemExit("Marian's positions and its decoder's start differ, so it cannot translate with this run's weights")
folder = pathlib.Path(tempfile.mkdtemp())
vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(pathlib.Path(job.run) / "vocab.model"))
(folder / "vocab.spm").write_bytes((pathlib.Path(job.run) / "vocab.model").read_bytes())


def export_model():
    """The weights by Marian's names: matrices are [in, out], vectors [1, width]."""
    weights = common.load_weights(job.run, packed=False)
    names = {"self_attention.": "self_", "cross_attention.": "context_", "query.weight": "Wq", "query.bias": "bq", "key.weight": "Wk",
             "key.bias": "bk", "value.weight": "Wv", "value.bias": "bv", "output.weight": "Wo", "output.bias": "bo",
             "feed_forward.inner.weight": "ffn_W1", "feed_forward.inner.bias": "ffn_b1", "feed_forward.outer.weight": "ffn_W2",
             "feed_forward.outer.bias": "ffn_b2", "self_attention_norm.": "self_Wo_ln_", "cross_attention_norm.": "context_Wo_ln_",
             "feed_forward_norm.": "ffn_ffn_ln_", "final_norm.weight": "top_ln_scale", "final_norm.bias": "top_ln_bias"}
    tensors = {"Wemb": weights.pop("embedding.weight")}
    for name, tensor in weights.items():
        layer = re.match(r"(encoder|decoder)\.(?:layers\.(\d+)\.)?", name)
        rest = name[layer.end():]
        for ours, theirs in names.items(): rest = rest.replace(ours, theirs)
        if layer[2] and "_ln_" in rest: rest = rest.replace("weight", "scale_pre").replace("bias", "bias_pre")
        prefix = f"{layer[1]}_l{int(layer[2]) + 1}_" if layer[2] else f"{layer[1]}_"
        tensors[prefix + rest] = tensor.T if tensor.ndim == 2 else tensor[None]
    numpy.savez(folder / "model.npz", **{name: numpy.ascontiguousarray(tensor) for name, tensor in tensors.items()})


def write_text(sentences):
    for side in (0, 1):
        lines = (" ".join(map(vocabulary.id_to_piece, ids)) + "\n" for ids in (pair[side] for pair in sentences))
        (folder / f"text.{side}").write_text("".join(lines), "utf-8")


def run(*more):
    """(update, loss, tokens that Marian counts, seconds) of each update"""
    text = [str(folder / f"text.{side}") for side in (0, 1)]
    command = ["train", "--type", "transformer", "--model", str(folder / "model.npz"), "--train-sets", *text,
               "--vocabs", *[str(folder / "vocab.spm")] * 2, "--no-spm-encode", "--dim-emb", job.d_model, "--transformer-heads", job.heads,
               "--transformer-dim-ffn", job.d_ff, "--enc-depth", job.encoder_layers, "--dec-depth", job.decoder_layers,
               "--transformer-preprocess", "n", "--transformer-postprocess", "da", "--transformer-postprocess-top", "n",
               "--transformer-ffn-activation", "relu", "--tied-embeddings-all", "--output-omit-bias", "--label-smoothing", job.smoothing,
               "--transformer-dropout", job.dropout, "--transformer-dropout-attention", job.dropout, "--transformer-dropout-ffn", job.dropout,
               "--optimizer-params", *job.betas, job.eps,
               "--clip-norm", job.clip, "--cost-type", "ce-mean-words", "--max-length", 200, "--shuffle", "none", "--disp-freq", 1, "--seed", 1,
               "--cpu-threads", *more, "--no-restore-corpus", "--overwrite", "--tempdir", str(folder), "--workspace", 1000]
    program = "import sys, _pymarian; sys.exit(_pymarian.main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, *map(str, command)], capture_output=True, text=True)
    if done.returncode: raise SystemExit(next((line for line in done.stderr.splitlines() if "rror" in line), done.stderr[-300:]))
    found = re.findall(r"Up\. (\d+) .*?Cost ([\d.]+).*?Time ([\d.]+)s : ([\d.]+) words/s", done.stderr)
    return [(int(update), float(loss), float(seconds) * float(speed), float(seconds)) for update, loss, seconds, speed in found]


batches = [list(zip(*batch)) for batch in json.loads(pathlib.Path(job.batches).read_text())[:job.updates]]
export_model()
result = {"peer": f"Marian {version('pymarian')}", "updates": job.updates, "differs": DIFFERS}
if job.check:
    result["losses"] = []
    for update, batch in enumerate(batches, 1):
        write_text(batch)
        progress = folder / "model.npz.progress.yml"  # a run that resumes takes the first rate from there
        if update > 1: progress.write_text(re.sub(r"(?m)^eta: .*", f"eta: {common.rate(job, update)}", progress.read_text()))
        result["losses"].append(run(1, "--mini-batch", 10000, "--maxi-batch", 1, "--maxi-batch-sort", "none", "--after-batches", update,
                                    "--learn-rate", common.rate(job, update))[-1][1])
else:
    pairs = [pair for batch in batches for pair in batch]
    write_text(pairs)
    source, target = (sum(len(pair[side]) + 1 for pair in pairs) for side in (0, 1))
    updates = run(job.threads, "--mini-batch", 10000, "--mini-batch-words", source // job.updates, "--maxi-batch", len(pairs), "--after-epochs", 1,
                  "--learn-rate", job.rate, "--lr-warmup", job.warmup, "--lr-decay-inv-sqrt", job.warmup)
    counted = sum(count for _, _, count, _ in updates)  # of one side
    timed = [(count, seconds) for update, _, count, seconds in updates if update > job.skip]
    speed = sum(count for count, _ in timed) / sum(seconds for _, seconds in timed)
    result["tokens_per_second"] = round(speed * (source + target) / counted)
    result["updates"] = len(updates)
print(json.dumps(result))
