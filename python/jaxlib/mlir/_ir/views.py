"""Views of operations: the classes and builder functions that tables of dialects give."""

from ..._absent import absent_names
from . import registry
from .attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseBoolArrayAttr,
    DenseF32ArrayAttr,
    DenseF64ArrayAttr,
    DenseI8ArrayAttr,
    DenseI16ArrayAttr,
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    DictAttr,
    FlatSymbolRefAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from .context import DiagnosticInfo, MLIRError
from .inference import infer
from .location import location_or_current
from .operations import Operation, OpResultList, Value, _insert, _OperationBase
from .types import IndexType, IntegerType


class AttrBuilder:
    """Builders of attributes from Python's values, by the kind that a table names."""

    _builders = {}

    @staticmethod
    def contains(attribute_kind):
        return attribute_kind in AttrBuilder._builders

    @staticmethod
    def get(attribute_kind):
        return AttrBuilder._builders[attribute_kind]

    @staticmethod
    def insert(attribute_kind, attr_builder, replace=False, allow_existing=False):
        known = AttrBuilder._builders
        if attribute_kind in known and not (replace or allow_existing):
            raise RuntimeError(f"Attribute builder for '{attribute_kind}' is already registered")
        if replace or attribute_kind not in known:
            known[attribute_kind] = attr_builder


def _fill_builders():
    def integers(prefix, names):
        for name in names:
            bits = int("".join(filter(str.isdigit, name)))
            builders[name] = lambda x, context=None, t=IntegerType._get(prefix, bits): (
                IntegerAttr.get(t, x))

    def array_of(builder):
        return lambda x, context=None: ArrayAttr.get([builder(item) for item in x])

    builders = AttrBuilder._builders
    integers("i", ("I1Attr", "I8Attr", "I16Attr", "I32Attr", "I64Attr"))
    integers("si", ("SI1Attr", "SI8Attr", "SI16Attr", "SI32Attr", "SI64Attr"))
    integers("ui", ("UI1Attr", "UI8Attr", "UI16Attr", "UI32Attr", "UI64Attr"))
    builders["IndexAttr"] = lambda x, context=None: IntegerAttr.get(IndexType.get(), x)
    builders["SymbolRefAttr"] = lambda x, context=None: (
        SymbolRefAttr.get(x) if isinstance(x, list) else FlatSymbolRefAttr.get(x))
    builders["UnitAttr"] = lambda x, context=None: UnitAttr.get() if x else None
    for name, get in (
            ("BoolAttr", BoolAttr.get), ("StrAttr", StringAttr.get),
            ("SymbolNameAttr", StringAttr.get), ("FlatSymbolRefAttr", FlatSymbolRefAttr.get),
            ("DictionaryAttr", DictAttr.get), ("ArrayAttr", ArrayAttr.get),
            ("TypeAttr", TypeAttr.get), ("F32Attr", FloatAttr.get_f32),
            ("F64Attr", FloatAttr.get_f64), ("DenseBoolArrayAttr", DenseBoolArrayAttr.get),
            ("DenseI8ArrayAttr", DenseI8ArrayAttr.get),
            ("DenseI16ArrayAttr", DenseI16ArrayAttr.get),
            ("DenseI32ArrayAttr", DenseI32ArrayAttr.get),
            ("DenseI64ArrayAttr", DenseI64ArrayAttr.get),
            ("DenseF32ArrayAttr", DenseF32ArrayAttr.get),
            ("DenseF64ArrayAttr", DenseF64ArrayAttr.get)):
        builders[name] = get
    for name in ("Bool", "Str", "I32", "I64", "F32", "F64", "FlatSymbolRef", "SymbolRef", "Type"):
        builders[f"{name}ArrayAttr"] = array_of(builders[f"{name}Attr"])
    builders["DictArrayAttr"] = array_of(DictAttr.get)


_fill_builders()


def register_attribute_builder(kind, replace=False, allow_existing=False):
    """Decorates a builder of attributes of a kind."""
    def decorate(function):
        AttrBuilder.insert(kind, function, replace=replace, allow_existing=allow_existing)
        return function
    return decorate


def as_value(argument, number, name):
    """Returns the value that an argument of a builder means, itself or an operation's result."""
    if isinstance(argument, Value):
        return argument
    if isinstance(argument, _OperationBase):
        return argument.result
    if isinstance(argument, OpResultList) and len(argument) == 1:
        return argument[0]
    problem = "is not a Value"
    if argument is None:
        problem = "was None and optional operands are not allowed here"
    raise ValueError(f'Operand {number} of operation "{name}" must be a Value ({problem})')


def as_values(argument):
    return argument.results if isinstance(argument, _OperationBase) else argument


class _Signature:
    """Parameters of a builder: `positional` names in order, then `keywords`."""

    __slots__ = ("positional", "keywords")

    def __init__(self, row):
        positional = [p.name for p in row.results] if row.infer is None else []
        keywords = []
        for parameter in row.parameters:
            if parameter.role == "region":
                if parameter.variadic:
                    positional.append(f"num_{parameter.name}")
            elif parameter.optional or parameter.default is not None:
                keywords.append(parameter.name)
            else:
                positional.append(parameter.name)
        self.positional = positional
        self.keywords = frozenset(keywords)


_signatures = {}


def _bind(row, args, kwargs):
    """Returns the arguments of a builder by name."""
    signature = _signatures.get(row.name)
    if signature is None:
        signature = _signatures[row.name] = _Signature(row)
    positional = signature.positional
    if len(args) > len(positional):
        raise TypeError(f"{row.class_name}.__init__() takes {len(positional) + 1} positional "
                        f"arguments but {len(args) + 1} were given")
    bound = dict(zip(positional, args))
    for name, value in kwargs.items():
        if name in bound:
            raise TypeError(f"{row.class_name}.__init__() got multiple values for argument "
                            f"'{name}'")
        if name not in signature.keywords and name not in positional:
            raise TypeError(f"{row.class_name}.__init__() got an unexpected keyword argument "
                            f"'{name}'")
        bound[name] = value
    for name in positional:
        if name not in bound:
            raise TypeError(f"{row.class_name}.__init__() missing required argument: '{name}'")
    return bound


def _gather_operands(row, bound):
    operands, sizes = [], []
    for parameter in row.operands:
        value = bound.get(parameter.name)
        start = len(operands)
        if parameter.variadic:
            for item in as_values(value):
                operands.append(as_value(item, len(operands), row.name))
        elif value is not None or not parameter.optional:
            operands.append(as_value(value, len(operands), row.name))
        sizes.append(len(operands) - start)
    return operands, sizes


def _gather_attributes(row, bound):
    attributes = {}
    for parameter in row.attributes:
        value = bound.get(parameter.name)
        if value is None:
            if parameter.name in bound and not parameter.optional and parameter.default is None:
                raise RuntimeError(f'Found an invalid (`None`?) attribute value for the key '
                                   f'"{parameter.key}" when attempting to create the operation '
                                   f'"{row.name}"')
            continue
        if parameter.kind == "UnitAttr":
            if value:
                attributes[parameter.key] = UnitAttr.get()
            continue
        if not isinstance(value, Attribute):
            builder = AttrBuilder._builders.get(parameter.kind)
            if builder is None:
                raise RuntimeError(f'Invalid attribute value for the key "{parameter.key}" when '
                                   f'attempting to create the operation "{row.name}": {value!r} '
                                   "is not an Attribute")
            value = builder(value, context=None)
            if value is None:
                continue
        attributes[parameter.key] = value
    return attributes


def _gather_results(row, bound):
    types, sizes = [], []
    for parameter in row.results:
        value = bound.get(parameter.name)
        start = len(types)
        if parameter.variadic:
            types.extend(value)
        elif value is not None:
            types.append(value)
        sizes.append(len(types) - start)
    return types, sizes


def build(row, args, kwargs, loc=None, ip=None):
    """Builds and inserts an operation of a table from the arguments of its builder."""
    results = kwargs.pop("results", None) if row.infer is not None else None
    bound = _bind(row, args, kwargs)
    operands, sizes = _gather_operands(row, bound)
    attributes = _gather_attributes(row, bound)
    if row.segments:
        attributes["operandSegmentSizes"] = DenseI32ArrayAttr.get(sizes)
    location = location_or_current(loc)
    if row.infer is None:
        results, result_sizes = _gather_results(row, bound)
        if row.segments and sum(p.variadic or p.optional for p in row.results) > 1:
            attributes["resultSegmentSizes"] = DenseI32ArrayAttr.get(result_sizes)
    elif results is None:
        results = _inferred(row, operands, attributes, location)
    regions = 0
    for parameter in row.regions:
        regions += bound[f"num_{parameter.name}"] if parameter.variadic else 1
    operation = Operation._new(row.name, attributes, operands, results, regions, location)
    _insert(operation, ip)
    return operation


def _inferred(row, operands, attributes, location):
    try:
        return infer(row.name, operands, attributes, row)
    except ValueError as error:
        raise MLIRError("Failed to infer types",
                        [DiagnosticInfo(str(error), location)]) from None


class OpView(_OperationBase):
    """View of an operation by its class: operands, attributes and regions are properties."""

    __slots__ = ("operation",)

    OPERATION_NAME = None
    _ODS_REGIONS = (0, True)
    _ODS_OPERAND_SEGMENTS = None
    _ODS_RESULT_SEGMENTS = None

    def __init__(self, *args, loc=None, ip=None, **kwargs):
        if self.OPERATION_NAME is None:
            self.operation = args[0].operation
            return
        row = registry.find_row(self.OPERATION_NAME)
        self._set(build(row, args, kwargs, loc, ip))

    def _set(self, operation):
        self.operation = operation
        operation._view = self

    @classmethod
    def _wrap(cls, operation):
        """Makes the view of an operation that exists."""
        self = object.__new__(cls)
        self.operation = operation
        return self

    @property
    def opview(self):
        return self

    @classmethod
    def build_generic(cls, results=None, operands=None, attributes=None, successors=None,
                      regions=None, loc=None, ip=None):
        """Builds the operation from operands, attributes and, if they are not inferred, types."""
        row = registry.find_row(cls.OPERATION_NAME)
        values = []
        sizes = []
        for item in operands or ():
            group = item if isinstance(item, (list, tuple)) else [item]
            values.extend(as_value(value, len(values), row.name) for value in group
                          if value is not None)
            sizes.append(len(group))
        attributes = {key: value for key, value in (attributes or {}).items()
                      if value is not None}
        if row.segments:
            attributes["operandSegmentSizes"] = DenseI32ArrayAttr.get(sizes)
        location = location_or_current(loc)
        if results is None and row.infer is not None:
            types = _inferred(row, values, attributes, location)
        else:
            types = []
            for item in results or ():
                types.extend(item if isinstance(item, (list, tuple)) else [item])
        count = len(row.regions) if regions is None else regions
        operation = Operation._new(row.name, attributes, values, types, count, location,
                                   successors or ())
        _insert(operation, ip)
        return operation.opview

    @classmethod
    def parse(cls, source, *, source_name="", context=None):
        view = Operation.parse(source)
        if not isinstance(view, cls):
            raise MLIRError(f"Expected a '{cls.OPERATION_NAME}' op, got: '{view.name}'")
        return view


registry.set_default_class(OpView)


class OpAdaptor:
    """Operands and attributes of an operation that is not built."""

    def __init__(self, operands, attributes):
        self.operands = operands
        self.attributes = attributes


def _operand_range(operation, row, position):
    """Returns where in the operands those of a parameter begin and end."""
    operands = row.operands
    sizes = operation._attributes.get("operandSegmentSizes")
    if sizes is not None:
        start = sum(sizes[:position])
        return start, start + sizes[position]
    groups = sum(p.variadic or p.optional for p in operands)
    each = (len(operation._operands) - len(operands) + groups) // groups if groups else 0
    start = sum(each if p.variadic or p.optional else 1 for p in operands[:position])
    parameter = operands[position]
    return start, start + (each if parameter.variadic or parameter.optional else 1)


def _operand_property(row_of, position):
    def get(self):
        row = row_of()
        operation = self.operation
        start, stop = _operand_range(operation, row, position)
        parameter = row.operands[position]
        if parameter.variadic:
            return self.operands[start:stop]
        return operation._operands[start] if stop > start else None
    return property(get)


def _attribute_property(key, optional):
    def get(self):
        if optional:
            return self.operation._attributes.get(key)
        return self.attributes[key]

    def set_(self, value):
        if value is not None:
            self.operation._attributes[key] = value
        elif not optional:
            raise ValueError("'None' not allowed as value for mandatory attributes")
        else:
            self.operation._attributes.pop(key, None)

    def delete(self):
        del self.attributes[key]

    return property(get, set_, delete)


def _region_property(position, variadic):
    if variadic:
        return property(lambda self: self.regions[position:])
    return property(lambda self: self.operation._regions[position])


def _result_property(position, total, variadic):
    def get(self):
        results = self.results
        if variadic:
            return results[position:len(results) - (total - position - 1)]
        return results[position]
    return property(get)


def _properties(row):
    """Returns the properties of the class of a row."""
    def row_of():
        return row

    members = {}
    for position, parameter in enumerate(row.operands):
        members[parameter.name] = _operand_property(row_of, position)
    for parameter in row.attributes:
        optional = parameter.optional or parameter.default is not None
        members[parameter.name] = _attribute_property(parameter.key, optional)
    for position, parameter in enumerate(row.regions):
        members[parameter.name] = _region_property(position, parameter.variadic)
    for position, parameter in enumerate(row.results):
        if parameter.name != "result":
            members[parameter.name] = _result_property(position, len(row.results),
                                                       parameter.variadic)
    return members


def result_of(operation):
    """Returns what a builder function gives: the result, the results or the view."""
    results = operation._results
    if len(results) == 1:
        return results[0]
    return OpResultList(results) if results else operation.opview


def _function(name, class_name, function):
    def builder(*args, loc=None, ip=None, **kwargs):
        return result_of(build(registry.find_row(name), args, kwargs, loc, ip))
    builder.__name__ = builder.__qualname__ = function
    builder.__doc__ = f"Builds {name}; the arguments are those of {class_name}."
    return builder


# Dialects of Pallas' kernels: an operation that their tables lack fails when it is used.
_OF_KERNELS = ("arith", "cf", "math", "memref", "scf", "vector")


def define_dialect(namespace, module, table):
    """Puts the classes and functions of a table into a module.

    namespace: of the dialect. module: globals of the module. table: a line an operation, whose
    names are without namespace.
    """
    for line in registry.rows_of(table):
        name, class_name, function = registry.register(f"{namespace}.{line}")
        row = registry.find_row(name)
        members = _properties(row)
        members["OPERATION_NAME"] = name
        fixed = not any(p.variadic for p in row.regions)
        members["_ODS_REGIONS"] = (sum(not p.variadic for p in row.regions), fixed)
        members["__slots__"] = ()
        members["__module__"] = module["__name__"]
        cls = type(class_name, (OpView,), members)
        registry.set_class(name, cls)
        module[class_name] = cls
        module[function] = _function(name, class_name, function)
    if namespace in _OF_KERNELS:
        module["__getattr__"] = absent_names(module["__name__"])


def register_operation(dialect_class, *, replace=False):
    """Decorates a class that takes the place of a table's one."""
    def decorate(cls):
        registry.set_class(cls.OPERATION_NAME, cls)
        return cls
    return decorate
