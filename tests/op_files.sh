#!/usr/bin/env bash
# Which files belong to an op, and which lists name it:
#     bash tests/op_files.sh OP... [--root FOLDER]      --all: every op
# Files of its own are kernels/OP, autograd/ops/OP.cpp and OP_cases.cpp, and tests/kernels/OP_*test.cpp.
# A list is any other file that enumerates ops: code, scripts or data that have this op's name and those of two others, each as a text of
# its own ("gather") or all three on one line. Does not count: a call, declaration or member (`gather(x)`, `ops::gather`, `ranks.gather(`),
# which uses the op, or something else of its name like MPI's gather; a part of a path (kernels/gather/gather.h); a comment; prose (*.md);
# and results, which programs write (docs/measured, tests/mutation/*.jsonl and *.txt).
# Status 1 when an op has more files or folders than a simple one needs (9 in 3), as attention has, or a list names it.
set -euo pipefail
command -v python3 >/dev/null || { echo "op_files.sh: python3 is missing" >&2; exit 77; }
exec python3 - "$(dirname "${BASH_SOURCE[0]}")/.." "$@" <<'PYTHON'
import os
import re
import sys

MOST_FILES, MOST_FOLDERS = 9, 3
TYPES = (".cpp", ".cu", ".h", ".py", ".sh", ".cmake", ".txt", ".toml")
WRITTEN = re.compile(r"^(?:build|docs/measured|docs/site|tests/mutation/[a-z_]+\.(?:jsonl|txt))(?:/|$)")

root, arguments = sys.argv[1], sys.argv[2:]
if "--root" in arguments:
    at = arguments.index("--root")
    root = arguments[at + 1]
    del arguments[at:at + 2]


def files():
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if not name.startswith(".") and not WRITTEN.match(os.path.normpath(os.path.join(inside, name)))]
        for name in names:
            path = os.path.normpath(os.path.join(inside, name))
            if not WRITTEN.match(path): yield path


paths = sorted(files())
ops = {path.split("/")[2][:-len("_cases.cpp")] for path in paths if re.match(r"autograd/ops/\w+_cases\.cpp$", path)}
NAME = "|".join(sorted(ops, key=len, reverse=True)) or "$^"
TEXT = re.compile(rf"""["']({NAME})["']""")
WORD = re.compile(rf"(?<![\w./:>\"'-])({NAME})(?![\w(/.:\"'<-])")


def own(path, op):
    return path.startswith(f"kernels/{op}/") or path in (f"autograd/ops/{op}.cpp", f"autograd/ops/{op}_cases.cpp") \
        or re.match(rf"tests/kernels/{op}_(?:\w+_)?test\.cpp$", path) and not any(
            other != op and other.startswith(op + "_") and path.startswith(f"tests/kernels/{other}_") for other in ops)


def named(path):
    """{op: the first line in which this file names it among others}"""
    if not path.endswith(TYPES) or re.match(r"(?:kernels|autograd/ops|tests/kernels)/", path): return {}
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file: text = file.read()
    mark = "#" if path.endswith((".py", ".sh", ".cmake", ".txt", ".toml")) else "//"
    texts, found = {}, {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split(mark + " ")[0]
        for op in TEXT.findall(line): texts.setdefault(op, number)
        words = set(WORD.findall(line)) | set(TEXT.findall(line))
        if len(words) >= 3: found = {**dict.fromkeys(words, number), **found}
    return {**texts, **found} if len(texts) >= 3 else found


lists = {path: ops_named for path in paths if (ops_named := named(path))}
if arguments == ["--all"]: arguments = sorted(ops)
status = 0
for op in arguments:
    mine = [path for path in paths if own(path, op)]
    folders = {os.path.dirname(path) for path in mine}
    naming = [f"{path}:{ops_named[op]}" for path, ops_named in lists.items() if op in ops_named]
    print(f"{op}: {len(mine)} files in {len(folders)} folders, in {len(naming)} lists")
    for path in mine: print(f"  {path}")
    for place in naming: print(f"  named in {place}")
    if not mine: sys.exit(f"op_files.sh: there is no op {op}")
    if len(mine) > MOST_FILES or len(folders) > MOST_FOLDERS or naming: status = 1
sys.exit(status)
PYTHON
