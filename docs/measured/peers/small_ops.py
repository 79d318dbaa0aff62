"""peers.py --ops: plain ops beside PyTorch eager, op by op, shape by shape, forward and backward, in turn."""
import json
import pathlib
import re
import statistics

BAR = 1.1           # the most of PyTorch's time that an op may take
BAR_OF_TINY = 0.27  # 2000 additions of [16, 8]: only the cost of a call
HERE = pathlib.Path(__file__).resolve().parent


def bar_of(op):
    return BAR_OF_TINY if op == "composed 2000 additions" else 1.0 if op.startswith("composed") else BAR


def processor():
    try:
        return re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    except (OSError, TypeError):
        return "a processor without a name"


def times_of_heddle(text):
    """{(op, shape, side): microseconds}"""
    times = {}
    for row in json.loads(text)["ops"]:
        shape, rest = re.fullmatch(r"\[(\d+, \d+)\](.*)", row["case"]).groups()
        name = row["op"] if row["op"] == "permute" else row["op"] + rest
        for side in ("forward", "backward"): times[name, shape, side] = row[f"{side}_microseconds"]
    return times


def times_of_peer(text):
    return {(row["op"], ", ".join(map(str, row["shape"])), side): row[f"{side}_microseconds"]
            for row in json.loads(text)["ops"] for side in ("forward", "backward")}


def compare(given, run, python):
    """Measures, prints a table and writes it to FOLDER/ops.md; True when every ratio is within its bar. run(name, command) returns what a
    program prints."""
    lines, failed = [], []
    for threads in given.ops_threads:
        ratios, last = {}, {}
        for _ in range(given.rounds):
            ours = times_of_heddle(run("heddle-ops", [given.heddle, "bench", "ops", "--sizes", "rows", "--json", "--threads", threads,
                                                      "--seconds", given.ops_seconds]))
            text = run("torch-ops", [python, HERE / "ops_peer.py", threads, given.ops_seconds])
            peer, theirs = json.loads(text)["peer"], times_of_peer(text)
            if ours.keys() != theirs.keys(): raise SystemExit(f"peers.py: only one side has {sorted(ours.keys() ^ theirs.keys())}")
            for key in ours:
                ratios.setdefault(key, []).append(ours[key] / theirs[key])
                last[key] = ours[key], theirs[key]
        lines += [f"{processor()}, {threads} threads, {peer}; medians of {given.rounds} runs in turn, microseconds of the last", "",
                  "| op | shape | | Heddle | PyTorch | ratio | |", "| --- | --- | --- | ---: | ---: | ---: | --- |"]
        for (op, shape, side), values in ratios.items():
            ratio = statistics.median(values)
            passes = ratio <= bar_of(op)
            if not passes: failed.append((threads, op, shape, side, ratio))
            lines.append(f"| {op} | [{shape}] | {side} | {last[op, shape, side][0]:.1f} | {last[op, shape, side][1]:.1f} | {ratio:.2f} | "
                         f"{'pass' if passes else '**fail**'} |")
        lines.append("")
    lines.append(f"{len(failed)} fail" + "".join(f"\n{threads} threads, {op} [{shape}] {side}: {ratio:.2f}" for threads, op, shape, side, ratio in failed))
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (given.folder / "ops.md").write_text(text)
    return not failed
