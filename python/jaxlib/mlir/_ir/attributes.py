"""Attributes of the builtin dialect, except for dense elements."""

import numpy as np

from . import types
from .context import context_of
from .location import quote
from .numbers import float_text
from .types import FloatType, IndexType, IntegerType, NoneType, TypeID, _StaticTypeID


class Attribute:
    """Base of all attributes. Immutable, compared by class and `_key`."""

    __slots__ = ("_key",)

    static_typeid = _StaticTypeID()

    def __new__(cls, cast_from_attr):
        if isinstance(cast_from_attr, cls):
            return cast_from_attr
        raise ValueError(f"Cannot cast attribute to {cls.__name__} (from {cast_from_attr!r})")

    @classmethod
    def _of(cls, key):
        self = object.__new__(cls)
        self._key = key
        return self

    @classmethod
    def isinstance(cls, other):
        return isinstance(other, cls)

    @staticmethod
    def parse(asm, context=None):
        from .parser import parse_attribute
        return parse_attribute(asm)

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self._key == other._key)

    def __hash__(self):
        return hash(self._key)

    @property
    def context(self):
        return context_of()

    @property
    def type(self):
        return NoneType.get()

    @property
    def typeid(self):
        return TypeID(type(self))

    def get_named(self, name):
        return NamedAttribute(name, self)

    def maybe_downcast(self):
        return self

    def dump(self):
        import sys
        print(str(self), file=sys.stderr)

    def _in_array(self):
        """Returns the text inside an array, where i64 and f64 are understood."""
        return str(self)

    def _stripped(self):
        """Returns the text where the class is known, without the `#dialect.name` before it."""
        return str(self)

    def __repr__(self):
        return f"{type(self).__name__}({self})"

    def __reduce__(self):
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class NamedAttribute:
    def __init__(self, name, attr):
        self.name = name
        self.attr = attr

    def __repr__(self):
        return f"NamedAttribute({self.name}={self.attr})"


class UnitAttr(Attribute):
    __slots__ = ()

    @staticmethod
    def get(context=None):
        return _UNIT

    def __str__(self):
        return "unit"


_UNIT = UnitAttr._of(())


class StringAttr(Attribute):
    """String of bytes; `_key` is (str, type), with surrogates for what is not UTF-8."""

    __slots__ = ()

    @staticmethod
    def get(value, context=None):
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        elif not isinstance(value, str):
            raise TypeError(f"StringAttr.get: the value is {value!r}; give str or bytes")
        return StringAttr._of((value, None))

    @staticmethod
    def get_typed(type, value):
        return StringAttr._of((value, type))

    @property
    def value(self):
        return self._key[0]

    @property
    def value_bytes(self):
        return self._key[0].encode("utf-8", "surrogateescape")

    @property
    def type(self):
        return self._key[1] or NoneType.get()

    def __str__(self):
        value, type_ = self._key
        return quote(value) if type_ is None else f"{quote(value)} : {type_}"


class IntegerAttr(Attribute):
    """Integer of a type; `_key` is (type, value in the type's range)."""

    __slots__ = ()

    @staticmethod
    def get(type, value):
        value = int(value)
        if isinstance(type, IntegerType):
            prefix, width = type._params
            if width == 1 and prefix == "i":
                return BoolAttr.get(value & 1)
            value &= (1 << width) - 1
            if prefix != "ui" and value >> (width - 1):
                value -= 1 << width
        elif not isinstance(type, IndexType):
            raise ValueError(f"invalid type '{type}' of an integer attribute; give an integer "
                             "type or index")
        return IntegerAttr._of((type, value))

    @property
    def type(self):
        return self._key[0]

    @property
    def value(self):
        return self._key[1]

    def __int__(self):
        return int(self._key[1])

    def _in_array(self):
        type_, value = self._key
        return str(value) if type_._text == "i64" else str(self)

    def __str__(self):
        type_, value = self._key
        return f"{value} : {type_}"


class BoolAttr(IntegerAttr):
    __slots__ = ()

    @staticmethod
    def get(value, context=None):
        return _TRUE if value else _FALSE

    @property
    def value(self):
        return self._key[1]

    def __bool__(self):
        return self._key[1]

    def __str__(self):
        return "true" if self._key[1] else "false"


_TRUE = BoolAttr._of((types.i1(), True))
_FALSE = BoolAttr._of((types.i1(), False))


class FloatAttr(Attribute):
    """Number of a float type; `_key` is (type, bytes), so that -0 and NaN compare as bits."""

    __slots__ = ()

    @staticmethod
    def get(type, value, loc=None):
        from .numbers import dtype_of
        if not isinstance(type, FloatType):
            raise types.MLIRErrorOf("expected floating point type")
        with np.errstate(over="ignore"):
            return FloatAttr._of((type, np.asarray(value).astype(dtype_of(type)).tobytes()))

    get_unchecked = get

    @staticmethod
    def get_f32(value, context=None):
        return FloatAttr.get(types.F32Type.get(), value)

    @staticmethod
    def get_f64(value, context=None):
        return FloatAttr.get(types.F64Type.get(), value)

    @property
    def type(self):
        return self._key[0]

    @property
    def _scalar(self):
        from .numbers import dtype_of
        return np.frombuffer(self._key[1], dtype_of(self._key[0]))[0]

    @property
    def value(self):
        return float(self._scalar)

    def __float__(self):
        return self.value

    def _in_array(self):
        return self._number() if self._key[0]._text == "f64" else str(self)

    def _number(self):
        return float_text(self._scalar, self._key[0]._text)

    def __str__(self):
        return f"{self._number()} : {self._key[0]}"


class TypeAttr(Attribute):
    __slots__ = ()

    @staticmethod
    def get(value, context=None):
        if not isinstance(value, types.Type):
            raise TypeError(f"TypeAttr.get: the value is {value!r}; give a Type")
        return TypeAttr._of(value)

    @property
    def value(self):
        return self._key

    def __str__(self):
        return self._key._text


class ArrayAttr(Attribute):
    __slots__ = ()

    @staticmethod
    def get(attributes, context=None):
        attributes = tuple(attributes)
        for attribute in attributes:
            if not isinstance(attribute, Attribute):
                raise RuntimeError("Invalid attribute (None?) when attempting to create an "
                                   f"ArrayAttribute: {attribute!r}")
        return ArrayAttr._of(attributes)

    def __len__(self):
        return len(self._key)

    def __getitem__(self, index):
        return self._key[index]

    def __iter__(self):
        return iter(self._key)

    def __add__(self, extra):
        return ArrayAttr.get(self._key + tuple(extra))

    def __str__(self):
        return f"[{', '.join([item._in_array() for item in self._key])}]"


def is_bare(name):
    """Says whether a name is an identifier, written without quotes."""
    return (name[:1].isalpha() or name[:1] == "_") and name.isascii() and all(
        c.isalnum() or c in "_$." for c in name)


_names = {}


def name_text(name):
    """Returns the name of an attribute as it is written before `=`."""
    text = _names.get(name)
    if text is None:
        text = _names[name] = name if is_bare(name) else quote(name)
    return text


def entries_text(items):
    """Returns `name = value, …` of a sorted sequence of pairs."""
    return ", ".join(name_text(name) if value is _UNIT else f"{name_text(name)} = {value}"
                     for name, value in items)


class DictAttr(Attribute):
    """Dictionary; `_key` is the tuple of pairs, sorted by the bytes of the names."""

    __slots__ = ()

    @staticmethod
    def get(value=None, context=None):
        value = value or {}
        for attribute in value.values():
            if not isinstance(attribute, Attribute):
                raise RuntimeError("Invalid attribute (None?) when attempting to create a "
                                   f"DictAttribute: {attribute!r}")
        return DictAttr._of(tuple(sorted(value.items(), key=_first)))

    def __contains__(self, name):
        return any(key == name for key, _ in self._key)

    def __len__(self):
        return len(self._key)

    def __getitem__(self, index):
        if isinstance(index, str):
            for key, value in self._key:
                if key == index:
                    return value
            raise KeyError("attempt to access a non-existent attribute")
        return NamedAttribute(*self._key[index])

    def __iter__(self):
        return (NamedAttribute(*pair) for pair in self._key)

    def __str__(self):
        return f"{{{entries_text(self._key)}}}"


def _first(pair):
    return pair[0]


class SymbolRefAttr(Attribute):
    """Path of symbols; `_key` is the tuple of names."""

    __slots__ = ()

    @staticmethod
    def get(symbols, context=None):
        if len(symbols) == 1:
            return FlatSymbolRefAttr.get(symbols[0])
        return SymbolRefAttr._of(tuple(symbols))

    @property
    def value(self):
        return list(self._key)

    def __str__(self):
        return "::".join(map(symbol_text, self._key))


class FlatSymbolRefAttr(SymbolRefAttr):
    __slots__ = ()

    @staticmethod
    def get(value, context=None):
        return FlatSymbolRefAttr._of((value,))

    @property
    def value(self):
        return self._key[0]


def symbol_text(name):
    """Returns the reference to a symbol: @name, quoted where it has to be."""
    return f"@{name}" if is_bare(name) else f"@{quote(name)}"


class OpaqueAttr(Attribute):
    """Attribute of a dialect that is kept as it is written."""

    __slots__ = ()

    @staticmethod
    def get(dialect_namespace, buffer, type=None, context=None):
        if isinstance(buffer, bytes):
            buffer = buffer.decode()
        return OpaqueAttr._of((dialect_namespace, buffer, type))

    @property
    def dialect_namespace(self):
        return self._key[0]

    @property
    def data(self):
        return self._key[1].encode()

    def __str__(self):
        namespace, text, _ = self._key
        return f"#{namespace}{text if text.startswith('<') else '.' + text}"


class LocationAttr(Attribute):
    __slots__ = ()

    def __new__(cls, location):
        return cls._of(location)

    @property
    def _location(self):
        return self._key

    def __str__(self):
        return str(self._key)


class StridedLayoutAttr(Attribute):
    __slots__ = ()

    @staticmethod
    def get(offset, strides, context=None):
        return StridedLayoutAttr._of((offset, tuple(strides)))

    @property
    def offset(self):
        return self._key[0]

    @property
    def strides(self):
        return list(self._key[1])

    def __str__(self):
        offset, strides = self._key
        sizes = ", ".join("?" if s == types.DYNAMIC else str(s) for s in strides)
        tail = f", offset: {'?' if offset == types.DYNAMIC else offset}" if offset else ""
        return f"strided<[{sizes}]{tail}>"


class _DenseArrayAttr(Attribute):
    """Base of flat arrays of numbers; `_key` is a tuple."""

    __slots__ = ()

    @classmethod
    def get(cls, values, context=None):
        return cls._of(tuple(map(cls._item, values)))

    def __len__(self):
        return len(self._key)

    def __getitem__(self, index):
        return self._key[index]

    def __iter__(self):
        return iter(self._key)

    def __add__(self, extra):
        return type(self).get(self._key + tuple(extra))

    def _numbers(self):
        return ", ".join(map(str, self._key))

    def _stripped(self):
        return f"[{self._numbers()}]"

    def __str__(self):
        return f"array<{self._name}: {self._numbers()}>" if self._key else f"array<{self._name}>"


class DenseBoolArrayAttr(_DenseArrayAttr):
    __slots__ = ()
    _name, _item = "i1", bool

    def _numbers(self):
        return ", ".join("true" if v else "false" for v in self._key)


class DenseI8ArrayAttr(_DenseArrayAttr):
    __slots__ = ()
    _name, _item = "i8", int


class DenseI16ArrayAttr(_DenseArrayAttr):
    __slots__ = ()
    _name, _item = "i16", int


class DenseI32ArrayAttr(_DenseArrayAttr):
    __slots__ = ()
    _name, _item = "i32", int


class DenseI64ArrayAttr(_DenseArrayAttr):
    __slots__ = ()
    _name, _item = "i64", int


class DenseF32ArrayAttr(_DenseArrayAttr):
    __slots__ = ()
    _name, _item = "f32", np.float32

    def _numbers(self):
        return ", ".join(float_text(v, self._name) for v in self._key)


class DenseF64ArrayAttr(DenseF32ArrayAttr):
    __slots__ = ()
    _name, _item = "f64", np.float64
