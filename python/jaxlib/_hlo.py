"""HLO: shapes, layouts, and modules as their text."""

import enum
import re

import ml_dtypes
import numpy as np

from ._engine.dtypes import CORE_NAMES
from ._jax.hlo_sharding import HloSharding  # noqa: F401
from ._jax.op_sharding import OpSharding  # noqa: F401
from ._jax.op_sharding import ShardGroupType as OpSharding_ShardGroupType  # noqa: F401
from ._jax.op_sharding import Type as OpSharding_Type  # noqa: F401
from ._proto import bytes_field, packed_field


# ORDER TYPE
class PrimitiveType(enum.IntEnum):
    """Types of elements, by XLA's numbers."""

    PRIMITIVE_TYPE_INVALID = 0
    PRED = 1
    S8 = 2
    S16 = 3
    S32 = 4
    S64 = 5
    U8 = 6
    U16 = 7
    U32 = 8
    U64 = 9
    F16 = 10
    F32 = 11
    F64 = 12
    TUPLE = 13
    OPAQUE_TYPE = 14
    C64 = 15
    BF16 = 16
    TOKEN = 17
    C128 = 18
    F8E5M2 = 19
    F8E4M3FN = 20
    S4 = 21
    U4 = 22
    F8E4M3B11FNUZ = 23
    F8E5M2FNUZ = 24
    F8E4M3FNUZ = 25
    S2 = 26
    U2 = 27
    F8E4M3 = 28
    F8E3M4 = 29
    S1 = 30
    U1 = 31
    F4E2M1FN = 32
    F8E8M0FNU = 33


_DTYPES = {PrimitiveType[core.upper()]: dtype for dtype, core in CORE_NAMES.items()}
for _name, _element in (("int1", PrimitiveType.S1), ("uint1", PrimitiveType.U1)):
    if hasattr(ml_dtypes, _name):  # Older releases lack some.
        _DTYPES[_element] = np.dtype(getattr(ml_dtypes, _name))
_ELEMENTS = {dtype: element for element, dtype in _DTYPES.items()}


class Layout:
    """Order of an array's dimensions in memory, the fastest first."""

    def __init__(self, minor_to_major, tiling=(), element_size_in_bits=0):
        self._fields = (tuple(minor_to_major), tuple(map(tuple, tiling)), element_size_in_bits)

    def minor_to_major(self):
        return self._fields[0]

    def tiling(self):
        return list(self._fields[1])

    def element_size_in_bits(self):
        return self._fields[2]

    def __eq__(self, other):
        return isinstance(other, Layout) and self._fields == other._fields

    def __hash__(self):
        return hash(self._fields)

    def to_string(self):
        order, tiling, bits = self._fields
        text = ",".join(map(str, order))
        marks = "".join(f"({','.join(map(str, tile))})" for tile in tiling)
        parts = [f"T{marks}"] if marks else []
        if bits:
            parts.append(f"E({bits})")
        return f"{{{text}{':' + ''.join(parts) if parts else ''}}}"

    __str__ = to_string

    def __getstate__(self):
        return self._fields

    def __setstate__(self, fields):
        self._fields = fields


class Shape:
    """Shape of an array, a tuple or a token."""

    def __init__(self, text):
        parsed, rest = _parse_shape(text.strip())
        if rest.strip():
            raise ValueError(f"{text!r} is no shape: {rest!r} is left")
        self.__dict__.update(parsed.__dict__)

    @classmethod
    def _of(cls, element, sizes=(), layout=None, dynamic=None, parts=()):
        self = object.__new__(cls)
        self._element = element
        self._sizes = tuple(map(int, sizes))
        order = range(len(self._sizes) - 1, -1, -1) if layout is None else layout
        self._layout = Layout(order)
        self._dynamic = list(dynamic or [False] * len(self._sizes))
        self._parts = list(parts)
        return self

    @staticmethod
    def array_shape(type, dims, layout=None, dynamic_dimensions=None):
        element = type if isinstance(type, PrimitiveType) else _ELEMENTS[np.dtype(type)]
        return Shape._of(element, dims, layout, dynamic_dimensions)

    @staticmethod
    def scalar_shape(type):
        return Shape.array_shape(type, ())

    @staticmethod
    def tuple_shape(shapes):
        return Shape._of(PrimitiveType.TUPLE, parts=shapes)

    @staticmethod
    def token_shape():
        return Shape._of(PrimitiveType.TOKEN)

    def is_array(self):
        return self._element in _DTYPES

    def is_tuple(self):
        return self._element is PrimitiveType.TUPLE

    def is_token(self):
        return self._element is PrimitiveType.TOKEN

    def is_dynamic(self):
        return any(self._dynamic)

    def is_static(self):
        return not self.is_dynamic()

    def is_dynamic_dimension(self, dimension):
        return self._dynamic[dimension]

    def set_dynamic_dimension(self, dimension, is_dynamic):
        self._dynamic[dimension] = is_dynamic

    def dimensions(self):
        return self._sizes

    def rank(self):
        return len(self._sizes)

    def element_type(self):
        return _DTYPES[self._element]

    numpy_dtype = element_type

    def xla_element_type(self):
        return self._element

    def layout(self):
        return self._layout

    def leaf_count(self):
        return sum(part.leaf_count() for part in self._parts) if self.is_tuple() else 1

    def tuple_shapes(self):
        if not self.is_tuple():
            raise ValueError(f"{self} is no tuple")
        return list(self._parts)

    def with_major_to_minor_layout_if_absent(self):
        return self

    def to_serialized_proto(self):
        data = bytes((0x10, self._element))
        if self._sizes:
            data += packed_field(3, self._sizes)
        for part in self._parts:
            inner = part.to_serialized_proto()
            data += bytes_field(4, inner)
        if self.is_array():
            order = self._layout.minor_to_major()
            data += bytes_field(5, (packed_field(1, order) if order else b"") + b"\x80\x01\x01")
            if self._sizes:
                data += bytes_field(6, bytes(self._dynamic))
        return data

    def _key(self):
        return (self._element, self._sizes, self._layout, tuple(self._dynamic),
                tuple(self._parts))

    def __eq__(self, other):
        return isinstance(other, Shape) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        if self.is_tuple():
            return f"({', '.join(map(repr, self._parts))})"
        sizes = ",".join(f"{'<=' if dynamic else ''}{size}"
                         for size, dynamic in zip(self._sizes, self._dynamic))
        return f"{self._element.name.lower()}[{sizes}]{self._layout if self._sizes else ''}"


_ARRAY = re.compile(r"([a-z]\w*)\[([^\]]*)\](?:\{([\d,]*)[^}]*\})?")


def _parse_shape(text):
    """Returns (shape, rest of the text)."""
    if text.startswith("("):
        parts, text = [], text[1:].lstrip()
        while not text.startswith(")"):
            part, text = _parse_shape(text)
            parts.append(part)
            text = re.sub(r"^(?:\s|,|/\*.*?\*/)*", "", text)
        return Shape.tuple_shape(parts), text[1:]
    match = _ARRAY.match(text)
    element = match and PrimitiveType.__members__.get(match.group(1).upper())
    if element is None:
        raise ValueError(f"{text!r} is no shape")
    words = [word.strip() for word in match.group(2).split(",") if word.strip()]
    sizes = [int(word.lstrip("<=").replace("?", "0")) for word in words]
    layout = match.group(3)
    order = [int(word) for word in layout.split(",") if word] if layout else None
    if order is not None and len(order) != len(sizes):
        order = None
    return Shape._of(element, sizes, order, [word.startswith("<=") for word in words]), (
        text[match.end():])


class ProgramShape:
    """Shapes of a program's parameters and of its result."""

    def __init__(self, parameters, result):
        self._parameters = list(parameters)
        self._result = result

    def parameter_shapes(self):
        return list(self._parameters)

    def result_shape(self):
        return self._result

    def __repr__(self):
        inputs = ", ".join(f"p{i}: {shape}" for i, shape in enumerate(self._parameters))
        return f"({inputs}) -> {self._result}"


class HloPrintOptions:
    """What the text of a module has. Only metadata may be left out; the rest is always there."""

    def __init__(self):
        self.print_large_constants = True
        self.print_metadata = True

    @staticmethod
    def short_parsable():
        options = HloPrintOptions()
        options.print_metadata = False
        return options

    canonical = fingerprint = short_parsable


class HloComputation:
    def __init__(self, name, lines):
        self.name = name
        self._lines = lines

    def instructions(self):
        return [HloInstruction(line) for line in self._lines]


class HloInstruction:
    def __init__(self, text):
        self._text = text
        self.name = text.replace("ROOT ", "").split(" = ")[0].strip().lstrip("%")

    def to_string(self, options=None):
        return self._text


_HEAD = re.compile(r"HloModule ([^\s,]+)")
_METADATA = re.compile(r', metadata=\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}')
_LAYOUT = re.compile(r"entry_computation_layout=\{(.*?)\}(?=\n|, [a-z_]+=)", re.DOTALL)
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+)[^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


class HloModule:
    """Module as HLO text."""

    def __init__(self, text):
        self._text = text
        self.name = _HEAD.search(text).group(1)
        self.spmd_output_sharding = None
        self.spmd_parameters_shardings = None

    def to_string(self, options=None):
        if options is None or options.print_metadata:
            return self._text
        return _METADATA.sub("", self._text)

    def computations(self):
        return [HloComputation(match.group(1), match.group(2).splitlines())
                for match in _COMPUTATION.finditer(self._text)]

    def as_serialized_hlo_module_proto(self):
        return self._text.encode()

    @staticmethod
    def from_serialized_hlo_module_proto(data):
        return HloModule(data.decode())

    def _program_shape(self):
        match = _LAYOUT.search(self._text)
        inputs, _, result = match.group(1).partition(")->") if match else ("(", "", "()")
        parameters, text = [], inputs[1:].strip()
        while text:
            shape, text = _parse_shape(text)
            parameters.append(shape)
            text = re.sub(r"^(?:\s|,|/\*.*?\*/)*", "", text)
        return ProgramShape(parameters, _parse_shape(result.strip())[0])


class XlaComputation:
    """Program before it is compiled; its HLO is made when it is asked for."""

    def __init__(self, source):
        self._source = source
        self._module = None

    def get_hlo_module(self):
        if self._module is None:
            source = self._source
            if source.startswith(b"HloModule"):
                text = source.decode()
            else:
                from ._engine import get_engine
                text = get_engine().call("hloOf", source.decode("utf-8", "surrogateescape"))
            self._module = HloModule(text)
        return self._module

    as_hlo_module = get_hlo_module

    def as_hlo_text(self, print_large_constants=False):
        return self.get_hlo_module().to_string(HloPrintOptions.short_parsable())

    def as_serialized_hlo_module_proto(self):
        return self.get_hlo_module().as_serialized_hlo_module_proto()

    def as_hlo_dot_graph(self):
        return hlo_module_to_dot_graph(self.get_hlo_module())

    def program_shape(self):
        return self.get_hlo_module()._program_shape()

    def name(self):
        return self.get_hlo_module().name

    def hash(self):
        return hash(self.as_hlo_text())


def hlo_module_from_text(text):
    return HloModule(text)


def hlo_module_to_dot_graph(module):
    raise NotImplementedError("hlo_module_to_dot_graph: this jaxlib draws no graphs of HLO; the "
                              "page of xla-wasm shows a program's graph")


class HloOpcode(enum.Enum):
    """Opcodes of HLO; instructions here are text."""


class HloSchedule:
    """Schedule of a module, which the core makes itself."""


class Literal:
    """Constant of HLO."""
