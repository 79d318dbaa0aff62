#!/usr/bin/env python3
"""How long an update of training on many GPUs would take: a calculation from stated speeds, not a measurement.

    docs/measured/scaling.py          prints the section "On many GPUs" of docs/machines.md
    docs/measured/scaling.py --write  replaces it there

Every figure that the result rests on is in SPEEDS and MODELS.
"""
import pathlib
import sys

SPEEDS = {
    "gpu_flops": 312e12,         # A100, bf16 tensor cores (NVIDIA's data sheet)
    "utilisation": 0.35,         # share of it that a training step reaches; assumed
    "step_seconds": 2e-3,        # launches and small kernels of a captured step, however few the tokens; assumed
    "pcie_bytes": 20e9,          # a GPU's copy to or from the host, PCIe 4 x16; assumed
    "nvlink_bytes": 250e9,       # between GPUs of a machine, each direction (A100 data sheet: 300e9)
    "network_bytes": 20e9,       # a GPU's share of its machine's network, each direction: 200 Gbit/s for each GPU, less protocol
    "message_seconds": 5e-6,     # each message sent or received, one after the other
    "gpus_a_machine": 8,
}
MODELS = {  # parameters, tokens in an update
    "base ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)), 65 M parameters, 50,000 tokens in an update": (65e6, 50e3),
    "big, 213 M parameters, 400,000 tokens in an update ([Ott et al. 2018](https://arxiv.org/abs/1806.00187))": (213e6, 400e3),
}
RANKS = (1, 8, 16, 32, 64, 128, 256, 1024)
PAGE = pathlib.Path(__file__).resolve().parents[1] / "machines.md"
BEGIN, END = "<!-- docs/measured/scaling.py writes this part -->\n", "<!-- end of that part -->\n"


def compute(parameters, tokens, ranks):
    """Forward and backward: 6 floating-point operations for each parameter and token."""
    s = SPEEDS
    return s["step_seconds"] + 6 * parameters * tokens / ranks / (s["gpu_flops"] * s["utilisation"])


def pass_over(number_of_bytes, ranks, inside):
    """Every rank gives each other one its segment of `number_of_bytes`: those of its machine at the rate `inside`, the rest by network."""
    s = SPEEDS
    near, far = min(ranks, s["gpus_a_machine"]) - 1, max(ranks - s["gpus_a_machine"], 0)
    segment = number_of_bytes / ranks
    return max(near * segment / inside, far * segment / s["network_bytes"]) + (ranks - 1) * s["message_seconds"]


def by_host(parameters, ranks):
    """Without NCCL: three exchanges on the host (sums, their sum for the norm, weights), each with copies down and up."""
    if ranks == 1:
        return 0
    s = SPEEDS
    size = 4 * parameters
    others = size * (ranks - 1) / ranks
    copies = (others + 2 * size / ranks) + 3 * others  # down: sums for the others, the own segment twice; up: what came
    return copies / s["pcie_bytes"] + 3 * pass_over(size, ranks, s["pcie_bytes"])


def direct(parameters, ranks):
    """With NCCL: the same three exchanges from GPU to GPU."""
    return 3 * pass_over(4 * parameters, ranks, SPEEDS["nvlink_bytes"]) if ranks > 1 else 0


def table(parameters, tokens):
    alone = compute(parameters, tokens, 1)
    lines = ["| GPUs | tokens each | forward and backward | exchange by way of the host | times as fast as one GPU | exchange between GPUs | times as fast |",
             "|---:|---:|---:|---:|---:|---:|---:|"]
    for ranks in RANKS:
        work, host, near = compute(parameters, tokens, ranks), by_host(parameters, ranks), direct(parameters, ranks)
        lines.append(f"| {ranks} | {tokens / ranks:,.0f} | {work * 1e3:,.1f} ms | {host * 1e3:,.1f} ms | {alone / (work + host):.1f} "
                     f"| {near * 1e3:,.1f} ms | {alone / (work + near):.1f} |")
    return "\n".join(lines)


def pays(parameters, tokens, exchange):
    """The most GPUs, a power of two up to 1024, that together are at least half as fast as without any exchange."""
    alone = compute(parameters, tokens, 1)
    return max(ranks for ranks in (2**k for k in range(11))
               if alone / (compute(parameters, tokens, ranks) + exchange(parameters, ranks)) >= ranks / 2)


def section():
    s = SPEEDS
    parts = [f"""## On many GPUs

A calculation by [scaling.py](measured/scaling.py), not a measurement: this has not run on GPUs. It assumes machines of {s['gpus_a_machine']} A100 GPUs that reach
{s['utilisation']:.0%} of their {s['gpu_flops'] / 1e12:.0f} TFLOP/s in bf16, {s['step_seconds'] * 1e3:.0f} ms of a step that do not shrink with the batch, {s['pcie_bytes'] / 1e9:.0f} GB/s between GPU and host, {s['nvlink_bytes'] / 1e9:.0f} GB/s between the GPUs of a machine, {s['network_bytes'] / 1e9:.0f} GB/s
of network for each GPU, {s['message_seconds'] * 1e6:.0f} µs a message, and that nothing overlaps, although sums may be sent [during backward](#on-gpus). The batch of an update stays the same, so the weights do,
too. "Between GPUs" is with NCCL, "by way of the host" without.
"""]
    for name, (parameters, tokens) in MODELS.items():
        parts.append(f"The {name}:\n\n{table(parameters, tokens)}\n\n"
                     f"At least half of the GPUs' speed is used with up to {pays(parameters, tokens, by_host)} GPUs by way of the host, "
                     f"{pays(parameters, tokens, direct)} with an exchange between GPUs.\n")
    parts.append("""The exchange moves nearly the same bytes for any number of GPUs, while the work of each shrinks: more GPUs stop paying where the two are alike.
Beyond a few hundred GPUs the messages count, R - 1 of them in each exchange. There a tree of machines would come next: a sum within each machine, then
between machines, which the fixed order allows where a machine's shards are a subtree. A larger batch moves the limit up, until it costs quality. Tensor
and pipeline parallelism cut a layer's products, or the layers, for models that do not fit into one GPU's memory. A translation model of this size fits, and
they would only add exchanges, so they are out of scope.
""")
    return "\n".join(parts)


def main():
    if sys.argv[1:] == ["--write"]:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        PAGE.write_text(before + BEGIN + section() + END + rest.split(END)[1])
    elif len(sys.argv) == 1:
        print(section(), end="")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
