"""equivalent.txt: the mutants that no test can tell from the original."""
import os

EQUIVALENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "equivalent.txt")


def load(path=EQUIVALENT):
    """{(file, old line, new line): reason}. The new line * means every small change of that line."""
    found, block = {}, {}
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file] + [""]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if block:
                missing = {"file", "line", "mutant", "reason"} - set(block)
                if missing:
                    raise ValueError(f"{path}:{number}: an entry without {', '.join(sorted(missing))}")
                found[block["file"], block["line"], block["mutant"]] = block["reason"]
            block = {}
            continue
        name, colon, value = line.partition(": ")
        if not colon or name not in ("file", "line", "mutant", "reason"):
            raise ValueError(f"{path}:{number}: wanted 'file: ', 'line: ', 'mutant: ' or 'reason: '")
        block[name] = value.strip()
    return found


def reason_for(equivalent, file, old, new):
    return equivalent.get((file, old, new)) or equivalent.get((file, old, "*"))


def unused(equivalent, root):
    """Entries whose line stands in its file no more."""
    gone = []
    for file, old, _ in equivalent:
        path = os.path.join(root, file)
        lines = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                lines = [line.strip() for line in source]
        if old not in lines:
            gone.append((file, old))
    return gone
