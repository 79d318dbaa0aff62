#!/usr/bin/env python3
"""CTranslate2 translates with a run's weights:  ctranslate2_peer.py JOB float32|int8

For pre-norm ReLU models with sinusoidal positions, one embedding and one SentencePiece vocabulary, which are the defaults of `heddle train`.
The clock is that of `translate_batch` alone, after a first batch.
"""
import json
import pathlib
import tempfile
import time
import tomllib

import ctranslate2
import numpy
import sentencepiece
from ctranslate2.specs import common_spec, transformer_spec

import common

job, compute_type = common.read_job()
run = pathlib.Path(job.run)
config = tomllib.loads((run / "config.toml").read_text())
wanted = {"norm": "pre", "activation": "relu", "positions": "sinusoidal", "tie": "all", "final-norm": True}
for name, value in wanted.items():
    if config[name] != value: raise SystemExit(f"{run}: {name} is {config[name]}, wanted {value}")
weights = common.load_weights(run)
vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(run / "vocab.model"))


def norm(spec, name):
    spec.gamma, spec.beta = weights[name + ".weight"], weights[name + ".bias"]


def linear(spec, name):
    spec.weight, spec.bias = weights[name + ".weight"], weights[name + ".bias"]


embedding = weights["embedding.weight"]
places = common.sinusoids(config["position-table"], embedding.shape[1])

layers = (config["encoder-layers"], config["decoder-layers"])
spec = transformer_spec.TransformerSpec.from_config(layers, config["heads"], pre_norm=True, activation=common_spec.Activation.RELU)
for side, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
    table = stack.embeddings[0] if isinstance(stack.embeddings, list) else stack.embeddings
    table.weight, table.multiply_by_sqrt_depth, stack.scale_embeddings = embedding, True, True
    stack.position_encodings.encodings = places
    norm(stack.layer_norm, side + ".final_norm")
    for i, layer in enumerate(stack.layer):
        at = f"{side}.layers.{i}."
        norm(layer.self_attention.layer_norm, at + "self_attention_norm")
        linear(layer.self_attention.linear[0], at + "self_attention.qkv")
        linear(layer.self_attention.linear[1], at + "self_attention.output")
        if side == "decoder":
            norm(layer.attention.layer_norm, at + "cross_attention_norm")
            linear(layer.attention.linear[0], at + "cross_attention.query")
            linear(layer.attention.linear[1], at + "cross_attention.kv")
            linear(layer.attention.linear[2], at + "cross_attention.output")
        norm(layer.ffn.layer_norm, at + "feed_forward_norm")
        linear(layer.ffn.linear_0, at + "feed_forward.inner")
        linear(layer.ffn.linear_1, at + "feed_forward.outer")
spec.decoder.projection.weight = embedding
pieces = [vocabulary.id_to_piece(i) for i in range(vocabulary.vocab_size())]
spec.register_source_vocabulary(pieces)
spec.register_target_vocabulary(pieces)
spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = pieces[1:4]
spec.config.decoder_start_token, spec.config.add_source_bos, spec.config.add_source_eos = pieces[2], False, True

folder = tempfile.mkdtemp()
spec.validate()
spec.save(folder)
translator = ctranslate2.Translator(folder, device="cpu", compute_type=compute_type, inter_threads=1, intra_threads=job.threads)
lines = vocabulary.encode(pathlib.Path(job.source).read_text("utf-8").removesuffix("\n").split("\n"), out_type=str)
translator.translate_batch(lines[:64], beam_size=job.beam)
start = time.perf_counter()
results = translator.translate_batch(lines, beam_size=job.beam, max_batch_size=2048, batch_type="tokens")
seconds = time.perf_counter() - start
pathlib.Path(job.out).write_text("".join(vocabulary.decode(result.hypotheses[0]) + "\n" for result in results), "utf-8")
print(json.dumps({"peer": f"CTranslate2 {ctranslate2.__version__} {compute_type}", "seconds": round(seconds, 2)}))
