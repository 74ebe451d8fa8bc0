"""Foreign functions: targets that programs call, and the buffers that they get."""

import ctypes
import enum
import re

import numpy as np

from .._engine import get_engine
from .._engine.dtypes import DTYPES
from . import callbacks
from .errors import status_error

# Targets and types by platform, as they were registered.
_targets = {}
_types = {}
_ON_BUFFERS = re.compile(rf"@{callbacks.BUFFERS}\(.*index = (\d+)")
_ALIAS = re.compile(r"output_tuple_indices = \[(\d*)\], operand_index = (\d+)")


class ExecutionStage(enum.Enum):
    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


class ExecutionContext:
    """The run, as a callback on buffers sees it."""

    def __init__(self, stage=ExecutionStage.EXECUTE):
        self.stage = stage

    @property
    def stream(self):
        raise status_error("UNIMPLEMENTED", "XLA FFI GPU context is not available")


class Buffer:
    """An operand, or a result that the callback fills in: a NumPy array in all but name."""

    def __init__(self, array, writeable):
        self._array = array
        self.writeable = writeable

    @property
    def dtype(self):
        return self._array.dtype

    @property
    def ndim(self):
        return self._array.ndim

    @property
    def shape(self):
        return self._array.shape

    def __array__(self, dtype=None, copy=None):
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            raise ValueError("dtype argument is not supported")
        if copy:
            return self._array.copy()
        view = self._array.view()
        view.flags.writeable = self.writeable
        return view

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("__cuda_array_interface__ is not supported on the CPU")

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None:
            raise ValueError("stream argument is not supported on the CPU")
        kwargs = {} if max_version is None else {"max_version": max_version}
        return self.__array__(copy=copy).__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return (1, 0)


def make_buffers(source, host_callbacks):
    """Replaces the callbacks of a program that take buffers by those that make the buffers."""
    for line in source.splitlines():
        found = _ON_BUFFERS.search(line)
        if found:
            aliases = {int(result or 0): int(operand) for result, operand in _ALIAS.findall(line)}
            number = int(found.group(1))
            host_callbacks[number] = _with_buffers(host_callbacks[number], aliases)


def _with_buffers(function, aliases):
    """Returns a callback that gives a function its operands, and memory for results.

    aliases: the numbers of operands by those of the results that share their memory.
    """
    def call_with_buffers(results, *operands):
        operands, out = list(operands), []
        for i, (kind, dims) in enumerate(results):
            out.append(np.zeros(dims, DTYPES[kind]))
            if i in aliases:
                out[i][...] = operands[aliases[i]]
                operands[aliases[i]] = out[i]
        function(ExecutionContext(), *[Buffer(x, False) for x in operands],
                 *[Buffer(x, True) for x in out])
        return tuple(out)

    return call_with_buffers


def _is_capsule(value):
    return type(value).__name__ == "PyCapsule"


def register_custom_call_target(fn_name, fn, platform, api_version=0, traits=0):
    """Registers a target. A function of Python takes NumPy arrays and returns a tuple of them.

    Pointers to native code are kept for custom_call_targets(), but cannot be called.
    """
    name = fn_name.decode() if isinstance(fn_name, bytes) else str(fn_name)
    parts = fn.values() if isinstance(fn, dict) else [fn]
    known = _targets.setdefault(_platform(platform), {})
    known[name] = fn
    if all(callable(part) and not _is_capsule(part) and not isinstance(part, ctypes._SimpleCData)
           for part in parts):
        callbacks.functions[name] = fn["execute"] if isinstance(fn, dict) else fn
        get_engine().register_target(name)


def custom_call_targets(platform):
    return dict(_targets.get(_platform(platform), {}))


def _platform(name):
    return {"host": "cpu"}.get(name.lower(), name.lower())


def register_custom_type(type_name, type_id, platform="cpu"):
    _types[type_name] = type_id


def register_custom_call_as_batch_partitionable(target_name, c_api=None):
    """Does nothing: programs are not partitioned here."""


_partitioners = {}


def register_custom_call_partitioner(
    name,
    prop_user_sharding,
    partition,
    infer_sharding_from_operands,
    can_side_effecting_have_replicated_sharding=False,
    c_api=None,
):
    """Keeps a partitioner. Programs are not partitioned here, so it is not called."""
    _partitioners[name] = (prop_user_sharding, partition, infer_sharding_from_operands)


# Functions that are told shardings, by the number that a program has.
inspectors = []


def encode_inspect_sharding_callback(handler, /):
    """Returns bytes by which a program names the handler."""
    inspectors.append(handler)
    return str(len(inspectors) - 1).encode()
