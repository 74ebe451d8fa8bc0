"""Values that JAX takes as arguments: their types, shapes and canonical forms."""

import numpy as np

from .._engine.dtypes import DTYPES, NUMBERS
from ..weakref_lru_cache import weak_key_weak_value_cache
from .errors import status_error

_NARROW = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (("int64", "int32"), ("uint64", "uint32"), ("float64", "float32"),
                         ("complex128", "complex64"))
}
# Those of arrays on devices, and C's names for some.
_SCALAR_TYPES = [dtype.type for dtype in DTYPES] + [
    np.dtype(name).type for name in ("longlong", "intc", "ulonglong", "uintc")]

_enable_x64 = None


def set_enable_x64_state(config):
    global _enable_x64
    _enable_x64 = config


def enable_x64():
    """Returns whether 64-bit types are kept."""
    if _enable_x64 is None:
        raise RuntimeError("enable_x64_state is not set")
    return _enable_x64.value


def canonical_dtype(dtype, x64):
    """Returns dtype, or the 32-bit type of its kind where 64-bit types are off."""
    return dtype if x64 else _NARROW.get(dtype, dtype)


# Signatures: a function of a value and the x64 option for each type, that returns
# (dtype, shape, weak_type).


def _python_scalar(wide):
    wide = np.dtype(wide)
    signatures = {x64: (canonical_dtype(wide, x64), (), True) for x64 in (False, True)}
    return lambda x, x64: signatures[x64]


def _numpy_scalar(dtype):
    signatures = {x64: (canonical_dtype(dtype, x64), (), False) for x64 in (False, True)}
    return lambda x, x64: signatures[x64]


def _ndarray(x, x64):
    dtype = x.dtype
    if dtype not in NUMBERS:
        raise status_error("INVALID_ARGUMENT", f"Unknown NumPy dtype {dtype}")
    return canonical_dtype(dtype, x64), x.shape, False


def _typed_scalar(x, x64):
    return np.dtype(x.dtype), (), True


def _typed_ndarray(x, x64):
    return x.val.dtype, x.val.shape, bool(x.weak_type)


_signatures = {
    bool: _python_scalar("bool"),
    int: _python_scalar("int64"),
    float: _python_scalar("float64"),
    complex: _python_scalar("complex128"),
    np.ndarray: _ndarray,
}
for _type in _SCALAR_TYPES:
    _signatures[_type] = _numpy_scalar(np.dtype(_type))


def register_array_type(array_type, signature):
    """Makes arrays of a type canonical values; `signature` returns (dtype, shape, weak_type)."""
    _signatures[array_type] = signature
    register_canonicalize_value_handler(array_type, None)


def argument_signature(x, x64):
    """Returns (dtype, shape, weak_type) of an argument, or raises if it is no array or scalar."""
    signature = _signatures.get(type(x))
    if signature is None:
        for base in type(x).__mro__:
            signature = _signatures.get(base)
            if signature is not None:
                break
        else:
            raise status_error(
                "INVALID_ARGUMENT",
                "Not supported: The C++ ToPyArgSignature only accepts "
                "JAX Arrays, Numpy arrays and scalars of supported types "
                f"(see implementation), or Python scalars. Got type {type(x)}",
            )
    return signature(x, x64)


# Canonical values.

_handlers = {bool: None}
_valid_dtypes = None
_invalid_input = None
_typed_ndarray_type = None
_UNKNOWN = object()


def set_valid_dtypes(dtypes, /):
    global _valid_dtypes
    _valid_dtypes = dtypes


def set_invalid_input_exception(exception, /):
    global _invalid_input
    _invalid_input = exception


def register_canonicalize_value_handler(type, handler):
    """Registers a handler for canonicalizing a value of a specific type; None: the identity."""
    _handlers[type] = handler


def set_typed_int_type(cls, /):
    def canonicalize(x):
        bits = 64 if enable_x64() else 32
        if not -(1 << bits - 1) <= x < 1 << bits - 1:
            raise OverflowError(f"Python int {x} too large to convert to int{bits}")
        return cls(x, np.dtype(f"int{bits}"))

    _set_typed_type(cls, int, canonicalize)


def set_typed_float_type(cls, /):
    wide = np.dtype("float64")
    _set_typed_type(cls, float, lambda x: cls(x, canonical_dtype(wide, enable_x64())))


def set_typed_complex_type(cls, /):
    wide = np.dtype("complex128")
    _set_typed_type(cls, complex, lambda x: cls(x, canonical_dtype(wide, enable_x64())))


def _set_typed_type(cls, python_type, canonicalize):
    _handlers[python_type] = canonicalize
    _handlers[cls] = None
    _signatures[cls] = _typed_scalar


def _check_dtype(dtype):
    if _valid_dtypes is None:
        raise RuntimeError("valid_dtypes is not set")
    if dtype not in _valid_dtypes:
        raise TypeError(
            f"Dtype {dtype} is not a valid JAX array type. Only arrays of numeric types are "
            "supported by JAX."
        )


def _canonicalize_array(x):
    dtype = x.dtype
    _check_dtype(dtype)
    canonical = canonical_dtype(dtype, enable_x64())
    return _typed_ndarray_type(x if canonical == dtype else x.astype(canonical))


def _canonicalize_scalar(x):
    dtype = x.dtype
    _check_dtype(dtype)
    canonical = canonical_dtype(dtype, enable_x64())
    return _typed_ndarray_type(x if canonical == dtype else np.array(x, dtype=canonical))


def set_typed_ndarray_type(cls, /):
    global _typed_ndarray_type
    _typed_ndarray_type = cls
    _handlers[np.ndarray] = weak_key_weak_value_cache(_canonicalize_array)
    _handlers[np.generic] = _canonicalize_scalar
    _handlers[cls] = None
    _signatures[cls] = _typed_ndarray


def canonicalize_value(x, /):
    """Returns the value of a type that JAX knows: a typed scalar or array for Python's, NumPy's."""
    t = type(x)
    handler = _handlers.get(t, _UNKNOWN)
    if handler is _UNKNOWN:
        for base in t.__mro__:
            handler = _handlers.get(base, _UNKNOWN)
            if handler is not _UNKNOWN:
                _handlers[t] = handler
                break
        else:
            _refuse(x)
    return x if handler is None else handler(x)


def _refuse(x):
    if hasattr(x, "__jax_array__"):
        raise ValueError(
            "Triggering __jax_array__() during abstractification is no longer"
            " supported. To avoid this error, either explicitly convert your object"
            " using jax.numpy.array(), or register your object as a pytree."
        )
    if _invalid_input is None:
        raise RuntimeError("invalid_input_exception not initialized")
    raise _invalid_input(f"Argument '{x}' of type {type(x)} is not a valid JAX type.")
