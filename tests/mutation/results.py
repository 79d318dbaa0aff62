"""What is kept of mutants: results.jsonl, and equivalent.txt, those that cannot be told from the original."""
import collections
import hashlib
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results.jsonl")
EQUIVALENT = os.path.join(HERE, "equivalent.txt")


def key_of(record):
    return (record["file"], record["old"], record["new"])


def _digest(key):
    return hashlib.sha256("\n".join(key).encode()).hexdigest()[:8]


class Results:
    """The mutants that were run. The page names survivors: `named` has their records. The rest is counted: killed and equivalent ones by op and
    part, what is no mutant by its verdict. A digest of each of these keeps it from being run twice."""

    def __init__(self):
        self.named = {}  # {key: record}, in the order in which they were run
        self.killed, self.equivalent = collections.Counter(), collections.Counter()  # by op and part
        self.none = collections.Counter()
        self.digests = {}  # an ordered set
        self.seconds = 0.0  # of all counted ones
        self.commits, self.dates = {}, {}  # ordered sets, of all valid mutants

    def __contains__(self, key):
        return key in self.named or _digest(key) in self.digests

    def add(self, record, equivalent):
        """A new result; it replaces the one of a survivor that was run again."""
        key = key_of(record)
        self.named.pop(key, None)
        is_valid = record["verdict"] in ("killed", "survived", "equivalent")
        if is_valid:
            self.commits[record["commit"]] = self.dates[record["date"]] = None
        alike = record["verdict"] == "equivalent" or reason_for(equivalent, *key)
        if record["verdict"] == "survived" and not alike:
            self.named[key] = record
            return
        self.digests[_digest(key)] = None
        if not is_valid:
            self.none[record["verdict"]] += 1
            return
        (self.equivalent if alike else self.killed)[f"{record['op']} {record['part']}"] += 1
        self.seconds += record["seconds"]


def load_results(path=RESULTS):
    results = Results()
    if not os.path.exists(path):
        return results
    with open(path, encoding="utf-8") as file:
        counts, *records = [json.loads(line) for line in file if line.strip()]
    results.killed.update(counts["killed"])
    results.equivalent.update(counts["equivalent"])
    results.none.update(counts["none"])
    results.seconds = counts["seconds"]
    for name in ("digests", "commits", "dates"):
        getattr(results, name).update(dict.fromkeys(counts[name].split()))
    results.named = {key_of(record): record for record in records}
    return results


def save_results(results, path=RESULTS):
    """The counts, then a line for each mutant that the page names."""
    counts = {"killed": results.killed, "equivalent": results.equivalent, "none": results.none, "seconds": round(results.seconds, 1)}
    counts.update({name: " ".join(getattr(results, name)) for name in ("commits", "dates", "digests")})
    with open(path + ".new", "w", encoding="utf-8") as file:
        for line in (counts, *results.named.values()):
            file.write(json.dumps(line) + "\n")
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
