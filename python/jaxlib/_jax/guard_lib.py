"""Guards of transfers and of garbage collection: their levels, globally and per thread."""

import enum
import gc
import logging
import os
import sys
import threading

from .errors import status_error

_logger = logging.getLogger("jaxlib")


class TransferGuardLevel(enum.Enum):
    ALLOW = 0
    LOG = 1
    DISALLOW = 2
    LOG_EXPLICIT = 3
    DISALLOW_EXPLICIT = 4


class GarbageCollectionGuardLevel(enum.Enum):
    ALLOW = 0
    LOG = 1
    FATAL = 2


class _Levels:
    """The levels; None where another scope decides."""

    def __init__(self):
        self.host_to_device = None
        self.device_to_device = None
        self.device_to_host = None
        self.explicit_device_put = False
        self.explicit_device_get = False
        self._garbage_collect_array = None

    @property
    def garbage_collect_array(self):
        return self._garbage_collect_array

    @garbage_collect_array.setter
    def garbage_collect_array(self, level):
        self._garbage_collect_array = level
        if level not in (None, GarbageCollectionGuardLevel.ALLOW):
            _watch_arrays()


class GuardState(threading.local, _Levels):
    """Levels of each thread."""


class _GlobalState(_Levels):
    pass


_global = _GlobalState()
_local = GuardState()
_owner = None  # The thread that entered the thread guard.


def global_state():
    return _global


def thread_local_state():
    return _local


def update_thread_guard_global_state(set_thread_id, /):
    global _owner
    if not set_thread_id:
        _owner = None
        return
    current = threading.get_ident()
    if _owner not in (None, current):
        raise status_error(
            "FAILED_PRECONDITION",
            "The thread guard's global thread ID is already set. Nested thread "
            "guards in different threads are not supported.",
        )
    _owner = current


def guards_transfers():
    """Returns whether a guard of transfers is set: a cheap test before `check_transfer`."""
    local, everywhere = _local, _global
    return not (
        local.host_to_device is local.device_to_device is local.device_to_host is None
        and everywhere.host_to_device is everywhere.device_to_device is None
        and everywhere.device_to_host is None
    )


def check_transfer(direction, describe=lambda: ""):
    """Logs or refuses a transfer as its guard says.

    `direction` is "host_to_device", "device_to_device" or "device_to_host"; `describe` returns
    the text that names the transfer.
    """
    level = getattr(_local, direction) or getattr(_global, direction)
    if level is None or level is TransferGuardLevel.ALLOW:
        return
    if direction == "device_to_host":
        explicit = _local.explicit_device_get
    else:
        explicit = _local.explicit_device_put
    if explicit and level in (TransferGuardLevel.LOG, TransferGuardLevel.DISALLOW):
        return
    name = direction.replace("_", "-")
    if level in (TransferGuardLevel.LOG, TransferGuardLevel.LOG_EXPLICIT):
        _logger.warning("%s transfer: %s", name, describe())
        return
    raise status_error("INVALID_ARGUMENT", f"Disallowed {name} transfer: {describe()}")


def garbage_collection_level():
    """Returns the level of the guard of arrays that the garbage collector finds."""
    return (_local.garbage_collect_array or _global.garbage_collect_array
            or GarbageCollectionGuardLevel.ALLOW)


_collecting = False


def _note_collection(phase, info):
    global _collecting
    _collecting = phase == "start"


def _watch_arrays():
    """Gives arrays a finalizer that tells whether the garbage collector found them."""
    from .array import ArrayImpl

    if not hasattr(ArrayImpl, "__del__"):
        gc.callbacks.append(_note_collection)
        ArrayImpl.__del__ = _array_dies


def _array_dies(array):
    if not _collecting:
        return
    level = garbage_collection_level()
    if level is GarbageCollectionGuardLevel.ALLOW:
        return
    print(
        "`jax.Array` was deleted by the Python garbage collector instead of reference counting. "
        "Break the reference cycle that delays the deletion of this `jax.Array` to avoid hogging "
        f"memory. Traceback: \n{array.traceback or 'not available'}",
        file=sys.stderr, flush=True)
    if level is GarbageCollectionGuardLevel.FATAL:
        os.abort()
