"""Attributes and types of bytecode by dialect and code; tables for reading and for writing.

Sources: MLIR's BuiltinDialectBytecode.td, StableHLO's VhloBytecode.cpp.
"""

import numpy as np

from . import attributes as attrs
from . import sdy, types
from .elements import DenseElementsAttr, of_bytes
from .location import UNKNOWN, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from .numbers import dtype_of, type_named
from .structs import KNOWN


def stablehlo(mnemonic):
    """Returns the class of an attribute of StableHLO."""
    if ("stablehlo", mnemonic) not in KNOWN:
        from ..dialects import stablehlo as _  # noqa: F401
    return KNOWN["stablehlo", mnemonic]


# Words in the order of VHLO's numbers.
WORDS = {
    3: ("comparison_direction", ("EQ", "NE", "GE", "GT", "LE", "LT")),
    4: ("comparison_type", ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")),
    7: ("fft_type", ("FFT", "IFFT", "RFFT", "IRFFT")),
    11: ("precision", ("DEFAULT", "HIGH", "HIGHEST")),
    12: ("rng_algorithm", ("DEFAULT", "THREE_FRY", "PHILOX")),
    13: ("rng_distribution", (None, "UNIFORM", "NORMAL")),
    16: ("transpose", ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")),
    19: ("result_accuracy_mode", ("DEFAULT", "HIGHEST", "TOLERANCE")),
}
API_VERSION = 5  # Its attribute in StableHLO is an integer.

VHLO_SCALARS = {
    0: "i1", 2: "bf16", 3: "f16", 4: "f32", 5: "f64", 6: "f8E4M3FN", 7: "f8E5M2", 9: "index",
    10: "i4", 11: "i8", 12: "i16", 13: "i32", 14: "i64", 15: "ui4", 16: "ui8", 17: "ui16",
    18: "ui32", 19: "ui64", 27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ", 29: "f8E4M3B11FNUZ", 31: "i2",
    32: "ui2", 33: "none", 34: "tf32", 35: "f8E4M3", 36: "f8E3M4", 37: "f4E2M1FN",
    38: "f6E2M3FN", 39: "f6E3M2FN", 40: "f8E8M0FNU",
}
BUILTIN_SCALARS = {
    1: "index", 3: "bf16", 4: "f16", 5: "f32", 6: "f64", 12: "none", 21: "tf32", 22: "f8E5M2",
    23: "f8E4M3", 24: "f8E4M3FN", 25: "f8E5M2FNUZ", 26: "f8E4M3FNUZ", 27: "f8E4M3B11FNUZ",
    28: "f8E3M4", 29: "f4E2M1FN", 30: "f6E2M3FN", 31: "f6E3M2FN", 32: "f8E8M0FNU",
}


# ---- reading ----


def _bits(r, width):
    return r.byte() if width <= 8 else r.signed() & ((1 << width) - 1)


def _width(type_):
    return 64 if type_._text == "index" else type_.width


def _integer(r):
    type_ = r.type()
    return attrs.IntegerAttr.get(type_, _bits(r, _width(type_)))


def _float(r):
    type_ = r.type()
    bits = _bits(r, type_.width)
    return attrs.FloatAttr._of((type_, bits.to_bytes(dtype_of(type_).itemsize, "little")))


def _tensor_of(type_, data):
    """Makes elements of raw bytes. Booleans are bits, or a byte each in some versions."""
    element = type_.element_type
    count = int(np.prod(type_.shape, dtype=np.int64))
    size = dtype_of(element).itemsize
    if element._text == "i1":
        if len(data) == 1 and data[0] in (0, 0xFF):
            data = bytes((data[0] & 1,))
        elif len(data) == (count + 7) // 8:
            bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
            data = bits[:count].tobytes()
    if count > 1 and len(data) > size and data == data[:size] * count:
        data = data[:size]
    if len(data) not in (size, size * count):
        raise ValueError(f"{len(data)} bytes are not the elements of {type_}")
    return of_bytes(type_, data)


def _raw(attribute):
    """Returns the elements as bytes, booleans as bits."""
    data = attribute._key[1]
    if attribute.type.element_type._text != "i1":
        return data
    if attribute.is_splat:
        return b"\xff" if data[0] else b"\0"
    return np.packbits(np.frombuffer(data, np.uint8), bitorder="little").tobytes()


def _dense(r):
    type_ = r.type()
    return _tensor_of(type_, r.blob())


def _resource(r):
    type_ = r.type()
    return _tensor_of(type_, r.resource())


def _array(r):
    return attrs.ArrayAttr._of(tuple(r.list(r.attribute)))


def _dictionary(r):
    return attrs.DictAttr.get({name.value: value for name, value in
                           r.list(lambda: (r.attribute(), r.attribute()))})


def _ranked(r, encoding=None):
    shape = [types.DYNAMIC if size < 0 else size for size in r.signed_list()]
    return types.RankedTensorType.get(shape, r.type(), encoding)


def _function(r):
    inputs = r.list(r.type)
    return types.FunctionType.get(inputs, r.list(r.type))


def _word(code):
    mnemonic, words = WORDS[code]
    return lambda r: stablehlo(mnemonic)._of(words[r.varint()])


def _accuracy(r):
    numbers = [np.array(_bits(r, 64), np.uint64).view(np.float64).item() for _ in range(2)]
    ulps = r.signed()
    return stablehlo("result_accuracy").get(*numbers, ulps, r.attribute().value)


def _alias(r):
    first, operand = tuple(r.signed_list()), r.signed()
    return stablehlo("output_operand_alias")._of((first, operand, tuple(r.signed_list())))


def _dense_array(r):
    from .syntax import _DENSE_ARRAYS
    type_ = r.type()
    r.varint()
    return _DENSE_ARRAYS[type_._text].get(np.frombuffer(r.blob(), dtype_of(type_)).tolist())


def _integer_type(r):
    coded = r.varint()
    return types.IntegerType._get(("i", "si", "ui")[coded & 3], coded >> 2)


def _at(location):
    return attrs.LocationAttr(location)


def _call_site(r):
    callee = r.attribute()._location
    return _at(CallSiteLoc._of(callee, r.attribute()._location))


def _file(r):
    name, line = r.attribute().value, r.varint()
    column = r.varint()
    return _at(FileLineColLoc._of(name, line, column, line, column))


def _file_range(r):
    name, places = r.attribute().value, r.list(r.varint)
    line, column = (places + [0, 0])[:2]
    end_column = places[2] if len(places) > 2 else column
    end_line = places[3] if len(places) > 3 else line
    if len(places) == 4:
        end_line, end_column = places[2], places[3]
    return _at(FileLineColLoc._of(name, line, column, end_line, end_column))


def _fused(r):
    return _at(FusedLoc._of(tuple(item._location for item in r.list(r.attribute)), None))


def _fused_with_metadata(r):
    locations = tuple(item._location for item in r.list(r.attribute))
    return _at(FusedLoc._of(locations, r.attribute()))


def _named(r):
    name = r.attribute().value
    return _at(NameLoc._of(name, r.attribute()._location))


def _symbol_path(r):
    root = r.attribute().value
    return attrs.SymbolRefAttr.get([root, *(part.value for part in r.list(r.attribute))])


_BUILTIN_ATTRIBUTES = {
    0: _array, 1: _dictionary, 2: lambda r: attrs.StringAttr.get(r.string()),
    3: lambda r: attrs.StringAttr.get_typed(value=r.string(), type=r.type()),
    4: lambda r: attrs.FlatSymbolRefAttr.get(r.attribute().value), 5: _symbol_path,
    6: lambda r: attrs.TypeAttr.get(r.type()), 7: lambda r: attrs.UnitAttr.get(),
    8: _integer, 9: _float,
    10: _call_site, 11: _file, 12: _fused, 13: _fused_with_metadata, 14: _named,
    15: lambda r: _at(UNKNOWN), 16: _resource, 17: _dense_array, 18: _dense, 22: _file_range,
}
_VHLO_ATTRIBUTES = {
    1: _array, 2: lambda r: attrs.BoolAttr.get(r.varint()), 6: _dictionary, 8: _float, 9: _integer,
    API_VERSION: lambda r: attrs.IntegerAttr.get(types.i32(), r.varint()), 10: _alias,
    14: lambda r: attrs.StringAttr.get(r.string()), 15: _dense,
    17: lambda r: attrs.TypeAttr.get(r.type()),
    18: lambda r: stablehlo("bounds").get([types.DYNAMIC if n < 0 else n for n in r.signed_list()]),
    20: _accuracy, **{code: _word(code) for code in WORDS},
}


def _attributes(r):
    return tuple(r.list(r.attribute))


def _axis_ref(r):
    name = r.string()
    return sdy.AxisRefAttr._of((name, r.optional_attribute()))


def _dimension(r):
    axes, closed = _attributes(r), bool(r.byte())
    priority, there = r.flagged()
    return sdy.DimensionShardingAttr._of((axes, closed, priority if there else None))


def _factors(r):
    return tuple(r.signed_list())


def _rule(r):
    lists = (_factors(r), _attributes(r), _attributes(r), *(_factors(r) for _ in range(4)))
    return sdy.OpShardingRuleAttr._of((*lists, bool(r.byte())))


def _sharding(parts):
    def read(r):
        mesh, dimensions, replicated = r.attribute(), _attributes(r), _attributes(r)
        unreduced = _attributes(r) if parts else ()
        if parts > 1:
            r.signed()
        return sdy.TensorShardingAttr._of((mesh, dimensions, replicated, unreduced))
    return read


def _per_value(r):
    return sdy.TensorShardingPerValueAttr._of((_attributes(r),))


def _mesh(r):
    axes = _attributes(r)
    return sdy.MeshAttr._of((axes, tuple(r.signed_list())))


_SDY_ATTRIBUTES = {
    0: lambda r: sdy.ManualAxesAttr._of(_attributes(r)),
    1: lambda r: sdy.MeshAxisAttr._of((r.string(), r.signed())), 2: _mesh,
    3: lambda r: sdy.SubAxisInfoAttr._of((r.signed(), r.signed())), 4: _axis_ref, 5: _dimension,
    6: _sharding(0), 7: _per_value, 8: lambda r: sdy.DimMappingAttr._of((_factors(r),)),
    9: lambda r: sdy.TensorMappingAttr._of((_attributes(r),)), 10: _rule,
    11: lambda r: sdy._AxisRefList._of(_attributes(r)), 15: _sharding(1), 16: _per_value,
    17: _sharding(2),
}
ATTRIBUTES = {"builtin": _BUILTIN_ATTRIBUTES, "vhlo": _VHLO_ATTRIBUTES, "sdy": _SDY_ATTRIBUTES}


def _scalar(name):
    return lambda r: type_named(name)


TYPES = {
    "builtin": {
        **{code: _scalar(name) for code, name in BUILTIN_SCALARS.items()}, 0: _integer_type,
        2: _function, 9: lambda r: types.ComplexType.get(r.type()), 13: _ranked,
        14: lambda r: _ranked(r, r.attribute()), 15: lambda r: types.TupleType.get_tuple(
            r.list(r.type)), 18: lambda r: types.UnrankedTensorType.get(r.type()),
    },
    "vhlo": {
        **{code: _scalar(name) for code, name in VHLO_SCALARS.items()},
        1: lambda r: types.ComplexType.get(r.type()), 8: _function, 20: _ranked,
        21: lambda r: _ranked(r, r.attribute()), 22: lambda r: types.TokenType.get(),
        23: lambda r: types.TupleType.get_tuple(r.list(r.type)),
        25: lambda r: types.UnrankedTensorType.get(r.type()),
        42: lambda r: types.FutureType.get(r.list(r.type)),
    },
    "stablehlo": {0: lambda r: types.TokenType.get(),
                  1: lambda r: types.FutureType.get(r.list(r.type))},
}


# ---- writing in VHLO ----

_VHLO_CODES = {name: code for code, name in VHLO_SCALARS.items()}
_WORD_CODES = {mnemonic: code for code, (mnemonic, _) in WORDS.items()}


def _write_bits(w, value, width):
    if width <= 8:
        w.byte(value & 0xFF)
    else:
        value &= (1 << width) - 1
        w.signed(value - (1 << width) if value >> (width - 1) else value)


def write_vhlo_type(w, type_):
    """Writes a type as VHLO has it; returns False if it has none such."""
    code = _VHLO_CODES.get(type_._text)
    if code is not None:
        w.varint(code)
    elif isinstance(type_, types.RankedTensorType):
        shape, element, encoding = type_._params
        w.varint(20 if encoding is None else 21)
        if encoding is not None:
            w.attribute(encoding)
        w.list(shape, w.signed)
        w.type(element)
    elif isinstance(type_, types.FunctionType):
        w.varint(8)
        w.list(type_._params[0], w.type)
        w.list(type_._params[1], w.type)
    elif isinstance(type_, types.ComplexType):
        w.varint(1)
        w.type(type_.element_type)
    elif isinstance(type_, (types.TupleType, types.FutureType)):
        w.varint(23 if isinstance(type_, types.TupleType) else 42)
        w.list(type_._params[0], w.type)
    elif isinstance(type_, types.TokenType):
        w.varint(22)
    elif isinstance(type_, types.UnrankedTensorType):
        w.varint(25)
        w.type(type_.element_type)
    else:
        return False
    return True


class ApiVersion:
    """Version of a custom call's interface, to be written as VHLO's enumeration."""

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return isinstance(other, ApiVersion) and self._value == other._value

    def __hash__(self):
        return hash(("api version", self._value))


def write_vhlo_attribute(w, attribute):
    """Writes an attribute as VHLO has it; returns False if it has none such."""
    if isinstance(attribute, ApiVersion):
        w.varint(API_VERSION)
        w.varint(attribute._value)
    elif isinstance(attribute, attrs.BoolAttr):
        w.varint(2)
        w.varint(int(attribute.value))
    elif isinstance(attribute, attrs.IntegerAttr):
        w.varint(9)
        w.type(attribute.type)
        _write_bits(w, attribute._key[1], _width(attribute.type))
    elif isinstance(attribute, attrs.FloatAttr):
        w.varint(8)
        w.type(attribute.type)
        _write_bits(w, int.from_bytes(attribute._key[1], "little"), attribute.type.width)
    elif isinstance(attribute, (attrs.StringAttr, attrs.FlatSymbolRefAttr)):
        w.varint(14)
        w.string(attribute.value)
    elif isinstance(attribute, attrs.TypeAttr):
        w.varint(17)
        w.type(attribute.value)
    elif isinstance(attribute, attrs.ArrayAttr):
        w.varint(1)
        w.list(attribute._key, w.attribute)
    elif isinstance(attribute, attrs.DictAttr):
        w.varint(6)
        w.list(attribute._key, lambda pair: (w.attribute(attrs.StringAttr.get(pair[0])),
                                             w.attribute(pair[1])))
    elif isinstance(attribute, DenseElementsAttr):
        w.varint(15)
        w.type(attribute.type)
        w.blob(_raw(attribute))
    elif isinstance(attribute, attrs._DenseArrayAttr):
        return write_vhlo_attribute(w, dense_of_array(attribute))
    else:
        return _write_stablehlo(w, attribute)
    return True


def dense_of_array(attribute):
    """Returns a flat array as elements of one dimension."""
    element = type_named(attribute._name)
    array = np.array(attribute._key, dtype_of(element))
    return DenseElementsAttr.get(array, type=element, shape=(len(attribute._key),))


def _write_stablehlo(w, attribute):
    mnemonic = getattr(attribute, "_mnemonic", None)
    if getattr(attribute, "_dialect", None) != "stablehlo":
        return False
    if mnemonic in _WORD_CODES:
        code = _WORD_CODES[mnemonic]
        w.varint(code)
        w.varint(WORDS[code][1].index(attribute._key))
    elif mnemonic == "bounds":
        w.varint(18)
        w.list(attribute._key, w.signed)
    elif mnemonic == "output_operand_alias":
        w.varint(10)
        first, operand, second = attribute._key
        w.list(first, w.signed)
        w.signed(operand)
        w.list(second, w.signed)
    elif mnemonic == "result_accuracy":
        w.varint(20)
        for number in attribute._key[:2]:
            _write_bits(w, int(np.float64(number).view(np.uint64)), 64)
        w.signed(attribute._key[2])
        w.attribute(stablehlo("result_accuracy_mode")._of(attribute._key[3]))
    else:
        return False
    return True


def write_location(w, location):
    """Writes a location as an attribute of the builtin dialect."""
    fields = location._fields
    if isinstance(location, CallSiteLoc):
        w.varint(10)
        w.location(fields[0])
        w.location(fields[1])
    elif isinstance(location, FileLineColLoc):
        name, line, column, end_line, end_column = fields
        places = [line, column]
        if end_line != line:
            places += [end_line, end_column]
        elif end_column != column:
            places.append(end_column)
        w.varint(22 if len(places) > 2 else 11)
        w.builtin_string(name)
        if len(places) > 2:
            w.varint(len(places))
        for number in places:
            w.varint(max(number, 0))
    elif isinstance(location, FusedLoc):
        w.varint(12)
        w.list(fields[0], w.location)
    elif isinstance(location, NameLoc):
        w.varint(14)
        w.builtin_string(fields[0])
        w.location(fields[1])
    else:
        w.varint(15)
