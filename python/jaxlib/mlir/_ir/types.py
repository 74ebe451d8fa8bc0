"""Types. Equal types are one object, so comparing them is comparing identities."""

from .context import context_of

DYNAMIC = -(2**63)

_interned = {}


class TypeID:
    """Identity of a class of types or attributes."""

    def __init__(self, cls):
        self._cls = cls

    def __eq__(self, other):
        return isinstance(other, TypeID) and self._cls is other._cls

    def __hash__(self):
        return hash(self._cls)


class _StaticTypeID:
    def __get__(self, instance, owner):
        return TypeID(owner)


class Type:
    """Base of all types. Calling a class with a type casts it, or raises ValueError."""

    __slots__ = ("_params", "_text", "__weakref__")

    static_typeid = _StaticTypeID()

    def __new__(cls, cast_from_type):
        if isinstance(cast_from_type, cls):
            return cast_from_type
        raise ValueError(f"Cannot cast type to {cls.__name__} (from {cast_from_type!r})")

    @classmethod
    def _of(cls, text, *params):
        """Returns the one type of this class with these parameters; `text` is its assembly."""
        key = (cls, params)
        self = _interned.get(key)
        if self is None:
            self = object.__new__(cls)
            self._params = params
            self._text = text() if callable(text) else text
            _interned[key] = self
        return self

    @classmethod
    def isinstance(cls, other):
        return isinstance(other, cls)

    @staticmethod
    def parse(asm, context=None):
        from .parser import parse_type
        return parse_type(asm)

    @property
    def context(self):
        return context_of()

    @property
    def typeid(self):
        return TypeID(type(self))

    def maybe_downcast(self):
        return self

    def dump(self):
        import sys
        print(self._text, file=sys.stderr)

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"{type(self).__name__}({self._text})"

    def __reduce__(self):
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class IntegerType(Type):
    """Integers of `width` bits: signless, signed or unsigned."""

    __slots__ = ()

    SIGNLESS, SIGNED, UNSIGNED = "i", "si", "ui"

    @staticmethod
    def get(width, signed=None, context=None):
        prefix = "i" if signed is None else "si" if signed else "ui"
        return IntegerType._get(prefix, width)

    @staticmethod
    def _get(prefix, width):
        return IntegerType._of(f"{prefix}{width}", prefix, width)

    @staticmethod
    def get_signless(width, context=None):
        return IntegerType._get("i", width)

    @staticmethod
    def get_signed(width, context=None):
        return IntegerType._get("si", width)

    @staticmethod
    def get_unsigned(width, context=None):
        return IntegerType._get("ui", width)

    @property
    def width(self):
        return self._params[1]

    @property
    def is_signless(self):
        return self._params[0] == "i"

    @property
    def is_signed(self):
        return self._params[0] == "si"

    @property
    def is_unsigned(self):
        return self._params[0] == "ui"


class _Named(Type):
    """Base of types without parameters; `_name` is their assembly."""

    __slots__ = ()
    _name = ""

    @classmethod
    def get(cls, context=None):
        return cls._of(cls._name)


class IndexType(_Named):
    __slots__ = ()
    _name = "index"


class NoneType(_Named):
    __slots__ = ()
    _name = "none"


class FloatType(_Named):
    """Base of the types of floating-point numbers, each of which has one `width`."""

    __slots__ = ()
    _width = 8

    @property
    def width(self):
        return self._width


# Class name, assembly, bits.
FLOATS = {}
for _line in """
BF16Type bf16 16
F16Type f16 16
F32Type f32 32
F64Type f64 64
FloatTF32Type tf32 19
Float4E2M1FNType f4E2M1FN 4
Float6E2M3FNType f6E2M3FN 6
Float6E3M2FNType f6E3M2FN 6
Float8E3M4Type f8E3M4 8
Float8E4M3Type f8E4M3 8
Float8E4M3FNType f8E4M3FN 8
Float8E4M3FNUZType f8E4M3FNUZ 8
Float8E4M3B11FNUZType f8E4M3B11FNUZ 8
Float8E5M2Type f8E5M2 8
Float8E5M2FNUZType f8E5M2FNUZ 8
Float8E8M0FNUType f8E8M0FNU 8
""".split("\n")[1:-1]:
    _class, _name, _bits = _line.split()
    FLOATS[_name] = globals()[_class] = type(
        _class, (FloatType,), {"__slots__": (), "_name": _name, "_width": int(_bits),
                               "__module__": __name__})


class ComplexType(Type):
    __slots__ = ()

    @staticmethod
    def get(element_type):
        if not isinstance(element_type, (FloatType, IntegerType)):
            raise ValueError(f"invalid '{element_type}' and expected floating point or integer "
                             "type.")
        return ComplexType._of(f"complex<{element_type}>", element_type)

    @property
    def element_type(self):
        return self._params[0]


class ShapedType(Type):
    """Base of tensors, vectors and memrefs: `_params` begin with shape and element type."""

    __slots__ = ()

    @property
    def element_type(self):
        return self._params[1]

    @property
    def has_rank(self):
        return True

    @property
    def rank(self):
        return len(self._params[0])

    @property
    def shape(self):
        return list(self._params[0])

    @property
    def has_static_shape(self):
        return DYNAMIC not in self._params[0]

    def is_dynamic_dim(self, dim):
        return self._params[0][dim] == DYNAMIC

    def get_dim_size(self, dim):
        return self._params[0][dim]

    @staticmethod
    def is_dynamic_size(dim_size):
        return dim_size == DYNAMIC

    @staticmethod
    def is_static_size(dim_size):
        return dim_size != DYNAMIC

    @staticmethod
    def get_dynamic_size():
        return DYNAMIC

    @staticmethod
    def get_dynamic_stride_or_offset():
        return DYNAMIC

    def is_dynamic_stride_or_offset(self, value):
        return value == DYNAMIC


def _dimensions(shape):
    return "".join("?x" if size == DYNAMIC else f"{size}x" for size in shape)


class RankedTensorType(ShapedType):
    """Tensor of a shape, whose unknown sizes are DYNAMIC, perhaps with an encoding."""

    __slots__ = ()

    @staticmethod
    def get(shape, element_type, encoding=None, loc=None):
        shape = tuple(shape)
        self = _interned.get((RankedTensorType, (shape, element_type, encoding)))
        if self is not None:
            return self
        shape = tuple(map(int, shape))
        if not isinstance(element_type, Type):
            raise TypeError(f"RankedTensorType.get: the element type is {element_type!r}; "
                            "give a Type")
        if isinstance(element_type, (ShapedType, FunctionType)):
            raise MLIRErrorOf(f"invalid tensor element type: '{element_type}'")
        for size in shape:
            if size < 0 and size != DYNAMIC:
                raise MLIRErrorOf("invalid tensor dimension size")
        tail = "" if encoding is None else f", {encoding}"
        text = f"tensor<{_dimensions(shape)}{element_type}{tail}>"
        return RankedTensorType._of(text, shape, element_type, encoding)

    get_unchecked = get

    @property
    def encoding(self):
        return self._params[2]


def MLIRErrorOf(message):
    """Returns an error that the building of a type raises."""
    from .context import DiagnosticInfo, MLIRError
    from .location import UNKNOWN
    return MLIRError("Invalid type", [DiagnosticInfo(message, UNKNOWN)])


class UnrankedTensorType(ShapedType):
    __slots__ = ()

    @staticmethod
    def get(element_type, loc=None):
        return UnrankedTensorType._of(f"tensor<*x{element_type}>", (), element_type)

    @property
    def has_rank(self):
        return False

    @property
    def rank(self):
        raise ValueError("calling this method requires that the type has a rank.")

    shape = rank

    @property
    def has_static_shape(self):
        return False


class VectorType(ShapedType):
    __slots__ = ()

    @staticmethod
    def get(shape, element_type, *, scalable=None, scalable_dims=None, loc=None):
        shape = tuple(map(int, shape))
        if scalable_dims:
            scalable = [i in scalable_dims for i in range(len(shape))]
        scalable = tuple(scalable) if scalable and any(scalable) else None
        sizes = "".join(f"[{n}]x" if scalable and scalable[i] else f"{n}x"
                        for i, n in enumerate(shape))
        return VectorType._of(f"vector<{sizes}{element_type}>", shape, element_type, scalable)

    get_unchecked = get

    @property
    def scalable(self):
        return bool(self._params[2])

    @property
    def scalable_dims(self):
        return list(self._params[2] or [False] * self.rank)


class MemRefType(ShapedType):
    __slots__ = ()

    @staticmethod
    def get(shape, element_type, layout=None, memory_space=None, loc=None):
        shape = tuple(map(int, shape))
        text = f"memref<{_dimensions(shape)}{element_type}"
        for extra in (layout, memory_space):
            if extra is not None:
                text += f", {extra}"
        return MemRefType._of(text + ">", shape, element_type, layout, memory_space)

    get_unchecked = get

    @property
    def layout(self):
        return self._params[2]

    @property
    def memory_space(self):
        return self._params[3]


class UnrankedMemRefType(ShapedType):
    __slots__ = ()

    @staticmethod
    def get(element_type, memory_space=None, loc=None):
        tail = "" if memory_space is None else f", {memory_space}"
        return UnrankedMemRefType._of(f"memref<*x{element_type}{tail}>", (), element_type,
                                      memory_space)

    @property
    def has_rank(self):
        return False


class TupleType(Type):
    __slots__ = ()

    @staticmethod
    def get_tuple(elements, context=None):
        elements = tuple(elements)
        return TupleType._of(f"tuple<{', '.join(map(str, elements))}>", elements)

    get = get_tuple

    @property
    def num_types(self):
        return len(self._params[0])

    def get_type(self, pos):
        return self._params[0][pos]

    @property
    def _types(self):
        return self._params[0]


def result_text(types):
    """Returns the text of results: one type, or several in parentheses."""
    if len(types) == 1 and not isinstance(types[0], FunctionType):
        return str(types[0])
    return f"({', '.join(map(str, types))})"


class FunctionType(Type):
    __slots__ = ()

    @staticmethod
    def get(inputs, results, context=None):
        inputs, results = tuple(inputs), tuple(results)
        self = _interned.get((FunctionType, (inputs, results)))
        if self is not None:
            return self
        text = f"({', '.join(map(str, inputs))}) -> {result_text(results)}"
        return FunctionType._of(text, inputs, results)

    @property
    def inputs(self):
        return list(self._params[0])

    @property
    def results(self):
        return list(self._params[1])


class OpaqueType(Type):
    """Type of a dialect that is kept as it is written."""

    __slots__ = ()

    @staticmethod
    def get(dialect_namespace, buffer, context=None):
        return OpaqueType._of(f"!{dialect_namespace}.{buffer}", dialect_namespace, buffer)

    @property
    def dialect_namespace(self):
        return self._params[0]

    @property
    def data(self):
        return self._params[1]


class DynamicType(Type):
    __slots__ = ()


class TokenType(_Named):
    """Token of StableHLO."""

    __slots__ = ()
    _name = "!stablehlo.token"


class FutureType(Type):
    """Future of StableHLO: the types that an asynchronous operation will give."""

    __slots__ = ()

    @staticmethod
    def get(types, context=None):
        types = tuple(types)
        return FutureType._of(f"!stablehlo.future<{', '.join(map(str, types))}>", types)

    @property
    def types(self):
        return list(self._params[0])


class UniformQuantizedType(Type):
    """Quantized elements; parameters are kept as written."""

    __slots__ = ()

    @staticmethod
    def _get(body):
        return UniformQuantizedType._of(f"!quant.uniform<{body}>", body)


def i1():
    return IntegerType._get("i", 1)


def i32():
    return IntegerType._get("i", 32)


def i64():
    return IntegerType._get("i", 64)
