"""Names of targets of linear algebra on the CPU."""

import numpy as np

from .cpu import _lapack
from .cpu._lapack import eig, schur  # noqa: F401

LAPACK_DTYPE_PREFIX = {np.float32: "s", np.float64: "d", np.complex64: "c", np.complex128: "z"}


def registrations():
    return {"cpu": [(name, value, int(name.endswith("_ffi")))
                    for name, value in _lapack.registrations().items()]}


def batch_partitionable_targets():
    return [name for name in _lapack.registrations() if name.endswith("_ffi")]


def prepare_lapack_call(fn_base, dtype):
    """Returns the name of a target."""
    return build_lapack_fn_target(fn_base, dtype)


def build_lapack_fn_target(fn_base, dtype):
    prefix = LAPACK_DTYPE_PREFIX.get(np.dtype(dtype).type)
    if prefix is None:
        raise NotImplementedError(f"Unsupported dtype {dtype}.")
    return f"lapack_{prefix}{fn_base}"
