"""What is kept of mutants: results.jsonl, a line for each that was run, and equivalent.txt, those that cannot be told from the original."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results.jsonl")
EQUIVALENT = os.path.join(HERE, "equivalent.txt")


def key_of(record):
    return (record["file"], record["old"], record["new"])


def load_results(path=RESULTS):
    """{key: record}, in the order of the file."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file if line.strip()]
    return {key_of(record): record for record in records}


def save_results(results, path=RESULTS):
    with open(path + ".new", "w", encoding="utf-8") as file:
        for record in results.values():
            file.write(json.dumps(record) + "\n")
    os.replace(path + ".new", path)


def load_equivalent(path=EQUIVALENT):
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


def unused_reasons(equivalent, root):
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
