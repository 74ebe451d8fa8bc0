"""Calls of Python from programs: JAX's callbacks, and targets registered as Python functions."""

import contextlib
import re
import threading
import traceback

import numpy as np

from .._engine import set_callback
from .._engine.dtypes import DTYPES, to_bytes
from .._frames import FOLDER
from .config import as_in_a_new_thread
from .errors import CODES, JaxRuntimeError

# Callbacks of each program, by the number that the core knows it by.
programs = {}
# Functions of Python by target, of register_custom_call_target.
functions = {}
BUFFERS = "xla_buffer_python_cpu_callback"
TARGETS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback", BUFFERS)
_INDEX = re.compile(r"index = (\d+)")


class _State(threading.local):
    """Errors of callbacks in the runs that are on the stack of a thread."""

    def __init__(self):
        self.errors = []


_state = _State()


def may_call_python(text):
    """Whether a program calls a target that is a function of Python."""
    return any(target in text for target in functions)


@contextlib.contextmanager
def running():
    """Around a run that may call Python: a callback's error, with its traceback, is the run's."""
    _state.errors.append(None)
    try:
        yield
    except JaxRuntimeError:
        error = _state.errors[-1]
        if error is None:
            raise
        raise JaxRuntimeError(f"INTERNAL: CpuCallback error calling callback: {error}",
                              CODES.index("INTERNAL")) from None
    finally:
        _state.errors.pop()


def of_shards(function, devices, shardings):
    """Returns a callback of whole operands that calls a function with each device's parts.

    The function has no results. shardings: HloShardings of the operands, tokens among them.
    """
    def call_with_parts(*operands):
        from jax._src.sharding_impls import GSPMDSharding

        parts = []
        for operand, sharding in zip(operands, shardings):
            if operand is None:
                parts.append(dict.fromkeys(devices))
                continue
            where = GSPMDSharding(devices, sharding).devices_indices_map(operand.shape)
            parts.append({device: operand[index] for device, index in where.items()})
        for device in devices:
            function(*[part[device] for part in parts])
        return ()

    return call_with_parts


def call(target, program, config, device, operands, results):
    """Runs a callback, as XLA does in a thread of its own. Returns the bytes of each result."""
    try:
        with as_in_a_new_thread():
            return _call(target, program, config, operands, results)
    except BaseException as error:
        if _state.errors:
            _state.errors[-1] = _text_of(error)
        raise


def _text_of(error):
    """Returns an error with its traceback, without the frames of this package."""
    about = traceback.TracebackException.from_exception(error)
    about.stack[:] = [frame for frame in about.stack if not frame.filename.startswith(FOLDER)]
    return "".join(about.format())


def _call(target, program, config, operands, results):
    arguments = [None if operand is None else _array(operand) for operand in operands]
    if target in TARGETS:
        index = int(_INDEX.search(config).group(1))
        function = programs[program][index]
        values = function(results, *arguments) if target == BUFFERS else function(*arguments)
    else:
        values = functions[target](*arguments)
    if not isinstance(values, tuple):
        raise TypeError(f"CPU callback expected a tuple result, got {values!r}")
    if len(values) != len(results):
        raise ValueError(
            f"CPU callback expected a tuple with {len(results)} results, got {len(values)}")
    out = []
    for i, (value, result) in enumerate(zip(values, results)):
        if result is None:
            if value is not None:
                raise ValueError(f"Token output from Python callback should be None, got {value!r}")
            continue
        kind, dims = result
        value = np.asarray(value)
        if value.shape != dims:
            raise ValueError(
                f"Mismatched result shape for {i}-th return value from CPU callback; "
                "expected array "
                f"with dimensions {','.join(map(str, dims))}, got {','.join(map(str, value.shape))}"
            )
        if value.dtype != DTYPES[kind]:
            value = value.astype(DTYPES[kind])
        out.append(to_bytes(value).tobytes())
    return out


def _array(operand):
    kind, dims, data = operand
    value = np.frombuffer(data, DTYPES[kind]).reshape(dims)
    value.flags.writeable = False
    return value


set_callback(call)
