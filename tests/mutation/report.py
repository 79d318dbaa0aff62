"""docs/measured/mutation.md, from the results that are kept and the list of equivalent mutants."""
import collections
import os
import sys

import results
from draw import SHARES

sys.path.insert(0, os.path.dirname(results.HERE))
import generated_sections  # noqa: E402

_PARTS = {"cuda": "CUDA kernels (`.cu`, and their headers)", "fast": "fast paths, each at one level", "tape": "tape and tape nodes",
          "reference": "references on the CPU"}


def verdict_of(record, equivalent):
    return "equivalent" if results.reason_for(equivalent, *results.key_of(record)) else record["verdict"]


def _row(name, records, equivalent):
    numbers = collections.Counter(verdict_of(record, equivalent) for record in records)
    valid = numbers["killed"] + numbers["survived"]
    score = f"{100 * numbers['killed'] / valid:.1f} %" if valid else ""
    return f"| {name} | {valid + numbers['equivalent']} | {numbers['killed']} | {numbers['equivalent']} | {numbers['survived']} | {score} |"


def _table(name, groups, equivalent):
    lines = [f"| {name} | valid mutants | killed | equivalent | survived | killed of those that differ |", "|---|---|---|---|---|---|"]
    return lines + [_row(group, records, equivalent) for group, records in groups if records]


def _code(text):
    """As inline code of Markdown, in a cell of a table."""
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def _grouped(records, by):
    groups = collections.defaultdict(list)
    for record in records:
        groups[record[by]].append(record)
    return sorted(groups.items())


def page(known, equivalent):
    """The page's text."""
    every = list(known.values())
    valid = [record for record in every if record["verdict"] in ("killed", "survived", "equivalent")]
    none = collections.Counter(record["verdict"] for record in every)
    dates = sorted({record["date"] for record in valid})
    commits = list(dict.fromkeys(record["commit"] for record in valid))
    seconds = sum(record["seconds"] for record in valid) / max(1, len(valid))
    killers = collections.Counter(record["by"].split(":")[0] for record in valid if verdict_of(record, equivalent) == "killed")
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "nothing was run"
    lines = [
        "# Source mutants", "",
        "Written by `tests/mutation/mutate.py BUILD --record`; not to be edited. A mutant is one line of the real source with a small change,",
        "drawn by seed: [tests/mutation](../../tests/mutation/README.md) says which changes there are and which tests run. Each result is a line",
        "of [results.jsonl](../../tests/mutation/results.jsonl).", "",
        f"{when}, commits {', '.join(commits)}. {seconds:.1f} s of processor time for a mutant on average. In addition",
        f"{none['does not compile']} changes that do not compile and {none['same code']} that compile to the same code were drawn; these are no"
        " mutants.", "",
        "A survivor is run again after a test was written for it: the share found at the first try is lower.", "",
    ]
    parts = dict(_grouped(valid, "part"))
    lines += _table("part", [(_PARTS[part], parts.get(part, [])) for part in SHARES] + [("all", valid)], equivalent)
    lines += ["", "## By op", ""] + _table("op", _grouped(valid, "op"), equivalent)
    lines += ["", "## By kind of change", ""] + _table("change", _grouped(valid, "kind"), equivalent)
    lines += ["", "## Which program found them", "", "A mutant is run until a first test fails; the op's own programs come first.", "",
              "| test program | mutants |", "|---|---|"]
    lines += [f"| {name} | {number} |" for name, number in sorted(killers.items(), key=lambda one: (-one[1], one[0]))]
    left = [record for record in valid if verdict_of(record, equivalent) == "survived"]
    lines += ["", "## Not found yet", ""]
    lines += ["| line | change | became |", "|---|---|---|"] if left else ["None."]
    lines += [_shown(record) for record in left]
    listed = [(record, results.reason_for(equivalent, *results.key_of(record))) for record in valid]
    lines += ["", "## Equivalent", "",
              "Changes that no test can tell from the original, and why ([equivalent.txt](../../tests/mutation/equivalent.txt)).", "",
              "| line | change | became | reason |", "|---|---|---|---|"]
    lines += [f"{_shown(record)} {reason} |" for record, reason in listed if reason]
    return "\n".join(lines) + "\n"


def _shown(record):
    level = f" at {record['variant']}" if record["variant"] != "plain" else ""
    return f"| {record['file']}:{record['line']}{level} | {_code(record['old'])} | {_code(record['new'])} |"


_SHORT = {"cuda": "CUDA kernels", "fast": "fast paths", "tape": "tape node", "reference": "reference"}


def score(op, known, equivalent):
    """A chapter's line: how many mutants of this op's source a test found."""
    verdicts = [(record["part"], verdict_of(record, equivalent)) for record in known.values() if record["op"] == op]

    def found(of):
        return f"{of.count('killed')} of {of.count('killed') + of.count('survived')}"

    each = {part: [verdict for other, verdict in verdicts if other == part] for part in SHARES}
    shown = [f"{_SHORT[part]} {found(of)}" for part, of in each.items() if "killed" in of or "survived" in of]
    if not shown:
        return "None was drawn yet.\n"
    same = [verdict for _, verdict in verdicts].count("equivalent")
    rest = f"; {same} more {'is' if same == 1 else 'are'} equivalent to the original" if same else ""
    return f"Tests find {found([verdict for _, verdict in verdicts])}: {', '.join(shown)}{rest}.\n"


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
