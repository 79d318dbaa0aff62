#!/usr/bin/env python3
"""Source mutants: makes small wrong versions of the real source, one at a time, and demands that a test fails.

    tests/mutation/mutate.py BUILD [--count 30] [--seed N] [--only TEXT]     draws mutants and runs them; BUILD: preset emulated, built
    tests/mutation/mutate.py BUILD --record ...      also keeps the results in results.jsonl, leaves out mutants that it holds already, and
                                                     writes docs/measured/mutation.md
    tests/mutation/mutate.py BUILD --again [--only TEXT]   runs the kept ones once more that no test killed
    tests/mutation/mutate.py --report                writes the page from results.jsonl
    tests/mutation/mutate.py --list [--count 30] [--seed N]   draws only

A mutant is a changed line of a .cu file, of a fast path at one x86-64 level, of a tape node or of a reference (changes.py has the kinds of
change). What does not compile, or compiles to the same code, is none. A mutant is killed when a test program that reads the line fails,
crashes or does not end; programs.py says which programs these are. Ends with status 1 when a mutant survives that equivalent.txt does not list.
"""
import argparse
import dataclasses
import datetime
import itertools
import os
import subprocess
import sys
import time

import draw
import report
import results
from build import Build, BuildError, LinkError
from programs import programs_for
from run import Baseline, run, seconds_of_children

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Of the mutant alone, so it sees the arrays of functions and std containers, not Heddle's own memory.
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all")
SANITIZED_PROGRAMS = 4


def levels_of_this_processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(next((line.split(":")[1] for line in file if line.startswith("flags")), "").split())
    wanted = {"v2": {"sse4_2"}, "v3": {"avx2", "fma"}, "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}
    return [level for level, needs in wanted.items() if needs <= flags] or ["v2"]  # elsewhere there is one level of this name


def variants_of(mutant, program):
    """Which of its objects takes the place of the library's in `program`."""
    return "checked" if program.startswith("checked/") else mutant.variant


class Trial:
    """One mutant: compiled when a program needs it, and run."""

    def __init__(self, build, baseline, mutant):
        self.build, self.baseline, self.mutant = build, baseline, mutant
        self.level = mutant.variant if mutant.variant.startswith("v") else None
        self.objects = {}

    def object(self, variant, flags=()):
        if (variant, flags) not in self.objects:
            self.objects[variant, flags] = self.build.compile(self.mutant.file, self.mutant.text, self.mutant.unit, variant, flags)
        return self.objects[variant, flags]

    def verdict(self):
        """("killed", "survived", "same code" or "does not compile"; the test that failed)."""
        mutant = self.mutant
        own, further = [[test for test in tests if self.build.has_program(test[0])] for tests in programs_for(self.build.root, mutant.unit)]
        if mutant.kind == "barrier dropped":
            own.sort(key=lambda test: not test[0].startswith("checked/"))
        if not own:
            raise BuildError(f"{self.build.folder} builds no test program of {mutant.unit}")
        self.build.make(own[0][0])
        if self.object(mutant.variant) is None:
            return "does not compile", ""
        if self.build.same_code(self.object(mutant.variant), mutant.unit, mutant.variant):
            # Barriers that the emulator's plain kernels do not need are seen by the watched ones alone.
            if mutant.kind != "barrier dropped" or self.build.same_code(self.object("checked"), mutant.unit, "checked"):
                return "same code", ""
        # An index behind a small array goes unnoticed here, but not where tests/run.sh --all runs the same programs under the sanitizers.
        unwatched = [test for test in own if not test[0].startswith("checked/")][:SANITIZED_PROGRAMS]
        for tests, flags in ((own, ()), (unwatched, SANITIZED), (further, ())):
            for program, only in tests:
                try:
                    failed = self.failure(program, only, flags)
                except LinkError:
                    variant = variants_of(mutant, program)
                    self.build.link(program, self.build.original(mutant.unit, variant), mutant.unit, variant)
                    return "does not compile", ""
                if failed:
                    return "killed", f"{program}{', sanitized' if flags else ''}: {failed}"
        return "survived", f"{len(own + further)} programs"

    def failure(self, program, only, flags=()):
        """The test that fails; nothing when none does."""
        mutant = self.mutant
        variant = variants_of(mutant, program)
        if not self.build.links(program, mutant.unit, variant):
            return ""
        usual = self.baseline.seconds(program, only, self.level)
        if usual is None or self.object(variant, flags) is None:
            return ""
        linked = self.build.link(program, self.object(variant, flags), mutant.unit, variant, flags)
        outcome = run(linked, only, 5 + 3 * usual, self.level, shadowed=bool(flags) or program.startswith("checked/"))
        if not outcome.failed or (flags and self.original_fails(program, outcome.test.split(" ")[0], flags)):
            return ""
        return outcome.test

    def original_fails(self, program, test, flags):
        """Whether the test fails for the unchanged source, too, when that alone is compiled with `flags`."""
        unit, variant = self.mutant.unit, variants_of(self.mutant, program)
        with open(os.path.join(self.build.root, unit), encoding="utf-8") as file:
            changed = self.build.compile(unit, file.read(), unit, variant, flags)
        self.objects.pop((variant, flags), None)  # the other one has its name
        return run(self.build.link(program, changed, unit, variant, flags), test, level=self.level, shadowed=True).failed


def record_of(mutant, verdict, by, seconds, commit):
    record = dataclasses.asdict(mutant)
    del record["text"]
    record.update(verdict=verdict, by=by, seconds=round(seconds, 1), commit=commit, date=datetime.date.today().isoformat())
    return record


def show(mutant, verdict, by, seconds):
    level = f" at {mutant.variant}" if mutant.variant != "plain" else ""
    with_unit = f" in {mutant.unit}" if mutant.unit != mutant.file else ""
    print(f"{mutant.file}:{mutant.line}{level}{with_unit}, {mutant.kind}: {verdict}{' by ' if verdict == 'killed' else ' '}{by}"
          f" ({seconds:.1f} s)\n    - {mutant.old}\n    + {mutant.new}", flush=True)


def try_all(build, mutants, count, known, keep):
    """Runs mutants until `count` of them were valid. `keep(mutant, verdict, by, seconds)` is told of each. Returns {verdict: number}."""
    baseline = Baseline(build)
    equivalent = results.load_equivalent()
    numbers = {}
    for mutant in mutants:
        if sum(numbers.get(one, 0) for one in ("killed", "survived", "equivalent")) >= count:
            break
        if mutant.key in known:
            continue
        before = seconds_of_children()
        reason = results.reason_for(equivalent, *mutant.key)
        verdict, by = ("equivalent", reason) if reason else Trial(build, baseline, mutant).verdict()
        numbers[verdict] = numbers.get(verdict, 0) + 1
        seconds = seconds_of_children() - before
        if verdict in ("killed", "survived", "equivalent"):
            show(mutant, verdict, by, seconds)
        keep(mutant, verdict, by, seconds)
    return numbers


def survivors(pool, known, only):
    """The kept mutants that no test killed, drawn again from the source as it is."""
    for record in list(known.named.values()):
        if record["verdict"] == "survived" and only in record["file"]:
            one = pool.again(*(record[name] for name in ("part", "kind", "file", "unit", "variant", "old", "new")))
            if one:
                yield one
            else:
                print(f"{record['file']}:{record['line']}: the line has changed since\n    - {record['old']}")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("build", nargs="?", help="a build folder of the preset emulated")
    options.add_argument("--count", type=int, default=30, help="of valid mutants")
    options.add_argument("--seed", type=int, default=int(time.time()), help="the time, unless it is given")
    options.add_argument("--only", default="", help="mutants of files whose path holds this text")
    options.add_argument("--record", action="store_true", help="keep the results and write the page")
    options.add_argument("--again", action="store_true", help="run the kept survivors once more")
    options.add_argument("--report", action="store_true", help="write the page only")
    options.add_argument("--list", action="store_true", help="draw only")
    given = options.parse_args()
    known = results.load_results()
    if given.report:
        report.write(ROOT, known)
        return 0
    if not given.build:
        options.error("BUILD is missing")
    build = Build(given.build)
    levels = [level for level in levels_of_this_processor() if build.has("kernels/matmul/product_fast.cpp", level)]
    pool = draw.Pool(build.root, build.includes, levels)
    if given.list:
        for mutant in itertools.islice(draw.draw(pool, given.seed, given.only), given.count):
            show(mutant, "drawn", "", 0)
        return 0
    head = subprocess.run(["git", "-C", build.root, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, check=False)
    commit = head.stdout.decode().strip()
    print(f"seed {given.seed}, commit {commit}", flush=True)

    def keep(mutant, verdict, by, seconds):
        if given.record or given.again:
            known.add(record_of(mutant, verdict, by, seconds, commit), results.load_equivalent())
            results.save_results(known)

    if given.again:
        numbers = try_all(build, list(survivors(pool, known, given.only)), len(known.named), {}, keep)
    else:
        numbers = try_all(build, draw.draw(pool, given.seed, given.only), given.count, known if given.record else {}, keep)
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(numbers.items())))
    for file, line in results.unused_reasons(results.load_equivalent(), build.root):
        print(f"equivalent.txt: {file} has this line no more: {line}")
    if given.record or given.again:
        report.write(ROOT, known)
    return 1 if numbers.get("survived", 0) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BuildError, RuntimeError) as error:
        sys.exit(f"mutate.py: {error}")
