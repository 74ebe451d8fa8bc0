"""The steps of key paths: an index, a dict's key, an attribute, a child's number."""

from .errors import JaxRuntimeError


class _Key:
    """A step of a key path. A subclass says the name of its attribute, its text and its hash."""

    __slots__ = ("_value",)

    def __init_subclass__(cls, attribute=None, text=None, hash=None):
        if attribute is None:  # A subclass of a kind is of that kind.
            return
        cls.__match_args__ = (attribute,)
        cls._text = text
        cls._hash = staticmethod(hash)
        cls._kind = cls
        setattr(cls, attribute, property(lambda self: self._value))

    def __eq__(self, other):
        return isinstance(other, self._kind) and self._value == other._value

    def __hash__(self):
        return self._hash(self._value)

    def __str__(self):
        return self._text.format(self._value)

    def __repr__(self):
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value!r})"

    def __getstate__(self):
        return (self._value,)

    def __setstate__(self, state, /):
        if len(state) != 1:
            raise JaxRuntimeError(f"Malformed pickled {type(self).__name__}, expected 1-tuple")
        type(self).__init__(self, *state)


class SequenceKey(_Key, attribute="idx", text="[{}]", hash=lambda idx: idx + 1):
    __slots__ = ()

    def __init__(self, idx):
        self._value = idx


class DictKey(_Key, attribute="key", text="[{!r}]", hash=hash):
    __slots__ = ()

    def __init__(self, key):
        self._value = key


class GetAttrKey(_Key, attribute="name", text=".{}", hash=hash):
    __slots__ = ()

    def __init__(self, name):
        self._value = name


class FlattenedIndexKey(_Key, attribute="key", text="[<flat index {}>]", hash=lambda key: key + 42):
    __slots__ = ()

    def __init__(self, key):
        self._value = key
