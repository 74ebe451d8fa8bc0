"""Stands for dialects of GPUs and TPUs: Pallas imports them, and interprets kernels without."""

import sys
import types


class Absent(type):
    """A class of such a dialect: it has any attribute, no instance, and cannot be called."""

    def __new__(cls, name, bases=(), namespace=None, **_):
        return super().__new__(cls, name, bases, namespace or {})

    def __init__(cls, *_, **__):
        pass

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = Absent(name, (), {"__module__": f"{cls.__module__}.{cls.__name__}"})
        setattr(cls, name, found)
        return found

    def __call__(cls, *_, **__):
        raise NotImplementedError(
            f"{cls.__module__}.{cls.__name__}: this jaxlib compiles for the CPU of xla-wasm; "
            "Pallas kernels for GPUs and TPUs cannot be lowered (interpret=True runs them)")

    def __iter__(cls):
        return iter(())

    def __or__(cls, other):
        return cls

    __ror__ = __or__


def absent_names(module):
    """Returns a module's `__getattr__` for names that it leaves out."""
    def get(name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = Absent(name, (), {"__module__": module})
        setattr(sys.modules[module], name, found)
        return found

    return get


def absent_modules(names):
    """Makes modules that lack all names."""
    for name in names.split():
        package, _, last = name.rpartition(".")
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        module.__getattr__ = absent_names(name)
        if package in sys.modules:
            setattr(sys.modules[package], last, module)
