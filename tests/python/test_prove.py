"""heddle.prove: right gradients pass, and twelve planted faults are each named."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import heddle
from conftest import needs

R = np.random.default_rng(3)
X = R.standard_normal((4, 5))
W = R.standard_normal((5, 3))
B = R.standard_normal(3)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_backward(dy, x):
    y = softmax(x)
    return y * (dy - (dy * y).sum(-1, keepdims=True))


def layer(x, w, b):
    return np.tanh(x @ w + b)


def layer_backward(dy, x, w, b):
    dz = dy * (1 - layer(x, w, b)**2)
    return dz @ w.T, x.T @ dz, dz.sum(0)


def test_right_gradients_are_proven():
    proof = heddle.prove(layer, [X, W, B], backward=layer_backward)
    assert proof and proof.worst < 1e-8 and proof.compared > 50 and 'layer: proven' in str(proof)
    assert heddle.prove(softmax, X, backward=softmax_backward)
    two = heddle.prove(lambda x: (x**2, x.sum(0)), [X], backward=lambda dy, x: 2 * x * dy[0] + dy[1])
    assert two
    picked = heddle.prove(lambda x, i: x[i], [X, np.array([0, 2, 2])],
                          backward=lambda dy, x, i: np.array([dy[i == row].sum(0) for row in range(4)]))
    assert picked, str(picked)


calls = iter(range(10**9))


def shifted(dy, x):
    return np.roll(dy * 2 * x, 1)


def overwrites(dy, x):
    gradient = dy * 2 * x
    x *= 1
    x += 1e-3
    return gradient


FAULTS = {
    'a flipped sign': (np.sin, [X], lambda dy, x: -dy * np.cos(x), 'the sign is flipped'),
    'a mean for a sum': (lambda x: x.sum(0), [X], lambda dy, x: np.broadcast_to(dy / 4, x.shape), 'one over the extent 4'),
    'a forgotten cotangent': (np.sin, [X], lambda dy, x: np.cos(x), 'ignores the output\'s gradient'),
    'a transposed gradient': (lambda w: X @ w, [W], lambda dy, w: (dy.T @ X).reshape(5, 3), 'transposed'),
    'a missing sum over the batch': (lambda b: X[:, :3] * b, [B], lambda dy, b: dy[0] * X[0, :3], 'the sum over the batch is missing'),
    'single precision': (np.exp, [X], lambda dy, x: (dy * np.exp(x)).astype(np.float32), 'single precision'),
    'a forgotten edge': (np.sin, [X], lambda dy, x: np.where(np.arange(5) == 4, 0, dy * np.cos(x))[:, :5] * 1.0, 'dropped'),
    'a shift': (np.square, [X], shifted, 'shifted by one element'),
    'softmax without its sum': (softmax, [X], lambda dy, x: softmax(x) * dy, 'dropped, doubled'),
    'a NaN': (np.abs, [np.array([1., 2.])], lambda dy, x: dy * x / np.sqrt(x - x), 'NaN'),
    'no gradient': (lambda x, b: x[:, :3] * b, [X, B], lambda dy, x, b: (None, (dy * x[:, :3]).sum(0)), 'hands this input nothing'),
    'chance': (np.sin, [X], lambda dy, x: dy * np.cos(x) * (1 + 1e-3 * (next(calls) % 7)), 'different bits'),
    'an input changed in place': (np.square, [X], overwrites, 'in place'),
    'a wrong shape': (lambda b: X[:, :3] * b, [B], lambda dy, b: dy * X[:, :3], 'has the shape'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_names_the_fault(fault):
    with np.errstate(all='ignore'):
        function, inputs, backward, cause = FAULTS[fault]
        proof = heddle.prove(function, inputs, backward=backward, raises=False)
    assert not proof
    assert cause in str(proof), str(proof)


def test_a_missing_mean_is_a_term_of_each_row():
    def centred(x):
        return x - x.mean(-1, keepdims=True)

    proof = heddle.prove(lambda x: centred(x)**3, [X], backward=lambda dy, x: dy * 3 * centred(x)**2, raises=False)
    assert 'a term that is the same along each row is missing' in str(proof)


@pytest.mark.parametrize('give', [
    lambda x: x,
    lambda x: np.asfortranarray(x),
    lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    lambda x: np.concatenate([x, x])[4:],
    lambda x: x[::-1][::-1],
    lambda x: np.broadcast_to(x[:1], x.shape),
    lambda x: x.astype(np.float32),
    lambda x: x.tolist(),
], ids=['contiguous', 'column-major', 'strided', 'offset', 'twice reversed', 'stride 0', 'float32', 'lists'])
def test_takes_arrays_however_they_lie(give):
    proof = heddle.prove(np.sin, [give(X)], backward=lambda dy, x: dy * np.cos(x))
    assert proof and proof.compared > 20


def test_raises_in_pytest_and_what_the_function_raises_is_reported():
    with pytest.raises(heddle.GradientError, match='the sign is flipped'):
        heddle.prove(np.sin, [X], backward=lambda dy, x: -dy * np.cos(x))

    def broken(dy, x):
        raise ValueError('no such thing')

    proof = heddle.prove(np.sin, [X], backward=broken, raises=False)
    assert 'ValueError: no such thing' in str(proof) and 'test_prove.py, in broken' in str(proof)

    def interrupted(dy, x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heddle.prove(np.sin, [X], backward=interrupted)
    with pytest.raises(heddle.UsageError, match='give backward='):
        heddle.prove(np.sin, [X])
    with pytest.raises(heddle.UsageError, match="framework='numpy'; wanted 'torch' or 'jax'"):
        heddle.prove(np.sin, [X], framework='numpy')
    with pytest.raises(heddle.UsageError, match='give one of them'):
        heddle.prove(np.sin, [X], framework='torch', backward=lambda dy, x: dy * np.cos(x))


@heddle.gradcheck((3, 4), (4, ), backward=lambda dy, x, w: (dy[:, None] * w, dy @ x))
def test_decorated(x, w):
    return x @ w


@heddle.gradcheck((3, 4), backward=lambda dy, x: dy, raises=False)
def test_decorated_without_an_error(x):
    return np.sin(x)


def test_the_plugin_loads_nothing_of_heddle(tmp_path):
    (tmp_path / 'test_other.py').write_text('import sys\ndef test(): assert "heddle_pytest" in sys.modules and "heddle" not in sys.modules\n')
    done = subprocess.run([sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(tmp_path)], capture_output=True, text=True, cwd=tmp_path)
    assert '1 passed' in done.stdout, done.stdout


def test_the_plugin_runs_marked_tests_and_counts_them(tmp_path):
    (tmp_path / 'test_mine.py').write_text(
        textwrap.dedent('''
            import heddle, numpy as np

            @heddle.gradcheck((3, 4), backward=lambda dy, x: dy * np.cos(x))
            def test_sine(x):
                return np.sin(x)

            @heddle.gradcheck((3, 4), backward=lambda dy, x: dy * np.sin(x))
            def test_wrong(x):
                return np.sin(x)

            def test_other():
                raise RuntimeError('not asked for')
        '''))
    done = subprocess.run([sys.executable, '-m', 'pytest', '-q', '-m', 'gradcheck', '--strict-markers', '-p', 'no:cacheprovider', str(tmp_path)],
                          capture_output=True, text=True, cwd=tmp_path)
    assert '1 failed, 1 passed, 1 deselected' in done.stdout, done.stdout
    assert 'gradients: 1 of 2 proven' in done.stdout and 'GradientError: wrong' in done.stdout.replace('test_', ''), done.stdout


@needs('torch')
def test_pytorch():
    import torch

    class Cube(torch.autograd.Function):
        factor = 3

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, dy):
            x, = ctx.saved_tensors
            return Cube.factor * x**2 * dy

    x = torch.randn(3, 4)
    assert heddle.prove(Cube, [x])
    Cube.factor = 2
    assert 'a constant factor: backward is 0.66' in str(heddle.prove(Cube, [x], raises=False))
    module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.GELU(), torch.nn.LayerNorm(5))
    proof = heddle.prove(module, [x])
    assert proof and proof.compared > 60, 'the parameters are inputs'
    assert heddle.prove(torch.nn.functional.cross_entropy, [x, torch.tensor([0, 2, 1])])
    assert heddle.prove(lambda a: torch.sin(a), [x.t()[1:].requires_grad_()])
    assert heddle.prove(torch.sin, [X], framework='torch')
    with pytest.raises(heddle.UsageError, match="or framework='torch' or 'jax'"):
        heddle.prove(torch.sin, [X])

    @heddle.gradcheck((3, 4), framework='torch')
    def drawn(a):
        assert isinstance(a, torch.Tensor)
        return torch.sin(a)

    drawn()

    class Detached(torch.nn.Module):

        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(4))

        def forward(self, x):
            return x * self.scale.detach()

    assert 'hands this input nothing' in str(heddle.prove(Detached(), [x], raises=False))


@needs('jax')
def test_jax():
    program = textwrap.dedent('''
        import jax, jax.numpy as jnp, numpy as np, heddle
        x = np.random.default_rng(1).standard_normal((3, 4))
        assert heddle.prove(jax.nn.softmax, [jnp.asarray(x)])
        @jax.custom_vjp
        def f(x): return jnp.sin(x)
        f.defvjp(lambda x: (jnp.sin(x), x), lambda x, dy: (-dy * jnp.cos(x),))
        print(heddle.prove(f, [x], raises=False))
        import collections
        Two = collections.namedtuple('Two', 'a b')
        assert heddle.prove(lambda x: Two(jnp.sin(x), {'inner': x.sum()}), [x], framework='jax')
        try:
            heddle.prove(lambda x: np.sin(x), [x])
        except heddle.UsageError as error:
            print(error)
    ''')
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert 'the sign is flipped' in done.stdout and 'nothing says how' in done.stdout, done.stderr
