"""The GPU kernels of the prng module: this package has none."""


def registrations():
    """Returns the custom calls by platform."""
    return {"CUDA": [], "ROCM": []}


def batch_partitionable_targets():
    return []
