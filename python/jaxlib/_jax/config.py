"""Configuration options: each has a global value and, in a thread, perhaps a local one.

The values that belong to the key of compiled functions, and to the key of traces, are gathered
once and kept until one of them changes.
"""

import contextlib
import threading
import types
from typing import TypeVar

_T = TypeVar("_T")

# The value of a thread-local option that is not set.
unset = object()

_names = []
_in_jit_key = []
_in_trace_context = []
_generation = 0  # Counts the changes of global values.


class _ThreadState(threading.local):
    """Local values of this thread by option, and its gathered keys."""

    def __init__(self):
        self.values = {}
        self.jit_key = None
        self.trace_context = None
        self.generation = -1


_state = _ThreadState()


@contextlib.contextmanager
def as_in_a_new_thread():
    """Forgets this thread's local values meanwhile."""
    state = _state
    values, state.values = state.values, {}
    state.jit_key = state.trace_context = None
    try:
        yield
    finally:
        state.values = values
        state.jit_key = state.trace_context = None


class _TraceContext(tuple):
    """A tuple that hashes its items once."""

    def __hash__(self):
        try:
            return self._hash
        except AttributeError:
            self._hash = tuple.__hash__(self)
            return self._hash


class Config:
    """An option with a global and a thread-local value."""

    __slots__ = ("_key", "_global", "_in_jit_key", "_in_trace_context", "__weakref__")
    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, name, value, *, include_in_jit_key=False, include_in_trace_context=False):
        self._key = len(_names)
        self._global = value
        self._in_jit_key = include_in_jit_key
        self._in_trace_context = include_in_trace_context
        _names.append(name)
        if include_in_jit_key:
            _in_jit_key.append(self)
        if include_in_trace_context:
            _in_trace_context.append(self)
        _forget_keys()

    @property
    def value(self):
        return _state.values.get(self._key, self._global)

    @property
    def name(self):
        return _names[self._key]

    def get_local(self):
        return _state.values.get(self._key, unset)

    def get_global(self):
        return self._global

    def set_local(self, value):
        self.swap_local(value)

    def swap_local(self, value):
        """Sets the local value, which may be `unset`; returns the one before."""
        state = _state
        values = state.values
        key = self._key
        if value is unset:
            old = values.pop(key, unset)
        else:
            old = values.get(key, unset)
            values[key] = value
        if value is not old:
            if self._in_jit_key:
                state.jit_key = None
            if self._in_trace_context:
                state.trace_context = None
        return old

    def set_global(self, value):
        self._global = value
        _forget_keys()


def _forget_keys():
    global _generation
    _generation += 1


def _gather(options):
    values = _state.values
    return [values.get(option._key, option._global) for option in options]


def _refresh():
    """Drops this thread's gathered keys if a global value has changed since."""
    _state.jit_key = _state.trace_context = None
    _state.generation = _generation


def jit_key():
    """Returns the tuple of values that belong to the key of compiled functions."""
    state = _state
    if state.generation != _generation:
        _refresh()
    key = state.jit_key
    if key is None:
        key = state.jit_key = tuple(_gather(_in_jit_key))
    return key


def jit_key_names():
    return [_names[option._key] for option in _in_jit_key]


def trace_context():
    state = _state
    if state.generation != _generation:
        _refresh()
    context = state.trace_context
    if context is None:
        context = state.trace_context = _TraceContext(_gather(_in_trace_context))
    return context


def trace_context_names():
    return tuple([_names[option._key] for option in _in_trace_context])
