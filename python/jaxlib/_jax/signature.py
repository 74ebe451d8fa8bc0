"""The signature of a program's text: @main's parameters and results."""

import math
import re

_MAIN = re.compile(r"func\.func (?:public |private )?@main\(")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_OPEN, _CLOSE = "([{<", ")]}>"


def closing(text, at):
    """Returns the place after the bracket that closes the one at `at`."""
    depth = 0
    while True:
        c = text[at]
        if c == '"':
            at = _QUOTED.match(text, at).end() - 1
        elif c == "-" and text[at + 1] == ">":
            at += 1
        elif c in _OPEN:
            depth += 1
        elif c in _CLOSE:
            depth -= 1
            if not depth:
                return at + 1
        at += 1


def split(text):
    """Returns the parts of a list, at commas outside of brackets."""
    parts, start, at = [], 0, 0
    while at < len(text):
        c = text[at]
        if c in _OPEN:
            at = closing(text, at)
            continue
        if c == '"':
            at = _QUOTED.match(text, at).end()
            continue
        if c == ",":
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


class Signature:
    """parameters, results: texts of types with attributes."""

    def __init__(self, text):
        self.parameters, self.results = [], []
        start = _MAIN.search(text)
        if not start:
            return
        end = closing(text, start.end() - 1)
        for part in split(text[start.end():end - 1]):
            self.parameters.append(part.partition(": ")[2])
        arrow = re.compile(r"\s*->\s*").match(text, end)
        if arrow:
            at = arrow.end()
            if text[at] == "(":
                self.results = split(text[at + 1:closing(text, at) - 1])
            else:
                self.results = [text[at:text.index("{\n", at)].strip()]

    @staticmethod
    def orders(parts):
        """Returns the orders of dimensions that are asked for, minor to major, by part."""
        asked = [re.search(r'mhlo\.layout_mode = "{([\d,]*)', part) for part in parts]
        orders = {i: tuple(map(int, filter(None, found.group(1).split(","))))
                  for i, found in enumerate(asked) if found}
        return {i: order for i, order in orders.items()
                if order != tuple(range(len(order)))[::-1]}

    def donated(self):
        """Returns the numbers of parameters whose memory a run may overwrite.

        A parameter that is only offered is taken if there is a result of its size, as XLA does.
        """
        sizes = [type_of(part) for part in self.results]
        out = []
        for i, part in enumerate(self.parameters):
            found = re.search(r"tf\.aliasing_output = (\d+)", part)
            if found:
                out.append(i)
                if int(found.group(1)) < len(sizes):
                    sizes[int(found.group(1))] = None
        for i, part in enumerate(self.parameters):
            if "jax.buffer_donor" in part and type_of(part) in sizes:
                out.append(i)
                sizes[sizes.index(type_of(part))] = None
        return sorted(out)


def type_of(part):
    """Returns the element type and the number of elements of a tensor's text."""
    found = re.search(r"tensor<([^>]*)>", part)
    if not found:
        return None
    *dims, element = found.group(1).split(",")[0].split("x")
    return element, math.prod(int(d) for d in dims if d.isdigit())
