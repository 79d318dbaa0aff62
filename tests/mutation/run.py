"""Runs test programs with a limit of time and memory, and says which test failed."""
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time

_MEMORY = 8 << 30  # of a program's data: a wrong size must not take the machine's
_LONGEST = 300.0


class Outcome:
    def __init__(self, failed, test, seconds):
        self.failed, self.test, self.seconds = failed, test, seconds


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ends(process):
    """Waits for a process. False when it has slept for a minute: a deadlock. (A clock would also count the time that it was stopped.)"""
    idle, used = 0.0, None
    while process.poll() is None:
        time.sleep(0.02)
        try:
            with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        now = (fields[11], fields[12], fields[13], fields[14])  # processor time, its own and that of what it started
        idle = idle + 0.02 if now == used and fields[0] == "S" else 0.0
        used = now
        if idle > 60:
            return False
    return True


def run(program, only, seconds=_LONGEST, level=None, shadowed=False):
    """Runs the tests of `program` that GoogleTest's filter `only` names, until one fails. `seconds` of processor time are allowed. `shadowed`:
    sanitized or with watched kernels, which reserve more memory than a program may have."""
    sanitizer = "detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1"
    environment = dict(os.environ, HEDDLE_EMULATOR_SEED="1", ASAN_OPTIONS=sanitizer)
    if level:
        environment["HEDDLE_CPU_LEVEL"] = level

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        if not shadowed:
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before = seconds_of_children()
    with tempfile.TemporaryDirectory(prefix="heddle-mutation-") as folder, tempfile.TemporaryFile() as said:
        environment["TMPDIR"] = folder
        command = [program, f"--gtest_filter={only}", "--gtest_fail_fast", "--gtest_color=no"]
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder, env=environment,
                                   preexec_fn=limits, start_new_session=True)
        timed_out = not _ends(started)
        try:
            os.killpg(started.pid, signal.SIGKILL)  # what it started, too
        except ProcessLookupError:
            pass
        status = started.wait()
        said.seek(0)
        text = said.read().decode(errors="replace")
    timed_out = timed_out or -status in (signal.SIGXCPU, signal.SIGKILL)
    running = re.findall(r"^\[ RUN      \] (\S+)", text, re.MULTILINE)
    failed = re.findall(r"^\[  FAILED  \] ([^\s,]+)", text, re.MULTILINE)
    if status == 0:
        return Outcome(not running, "no test" if not running else "", seconds_of_children() - before)
    test = failed[0] if failed else running[-1] if running else "its start"
    how = " (does not end)" if timed_out else f" (signal {-status})" if status < 0 else ""
    return Outcome(True, test + how, seconds_of_children() - before)


class Baseline:
    """How long the unchanged programs take. Kept in a file from run to run, as long as a program is the same."""

    def __init__(self, build):
        self.build = build
        self.path = os.path.join(build.work, "baseline.json")
        self.known = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.known = json.load(file)

    def seconds(self, program, only, level=None):
        """Seconds of processor time; None when it has no such test. A test that fails without any mutation is an error."""
        self.build.make(program)
        path = os.path.join(self.build.folder, self.build.target(program))
        stamp = os.path.getmtime(path)
        key = f"{program} {only} {level or ''}"
        if key not in self.known or self.known[key][0] != stamp:
            outcome = run(path, only, level=level, shadowed=program.startswith("checked/"))
            if outcome.failed and outcome.test != "no test":
                raise RuntimeError(f"{program} --gtest_filter={only} fails without any mutation: {outcome.test}")
            self.known[key] = [stamp, None if outcome.test == "no test" else outcome.seconds]
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump(self.known, file, indent=0, sort_keys=True)
        return self.known[key][1]
