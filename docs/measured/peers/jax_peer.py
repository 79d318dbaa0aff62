#!/usr/bin/env python3
"""JAX:  jax_peer.py JOB [marian]

The whole update is one jitted function whose weights and moments are donated; optax clips the gradient and is the Adam. Each shape is compiled once.
`marian` is the model as Marian has it, to compare Marian's losses with: other positions, and zeros for the begin mark.
"""
import os

import common

job, rules = common.read_job()
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads={job.threads}"

import functools

import jax
import jax.numpy as jnp
import optax

weights = {name: jnp.asarray(tensor) for name, tensor in common.load_weights(job.run).items()}
places = jnp.asarray(common.sinusoids(512, job.d_model, marian=rules == "marian"))


def forward(weights, key, source, target_in):
    """The logits [rows, target width, vocabulary]"""
    keys = iter(jax.random.split(key, 64))
    embedding = weights["embedding.weight"]

    def linear(x, name): return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def drop(x):
        if job.dropout == 0: return x
        kept = jax.random.bernoulli(next(keys), 1 - job.dropout, x.shape)
        return jnp.where(kept, x / (1 - job.dropout), 0)

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + job.norm_eps)
        return scaled * weights[name + ".weight"] + weights[name + ".bias"]

    def attention(x, memory, mask, name):
        if memory is None: parts = jnp.split(linear(x, name + ".qkv"), 3, -1)
        else: parts = [linear(x, name + ".query"), *jnp.split(linear(memory, name + ".kv"), 2, -1)]
        query, key, value = (part.reshape(*part.shape[:2], job.heads, -1) for part in parts)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1]**-0.5
        shares = drop(jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), -1))
        return linear(jnp.einsum("bhqk,bkhd->bqhd", shares, value).reshape(x.shape), name + ".output")

    def stack(x, side, layers, mask, memory=None, memory_mask=None):
        for at in (f"{side}.layers.{i}." for i in range(layers)):
            x = x + drop(attention(norm(x, at + "self_attention_norm"), None, mask, at + "self_attention"))
            if memory is not None: x = x + drop(attention(norm(x, at + "cross_attention_norm"), memory, memory_mask, at + "cross_attention"))
            inner = drop(jax.nn.relu(linear(norm(x, at + "feed_forward_norm"), at + "feed_forward.inner")))
            x = x + drop(linear(inner, at + "feed_forward.outer"))
        return norm(x, side + ".final_norm")

    def embed(ids):
        rows = embedding[ids] * job.d_model**0.5
        if rules == "marian": rows = jnp.where((ids == common.BOS)[..., None], 0, rows)
        return drop(rows + places[:ids.shape[1]])

    mask = (source != common.PAD)[:, None, None, :]
    causal = jnp.tril(jnp.ones((target_in.shape[1],) * 2, bool))
    memory = stack(embed(source), "encoder", job.encoder_layers, mask)
    return stack(embed(target_in), "decoder", job.decoder_layers, causal, memory, mask) @ embedding.T


def loss_of(weights, key, source, target_in, target_out):
    logs = jax.nn.log_softmax(forward(weights, key, source, target_in))
    chosen = jnp.take_along_axis(logs, target_out[..., None], -1)[..., 0]
    losses = -(1 - job.smoothing) * chosen - job.smoothing * logs.mean(-1)
    real = target_out != common.PAD
    return jnp.where(real, losses, 0).sum() / real.sum()


adam = optax.chain(optax.clip_by_global_norm(job.clip), optax.scale_by_adam(*job.betas, job.eps))


@functools.partial(jax.jit, donate_argnums=(0, 1))
def update(weights, moments, key, rate, *tables):
    loss, gradients = jax.value_and_grad(loss_of)(weights, key, *tables)
    steps, moments = adam.update(gradients, moments)
    return jax.tree.map(lambda weight, change: weight - rate * change, weights, steps), moments, loss


moments, updates = adam.init(weights), 0


def step(source, target_in, target_out, rate):
    global weights, moments, updates
    updates += 1
    weights, moments, loss = update(weights, moments, jax.random.key(updates), rate, source, target_in, target_out)
    return loss


common.train(job, f"JAX {jax.__version__} jit", step, "few", parameters=sum(weight.size for weight in weights.values()))
