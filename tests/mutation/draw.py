"""Draws mutants: small wrong versions of single lines of the real source. The same seed draws the same ones from the same source."""
import dataclasses
import glob
import os
import random

from changes import changes_of
from programs import op_of
from source import Source

# How many of twelve mutants come from each part of the source.
SHARES = {"cuda": 4, "fast": 2, "tape": 2, "reference": 2, "modules": 2}


@dataclasses.dataclass(frozen=True)
class Mutant:
    part: str     # a key of SHARES
    op: str
    kind: str     # a key of changes.KINDS
    file: str     # what is changed, relative to the root
    unit: str     # the .cpp or .cu file that is compiled with it: the file itself, or one that includes it
    variant: str  # "plain", or the x86-64 level that *_fast.cpp is compiled for
    line: int
    old: str      # the line, without the blanks around it
    new: str
    text: str = dataclasses.field(repr=False)  # the whole file, changed

    @property
    def key(self):
        """What it is, wherever the line moves to."""
        return (self.file, self.old, self.new)


def _files(root, *patterns):
    found = sorted(os.path.relpath(path, root) for pattern in patterns for path in glob.glob(os.path.join(root, pattern), recursive=True))
    return [path for path in found if not path.startswith("kernels/emulator/")]


class Pool:
    """All that mutants can be drawn from. `includes(file)` gives the headers of a file; `levels`: those that this processor runs."""

    def __init__(self, root, includes, levels):
        self.root, self.levels = root, levels
        self._sources, self._changes = {}, {}
        kernels = _files(root, "kernels/*/**/*.cu")
        compiled = _files(root, "kernels/*/**/*.cpp")
        fast = [path for path in compiled if path.endswith("_fast.cpp")]
        plain = [path for path in compiled if not path.endswith("_fast.cpp")]
        ops = [path for path in _files(root, "autograd/ops/*.cpp") if not path.endswith("_cases.cpp")]
        tape = ops + [path for path in _files(root, "autograd/*.cpp") if _is_tape(path)]
        modules = [path for path in _files(root, "nn/**/*.cpp", "optim/*.cpp", "heddle/*.cpp") if not _is_report(path)]
        headers = _files(root, "kernels/*/**/*.h", "kernels/simd.h")
        self._units = {}  # file that is changed: the files that are compiled with it
        parts = {}
        for part, units in {"cuda": kernels, "fast": fast, "tape": tape, "reference": plain, "modules": modules}.items():
            for unit in units:
                for file in [unit, *(one for one in headers if one in includes(unit) and _changes_with(part, unit, one))]:
                    self._units.setdefault((part, file), []).append(unit)
                    parts.setdefault(part, {}).setdefault(op_of(file), set()).add(file)
        self._parts = {part: {op: sorted(files) for op, files in ops.items() if any(self._of(file)[1] for file in files)}
                       for part, ops in parts.items()}

    def ops(self, part):
        return sorted(self._parts[part])

    def _of(self, file):
        if file not in self._sources:
            with open(os.path.join(self.root, file), encoding="utf-8") as text:
                self._sources[file] = Source(file, text.read())
            self._changes[file] = changes_of(self._sources[file])
        return self._sources[file], self._changes[file]

    def mutant(self, part, op, chance):
        """One of an op's mutants. Each kind of change is as likely as any other, however many places there are for it."""
        by_kind = {}
        for file in self._parts[part][op]:
            for kind, changes in self._of(file)[1].items():
                by_kind.setdefault(kind, []).extend((file, change) for change in changes)
        kind = chance.choice(sorted(by_kind))
        file, (begin, end, new) = chance.choice(by_kind[kind])
        unit = chance.choice(self._units[part, file])
        variant = chance.choice(self.levels) if part == "fast" else "plain"
        return self.changed(part, kind, file, unit, variant, begin, end, new)

    def changed(self, part, kind, file, unit, variant, begin, end, new):
        source, _ = self._of(file)
        line = source.line_of(begin)
        text = source.text[:begin] + new + source.text[end:]
        return Mutant(part, op_of(file), kind, file, unit, variant, line, source.line_text(line).strip(),
                      text.split("\n")[line - 1].strip(), text)

    def again(self, part, kind, file, unit, variant, old, new):
        """The mutant that has this old and new line, if the source still has the old one; else None."""
        if not os.path.exists(os.path.join(self.root, file)):
            return None
        source, changes = self._of(file)
        for begin, end, replacement in changes.get(kind, []):
            if source.line_text(source.line_of(begin)).strip() == old:
                one = self.changed(part, kind, file, unit, variant, begin, end, replacement)
                if one.new == new:
                    return one
        return None


def _changes_with(part, unit, header):
    """Whether mutants of `header` are compiled with `unit`: it is of the same op, or all kernels or fast paths share it."""
    shared = {"cuda": "device", "fast": "simd"}.get(part)
    return part not in ("tape", "modules") and op_of(header) in (op_of(unit), shared)


def _is_report(path):
    return os.path.basename(path) in ("proofs.cpp", "summary.cpp", "trace.cpp")


def _is_tape(path):
    name = os.path.basename(path)
    return name.startswith(("tape", "variable", "checkpoint")) and name != "tape_report.cpp"


def draw(pool, seed, only=""):
    """Mutants without end, of all parts and ops in turn. `only`: those of files whose path holds this text."""
    chance = random.Random(seed)
    turns = [part for part, share in SHARES.items() for _ in range(share)]
    waiting, seen = {part: [] for part in SHARES}, set()
    misses = 0
    while misses < 10000:
        chance.shuffle(turns)
        for part in turns:
            if not waiting[part]:
                waiting[part] = pool.ops(part)
                chance.shuffle(waiting[part])
            one = pool.mutant(part, waiting[part].pop(), chance)
            if one.key in seen or only not in one.file:
                misses += 1
                continue
            misses = 0
            seen.add(one.key)
            yield one
