"""Aliases of locations in text: #loc, #loc1, …, in the order in which MLIR numbers them."""

from .forms import compact_reduction
from .location import CallSiteLoc, FusedLoc, NameLoc, UnknownLoc


def _nested(location):
    """Returns the locations that the text of a location names."""
    if isinstance(location, NameLoc):
        child = location._fields[1]
        return () if isinstance(child, UnknownLoc) else (child,)
    if isinstance(location, CallSiteLoc):
        return location._fields
    return location._fields[0] if isinstance(location, FusedLoc) else ()


class Aliases:
    """Names of all locations of an operation and of what is inside it.

    Locations are numbered by their depth, then in the order in which they are met. Those of
    arguments, and what these name, are defined before the operation; the others after it.
    """

    def __init__(self, operation, generic):
        self._generic = generic
        self._depths = {}
        self._early = set()
        self._operation(operation)
        ordered = sorted(self._depths, key=self._depths.__getitem__)
        self.names = {location: f"#loc{index or ''}" for index, location in enumerate(ordered)}

    def _operation(self, operation):
        self._visit(operation._location, True)
        # Some texts leave locations out: of a reduction's body, of a loop's arguments.
        name = "" if self._generic else operation._name
        if name == "stablehlo.reduce" and compact_reduction(operation) is not None:
            return
        for region in operation._regions:
            for block in region._blocks:
                if name != "stablehlo.while":
                    for argument in block._arguments:
                        self._visit(argument.location, False)
                for nested in block._operations:
                    self._operation(nested)

    def _visit(self, location, deferred):
        """Notes a location and returns its depth."""
        depths = self._depths
        if location in depths:
            if not deferred and location not in self._early:
                self._early.add(location)
                for child in _nested(location):
                    self._visit(child, False)
            return depths[location]
        depths[location] = 0
        if not deferred:
            self._early.add(location)
        children = _nested(location)
        if children:
            depths[location] = 1 + max([self._visit(child, deferred) for child in children])
        return depths[location]

    def definitions(self, early):
        """Returns the lines that define the aliases before the operation, or those after it."""
        name = self.names.__getitem__
        return "".join(f"{alias} = loc({location._body(name)})\n"
                       for location, alias in self.names.items()
                       if (location in self._early) is early)
