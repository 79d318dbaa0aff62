"""C++ source as the mutation tool sees it: code without comments and texts, its statements, and which of them may be changed."""
import bisect
import re

# Statements that refuse wrong arguments, and declarations whose numbers cannot change a result.
_LEFT_ALONE = re.compile(r"\b(?:check\w*|fail|fail_with|require|search_for_anomaly|static_assert|__launch_bounds__|OpTimer)\b"
                         r"|^\s*(?:using|typedef|friend)\b")
_WORDS_BEFORE_A_BLOCK = {"else", "do", "try", "const", "noexcept", "mutable", "override", "final"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def code_only(text):
    """`text` with comments, string and character literals and preprocessor lines replaced by as many blanks; line ends stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])*\''
                         r"|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def matching(code, at):
    """The place of the bracket that closes the one at `at`; -1 if none does."""
    opening, depth = code[at], 0
    for i in range(at, len(code)):
        if code[i] == opening:
            depth += 1
        elif code[i] == _CLOSING[opening]:
            depth -= 1
            if depth == 0:
                return i
    return -1


def _begins_block(code, at):
    before = code[max(0, at - 200):at].rstrip()
    if before.endswith((")", "]")):
        return True
    word = re.search(r"(\w*)$", before).group(1)
    if word in _WORDS_BEFORE_A_BLOCK:
        return True
    at_line_end = not code[at + 1:code.find("\n", at) + 1].strip()
    return at_line_end and word != "return" and before[-1:] not in ("=", ",", "(", "{")


def statements(code):
    """Where the statements begin, in order: behind each ; and each brace of a block. Parts of a `for` and a value's braces belong to theirs."""
    begins, kinds, depth, saved = [0], [], 0, []
    for at, char in enumerate(code):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "{":
            block = _begins_block(code, at)
            kinds.append(block)
            if block:
                saved.append(depth)
                depth = 0
                begins.append(at + 1)
            else:
                depth += 1
        elif char == "}" and kinds:
            if kinds.pop():
                depth = saved.pop()
                begins.append(at + 1)
            else:
                depth -= 1
        elif char == ";" and depth == 0:
            begins.append(at + 1)
    return begins


class Source:
    """A file's text, its code, and which places of it may be changed."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.code = code_only(text)
        self._begins = statements(self.code)
        self._lines = [0] + [i + 1 for i, char in enumerate(text) if char == "\n"]

    def line_of(self, at):
        """The number of the line that holds place `at`, from 1."""
        return bisect.bisect_right(self._lines, at)

    def line_text(self, number):
        return self.text.split("\n")[number - 1]

    def statement_at(self, at):
        """The code of the statement that holds place `at`."""
        i = bisect.bisect_right(self._begins, at) - 1
        end = self._begins[i + 1] if i + 1 < len(self._begins) else len(self.code)
        return self.code[self._begins[i]:end]

    def may_change(self, at):
        return _LEFT_ALONE.search(self.statement_at(at)) is None
