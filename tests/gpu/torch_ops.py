#!/usr/bin/env python3
"""PyTorch's ops at the shapes of `heddle bench ops`, with its names of the cases: a JSON object a line, each as soon as it is measured.

    torch_ops.py --device cuda [--sizes large,sentences,translator] [--op attention,softmax] [--dtype bf16,f32]
    torch_ops.py --device cpu --tiny        the same code on small shapes: whether it runs at all
    torch_ops.py --list                     the cases, without PyTorch: sizes, dtype, op and name, with tabs between them

Attention is measured with every back end of scaled_dot_product_attention that takes the inputs, with and without PyTorch's deterministic
mode. Batches of short sentences are padded, with a mask, or packed (varlen), whichever a back end takes. Times are those of
`heddle bench ops`: events, all samples queued ahead, 256 MB overwritten before each, ten runs a sample where one is short. Short ones are
replayed as CUDA graphs, where PyTorch can capture them ("graph": true); what a back end refuses is said in "refused".
"""
import argparse
import json
import math
import os
import statistics
import sys
import time
import warnings

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what PyTorch's deterministic mode asks for

if "--list" not in sys.argv:
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    BACK_ENDS = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
                 "math": SDPBackend.MATH}
    DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    p.add_argument("--sizes", default="large,sentences,translator")
    p.add_argument("--op", default="attention,softmax,log_softmax,layer_norm,linear,cross_entropy,adam")
    p.add_argument("--dtype", default="bf16,f32")
    p.add_argument("--seconds", type=float, default=0.05, help="time for each case")
    p.add_argument("--list", action="store_true", help="say the cases and end")
    p.add_argument("--tiny", action="store_true", help="small shapes in place of the large ones")
    return p.parse_args()


class Timer:
    """Medians in microseconds, taken as heddle bench ops takes them."""

    def __init__(self, device, seconds):
        self.device, self.seconds = device, seconds
        if device == "cuda":
            self.idle = torch.empty(1 << 28, dtype=torch.uint8, device=device)
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            self.idle.zero_()
            start.record()
            for _ in range(9): self.idle.zero_()
            end.record()
            torch.cuda.synchronize()
            self.idle_seconds = 1e-3 * start.elapsed_time(end) / 9

    def measure(self, queue, runs):
        """`queue` queues `runs` runs."""
        if self.device == "cpu":
            times = []
            for _ in range(4):
                start = time.perf_counter()
                queue()
                times.append((time.perf_counter() - start) / runs)
            return 1e6 * statistics.median(times[1:])
        queue()
        torch.cuda.synchronize()
        start = time.perf_counter()
        queue()
        host = time.perf_counter() - start
        torch.cuda.synchronize()
        whole = time.perf_counter() - start
        lead = math.ceil(1.5 * host / self.idle_seconds)
        samples = max(5, min(100, int(self.seconds / (whole + lead * self.idle_seconds))))
        marks = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(samples)]
        for start, end in marks:
            for _ in range(lead): self.idle.zero_()
            start.record()
            queue()
            end.record()
        torch.cuda.synchronize()
        return 1e3 * statistics.median(a.elapsed_time(b) for a, b in marks) / runs

    def case(self, forward, inputs, short):
        """`forward` gives a tensor; `inputs` are those whose gradients are wanted (none: there is no backward)."""
        runs = 10 if short and self.device == "cuda" else 1
        output = forward()
        cotangent = torch.full_like(output, 0.01) if inputs else None
        backward = lambda result: torch.autograd.grad(result, inputs, cotangent, retain_graph=True)
        if inputs: backward(output)
        row = {"graph": False}
        if runs > 1:
            try:
                results, forward_graph, backward_graph = self.capture(forward, backward if inputs else None, runs)
                row["graph"] = True
                row["forward_microseconds"] = self.measure(forward_graph.replay, runs)
                if inputs: row["backward_microseconds"] = self.measure(backward_graph.replay, runs)
                return row
            except RuntimeError as error:
                row["why_no_graph"] = str(error).split("\n")[0][:160]
                torch.cuda.synchronize()
        row["forward_microseconds"] = self.measure(lambda: [forward() for _ in range(runs)], runs)
        if inputs: row["backward_microseconds"] = self.measure(lambda: [backward(output) for _ in range(runs)], runs)
        return row

    @staticmethod
    def capture(forward, backward, runs):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                result = forward()
                if backward: backward(result)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        forward_graph, backward_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(forward_graph): results = [forward() for _ in range(runs)]
        if backward:
            with torch.cuda.graph(backward_graph, pool=forward_graph.pool()): gradients = [backward(result) for result in results]
            results.append(gradients)
        return results, forward_graph, backward_graph


def random(shape, dtype, device, grad=True): return (0.1 * torch.randn(shape, device=device)).to(dtype).requires_grad_(grad)


def attention_cases(sizes, tiny):
    """(name, lengths, heads, head width, causal)"""
    cases = []
    if sizes == "large":
        tokens, d_model = (64, 256) if tiny else (16384, 2048)
        for head in (64, 128):
            for length in (tokens // 8, tokens):
                for causal in (False, True):
                    n, heads = tokens // length, d_model // head
                    name = f"{n} sentences of {length}, {heads} heads of {head}" + ", causal" * causal
                    cases.append((name, [length] * n, heads, head, causal))
    elif sizes == "sentences":
        for d_model in (128, 512):
            for n in (4,) if tiny else (64, 128, 256):
                for causal in (False, True):
                    heads = 4 if d_model == 128 else 8
                    lengths = [10 + 37 * i % 51 for i in range(n)]
                    cases.append((f"{n} sentences of 10-60, {heads} heads of {d_model // heads}" + ", causal" * causal, lengths, heads,
                                  d_model // heads, causal))
    return cases


def padded_attention(lengths, heads, head, causal, dtype, device):
    """For scaled_dot_product_attention: the way to run it, and its inputs."""
    batch, longest = len(lengths), max(lengths)
    q, k, v = (random((batch, longest, heads, head), dtype, device) for _ in range(3))
    mask = None
    if min(lengths) < longest:
        inside = torch.arange(longest, device=device)[None, :] < torch.tensor(lengths, device=device)[:, None]
        mask = inside[:, None, None, :]
        if causal: mask = mask & torch.ones(longest, longest, dtype=torch.bool, device=device).tril()
    run = lambda: F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask,
                                                 is_causal=causal and mask is None)
    return run, [q, k, v]


def packed_attention(lengths, heads, head, causal, dtype, device):
    """The variable-length forms that are there, PyTorch's own and the package flash_attn: name, the way to run it, inputs."""
    rows, longest = sum(lengths), max(lengths)
    q, k, v = (random((rows, heads, head), dtype, device) for _ in range(3))
    starts = torch.tensor([0] + lengths, device=device).cumsum(0).to(torch.int32)
    found = []
    try:
        from torch.nn.attention.varlen import varlen_attn
        window = (-1, 0) if causal else (-1, -1)
        found.append(("varlen", lambda: varlen_attn(q, k, v, starts, starts, longest, longest, window_size=window), [q, k, v]))
    except ImportError:
        pass
    try:
        from flash_attn import flash_attn_varlen_func
        package = lambda: flash_attn_varlen_func(q, k, v, starts, starts, longest, longest, causal=causal)
        found.append(("flash_attn varlen", package, [q, k, v]))
    except ImportError:
        pass
    return found


def measure_attention(timer, say, sizes, dtype, deterministic, o):
    torch.use_deterministic_algorithms(deterministic)
    for name, lengths, heads, head, causal in attention_cases(sizes, o.tiny):
        ways = []
        run, inputs = padded_attention(lengths, heads, head, causal, DTYPES[dtype], o.device)
        for back_end, which in BACK_ENDS.items():
            def with_back_end(which=which):
                with sdpa_kernel(which): return run()
            ways.append((back_end, with_back_end, inputs))
        if sizes == "sentences": ways += packed_attention(lengths, heads, head, causal, DTYPES[dtype], o.device)
        for way, forward, inputs in ways:
            row = {"op": "attention", "case": name, "sizes": sizes, "dtype": dtype, "how": way, "deterministic": deterministic}
            try:
                row.update(timer.case(forward, inputs, short=sizes == "sentences"))
            except (RuntimeError, torch.OutOfMemoryError, TypeError, ValueError) as error:
                row["refused"] = str(error).split("\n")[0][:160]
                if o.device == "cuda": torch.cuda.empty_cache()
            say(row)
    torch.use_deterministic_algorithms(False)


def plain_cases(sizes, dtype, tiny):
    """(op, name, shape): as autograd/ops/*_cases.cpp and apps/bench/op_cases.cpp have them."""
    size = {"bf16": 2, "f32": 4}[dtype]
    if sizes == "translator": rows, cols, some_rows, vocabulary, parameters = 2800, 128, 256, 6000, 2157056
    else:
        elements = (1 << 12 if tiny else 512 << 20) // size
        cols, vocabulary, parameters = (16, 32, elements) if tiny else (1024, 32768, elements)
        rows, some_rows = elements // cols, elements // vocabulary
    for op in ("softmax", "log_softmax", "layer_norm"):
        yield op, f"[{rows}, {cols}]", (rows, cols)
        if sizes == "large": yield op, f"[{some_rows}, {vocabulary}]", (some_rows, vocabulary)
    yield "cross_entropy", f"[{some_rows}, {vocabulary}]", (some_rows, vocabulary)
    if sizes == "translator": products = [(rows, 128, 384), (rows, 128, 128), (rows, 128, 512), (rows, 512, 128), (rows, 256, 1024)]
    else: products = [(64, 16, 16)] if tiny else [(16384, 2048, 2048), (16384, 2048, 8192)]
    for n, inner, outer in products: yield "linear", f"[{n}, {inner}] x [{outer}, {inner}]^T", (n, inner, outer)
    if dtype == "f32": yield "adam", f"[{parameters}]", (parameters,)


def plain_case(op, shape, dtype, device):
    """The way to run an op, and the inputs whose gradients are wanted."""
    if op == "adam":
        flat = torch.full(shape, 0.01, dtype=dtype, device=device)
        flat.grad = torch.full_like(flat, 0.01)
        adam = torch.optim.Adam([flat], lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True, capturable=device == "cuda")
        return lambda: (adam.step(), flat)[1], []
    if op == "linear":
        n, inner, outer = shape
        x, weight, bias = random((n, inner), dtype, device), random((outer, inner), dtype, device), random((outer,), dtype, device)
        return lambda: F.linear(x, weight, bias), [x, weight, bias]
    x = random(shape, dtype, device)
    if op == "layer_norm":
        gamma, beta = random(shape[1:], dtype, device), random(shape[1:], dtype, device)
        return lambda: F.layer_norm(x, shape[1:], gamma, beta), [x, gamma, beta]
    if op == "cross_entropy":
        targets = torch.randint(shape[1], shape[:1], device=device)
        return lambda: F.cross_entropy(x, targets, label_smoothing=0.1), [x]
    return (lambda: torch.softmax(x, -1)) if op == "softmax" else (lambda: torch.log_softmax(x, -1)), [x]


def main():
    o = options()
    if o.list:
        for sizes in o.sizes.split(","):
            for dtype in o.dtype.split(","):
                cases = [("attention", case[0]) for case in attention_cases(sizes, o.tiny)]
                if sizes != "sentences": cases += [case[:2] for case in plain_cases(sizes, dtype, o.tiny)]
                for case in cases: print(sizes, dtype, *case, sep="\t")
        return
    warnings.simplefilter("ignore")
    torch.manual_seed(7)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a help in finding bugs that costs time
    timer, ops = Timer(o.device, o.seconds), o.op.split(",")

    def say(row): print(json.dumps({"peer": "torch " + torch.__version__, "device": o.device, **row}), flush=True)
    settings = [(sizes, dtype) for sizes in o.sizes.split(",") for dtype in o.dtype.split(",")]

    def attention(deterministic):
        if "attention" not in ops: return
        for sizes, dtype in settings:
            if sizes != "translator": measure_attention(timer, say, sizes, dtype, deterministic, o)

    attention(False)
    for sizes, dtype in settings:
        for op, name, shape in plain_cases(sizes, dtype, o.tiny) if sizes != "sentences" else ():
            if op not in ops: continue
            row = {"op": op, "case": name, "sizes": sizes, "dtype": dtype, "how": "torch", "deterministic": False}
            try:
                forward, inputs = plain_case(op, shape, DTYPES[dtype], o.device)
                row.update(timer.case(forward, inputs, short=sizes == "translator"))
            except (RuntimeError, torch.OutOfMemoryError) as error:
                row["refused"] = str(error).split("\n")[0][:160]
            say(row)
            forward = inputs = None
    attention(True)  # last: when time runs out, the column that matters more is there



main()
