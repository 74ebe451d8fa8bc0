"""Assembly formats of operations, which both printing and parsing follow.

A format is text with places in braces: `{name}` an operand or an attribute, `{}` the attributes
that are not written elsewhere, `{:name}` the type of an operand or result, `{:rule}` types by a
rule, `{!name}` a form of its own. `<? … ?>` is left out if the attributes in it are not there.
`~same` and `~fn` at the end stand for `{} : {:same}` and `{} : {:fn}`. `!name` alone is a form of
its own for the whole operation.
"""

import re

from . import forms
from .attributes import (
    BoolAttr,
    DenseI64ArrayAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    symbol_text,
)

_PLACE = re.compile(r"\{([:!]?)([a-z_A-Z0-9]*)\}|(<\?)|(\?>)")


class Format:
    """Format of one operation, ready to print and to parse."""

    def __init__(self, row):
        self.row = row
        text = row.format
        for rule in ("same", "fn"):
            if text.endswith("~" + rule):
                text = f"{text[:-len(rule) - 1]}{{}} : {{:{rule}}}"
        self.elided = {"operandSegmentSizes", "resultSegmentSizes"}
        fixed = not any(p.variadic or p.optional for p in row.operands)
        self.count = len(row.operands) if fixed else None
        self.steps = self._steps(text)
        self.defaults = {key: value for key, value in row.defaults.items()
                         if key not in self.elided}
        self.needed = [p.key for p in row.attributes
                       if p.key in self.elided and not p.optional and p.default is None]

    def _steps(self, text):
        operands = {p.name: i for i, p in enumerate(self.row.operands)}
        attributes = {p.name: p for p in self.row.attributes}
        stack, at = [[]], 0
        for match in _PLACE.finditer(text):
            if match.start() > at:
                stack[-1].append(("text", text[at:match.start()]))
            at = match.end()
            mark, name = match.group(1), match.group(2)
            if match.group(3):
                stack.append([])
            elif match.group(4):
                group = stack.pop()
                stack[-1].append(("optional", group))
            elif mark == ":":
                stack[-1].append(("types", name))
            elif mark == "!":
                self.elided.update(forms.PIECES[name].elided)
                stack[-1].append(("piece", forms.PIECES[name]))
            elif not name:
                stack[-1].append(("dictionary", None))
            elif name == "operands":
                stack[-1].append(("operands", None))
            elif name in operands:
                stack[-1].append(("operand", operands[name]))
            else:
                self.elided.add(attributes[name].key)
                stack[-1].append(("attribute", attributes[name]))
        if at < len(text):
            stack[-1].append(("text", text[at:]))
        return stack[0]

    def prints(self, operation):
        """Says whether the operation can be written so; otherwise it is in the generic form."""
        if self.count is not None and len(operation._operands) != self.count:
            return False
        attributes = operation._attributes
        for key in self.needed:
            if key not in attributes:
                return False
        return True

    def print(self, printer, operation):
        printer.operation_name(operation._name)
        first = self.steps[0]
        if first[0] != "dictionary" and not (first[0] == "text" and first[1][0] in "( "):
            printer.write(" ")
        self._print(printer, operation, self.steps)

    def _print(self, printer, operation, steps):
        write = printer.write
        for kind, argument in steps:
            if kind == "text":
                write(argument)
            elif kind == "operand":
                row = self.row
                if len(row.operands) == 1 or len(row.operands) == len(operation._operands):
                    alone = row.operands[argument].variadic and len(row.operands) == 1
                    values = operation._operands if alone else [operation._operands[argument]]
                else:
                    from .views import _operand_range
                    start, stop = _operand_range(operation, row, argument)
                    values = operation._operands[start:stop]
                write(printer.values_text(values))
            elif kind == "operands":
                write(printer.values_text(operation._operands))
            elif kind == "attribute":
                write(bare_text(printer, operation._attributes[argument.key], argument.kind))
            elif kind == "dictionary":
                printer.dictionary(operation._attributes, self._elided(operation))
            elif kind == "types":
                write(forms.types_text(argument, printer, operation, self.row))
            elif kind == "piece":
                argument.print(printer, operation)
            elif all(entry[0] != "attribute" or entry[1].key in operation._attributes
                     for entry in argument):
                self._print(printer, operation, argument)

    def _elided(self, operation):
        """Returns the names of attributes that are not written among the others."""
        if not self.defaults:
            return self.elided
        attributes = operation._attributes
        return self.elided | {
            key for key, text in self.defaults.items()
            if key in attributes and str(attributes[key]).replace(" ", "") == text}


def bare_text(printer, attribute, kind=None):
    """Returns the text of an attribute in a place where its type is known."""
    if kind == "SymbolNameAttr":
        return symbol_text(attribute.value)
    if isinstance(attribute, BoolAttr):
        return str(attribute)
    if isinstance(attribute, IntegerAttr):
        return str(attribute.value)
    if isinstance(attribute, FloatAttr):
        return attribute._number()
    if isinstance(attribute, (StringAttr, SymbolRefAttr)):
        return str(attribute)
    if isinstance(attribute, DenseI64ArrayAttr):
        return attribute._stripped()
    text = attribute._stripped()
    return text if text[:1] != "d" or limitless(printer) else printer.attribute(attribute)


def limitless(printer):
    return printer.limit is None


def compile_format(row):
    """Returns the format of a row: one of its own, or one by its text."""
    if row.format.startswith("!"):
        return forms.OPERATIONS[row.format[1:]]
    return Format(row)
