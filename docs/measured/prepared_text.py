#!/usr/bin/env python3
"""What training from a prepared text needs:

    python3 docs/measured/prepared_text.py FOLDER --heddle build/release/heddle --pairs 1000 5000000

For each number of pairs it writes that many generated pairs to FOLDER (numbers in English and German words, as of the task `numbers`; about
110 bytes a pair), prepares them, and trains for --updates updates. It prints, for prepare, the largest resident memory and the processor time;
for train the memory that the system cannot drop (RssAnon of /proc/PID/status, read every 20 ms: mapped pages are not in it) and the time when
the line of the first update appears. With --ranks 2 also on several processes, by mpirun. Everything is kept: a second call measures again.
"""
import argparse
import os
import pathlib
import random
import subprocess
import time

ONES = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(),
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split(),
}
TENS = {
    "en": "- - twenty thirty forty fifty sixty seventy eighty ninety".split(),
    "de": "- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split(),
}


def below_hundred(n, language):
    tens, ones = n // 10, n % 10
    if n < 20:
        return ONES[language][n]
    if ones == 0:
        return TENS[language][tens]
    if language == "en":
        return f"{TENS['en'][tens]}-{ONES['en'][ones]}"
    return f"{ONES['de'][ones]}und{TENS['de'][tens]}"


def below_thousand(n, language):
    hundreds = [ONES[language][n // 100] + (" hundred" if language == "en" else "hundert")] if n >= 100 else []
    rest = [below_hundred(n % 100, language)] if n % 100 else []
    return (" " if language == "en" else "").join(hundreds + rest)


WORDS = {language: [below_thousand(n, language) for n in range(1000)] for language in ("en", "de")}


def number(n, language):
    millions, thousands, rest = WORDS[language][n // 10**6], WORDS[language][n // 1000 % 1000], WORDS[language][n % 1000]
    if language == "en":
        parts = [millions and millions + " million", thousands and thousands + " thousand", rest]
    else:
        parts = [millions and ("eine million" if n // 10**6 == 1 else millions + " millionen"), (thousands and thousands + "tausend") + rest]
    return " ".join(part for part in parts if part)


def write_pairs(prefix, pairs):
    numbers = random.Random(1)
    with open(f"{prefix}.en", "w", encoding="utf-8") as english, open(f"{prefix}.de", "w", encoding="utf-8") as german:
        for _ in range(pairs):
            n = numbers.randrange(1, 10 ** numbers.randint(3, 9))
            english.write(number(n, "en") + "\n")
            german.write(number(n, "de") + "\n")


def prepare(heddle, prefix, text):
    if not text.exists():
        command = [heddle, "prepare", "--train", prefix, "--source", "en", "--target", "de", "--vocab-size", "200", "--vocab-lines", "100000",
                   "--out", text]
        process = subprocess.Popen([str(word) for word in command])
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit("heddle prepare failed")
        print(f"prepare: {usage.ru_maxrss // 1024} MiB resident at most, {usage.ru_utime + usage.ru_stime:.0f} s of processor time", flush=True)
    print("bytes:", sum(file.stat().st_size for file in text.iterdir()), flush=True)


def status_of(process):
    """RssAnon and RssFile in MiB, and the seconds of processor time; nothing when the process is gone."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
        times = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Rss")}
    if "RssAnon" not in kilobytes:
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    return kilobytes["RssAnon"] / 1024, kilobytes["RssFile"] / 1024, (int(times[11]) + int(times[12])) / ticks


def processes_of(heddle, run):
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words and words[0] == os.fsencode(heddle) and os.fsencode(run) in words:
            found.append(int(entry.name))
    return found


def train(heddle, text, run, ranks, updates, options):
    command = [str(heddle), "train", "--train", str(text), "--out", str(run), "--overwrite", "--updates", str(updates), "--log-every", "1",
               "--tune-search", "false", "--shards", str(ranks)] + options
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks)] + command
    log_name = run.with_suffix(".log")
    start, first, most = time.monotonic(), None, {}
    with open(log_name, "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        while process.poll() is None:
            has_updated = "| update " in log_name.read_text(encoding="utf-8")
            found = {each: state for each in processes_of(heddle, run) if (state := status_of(each))}
            for each, (anonymous, mapped, _) in found.items():
                before = most.get(each, (0, 0))
                most[each] = max(before[0], anonymous), max(before[1], mapped)
            if has_updated and first is None:
                first = time.monotonic() - start
                for each, (anonymous, _, seconds) in sorted(found.items()):
                    print(f"  first update after {first:.1f} s: process {each} has {anonymous:.0f} MiB, {seconds:.1f} s of processor time")
            time.sleep(0.02)
    if process.returncode != 0:
        raise SystemExit(f"heddle train failed, see {log_name}")
    for each, (anonymous, mapped) in sorted(most.items()):
        print(f"  at most: process {each} {anonymous:.0f} MiB, and {mapped:.0f} MiB of mapped files", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--heddle", type=pathlib.Path, default=pathlib.Path("build/release/heddle"))
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 5_000_000])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("options", nargs="*", help="further options of heddle train, after --")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    heddle, folder = given.heddle.resolve(), given.folder.resolve()
    for pairs in given.pairs:
        prefix, text = folder / f"numbers{pairs}", folder / f"numbers{pairs}.prepared"
        print(f"{pairs} pairs", flush=True)
        if not text.exists():
            write_pairs(prefix, pairs)
        prepare(heddle, prefix, text)
        for ranks in given.ranks:
            print(f" {ranks} process{'es' if ranks > 1 else ''}", flush=True)
            train(heddle, text, folder / f"run{pairs}-{ranks}", ranks, given.updates, given.options)


main()
