"""PyTorch eager's times of the ops of `heddle bench ops --sizes rows`, called by peers.py --ops: ops_peer.py THREADS SECONDS."""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

SHAPES = [(2800, 128), (256, 6000), (64, 50000), (16, 8)]


def layer_norm(x, y, gamma, beta):
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + 1e-5).sqrt() * gamma + beta


def attention(x, y, gamma, beta):
    q, k = x.reshape(200, 14, 128), y.reshape(200, 14, 128)
    return ((q @ k.transpose(1, 2)) * 0.0884).softmax(-1) @ q


def additions(x, y, gamma, beta):
    total = x
    for _ in range(2000): total = total + x
    return total


# By Heddle's name and what follows the shape there; arguments x, y [rows, cols], gamma, beta [cols].
OPS = {"add": lambda x, y, gamma, beta: x + y,
       "add + a row": lambda x, y, gamma, beta: x + gamma,
       "sub": lambda x, y, gamma, beta: x - y,
       "mul": lambda x, y, gamma, beta: x * y,
       "div": lambda x, y, gamma, beta: x / y,
       "scale": lambda x, y, gamma, beta: x * 2,
       "maximum": lambda x, y, gamma, beta: torch.maximum(x, y),
       "where": lambda x, y, gamma, beta: torch.where(x > 0, x, y),
       "clamp": lambda x, y, gamma, beta: x.clamp(-0.1, 0.1),
       "neg": lambda x, y, gamma, beta: -x,
       "exp": lambda x, y, gamma, beta: x.exp(),
       "log": lambda x, y, gamma, beta: x.log(),
       "sqrt": lambda x, y, gamma, beta: x.sqrt(),
       "square": lambda x, y, gamma, beta: x.square(),
       "abs": lambda x, y, gamma, beta: x.abs(),
       "sin": lambda x, y, gamma, beta: x.sin(),
       "tanh": lambda x, y, gamma, beta: x.tanh(),
       "sigmoid": lambda x, y, gamma, beta: x.sigmoid(),
       "softplus": lambda x, y, gamma, beta: F.softplus(x),
       "erf": lambda x, y, gamma, beta: x.erf(),
       "softmax": lambda x, y, gamma, beta: x.softmax(-1),
       "log_softmax": lambda x, y, gamma, beta: x.log_softmax(-1),
       "relu": lambda x, y, gamma, beta: x.relu(),
       "gelu": lambda x, y, gamma, beta: F.gelu(x),
       "gelu, tanh": lambda x, y, gamma, beta: F.gelu(x, approximate="tanh"),
       "silu": lambda x, y, gamma, beta: F.silu(x),
       "dropout": lambda x, y, gamma, beta: F.dropout(x, 0.2),
       "permute": lambda x, y, gamma, beta: x.t().contiguous(),
       "sum over columns": lambda x, y, gamma, beta: x.sum(-1),
       "sum over rows": lambda x, y, gamma, beta: x.sum(0),
       "sum of all": lambda x, y, gamma, beta: x.sum(),
       "mean over columns": lambda x, y, gamma, beta: x.mean(-1),
       "max over columns": lambda x, y, gamma, beta: x.max(-1)[0],
       "max over rows": lambda x, y, gamma, beta: x.max(0)[0]}
POSITIVE = ("log", "sqrt")
COMPOSED = {"composed layer norm": ((2800, 128), layer_norm), "composed attention": ((2800, 128), attention),
            "composed 2000 additions": ((16, 8), additions)}


def measure(function, shape, seconds, positive=False):
    """Medians of the microseconds of forward and backward; at least five runs, the first left out. As in Heddle leaves are new each time,
    since otherwise backward would add to their gradients."""
    torch.manual_seed(7)
    values = [torch.randn(*size) * 0.1 for size in (shape, shape, shape[1:], shape[1:])]
    if positive: values[0] = values[0].exp()
    forward, backward, cotangent = [], [], None
    end = time.perf_counter() + seconds
    while len(forward) < 5 or time.perf_counter() < end:
        inputs = [value.detach().requires_grad_() for value in values]
        start = time.perf_counter()
        result = function(*inputs)
        forward.append(time.perf_counter() - start)
        if cotangent is None: cotangent = torch.full(result.shape, 0.01)
        start = time.perf_counter()
        result.backward(cotangent)
        backward.append(time.perf_counter() - start)
    return 1e6 * statistics.median(forward[1:]), 1e6 * statistics.median(backward[1:])


def main():
    threads, seconds = int(sys.argv[1]), float(sys.argv[2])
    torch.set_num_threads(threads)
    rows = []

    def add(name, shape, *rest):
        forward, backward = measure(*rest)
        rows.append({"op": name, "shape": list(shape), "forward_microseconds": forward, "backward_microseconds": backward})

    for shape in SHAPES:
        for name, function in OPS.items(): add(name, shape, function, shape, seconds, name in POSITIVE)
    for name, (shape, function) in COMPOSED.items(): add(name, shape, function, shape, seconds)
    print(json.dumps({"peer": f"PyTorch {torch.__version__} eager", "ops": rows}))


main()
