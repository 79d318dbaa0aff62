#!/usr/bin/env python3
"""Translates with a run's weights in CTranslate2:  translate_in_ctranslate2.py RUN SOURCES REFERENCES [--threads 2] [--beam 5]

Prints the seconds of `translate_batch` alone, after a first batch, and BLEU. For pre-norm ReLU models with sinusoidal positions, one
embedding and one SentencePiece vocabulary, which are the defaults of `heddle train`.
Needs ctranslate2, safetensors, sentencepiece and sacrebleu.
"""
import argparse, pathlib, tempfile, time, tomllib

import ctranslate2, numpy, sacrebleu, sentencepiece
from ctranslate2.specs import common_spec, transformer_spec
from safetensors.numpy import load_file

parser = argparse.ArgumentParser()
parser.add_argument("run", type=pathlib.Path)
parser.add_argument("sources", type=pathlib.Path)
parser.add_argument("references", type=pathlib.Path)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--beam", type=int, default=5)
given = parser.parse_args()

config = tomllib.loads((given.run / "config.toml").read_text())
wanted = {"norm": "pre", "activation": "relu", "positions": "sinusoidal", "tie": "all", "final-norm": True}
for name, value in wanted.items():
    if config[name] != value:
        raise SystemExit(f"{given.run}: {name} is {config[name]}, wanted {value}")
weights = load_file(given.run / "model.safetensors")
vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(given.run / "vocab.model"))

def norm(spec, name):
    spec.gamma, spec.beta = weights[name + ".weight"], weights[name + ".bias"]

def linear(spec, *names):  # several projections of the same rows are one matrix
    spec.weight = numpy.concatenate([weights[name + ".weight"] for name in names])
    spec.bias = numpy.concatenate([weights[name + ".bias"] for name in names])

embedding = weights["embedding.weight"]
width = embedding.shape[1]
angles = numpy.arange(config["position-table"])[:, None] / 10000 ** (numpy.arange(0, width, 2) / width)
places = numpy.stack([numpy.sin(angles), numpy.cos(angles)], -1).reshape(-1, width).astype(numpy.float32)

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
        linear(layer.self_attention.linear[0], *(at + "self_attention." + part for part in ("query", "key", "value")))
        linear(layer.self_attention.linear[1], at + "self_attention.output")
        if side == "decoder":
            norm(layer.attention.layer_norm, at + "cross_attention_norm")
            linear(layer.attention.linear[0], at + "cross_attention.query")
            linear(layer.attention.linear[1], at + "cross_attention.key", at + "cross_attention.value")
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
translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", inter_threads=1, intra_threads=given.threads)
sources, references = (path.read_text("utf-8").removesuffix("\n").split("\n") for path in (given.sources, given.references))
lines = vocabulary.encode(sources, out_type=str)
translator.translate_batch(lines[:64], beam_size=given.beam)
start = time.perf_counter()
results = translator.translate_batch(lines, beam_size=given.beam, max_batch_size=2048, batch_type="tokens")
seconds = time.perf_counter() - start
texts = [vocabulary.decode(result.hypotheses[0]) for result in results]
print(f"CTranslate2 {ctranslate2.__version__}: {seconds:.2f} s, BLEU {sacrebleu.corpus_bleu(texts, [references]).score:.2f}")
