"""Verification of operations: what a wrong lowering would otherwise let through."""

from .context import DiagnosticInfo, MLIRError
from .registry import find_row
from .types import DYNAMIC, TokenType


def verify(operation):
    """Returns True; raises MLIRError if the operation or one inside it is not valid."""
    errors = []
    _verify(operation, errors, None)
    if errors:
        raise MLIRError("Verification failed", errors)
    return True


def _error(operation, message, errors):
    note = DiagnosticInfo(f"see current operation: {_generic(operation)}", operation._location)
    errors.append(DiagnosticInfo(f"'{operation._name}' op {message}", operation._location,
                                 notes=[note]))


def _generic(operation):
    from .printer import print_operation
    return print_operation(operation, print_generic_op_form=True)


def _verify(operation, errors, visible):
    check = _CHECKS.get(operation._name)
    if check is not None:
        check(operation, errors)
    row = find_row(operation._name)
    if row is not None:
        _verify_row(operation, row, errors)
    for region in operation._regions:
        for block in region._blocks:
            for nested in block._operations:
                _verify(nested, errors, visible)


def _verify_row(operation, row, errors):
    if row.name == "builtin.module":
        return
    for parameter in row.attributes:
        if not parameter.optional and parameter.default is None and (
                parameter.key not in operation._attributes):
            _error(operation, f"requires attribute '{parameter.key}'", errors)
    fixed = not any(p.variadic or p.optional for p in row.operands)
    if fixed and len(operation._operands) != len(row.operands):
        _error(operation, f"expected {len(row.operands)} operands, but found "
               f"{len(operation._operands)}", errors)


def _verify_function(operation, errors):
    type_ = operation._attributes["function_type"].value
    blocks = operation._regions[0]._blocks
    if not blocks:
        return
    inputs, results = type_._params
    arguments = blocks[0]._arguments
    if len(arguments) != len(inputs):
        _error(operation, f"entry block must have {len(inputs)} arguments to match function "
               "signature", errors)
        return
    for number, (argument, input_) in enumerate(zip(arguments, inputs)):
        if argument.type is not input_:
            _error(operation, f"type of entry block argument #{number}('{argument.type}') must "
                   f"match the type of the corresponding argument in function signature"
                   f"('{input_}')", errors)
    returned = blocks[-1]._operations[-1] if blocks[-1]._operations else None
    if returned is None or returned._name != "func.return":
        if returned is None or not returned._is_terminator():
            _error(operation, "block with no terminator", errors)
        return
    if len(returned._operands) != len(results):
        _error(returned, f"has {len(returned._operands)} operands, but enclosing function "
               f"(@{operation._attributes['sym_name'].value}) returns {len(results)}", errors)
        return
    for number, (value, result) in enumerate(zip(returned._operands, results)):
        if value.type is not result:
            _error(returned, f"type of return operand {number} ('{value.type}') doesn't match "
                   f"function result type ('{result}') in function "
                   f"@{operation._attributes['sym_name'].value}", errors)


def _verify_convert(operation, errors):
    source, target = operation._operands[0].type, operation._results[0].type
    if isinstance(source, TokenType) or not _compatible(source, target):
        _error(operation, "all non-scalar operands/results must have the same shape and base "
               "type", errors)


def _compatible(first, second):
    """Says whether two shapes may be the same, some sizes being unknown."""
    first, second = first._params[0], second._params[0]
    return len(first) == len(second) and all(
        x == y or DYNAMIC in (x, y) for x, y in zip(first, second))


def _verify_reshape(operation, errors):
    source, target = operation._operands[0].type, operation._results[0].type
    if source.has_static_shape and target.has_static_shape:
        before, after = _count(source), _count(target)
        if before != after:
            _error(operation, f"number of output elements ({after}) doesn't match expected number "
                   f"of elements ({before})", errors)


def _count(type_):
    count = 1
    for size in type_._params[0]:
        count *= size
    return count


_CHECKS = {"func.func": _verify_function, "stablehlo.convert": _verify_convert,
           "stablehlo.reshape": _verify_reshape}
