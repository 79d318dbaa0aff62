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


def load_weights(run):
    """The tensors of a run by docs/model-format.md. Query, key and value of self-attention are one matrix `qkv`, key and value
    of cross-attention are one matrix `kv`, so that a peer needs one product where it can."""
    weights = load_file(str(pathlib.Path(run) / "model.safetensors"))
    groups = {}
    for name in list(weights):
        found = re.fullmatch(r"(.*\.(self|cross)_attention)\.(query|key|value)\.(weight|bias)", name)
        if found and (found[2], found[3]) != ("cross", "query"):
            groups.setdefault(f"{found[1]}.{'qkv' if found[2] == 'self' else 'kv'}.{found[4]}", {})[found[3]] = weights.pop(name)
    for name, parts in groups.items():
        weights[name] = numpy.concatenate([parts[part] for part in ("query", "key", "value") if part in parts])
    return weights


def sinusoids(length, width):
    """[length, width], sines and cosines in turn."""
    angles = numpy.arange(length)[:, None] / 10000 ** (numpy.arange(0, width, 2) / width)
    return numpy.stack([numpy.sin(angles), numpy.cos(angles)], 2).reshape(length, width).astype(numpy.float32)


def rate(job, update):
    """Of the inverse-square-root schedule; updates count from 1."""
    return job.rate * min(update / job.warmup, math.sqrt(job.warmup / update))


def padded(batch, rows, source_width, target_width):
    """(source, target_in, target_out), i32 [rows, width]."""
    tables = [numpy.full((rows, width), PAD, numpy.int32) for width in (source_width, target_width, target_width)]
    for i, (source, target) in enumerate(zip(*batch)):
        for table, ids in zip(tables, (source + [EOS], [BOS] + target, target + [EOS])):
            table[i, :len(ids)] = ids
    return tables


def train(job, peer, step, **more):
    """Runs the updates and prints the result. `step(source, target_in, target_out, rate)` makes one update and returns something that
    float() waits for and turns into the loss."""
    batches = json.loads(pathlib.Path(job.batches).read_text())[:job.updates]
    tokens = [sum(len(ids) + 1 for side in batch for ids in side) for batch in batches]  # without padding
    batches = [padded(batch, len(batch[0]), *(max(map(len, side)) + 1 for side in batch)) for batch in batches]
    result = dict(peer=peer, updates=job.updates, **more)
    if job.check:
        result["losses"] = [float(step(*tables, rate(job, i))) for i, tables in enumerate(batches, 1)]
    else:
        start = time.perf_counter()
        for i, tables in enumerate(batches, 1):
            loss = step(*tables, rate(job, i))
            if i == job.skip:
                float(loss)
                start = time.perf_counter()
        float(loss)
        result["tokens_per_second"] = round(sum(tokens[job.skip:]) / (time.perf_counter() - start))
    print(json.dumps(result))
