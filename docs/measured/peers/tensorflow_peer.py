#!/usr/bin/env python3
"""TensorFlow:  tensorflow_peer.py JOB

The whole update is one tf.function with Adam written out in it; its shapes are left open, so that it is traced once.
"""
import os

import common

job, _ = common.read_job()
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(job.threads)
tf.config.threading.set_inter_op_parallelism_threads(job.threads)
weights = {name: tf.Variable(tensor) for name, tensor in common.load_weights(job.run).items()}
moments = {name: (tf.Variable(tf.zeros_like(weight)), tf.Variable(tf.zeros_like(weight))) for name, weight in weights.items()}
places = tf.constant(common.sinusoids(512, job.d_model))


def linear(x, name):
    width = weights[name + ".weight"].shape[0]
    rows = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), weights[name + ".weight"], transpose_b=True) + weights[name + ".bias"]
    return tf.reshape(rows, [tf.shape(x)[0], tf.shape(x)[1], width])


def drop(x): return tf.nn.experimental.stateless_dropout(x, job.dropout, tf.random.uniform([2], maxval=1 << 30, dtype=tf.int32)) if job.dropout else x


def norm(x, name):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, weights[name + ".bias"], weights[name + ".weight"], job.norm_eps)


def attention(x, memory, mask, name):
    if memory is None: parts = tf.split(linear(x, name + ".qkv"), 3, -1)
    else: parts = [linear(x, name + ".query"), *tf.split(linear(memory, name + ".kv"), 2, -1)]
    width = job.d_model // job.heads
    heads = lambda y: tf.transpose(tf.reshape(y, [tf.shape(y)[0], -1, job.heads, width]), [0, 2, 1, 3])
    query, key, value = map(heads, parts)
    scores = tf.where(mask, tf.matmul(query * width**-0.5, key, transpose_b=True), -1e9)
    mixed = tf.matmul(drop(tf.nn.softmax(scores)), value)
    return linear(tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [tf.shape(x)[0], -1, job.d_model]), name + ".output")


def stack(x, side, layers, mask, memory=None, memory_mask=None):
    for at in (f"{side}.layers.{i}." for i in range(layers)):
        x = x + drop(attention(norm(x, at + "self_attention_norm"), None, mask, at + "self_attention"))
        if memory is not None: x = x + drop(attention(norm(x, at + "cross_attention_norm"), memory, memory_mask, at + "cross_attention"))
        inner = drop(tf.nn.relu(linear(norm(x, at + "feed_forward_norm"), at + "feed_forward.inner")))
        x = x + drop(linear(inner, at + "feed_forward.outer"))
    return norm(x, side + ".final_norm")


def loss_of(source, target_in, target_out):
    embedding = weights["embedding.weight"]
    embed = lambda ids: drop(tf.gather(embedding, ids) * job.d_model**0.5 + places[:tf.shape(ids)[1]])
    mask = (source != common.PAD)[:, None, None, :]
    width = tf.shape(target_in)[1]
    causal = tf.range(width)[:, None] >= tf.range(width)[None]
    memory = stack(embed(source), "encoder", job.encoder_layers, mask)
    hidden = tf.reshape(stack(embed(target_in), "decoder", job.decoder_layers, causal, memory, mask), [-1, job.d_model])
    at = tf.where(tf.reshape(target_out, [-1]) != common.PAD)[:, 0]  # only rows that have a target
    targets = tf.gather(tf.reshape(target_out, [-1]), at)
    logs = tf.nn.log_softmax(tf.matmul(tf.gather(hidden, at), embedding, transpose_b=True))
    chosen = tf.gather(logs, targets, batch_dims=1)
    return tf.reduce_mean(-(1 - job.smoothing) * chosen - job.smoothing * tf.reduce_mean(logs, -1))


@tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 3 + [tf.TensorSpec([], tf.float32)] * 2)
def update(source, target_in, target_out, rate, count):
    with tf.GradientTape() as tape:
        loss = loss_of(source, target_in, target_out)
    gradients = tape.gradient(loss, weights)
    gradients = {name: tf.convert_to_tensor(gradient) for name, gradient in gradients.items()}  # the embedding's is sparse in part
    scale = tf.minimum(1.0, job.clip / tf.linalg.global_norm(list(gradients.values())))
    beta1, beta2 = job.betas
    for name, weight in weights.items():
        first, second = moments[name]
        gradient = gradients[name] * scale
        mean = first.assign(beta1 * first + (1 - beta1) * gradient)
        square = second.assign(beta2 * second + (1 - beta2) * gradient * gradient)
        weight.assign_sub(rate * mean / (1 - beta1**count) / (tf.sqrt(square / (1 - beta2**count)) + job.eps))
    return loss


updates = 0


def step(source, target_in, target_out, rate):
    global updates
    updates += 1
    return update(source, target_in, target_out, rate, float(updates))


parameters = sum(weight.numpy().size for weight in weights.values())
common.train(job, f"TensorFlow {tf.__version__}", step, "tight", parameters=parameters)
