"""Counts the operations of a program's text, as XLA's cost analysis does for the common ones."""

import math
import re

_DOT = re.compile(
    r"stablehlo\.dot_general [^:]*?contracting_dims = \[([\d, ]*)\][^:]*: "
    r"\(tensor<([^>]*)>, tensor<[^>]*>\) -> tensor<([^>]*)>"
)
_ELEMENTWISE = re.compile(
    r"stablehlo\.(?:add|subtract|multiply|divide|maximum|minimum|negate|abs|compare|select|and|or|xor|"
    r"remainder|sign|floor|ceil|clamp)\b[^\n]*: (?:\([^)]*\) -> )?"
    r"(?:tensor<i1>, |tensor<[^>]*xi1>, )?tensor<([^>]*)>"
)


def _dims(text):
    return [int(part) for part in text.split("x")[:-1] if part.isdigit()]


def flops_of(text):
    """Returns how many floating-point operations a text's dots and element-wise operations make."""
    total = 0
    for contracting, left, result in _DOT.findall(text):
        dims = _dims(left)
        inner = math.prod(dims[int(d)] for d in contracting.split(",") if d.strip())
        total += 2 * math.prod(_dims(result)) * inner
    for result in _ELEMENTWISE.findall(text):
        total += math.prod(_dims(result))
    return total
