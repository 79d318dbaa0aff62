"""docs/measured/mutation.md, from the results that are kept."""
import collections
import os
import textwrap

import results
from draw import SHARES

_PARTS = {"cuda": "CUDA kernels (`.cu`, and their headers)", "fast": "fast paths, each at one level", "tape": "tape and tape nodes",
          "reference": "references on the CPU", "modules": "modules, searches, optimizers"}


def _row(name, numbers):
    valid = numbers["killed"] + numbers["survived"]
    score = f"{100 * numbers['killed'] / valid:.1f} %" if valid else ""
    return f"| {name} | {valid + numbers['equivalent']} | {numbers['killed']} | {numbers['equivalent']} | {numbers['survived']} | {score} |"


def _table(name, groups):
    lines = [f"| {name} | valid mutants | killed | equivalent | survived | killed of those that differ |", "|---|---|---|---|---|---|"]
    return lines + [_row(group, numbers) for group, numbers in groups if numbers]


def _code(text):
    """As inline code of Markdown, in a cell of a table."""
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def _by_op_and_part(known):
    """{(op, part): {verdict: number}}."""
    groups = collections.defaultdict(collections.Counter)
    for verdict, counts in (("killed", known.killed), ("equivalent", known.equivalent)):
        for name, number in counts.items():
            groups[tuple(name.split(" "))][verdict] += number
    for record in known.named.values():
        groups[record["op"], record["part"]]["survived"] += 1
    return groups


def _summed(groups, index=None):
    sums = collections.defaultdict(collections.Counter)
    for names, numbers in groups.items():
        sums["all" if index is None else names[index]].update(numbers)
    return sums


def page(known):
    """The page's text."""
    groups = _by_op_and_part(known)
    every = _summed(groups)["all"]
    dates = sorted(known.dates)
    seconds = (known.seconds + sum(record["seconds"] for record in known.named.values())) / max(1, sum(every.values()))
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "nothing was run"
    paragraphs = (
        "Written by `tests/mutation/mutate.py BUILD --record`; not to be edited. A mutant is one line of the real source with a small change, "
        "drawn by seed: [tests/mutation](../../tests/mutation/README.md) says which changes there are and which tests run.",
        f"{when}, commits {', '.join(known.commits)}. {seconds:.1f} s of processor time for a mutant on average. In addition "
        f"{known.none['does not compile']} changes that do not compile and {known.none['same code']} that compile to the same code were drawn; these are no"
        " mutants.",
        "A survivor is run again after a test was written for it: the share found at the first try is lower. No test can tell an equivalent one from the "
        "original: [equivalent.txt](../../tests/mutation/equivalent.txt) says why.",
    )
    lines = ["# Source mutants", ""]
    for text in paragraphs:
        lines += textwrap.wrap(text, 130, break_long_words=False, break_on_hyphens=False) + [""]
    parts = _summed(groups, 1)
    lines += _table("part", [(_PARTS[part], parts[part]) for part in SHARES] + [("all", every)])
    lines += ["", "## By op", ""] + _table("op", sorted(_summed(groups, 0).items()))
    left = list(known.named.values())
    lines += ["", "## Not found yet", ""]
    lines += ["| line | change | became |", "|---|---|---|"] if left else ["None."]
    lines += [_shown(record) for record in left]
    return "\n".join(lines) + "\n"


def _shown(record):
    level = f" at {record['variant']}" if record["variant"] != "plain" else ""
    return f"| {record['file']}:{record['line']}{level} | {_code(record['old'])} | {_code(record['new'])} |"


def write(root, known):
    """The page."""
    with open(os.path.join(root, "docs/measured/mutation.md"), "w", encoding="utf-8") as file:
        file.write(page(known))
