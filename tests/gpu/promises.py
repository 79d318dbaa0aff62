#!/usr/bin/env python3
"""Holds what ptxas makes of the kernels against a table of promises: no spills, wide accesses, few instructions for each mma and copy.

    promises.py            compiles the files of the table for sm_80 and sm_90a; needs nvcc and cuobjdump, and no GPU
    promises.py FOLDER     takes them from this folder of a build by the preset cuda
    promises.py FILE...    looks at these cubins or object files only

Status 1 when a promise is broken, 77 when a tool is missing: then nothing was checked. A kernel may have fewer instructions and registers
than promised at any time; lower its limit then. Where it needs more, the table changes in the same commit, whose message says why."""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from machine_code import number, read, tool

ROOT = Path(__file__).resolve().parents[2]
CHIPS = ["sm_80", "sm_90a"]
SKIPPED = 77


@dataclass
class Promise:
    """Of one kernel, for both chips. Counts are upper limits, but for the wide accesses, which are lower ones."""
    registers: int = 255
    mma: float | None = None   # instructions for each mma, in the straight code that has any
    loop: float | None = None  # the same over the whole tile loop, with masks, dropout and edges
    copy: float | None = None  # instructions for each asynchronous 16-byte copy
    loads: int = 0             # of 16 bytes, at least
    stores: int = 0            # of 16 bytes, at least
    narrow: int | None = None  # stores of 4 bytes, at most
    spills: dict = field(default_factory=dict)  # loads and stores of spilled registers, by chip; none where it is left out

    def broken(self, kernel):
        """What the kernel does not keep."""
        def most(what, value, limit):
            if limit is not None and not (value is not None and value <= limit):
                yield f"{number(value) if isinstance(value, float) or value is None else value} {what}, promised are at most {limit}"
        def least(what, value, limit):
            if not value >= limit: yield f"{value} {what}, promised are at least {limit}"
        yield from most("registers", kernel.registers, self.registers)
        yield from most("instructions for each mma", kernel.per_mma(), self.mma)
        yield from most("instructions for each mma of the tile loop", kernel.per_mma_of_loop(), self.loop)
        yield from most("instructions for each 16-byte copy", kernel.per_copy(), self.copy)
        yield from least("loads of 16 bytes", kernel.accesses("LDG", 16), self.loads)
        yield from least("stores of 16 bytes", kernel.accesses("STG", 16), self.stores)
        yield from most("stores of 4 bytes", kernel.accesses("STG", 4), self.narrow)
        yield from most("accesses to spilled registers", kernel.spills(), self.spills.get(kernel.chip, 0))


# Kernels of these files that are not named must not spill either. Attention's second argument: whether there is a bias.
PROMISES = {
    "kernels/attention/mma/attention_mma.cu": {
        "attention_forward_mma_kernel<32, false>": Promise(registers=208, mma=1.8, loop=48, copy=10, stores=2),
        "attention_forward_mma_kernel<64, false>": Promise(registers=248, mma=1.8, loop=26, copy=9, stores=4),
        # sm_80: values that do not change in the loop, some 15 loads for 256 mma
        "attention_forward_mma_kernel<128, false>": Promise(mma=1.8, loop=15, copy=9, stores=8, spills={"sm_80": 60}),
        "attention_forward_mma_kernel<128, true>": Promise(mma=1.8, copy=9, stores=8, spills={"sm_80": 90}),
    },
    "kernels/attention/mma/attention_mma_backward.cu": {
        "attention_d_query_mma_kernel<32, false>": Promise(registers=208, mma=3.5, loop=39, copy=11.5, stores=2, narrow=0),
        "attention_d_query_mma_kernel<64, false>": Promise(mma=2.5, loop=18, copy=10, stores=4, narrow=0),
        "attention_d_query_mma_kernel<128, false>": Promise(registers=240, mma=2.8, loop=13.5, copy=10, stores=8, narrow=0),
        "attention_d_key_mma_kernel<32, false>": Promise(registers=248, mma=3.7, loop=41, copy=10, stores=4, narrow=0),
        "attention_d_key_mma_kernel<32, true>": Promise(registers=248, mma=3.9, copy=10, stores=4, narrow=0),
        "attention_d_key_mma_kernel<64, false>": Promise(mma=3.1, loop=28, copy=9.5, stores=8, narrow=0),
        "attention_d_key_mma_kernel<128, false>": Promise(mma=3.1, loop=25, copy=9.5, stores=16, narrow=0),
    },
    "kernels/attention/short/attention_short.cu": {
        "attention_forward_short_kernel<32, false>": Promise(registers=88, mma=7.6, copy=9.8, stores=2, spills={"sm_80": 4}),
        "attention_forward_short_kernel<64, false>": Promise(registers=100, mma=5, copy=9, stores=4),
        "attention_forward_short_kernel<128, false>": Promise(registers=136, mma=3.7, copy=9, stores=8),
    },
    "kernels/attention/short/attention_short_backward.cu": {
        # head 32: three blocks of 128 threads on a multiprocessor
        "attention_backward_short_kernel<32, false>": Promise(registers=156, mma=4.7, copy=11.5, loads=2, stores=6),
        "attention_backward_short_kernel<32, true>": Promise(registers=160, mma=4.8, copy=11.5, loads=2, stores=6),
        "attention_backward_short_kernel<64, false>": Promise(registers=224, mma=4.2, copy=10.5, loads=4, stores=12),
        "attention_backward_short_kernel<64, true>": Promise(registers=224, mma=4.3, copy=10.5, loads=4, stores=12),
    },
    "kernels/attention/short/attention_short_f32.cu": {
        "attention_forward_short_f32_kernel<32>": Promise(registers=100),
        "attention_forward_short_f32_kernel<64>": Promise(registers=106),
    },
    "kernels/attention/short/attention_short_f32_backward.cu": {
        "attention_backward_short_f32_kernel<32>": Promise(registers=188, loads=2),
        "attention_backward_short_f32_kernel<64>": Promise(registers=172, loads=4),
    },
    "kernels/gather/gather.cu": {
        # four blocks of 256 threads on a multiprocessor
        "gather_sum_kernel<float, float, 4>": Promise(registers=64, loads=2, stores=1),
        "gather_sum_kernel<bf16, float, 8>": Promise(registers=64, loads=3, stores=2),
        **{f"gather_forward_kernel<{bytes}>": Promise(registers=32) for bytes in (1, 2, 4, 8, 16)},
    },
    "kernels/layer_norm/layer_norm_backward.cu": {
        # two blocks of 256 threads on a multiprocessor; rows of dy and x, and gamma for both passes
        **{f"layer_norm_backward_kernel<float, 4, {warps}>": Promise(registers=128, loads=16, stores=8) for warps in (1, 2, 8)},
        **{f"layer_norm_backward_kernel<bf16, 8, {warps}>": Promise(registers=128, loads=8, stores=4) for warps in (1, 2, 8)},
        "layer_norm_backward_wide_kernel<float, 4>": Promise(registers=48, loads=8, stores=4),
        "layer_norm_backward_wide_kernel<double, 2>": Promise(spills={"sm_90a": 2}),
    },
    "kernels/dropout/dropout.cu": {
        "dropout_kernel<bf16, 8>": Promise(registers=32, loads=1, stores=1, narrow=0),
        "dropout_kernel<float, 4>": Promise(registers=40, loads=2, stores=2, narrow=0),
    },
    "kernels/residual/residual.cu": {
        "residual_add_kernel<bf16, 8>": Promise(registers=32, loads=2, stores=1, narrow=0),
        "residual_dropout_kernel<bf16, 8>": Promise(registers=32, loads=2, stores=1, narrow=0),
        "residual_dropout_kernel<float, 4>": Promise(registers=40, loads=4, stores=2, narrow=0),
    },
    "kernels/feed_forward/feed_forward.cu": {
        "feed_forward_activate_kernel<bf16, 8>": Promise(registers=40, loads=1, stores=1, narrow=0),
        "feed_forward_gradient_kernel<bf16, 8>": Promise(registers=40, loads=2, stores=1, narrow=0),
    },
    "kernels/feed_forward/feed_forward_product.cu": {
        # two blocks of 128 threads on a multiprocessor; the tile loop with the copies of the next tile, unrolled once
        "feed_forward_product_kernel<8>": Promise(registers=248, mma=1.5, loop=2.3, copy=10.5, stores=32, narrow=0),
        "feed_forward_product_gradient_kernel<8>": Promise(registers=232, mma=1.5, loop=2.4, copy=11, loads=16, stores=32, narrow=0),
    },
    "kernels/feed_forward/feed_forward_fused.cu": {
        # two tiles of rows a warp; its 192 sums leave few registers for GELU's polynomial, outside of the products
        "feed_forward_fused_kernel<128, 2, 8>": Promise(mma=1.7, stores=32, narrow=0, spills={"sm_80": 20, "sm_90a": 8}),
        "feed_forward_fused_kernel<64, 2, 8>": Promise(registers=232, mma=2.0, stores=24, narrow=0),
        # one, for few rows
        "feed_forward_fused_kernel<128, 1, 8>": Promise(registers=184, mma=2.4, stores=16, narrow=0),
        "feed_forward_fused_kernel<64, 1, 8>": Promise(registers=152, mma=2.9, stores=12, narrow=0),
    },
    "kernels/feed_forward/feed_forward_fused_backward.cu": {
        "feed_forward_fused_backward_kernel<128, 2, 8>": Promise(mma=1.8, loads=8, stores=32, narrow=0, spills={"sm_80": 40, "sm_90a": 56}),
        "feed_forward_fused_backward_kernel<64, 2, 8>": Promise(registers=232, mma=2.0, loads=8, stores=24, narrow=0),
        "feed_forward_fused_backward_kernel<128, 1, 8>": Promise(registers=192, mma=2.3, loads=4, stores=16, narrow=0),
        "feed_forward_fused_backward_kernel<64, 1, 8>": Promise(registers=160, mma=2.9, loads=4, stores=12, narrow=0),
    },
    "kernels/few_rows/few_rows.cu": {
        # weights 16 bytes a lane, for one and two tiles of rows
        "few_rows_linear_kernel<1>": Promise(registers=84, mma=5.4, loads=17, stores=1),
        "few_rows_linear_kernel<2>": Promise(registers=112, mma=4, loads=17, stores=1),
    },
    "kernels/attention/cached/attention_cached.cu": {
        # four blocks of 128 threads on a multiprocessor. True: values come 16 bytes a lane, up to eight of them before the first is needed
        **{f"attention_piece_kernel<{dtype}, {head}, {pieces}>": Promise(registers=128, loads=14 + 4 * (pieces == "true"),
                                                                         stores=pieces == "true")
           for dtype, widest in (("bf16", 256), ("float", 64), ("double", 64)) for head in (32, 64, 256) for pieces in ("false", "true")
           if pieces == "false" or head <= widest},
        "attention_piece_kernel<double, 256, false>": Promise(registers=128, loads=14, spills={"sm_80": 14, "sm_90a": 21}),
        **{f"attention_combine_kernel<double, {head}>": Promise(registers=64, spills={"sm_80": 2, "sm_90a": 2}) for head in (32, 64)},
    },
    "kernels/adam/adam.cu": {
        # parameters and two moments; the single stores are those of ranges that do not begin at a vector
        "adam_kernel<float, 4>": Promise(registers=56, loads=4, stores=3, narrow=6),
    },
}


def skip(what):
    print(f"SKIPPED: the machine code of the kernels was not checked: {what}", file=sys.stderr)
    sys.exit(SKIPPED)


def compile_all(nvcc, folder):
    """The table's files as cubins; the paths."""
    def compile_one(job):
        file, chip = job
        path = os.path.join(folder, f"{Path(file).stem}.{chip}.cubin")
        # As cmake/cuda.cmake has it.
        command = [nvcc, "-std=c++20", "-O2", "--expt-relaxed-constexpr", "--Werror=all-warnings", "-I.", f"-arch={chip}", "-cubin", file, "-o", path]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0: sys.exit(f"promises.py: {file} does not compile for {chip}:\n{done.stderr}")
        return path
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, [(file, chip) for file in PROMISES for chip in CHIPS]))


def built(folder):
    """The objects of the table's files in a build's folder; the paths."""
    objects = [path for file in PROMISES for path in Path(folder).rglob(f"{file}.o")]
    if len(objects) != len(PROMISES): sys.exit(f"promises.py: {folder} has {len(objects)} of the {len(PROMISES)} object files; build it by the preset cuda")
    return objects


def check(kernels, chips=()):
    """Prints each broken promise; how many there are. `chips`: for which each kernel of the table must be there."""
    promised = {name: promise for file in PROMISES.values() for name, promise in file.items()}
    there = {(k.name, k.chip) for k in kernels}
    broken = [f"{name}, {chip}: there is no such kernel" for name in sorted(promised) for chip in chips if (name, chip) not in there]
    for kernel in kernels:
        promise = promised.get(kernel.name, Promise())
        broken += [f"{kernel.name}, {kernel.chip}: {what}" for what in promise.broken(kernel)]
    for line in broken: print(line)
    print(f"{len(kernels)} kernels, {len(promised)} of them with promises of their own: {len(broken)} promises broken")
    return len(broken)


def main():
    cuobjdump = tool("cuobjdump")
    if cuobjdump is None or tool("nvdisasm") is None: skip("cuobjdump or nvdisasm is missing; they come with the CUDA toolkit and with PyPI's triton wheel")
    # cuobjdump looks for nvdisasm in the PATH.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(tool("nvdisasm")), os.environ["PATH"]])
    if len(sys.argv) == 2 and os.path.isdir(sys.argv[1]):
        return check([k for file in built(sys.argv[1]) for k in read(file, cuobjdump)], CHIPS)
    if files := sys.argv[1:]: return check([k for file in files for k in read(file, cuobjdump)])
    nvcc = tool("nvcc")
    if nvcc is None: skip("nvcc is missing")
    with tempfile.TemporaryDirectory() as folder:
        return check([k for file in compile_all(nvcc, folder) for k in read(file, cuobjdump)], CHIPS)


if __name__ == "__main__": sys.exit(1 if main() else 0)
