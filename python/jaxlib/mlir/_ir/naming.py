"""Names of values in text: %0, %arg0, %cst, as MLIR gives them."""

from .registry import find_row
from .types import IntegerType


class _Scope:
    """Names in use in a region; those of the regions around it are in use as well."""

    __slots__ = ("names", "parent")

    def __init__(self, parent):
        self.names = set()
        self.parent = parent

    def __contains__(self, name):
        scope = self
        while scope is not None:
            if name in scope.names:
                return True
            scope = scope.parent
        return False


class Names:
    """Names of all values inside an operation, and of blocks."""

    def __init__(self, root, generic=False):
        self.values = {}
        self.blocks = {}
        self.groups = {}
        self.generic = generic
        self._next = self._argument = self._conflict = 0
        self._operation(root, _Scope(None))
        self._regions(root, None)

    def _unique(self, name, scope):
        if name in scope:
            while True:
                probe = f"{name}_{self._conflict}"
                self._conflict += 1
                if probe not in scope:
                    name = probe
                    break
        scope.names.add(name)
        return name

    def _operation(self, operation, scope):
        results = operation._results
        if not results:
            return
        special = None
        if not self.generic:
            special = _SPECIAL.get(operation._name)
        if len(results) > 1:
            self._several(operation, scope)
        elif special is not None:
            self.values[results[0]] = "%" + self._unique(special(operation), scope)
        else:
            self.values[results[0]] = f"%{self._next}"
            self._next += 1

    def _several(self, operation, scope):
        """Names several results: by the table, if it has a name for each, else as a group."""
        row = None if self.generic else find_row(operation._name)
        results = operation._results
        if row is not None and len(row.results) == len(results) and not any(
                parameter.variadic for parameter in row.results):
            for result, parameter in zip(results, row.results):
                self.values[result] = "%" + self._unique(parameter.key, scope)
            return
        name = self.groups[operation] = f"%{self._next}"
        self._next += 1
        for index, result in enumerate(results):
            self.values[result] = f"{name}#{index}"

    def _region(self, region, scope):
        owner = region._parent._name
        iterates = not self.generic and owner in ("stablehlo.while", "mhlo.while")
        for number, block in enumerate(region._blocks):
            self.blocks[block] = f"^bb{number}"
            for argument in block._arguments:
                if number:
                    self.values[argument] = f"%{self._next}"
                    self._next += 1
                    continue
                if iterates:
                    name = "iterArg"
                else:
                    name = f"arg{self._argument}"
                    self._argument += 1
                self.values[argument] = "%" + self._unique(name, scope)
            for operation in block._operations:
                self._operation(operation, scope)

    def _regions(self, operation, parent):
        for region in operation._regions:
            saved = self._next, self._argument, self._conflict
            scope = _Scope(parent)
            self._region(region, scope)
            for block in region._blocks:
                for nested in block._operations:
                    if nested._regions:
                        self._regions(nested, scope)
            self._next, self._argument, self._conflict = saved


def _constant_name(operation):
    element = getattr(operation._results[0].type, "element_type", None)
    return "c" if isinstance(element, IntegerType) else "cst"


def _arith_name(operation):
    value, type_ = operation._attributes.get("value"), operation._results[0].type
    if not isinstance(type_, IntegerType) and type_._text != "index":
        return "cst"
    if type_._text == "i1":
        return "true" if value.value else "false"
    tail = "" if type_._text == "index" else f"_{type_}"
    return f"c{value.value}{tail}"


_SPECIAL = {"stablehlo.constant": _constant_name, "mhlo.constant": _constant_name,
            "arith.constant": _arith_name}
