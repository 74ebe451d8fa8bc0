"""Facts about this build, and functions of a few lines."""

import enum
import math
import sys
import threading

from .. import _frames
from .errors import status_error

ifrt_version_number = 55


class RuntimeTracebackMode(enum.Enum):
    OFF = 0
    ON = 1
    FULL = 2


class _Modes(threading.local):
    traceback_mode = None


_modes = _Modes()
_global_traceback_mode = RuntimeTracebackMode.OFF
# The paths whose frames locations of operations leave out.
exclude_paths = []


def add_exclude_path(path, /):
    """Adds a path to exclude from tracebacks."""
    exclude_paths.append(path)




def hide_own_frames():
    """Makes JAX leave this package's frames out of the tracebacks that it filters."""
    for name in ("jax._src.traceback_util", "jax._src.source_info_util"):
        module = sys.modules.get(name)
        if module is not None and _frames.FOLDER not in module._exclude_paths:
            module.register_exclusion(_frames.FOLDER)


def set_send_traceback_to_runtime_global(mode, /):
    global _global_traceback_mode
    _global_traceback_mode = mode


def set_send_traceback_to_runtime_thread_local(mode):
    _modes.traceback_mode = mode


def collect_garbage():
    """Does nothing: no references wait to be dropped."""


def is_optimized_build():
    return True


def is_asan():
    return False


def is_msan():
    return False


def is_tsan():
    return False


def is_sanitized():
    return False


def approx_top_k_reduction_output_size(input_size, rank, top_k, recall_target,
                                       aggregate_to_topk=True, input_size_override=-1):
    """Returns the size of an approximate top-k, and the logarithm of the reduction (or -1)."""
    if 0 <= input_size_override < input_size:
        raise status_error(
            "INVALID_ARGUMENT",
            f"reduction_input_size_override: {input_size_override} should be greater "
            f"equals to operands[reduction_dim]: {input_size}")
    if aggregate_to_topk:
        return top_k, -1
    tiling = 1024 if rank == 1 else 128
    if input_size <= tiling:
        return input_size, 0
    tiles = -(-input_size // tiling)
    logical_size = input_size_override if input_size_override >= 0 else input_size
    if top_k == 1:
        return tiling, (-(-logical_size // tiling) - 1).bit_length()
    if recall_target == 1.0:
        m = input_size
    else:
        m = min(max(int((1.0 - top_k) / math.log(recall_target)), tiling), input_size)
    log2_reduction = (logical_size // m).bit_length() - 1
    if log2_reduction <= 0:
        return input_size, 0
    log2_reduction = min(log2_reduction, (tiles - 1).bit_length())
    return -(-tiles // (1 << log2_reduction)) * tiling, log2_reduction
