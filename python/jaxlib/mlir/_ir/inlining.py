"""Inlined calls of functions of one block."""

from .context import state
from .location import CallSiteLoc, FileLineColLoc, NameLoc, UnknownLoc, location_or_current


def split_location(location):
    """Returns (type of operation, name of operation, rest) of nested names.

    The type is a name that ends with a colon. A name whose child is a file is a frame's.
    """
    type_ = name = ""
    while type(location) is NameLoc and type(location._fields[1]) is not FileLineColLoc:
        text, child = location._fields
        if text.endswith(":"):
            type_ = text
        else:
            name = text
        location = child
    return type_, name, location


class _Relocation:
    """Function from the location of an operation to that of its inlined copy."""

    def __init__(self, caller):
        self.type, self.name, self.base = split_location(caller)
        self.known = {}

    def __call__(self, location):
        made = self.known.get(id(location))
        if made is None:
            made = (self._make(location), location)
            self.known[id(location)] = made
        return made[0]

    def _make(self, location):
        _, name, rest = split_location(location)
        if type(rest) is UnknownLoc:
            made = self.base
        elif type(self.base) is UnknownLoc:
            made = rest
        else:
            made = CallSiteLoc._of(rest, self.base)
        if not name:
            made = NameLoc._of(self.name, made)
        else:
            made = NameLoc._of(f"{self.name}/{name}" if self.name else name, made)
        return NameLoc._of(self.type, made) if self.type else made


def inlined_func_call(callee, args, loc=None):
    """Copies the body of a function to the insertion point; returns what it returns.

    callee: a func.func of one block with one return. args: values. loc: of the call.
    """
    function = callee.operation
    blocks = function._regions[0]._blocks
    if len(blocks) != 1:
        raise ValueError("expected function to have exactly one block")
    body = blocks[0]
    args = list(args)
    if len(body._arguments) != len(args):
        raise ValueError(f"expected callee to have {len(args)} arguments, got "
                         f"{len(body._arguments)}")
    point = state.insertion_point
    if point is None:
        raise ValueError("No default insertion point found.")
    relocate = _Relocation(location_or_current(loc))
    mapping = dict(zip(body._arguments, args))
    block, reference = point._block, point._reference
    into = block._operations
    at = len(into) if reference is None else into.index(reference)
    returned = None
    for operation in list(body._operations):
        if operation._name == "func.return":
            if returned is not None:
                raise ValueError("expected function to have exactly one return op")
            returned = [mapping[value] for value in operation._operands]
            continue
        copy = operation._clone(mapping, relocate)
        copy._block = block
        into.insert(at, copy)
        at += 1
    if returned is None:
        raise ValueError("expected function to have exactly one return op")
    return returned
