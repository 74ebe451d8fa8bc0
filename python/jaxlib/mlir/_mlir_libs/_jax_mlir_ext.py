"""JAX's additions to MLIR: inlined calls, constants, and locations of tracebacks."""

from .._ir.inlining import inlined_func_call  # noqa: F401
from .._ir.tracebacks import TracebackToLocationCache  # noqa: F401


def register_dialects(registry):
    """Does nothing: all dialects are always known."""


def enter_multi_threaded_execution(context):
    """Does nothing: passes run in the calling thread."""


def exit_multi_threaded_execution(context):
    """Does nothing: passes run in the calling thread."""


def arith_constant(value, type):
    """Builds an arith.constant of a bool, int or float and returns its value."""
    from .._ir.attributes import BoolAttr, FloatAttr, IntegerAttr
    from ..dialects import arith
    if isinstance(value, bool):
        attribute = BoolAttr.get(value)
    elif isinstance(value, int):
        attribute = IntegerAttr.get(type, value)
    elif isinstance(value, float):
        attribute = FloatAttr.get(type, value)
    else:
        raise ValueError(f"Unsupported constant type: {value.__class__!r}")
    return arith.constant(attribute)
