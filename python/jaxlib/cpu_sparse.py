"""Names of targets of sparse products on the CPU."""

from .cpu import _sparse


def registrations():
    return {"cpu": [(name, value, 1) for name, value in _sparse.registrations().items()]}
