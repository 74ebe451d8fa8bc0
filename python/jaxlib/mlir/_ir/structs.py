"""Attributes of dialects: enumerations and structures, made from a line each."""

import numpy as np

from .attributes import Attribute
from .numbers import float_text
from .registry import rows_of
from .types import DYNAMIC

# (dialect, mnemonic) -> class; the parser finds attributes here.
KNOWN = {}


class Enumeration(Attribute):
    """One of several words; `_key` is the word."""

    __slots__ = ()
    _dialect = _mnemonic = ""
    _words = ()
    _bracketed = False

    @classmethod
    def get(cls, value, context=None):
        if value not in cls._words:
            raise ValueError(f"Invalid value: {cls.__name__} has no {value!r}; it has "
                             f"{', '.join(cls._words)}")
        return cls._of(value)

    @property
    def value(self):
        return self._key

    def _stripped(self):
        return f"<{self._key}>" if self._bracketed else self._key

    def __str__(self):
        if self._bracketed:
            return f"#{self._dialect}.{self._mnemonic}<{self._key}>"
        return f"#{self._dialect}<{self._mnemonic} {self._key}>"

    @classmethod
    def _parse(cls, parser):
        if cls._bracketed and parser.accept("<"):
            word = parser.word()
            parser.expect(">")
        else:
            word = parser.word()
        return cls.get(word)


class Structure(Attribute):
    """Several fields; `_key` is the tuple of them, in the order of `_fields`.

    A field is (name in Python, name in text, kind); kinds: ints, int, bool, type, attribute.
    """

    __slots__ = ()
    _dialect = _mnemonic = ""
    _fields = ()
    _sparse = False  # Whether empty lists and zeros are not written.

    @classmethod
    def get(cls, *args, context=None, ctx=None, **kwargs):
        names = [field[0] for field in cls._fields]
        values = dict(zip(names, args))
        values.update(kwargs)
        if len(args) > len(names) or set(values) != set(names):
            raise TypeError(f"{cls.__name__}.get() takes {', '.join(names)}; got "
                            f"{', '.join(values)}")
        return cls._of(tuple(_CAST[kind](values[name]) for name, _, kind in cls._fields))

    def _body(self):
        parts = []
        for (_, name, kind), value in zip(self._fields, self._key):
            if self._sparse and not value:
                continue
            parts.append(f"{name} = {_TEXT[kind](value)}")
        return ", ".join(parts)

    def _stripped(self):
        return f"<{self._body()}>"

    def __str__(self):
        return f"#{self._dialect}.{self._mnemonic}<{self._body()}>"

    @classmethod
    def _parse(cls, parser):
        by_text = {text: (position, kind) for position, (_, text, kind) in enumerate(cls._fields)}
        values = [_EMPTY[kind] for _, _, kind in cls._fields]
        parser.expect("<")
        while not parser.accept(">"):
            text = parser.word()
            if text not in by_text:
                raise parser.error(f"unknown field '{text}' of {cls.__name__}")
            parser.expect("=")
            position, kind = by_text[text]
            values[position] = _READ[kind](parser)
            parser.accept(",")
        return cls._of(tuple(values))


def size_text(size):
    return "?" if size == DYNAMIC else str(size)


_CAST = {"ints": lambda v: tuple(map(int, v)), "int": int, "bool": bool, "type": lambda v: v,
         "attribute": lambda v: v}
_TEXT = {"ints": lambda v: f"[{', '.join(map(str, v))}]", "int": str,
         "bool": lambda v: "true" if v else "false", "type": str, "attribute": str}
_EMPTY = {"ints": (), "int": 0, "bool": False, "type": None, "attribute": None}
_READ = {"ints": lambda p: p.integers(), "int": lambda p: p.integer(), "bool": lambda p:
         p.word() == "true", "type": lambda p: p.type(), "attribute": lambda p: p.attribute()}


def _property(position, kind):
    if kind == "ints":
        return property(lambda self: list(self._key[position]))
    return property(lambda self: self._key[position])


def define(cls, dialect, module, name, mnemonic, **members):
    """Makes a class of attributes of a dialect and puts it into a module's globals."""
    members.update(_dialect=dialect, _mnemonic=mnemonic, __slots__=(),
                   __module__=module["__name__"])
    for position, (field, _, kind) in enumerate(members.get("_fields", ())):
        members.setdefault(field, _property(position, kind))
    made = type(name, (cls,), members)
    KNOWN[dialect, mnemonic] = made
    module[name] = made
    return made


def define_structures(dialect, module, table):
    """Defines a structure a line: `mnemonic Class flags field:kind …`; text=field renames."""
    for line in rows_of(table):
        mnemonic, name, *words = line.split()
        sparse = words[0] == "sparse"
        fields = []
        for word in words[sparse:]:
            field, _, kind = word.partition(":")
            text, _, python = field.partition("=")
            fields.append((python or text, text, kind or "ints"))
        define(Structure, dialect, module, name, mnemonic, _fields=tuple(fields), _sparse=sparse)


def define_enumerations(dialect, module, table):
    """Defines an enumeration a line: `mnemonic Class word …`; `<>` before words brackets them."""
    for line in rows_of(table):
        mnemonic, name, *words = line.split()
        bracketed = words[0] == "<>"
        define(Enumeration, dialect, module, name, mnemonic, _words=tuple(words[bracketed:]),
               _bracketed=bracketed)


class ConvDimensions(Attribute):
    """Which dimension of a convolution is what; `_key` is three tuples of labels."""

    __slots__ = ()
    _dialect, _mnemonic = "stablehlo", "conv"

    @classmethod
    def get(cls, input_batch_dimension, input_feature_dimension, input_spatial_dimensions,
            kernel_input_feature_dimension, kernel_output_feature_dimension,
            kernel_spatial_dimensions, output_batch_dimension, output_feature_dimension,
            output_spatial_dimensions, ctx=None, context=None):
        return cls._of((
            (input_batch_dimension, input_feature_dimension, tuple(input_spatial_dimensions)),
            (kernel_input_feature_dimension, kernel_output_feature_dimension,
             tuple(kernel_spatial_dimensions)),
            (output_batch_dimension, output_feature_dimension, tuple(output_spatial_dimensions))))

    input_batch_dimension = property(lambda self: self._key[0][0])
    input_feature_dimension = property(lambda self: self._key[0][1])
    input_spatial_dimensions = property(lambda self: list(self._key[0][2]))
    kernel_input_feature_dimension = property(lambda self: self._key[1][0])
    kernel_output_feature_dimension = property(lambda self: self._key[1][1])
    kernel_spatial_dimensions = property(lambda self: list(self._key[1][2]))
    output_batch_dimension = property(lambda self: self._key[2][0])
    output_feature_dimension = property(lambda self: self._key[2][1])
    output_spatial_dimensions = property(lambda self: list(self._key[2][2]))

    def _stripped(self):
        texts = []
        for (first, second, spatial), letters in zip(self._key, ("bf", "io", "bf")):
            labels = {first: letters[0], second: letters[1]}
            labels.update((dim, str(i)) for i, dim in enumerate(spatial))
            size = max(labels, default=-1) + 1
            texts.append(f"[{', '.join(labels.get(i, '?') for i in range(size))}]")
        return f"{texts[0]}x{texts[1]}->{texts[2]}"

    def __str__(self):
        return f"#{self._dialect}.{self._mnemonic}<{self._stripped()}>"

    @classmethod
    def _parse(cls, parser):
        parser.expect("<")
        self = cls._parse_stripped(parser)
        parser.expect(">")
        return self

    @classmethod
    def _parse_stripped(cls, parser):
        parts = []
        for letters, after in (("bf", "x"), ("io", "->"), ("bf", None)):
            labels = parser.labels()
            spatial = {int(label): i for i, label in enumerate(labels) if label.isdigit()}
            parts.append((labels.index(letters[0]), labels.index(letters[1]),
                          tuple(spatial[i] for i in sorted(spatial))))
            if after:
                parser.expect(after)
        return cls._of(tuple(parts))


class ResultAccuracy(Attribute):
    """Accuracy that is asked of a result; `_key` is (atol, rtol, ulps, mode)."""

    __slots__ = ()
    _dialect, _mnemonic = "stablehlo", "result_accuracy"
    _words = ("DEFAULT", "HIGHEST", "TOLERANCE")

    @classmethod
    def get(cls, atol, rtol, ulps, mode, context=None):
        if mode not in cls._words:
            raise ValueError(f"Invalid value: {cls.__name__} has no mode {mode!r}")
        return cls._of((float(atol), float(rtol), int(ulps), mode))

    atol = property(lambda self: self._key[0])
    rtol = property(lambda self: self._key[1])
    ulps = property(lambda self: self._key[2])
    mode = property(lambda self: self._key[3])

    def _stripped(self):
        atol, rtol, ulps, mode = self._key
        parts = [f"{name} = {float_text(np.float64(value), 'f64')}"
                 for name, value in (("atol", atol), ("rtol", rtol)) if value]
        if ulps:
            parts.append(f"ulps = {ulps}")
        parts.append(f"mode = #{self._dialect}.result_accuracy_mode<{mode}>")
        return f"<{', '.join(parts)}>"

    def __str__(self):
        return f"#{self._dialect}.{self._mnemonic}{self._stripped()}"

    @classmethod
    def _parse(cls, parser):
        values = {"atol": 0.0, "rtol": 0.0, "ulps": 0, "mode": "DEFAULT"}
        parser.expect("<")
        while not parser.accept(">"):
            name = parser.word()
            parser.expect("=")
            values[name] = parser.attribute().value if name == "mode" else parser.number()
            parser.accept(",")
        return cls.get(**values)


class Bounds(Attribute):
    """Upper bounds of a tensor's unknown sizes, as its encoding."""

    __slots__ = ()
    _dialect, _mnemonic = "stablehlo", "bounds"

    @classmethod
    def get(cls, bounds, context=None):
        return cls._of(tuple(bounds))

    bounds = property(lambda self: list(self._key))

    def __str__(self):
        return f"#{self._dialect}.bounds<{', '.join(map(size_text, self._key))}>"

    @classmethod
    def _parse(cls, parser):
        parser.expect("<")
        bounds = []
        while not parser.accept(">"):
            bounds.append(DYNAMIC if parser.accept("?") else parser.integer())
            parser.accept(",")
        return cls._of(tuple(bounds))
