"""DLPack: arrays of other packages in the CPU's memory, and ours as such."""

import ctypes
import math

import ml_dtypes
import numpy as np

from .._engine.storage import Storage
from .array import ArrayImpl, Buffer, _make_aval, make_single_device_sharding
from .errors import status_error

CPU = 1
# Codes of DLDataType, as (code, bits).
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_FLOATS = {
    "bfloat16": (4, 16), "float8_e3m4": (7, 8), "float8_e4m3": (8, 8), "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8), "float8_e4m3fnuz": (11, 8), "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8), "float8_e8m0fnu": (14, 8), "float4_e2m1fn": (17, 4),
}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


_NAME, _USED = b"dltensor", b"used_dltensor"
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_valid_of = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api)
)

# Bytes to which XLA wants the elements of an array aligned that it shares.
_ALIGNMENT = 64
# What capsules keep alive, by the address of their struct.
_alive = {}


@_DELETER
def _delete(address):
    _alive.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule):
    if _valid_of(capsule, _NAME):
        _delete(_pointer_of(capsule, _NAME))


def _code_of(dtype):
    if dtype.name in _FLOATS:
        return _FLOATS[dtype.name]
    if dtype.kind not in _CODES or dtype.name in ("int4", "uint4", "int2", "uint2"):
        raise status_error(
            "INVALID_ARGUMENT", f"XLA type {dtype.name.upper()} has no DLPack equivalent"
        )
    return _CODES[dtype.kind], dtype.itemsize * 8


def buffer_to_dlpack_managed_tensor(buffer, stream=None):
    """Returns a capsule of an array on one device: of a copy of its elements on the host."""
    if not isinstance(buffer, ArrayImpl):
        raise status_error(
            "INVALID_ARGUMENT",
            f"buffer_to_dlpack_managed_tensor needs an array; got {type(buffer)}",
        )
    if stream is not None:
        raise status_error("INVALID_ARGUMENT", "stream is not supported on the CPU")
    if buffer.is_deleted():
        raise status_error("INVALID_ARGUMENT", "DLPack tensor of a deleted buffer")
    value = np.ascontiguousarray(buffer._storage().read())
    code, bits = _code_of(value.dtype)
    shape = (ctypes.c_int64 * max(value.ndim, 1))(*value.shape)
    strides = (ctypes.c_int64 * max(value.ndim, 1))(*(s // value.itemsize for s in value.strides))
    managed = _Managed(
        _Tensor(value.ctypes.data, CPU, 0, value.ndim, code, bits, 1, shape, strides, 0),
        None,
        _delete,
    )
    address = ctypes.addressof(managed)
    _alive[address] = (managed, shape, strides, value)
    return _new(address, _NAME, ctypes.cast(_destroy, ctypes.c_void_p))


def _dtype_of(code, bits):
    for name, pair in _FLOATS.items():
        if pair == (code, bits):
            return np.dtype(getattr(ml_dtypes, name))
    for kind, number in _CODES.items():
        if number == code and bits % 8 == 0:
            return np.dtype("bool") if kind == "b" else np.dtype(f"{kind}{bits // 8}")
    raise status_error(
        "UNIMPLEMENTED", f"DLPack type of code {code} with {bits} bits is not supported"
    )


def dlpack_managed_tensor_to_buffer(dlpack, device, stream=None, copy=None, dl_device_type=None):
    """Returns an array with a copy of a capsule's elements, on a device.

    With `copy` False elements are copied all the same, as no other memory can be the core's; where
    XLA would have to copy, because of their alignment, that is an error.
    """
    if not _valid(dlpack, _NAME):
        raise status_error(
            "INVALID_ARGUMENT",
            'DLPack tensor must be a capsule with name "dltensor", got "used_dltensor". '
            "Note that a DLPack tensor may be consumed at most once.",
        )
    address = _pointer(dlpack, _NAME)
    managed = _Managed.from_address(address)
    tensor = managed.tensor
    if tensor.device_type != CPU:
        raise status_error(
            "INVALID_ARGUMENT", "only tensors in the CPU's memory can be imported here"
        )
    if tensor.lanes != 1:
        raise status_error("UNIMPLEMENTED", "DLPack types with lanes != 1 not implemented")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    dtype = _dtype_of(tensor.code, tensor.bits)
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    else:
        strides = tuple(math.prod(shape[i + 1:]) * dtype.itemsize for i in range(tensor.ndim))
    start = (tensor.data or 0) + tensor.byte_offset
    if copy is False and start % _ALIGNMENT:
        raise status_error("INVALID_ARGUMENT", "Can't create a view of buffer with unaligned data, "
                           f"ptr: {start:#x} is not aligned to {_ALIGNMENT} bytes. ")
    if math.prod(shape):
        extent = sum((n - 1) * abs(s) for n, s in zip(shape, strides)) + dtype.itemsize
        memory = (ctypes.c_char * extent).from_address(start)
        value = np.ndarray(shape, dtype, memory, 0, strides)
    else:
        value = np.empty(shape, dtype)
    storage = Storage.of(value)
    _rename(dlpack, _USED)
    if managed.deleter:
        managed.deleter(address)
    return ArrayImpl._of_buffers(_make_aval(shape, dtype), make_single_device_sharding(device),
                                 [Buffer(storage)], False)


def cuda_array_interface_to_buffer(cai, gpu_backend=None, device_id=None):
    raise status_error("UNIMPLEMENTED", "Arrays on GPUs cannot be imported here.")
