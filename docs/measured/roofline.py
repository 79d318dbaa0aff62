#!/usr/bin/env python3
"""The rooflines of the chapters' kernels, from the counts of heddle explain and published peaks:  roofline.py HEDDLE > docs/measured/roofline.md

Calculated, not measured: the least time that the bytes and the operations of a shape take at the peaks of a chip."""
import os
import re
import subprocess
import sys
import tempfile

# GB/s; TFLOP/s in f32 outside of tensor cores, and in dense bf16 on them: the data sheets that heddle explain names.
CHIPS = {"A100": (2039, 19.5, 312), "H100": (3352, 66.9, 989.4)}
# Chapter, examples of heddle explain, the shape that all of them are counted at.
CHAPTERS = [
    ("activation", ["relu", "gelu"], "256,512"), ("dropout", ["dropout"], "256,512"), ("residual", ["residual"], "256,512"),
    ("permute", ["permute-naive", "permute-swizzle"], "256,256"), ("concat", ["concat"], "256,512"), ("slice", ["slice"], "256,512"),
    ("reduce", ["sum-rows", "sum-columns"], "256,512"), ("adam", ["adam"], "131072"), ("gradient_norm", ["gradient-norm"], "131072"),
    ("softmax", ["softmax-naive", "softmax-vectors", "softmax", "softmax-backward"], "128,512"),
    ("layer_norm", ["layer-norm-naive", "layer-norm-vectors", "layer-norm", "layer-norm-backward", "residual-layer-norm"], "128,512"),
    ("cross_entropy", ["cross-entropy", "cross-entropy-backward"], "64,2048"), ("top_k", ["top-k"], "64,2048"),
    ("gather", ["gather"], "256,512"), ("embedding", ["embedding"], "256,512"),
    ("matmul", ["matmul-naive", "matmul-shared-tile", "matmul-register-tile", "matmul-vector-loads", "matmul-warp-tile", "matmul-tensor-cores",
                "matmul-copies-ahead", "matmul-swizzle", "matmul-whole-lines"], "64,64,64"),
    ("attention", ["attention-naive", "attention-rows", "attention", "attention-bf16", "attention-bf16-backward"], "64,64"),
    ("feed_forward", ["feed-forward-naive", "feed-forward-copies-ahead", "feed-forward", "feed-forward-bf16"], "32,64,128"),
    ("few_rows", ["few-rows"], "32,128,128"), ("attention, cached", ["attention-cached"], "48,64,64"),
]


def counts(heddle, name, shape, folder):
    """(operations or None, on tensor cores, bytes moved without caches, least bytes, launches)"""
    text = subprocess.run([heddle, "explain", name, "--shape", shape, "--out", os.path.join(folder, "page.html")], check=True,
                          capture_output=True, text=True).stdout
    def all_of(label): return [int(found) for found in re.findall(rf"^ *{label} +(\d+)$", text, re.M)]
    operations = all_of("operations, two for each multiply-add")
    cores = re.search(r"limit on A100 +\w+: (?:below|at least) 153", text) is not None
    moved, least = all_of("bytes moved, in sectors of 32"), all_of("each byte read once and written once")
    return operations[0] if operations else None, cores, sum(moved), sum(least), len(moved)


def main():
    if len(sys.argv) != 2: sys.exit("roofline.py: wanted the program, as in: roofline.py build/emulated/heddle")
    print("""# Rooflines, calculated

What the kernels of the chapters could do at best, from the bytes and operations that `heddle explain` counts on the emulated
device and the published peaks of two chips (A100 SXM 80 GB: 2,039 GB/s, 19.5 TFLOP/s in f32, 312 in bf16 on tensor cores; H100
SXM: 3,352 GB/s, 66.9 and 989.4; the sources are on [the page of explain](../explain.md)). **Calculated: no time on this page was
measured.** `docs/measured/roofline.py` writes it.

- **least bytes**: each byte that the launches need is read once and written once. **moved**: what they ask for, in whole sectors,
  without any cache. Far apart, they say how much the caches must catch.
- **operations for a byte**: those of the formula for each least byte; bytes limit a kernel below 10 (A100) or 20 (H100) in f32,
  below 153 or 295 on tensor cores. Ops without a number have fewer operations than bytes.
- **least time**: of the bytes at the chip's bandwidth or of the operations at its peak, whichever is longer, in nanoseconds for
  this small shape; a launch takes some thousand.

| chapter | kernel | shape | launches | least bytes | moved / least | operations for a byte | limit | A100, ns | H100, ns |
|---|---|---|---|---|---|---|---|---|---|""")
    with tempfile.TemporaryDirectory() as folder:
        for chapter, names, shape in CHAPTERS:
            for name in names:
                operations, cores, moved, least, launches = counts(sys.argv[1], name, shape, folder)
                times, limits = [], set()
                for bandwidth, f32, bf16 in CHIPS.values():
                    memory, arithmetic = least / bandwidth, (operations or 0) / (bf16 if cores else f32) / 1e3
                    times.append(f"{max(memory, arithmetic):,.0f}")
                    limits.add("bytes" if memory >= arithmetic else "operations")
                limit = limits.pop() if len(limits) == 1 else "operations, bytes"
                rate = f"{operations / least:.1f}" if operations else "-"
                print(f"| {chapter} | `{name}` | {shape.replace(',', ' x ')} | {launches} | {least:,} | {moved / least:.1f} | {rate} | {limit} | {' | '.join(times)} |")


if __name__ == "__main__": main()
