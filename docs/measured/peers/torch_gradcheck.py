#!/usr/bin/env python3
"""PyTorch's verdicts on the list of gradcheck_peers.py, as JSON.

Each function is a torch.autograd.Function. It saves with save_for_backward, unless the fault is not to, and its changes in place are repeated
with PyTorch's own operations, so that PyTorch's version checks see them.
"""
import json
import platform
import warnings

import numpy as np
import torch
from torch.autograd.gradcheck import GradcheckError, gradcheck

from gradcheck_faults import LIST

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
torch.set_num_threads(1)


def array(tensor):
    return tensor.detach().numpy().copy()


def write_back(tensors, arrays):
    """Repeats on tensors what was changed in place in their copies."""
    with torch.no_grad():
        for tensor, changed in zip(tensors, arrays):
            if not np.array_equal(tensor.detach().numpy(), changed, equal_nan=True): tensor.copy_(torch.from_numpy(changed))


def memory_of(tensor):
    """As many elements as the tensor has, from its first one on in memory, whatever its strides say; NaN behind the memory."""
    flat = torch.full((tensor.numel(),), float("nan"), dtype=tensor.dtype)
    memory = tensor.new_empty(0).set_(tensor.untyped_storage())[tensor.storage_offset():][:tensor.numel()]
    flat[:len(memory)] = memory
    return flat.reshape(tensor.shape).numpy()


def as_function(row):
    function = row.make()
    read = memory_of if row.ignores_strides else array

    class Planted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            arrays = [array(x) for x in xs]
            outputs, saved, ctx.run = function(*arrays)
            write_back(xs, arrays)
            ys = tuple(torch.from_numpy(y.copy()) for y in outputs)
            known = {id(a): tensor for a, tensor in zip([*arrays, *outputs], [*xs, *ys])}
            kept = [known[id(a)] if id(a) in known else torch.from_numpy(a.copy()) for a in saved]
            if row.unsaved: ctx.kept = kept
            else: ctx.save_for_backward(*kept)
            if row.sees_needs: ctx.set_materialize_grads(False)
            return ys if len(ys) > 1 else ys[0]

        @staticmethod
        def backward(ctx, *dys):
            kept = ctx.kept if row.unsaved else ctx.saved_tensors
            arrays = [array(tensor) for tensor in kept]
            if all(dy is None for dy in dys): return tuple(None for _ in ctx.needs_input_grad)
            gradients = ctx.run(arrays, [None if dy is None else read(dy) for dy in dys], ctx.needs_input_grad)
            write_back(kept, arrays)
            return tuple(None if dx is None else torch.from_numpy(dx.copy()) for dx in gradients)

    return Planted.apply


def leaf(x):
    # A NumPy array without elements has strides of 0, which gradcheck refuses for their own sake.
    return torch.from_numpy(x).clone(memory_format=torch.contiguous_format).requires_grad_(x.dtype.kind == "f")


def verdict(row, fast):
    if "torch" in row.not_for: return row.not_for["torch"]
    try:
        inputs = [leaf(x) for x in row.inputs]
        gradcheck(as_function(row), inputs, **({"fast_mode": True} if fast else {}))
        return "accepted"
    except GradcheckError:
        return "refused"
    except Exception as error:
        return f"error: {type(error).__name__}: {str(error).strip().splitlines()[-1]}"


print(json.dumps({"version": f"PyTorch {torch.__version__}, NumPy {np.__version__}, Python {platform.python_version()}",
                  "slow": [verdict(row, False) for row in LIST], "fast": [verdict(row, True) for row in LIST],
                  "rows": [{"kind": row.kind, "title": row.title, "program": row.program(), "test": row.test, "says": row.says,
                   "heddle": row.not_for.get("heddle")}
                           for row in LIST]}))
