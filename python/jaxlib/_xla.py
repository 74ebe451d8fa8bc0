"""Hooks into the passes of XLA's compilers: this package has none of these compilers."""

from ._jax.errors import unavailable


def register_xla_transform(name, stage, callback):
    raise unavailable("A transform within XLA's passes")


def clear_xla_transform(name, stage):
    return False


def register_xla_transform_c_api(client, name, stage, callback):
    raise unavailable("A transform within XLA's passes")


def clear_xla_transform_c_api(client, name, stage):
    return False
