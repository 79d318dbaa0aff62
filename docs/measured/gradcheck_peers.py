#!/usr/bin/env python3
"""What PyTorch's gradcheck, JAX's check_grads and Heddle's gradcheck say to the same right and wrong backwards.

    gradcheck_peers.py --python-torch ENV/torch/bin/python --python-jax ENV/jax/bin/python --heddle-tests build/emulated/tests

writes docs/measured/gradcheck.md, but for the part that tests/cross_check/torch_cross_check.py writes.

The list is peers/gradcheck_faults.py: every row is a function of Heddle's gradcheck_test or gradcheck_faults_test, written again in NumPy.
peers/torch_gradcheck.py and peers/jax_gradcheck.py give it to the other frameworks, a process each. A verdict of Heddle's is that of its test:
the row names a test, the test's source must contain the message that it demands, and the test must pass. Environments:

    python3 -m venv ENV/torch && ENV/torch/bin/pip install torch numpy
    python3 -m venv ENV/jax && ENV/jax/bin/pip install jax
"""
import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))
import generated_sections  # noqa: E402

PAGE_FILE = HERE / "gradcheck.md"
SOURCES = HERE.parents[1] / "tests" / "autograd"
FRAMEWORKS = ["PyTorch, slow", "PyTorch, fast", "JAX", "Heddle"]


def run_peer(python, script):
    done = subprocess.run([python, "-B", HERE / "peers" / script], capture_output=True, text=True)
    if done.returncode != 0: sys.exit(f"gradcheck_peers.py: {script} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def run_heddle(folder, program, tests):
    """Which of the tests passed: {test: bool}. A test that did not run is missing."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        subprocess.run([folder / program, f"--gtest_filter={':'.join(tests)}", f"--gtest_output=json:{report}"], capture_output=True)
        if not report.exists(): sys.exit(f"gradcheck_peers.py: {folder / program} wrote no report")
        suites = json.loads(report.read_text())["testsuites"]
    return {f"{suite['name']}.{test['name']}": "failures" not in test
            for suite in suites for test in suite["testsuite"] if test["result"] == "COMPLETED"}


def built_from(folder, programs):
    """The last commit before the programs were linked, which may have been long ago."""
    linked = datetime.datetime.fromtimestamp(min((folder / program).stat().st_mtime for program in programs)).astimezone()
    log = subprocess.run(["git", "log", "-1", "--format=%h", f"--before={linked.isoformat()}"], cwd=folder, capture_output=True, text=True)
    return log.stdout.strip()


def body(row):
    """The source of the row's test."""
    suite, name = row["test"].split(".")
    text = (SOURCES / f"{row['program']}.cpp").read_text()
    found = re.search(rf"^TEST\({suite}, {name}\) \{{.*?(?=^TEST\(|\Z)", text, re.MULTILINE | re.DOTALL)
    return found.group() if found else ""


def heddle_verdicts(folder, rows):
    tested = [row for row in rows if not row["heddle"]]
    programs = {row["program"] for row in tested}
    passed = {}
    for program in programs: passed |= run_heddle(folder, program, sorted({row["test"] for row in tested if row["program"] == program}))
    verdicts = []
    for row in rows:
        if row["heddle"]:
            verdicts.append(row["heddle"])
            continue
        if row["says"] not in body(row): sys.exit(f"gradcheck_peers.py: {row['test']} does not contain: {row['says']}")
        if row["test"] not in passed: verdicts.append("no such test")
        elif not passed[row["test"]]: verdicts.append("the test fails")
        else: verdicts.append("accepted" if row["kind"].startswith("Right backwards, which") else "refused")
    return verdicts


def cell(row, verdict):
    if len(verdict) > 120: verdict = verdict[:120].rstrip() + " ..."
    verdict = verdict.replace("|", "\\|")
    wrong = {"Wrong": ["accepted"], "Right": ["refused"]}.get(row["kind"].split()[0] if "which must" in row["kind"] else "", [])
    return f"**{verdict}**" if verdict in [*wrong, "no such test", "the test fails"] else verdict


def counts(rows, verdicts):
    """For each kind: how many rows have the wanted verdict, of those that could be planted."""
    result = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        mine = [v for row, v in zip(rows, verdicts) if row["kind"] == kind and not v.startswith("cannot be planted")]
        good = sum(v == "accepted" if "must be accepted" in kind else v == "refused" or v.startswith("error") for v in mine)
        result.append(f"{good} of {len(mine)}")
    return result


def table(header, lines):
    return "".join(f"| {' | '.join(line)} |\n" for line in [header, ["---"] * len(header), *lines])


PAGE = """# PyTorch's, JAX's and Heddle's gradient checks on the same faults

Written by `docs/measured/gradcheck_peers.py` on {date}, the [last part](#heddles-ops-beside-pytorchs) by another script; not to be edited. {torch}. {jax}. Heddle at commit {commit}.

    python3 -m venv ENV/torch && ENV/torch/bin/pip install torch numpy
    python3 -m venv ENV/jax && ENV/jax/bin/pip install jax
    python3 docs/measured/gradcheck_peers.py --python-torch ENV/torch/bin/python --python-jax ENV/jax/bin/python \\
        --heddle-tests build/emulated/tests

All checks run in f64 with default options: `torch.autograd.gradcheck(function, inputs)`, the same with `fast_mode=True`, and
`jax.test_util.check_grads(function, inputs, order=1, modes=["rev"])` with 64-bit numbers enabled. (`order` has no default. With both modes,
the default, check_grads ends for every `custom_vjp`, a right one, too, with `{all_modes}`.)

The list comes from Heddle's own tests, and Heddle was developed until it passed them, so this is no neutral ranking. Each function is written
again in NumPy ([peers/gradcheck_faults.py](peers/gradcheck_faults.py)) and given to the other frameworks as `torch.autograd.Function` and
`jax.custom_vjp`; random matrices have the shapes, but not the values, of Heddle's tests. Heddle's verdict is the result of the test named
in the row, which demands the message in quotes. The *cotangent* is the gradient of the output that backward starts from.

Correct verdicts, of the faults that can be planted in the framework (an error counts as refused):

{summary}
Wrong verdicts are in bold: a wrong backward accepted, or a right one refused. The refusal of a wrong backward counts even if the right one is
refused at the same inputs, too (x^2 at 1e8).

What the frameworks' documentation and source say:

- [PyTorch's gradcheck](https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html) uses a step of 1e-6 and tolerances
  of 1e-5 (absolute) and 1e-3 (relative); errors below these pass. It may fail where a function is not differentiable. It
  checks one point, and all inputs that require a gradient at once: a fault that shows elsewhere needs another call.
  [`fast_mode`](https://docs.pytorch.org/docs/stable/notes/gradcheck.html) compares one random combination of the Jacobian's entries.
- PyTorch asks for [`save_for_backward`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html),
  which detects later changes in place. The functions here use it, except in the rows whose fault is to keep data elsewhere.
- [JAX's check_grads](https://docs.jax.dev/en/latest/_autosummary/jax.test_util.check_grads.html) compares along one random direction; its step is 1e-4, its
  tolerance 1e-5 in f64. JAX requires pure functions, so nothing looks for state or randomness; the functions here are
  called without `jit`, so that they can have state. Arrays are immutable, which rules out changes in place.
- Both use a fixed step, which the caller may choose (`eps`); a function that varies much within the step, or hardly at all, needs another one.
{sections}
{cross_check}
"""


def section(kind, rows, verdicts):
    lines = [[row["title"], *(cell(row, v) for v in each[:3]), heddle_cell(row, each[3])]
             for row, each in zip(rows, zip(*verdicts)) if row["kind"] == kind]
    return f"\n## {kind}\n\n{INTRODUCTION.get(kind, '')}" + table(["function", *FRAMEWORKS], lines)


INTRODUCTION = {"Right backwards where differences cannot prove anything": """\
Here there is nothing to compare, or differences mean little: no elements, a flat function, a kink, a jump, values whose rounding hides the
change. `accepted` proves nothing about the backward. `refused` is right if it does not blame the backward: PyTorch and JAX report that the
derivatives differ, Heddle the reason in quotes. No verdict is in bold.

"""}


def heddle_cell(row, verdict):
    quoted = f': "{row["says"]}"' if verdict == "refused" else ""
    return f"{cell(row, verdict)}{quoted} (`{row['test']}`)" if row["test"] else cell(row, verdict)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python-torch", required=True, help="the Python of an environment with PyTorch")
    p.add_argument("--python-jax", required=True, help="the Python of an environment with JAX")
    p.add_argument("--heddle-tests", type=pathlib.Path, required=True, help="the folder of gradcheck_test and gradcheck_faults_test")
    given = p.parse_args()
    torch = run_peer(given.python_torch, "torch_gradcheck.py")
    jax = run_peer(given.python_jax, "jax_gradcheck.py")
    rows = torch["rows"]
    verdicts = [torch["slow"], torch["fast"], jax["verdicts"], heddle_verdicts(given.heddle_tests, rows)]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    summary = table(["", *FRAMEWORKS], [[kind, *(counts(rows, v)[i] for v in verdicts)] for i, kind in enumerate(kinds)])
    commit = built_from(given.heddle_tests, {row["program"] for row in rows})
    PAGE_FILE.write_text(PAGE.format(date=datetime.date.today(), torch=torch["version"], jax=jax["version"], commit=commit or "(unknown)",
                      all_modes=jax["all_modes"].removeprefix("error: "), summary=summary,
                      sections="".join(section(kind, rows, verdicts) for kind in kinds),
                      cross_check=generated_sections.part(PAGE_FILE.read_text(encoding="utf-8"), "cross_check")), encoding="utf-8")


if __name__ == "__main__":
    main()
