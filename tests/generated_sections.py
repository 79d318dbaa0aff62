"""Parts of Markdown pages that scripts write, between <!-- NAME: written by a script --> and <!-- end of NAME -->."""
import pathlib
import re


def _pattern(name):
    return re.compile(rf"(<!-- {name}: [^\n]*-->\n)(.*?)(<!-- end of {name} -->)", re.DOTALL)


def part(text, name):
    """What lies between the marks, these included; nothing if there are none."""
    found = _pattern(name).search(text)
    return found.group() if found else ""


def replaced(text, name, new):
    """The text with `new` between the marks. An error if there are none."""
    result, count = _pattern(name).subn(lambda found: found.group(1) + new + found.group(3), text)
    if count != 1: raise ValueError(f"{count} parts are marked {name}, wanted one")
    return result


def write(path, name, new):
    """Replaces the part in a file."""
    path = pathlib.Path(path)
    path.write_text(replaced(path.read_text(encoding="utf-8"), name, new), encoding="utf-8")
