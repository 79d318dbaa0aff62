"""The programs of the package: the ``heddle`` command, and what Python asks of it."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Sequence

from ._native import Error, UsageError

PROGRAM = pathlib.Path(__file__).parent / '_program' / 'bin' / 'heddle'
if not PROGRAM.exists():  # not in a wheel: the program is another package's
    PROGRAM = pathlib.Path(shutil.which('heddle') or 'heddle')


def main() -> None:
    """Becomes the program ``heddle`` with the same arguments."""
    os.execv(PROGRAM, ['heddle', *sys.argv[1:]])


def words_of(options: Mapping[str, Any]) -> list[str]:
    """The options of a dict as words of a command line: ``d_model=128`` is ``--d-model=128``; None is left out."""
    words: list[str] = []
    for name, value in options.items():
        option = '--' + str(name).replace('_', '-')
        if value is None:
            continue
        if isinstance(value, bool):
            words.append(f'{option}={"true" if value else "false"}')
        elif isinstance(value, (list, tuple)):
            words += [option, *map(str, value)]
        else:
            words.append(f'{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}')
    return words


def run(words: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the program and waits for it."""
    return subprocess.run([PROGRAM, *words], text=True, encoding='utf-8', **options)


def _run_group(words: Sequence[str], timeout: float | None) -> subprocess.CompletedProcess[str]:
    """As run(), with all output; at the timeout, or when Python is interrupted, whatever the program started ends with it."""
    pipes: dict[str, Any] = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}
    with subprocess.Popen([PROGRAM, *words], text=True, encoding='utf-8', start_new_session=True, **pipes) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)  # the program ends the compiler or the checked program, which have groups of their own
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def evaluate(run_folder: str | os.PathLike[str] | None = None, **options: Any) -> dict[str, Any]:
    """Scores a run on a test set, or translations against references, as ``heddle evaluate --json`` does.

    Parameters
    ----------
    run_folder : path, optional
        A run, which translates the test set.
    **options
        Those of ``heddle evaluate``: ``test='corpus/test'``, ``beam=5``, ``hypotheses=..., reference=...``, ``sentences=True``.

    Returns
    -------
    dict
        ``bleu``, ``chrf``, ``chrf++`` (each with ``score`` and ``signature``), ``exact``, ``lines``.
    """
    words = ['evaluate', '--json', *words_of(options)]
    if run_folder is not None:
        words.insert(1, f'--model={os.fspath(run_folder)}')
    done = run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise (UsageError if done.returncode == 2 else Error)(_last_error(done.stderr))
    return json.loads(done.stdout)


def _last_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith('heddle: ')] or text.splitlines() or ['the program ended without a message']
    return lines[-1].removeprefix('heddle: ')


@dataclass(frozen=True)
class CheckResult:
    """What ``heddle check`` found; ``str()`` is its report, and it is true when nothing was found."""

    passed: bool
    status: int  #: 0 nothing found, 3 violations, 1 the program failed by itself
    report: str  #: the violations and the verdict
    output: str  #: what the program printed
    details: dict[str, Any] = field(repr=False, default_factory=dict)  #: the results of ``heddle check --json``

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.report


def check(source: str | os.PathLike[str], *, arguments: Iterable[str] = (), arg: Iterable[str] = (), timeout: float | None = None,
          **options: Any) -> CheckResult:
    """Runs CUDA C++ without a GPU and reports races and other mistakes of its kernels.

    Parameters
    ----------
    source : str or path
        CUDA C++, or the path of a ``.cu`` file.
    arguments : iterable of str
        The program's own arguments.
    arg : iterable of str
        For a file without ``main``: ``['x=f32[128]', 'n=128']``, with ``kernel=``, ``grid=`` and ``block=``.
    timeout : float, optional
        Seconds after which the check is ended, with an Error.
    **options
        Those of ``heddle check``: ``kernel='saxpy'``, ``orders=3``, ``chip='sm_90'``.

    Returns
    -------
    CheckResult

    Raises
    ------
    UsageError
        The text does not compile, or an option is wrong.
    Error
        There is no C++ compiler; the message says how to install one. Or the check took longer than ``timeout``.
    """
    if not any(shutil.which(name) for name in ([os.environ['CXX'].split()[0]] if os.environ.get('CXX') else ['c++', 'g++', 'clang++'])):
        raise Error('heddle.check compiles CUDA C++ for the CPU and found no C++ compiler; install one, with: ' + _install_compiler())
    with tempfile.TemporaryDirectory() as folder:
        file = source if isinstance(source, os.PathLike) or '\n' not in source and source.endswith('.cu') else None
        if file is None:
            file = pathlib.Path(folder) / 'source.cu'
            file.write_text(str(source), encoding='utf-8')
        results = pathlib.Path(folder) / 'results.json'
        words = ['check', os.fspath(file), *words_of(options), f'--json={results}']
        for each in arg:
            words += ['--arg', each]
        words += ['--', *arguments]
        try:
            done = _run_group(words, timeout)
        except subprocess.TimeoutExpired:
            raise Error(f'check: not done after {timeout:g} seconds, and ended; give a longer timeout, or less work to the kernels') from None
        report = done.stderr.replace(f'{folder}/', '').strip()
        if done.returncode not in (0, 1, 3):
            raise UsageError(report)
        details = json.loads(results.read_text(encoding='utf-8')) if results.exists() else {}
        return CheckResult(done.returncode == 0, done.returncode, report, done.stdout, details)


def _install_compiler() -> str:
    for program, command in (('apt-get', 'sudo apt-get install g++'), ('dnf', 'sudo dnf install gcc-c++'), ('pacman', 'sudo pacman -S gcc'),
                             ('apk', 'sudo apk add g++'), ('conda', 'conda install gxx')):
        if shutil.which(program):
            return command
    return 'the package manager of this system (package g++ or clang)'
