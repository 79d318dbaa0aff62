#!/usr/bin/env python3
"""Heddle beside other programs on a CPU: training, and translating with --run.

    peers.py FOLDER --heddle build/release/heddle --train multi30k/train --source de --target en [--run RUN --test multi30k/test_2016_flickr]

FOLDER lies outside the project. Each peer gets a virtual environment of its own there, once; peers/NAME_peer.py runs in it. All start from the
same weights (FOLDER/runs/start, a run of Heddle's) with the same vocabulary and the same batches.

First, without dropout, the losses of 20 updates are compared with Heddle's. Then, with dropout, Heddle and the peer run in turn, --rounds times:
the ratio is the median of the pairs' ratios. Memory is the maximum resident size of the process, the median of its runs. For
translating, Heddle's time is that of the whole program, a peer's that of the translation alone. FOLDER/peers.md and FOLDER/peers.jsonl hold the
results, and for what could not run the last line of its error.

With --ops, only plain ops are compared with PyTorch eager: `heddle bench ops --sizes rows` beside the same calls there, forward and
backward, on one and two threads; FOLDER/ops.md holds the table, and the exit status is 1 when a ratio is above its bar. Needs Python 3.11 with venv and pip.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent / "peers"
sys.path.insert(0, str(HERE))
import small_ops
ENVIRONMENTS = {"tools": ["sentencepiece", "sacrebleu"],
                "torch": ["torch", "setuptools"], "ctranslate2": ["ctranslate2"]}
TRAINING = {"torch-eager": ("torch", "torch_peer.py", "eager"), "torch-compiled": ("torch", "torch_peer.py", "compiled")}
TRANSLATING = {"ctranslate2-f32": ("ctranslate2", "ctranslate2_peer.py", "float32"),
               "ctranslate2-int8": ("ctranslate2", "ctranslate2_peer.py", "int8")}
TOLERANCE = 1e-4  # of losses of about 9, in f32; PyTorch differs by less than 1e-5


class Failed(Exception):
    """With the last line of what the program said."""


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--heddle", type=pathlib.Path, required=True)
    p.add_argument("--train", help="PREFIX of the text to train with; needed without --ops")
    p.add_argument("--ops", action="store_true", help="compare plain ops with PyTorch eager, and nothing else")
    p.add_argument("--ops-threads", type=int, nargs="+", default=[1, 2])
    p.add_argument("--ops-seconds", type=float, default=0.05, help="time for each op on each side")
    p.add_argument("--source", default="de")
    p.add_argument("--target", default="en")
    p.add_argument("--vocab-model", help="a SentencePiece model; without it Heddle trains one")
    p.add_argument("--run", type=pathlib.Path, help="a trained run to translate with; default: translating is not measured")
    p.add_argument("--test", help="PREFIX of the text to translate")
    p.add_argument("--peers", default=",".join(dict.fromkeys([*TRAINING, *TRANSLATING])), help="default: %(default)s")
    p.add_argument("--rounds", type=int, help="pairs of runs; 0: compare the losses alone [3, --ops: 5]")
    p.add_argument("--updates", type=int, default=60)
    p.add_argument("--skip", type=int, default=15, help="updates before the clock starts")
    p.add_argument("--batch-tokens", type=int, default=1500)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--d-model", type=int, default=128)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--d-ff", type=int, default=512)
    p.add_argument("--dropout", type=float, default=0.2)
    p.add_argument("--beams", default="5,1")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--minutes", type=float, default=30, help="a program that runs longer is ended")
    given = p.parse_args()
    if not given.ops and not given.train: p.error("--train is needed")
    if given.rounds is None: given.rounds = 5 if given.ops else 3
    if given.ops and given.rounds < 1: p.error("--ops needs --rounds of at least 1")
    return given


def measured(given, name, command, stdin=None):
    """(standard output, seconds, MB of memory) of a program. What it wrote is in FOLDER/logs."""
    logs = given.folder / "logs"
    logs.mkdir(exist_ok=True)
    environment = os.environ | {"OMP_NUM_THREADS": str(given.threads)}
    out, errors = logs / f"{name}.out", logs / f"{name}.err"
    with open(out, "w") as stdout, open(errors, "w") as stderr, open(stdin or os.devnull) as text:
        start = time.perf_counter()
        process = subprocess.Popen(list(map(str, command)), stdin=text, stdout=stdout, stderr=stderr, env=environment,
                                   start_new_session=True)
        late = threading.Timer(60 * given.minutes, os.killpg, (process.pid, signal.SIGKILL))  # with its own children
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        on_time = late.is_alive()
        late.cancel()
    if process.returncode != 0:
        if not on_time: raise Failed(f"ended after {given.minutes:g} minutes")
        said = [line for line in errors.read_text(errors="replace").splitlines() if line.strip()]
        raise Failed(said[-1].strip()[:300] if said else f"exit status {process.returncode}")
    return out.read_text(), seconds, usage.ru_maxrss / 1024


def python(given, name):
    return given.folder / "environments" / name / "bin" / "python"


def install(given, name):
    """Makes an environment, unless it is there."""
    folder = given.folder / "environments" / name
    if (folder / "installed").exists(): return
    measured(given, f"venv-{name}", [sys.executable, "-m", "venv", folder])
    needed = [*ENVIRONMENTS[name], *(["numpy", "safetensors", "sentencepiece"] if name != "tools" else [])]
    measured(given, f"pip-{name}", [python(given, name), "-m", "pip", "install", "--quiet", "--no-cache-dir", *needed])
    (folder / "installed").touch()


def model_options(given):
    return [f"--{name}={getattr(given, name.replace('-', '_'))}" for name in ("layers", "d-model", "heads", "d-ff", "batch-tokens", "threads")]


def prepare(given):
    """The common start: weights, vocabulary, batches, jobs, and Heddle's losses."""
    work = given.folder / "runs"
    for side in (given.source, given.target):
        with open(f"{given.train}.{side}", encoding="utf-8") as text, open(work / f"few.{side}", "w", encoding="utf-8") as few:
            few.writelines(line for _, line in zip(range(20), text))  # something to validate on, as train wants it
    train = [given.heddle, "train", "--train", given.train, "--valid", work / "few", "--source", given.source, "--target", given.target,
             *model_options(given), "--dropout=0", "--average=1", "--valid-sentences=0", "--tune-search=false", "--overwrite"]
    vocabulary = ["--vocab-model", given.vocab_model] if given.vocab_model else []
    measured(given, "start", [*train, *vocabulary, "--out", work / "start", "--updates=1", "--lr=0"])
    measured(given, "heddle-check", [*train, "--init", work / "start", "--out", work / "after", "--updates=20", "--log-every=1"])
    lines = map(json.loads, (work / "after" / "log.jsonl").read_text().splitlines())
    losses = [line["loss"] for line in lines if line["kind"] == "training"]
    measured(given, "batches", [python(given, "tools"), HERE / "batches.py", work / "start" / "vocab.model", f"{given.train}.{given.source}",
                                f"{given.train}.{given.target}", given.batch_tokens, 1, max(20, given.updates), work / "batches.json"])
    config = tomllib.loads((work / "after" / "config.toml").read_text())
    job = {name: config[name.replace("_", "-")] for name in ("encoder_layers", "decoder_layers", "d_model", "heads", "d_ff", "norm_eps", "warmup", "clip")}
    job |= {"smoothing": config["label-smoothing"], "rate": config["lr"], "betas": config["adam-betas"], "eps": config["adam-eps"],
            "run": str(work / "start"), "batches": str(work / "batches.json"), "threads": given.threads, "skip": given.skip}
    (work / "check.json").write_text(json.dumps(job | {"updates": 20, "dropout": 0}))
    (work / "time.json").write_text(json.dumps(job | {"updates": given.updates, "dropout": given.dropout}))
    return losses


def run_peer(given, name, peer, job):
    environment, script, *mode = peer
    text, seconds, memory = measured(given, name, [python(given, environment), HERE / script, job, *mode])
    return json.loads(text.strip().splitlines()[-1]) | {"memory_mb": round(memory)}


def train_in_heddle(given):
    command = [given.heddle, "bench", "train", "--train", given.train, "--source", given.source, "--target", given.target, "--json",
               "--vocab-model", given.folder / "runs" / "start" / "vocab.model", *model_options(given), f"--dropout={given.dropout}",
               f"--updates={given.updates}", f"--skip={given.skip}"]
    text, _, memory = measured(given, "heddle-train", command)
    return json.loads(text) | {"memory_mb": round(memory)}


def in_turn(given, row, heddle, peer, quantity):
    """Adds the runs of both, and the ratios of their medians."""
    pairs = [(heddle(), peer()) for _ in range(given.rounds)]
    if not pairs: return
    row["heddle"], row["runs"] = ([run[quantity] for run in side] for side in zip(*pairs))
    row["ratio"] = round(statistics.median(a[quantity] / b[quantity] for a, b in pairs), 2)
    row["heddle_memory_mb"], row["memory_mb"] = (statistics.median(run["memory_mb"] for run in side) for side in zip(*pairs))
    row["memory_ratio"] = round(row["heddle_memory_mb"] / row["memory_mb"], 2)
    row["heddle_bleu"], row["bleu"] = (side[-1].get("bleu") for side in zip(*pairs))


def compare_training(given, name, losses):
    row = {"task": "training", "name": name}
    try:
        install(given, TRAINING[name][0])
        checked = run_peer(given, f"{name}-check", TRAINING[name], given.folder / "runs" / "check.json")
        row |= {"peer": checked["peer"], "loss": checked["losses"][-1], "heddle_loss": losses[-1]}
        row["difference"] = max(abs(a - b) for a, b in zip(losses, checked["losses"], strict=True))
        row["equal"] = row["difference"] <= TOLERANCE
        in_turn(given, row, lambda: train_in_heddle(given),
                lambda: run_peer(given, name, TRAINING[name], given.folder / "runs" / "time.json"), "tokens_per_second")
    except Failed as error:
        row["error"] = str(error)
    return row


def bleu(given, translation):
    command = [python(given, "tools"), "-m", "sacrebleu", f"{given.test}.{given.target}", "-i", translation, "-b", "-w", "2"]
    return float(measured(given, "bleu", command)[0])


def compare_translating(given, name, beam):
    row = {"task": f"translating, beam {beam}", "name": name}
    out = given.folder / "runs" / f"{name}.txt"
    job = given.folder / "runs" / "translate.json"
    job.write_text(json.dumps({"run": str(given.run), "source": f"{given.test}.{given.source}", "beam": beam, "threads": given.threads,
                               "out": str(out), "dropout": 0}))

    def heddle():  # with the peers' rules for the end of a search and for the length
        command = [given.heddle, "translate", given.run, f"--beam={beam}", "--beam-patience=1", "--length-penalty=1",
                   f"--threads={given.threads}"]
        text, seconds, memory = measured(given, "heddle-translate", command, stdin=f"{given.test}.{given.source}")
        (given.folder / "runs" / "heddle.txt").write_text(text)
        return {"seconds": round(seconds, 2), "memory_mb": round(memory), "bleu": bleu(given, given.folder / "runs" / "heddle.txt")}

    def peer():
        result = run_peer(given, name, TRANSLATING[name], job)
        row["peer"] = result["peer"]
        return result | {"bleu": bleu(given, out)}

    try:
        install(given, TRANSLATING[name][0])
        in_turn(given, row, heddle, peer, "seconds")
        if given.rounds:
            ours, theirs = ((given.folder / "runs" / f"{which}.txt").read_text().splitlines() for which in ("heddle", name))
            row["same_lines"] = f"{sum(a == b for a, b in zip(ours, theirs, strict=True))} of {len(ours)}"
    except Failed as error:
        row["error"] = str(error)
    return row


def cell(value):
    if isinstance(value, list): return ", ".join(map(cell, value))
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def table(rows):
    columns = ["task", "program", "Heddle", "peer", "ratio", "Heddle's memory, MB", "peer's", "ratio", "equal", "remarks"]
    lines = [columns, ["---"] * len(columns)]
    for row in rows:
        if "difference" in row: equal = f"{'yes' if row['equal'] else '**no**'}: losses within {row['difference']:.1e}"
        elif "same_lines" in row: equal = f"{row['same_lines']} lines; BLEU {row['heddle_bleu']}, {row['bleu']}"
        else: equal = ""
        remarks = f"**could not run:** {row['error'].replace('|', ' ')}" if "error" in row else ""
        lines.append([row["task"], row.get("peer", row["name"]), *map(row.get, ("heddle", "runs", "ratio", "heddle_memory_mb", "memory_mb", "memory_ratio")),
                      equal, remarks])
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def main():
    given = options()
    wanted = given.peers.split(",")
    if unknown := set(wanted) - {*TRAINING, *TRANSLATING}: raise SystemExit(f"peers.py: there is no peer {', '.join(sorted(unknown))}")
    if given.run and not given.test: raise SystemExit("peers.py: --run also needs --test")
    given.folder = given.folder.resolve()
    if given.folder.is_relative_to(HERE.parents[2]): raise SystemExit("peers.py: FOLDER must lie outside the project")
    (given.folder / "runs").mkdir(parents=True, exist_ok=True)
    if not shutil.which(given.heddle): raise SystemExit(f"peers.py: {given.heddle} cannot be run")
    if given.ops:
        try:
            install(given, "torch")
            passed = small_ops.compare(given, lambda name, command: measured(given, name, command)[0], python(given, "torch"))
        except Failed as error:
            raise SystemExit(f"peers.py: {error}; see {given.folder / 'logs'}") from None
        raise SystemExit(0 if passed else 1)
    rows = []

    def add(row):
        rows.append(row)
        print(json.dumps(row), flush=True)
        (given.folder / "peers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (given.folder / "peers.md").write_text("Training in tokens/s (ratio: how many times as fast Heddle is), translating in seconds (ratio: the part of "
                                               f"the peer's time that Heddle takes). {given.threads} threads.\n\n" + table(rows))

    try:
        install(given, "tools")
        losses = prepare(given) if set(wanted) & {*TRAINING} else []
    except Failed as error:
        raise SystemExit(f"peers.py: {error}; see {given.folder / 'logs'}") from None
    for name in TRAINING:
        if name in wanted: add(compare_training(given, name, losses))
    for beam in map(int, given.beams.split(",")) if given.run else ():
        for name in TRANSLATING:
            if name in wanted: add(compare_translating(given, name, beam))


if __name__ == "__main__":
    main()
