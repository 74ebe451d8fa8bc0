"""The steps of key paths: an index, a dict's key, an attribute, a child's number."""

from .errors import JaxRuntimeError


class _Key:
    """A step of a key path; the subclass names its one attribute."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other):
        cls = self._class
        return isinstance(other, cls) and self._value == other._value

    def __getstate__(self):
        return (self._value,)

    def __setstate__(self, state, /):
        if len(state) != 1:
            raise JaxRuntimeError(f"Malformed pickled {type(self).__name__}, expected 1-tuple")
        type(self).__init__(self, *state)


class SequenceKey(_Key):
    __slots__ = ("_value",)
    __match_args__ = ("idx",)

    def __init__(self, idx):
        self._value = idx

    idx = property(lambda self: self._value)

    def __str__(self):
        return f"[{self._value}]"

    def __repr__(self):
        return f"SequenceKey(idx={self._value})"

    def __hash__(self):
        return self._value + 1


class DictKey(_Key):
    __slots__ = ("_value",)
    __match_args__ = ("key",)

    def __init__(self, key):
        self._value = key

    key = property(lambda self: self._value)

    def __str__(self):
        return f"[{self._value!r}]"

    def __repr__(self):
        return f"DictKey(key={self._value!r})"

    def __hash__(self):
        return hash(self._value)


class GetAttrKey(_Key):
    __slots__ = ("_value",)
    __match_args__ = ("name",)

    def __init__(self, name):
        self._value = name

    name = property(lambda self: self._value)

    def __str__(self):
        return f".{self._value}"

    def __repr__(self):
        return f"GetAttrKey(name='{self._value}')"

    def __hash__(self):
        return hash(self._value)


class FlattenedIndexKey(_Key):
    __slots__ = ("_value",)
    __match_args__ = ("key",)

    def __init__(self, key):
        self._value = key

    key = property(lambda self: self._value)

    def __str__(self):
        return f"[<flat index {self._value}>]"

    def __repr__(self):
        return f"FlattenedIndexKey(key={self._value})"

    def __hash__(self):
        return self._value + 42


for _class in (SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey):
    _class._class = _class
