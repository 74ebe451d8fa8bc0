"""Element types: NumPy's, the core's and the numbers by which session.mjs knows them."""

import ml_dtypes
import numpy as np

# ORDER TYPE: the order of TYPES in session.mjs.
_NAMES = (
    ("pred", "bool"), ("s2", "int2"), ("s4", "int4"), ("s8", "int8"), ("s16", "int16"),
    ("s32", "int32"), ("s64", "int64"), ("u2", "uint2"), ("u4", "uint4"), ("u8", "uint8"),
    ("u16", "uint16"), ("u32", "uint32"), ("u64", "uint64"), ("f16", "float16"),
    ("bf16", "bfloat16"), ("f32", "float32"), ("f64", "float64"), ("c64", "complex64"),
    ("c128", "complex128"), ("f8e5m2", "float8_e5m2"), ("f8e4m3", "float8_e4m3"),
    ("f8e3m4", "float8_e3m4"), ("f8e4m3fn", "float8_e4m3fn"),
    ("f8e4m3b11fnuz", "float8_e4m3b11fnuz"), ("f8e5m2fnuz", "float8_e5m2fnuz"),
    ("f8e4m3fnuz", "float8_e4m3fnuz"), ("f8e8m0fnu", "float8_e8m0fnu"),
    ("f4e2m1fn", "float4_e2m1fn"),
)


def _dtype(name):
    own = getattr(ml_dtypes, name, None)
    return np.dtype(name if own is None else own)


DTYPES = tuple(_dtype(name) for _, name in _NAMES)
NUMBERS = {dtype: number for number, dtype in enumerate(DTYPES)}
CORE_NAMES = {dtype: core for dtype, (core, _) in zip(DTYPES, _NAMES)}


def number_of(dtype):
    """Returns the number of a dtype; raises TypeError for one that arrays cannot have."""
    number = NUMBERS.get(dtype)
    if number is None:
        number = NUMBERS.get(np.dtype(dtype).newbyteorder("="))
        if number is None:
            raise TypeError(f"{dtype} is no element type of arrays on devices")
    return number


# The core stores a narrow integer sign-extended to a byte. ml_dtypes fills the upper bits with the
# sign or with zeros.
_SIGNED = {np.dtype(ml_dtypes.int4): 4}
if hasattr(ml_dtypes, "int2"):
    _SIGNED[np.dtype(ml_dtypes.int2)] = 2
_UNSIGNED = {np.dtype(ml_dtypes.uint4): 15}
if hasattr(ml_dtypes, "uint2"):
    _UNSIGNED[np.dtype(ml_dtypes.uint2)] = 3


def to_bytes(array):
    """Returns the elements of a NumPy array as a flat array of bytes, row-major."""
    array = np.ascontiguousarray(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    data = array.reshape(-1).view(np.uint8)
    bits = _SIGNED.get(array.dtype)
    if bits:
        shift = 8 - bits
        return ((data << shift).view(np.int8) >> shift).view(np.uint8)
    mask = _UNSIGNED.get(array.dtype)
    return data & mask if mask else data
