"""Lists that operations and blocks give: values, operands, attributes."""

from .attributes import NamedAttribute


class _ValueList(list):
    """List of values, whose slices are such lists as well."""

    __slots__ = ()

    @property
    def types(self):
        return [value.type for value in self]

    def __getitem__(self, index):
        item = list.__getitem__(self, index)
        return type(self)(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return list(self) + list(other)


class OpResultList(_ValueList):
    __slots__ = ()

    @property
    def owner(self):
        return self[0].owner if self else None


class BlockArgumentList(_ValueList):
    __slots__ = ()


class OpOperands(list):
    __slots__ = ()


class OpOperandList(_ValueList):
    """Operands of an operation; setting an item sets the operand."""

    __slots__ = ("_operation",)

    def __setitem__(self, index, value):
        list.__setitem__(self, index, value)
        self._operation._operands[index] = value


class OpSuccessors(list):
    __slots__ = ()


class BlockSuccessors(list):
    __slots__ = ()


class BlockPredecessors(list):
    __slots__ = ()


class RegionSequence(list):
    __slots__ = ()


class OpAttributeMap:
    """Attributes of an operation by name; changing it changes the operation."""

    __slots__ = ("_attributes",)

    def __init__(self, attributes):
        self._attributes = attributes

    def __contains__(self, name):
        return name in self._attributes

    def __len__(self):
        return len(self._attributes)

    def __getitem__(self, name):
        if isinstance(name, int):
            return NamedAttribute(*sorted(self._attributes.items())[name])
        try:
            return self._attributes[name]
        except KeyError:
            raise KeyError("attempt to access a non-existent attribute") from None

    def __setitem__(self, name, attribute):
        self._attributes[name] = attribute

    def __delitem__(self, name):
        if name not in self._attributes:
            raise KeyError("attempt to delete a non-existent attribute")
        del self._attributes[name]

    def get(self, key, default=None):
        return self._attributes.get(key, default)

    def __iter__(self):
        return iter(sorted(self._attributes))

    def keys(self):
        return sorted(self._attributes)

    def values(self):
        return [self._attributes[name] for name in self]

    def items(self):
        return sorted(self._attributes.items())
