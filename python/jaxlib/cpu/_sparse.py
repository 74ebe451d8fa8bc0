"""Targets of sparse products on the CPU."""

from ._lapack import InCore


def registrations():
    name = "cpu_csr_sparse_dense_ffi"
    return {name: InCore(name)}
