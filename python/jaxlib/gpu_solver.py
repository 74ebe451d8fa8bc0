"""The GPU kernels of the solver module: this package has none."""


def registrations():
    """Returns the custom calls by platform."""
    return {"CUDA": [], "ROCM": []}


def batch_partitionable_targets():
    return []


def initialize_hybrid_kernels():
    """Does nothing."""


def has_magma():
    return False
