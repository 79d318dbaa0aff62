#!/usr/bin/env python3
"""The results of tests/gpu.sh as Markdown on stdout, and as one JSON file:  table.py RESULTS.jsonl RESULTS.json"""
import json
import sys


def read(path):
    """The records of the file; the last line may be cut off where a stage was stopped."""
    records = []
    for line in open(path, encoding="utf-8"):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"table.py: left out: {line[:80]}", file=sys.stderr)
    return records


def table(head, rows):
    if not rows: return
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows: print("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")


def us(row, side): return f"{row[side + '_microseconds']:.1f}" if row and side + "_microseconds" in row else "-"
def ratio(ours, theirs, side):
    key = side + "_microseconds"
    return f"{theirs[key] / ours[key]:.2f}x" if theirs and key in ours and key in theirs else "-"
def percent(row, side): return f"{row[side + '_percent_of_copy']:.0f}" if side + "_percent_of_copy" in row else "-"
def tflops(row, side, operations=None):
    """Of a row of ours, or of theirs with our count of operations."""
    if operations is None: return f"{row[side + '_gflops'] / 1e3:.0f}" if side + "_gflops" in row else "-"
    key = side + "_microseconds"
    return f"{operations / row[key] / 1e6:.0f}" if key in row else "-"


def results(records):
    """Ours and PyTorch's rows by (sizes, dtype, op, case); of a case measured twice, the last."""
    ours, theirs = {}, {}
    for record in records:
        result = record.get("result")
        if record["stage"] != "bench-ops" or not result or "ladder" in result: continue
        if "ops" in result:
            for row in result["ops"]:
                of_all = {"copy": result["copy_gb_per_second"], "mode": result["mode"]}
                ours[result["sizes"], result["dtype"], row["op"], row["case"]] = {**row, **of_all}
        else:
            key = (result["sizes"], result["dtype"], result["op"], result["case"])
            theirs.setdefault(key, {})[result["how"], result["deterministic"]] = result
    return ours, theirs


def best(rows, side):
    """The fastest of PyTorch's ways that gave a time."""
    timed = [row for row in rows if side + "_microseconds" in row]
    return min(timed, key=lambda row: row[side + "_microseconds"]) if timed else None


def say_tests(records):
    runs = [r for r in records if "status" in r and r["stage"] in ("build", "test")]
    table(["stage", "what", "result", "seconds", ""], [(r["stage"], r["name"], r["status"], r["seconds"], r["words"]) for r in runs])


def say_plain(ours, theirs, sizes, title):
    keys = [key for key in ours if key[0] == sizes and key[2] != "attention"]
    if not keys: return
    print(f"\n## {title}")
    print(f"\nCopy bandwidth in this run: {ours[keys[0]]['copy']:.0f} GB/s. Times in microseconds, bytes as % of it; "
          "TFLOP/s where an op multiplies matrices; `x`: PyTorch's time over ours.")
    rows = []
    for key in keys:
        row, peer = ours[key], next(iter(theirs.get(key, {}).values()), None)
        cells = [key[2], key[3], key[1]]
        for side in ("forward", "backward"): cells += [us(row, side), percent(row, side), tflops(row, side)]
        for side in ("forward", "backward"): cells += [us(peer, side), ratio(row, peer, side)]
        rows.append(cells + [row.get("host_waits", "")])
    table(["op", "case", "dtype", "forward", "% copy", "TFLOP/s", "backward", "% copy", "TFLOP/s", "PyTorch forward", "x", "backward", "x",
           "host waits"], rows)


def say_attention(ours, theirs, sizes, title):
    keys = [key for key in ours if key[0] == sizes and key[2] == "attention"]
    if not keys: return
    print(f"\n## {title}")
    print(f"\nOperations: {ours[keys[0]].get('operations', '')}. In each cell microseconds (TFLOP/s); last PyTorch's best time over ours, "
          "and its best deterministic time over ours, which is always deterministic.")
    ways = sorted({way for key in keys for way in theirs.get(key, {})}, key=lambda way: (way[1], way[0]))
    for side in ("forward", "backward"):
        rows = []
        for key in keys:
            row, peers = ours[key], theirs.get(key, {})
            if side + "_microseconds" not in row: continue
            operations = row.get(side + "_gflops", 0) * row[side + "_microseconds"] * 1e3

            def cell(r):
                if r and side + "_microseconds" in r: return f"{us(r, side)} ({tflops(r, side, operations)})"
                return "refused" if r and "refused" in r else "-"
            fixed = [r for (_, deterministic), r in peers.items() if deterministic]
            rows.append((key[3], key[1], cell(row), *(cell(peers.get(way)) for way in ways), ratio(row, best(peers.values(), side), side),
                         ratio(row, best(fixed, side), side)))
        names = [name + (", deterministic" if deterministic else "") for name, deterministic in ways]
        table(["case, " + side, "dtype", "Heddle", *names, "x", "x deterministic"], rows)


def say_ladders(records):
    for ladder in (r["result"] for r in records if "ladder" in r.get("result", {})):
        print(f"\n## The ladder of {ladder['ladder']}\n\n{ladder['what']}; bytes: each tensor once.")
        table(["step", "dtype", "us", "TFLOP/s", "% of peak", "% copy", "registers"],
              [(step["step"], step["dtype"], f"{step['microseconds']:.1f}", f"{step['tflops']:.1f}" if "tflops" in step else "-",
                f"{step['percent_of_peak']:.0f}" if "percent_of_peak" in step else "-", f"{step['percent_of_copy']:.0f}",
                step.get("registers", "-")) for step in ladder["steps"] if "microseconds" in step])


def say_training(records):
    found = {}
    for record in records:
        if record["stage"] == "bench-train" and "result" in record: found[record["name"]] = record["result"]
    if not found: return
    print("\n## Training\n\nTokens a second (source and target, without padding), whole updates.")
    rows, speed = [], "tokens_per_second"
    for model in ("small", "base"):
        for dtype in ("bf16", "f32"):
            mine = found.get(f"heddle {model} {dtype}")
            if not mine: continue
            row = [model, dtype, f"{mine['parameters']:,}", f"{mine[speed]:,}"]
            for mode in ("eager", "compile"):
                peer = found.get(f"torch {mode} {model} {dtype}")
                row += [f"{peer[speed]:,}", f"{mine[speed] / peer[speed]:.2f}x"] if peer else ["-", "-"]
            rows.append(row)
    table(["model", "dtype", "parameters", "Heddle", "PyTorch eager", "ratio", "PyTorch compile", "ratio"], rows)


def main():
    records = read(sys.argv[1])
    json.dump(records, open(sys.argv[2], "w", encoding="utf-8"), indent=1)
    ours, theirs = results(records)
    modes = sorted({row["mode"] for row in ours.values()})
    print("# Heddle on a GPU\n")
    machine = [r["words"] for r in records if r.get("name") == "machine"]
    for line in machine[-1:] + modes: print(f"{line}  ")
    say_tests(records)
    say_attention(ours, theirs, "large", "Attention over 16k tokens")
    say_attention(ours, theirs, "sentences", "Attention over sentences of 10 to 60 tokens")
    say_plain(ours, theirs, "large", "Tensors of 512 MB")
    say_plain(ours, theirs, "translator", "At the sizes of the small translator")
    say_ladders(records)
    say_training(records)
    failures = [r for r in records if r.get("status") in ("failed", "stopped") and r["stage"].startswith("bench")]
    if failures: print("\n## What did not end well")
    table(["stage", "what", "result", "seconds", ""], [(r["stage"], r["name"], r["status"], r["seconds"], r["words"]) for r in failures])


main()
