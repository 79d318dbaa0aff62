"""heddle.ops: against NumPy, their own proofs, and no copy of contiguous arrays."""

import subprocess
import sys

import numpy as np
import pytest

import heddle
from conftest import needs
from heddle import ops

R = np.random.default_rng(4)


def normal(*shape):
    return R.standard_normal(shape)


CASES = {
    'relu': ([np.where(abs(x := normal(3, 4)) < .1, 1, x)], {}),
    'gelu': ([normal(3, 4)], {'tanh': True}),
    'silu': ([normal(3, 4)], {}),
    'softmax': ([normal(3, 4)], {'mask': np.array([[1, 1, 0, 1]] * 3, bool)}),
    'log_softmax': ([normal(3, 4)], {}),
    'layer_norm': ([normal(3, 6), normal(6), normal(6)], {'eps': 1e-6}),
    'residual_layer_norm': ([normal(3, 6), normal(3, 6), normal(6), normal(6)], {}),
    'rms_norm': ([normal(3, 6), normal(6)], {'eps': 1e-5}),
    'residual_rms_norm': ([normal(3, 6), normal(3, 6), normal(6)], {}),
    'rotary': ([normal(2, 3, 8)], {'head_dim': 4}),
    'gated_feed_forward': ([normal(3, 4), normal(12, 4), normal(12), normal(4, 6), normal(4)], {'activation': 'gelu'}),
    'matmul': ([normal(2, 3, 4), normal(2, 5, 4)], {'transpose_b': True}),
    'linear': ([normal(3, 4), normal(5, 4), normal(5)], {}),
    'feed_forward': ([normal(3, 4), normal(8, 4), normal(8), normal(4, 8), normal(4)], {'activation': 'gelu'}),
    'attention': ([normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4)], {'heads': 2, 'key_lengths': np.array([5, 3])}),
    'cross_entropy': ([normal(3, 7)], {'targets': np.array([0, -1, 6]), 'label_smoothing': .1}),
    'linear_cross_entropy': ([normal(3, 4), normal(7, 4), normal(7)], {'targets': np.array([0, 2, 6])}),
}


def test_every_op_has_a_case():
    # pytest puts names with an @ into modules of plugins.
    assert {name for name in dir(ops) if name[0] not in '_@' and not name.endswith('_backward')} == set(CASES)


@pytest.mark.parametrize('name', CASES)
def test_backward_is_proven(name):
    inputs, options = CASES[name]
    forward, backward = getattr(ops, name), getattr(ops, f'{name}_backward')
    proof = heddle.prove(lambda *x: forward(*x, **options), inputs, backward=lambda dy, *x: backward(dy, *x, **options), name=name)
    assert proof.compared > 10
    single = [each.astype(np.float32) for each in inputs]
    y = forward(*single, **options)
    dy = tuple(np.ones_like(each) for each in y) if isinstance(y, tuple) else np.ones_like(y)
    gradients = backward(dy, *single, **options)
    assert [each.shape for each in gradients] == [each.shape for each in single]
    assert all(each.dtype == np.float32 for each in gradients)


def test_values_are_the_formulas():
    x, gamma, beta = normal(3, 6), normal(6), normal(6)
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    assert np.allclose(ops.layer_norm(x, gamma, beta), (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta, atol=1e-12)
    q, k, v = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4)
    scores = q @ k.transpose(0, 2, 1) / 2
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    assert np.allclose(ops.attention(q, k, v), weights @ v, atol=1e-12)
    logits, targets = normal(3, 7), np.array([1, 0, 6])
    assert np.isclose(ops.cross_entropy(logits, targets), (np.log(np.exp(logits).sum(-1)) - logits[range(3), targets]).mean())


@needs('torch')
def test_pytorch_tensors_are_taken():
    import torch
    x = torch.randn(3, 4, dtype=torch.float64)
    assert np.allclose(ops.gelu(x), torch.nn.functional.gelu(x).numpy(), atol=1e-12)
    assert np.allclose(ops.gelu(x.t()), torch.nn.functional.gelu(x.t()).numpy(), atol=1e-12)
    with pytest.raises(heddle.Error, match='f32 or f64'):
        ops.relu(x.bfloat16())


def test_contiguous_arrays_are_not_copied():
    assert 50 < growth('np.ones((4096, 4096), np.float32)') < 100, 'the output alone'
    assert 50 < growth('np.ones((4097, 4096), np.float32)[1:]') < 100, 'an offset is no reason to copy'
    assert growth('np.ones((4096, 8192), np.float32)[:, ::2]') > 120, 'a strided array is copied'


def growth(array):
    """MB that relu needs beside its input."""
    program = f'''
import numpy as np, heddle
peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024
x = {array}
heddle.ops.relu(np.ones(5))
before = peak()
y = heddle.ops.relu(x)
print(peak() - before)'''
    return float(subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize('x, text', [(np.ones((2, 2), np.float16), '16 bits'), (np.ones((2, 2), complex), '128 bits'), ('words', 'wanted'),
                                     (np.array([[2**40]]), '32 bits'), (np.ones((2, 2), '>f8'), '>f8.*byte order'),
                                     (np.array(['a', 'b']), 'dtype <U1')])
def test_refuses_what_is_no_array_of_numbers(x, text):
    with pytest.raises((heddle.Error, ValueError), match=text):
        ops.gelu(x)


def test_errors_name_op_argument_and_shapes():
    with pytest.raises(heddle.Error, match=r'layer_norm.*gamma.*\[5\]'):
        ops.layer_norm(normal(3, 6), normal(5), normal(6))
    with pytest.raises(ValueError, match=r'dy has the shape \[2\], the output \[3\]'):
        ops.relu_backward(normal(2), normal(3))
