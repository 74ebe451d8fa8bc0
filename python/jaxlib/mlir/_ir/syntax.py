"""Parsing of types, attributes and locations."""

import importlib
import re

import numpy as np

from . import attributes as attrs
from . import types
from .elements import DenseResourceElementsAttr, _of_array, of_bytes
from .lexer import Lexer
from .location import UNKNOWN, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from .numbers import dtype_of, type_named
from .structs import KNOWN

_ALIAS = re.compile(r"^[ \t]*([#!][A-Za-z_][\w$.]*)[ \t]*=[ \t]*", re.MULTILINE)
_RESOURCE = re.compile(r'([\w.$-]+)\s*:\s*"0x([0-9a-fA-F]+)"')
_DIMENSION = re.compile(r"\s*(\?|[0-9]+)\s*x")
_DENSE_ARRAYS = {cls._name: cls for cls in (
    attrs.DenseBoolArrayAttr, attrs.DenseI8ArrayAttr, attrs.DenseI16ArrayAttr,
    attrs.DenseI32ArrayAttr, attrs.DenseI64ArrayAttr, attrs.DenseF32ArrayAttr,
    attrs.DenseF64ArrayAttr)}
_DIALECTS = frozenset(("chlo", "mhlo", "mpmd", "sdy", "stablehlo"))


class Syntax(Lexer):
    """Reader of types and attributes; aliases may be defined anywhere in the text."""

    def __init__(self, text, source="-", what="module assembly"):
        super().__init__(text, source, what)
        self.alias_places = {m.group(1): m.end() for m in _ALIAS.finditer(text)
                             } if "=" in text else {}
        self.alias_values = {}

    def alias(self, name, read):
        """Returns the meaning of an alias, which `read` reads at its definition."""
        if name not in self.alias_values:
            if name not in self.alias_places:
                raise self.error(f"operation location alias was never defined: {name}")
            at, self.at = self.at, self.alias_places[name]
            self.alias_values[name] = read()
            self.at = at
        return self.alias_values[name]

    # ---- types ----

    def type(self):
        self.skip()
        start = self.at
        if self.peek("("):
            return self.function_type()
        if self.accept("!"):
            return self._dialect_type()
        word = self.word() if self.peek_word() else ""
        read = _TYPES.get(word)
        if read is not None:
            return read(self)
        named = type_named(word) if word else None
        if named is None:
            raise self.error("expected non-function type", start)
        return named

    def types_in_parentheses(self):
        return self.list("(", ")", self.type)

    def result_types(self):
        return self.types_in_parentheses() if self.peek("(") else [self.type()]

    def function_type(self):
        inputs = self.types_in_parentheses()
        self.expect("->")
        return types.FunctionType.get(inputs, self.result_types())

    def type_list(self):
        types = [self.type()]
        while self.accept(","):
            types.append(self.type())
        return types

    def _dialect_type(self):
        name = self.suffix()
        if "!" + name in self.alias_places:
            return self.alias("!" + name, self.type)
        if name in ("stablehlo.token", "mhlo.token"):
            return types.TokenType.get()
        if name == "stablehlo.future":
            return types.FutureType.get(self.list("<", ">", self.type))
        body = self.balanced() if self.text.startswith("<", self.at) else ""
        if name == "quant.uniform":
            return types.UniformQuantizedType._get(body[1:-1])
        namespace, _, rest = name.partition(".")
        return types.OpaqueType.get(namespace, rest + body)

    def _dimensions(self):
        shape = []
        while True:
            match = _DIMENSION.match(self.text, self.at)
            if not match:
                return shape
            shape.append(types.DYNAMIC if match.group(1) == "?" else int(match.group(1)))
            self.at = match.end()

    def _tensor(self):
        self.expect("<")
        if self.accept("*"):
            self.expect("x")
            element = self.type()
            self.expect(">")
            return types.UnrankedTensorType.get(element)
        shape = self._dimensions()
        element = self.type()
        encoding = self.attribute() if self.accept(",") else None
        self.expect(">")
        return types.RankedTensorType.get(shape, element, encoding)

    def _vector(self):
        self.expect("<")
        shape = self._dimensions()
        element = self.type()
        self.expect(">")
        return types.VectorType.get(shape, element)

    def _memref(self):
        self.expect("<")
        shape = self._dimensions()
        element = self.type()
        extra = []
        while self.accept(","):
            extra.append(self.attribute())
        self.expect(">")
        return types.MemRefType.get(shape, element, *extra)

    def _complex(self):
        self.expect("<")
        element = self.type()
        self.expect(">")
        return types.ComplexType.get(element)

    # ---- attributes ----

    def attribute(self):
        self.skip()
        start = self.at
        first = self.text[start:start + 1]
        if first == '"':
            value = self.string()
            if self.accept(":"):
                return attrs.StringAttr.get_typed(self.type(), value)
            return attrs.StringAttr.get(value)
        if first == "@":
            return self.symbol()
        if first == "#":
            self.at += 1
            return self._dialect_attribute()
        if first == "[":
            return attrs.ArrayAttr.get(self.list("[", "]", self.attribute))
        if first == "{":
            return attrs.DictAttr.get(self.dictionary())
        if first.isdigit() or first == "-":
            return self._number()
        if first in ("(", "!"):
            return attrs.TypeAttr.get(self.type())
        word = self.peek_word()
        read = _ATTRIBUTES.get(word)
        if read is not None:
            self.at += len(word)
            return read(self)
        if not word:
            raise self.error("expected attribute value", start)
        if word not in _TYPES and type_named(word) is None:
            raise self.error("expected attribute value", start)
        return attrs.TypeAttr.get(self.type())

    def dictionary(self):
        """Returns the entries of `{name = value, …}`."""
        entries = {}

        def entry():
            name = self.string() if self.peek('"') else self.word()
            entries[name] = self.attribute() if self.accept("=") else attrs.UnitAttr.get()

        self.list("{", "}", entry)
        return entries

    def symbol_name(self):
        self.expect("@")
        if self.text.startswith('"', self.at):
            return self.string()
        return self.suffix()

    def symbol(self):
        names = [self.symbol_name()]
        while self.accept("::"):
            names.append(self.symbol_name())
        return attrs.SymbolRefAttr.get(names)

    def _number(self):
        text = self.number_text()
        is_float = "x" not in text and any(c in text for c in ".eE")
        if self.accept(":"):
            type_ = self.type()
        else:
            type_ = types.F64Type.get() if is_float else types.i64()
        if isinstance(type_, types.FloatType):
            value = _scalar_of(text, type_)
            return attrs.FloatAttr._of((type_, np.asarray(value, dtype_of(type_)).tobytes()))
        if is_float:
            raise self.error("floating point value not valid for specified type")
        return attrs.IntegerAttr.get(type_, int(text, 0))

    def _dialect_attribute(self):
        name = self.suffix()
        if "#" + name in self.alias_places:
            return self.alias("#" + name, self.attribute)
        namespace, _, mnemonic = name.partition(".")
        if namespace in _DIALECTS:
            importlib.import_module(f"...dialects.{namespace}", __name__)
        start = self.at
        if not mnemonic and self.accept("<"):
            mnemonic = self.word()
            cls = KNOWN.get((namespace, mnemonic))
            if cls is not None:
                value = cls._parse(self)
                self.expect(">")
                return value
            self.at = start
            return attrs.OpaqueAttr.get(namespace, self.balanced())
        cls = KNOWN.get((namespace, mnemonic))
        if cls is not None:
            return cls._parse(self)
        if namespace not in _DIALECTS and namespace not in ("gpu", "tpu", "triton", "vhlo"):
            raise self.error(f"undefined symbol alias id '{name}'")
        body = self.balanced() if self.text.startswith("<", self.at) else ""
        return attrs.OpaqueAttr.get(namespace, mnemonic + body)

    def _array(self):
        self.expect("<")
        name = self.word()
        cls = _DENSE_ARRAYS.get(name)
        if cls is None:
            raise self.error(f"there are no arrays of {name}")
        values = []
        if self.accept(":"):
            values.append(self._array_item(name))
            while self.accept(","):
                values.append(self._array_item(name))
        self.expect(">")
        return cls.get(values)

    def _array_item(self, name):
        if name == "i1":
            return self.word() == "true"
        if name.startswith("f"):
            return _scalar_of(self.number_text(), type_named(name))
        return self.integer()

    def bare(self, kind, cls):
        """Returns an attribute in a place where its kind, or its class, is known."""
        if cls is not None and not self.peek("#"):
            return cls._parse(self)
        if kind == "DenseI64ArrayAttr":
            return attrs.DenseI64ArrayAttr.get(self.integers())
        if kind == "DenseBoolArrayAttr":
            return attrs.DenseBoolArrayAttr.get(self.list("[", "]", lambda: self.word() == "true"))
        if kind == "SymbolNameAttr":
            return attrs.StringAttr.get(self.symbol_name())
        if kind in ("I64Attr", "I32Attr"):
            return attrs.IntegerAttr.get(type_named("i" + kind[1:3]), self.integer())
        return self.attribute()

    # ---- dense elements ----

    def _dense(self):
        self.expect("<")
        start = self.at
        if self.peek('"'):
            text = self.string()
            flat, shape = bytes.fromhex(text[2:]), None
        else:
            flat, shape = [], self._nested_literal(None, 0)
            flat = shape.pop("flat")
            shape = shape["shape"]
        self.expect(">")
        self.expect(":")
        tensor = self.type()
        if isinstance(flat, bytes):
            count = int(np.prod(tensor.shape, dtype=np.int64))
            if len(flat) not in (dtype_of(tensor.element_type).itemsize * count,
                                 dtype_of(tensor.element_type).itemsize):
                raise self.error(f"elements hex data size is invalid for provided type: {tensor}",
                                 start)
            return of_bytes(tensor, flat)
        return self._elements(flat, tensor, start)

    def _nested_literal(self, _unused, _depth):
        """Returns {"flat": texts of the elements, "shape": sizes of the lists}."""
        flat = []

        def read():
            if self.peek("["):
                sizes = self.list("[", "]", read)
                return [len(sizes), *(sizes[0] if sizes else ())]
            flat.append(self._literal())
            return []

        shape = [] if self.peek(">") else read()
        return {"flat": flat, "shape": shape}

    def _literal(self):
        if self.accept("("):
            real = self.number_text()
            self.expect(",")
            imaginary = self.number_text()
            self.expect(")")
            return real, imaginary
        return self.word() if self.peek_word() else self.number_text()

    def _elements(self, flat, tensor, start):
        element = tensor.element_type
        dtype = dtype_of(element)
        if isinstance(element, types.ComplexType):
            part = element.element_type
            values = [complex(_scalar_of(x, part), _scalar_of(y, part)) for x, y in flat]
        else:
            values = [_scalar_of(text, element) for text in flat]
        array = np.array(values, dtype) if values else np.zeros(0, dtype)
        count = int(np.prod(tensor.shape, dtype=np.int64))
        if array.size not in (1, count):
            raise self.error(f"{array.size} elements do not fill {tensor}", start)
        return _of_array(array, tensor)

    def _dense_resource(self):
        self.expect("<")
        key = self.string() if self.peek('"') else self.suffix()
        self.expect(">")
        self.expect(":")
        tensor = self.type()
        for match in _RESOURCE.finditer(self.text):
            if match.group(1) == key:
                return DenseResourceElementsAttr._of(
                    (tensor, key, bytes.fromhex(match.group(2))[4:]))
        return DenseResourceElementsAttr._of((tensor, key, b""))

    # ---- locations ----

    def optional_location(self):
        """Returns the location of `loc(…)` if that is next, else the unknown one."""
        if self.peek_word() != "loc":
            return UNKNOWN
        self.word()
        self.expect("(")
        location = self.location()
        self.expect(")")
        return location

    def location(self):
        if self.accept("#"):
            name = self.suffix()
            return self.alias("#" + name, self.optional_location)
        if self.peek('"'):
            return self._named_location()
        word = self.word()
        if word == "unknown":
            return UNKNOWN
        if word == "callsite":
            self.expect("(")
            callee = self.location()
            self.expect("at")
            caller = self.location()
            self.expect(")")
            return CallSiteLoc._of(callee, caller)
        if word != "fused":
            raise self.error("expected a location")
        metadata = None
        if self.accept("<"):
            metadata = self.attribute()
            self.expect(">")
        return FusedLoc._of(tuple(self.list("[", "]", self.location)), metadata)

    def _named_location(self):
        name = self.string()
        if self.accept("("):
            child = self.location()
            self.expect(")")
            return NameLoc._of(name, child)
        if not self.accept(":"):
            return NameLoc._of(name, UNKNOWN)
        line = end_line = self.integer()
        self.expect(":")
        column = end_column = self.integer()
        if self.accept_word("to"):
            if not self.peek(":"):
                end_line = self.integer()
            self.expect(":")
            end_column = self.integer()
        return FileLineColLoc._of(name, line, column, end_line, end_column)


def _scalar_of(text, element):
    """Returns the number that a text means in a type of elements."""
    if text in ("true", "false"):
        return text == "true"
    if isinstance(element, types.FloatType):
        dtype = dtype_of(element)
        if "x" in text:
            size = dtype.itemsize
            return np.array(int(text, 16), f"u{size}").view(dtype)[()]
        return dtype.type(float(text))
    value = int(text, 0)
    bits = 8 * dtype_of(element).itemsize
    dtype = dtype_of(element)
    if dtype.kind == "i" and value >= 1 << (bits - 1):
        value -= 1 << bits
    elif dtype.kind == "u" and value < 0:
        value += 1 << bits
    return value


def _functional(name):
    def read(self):
        return attrs.OpaqueAttr._of(("builtin", name + self.balanced(), None))
    return read


_TYPES = {"tensor": Syntax._tensor, "vector": Syntax._vector, "memref": Syntax._memref,
          "complex": Syntax._complex,
          "tuple": lambda self: types.TupleType.get_tuple(self.list("<", ">", self.type))}
_ATTRIBUTES = {
    "true": lambda self: attrs.BoolAttr.get(True), "false": lambda self: attrs.BoolAttr.get(False),
    "unit": lambda self: attrs.UnitAttr.get(), "dense": Syntax._dense, "array": Syntax._array,
    "dense_resource": Syntax._dense_resource, "affine_map": _functional("affine_map"),
    "affine_set": _functional("affine_set"), "strided": _functional("strided"),
}
