"""docs/measured/mutation.md, from the results that are kept and the list of equivalent mutants."""
import collections
import os
import sys

import results
from draw import SHARES

sys.path.insert(0, os.path.dirname(results.HERE))
import generated_sections  # noqa: E402

_PARTS = {"cuda": "CUDA kernels (`.cu`, and their headers)", "fast": "fast paths, each at one level", "tape": "tape and tape nodes",
          "reference": "references on the CPU", "modules": "modules, searches, optimizers"}


def _verdict_of(record, equivalent):
    return "equivalent" if results.reason_for(equivalent, *results.key_of(record)) else record["verdict"]


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


def _grouped(known, equivalent, killed, group_of):
    """{group: {verdict: number}}. `killed`: [(group, number)]; `group_of` a record of another mutant."""
    groups = collections.defaultdict(collections.Counter)
    for group, number in killed:
        groups[group]["killed"] += number
    for record in known.named.values():
        groups[group_of(record)][_verdict_of(record, equivalent)] += 1
    return groups


def _by_op_and_part(known, equivalent):
    """{(op, part): {verdict: number}}."""
    killed = [(tuple(name.split(" ")), number) for name, number in known.killed["op and part"].items()]
    return _grouped(known, equivalent, killed, lambda record: (record["op"], record["part"]))


def _summed(groups, index=None):
    sums = collections.defaultdict(collections.Counter)
    for names, numbers in groups.items():
        sums["all" if index is None else names[index]].update(numbers)
    return sums


def page(known, equivalent):
    """The page's text."""
    groups = _by_op_and_part(known, equivalent)
    every = _summed(groups)["all"]
    dates = sorted(known.dates)
    seconds = (known.seconds + sum(record["seconds"] for record in known.named.values())) / max(1, sum(every.values()))
    killers = known.killed["program"]
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "nothing was run"
    lines = [
        "# Source mutants", "",
        "Written by `tests/mutation/mutate.py BUILD --record`; not to be edited. A mutant is one line of the real source with a small change,",
        "drawn by seed: [tests/mutation](../../tests/mutation/README.md) says which changes there are and which tests run.", "",
        f"{when}, commits {', '.join(known.commits)}. {seconds:.1f} s of processor time for a mutant on average. In addition",
        f"{known.none['does not compile']} changes that do not compile and {known.none['same code']} that compile to the same code were drawn; these are no"
        " mutants.", "",
        "A survivor is run again after a test was written for it: the share found at the first try is lower.", "",
    ]
    parts = _summed(groups, 1)
    lines += _table("part", [(_PARTS[part], parts[part]) for part in SHARES] + [("all", every)])
    lines += ["", "## By op", ""] + _table("op", sorted(_summed(groups, 0).items()))
    kinds = _grouped(known, equivalent, known.killed["kind"].items(), lambda record: record["kind"])
    lines += ["", "## By kind of change", ""] + _table("change", sorted(kinds.items()))
    lines += ["", "## Which program found them", "", "A mutant is run until a first test fails; the op's own programs come first.", "",
              "| test program | mutants |", "|---|---|"]
    lines += [f"| {name} | {number} |" for name, number in sorted(killers.items(), key=lambda one: (-one[1], one[0]))]
    left = [record for record in known.named.values() if _verdict_of(record, equivalent) == "survived"]
    lines += ["", "## Not found yet", ""]
    lines += ["| line | change | became |", "|---|---|---|"] if left else ["None."]
    lines += [_shown(record) for record in left]
    listed = [(record, results.reason_for(equivalent, *results.key_of(record))) for record in known.named.values()]
    lines += ["", "## Equivalent", "",
              "Changes that no test can tell from the original, and why ([equivalent.txt](../../tests/mutation/equivalent.txt)).", "",
              "| line | change | became | reason |", "|---|---|---|---|"]
    lines += [f"{_shown(record)} {reason} |" for record, reason in listed if reason]
    return "\n".join(lines) + "\n"


def _shown(record):
    level = f" at {record['variant']}" if record["variant"] != "plain" else ""
    return f"| {record['file']}:{record['line']}{level} | {_code(record['old'])} | {_code(record['new'])} |"


_SHORT = {"cuda": "CUDA kernels", "fast": "fast paths", "tape": "tape node", "reference": "reference", "modules": "modules"}


def score(op, known, equivalent):
    """A chapter's line: how many mutants of this op's source a test found."""
    groups = _by_op_and_part(known, equivalent)

    def found(numbers):
        return f"{numbers['killed']} of {numbers['killed'] + numbers['survived']}"

    each = {part: groups[op, part] for part in SHARES}
    shown = [f"{_SHORT[part]} {found(numbers)}" for part, numbers in each.items() if numbers["killed"] or numbers["survived"]]
    if not shown:
        return "None was drawn yet.\n"
    every = _summed(each)["all"]
    same = every["equivalent"]
    rest = f"; {same} more {'is' if same == 1 else 'are'} equivalent to the original" if same else ""
    return f"Tests find {found(every)}: {', '.join(shown)}{rest}.\n"


def chapters(root):
    """(op, file) of every chapter that shows a score."""
    kernels = os.path.join(root, "kernels")
    files = [(op, os.path.join(kernels, op, "README.md")) for op in sorted(os.listdir(kernels)) if op != "emulator"]
    return [(op, file) for op, file in files if os.path.exists(file)]


_SECTION = """
## Source mutants

Small wrong versions of this chapter's source, one line each ([all results](../../docs/measured/mutation.md)):

<!-- mutants: tests/mutation/mutate.py --report writes this part -->
<!-- end of mutants -->
"""


def chapter(text, op, known, equivalent):
    """The chapter's text with its score; the section is added where there is none."""
    if not generated_sections.part(text, "mutants"):
        text = text.rstrip("\n") + "\n" + _SECTION
    return generated_sections.replaced(text, "mutants", score(op, known, equivalent))


def write(root, known, equivalent):
    """The page, and the score in each op's chapter."""
    with open(os.path.join(root, "docs/measured/mutation.md"), "w", encoding="utf-8") as file:
        file.write(page(known, equivalent))
    for op, path in chapters(root):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(chapter(text, op, known, equivalent))
