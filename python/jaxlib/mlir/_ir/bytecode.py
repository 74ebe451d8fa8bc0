"""Serialization of operations: MLIR text as bytes, which MLIR's parsers read as well."""


def is_bytecode(data):
    """Says whether `data` is MLIR bytecode."""
    return data[:4] == b"ML\xefR"


def write_operation(operation):
    """Returns the operation as bytes, with locations; the generic form leaves nothing out."""
    from .printer import print_operation
    text = print_operation(operation, enable_debug_info=True, print_generic_op_form=True)
    return text.encode("utf-8", "surrogateescape")


def read_module(data):
    """Returns the outermost operation of MLIR bytecode."""
    from .portable import read_bytecode
    return read_bytecode(data)
