#!/usr/bin/env python3
"""Golden values for tests/nn/language_model_test.cpp: a small LLaMA and a small GPT-2 of transformers, in float64.

    make_language_models.py [FOLDER]      # writes language_model_{llama,gpt2}.safetensors, beside this script by default

Each file holds a model's parameters under Heddle's names (numbers that float32 holds exactly), two texts of tokens one after the
other, their lengths, and what transformers computes: logits, the mean loss of each text's tokens but the first, and
"gradient.NAME" for each parameter.

Needs torch, transformers and safetensors.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama

VOCABULARY, D, LAYERS, HEADS, FF = 11, 16, 2, 4, 24
LENGTHS = [6, 9]


def in_float64():
    """transformers computes LLaMA's norms and angles in float32, whatever the model's type."""
    def norm(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)

    def angles(self, x, position_ids):
        frequencies = 10000.0 ** -(torch.arange(0, D // HEADS, 2, dtype=torch.float64) / (D // HEADS))
        turns = (position_ids[..., None].double() * frequencies).repeat(1, 1, 2)
        return turns.cos(), turns.sin()

    modeling_llama.LlamaRMSNorm.forward = norm
    modeling_llama.LlamaRotaryEmbedding.forward = angles


def llama():
    in_float64()
    config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=D, intermediate_size=FF, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                         num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-6, tie_word_embeddings=False,
                         attn_implementation="sdpa")  # "eager" has its softmax in float32
    model = LlamaForCausalLM(config)
    names = {"embedding.weight": "model.embed_tokens.weight", "decoder.final_norm.weight": "model.norm.weight",
             "output.weight": "lm_head.weight"}
    for i in range(LAYERS):
        ours, theirs = f"decoder.layers.{i}.", f"model.layers.{i}."
        for a, b in {"self_attention_norm": "input_layernorm", "feed_forward_norm": "post_attention_layernorm",
                     "self_attention.query": "self_attn.q_proj", "self_attention.key": "self_attn.k_proj",
                     "self_attention.value": "self_attn.v_proj", "self_attention.output": "self_attn.o_proj",
                     "feed_forward.gate": "mlp.gate_proj", "feed_forward.inner": "mlp.up_proj", "feed_forward.outer": "mlp.down_proj"}.items():
            names[ours + a + ".weight"] = theirs + b + ".weight"
    return model, lambda tensors: {ours: tensors[theirs] for ours, theirs in names.items()}


def gpt2():
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=D, n_layer=LAYERS, n_head=HEADS, n_inner=FF, resid_pdrop=0.0,
                        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=2, eos_token_id=3, attn_implementation="eager")
    model = GPT2LMHeadModel(config)

    def renamed(tensors):
        out = {"embedding.weight": tensors["transformer.wte.weight"], "positions.weight": tensors["transformer.wpe.weight"]}
        for kind in ("weight", "bias"):
            out["decoder.final_norm." + kind] = tensors["transformer.ln_f." + kind]
            for i in range(LAYERS):
                ours, theirs = f"decoder.layers.{i}.", f"transformer.h.{i}."
                turned = lambda name: tensors[theirs + name + "." + kind].t()  # Conv1D keeps [in, out]
                out[ours + "self_attention_norm." + kind] = tensors[theirs + "ln_1." + kind]
                out[ours + "feed_forward_norm." + kind] = tensors[theirs + "ln_2." + kind]
                for part, tensor in zip(("query", "key", "value"), turned("attn.c_attn").chunk(3)):
                    out[ours + f"self_attention.{part}." + kind] = tensor
                out[ours + "self_attention.output." + kind] = turned("attn.c_proj")
                out[ours + "feed_forward.inner." + kind] = turned("mlp.c_fc")
                out[ours + "feed_forward.outer." + kind] = turned("mlp.c_proj")
        return out

    return model, renamed


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, make in {"llama": llama, "gpt2": gpt2}.items():
        torch.manual_seed(1)
        model, renamed = make()
        for parameter in model.parameters():
            parameter.data = (parameter.data + 0.2 * torch.randn_like(parameter)).float()
        model = model.double()
        texts = [torch.randint(4, VOCABULARY, (length,)) for length in LENGTHS]
        logits = [model(text[None]).logits[0] for text in texts]
        losses = [torch.nn.functional.cross_entropy(each[:-1], text[1:], reduction="sum") for each, text in zip(logits, texts)]
        loss = sum(losses) / (sum(LENGTHS) - len(LENGTHS))
        loss.backward()
        tensors = {n: p for n, p in model.named_parameters()}
        out = {n: t.detach().float() for n, t in renamed(tensors).items()}
        out |= {"gradient." + n: t for n, t in renamed({n: p.grad for n, p in tensors.items()}).items()}
        out |= {"tokens": torch.cat(texts).int(), "lengths": torch.tensor(LENGTHS).int(), "logits": torch.cat(logits).detach(),
                "loss": loss.detach()}
        save_file({n: t.contiguous() for n, t in out.items()}, folder / f"language_model_{name}.safetensors")


main()
