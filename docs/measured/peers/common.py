"""What the peers share: the job, the weights of a run, the batches, the rate and the clock. Needs numpy and safetensors.

A peer is started as PEER.py JOB [MODE] by ../peers.py, which writes the job (a JSON file), and prints one JSON object as its last line.
"""
import json
import math
import pathlib
import re
import sys
import time
import types

import numpy
from safetensors.numpy import load_file

PAD, BOS, EOS = 0, 2, 3


def read_job():
    """The options that ../peers.py has written, and the mode of the peer, if it has several."""
    job = json.loads(pathlib.Path(sys.argv[1]).read_text(), object_hook=lambda fields: types.SimpleNamespace(**fields))
    job.check = job.dropout == 0  # losses are compared without dropout, speed is measured with it
    return job, (sys.argv[2:] or [""])[0]


def load_weights(run, packed=True):
    """The tensors of a run by docs/model-format.md. `packed`: query, key and value of self-attention are one matrix `qkv`, key and value
    of cross-attention are one matrix `kv`, so that a peer needs one product where it can."""
    weights = load_file(str(pathlib.Path(run) / "model.safetensors"))
    if not packed: return weights
    groups = {}
    for name in list(weights):
        found = re.fullmatch(r"(.*\.(self|cross)_attention)\.(query|key|value)\.(weight|bias)", name)
        if found and (found[2], found[3]) != ("cross", "query"):
            groups.setdefault(f"{found[1]}.{'qkv' if found[2] == 'self' else 'kv'}.{found[4]}", {})[found[3]] = weights.pop(name)
    for name, parts in groups.items():
        weights[name] = numpy.concatenate([parts[part] for part in ("query", "key", "value") if part in parts])
    return weights


def sinusoids(length, width, marian=False):
    """[length, width], sines and cosines in turn; Marian's have other wave lengths, and all sines come first."""
    angles = numpy.arange(length)[:, None] / 10000 ** (numpy.arange(0, width, 2) / (width - 2 if marian else width))
    return numpy.stack([numpy.sin(angles), numpy.cos(angles)], 1 if marian else 2).reshape(length, width).astype(numpy.float32)


def rate(job, update):
    """Of the inverse-square-root schedule; updates count from 1."""
    return job.rate * min(update / job.warmup, math.sqrt(job.warmup / update))


def padded(batch, rows, source_width, target_width):
    """(source, target_in, target_out), i32 [rows, width]. A row without a sentence reads one end mark and has no target."""
    tables = [numpy.full((rows, width), PAD, numpy.int32) for width in (source_width, target_width, target_width)]
    tables[0][:, 0] = EOS
    for i, (source, target) in enumerate(zip(*batch)):
        for table, ids in zip(tables, (source + [EOS], [BOS] + target, target + [EOS])):
            table[i, :len(ids)] = ids
    return tables


def padded_batches(job, shapes):
    """The tables of each batch, and its tokens without padding. `shapes`: "tight" for each batch's own; "few" for those that compile each
    shape: widths are multiples of 8 and rows of 16, and where losses are compared all batches have one shape."""
    batches = json.loads(pathlib.Path(job.batches).read_text())[:job.updates]
    sizes = [(len(batch[0]), *(max(map(len, side)) + 1 for side in batch)) for batch in batches]
    up = lambda x, unit: -(-x // unit) * unit
    if shapes == "few":
        sizes = [(up(rows, 16), up(source, 8), up(target, 8)) for rows, source, target in sizes]
        if job.check: sizes = [tuple(map(max, zip(*sizes)))] * len(sizes)
    tokens = [sum(len(ids) + 1 for side in batch for ids in side) for batch in batches]
    return [padded(batch, *size) for batch, size in zip(batches, sizes)], tokens


def train(job, peer, step, shapes, **more):
    """Runs the updates and prints the result. `step(source, target_in, target_out, rate)` makes one update and returns something that
    float() waits for and turns into the loss."""
    batches, tokens = padded_batches(job, shapes)
    result = dict(peer=peer, updates=job.updates, **more)
    if job.check:
        result["losses"] = [float(step(*tables, rate(job, i))) for i, tables in enumerate(batches, 1)]
    else:
        start = time.perf_counter()
        if shapes == "few":  # compile each shape before the clock starts; some take three calls for that
            for tables in {tuple(table.shape for table in tables): tables for tables in batches}.values():
                for _ in range(3): float(step(*tables, rate(job, 1)))
            result["warm_up_seconds"] = round(time.perf_counter() - start, 1)
        for i, tables in enumerate(batches, 1):
            loss = step(*tables, rate(job, i))
            if i == job.skip:
                float(loss)
                start = time.perf_counter()
        float(loss)
        result["tokens_per_second"] = round(sum(tokens[job.skip:]) / (time.perf_counter() - start))
    print(json.dumps(result))
