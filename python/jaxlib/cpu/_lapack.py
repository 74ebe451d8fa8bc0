"""Names of LAPACK's routines as programs call them. The core has the routines themselves."""

import enum
import types

# Routine: for which types it is, as letters of LAPACK.
_REAL, _COMPLEX = ("s", "d"), ("c", "z")
_ROUTINES = {
    "trsm": (_REAL, _COMPLEX), "getrf": (_REAL, _COMPLEX), "geqrf": (_REAL, _COMPLEX),
    "geqp3": (_REAL, _COMPLEX), "orgqr": (_REAL, ()), "ungqr": ((), _COMPLEX), "ormqr": (_REAL, ()),
    "unmqr": ((), _COMPLEX), "potrf": (_REAL, _COMPLEX), "gesdd": (_REAL, _COMPLEX),
    "gesvd": (_REAL, _COMPLEX), "syevd": (_REAL, ()), "heevd": ((), _COMPLEX),
    "geev": (_REAL, _COMPLEX), "sytrd": (_REAL, ()), "hetrd": ((), _COMPLEX),
    "gees": (_REAL, _COMPLEX), "gehrd": (_REAL, _COMPLEX), "gtsv": (_REAL, _COMPLEX),
}


class InCore:
    """Stands for a target that the core has itself."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"<target {self.name} of xla-wasm>"


def registrations():
    names = [f"lapack_{letter}{routine}_ffi" for routine, kinds in _ROUTINES.items()
             for kind in kinds for letter in kind]
    return {name: InCore(name) for name in [*names, "tridiagonal_solve_perturbed_ffi"]}


def initialize():
    """Does nothing: there is no library to load."""


class _EigMode(enum.Enum):
    kComputeEigenvectors = ord("V")
    kNoEigenvectors = ord("N")


class _SchurMode(enum.Enum):
    kComputeSchurVectors = ord("V")
    kNoComputeSchurVectors = ord("N")


class _Sort(enum.Enum):
    kNoSortEigenvalues = ord("N")
    kSortEigenvalues = ord("S")


class _SvdMode(enum.Enum):
    kComputeFullUVt = ord("A")
    kComputeMinUVt = ord("S")
    kComputeVtOverwriteXPartialU = ord("O")
    kNoComputeUVt = ord("N")


eig = types.SimpleNamespace(ComputationMode=_EigMode)
schur = types.SimpleNamespace(ComputationMode=_SchurMode, Sort=_Sort)
svd = types.SimpleNamespace(ComputationMode=_SvdMode)
