"""The engine: the core, beside Python in a process of node, or in the same page as Pyodide."""

import atexit
import sys
import threading

_engine = None
_lock = threading.Lock()
# Calls Python from a program:
# (target, program, config, device, operands, results) -> bytes of the results.
_callback = None


# Python runs what was registered last first: at its end JAX waits for what still runs, before this.
@atexit.register
def _close():
    if _engine is not None:
        _engine.close()


def set_callback(function):
    """Sets what programs call."""
    global _callback
    _callback = function


def _call(*arguments):
    return _callback(*arguments)


def get_engine():
    """Returns the running engine; starts it at the first call."""
    global _engine
    if _engine is None:
        with _lock:
            if _engine is None:
                if sys.platform == "emscripten":
                    from .page import Page as Engine
                else:
                    from .bridge import Bridge as Engine
                _engine = Engine(_call)
    return _engine
