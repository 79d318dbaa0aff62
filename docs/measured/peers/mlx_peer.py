#!/usr/bin/env python3
"""MLX on a CPU:  mlx_peer.py JOB

With mx.fast's attention and layer norm where they are as wanted; attention with dropout is written out, because mx.fast has none. Evaluated once
an update; MLX has no option for the number of threads.
"""
from importlib.metadata import version

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers

import common

job, _ = common.read_job()
mx.set_default_device(mx.cpu)
weights = {name: mx.array(tensor) for name, tensor in common.load_weights(job.run).items()}
places = mx.array(common.sinusoids(512, job.d_model))
drop = nn.Dropout(job.dropout)


def loss_of(weights, source, target_in, target_out):
    embedding = weights["embedding.weight"]

    def linear(x, name): return mx.addmm(weights[name + ".bias"], x, weights[name + ".weight"].T)

    def norm(x, name): return mx.fast.layer_norm(x, weights[name + ".weight"], weights[name + ".bias"], job.norm_eps)

    def attention(x, memory, mask, name):
        if memory is None: parts = mx.split(linear(x, name + ".qkv"), 3, -1)
        else: parts = [linear(x, name + ".query"), *mx.split(linear(memory, name + ".kv"), 2, -1)]
        query, key, value = (mx.unflatten(part, -1, (job.heads, -1)).transpose(0, 2, 1, 3) for part in parts)
        scale = query.shape[-1]**-0.5
        if job.dropout == 0: mixed = mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=mask)
        else: mixed = drop(mx.softmax(mx.where(mask, query * scale @ key.transpose(0, 1, 3, 2), -float("inf")), -1)) @ value
        return linear(mx.flatten(mixed.transpose(0, 2, 1, 3), 2), name + ".output")

    def stack(x, side, layers, mask, memory=None, memory_mask=None):
        for at in (f"{side}.layers.{i}." for i in range(layers)):
            x = x + drop(attention(norm(x, at + "self_attention_norm"), None, mask, at + "self_attention"))
            if memory is not None: x = x + drop(attention(norm(x, at + "cross_attention_norm"), memory, memory_mask, at + "cross_attention"))
            inner = drop(nn.relu(linear(norm(x, at + "feed_forward_norm"), at + "feed_forward.inner")))
            x = x + drop(linear(inner, at + "feed_forward.outer"))
        return norm(x, side + ".final_norm")

    def embed(ids): return drop(embedding[ids] * job.d_model**0.5 + places[:ids.shape[1]])

    mask = (source != common.PAD)[:, None, None, :]
    causal = mx.tril(mx.ones((target_in.shape[1],) * 2)).astype(mx.bool_)
    memory = stack(embed(source), "encoder", job.encoder_layers, mask)
    logits = stack(embed(target_in), "decoder", job.decoder_layers, causal, memory, mask) @ embedding.T
    losses = nn.losses.cross_entropy(logits, target_out, label_smoothing=job.smoothing)
    real = target_out != common.PAD
    return mx.where(real, losses, 0).sum() / real.sum()


adam = mlx.optimizers.Adam(learning_rate=0.0, betas=job.betas, eps=job.eps, bias_correction=True)
differentiate = mx.value_and_grad(loss_of)


def step(source, target_in, target_out, rate):
    global weights
    loss, gradients = differentiate(weights, *map(mx.array, (source, target_in, target_out)))
    gradients, _ = mlx.optimizers.clip_grad_norm(gradients, job.clip)
    adam.learning_rate = rate
    weights = adam.apply_gradients(gradients, weights)
    mx.eval(weights, adam.state, loss)
    return loss.item()


common.train(job, f"MLX {version('mlx')}", step, "tight", parameters=sum(weight.size for weight in weights.values()))
