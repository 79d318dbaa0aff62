#!/usr/bin/env python3
"""Heddle's gradients beside PyTorch's, in f64: random configurations of each op, and random graphs.

    torch_cross_check.py BUILD/tests/cross_check [--count 200] [--graphs 10000] [--torch-graphs 1000] [--seed 1]

The program draws configurations and graphs from the seed, runs them forward and backward, and writes inputs, cotangents, outputs
and gradients. Here PyTorch computes each output and gradient again, by the formulas of
the ops' tables (autograd/ops/*_cases.cpp), which the program writes beside them. It also compares all graphs with dual numbers
itself. Status 1 when an output or a gradient of an op differs by more than 1e-12 of its largest element, when a graph differs by more than
that of its largest gradient, or when an op has no formula; 77 when there is no PyTorch.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import textwrap

try:
    import torch
    import torch.nn.functional as F
    from torch.utils.checkpoint import checkpoint
except ImportError as missing:
    print(f"torch_cross_check.py: skipped, {sys.executable} has no PyTorch ({missing}); run it with a Python that has")
    sys.exit(77)

BOUND = 1e-12
LEAST_SCALE = 1e-2  # kLeastScale of graph.h
BLOCKS = ("checkpoint", "no_grad")
INFINITY = float("inf")


# ---- what formulas may use, beside torch and F


def kept(value, constants):
    """Times the factors of a dropout, where there is one."""
    return value * constants["kept"].reshape(value.shape) if "kept" in constants else value


def rows_of(spans, rows, tensor):
    """[rows, ...] with the sentences' results at their rows, zeros elsewhere."""
    parts, at = [], 0
    for (start, length), part in zip(spans, tensor):
        parts += [part.new_zeros((start - at, *part.shape[1:])), part]
        at = start + length
    return torch.cat([*parts, tensor[0].new_zeros((rows - at, *tensor[0].shape[1:]))])


def softmax_where(scores, allowed):
    """The softmax over the allowed places; zeros in a row without any."""
    some = allowed.any(-1, keepdim=True)
    scores = torch.where(some, scores.masked_fill(~allowed, -INFINITY), torch.zeros_like(scores))
    return torch.where(allowed, F.softmax(scores, -1), torch.zeros_like(scores))


def causal(queries, keys):
    """Aligned to the end: query i sees keys up to i + keys - queries."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def tanh_or_none(tanh):
    return "tanh" if tanh else "none"


def loss(logits, options, constants):
    targets = constants["targets"].long()
    counted = int((targets != options["ignore"]).sum())
    summed = F.cross_entropy(logits, targets, ignore_index=options["ignore"], label_smoothing=options["label_smoothing"], reduction="sum")
    return [summed / (options["divisor"] or counted or 1)]


def formulas(texts):
    """The functions of (inputs, options, constants) with these bodies; inputs that are absent are None."""
    made = {}
    for name, body in texts.items():
        scope = dict(globals())
        exec(f"def formula(inputs, options, constants):\n{textwrap.indent(body.strip(), '    ')}", scope)  # noqa: S102
        made[name] = scope["formula"]
    return made


# ---- files and graphs


def load(path):
    """(tensors by name, the list of graphs, the formulas) of a safetensors file."""
    data = bytearray(path.read_bytes())
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + length])
    types = {"F64": torch.float64, "I32": torch.int32, "U8": torch.uint8}
    metadata = header.pop("__metadata__")

    def tensor(entry):
        begin, end = entry["data_offsets"]
        if begin == end: return torch.empty(entry["shape"], dtype=types[entry["dtype"]])
        dtype = types[entry["dtype"]]
        return torch.frombuffer(data, dtype=dtype, offset=8 + length + begin, count=(end - begin) // dtype.itemsize).reshape(entry["shape"])

    return {name: tensor(entry) for name, entry in header.items()}, json.loads(metadata["graphs"]), formulas(json.loads(metadata["formulas"]))


def run_steps(steps, values, leaves, tensors, known):
    for step in steps:
        inputs = [None if n == -1 else leaves[-2 - n] if n < -1 else values[n] for n in step["inputs"]]
        if step["op"] in BLOCKS:
            values.append(run_block(step, inputs, leaves, tensors, known))
        else:
            values += known[step["op"]](inputs, step["options"], {k: tensors[name] for k, name in step["constants"].items()})
    return values


def run_block(step, inputs, leaves, tensors, known):
    def body(*own):
        return run_steps(step["body"], list(own), leaves, tensors, known)[-1]

    if step["op"] == "checkpoint" and torch.is_grad_enabled(): return checkpoint(body, *inputs, use_reentrant=False)
    with torch.no_grad():
        return body(*inputs).detach() if step["op"] == "no_grad" else body(*inputs)


def recomputed(graph, tensors, known):
    """The outputs of all walks, and the gradients of all walks together (None: not wanted)."""
    leaves = [tensors[name].clone().requires_grad_(wanted is not None) for name, wanted in zip(graph["leaves"], graph["gradients"])]
    values = run_steps(graph["steps"], [], leaves, tensors, known)
    outputs = []
    for walk in graph["walks"]:
        starts = [values[n] for n in walk["outputs"]]
        outputs += starts
        pairs = [(y, tensors[dy].reshape(y.shape)) for y, dy in zip(starts, walk["cotangents"]) if y.requires_grad]
        if pairs: torch.autograd.backward([y for y, _ in pairs], [dy for _, dy in pairs], retain_graph=True)
    return outputs, [None if wanted is None else torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
                     for leaf, wanted in zip(leaves, graph["gradients"])]


def gap(given, wanted):
    """The largest difference over the largest magnitude of `wanted`; infinite where shapes differ or something is not finite."""
    most, scale = 0.0, LEAST_SCALE
    for a, b in zip(given, wanted, strict=True):
        if a.shape != b.shape or not bool(torch.isfinite(a).all() and torch.isfinite(b).all()): return float("inf")
        if a.numel() == 0: continue
        most, scale = max(most, float((a - b).abs().max())), max(scale, float(b.abs().max()))
    return most / scale


def gaps_of(graph, tensors, known, together):
    """One figure for each output and gradient, or one for all gradients together."""
    outputs, gradients = recomputed(graph, tensors, known)
    pairs = [(tensors[name], wanted) for name, wanted in zip(graph["gradients"], gradients) if name is not None]
    results = [gap([tensors[name]], [y.detach()]) for name, y in zip(graph["outputs"], outputs, strict=True)]
    if together: return [*results, gap(*zip(*pairs))]
    return [*results, *(gap([a], [b]) for a, b in pairs)]


def names_of(step):
    inner = [name for one in step["body"] for name in names_of(one)]
    return inner if step["op"] in BLOCKS else [step["op"], *inner]


def compare(path, together=False):
    """The number of graphs, of tensors, the largest gap; complaints."""
    tensors, graphs, known = load(path)
    count, largest, complaints = 0, 0.0, []
    for number, graph in enumerate(graphs):
        unknown = {name for step in graph["steps"] for name in names_of(step)} - set(known)
        if unknown:
            complaints.append(f"{path.stem}: no formula for {', '.join(sorted(unknown))}; add it to its table")
            break
        found = gaps_of(graph, tensors, known, together)
        count += len(found)
        largest = max(largest, *found)
        if not max(found) <= BOUND:
            shown = json.dumps(graph["steps"][0]["options"]) if len(graph["steps"]) == 1 else ""
            complaints.append(f"{path.stem} {number}: differs from PyTorch by {max(found):.2g} {shown}")
    return len(graphs), count, largest, complaints


def write_with(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0: sys.exit(f"torch_cross_check.py: {' '.join([program, *map(str, arguments)])} failed; its message is above")
    return done.stdout


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("program", help="the program cross_check of a build, BUILD/tests/cross_check")
    p.add_argument("--count", type=int, default=200, help="configurations of each op")
    p.add_argument("--graphs", type=int, default=10000, help="graphs compared with dual numbers")
    p.add_argument("--torch-graphs", type=int, default=1000, help="of these, how many PyTorch computes again")
    p.add_argument("--seed", type=int, default=1)
    given = p.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        write_with(given.program, "ops", folder, given.count, given.seed)
        ops = {path.stem: compare(path) for path in sorted(folder.glob("*.safetensors"))}
        duals = json.loads(write_with(given.program, "graphs", folder, given.graphs, given.seed, given.torch_graphs))
        graphs = compare(folder / "graphs.safetensors", together=True)
    for op, (configurations, tensors, largest, _) in ops.items():
        print(f"{op:24} {configurations:6} configurations {tensors:7} tensors   largest gap {largest:.1e}")
    print(f"{duals['graphs']} graphs, {duals['ops']} ops: dual numbers within {duals['largest_gap']:.1e}; "
          f"{graphs[0]} of them: PyTorch {torch.__version__} within {graphs[2]:.1e}")
    complaints = [line for result in [*ops.values(), graphs] for line in result[3]]
    if not ops: complaints.append("no op was written")
    for line in complaints: print(f"torch_cross_check.py: {line}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
