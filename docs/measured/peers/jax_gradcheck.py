#!/usr/bin/env python3
"""JAX's verdicts on the list of gradcheck_peers.py, as JSON.

Each function is a jax.custom_vjp, called without jit, so that its rules run as Python and may keep a state, as faults do.
"""
import json
import platform

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jax.test_util import check_grads
from jax.tree_util import Partial

from gradcheck_faults import IMMUTABLE, LIST

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
np.seterr(all="ignore")


def zeros(x):
    """The gradient of an integer has a dtype of its own."""
    return jnp.zeros_like(x) if x.dtype.kind == "f" else np.zeros(x.shape, dtype=jax.dtypes.float0)


def as_function(row):
    function = row.make()

    def values(arrays):
        return [np.array(a) for a in arrays]

    def result(outputs):
        return tuple(map(jnp.asarray, outputs)) if len(outputs) > 1 else jnp.asarray(outputs[0])

    def forward(*xs):
        needs = [x.perturbed for x in xs] if row.sees_needs else [True] * len(xs)
        outputs, saved, run = function(*values(x.value if row.sees_needs else x for x in xs))
        return result(outputs), (tuple(map(jnp.asarray, saved)), Partial(lambda *given: run(*given, needs)))

    def backward(residuals, dy):
        saved, run = residuals
        dys = dy if isinstance(dy, tuple) else (dy,)
        gradients = run.func(values(saved), [None if isinstance(d, SymbolicZero) else np.array(d) for d in dys])
        return tuple(zeros(x) if dx is None else jnp.asarray(dx) for dx, x in zip(gradients, row.inputs))

    planted = jax.custom_vjp(lambda *xs: result(function(*values(xs))[0]))
    planted.defvjp(forward, backward, symbolic_zeros=row.sees_needs)
    return planted


def last_line(error):
    return f"error: {type(error).__name__}: {str(error).strip().splitlines()[-1]}"


def verdict(row):
    if "jax" in row.not_for: return row.not_for["jax"]
    if row.changes: return IMMUTABLE
    try:
        check_grads(as_function(row), row.inputs, order=1, modes=["rev"])
        return "accepted"
    except AssertionError:
        return "refused"
    except Exception as error:
        return last_line(error)


def with_all_modes():
    """What check_grads says to a right custom_vjp if `modes` is left at its default."""
    try:
        check_grads(as_function(next(row for row in LIST if row.title == "softmax")), [LIST[0].inputs[0]], order=1)
        return "accepted"
    except Exception as error:
        return last_line(error)


print(json.dumps({"version": f"JAX {jax.__version__}, NumPy {np.__version__}, Python {platform.python_version()}",
                  "verdicts": [verdict(row) for row in LIST], "all_modes": with_all_modes()}))
