"""Small wrong versions of a source: the kinds of change, each a function that yields (begin, end, replacement) of places in the text."""
import re

from source import matching

_NAME = r"[A-Za-z_]\w*"


def _operator(*pairs):
    table = {}
    for old, new in pairs:
        table.setdefault(old, []).append(new)
    pattern = re.compile(r"(?<= )(" + "|".join(re.escape(old) for old in sorted(table, key=len, reverse=True)) + r")(?=[ \n])")

    def changes(source):
        for found in pattern.finditer(source.code):
            for new in table[found.group(1)]:
                yield found.start(1), found.end(1), new
    return changes


def _words(*pairs):
    table = dict(pairs)
    pattern = re.compile(r"\b(" + "|".join(table) + r")\b(?=[<(])")

    def changes(source):
        for found in pattern.finditer(source.code):
            yield found.start(1), found.end(1), table[found.group(1)]
    return changes


def _minus_dropped(source):
    for found in re.finditer(r"(?:(?<=[(\[{])|(?<=return )|(?<=[=,?:] ))-(?=[A-Za-z_(])", source.code):
        yield found.start(), found.end(), ""


def _factor(source):
    """One percent too much: of a value that is computed, not copied."""
    for found in re.finditer(r" ([-+*]?=) ([^;\n{}]+);", source.code):
        value = found.group(2)
        declared = source.code[source.code.rfind("\n", 0, found.start()) + 1:found.start()]
        if re.search(r"\b(?:bool|int|unsigned|u?int\d+_t|size_t) \w+$", declared):  # one percent of a small count is nothing
            continue
        if re.search(r" [-+*/] |exp|load", value) and not re.search(r"int\d*_t|<int|size|nullptr|^\[| \? ", value):
            yield found.start(2), found.end(2), f"({source.text[found.start(2):found.end(2)]}) * 1.01f"


def _constant(source):
    for found in re.finditer(r"(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|\d+)(f|u|LL|ULL)?(?![\w.])", source.code):
        number, suffix = found.group(1), found.group(2) or ""
        if re.search(r"\b(?:saved|output|needs|accumulate_into|give|so_far)\($", source.code[:found.start()]):
            continue
        if "." in number or "e" in number:
            value = float(number)
            text = repr(value * 1.01 if value != 0 else 0.01)
            yield found.start(), found.end(), (text if "." in text or "e" in text else text + ".0") + suffix
        else:
            for value in {int(number) + 1, max(0, int(number) - 1)} - {int(number)}:
                yield found.start(), found.end(), str(value) + suffix


def _index(source):
    for found in re.finditer(r"(?<=[\w)\]])\[([^\[\]\n]+)\]", source.code):
        for new in (" + 1", " - 1"):
            yield found.end(1), found.end(1), new


def _end_of_operand(code, at, ends):
    """The place behind the operand that begins at `at`: where one of `ends` matches outside brackets. -1 if it goes beyond the line."""
    while at < len(code):
        if code[at] == "\n":
            return -1
        if code[at] in "([{":
            at = matching(code, at) + 1
            if at == 0:
                return -1
            continue
        if code[at] in ",;)]}" or ends.match(code, at):
            return at
        at += 1
    return -1


_BEHIND_TERM = re.compile(r" (?:[-+<>=!&|^?:]|<=|>=|==|!=|&&|\|\||<<|>>)+ ")
_BEHIND_FACTOR = re.compile(r" ")


def _dropped(operators, ends):
    def changes(source):
        for found in re.finditer(r" (?:" + operators + r") (?=[\w(*-])", source.code):
            end = _end_of_operand(source.code, found.end(), ends)
            if end > found.end() and "\n" not in source.code[found.start():end]:
                yield found.start(), end, ""
    return changes


# A whole line that sets a value, and one that calls a function: with or without `if` or `for` in front of it.
_SET = re.compile(r"^[ ]+(?:if \([^;]*?\) )?(\*?" + _NAME + r"(?:(?:\.|->)" + _NAME + r"|\[[^\]\n]*\])* [-+*/|&^]?= [^;\n]*;)[ ]*$",
                  re.MULTILINE)
_CALL = re.compile(r"^[ ]+(?:(?:if|for) \([^\n]*\) )?((?:" + _NAME + r"(?:::|\.|->|<[\w, :]*>))*" + _NAME +
                   r"(?:<[\w, :]*>)?\([^\n]*\);)[ ]*$", re.MULTILINE)
_SYNCHRONISES = re.compile(r"sync|barrier|fence|wait|commit|arrive")


def _whole_statements(source, barriers):
    for found in [*_SET.finditer(source.code), *_CALL.finditer(source.code)]:
        text = source.code[found.start(1):found.end(1)]
        if text.startswith(("return", "delete")) or bool(_SYNCHRONISES.search(text.split("(")[0])) != barriers:
            continue
        if text.count("(") == text.count(")"):
            yield found.start(1), found.end(1), ";"


def _statement_dropped(source):
    return _whole_statements(source, False)


def _barrier(source):
    return _whole_statements(source, True)


def _condition(source):
    for found in re.finditer(r"\b(?:if|while) (?=\()", source.code):
        end = matching(source.code, found.end())
        if end > 0 and "\n" not in source.code[found.end():end]:
            yield found.end(), end + 1, f"(!{source.text[found.end():end + 1]})"
    for found in re.finditer(r"(?:(?<![=<>!])= |return |\()([^=,;(){}?\n]+?|[^=,;?\n]*?\)) \? ", source.code):
        condition = found.group(1)
        if condition.count("(") == condition.count(")"):
            yield found.start(1), found.end(1), f"!({source.text[found.start(1):found.end(1)]})"
    for found in re.finditer(r"(?<=[( ])!(?=[\w(])", source.code):
        yield found.start(), found.end(), ""


_ARGUMENT = re.compile(r"\*?&?" + _NAME + r"(?:(?:\.|->|::)" + _NAME + r"|\[[\w ]*\]|\([\w, .]*\))*")


def _arguments(source):
    """Two neighbours of a list that have changed places."""
    for found in re.finditer(r"(" + _NAME + r"|=|return) ?([({])(?=[\w*&])", source.code):
        if found.group(1) in ("min", "max", "larger", "for", "if", "while", "switch", "fmin", "fmax"):
            continue
        begin, end = found.end(), matching(source.code, found.end() - 1)
        if end < 0 or "\n" in source.code[begin:end]:
            continue
        parts, at = [], begin
        while at < end:
            stop = _end_of_operand(source.code, at, re.compile(","))
            if stop < 0:
                break
            parts.append((at, stop))
            at = stop + 2
        for (a, b), (c, d) in zip(parts, parts[1:]):
            first, second = source.text[a:b], source.text[c:d]
            if first != second and _ARGUMENT.fullmatch(first) and _ARGUMENT.fullmatch(second):
                yield a, d, f"{second}, {first}"


def _saved(source):
    """What a backward reads or gives: another tensor, input or output."""
    for found in re.finditer(r"\b(?:saved|output|needs|accumulate_into|give|so_far|has_output|take_output)\((\d)", source.code):
        for value in {int(found.group(1)) + 1, max(0, int(found.group(1)) - 1)} - {int(found.group(1))}:
            yield found.start(1), found.end(1), str(value)


def _wrong_name(source):
    """A parameter for another one of the same type, x for y."""
    for found in re.finditer(r"\((?=[\w:])", source.code):
        end = matching(source.code, found.start())
        body = re.compile(r"(?: const| mutable| noexcept| ->[^{;]*| :[^;{}]*)* \{").match(source.code, end + 1) if end > 0 else None
        if not body:
            continue
        types = {}
        for part in re.split(r",\s*(?![^<(]*[>)])", source.code[found.end():end]):
            declared = re.fullmatch(r"\s*(.*[\s*&])(" + _NAME + r")(?: = [^,]*)?\s*", part)
            if declared:
                types.setdefault(declared.group(1).strip(), []).append(declared.group(2))
        close = matching(source.code, body.end() - 1)
        for names in types.values():
            for i, name in enumerate(names):
                other = names[(i + 1) % len(names)]
                if other == name:
                    continue
                for use in re.finditer(r"(?<![\w.>:])" + name + r"(?!\w| = )", source.code[body.end():close]):
                    yield body.end() + use.start(), body.end() + use.end(), other


def _flag(source):
    """true for false, as an argument, a template's argument, a default or a result."""
    for found in re.finditer(r"(?<![\w.])(true|false)(?!\w)", source.code):
        yield found.start(), found.end(), "false" if found.group() == "true" else "true"


KINDS = {
    "sign": _operator(("+", "-"), ("-", "+")),
    "minus dropped": _minus_dropped,
    "product": _operator(("*", "/"), ("/", "*"), ("%", "/")),
    "comparison": _operator(("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"), ("==", "!="), ("!=", "==")),
    "logic": _operator(("&&", "||"), ("||", "&&"), ("&", "|"), ("|", "&"), ("^", "|"), ("|=", "&="), ("&=", "|=")),
    "assignment": _operator(("+=", "="), ("+=", "-="), ("-=", "+="), ("*=", "="), ("/=", "*="), (">>=", "<<=")),
    "shift": _operator(("<<", ">>"), (">>", "<<")),
    "factor": _factor,
    "constant": _constant,
    "index": _index,
    "term dropped": _dropped(r"\+|-", _BEHIND_TERM),
    "factor dropped": _dropped(r"\*|/|%", _BEHIND_FACTOR),
    "statement dropped": _statement_dropped,
    "barrier dropped": _barrier,
    "condition": _condition,
    "arguments": _arguments,
    "saved": _saved,
    "name": _wrong_name,
    "flag": _flag,
    "reduction": _words(("min", "max"), ("max", "min"), ("warp_sum", "warp_max"), ("warp_max", "warp_sum"),
                        ("block_sum", "block_max"), ("block_max", "block_sum"),
                        ("__shfl_up_sync", "__shfl_down_sync"), ("__shfl_xor_sync", "__shfl_up_sync")),
}


def changes_of(source):
    """All changes of a source, by kind: {kind: [(begin, end, replacement)]}, in the order of the text."""
    found = {}
    for kind, function in KINDS.items():
        usable = sorted({change for change in function(source)
                         if source.may_change(change[0]) and source.text[change[0]:change[1]] != change[2]})
        if usable:
            found[kind] = usable
    return found
