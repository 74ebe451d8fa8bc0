"""Forms of text that no format describes: of operations, of types and of attributes."""

from .attributes import symbol_text
from .registry import find_row
from .types import ComplexType, RankedTensorType, result_text

# ---- types ----


def types_text(rule, printer, operation, row):
    """Returns the types of an operation by a rule, or that of a named operand or result."""
    get = _RULES.get(rule)
    if get is not None:
        return get(printer, operation)
    for position, parameter in enumerate(row.operands):
        if parameter.name == rule:
            return operation._operands[position].type._text
    for position, parameter in enumerate(row.results):
        if parameter.name == rule:
            return operation._results[position].type._text
    raise KeyError(rule)


def _same(printer, operation):
    result = operation._results[0].type
    for operand in operation._operands:
        if operand.type is not result:
            return printer.function_type(operation)
    return result._text


def _select(printer, operation):
    result = operation._results[0].type
    predicate, on_true, on_false = (operand.type for operand in operation._operands)
    if on_true is not result or on_false is not result:
        return printer.function_type(operation)
    return f"{predicate}, {result}"


def real_type(type_):
    """Returns the type of the real parts of arrays of complex numbers."""
    element = type_.element_type
    if isinstance(element, ComplexType):
        return RankedTensorType.get(type_._params[0], element.element_type, type_._params[2])
    return type_


def _complex(printer, operation):
    result = operation._results[0].type
    real = real_type(result)
    if any(operand.type is not real for operand in operation._operands):
        return printer.function_type(operation)
    return result._text


def _operand_types(printer, operation):
    return ", ".join([operand.type._text for operand in operation._operands])


_RULES = {
    "same": _same, "select": _select, "complex": _complex, "operands": _operand_types,
    "fn": lambda printer, operation: printer.function_type(operation),
    "results": lambda printer, operation: ", ".join(
        [result.type._text for result in operation._results]),
}


# ---- attributes ----


class Piece:
    """Form of some attributes inside a format: `elided` are their names."""

    def __init__(self, elided, text, parse):
        self.elided = elided
        self.text = text
        self.parse = parse

    def print(self, printer, operation):
        printer.write(self.text(operation._attributes))


def _slice_text(attributes):
    parts = []
    for start, limit, stride in zip(*(attributes[name] for name in _SLICE)):
        parts.append(f"{start}:{limit}" if stride == 1 else f"{start}:{limit}:{stride}")
    return f"[{', '.join(parts)}]"


_SLICE = ("start_indices", "limit_indices", "strides")


def _precision_text(attributes):
    precision = attributes.get("precision_config")
    if precision is None or not len(precision):
        return ""
    return f", precision = [{', '.join(item.value for item in precision)}]"


def _precision_algorithm_text(attributes):
    text = _precision_text(attributes)
    algorithm = attributes.get("algorithm")
    return text if algorithm is None else f"{text}, algorithm = {algorithm._stripped()}"


def _dot_text(attributes):
    batch_left, batch_right, left, right = map(
        _numbers, attributes["dot_dimension_numbers"]._key)
    text = f"contracting_dims = [{left}] x [{right}]"
    if batch_left or batch_right:
        text = f"batching_dims = [{batch_left}] x [{batch_right}], {text}"
    return text


def _numbers(numbers):
    return ", ".join(map(str, numbers))


_WINDOW = (("window_strides", "stride"), ("padding", "pad"), ("lhs_dilation", "lhs_dilate"),
           ("rhs_dilation", "rhs_dilate"), ("window_reversal", "reverse"))


def _window_text(attributes):
    parts = []
    for name, short in _WINDOW:
        attribute = attributes.get(name)
        if attribute is None:
            continue
        if name == "padding":
            rows = attribute._array().tolist()
            text = f"[{', '.join(f'[{low}, {high}]' for low, high in rows)}]"
        else:
            text = attribute._stripped()
        parts.append(f"{short} = {text}")
    return f"{{{', '.join(parts)}}}"


def _target_text(attributes):
    return symbol_text(attributes["call_target_name"].value)


def _exponent_text(attributes):
    return f"e{attributes['exponent_bits'].value}m{attributes['mantissa_bits'].value}"


PIECES = {
    "slice": Piece(_SLICE, _slice_text, "slice"),
    "precision": Piece(("precision_config",), _precision_text, "precision"),
    "precision_algorithm": Piece(("precision_config", "algorithm"), _precision_algorithm_text,
                                 "precision"),
    "dot": Piece(("dot_dimension_numbers",), _dot_text, "dot"),
    "conv": Piece(("dimension_numbers",), lambda a: a["dimension_numbers"]._stripped(), "conv"),
    "window": Piece(tuple(name for name, _ in _WINDOW), _window_text, "window"),
    "target": Piece(("call_target_name",), _target_text, "target"),
    "exponent": Piece(("exponent_bits", "mantissa_bits"), _exponent_text, "exponent"),
}


# ---- operations ----


class Form:
    """Form of a whole operation: `print` writes it, `parse` is the name of its parser."""

    def __init__(self, print_, parse, prints=None):
        self.print = print_
        self.parse = parse
        self.prints = prints or (lambda operation: True)


def _print_return(printer, operation):
    printer.operation_name(operation._name)
    printer.dictionary(operation._attributes, ())
    if operation._operands:
        printer.write(f" {printer.values_text(operation._operands)} : "
                      f"{_operand_types(printer, operation)}")
    elif operation._name == "stablehlo.return":
        printer.write(" ")


def _print_barrier(printer, operation):
    printer.operation_name(operation._name)
    printer.dictionary(operation._attributes, ())
    if operation._operands:
        printer.write(f" {printer.values_text(operation._operands)} : "
                      f"{_operand_types(printer, operation)}")
    else:
        printer.write(" ()")


def _print_constant(printer, operation):
    value = operation._attributes["value"]
    printer.operation_name(operation._name)
    if value.type is not operation._results[0].type:
        printer.generic_form(operation, with_name=False)
        return
    printer.dictionary(operation._attributes, ("value",))
    printer.write(f" {printer.attribute(value)}")


def _print_while(printer, operation):
    condition, body = operation._regions
    printer.operation_name(operation._name)
    pairs = zip(body._blocks[0]._arguments, operation._operands)
    printer.write("(" + ", ".join(f"{printer.value(argument)} = {printer.value(operand)}"
                                  for argument, operand in pairs) + ")")
    if operation._operands:
        printer.write(f" : {_operand_types(printer, operation)}")
    printer.dictionary(operation._attributes, (), " attributes")
    space = " " * printer.indent
    printer.write(f"\n{space}cond ")
    printer.region(condition, arguments=False, dialect="")
    printer.write(" do ")
    printer.region(body, arguments=False, dialect="")


def compact_reduction(operation):
    """Returns the one operation that a reduction applies, or None if its body is not so."""
    block = operation._regions[0]._blocks[0]
    if len(block._operations) != 2 or not operation._operands:
        return None
    inner, returned = block._operations
    row = find_row(inner._name)
    if row is None or not row.commutative or inner._attributes:
        return None
    if inner._name.split(".")[0] != operation._name.split(".")[0]:
        return None
    arguments = block._arguments
    if len(arguments) != 2 or inner._operands[0] is not arguments[0] or (
            inner._operands[1] is not arguments[1]):
        return None
    scalar = RankedTensorType.get((), operation._operands[0].type.element_type)
    if any(value.type is not scalar for value in (*arguments, inner._results[0])):
        return None
    return inner if returned._operands == inner._results else None


def _print_reduce(printer, operation):
    count = len(operation._operands) // 2
    value = printer.value
    printer.operation_name(operation._name)
    pairs = zip(operation._operands[:count], operation._operands[count:])
    printer.write("(" + "), (".join(f"{value(array)} init: {value(initial)}"
                                    for array, initial in pairs) + ")")
    inner = compact_reduction(operation)
    if inner is not None:
        printer.write(f" applies {inner._name}")
    printer.write(f" across dimensions = {operation._attributes['dimensions']._stripped()}")
    printer.dictionary(operation._attributes, ("dimensions",))
    printer.write(f" : {printer.function_type(operation)}")
    if inner is not None:
        return
    block = operation._regions[0]._blocks[0]
    texts = [f"{value(a)}: {a.type}{printer.argument_location(a.location)}"
             for a in block._arguments]
    printer.write(f"\n{' ' * printer.indent} reducer")
    for position in range(count):
        printer.write(f"({texts[position]}, {texts[position + count]}) ")
    printer.write(" ")
    printer.region(operation._regions[0], arguments=False, dialect="")


def _print_module(printer, operation):
    attributes = operation._attributes
    printer.write("module")
    if "sym_visibility" in attributes:
        printer.write(f" {attributes['sym_visibility'].value}")
    if "sym_name" in attributes:
        printer.write(f" {symbol_text(attributes['sym_name'].value)}")
    printer.dictionary(attributes, ("sym_name", "sym_visibility"), " attributes")
    printer.write(" ")
    printer.region(operation._regions[0], dialect="builtin")


def _with_attributes(text, attributes):
    return f"{text} {attributes}" if attributes is not None and len(attributes) else text


def _print_function(printer, operation):
    attributes = operation._attributes
    type_ = attributes["function_type"].value
    printer.operation_name(operation._name)
    if "sym_visibility" in attributes:
        printer.write(f" {attributes['sym_visibility'].value}")
    printer.write(f" {symbol_text(attributes['sym_name'].value)}(")
    inputs, results = type_._params
    argument_attributes = attributes.get("arg_attrs") or [None] * len(inputs)
    blocks = operation._regions[0]._blocks
    if blocks:
        texts = [_with_attributes(f"{printer.value(a)}: {a.type}", d)
                 + printer.argument_location(a.location)
                 for a, d in zip(blocks[0]._arguments, argument_attributes)]
    else:
        texts = [_with_attributes(str(t), d) for t, d in zip(inputs, argument_attributes)]
    printer.write(", ".join(texts) + ")")
    if results:
        result_attributes = attributes.get("res_attrs") or [None] * len(results)
        if any(d is not None and len(d) for d in result_attributes):
            texts = [_with_attributes(str(t), d) for t, d in zip(results, result_attributes)]
            printer.write(f" -> ({', '.join(texts)})")
        else:
            printer.write(f" -> {result_text(results)}")
    printer.dictionary(attributes, _FUNCTION, " attributes")
    if blocks and not printer.skip_regions:
        printer.write(" ")
        printer.region(operation._regions[0], arguments=False, dialect="func")


_FUNCTION = frozenset(("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"))


def _per_value(attribute):
    return f"[{', '.join(sharding._stripped() for sharding in attribute._key[0])}]"


def _print_manual(printer, operation):
    attributes = operation._attributes
    printer.operation_name(operation._name)
    printer.write(f"({printer.values_text(operation._operands)}) "
                  f"in_shardings={_per_value(attributes['in_shardings'])} "
                  f"out_shardings={_per_value(attributes['out_shardings'])} "
                  f"manual_axes={attributes['manual_axes']._stripped()} ")
    _print_inline_region(printer, operation)
    printer.dictionary(attributes, ("in_shardings", "out_shardings", "manual_axes"))
    printer.write(f" : {printer.function_type(operation)}")


def _print_inline_region(printer, operation):
    region = operation._regions[0]
    printer.write(f"({printer.arguments_text(region._blocks[0])}) ")
    printer.region(region, arguments=False, dialect="")


def _print_named(printer, operation):
    attributes = operation._attributes
    printer.operation_name(operation._name)
    printer.write(f"<{attributes['name']}>({printer.values_text(operation._operands)}) ")
    for name in ("in_shardings", "out_shardings"):
        if name in attributes:
            printer.write(f"{name}={_per_value(attributes[name])} ")
    _print_inline_region(printer, operation)
    printer.dictionary(attributes, ("name", "in_shardings", "out_shardings"))
    printer.write(f" : {printer.function_type(operation)}")


OPERATIONS = {
    "return": Form(_print_return, "return"),
    "barrier": Form(_print_barrier, "barrier"),
    "constant": Form(_print_constant, "constant"),
    "while": Form(_print_while, "while"),
    "reduce": Form(_print_reduce, "reduce"),
    "module": Form(_print_module, "module"),
    "function": Form(_print_function, "function"),
    "manual": Form(_print_manual, "manual"),
    "named": Form(_print_named, "named"),
}
