"""heddle.prove: backward functions against differences, for NumPy, PyTorch and JAX."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from typing import Any, Callable, Sequence

import numpy as np

from . import _native


class GradientError(AssertionError):
    """A gradient that is wrong; the message is the report."""


class Proof:
    """The result of :func:`prove`: true when every gradient is right; ``str()`` is the report in words."""

    def __init__(self, report: _native.ProofReport, name: str):
        self.name = name
        self.passed: bool = report.passed
        self.worst: float = report.worst  #: the largest error, relative to the derivative's scale
        self.resolution: float = report.resolution  #: the largest error bound of the differences
        self.compared: int = report.compared  #: derivatives
        self.message: str = report.message  #: what is wrong, where, and the likely cause

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        if not self.passed:
            return self.message
        return (f'{self.name}: proven; {self.compared} derivatives agree with differences, the worst within {self.worst:.1e} '
                f'of its scale')

    __repr__ = __str__


def prove(function: Callable[..., Any], inputs: Sequence[Any] | Any, *, backward: Callable[..., Any] | None = None,
          name: str | None = None, tolerance: float = 1e-8, seed: int = 1, zero_by_symmetry: Sequence[int] = (),
          raises: bool | None = None, framework: str | None = None) -> Proof:
    """Proves the gradient of a function.

    In float64: every derivative is compared with central differences of known error, for a random gradient of the output, for every
    combination of inputs that need a gradient, and at further points; zero must give zero, two runs the same bits, and inputs must
    stay as they were.

    Parameters
    ----------
    function : callable
        One of

        - a function of NumPy arrays, with ``backward``;
        - a function of PyTorch tensors, a ``torch.autograd.Function``, or a ``torch.nn.Module``, whose parameters are inputs, too;
        - a function of JAX arrays.

        It returns an array, or a tuple of them; with JAX any tree of arrays.
    inputs : sequence of array, or one array
        Where to prove; not changed. Integers and bools are passed on as they are, and have no gradient.
    backward : callable, optional
        For NumPy: ``backward(dy, *inputs)`` returns the gradient, or a tuple with one for each input that is no integer (None is zero).
        ``dy`` has the output's shape; for several outputs it is a tuple.
    name : str, optional
        For the report; the function's own name by default.
    tolerance : float
        The largest error bound of a difference that counts as a proof.
    seed : int
        The random numbers follow from it.
    zero_by_symmetry : sequence of int
        Inputs whose gradient is always zero, as a key's bias in attention.
    raises : bool, optional
        Raise GradientError when the gradient is wrong. By default where pytest runs a test.
    framework : str, optional
        ``'torch'`` or ``'jax'``: what the function computes with. Needed where neither the function nor an input shows it: a function of
        PyTorch or JAX with inputs of NumPy, which are converted.

    Returns
    -------
    Proof

    Examples
    --------
    >>> import numpy as np
    >>> bool(heddle.prove(np.sin, [np.array([0.3, 1.2])], backward=lambda dy, x: dy * np.cos(x)))
    True
    >>> print(heddle.prove(np.sin, [np.array([0.3, 1.2])], backward=lambda dy, x: -dy * np.cos(x)))
    sin: ... the sign is flipped ...
    """
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    name = name or getattr(function, '__name__', None) or type(function).__name__
    if framework not in (None, 'torch', 'jax'):
        raise _native.UsageError(f"prove: framework={framework!r}; wanted 'torch' or 'jax'")
    if backward is not None and framework is not None:
        raise _native.UsageError('prove: framework= says who differentiates the function, and backward= is its derivative; give one of them')
    if backward is not None:
        values, forward, derivative = _numpy(function, backward, inputs)
    elif framework == 'torch' or framework is None and _is_torch(function, inputs):
        values, forward, derivative = _torch(function, inputs)
    elif framework == 'jax' or _is_jax(function, inputs):
        values, forward, derivative = _jax(function, inputs)
    else:
        raise _native.UsageError(f"prove: nothing says how {name} is differentiated; give backward=, inputs of PyTorch or JAX, or "
                                 f"framework='torch' or 'jax'")
    report = _native.prove(forward, derivative, values, name, tolerance, seed, list(zero_by_symmetry))
    proof = Proof(report, name)
    _proofs.append(proof)
    in_test = 'pytest' in sys.modules and 'PYTEST_CURRENT_TEST' in os.environ  # the variable alone is inherited by programs that tests start
    if not proof and (in_test if raises is None else raises):
        raise GradientError(str(proof))
    return proof


_proofs: list[Proof] = []  # of this process, for the plugin's last line


def _described(error: BaseException) -> str:
    """The report's words for what a function raised, with its place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f' (line {frames[-1].lineno} of {os.path.basename(frames[-1].filename)}, in {frames[-1].name})' if frames else ''
    return f'{type(error).__name__}: {error}{place}'


def _outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


class _Differentiable:
    """Which inputs are floating-point numbers; the others stand between them unchanged."""

    def __init__(self, inputs: Sequence[Any], is_float: Callable[[Any], bool]):
        self.inputs = list(inputs)
        self.places = [i for i, each in enumerate(inputs) if is_float(each)]

    def whole(self, values: Sequence[Any]) -> list[Any]:
        arguments = list(self.inputs)
        for place, value in zip(self.places, values):
            arguments[place] = value
        return arguments


def _numpy(function: Callable[..., Any], backward: Callable[..., Any], inputs: Sequence[Any]):
    arrays = [np.asarray(each) for each in inputs]
    split = _Differentiable(arrays, lambda each: np.issubdtype(each.dtype, np.floating))

    def forward(values):
        return [np.asarray(each) for each in _outputs(function(*split.whole(values)))]

    def derivative(values, cotangents):
        dy = cotangents[0] if len(cotangents) == 1 else tuple(cotangents)
        gradients = _outputs(backward(dy, *split.whole(values)))
        return [None if each is None else np.asarray(each) for each in gradients]

    return [arrays[i] for i in split.places], forward, derivative


def _is_torch(function: Any, inputs: Sequence[Any]) -> bool:
    torch = sys.modules.get('torch')
    if torch is None:
        return False
    is_function = isinstance(function, type) and issubclass(function, torch.autograd.Function)
    return is_function or isinstance(function, torch.nn.Module) or any(isinstance(each, torch.Tensor) for each in inputs)


def _is_jax(function: Any, inputs: Sequence[Any]) -> bool:
    jax = sys.modules.get('jax')
    if jax is None:
        return False
    modules = [str(each.__module__).split('.')[0] for each in (function, type(function)) if hasattr(each, '__module__')]
    return 'jax' in modules or 'jaxlib' in modules or any(isinstance(each, jax.Array) for each in inputs)


def _torch(function: Any, inputs: Sequence[Any]):
    import torch

    tensors = [each.detach() if isinstance(each, torch.Tensor) else torch.as_tensor(np.asarray(each)) for each in inputs]
    names: list[str] = []
    if isinstance(function, torch.nn.Module):
        import copy
        module = copy.deepcopy(function).double()
        parameters = dict(module.named_parameters())
        names = list(parameters)
        count = len(tensors)
        tensors += [each.detach() for each in parameters.values()]

        def call(*arguments):
            return torch.func.functional_call(module, dict(zip(names, arguments[count:])), arguments[:count])
    elif isinstance(function, type):
        call = function.apply
    else:
        call = function
    split = _Differentiable(tensors, lambda each: each.is_floating_point())

    def run(values, gradients_wanted):
        leaves = [torch.from_numpy(each).requires_grad_(gradients_wanted) for each in values]
        with torch.set_grad_enabled(gradients_wanted):
            return leaves, _outputs(call(*split.whole(leaves)))

    def forward(values):
        return [each.detach().double().contiguous().numpy() for each in run(values, False)[1]]

    def derivative(values, cotangents):
        leaves, outputs = run(values, True)
        pairs = [(y, torch.from_numpy(dy).to(y.dtype)) for y, dy in zip(outputs, cotangents) if y.requires_grad]
        if not pairs:
            return [None] * len(leaves)
        gradients = torch.autograd.grad([y for y, _ in pairs], leaves, [dy for _, dy in pairs], allow_unused=True)
        return [None if each is None else each.detach().double().contiguous().numpy() for each in gradients]

    return [tensors[i].double().cpu().contiguous().numpy() for i in split.places], forward, derivative


def _jax(function: Callable[..., Any], inputs: Sequence[Any]):
    import jax
    import jax.numpy as jnp

    arrays = [np.asarray(each) for each in inputs]
    split = _Differentiable(arrays, lambda each: np.issubdtype(each.dtype, np.floating))
    if hasattr(jax, 'enable_x64'):
        double = jax.enable_x64
    else:  # before JAX 0.8
        from jax.experimental import enable_x64 as double

    def only(*values):
        return function(*[jnp.asarray(each) for each in split.whole(values)])

    def forward(values):
        with double(True):
            return [np.asarray(each, dtype=np.float64) for each in jax.tree_util.tree_leaves(only(*map(jnp.array, values)))]

    def derivative(values, cotangents):
        with double(True):
            outputs, transposed = jax.vjp(only, *map(jnp.array, values))
            leaves, structure = jax.tree_util.tree_flatten(outputs)
            dy = [jnp.array(each).astype(y.dtype) for y, each in zip(leaves, cotangents)]
            gradients = transposed(jax.tree_util.tree_unflatten(structure, dy))
            return [np.asarray(each, dtype=np.float64) for each in gradients]

    return [arrays[i] for i in split.places], forward, derivative


def gradcheck(*inputs: Any, backward: Callable[..., Any] | None = None, seed: int = 1, raises: bool = True,
              **options: Any) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """Makes a test of a function: pytest proves its gradient.

    Parameters
    ----------
    *inputs
        One for each argument: an array, or a shape (a tuple of whole numbers), for which normal numbers are drawn.
    backward, seed, **options
        As in :func:`prove`. A function of PyTorch or JAX whose inputs are all given as shapes needs ``framework='torch'`` or ``'jax'``.
    raises : bool
        False: a wrong gradient is counted in pytest's last lines, but does not fail the test.

    Examples
    --------
    >>> @heddle.gradcheck((3, 4), (4,), backward=lambda dy, x, w: (dy[:, None] * w, dy @ x))
    ... def test_matvec(x, w):
    ...     return x @ w

    The tests have the mark ``gradcheck`` (``pytest -m gradcheck``), and pytest's last lines count them.
    """

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        def test() -> None:
            random = np.random.default_rng(seed)
            arrays = [random.standard_normal(each) if _is_shape(each) else each for each in inputs]
            prove(function, arrays, backward=backward, seed=seed, raises=raises, **options)

        functools.update_wrapper(test, function)
        del test.__wrapped__  # pytest would take the function's arguments for fixtures
        test.__annotations__ = {}
        if 'pytest' in sys.modules:
            return sys.modules['pytest'].mark.gradcheck(test)
        return test

    return decorate


def _is_shape(given: Any) -> bool:
    return isinstance(given, tuple) and all(isinstance(each, int) for each in given)
