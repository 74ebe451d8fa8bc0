"""The GPU kernels of the sparse module: this package has none."""


def registrations():
    """Returns the custom calls by platform."""
    return {"CUDA": [], "ROCM": []}


def batch_partitionable_targets():
    return []


_cusparse = _hipsparse = None
