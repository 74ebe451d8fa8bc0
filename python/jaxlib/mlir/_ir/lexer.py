"""Scanner of MLIR text: words, numbers, strings and punctuation at a position."""

import re

from .context import DiagnosticInfo, MLIRError
from .location import FileLineColLoc

_SPACE = re.compile(r"(?:\s+|//[^\n]*)*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_SUFFIX = re.compile(r"(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)")
_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+)")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{2}|.)")
_VALUE = re.compile(r"%(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)(?:#[0-9]+)?")
_OPENING = {"<": ">", "(": ")", "[": "]", "{": "}"}


class Lexer:
    """Text and a position in it. Methods skip space and comments before what they read."""

    def __init__(self, text, source="-", what="module assembly"):
        self.text = text
        self.at = 0
        self.source = source
        self.what = what

    def error(self, message, at=None):
        """Returns the error of the place `at`, or of the current one."""
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        place = FileLineColLoc._of(self.source, line, column, line, column)
        return MLIRError(f"Unable to parse {self.what}", [DiagnosticInfo(message, place)])

    def skip(self):
        self.at = _SPACE.match(self.text, self.at).end()

    def peek(self, token):
        self.skip()
        return self.text.startswith(token, self.at)

    def accept(self, token):
        """Skips `token` if it is next; says whether it was."""
        self.skip()
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def expect(self, token):
        if not self.accept(token):
            raise self.error(f"expected '{token}'")

    def _match(self, pattern, what):
        self.skip()
        match = pattern.match(self.text, self.at)
        if not match:
            raise self.error(f"expected {what}")
        self.at = match.end()
        return match.group()

    def word(self):
        return self._match(_WORD, "an identifier")

    def peek_word(self):
        self.skip()
        match = _WORD.match(self.text, self.at)
        return match.group() if match else ""

    def accept_word(self, word):
        """Skips a whole word if it is next; says whether it was."""
        if self.peek_word() != word:
            return False
        self.at += len(word)
        return True

    def suffix(self):
        """Returns the name after a sigil, which may be a number."""
        match = _SUFFIX.match(self.text, self.at)
        if not match:
            raise self.error("expected a name")
        self.at = match.end()
        return match.group()

    def value_name(self):
        return self._match(_VALUE, "SSA operand")

    def integer(self):
        return int(self._match(_INTEGER, "an integer"), 0)

    def number_text(self):
        return self._match(_NUMBER, "a number")

    def number(self):
        text = self.number_text()
        return float(text) if re.search(r"[.eE]", text) and "x" not in text else int(text, 0)

    def peek_number(self):
        self.skip()
        return bool(_NUMBER.match(self.text, self.at))

    def string(self):
        """Returns a string literal, bytes that are not UTF-8 as surrogates."""
        self.skip()
        match = _STRING.match(self.text, self.at)
        if not match:
            raise self.error("expected a string")
        self.at = match.end()
        body = match.group(1)
        if "\\" not in body:
            return body
        data = bytearray()
        at = 0
        for escape in _ESCAPE.finditer(body):
            data += body[at:escape.start()].encode("utf-8", "surrogateescape")
            code = escape.group(1)
            if len(code) == 2:
                data.append(int(code, 16))
            else:
                data += {"n": b"\n", "t": b"\t"}.get(code, code.encode())
            at = escape.end()
        data += body[at:].encode("utf-8", "surrogateescape")
        return data.decode("utf-8", "surrogateescape")

    def list(self, opening, closing, read):
        """Returns what `read` gives for each item between `opening` and `closing`."""
        self.expect(opening)
        items = []
        while not self.accept(closing):
            if items:
                self.expect(",")
            items.append(read())
        return items

    def integers(self):
        return tuple(self.list("[", "]", self.integer))

    def labels(self):
        """Returns the labels of [b, 0, f]: words and numbers."""
        def label():
            self.skip()
            match = re.compile(r"[a-z?]|[0-9]+").match(self.text, self.at)
            if not match:
                raise self.error("expected a dimension's label")
            self.at = match.end()
            return match.group()
        return self.list("[", "]", label)

    def balanced(self):
        """Returns the text from an opening bracket to its closing one."""
        self.skip()
        start, stack = self.at, []
        while True:
            if self.at >= len(self.text):
                raise self.error("unbalanced brackets", start)
            character = self.text[self.at]
            if character == '"':
                self.string()
                continue
            if self.text.startswith("->", self.at):
                self.at += 2
                continue
            self.at += 1
            if character in _OPENING:
                stack.append(_OPENING[character])
            elif stack and character == stack[-1]:
                stack.pop()
                if not stack:
                    return self.text[start:self.at]
