#!/usr/bin/env python3
"""PyTorch:  torch_peer.py JOB eager|compiled

Scaled dot-product attention, a fused Adam, and a C library allocator that keeps freed memory, which alone makes it much faster on a CPU.
`compiled` is torch.compile with dynamic shapes.
"""
import ctypes

import torch
import torch.nn.functional as F
from torch import nn

import common

job, mode = common.read_job()
libc = ctypes.CDLL("libc.so.6")
for option, value in ((-4, 0), (-1, 2**31 - 1), (-2, 2**28)):  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD
    libc.mallopt(option, value)
torch.set_num_threads(job.threads)
torch.manual_seed(1)


class Attention(nn.Module):
    def __init__(self, cross):
        super().__init__()
        width = job.d_model
        if cross: self.query, self.kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        else: self.qkv = nn.Linear(width, 3 * width)
        self.cross, self.output = cross, nn.Linear(width, width)

    def forward(self, x, memory, mask, causal):
        parts = (self.query(x), *self.kv(memory).chunk(2, -1)) if self.cross else self.qkv(x).chunk(3, -1)
        heads = (part.unflatten(-1, (job.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(*heads, attn_mask=mask, is_causal=causal, dropout_p=job.dropout)
        return self.output(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(job.d_model, job.d_ff), nn.Linear(job.d_ff, job.d_model)

    def forward(self, x): return self.outer(F.dropout(F.relu(self.inner(x)), job.dropout))


class Layer(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        norm = lambda: nn.LayerNorm(job.d_model, eps=job.norm_eps)
        self.decoder, self.self_attention, self.self_attention_norm = decoder, Attention(False), norm()
        if decoder: self.cross_attention, self.cross_attention_norm = Attention(True), norm()
        self.feed_forward, self.feed_forward_norm = FeedForward(), norm()

    def forward(self, x, mask, memory):
        drop = lambda y: F.dropout(y, job.dropout)
        x = x + drop(self.self_attention(self.self_attention_norm(x), None, None if self.decoder else mask, self.decoder))
        if self.decoder: x = x + drop(self.cross_attention(self.cross_attention_norm(x), memory, mask, False))
        return x + drop(self.feed_forward(self.feed_forward_norm(x)))


class Stack(nn.Module):
    def __init__(self, layers, decoder):
        super().__init__()
        self.layers = nn.ModuleList(Layer(decoder) for _ in range(layers))
        self.final_norm = nn.LayerNorm(job.d_model, eps=job.norm_eps)

    def forward(self, x, mask, memory=None):
        for layer in self.layers: x = layer(x, mask, memory)
        return self.final_norm(x)


class Translator(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, job.d_model)
        self.encoder, self.decoder = Stack(job.encoder_layers, False), Stack(job.decoder_layers, True)
        self.register_buffer("places", torch.from_numpy(common.sinusoids(512, job.d_model)), persistent=False)

    def embed(self, ids): return F.dropout(self.embedding(ids) * job.d_model**0.5 + self.places[:ids.shape[1]], job.dropout)

    def forward(self, source, target_in, target_out):
        mask = (source != common.PAD)[:, None, None, :]
        memory = self.encoder(self.embed(source), mask)
        logits = F.linear(self.decoder(self.embed(target_in), mask, memory), self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), target_out.flatten(), ignore_index=common.PAD, label_smoothing=job.smoothing)


weights = {name: torch.from_numpy(tensor) for name, tensor in common.load_weights(job.run).items()}
model = Translator(len(weights["embedding.weight"]))
model.load_state_dict(weights)
adam = torch.optim.Adam(model.parameters(), lr=1.0, betas=tuple(job.betas), eps=job.eps, fused=True)
run = torch.compile(model, dynamic=True) if mode == "compiled" else model


def step(source, target_in, target_out, rate):
    loss = run(*(torch.from_numpy(table).long() for table in (source, target_in, target_out)))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), job.clip)
    adam.param_groups[0]["lr"] = rate
    adam.step()
    adam.zero_grad(set_to_none=True)
    return loss.detach()


common.train(job, f"pytorch {torch.__version__} {mode}", step, parameters=sum(p.numel() for p in model.parameters()))
