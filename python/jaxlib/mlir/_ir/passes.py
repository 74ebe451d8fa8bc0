"""Passes that JAX runs, and the parsing of pipelines."""

import re

from .context import DiagnosticInfo, MLIRError
from .location import UNKNOWN
from .symbols import symbols_in

_ELEMENT = re.compile(r"\s*([\w.-]+)\s*(\{[^}]*\})?\s*")


class PassManager:
    """Sequence of passes that runs on an operation."""

    def __init__(self, anchor_op="any", context=None):
        self._anchor = anchor_op
        self._passes = []

    @staticmethod
    def parse(pipeline, context=None):
        """Makes the manager of `anchor(pass, pass{option=value}, anchor(…))`."""
        self = PassManager()
        self._anchor, at = _name_at(pipeline, 0)
        if not pipeline.startswith("(", at) or not pipeline.rstrip().endswith(")"):
            raise ValueError(f"expected pass pipeline to be wrapped with the anchor operation "
                             f"type, e.g. 'builtin.module(...)': {pipeline!r}")
        self.add(pipeline.rstrip()[at + 1:-1])
        return self

    def add(self, pipeline):
        at = 0
        while at < len(pipeline.rstrip()):
            name, at = _name_at(pipeline, at)
            if pipeline.startswith("(", at):
                depth, start = 1, at + 1
                while depth:
                    at += 1
                    depth += {"(": 1, ")": -1}.get(pipeline[at], 0)
                self.add(pipeline[start:at])
                at += 1
            elif name not in PASSES:
                raise ValueError(f"'{name}' does not refer to a registered pass or pass pipeline; "
                                 f"there are {', '.join(sorted(PASSES))}")
            else:
                self._passes.append(name)
            while at < len(pipeline) and pipeline[at] in ", ":
                at += 1

    def enable_ir_printing(self, *unused, **unused_options):
        pass

    def enable_verifier(self, enable):
        pass

    def enable_timing(self):
        pass

    def run(self, operation):
        for name in self._passes:
            PASSES[name](operation.operation)

    def __str__(self):
        return f"{self._anchor}({','.join(self._passes)})"


def _name_at(text, at):
    match = _ELEMENT.match(text, at)
    if not match:
        raise ValueError(f"expected the name of a pass at {text[at:]!r}")
    return match.group(1), match.end()


def strip_locations(module):
    """strip-debuginfo: makes all locations unknown."""
    for operation in module._nested():
        operation._location = UNKNOWN
        for region in operation._regions:
            for block in region._blocks:
                for argument in block._arguments:
                    argument.location = UNKNOWN


def remove_unused_symbols(module):
    """symbol-dce: erases private symbols that nothing refers to."""
    body = module._regions[0]._blocks[0]
    symbols = {operation._attributes["sym_name"].value: operation
               for operation in body._operations if "sym_name" in operation._attributes}
    live, pending = set(), []
    for operation in body._operations:
        visibility = operation._attributes.get("sym_visibility")
        if "sym_name" not in operation._attributes or visibility is None or (
                visibility.value == "public"):
            pending.append(operation)
    while pending:
        for operation in pending.pop()._nested():
            found = set()
            for attribute in operation._attributes.values():
                symbols_in(attribute, found)
            for symbol in found - live:
                live.add(symbol)
                if symbol in symbols:
                    pending.append(symbols[symbol])
    for name, operation in symbols.items():
        visibility = operation._attributes.get("sym_visibility")
        if name not in live and visibility is not None and visibility.value != "public":
            operation.erase()


def lift_inlined_meshes(module):
    """sdy-lift-inlined-meshes: gives meshes inside shardings a symbol, one for equal ones."""
    from .shardings import lift_meshes
    lift_meshes(module)


def import_shardy(module):
    """xla-sdy-round-trip-import-shardy-attrs: makes shardings of frontend attributes."""
    from .shardings import import_frontend_attributes
    import_frontend_attributes(module)


def remove_dead_values(module):
    """Erases operations whose results nothing uses and that have no effect."""
    changed = True
    while changed:
        changed = False
        used = {operand for operation in module._nested() for operand in operation._operands}
        for operation in list(module._nested()):
            if operation._results and not operation._regions and _is_pure(operation._name) and (
                    not any(result in used for result in operation._results)):
                operation.erase()
                changed = True


def _is_pure(name):
    return name.startswith(("stablehlo.", "chlo.", "arith.")) and name.split(".")[1] not in (
        "custom_call", "send", "recv", "infeed", "outfeed", "rng", "case", "while")


def do_nothing(module):
    """Keeps the module: the pass changes nothing that means something here."""


def fail(message):
    return MLIRError("Failure while executing pass pipeline", [DiagnosticInfo(message, UNKNOWN)])


PASSES = {
    "strip-debuginfo": strip_locations, "symbol-dce": remove_unused_symbols,
    "sdy-lift-inlined-meshes": lift_inlined_meshes,
    "xla-sdy-round-trip-import-shardy-attrs": import_shardy,
    "canonicalize": remove_dead_values, "cse": do_nothing,
}
