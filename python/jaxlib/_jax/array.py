"""Arrays on devices: `ArrayImpl`, to which JAX adds most methods, and what makes them.

An array is a list of buffers, one for each device of its sharding, or one buffer with all elements.
Programs take and return the second form. One form is computed from the other on demand.
"""

import enum
import math

import numpy as np

from .._engine.storage import Storage, assemble
from . import guard_lib
from .device import live_objects
from .errors import status_error
from .sharding import SingleDeviceSharding


class ArrayCopySemantics(enum.IntEnum):
    ALWAYS_COPY = 0
    REUSE_INPUT = 1
    DONATE_INPUT = 2


class HostBufferSemantics(enum.Enum):
    IMMUTABLE_ONLY_DURING_CALL = 0
    IMMUTABLE_UNTIL_TRANSFER_COMPLETES = 1
    ZERO_COPY = 2


class Buffer:
    """An array's part on a device. Arrays that share one are deleted together.

    It may share its storage.
    """

    __slots__ = ("storage", "deleted", "pinned")

    def __init__(self, storage):
        self.storage = storage
        self.deleted = False
        self.pinned = False

    def share(self):
        """Returns another buffer of the same elements."""
        self.storage.users += 1
        return Buffer(self.storage)

    def delete(self):
        if not self.deleted:
            self.deleted = True
            self._drop()

    def _drop(self):
        storage = self.storage
        storage.users -= 1
        if not storage.users:
            storage.free()

    def __del__(self):
        if not self.deleted:
            self.storage.users -= 1


_tracer_class = None


def set_tracer_class(cls, /):
    global _tracer_class
    _tracer_class = cls


class ArrayMeta(type):
    """Makes tracers of arrays instances of `Array`."""

    def __instancecheck__(self, x):
        if type.__instancecheck__(self, x):
            return True
        if self is Array and _tracer_class is not None and isinstance(x, _tracer_class):
            is_traced = getattr(x, "_is_traced_array", None)
            return bool(is_traced()) if is_traced is not None else False
        return False


class Array(metaclass=ArrayMeta):
    pass


_single_device_sharding = None


def make_single_device_sharding(device, memory_kind=None):
    """Returns JAX's sharding of one device."""
    global _single_device_sharding
    if _single_device_sharding is None:
        try:
            from jax._src.sharding_impls import make_single_device_sharding as make
        except ImportError:
            make = SingleDeviceSharding
        _single_device_sharding = make
    return _single_device_sharding(device, memory_kind=memory_kind)


_shaped_array = None


def _make_aval(shape, dtype, weak_type=False):
    global _shaped_array
    if _shaped_array is None:
        from jax._src.core import ShapedArray

        _shaped_array = ShapedArray
    return _shaped_array(shape, dtype, weak_type=weak_type)


def _partial_axes(sharding):
    """Returns the axes of a mesh along which devices hold parts of a sum."""
    return getattr(getattr(sharding, "spec", None), "unreduced", None) or ()


def _places_of(sharding):
    """Returns the place of each device along the partial axes."""
    mesh = sharding.mesh
    places = np.indices(tuple(mesh.shape.values())).reshape(len(mesh.shape), -1)
    chosen = [mesh.axis_names.index(axis) for axis in sorted(_partial_axes(sharding))]
    return [tuple(int(places[axis][i]) for axis in chosen) for i in range(places.shape[1])]


def _holds_sum(sharding):
    """Returns for each device whether it holds the sum that those along partial axes share.

    The first does.
    """
    return [not any(place) for place in _places_of(sharding)]


def _boxes_of(sharding, shape):
    """Returns (device, starts, sizes) of each addressable device, in order."""
    boxes = []
    if _partial_axes(sharding):
        sharding = sharding.update(spec=sharding.spec.update(unreduced=frozenset()))
    for device, index in sharding.addressable_devices_indices_map(shape).items():
        if index is None:
            index = ()
        starts, sizes = [], []
        for i, dim in enumerate(shape):
            part = index[i] if i < len(index) else slice(None)
            start, stop, _ = part.indices(dim)
            starts.append(start)
            sizes.append(stop - start)
        boxes.append((device, tuple(starts), tuple(sizes)))
    return boxes


class ArrayImpl(Array):
    """An array on the devices of a sharding."""

    _jit_key = None  # What jit knows it by; see pjit.py.

    def __init__(self, aval, sharding, arrays, committed, _skip_checks=False):
        arrays = list(arrays)
        for x in arrays:
            if type(x) is not ArrayImpl:
                raise TypeError(f"Unsupported type for elements in `arrays`: {type(x)}")
            if x._sharding.num_devices != 1:
                raise ValueError(
                    "When making an array from single-device arrays the input arrays must "
                    "have one shard each. An argument array had "
                    f"{x._sharding.num_devices} shard(s)."
                )
        self._committed = committed
        self._npy_value = None
        self.aval = aval
        self._sharding = sharding
        if not _skip_checks or _enable_checks():
            arrays = self._check_and_rearrange([x._arrays[0] for x in arrays], sharding, aval)
        if len(arrays) == 1:
            self._whole = arrays[0]._whole_buffer()
            self._buffers = None
        else:
            self._whole = None
            self._buffers = [x._whole_buffer() for x in arrays]

    @classmethod
    def _of(cls, aval, sharding, storage, committed):
        """Returns the array whose elements, all of them, are in a storage."""
        self = cls.__new__(cls)
        self.aval = aval
        self._sharding = sharding
        self._committed = committed
        self._npy_value = None
        self._whole = Buffer(storage)
        self._buffers = None
        return self

    @classmethod
    def _of_buffers(cls, aval, sharding, buffers, committed):
        self = cls.__new__(cls)
        self.aval = aval
        self._sharding = sharding
        self._committed = committed
        self._npy_value = None
        if len(buffers) == 1:
            self._whole, self._buffers = buffers[0], None
        else:
            self._whole, self._buffers = None, buffers
        return self

    # Forms.

    def _is_single(self):
        return self._sharding.num_devices == 1

    def _shape_dtype(self):
        aval = self.aval
        return tuple(aval.shape), aval.dtype

    def _whole_buffer(self):
        """Returns the buffer of the whole array; assembles it from the devices' if need be."""
        if self._whole is None:
            self._check_buffers()
            shape, dtype = self._shape_dtype()
            buffers = self._buffers
            if _partial_axes(self._sharding):
                self._whole = Buffer(Storage.of(self._sum(shape, np.dtype(dtype))))
            elif self._sharding.is_fully_replicated:
                self._whole = buffers[0].share()
            else:
                boxes, seen = [], set()
                for buffer, (_, starts, sizes) in zip(buffers, _boxes_of(self._sharding, shape)):
                    if starts not in seen:
                        seen.add(starts)
                        boxes.append((buffer.storage, (0,) * len(shape), sizes, starts))
                self._whole = Buffer(assemble(np.dtype(dtype), shape, boxes))
        return self._whole

    def _sum(self, shape, dtype):
        """Returns the whole of an array whose parts are added along some axes."""
        total = np.zeros(shape, dtype)
        seen = {}
        for buffer, (_, starts, sizes), place in zip(
                self._buffers, _boxes_of(self._sharding, shape), _places_of(self._sharding)):
            if seen.setdefault((starts, place), buffer) is buffer:
                total[tuple(slice(a, a + n) for a, n in zip(starts, sizes))] += (
                    buffer.storage.read()
                )
        return total

    def _device_buffers(self):
        """Returns the buffer of each device."""
        if self._buffers is None:
            if self._is_single():
                return [self._whole]
            shape, dtype = self._shape_dtype()
            whole, made, buffers = self._whole, {}, []
            holds = _holds_sum(self._sharding) if _partial_axes(self._sharding) else None
            for i, (_, starts, sizes) in enumerate(_boxes_of(self._sharding, shape)):
                if holds and not holds[i]:
                    buffers.append(Buffer(Storage.of(np.zeros(sizes, dtype))))
                    continue
                if sizes == shape:
                    buffers.append(whole.share())
                    continue
                first = made.get(starts)
                if first is None:
                    made[starts] = first = Buffer(
                        assemble(
                            np.dtype(dtype),
                            sizes,
                            [(whole.storage, starts, sizes, (0,) * len(shape))],
                        )
                    )
                    buffers.append(first)
                else:
                    buffers.append(first.share())
            self._buffers = buffers
        return self._buffers

    def _check_buffers(self):
        if self.is_deleted():
            raise status_error("INVALID_ARGUMENT", "Array has been deleted.")

    def _storage(self):
        """Returns the storage of the whole array."""
        whole = self._whole
        if whole is None or whole.deleted:
            self._check_buffers()
            whole = self._whole_buffer()
        return whole.storage

    # What JAX asks for.

    @property
    def _arrays(self):
        """One array for each device."""
        if self._whole is None and self._buffers is None:
            return None
        if self._is_single():
            return [self._view(self._whole, next(iter(self._sharding._internal_device_list)),
                               tuple(self.aval.shape))]
        devices = self._sharding._internal_device_list
        shape = self._sharding.shard_shape(tuple(self.aval.shape))
        return [self._view(buffer, device, shape)
                for buffer, device in zip(self._device_buffers(), devices)]

    @_arrays.setter
    def _arrays(self, arrays):
        if arrays is None:
            self._whole = self._buffers = None
            return
        buffers = [x._whole_buffer() for x in arrays]
        if len(buffers) == 1:
            self._whole, self._buffers = buffers[0], None
        else:
            self._whole, self._buffers = None, buffers

    def _view(self, buffer, device, shape):
        aval = _make_aval(shape, self.aval.dtype, self.aval.weak_type)
        sharding = make_single_device_sharding(device, self._sharding.memory_kind)
        return ArrayImpl._of_buffers(aval, sharding, [buffer], self._committed)

    def _fully_replicated_shard(self):
        """Returns the part on the first device, which is the whole."""
        self._check_buffers()
        if self._whole is not None:
            buffer = self._whole
        else:
            buffer = self._buffers[0]
        return self._view(buffer, self._sharding._internal_device_list[0], tuple(self.aval.shape))

    def _single_device_array_to_np_array_did_copy(self):
        self._check_buffers()
        if guard_lib.guards_transfers():
            guard_lib.check_transfer("device_to_host", lambda: f"shape={tuple(self.aval.shape)}, "
                                     f"dtype={self.aval.dtype}, device=cpu")
        buffer = self._whole if self._whole is not None else self._buffers[0]
        buffer.pinned = True
        value = buffer.storage.read().view()
        return value, True

    def _copy_single_device_array_to_host_async(self):
        self._check_buffers()

    def _replace_with(self, other):
        """Takes the elements of another array, which both then have."""
        self.aval = other.aval
        self._sharding = other._sharding
        self._committed = other._committed
        self._npy_value = None
        self._whole, self._buffers = other._whole, other._buffers
        self._jit_key = None
        self.__dict__.pop("addressable_shards", None)

    def _rewrap_with_aval_and_sharding(self, aval, sharding):
        if self.is_deleted():
            raise ValueError("_rewrap_with_aval_and_sharding() called on deleted or donated buffer")
        return ArrayImpl._of_buffers(aval, sharding, list(self._device_buffers()), True)

    def delete(self):
        for buffer in self._all_buffers():
            buffer.delete()
        self._whole = self._buffers = None
        self._npy_value = None

    def _all_buffers(self):
        buffers = list(self._buffers or ())
        if self._whole is not None:
            buffers.append(self._whole)
        return buffers

    def is_deleted(self):
        whole = self._whole
        if whole is not None:
            return whole.deleted
        return self._buffers is None or any(buffer.deleted for buffer in self._buffers)

    def is_ready(self):
        self._check_buffers()
        return True

    def block_until_ready(self):
        if self.is_deleted():
            raise status_error("INVALID_ARGUMENT",
                               "BlockHostUntilReady() called on deleted or donated buffer")
        for buffer in [self._whole] if self._whole is not None else self._buffers:
            buffer.storage.wait()
        return self

    def clone(self):
        self._check_buffers()
        if self._whole is not None:
            return ArrayImpl._of_buffers_or_whole(self, self._whole.share())
        return ArrayImpl._of_buffers(
            self.aval, self._sharding, [b.share() for b in self._buffers], self._committed)

    @classmethod
    def _of_buffers_or_whole(cls, other, whole):
        self = cls.__new__(cls)
        self.aval, self._sharding, self._committed = other.aval, other._sharding, other._committed
        self._npy_value = None
        self._whole, self._buffers = whole, None
        return self

    def platform(self):
        return "cpu"

    @property
    def traceback(self):
        return None

    @property
    def _pjrt_layout(self):
        from .executable import PjRtLayout

        self._check_buffers()
        order = self._layout_key
        return PjRtLayout.default(len(self.aval.shape)) if order is None else PjRtLayout(order)

    @property
    def _layout_key(self):
        """The order of dimensions that was asked for, minor to major, or None."""
        first = self._whole or (self._buffers or (None,))[0]
        return first and first.storage.order

    def on_device_size_in_bytes(self):
        """Returns the total global on-device size of the array in bytes."""
        self._check_buffers()
        shape = self._sharding.shard_shape(tuple(self.aval.shape))
        return math.prod(shape) * np.dtype(self.aval.dtype).itemsize * self._sharding.num_devices

    def unsafe_buffer_pointer(self):
        """Returns an address: that of the copy on the host, which stays as long as the buffer."""
        self._check_buffers()
        if self._sharding.num_devices != 1:
            raise status_error("INVALID_ARGUMENT",
                               "unsafe_buffer_pointer() is supported only for unsharded arrays.")
        self._whole.pinned = True
        return self._whole.storage.read().__array_interface__["data"][0]

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("__cuda_array_interface__ is only defined for NVidia GPU buffers.")

    def __buffer__(self, flags):
        """Python 3.12 and later: the buffer protocol, of one device."""
        if self._sharding.num_devices != 1:
            raise BufferError(
                "Python buffer protocol is only defined for buffers on a single device."
            )
        return memoryview(self._value)


def _enable_checks():
    from jax._src import config

    return config.enable_checks.value


# ---- Making arrays ----

_device_put_info = {
    "device_put_with_device": 0, "device_put_with_sharding": 0, "device_put_fully_replicated": 0,
    "device_put_batched": 0, "device_put_assembled": 0,
}


def get_internal_device_put_info():
    """Returns how often arrays were put in each way, for tests."""
    return dict(_device_put_info)


def _host_value(x, dtype):
    """Returns a value of the host as a NumPy array of the dtype."""
    inner = getattr(x, "val", None)
    if inner is not None and not isinstance(x, (np.ndarray, np.generic)):
        x = inner
    return np.asarray(x, dtype=dtype)


def host_storage(x, dtype):
    dtype = np.dtype(dtype)
    if dtype.names:  # float0, whose elements have no values.
        return Storage.of(np.zeros(np.shape(x), bool))
    return Storage.of(_host_value(x, dtype))


def _shard_buffer(x, dtype, shape, device, force_copy):
    """Returns the buffer of a value on one device."""
    if isinstance(x, ArrayImpl):
        if x.sharding.num_devices > 1 and not x.sharding.is_fully_replicated:
            raise status_error("INVALID_ARGUMENT",
                               "Expected an array on a single device; got one with several shards")
        x._check_buffers()
        whole = x._whole_buffer()
        same = next(iter(x.sharding._internal_device_list)) is device
        return whole if same and not force_copy else whole.share()
    return Buffer(host_storage(x, dtype))


def batched_device_put(aval, sharding, xs, devices, committed=True, force_copy=False,
                       host_buffer_semantics=HostBufferSemantics.ZERO_COPY, enable_x64=None):
    """Returns an array of values, one for each device."""
    if len(xs) != len(devices):
        raise ValueError(f"Argument sizes (xs and devices) must match {len(devices)} vs {len(xs)}")
    _device_put_info["device_put_with_sharding"] += 1
    if guard_lib.guards_transfers():
        for x in xs:
            guard_lib.check_transfer(
                "device_to_device" if isinstance(x, ArrayImpl) else "host_to_device",
                lambda: f"aval={aval!r}, dst_sharding={sharding!r}")
    dtype = aval.dtype
    buffers, made = [], {}
    for x, device in zip(xs, devices):
        known = made.get(id(x)) if len(xs) > 1 else None
        if known is not None:
            buffers.append(known.share())
            continue
        buffer = _shard_buffer(x, dtype, aval.shape, device, force_copy)
        made[id(x)] = buffer
        buffers.append(buffer)
    return ArrayImpl._of_buffers(aval, sharding, buffers, committed)


def reorder_shards(x, dst_sharding, array_copy_semantics):
    """Returns the array with its parts in the order of another sharding's devices."""
    if x.is_deleted():
        raise status_error("INVALID_ARGUMENT", "Reorder() called on deleted or donated buffer")
    devices = list(x.sharding._internal_device_list)
    new = list(dst_sharding._internal_device_list)
    if len(devices) != len(new):
        raise status_error(
            "INVALID_ARGUMENT",
            f"Array is expected to have {len(new)} addressable shards, "
            f"but has {len(devices)} addressable shards",
        )
    by_device = dict(zip(devices, x._device_buffers()))
    if set(devices) != set(new):
        raise status_error(
            "INVALID_ARGUMENT", "Array is expected to have shards on the same devices"
        )
    buffers = [by_device[device] for device in new]
    if array_copy_semantics == ArrayCopySemantics.ALWAYS_COPY:
        buffers = [buffer.share() for buffer in buffers]
    return ArrayImpl._of_buffers(x.aval, dst_sharding, buffers, x._committed)


def batched_copy_array_to_devices_with_sharding(arrays, device_lists, shardings, semantics, /):
    """Returns copies on other devices, part by part."""
    results = []
    for x, devices, sharding, how in zip(arrays, device_lists, shardings, semantics):
        if x.is_deleted():
            raise status_error("INVALID_ARGUMENT", "Array has been deleted.")
        source = x.sharding._internal_device_list
        if len(source) != len(devices):
            raise status_error(
                "INVALID_ARGUMENT",
                f"Cannot copy an array of {len(source)} shards to {len(devices)} devices",
            )
        same = (source == devices and how == ArrayCopySemantics.REUSE_INPUT
                and x.sharding.memory_kind == sharding.memory_kind)
        if not same and guard_lib.guards_transfers():
            guard_lib.check_transfer(
                "device_to_device", lambda x=x, s=sharding: f"aval={x.aval!r}, dst_sharding={s!r}")
        if same and x.sharding == sharding:
            results.append(x)
            continue
        if x._whole is not None and len(source) > 1:
            whole = x._whole if same else x._whole.share()
            copy = ArrayImpl._of_buffers_or_whole(x, whole)
            copy._sharding = sharding
        else:
            buffers = [b if same else b.share() for b in x._device_buffers()]
            copy = ArrayImpl._of_buffers(x.aval, sharding, buffers, x._committed)
        copy._committed = x._committed
        if how == ArrayCopySemantics.DONATE_INPUT:
            x.delete()
        results.append(copy)
    return results


class ResultHandler:
    """Makes the results of a program arrays of a type and a sharding."""

    __slots__ = ("aval", "sharding", "committed", "skip_checks", "_wrappers")

    def __init__(self, aval, sharding, committed, skip_checks, wrappers=()):
        self.aval = aval
        self.sharding = sharding
        self.committed = committed
        self.skip_checks = skip_checks
        self._wrappers = wrappers

    def __call__(self, arg, /):
        if isinstance(arg, ArrayImpl):
            self._check(arg)
            out = ArrayImpl._of_buffers_or_whole(arg, arg._whole)
            out._buffers = arg._buffers
            out.aval, out._sharding, out._committed = self.aval, self.sharding, self.committed
        elif isinstance(arg, (list, tuple)):
            for x in arg:
                if not isinstance(x, ArrayImpl):
                    raise TypeError(
                        f"Expected a single PyArray or a sequence of PyArrays, got {type(arg)}")
            out = ArrayImpl(self.aval, self.sharding, arg, self.committed,
                            _skip_checks=self.skip_checks)
        else:
            raise TypeError(f"Expected a single PyArray or a sequence of PyArrays, got {type(arg)}")
        return self._wrapped(out)

    def _check(self, arg):
        if self.skip_checks and not _enable_checks():
            return
        if np.dtype(arg.aval.dtype) != self.aval.dtype:
            raise ValueError("Input buffers to `Array` must have matching dtypes. Got "
                             f"{arg.aval.dtype}, expected {self.aval.dtype} for buffer: {arg}")

    def _wrapped(self, out):
        for wrapper in self._wrappers:
            out = wrapper(out)
        return out

    def of_storage(self, storage):
        """Returns the array whose elements are in a storage."""
        out = ArrayImpl._of(self.aval, self.sharding, storage, self.committed)
        return self._wrapped(out) if self._wrappers else out

    def wrap(self, wrapper, /):
        return ResultHandler(self.aval, self.sharding, self.committed, self.skip_checks,
                             (*self._wrappers, wrapper))

    def pre_wrap(self, wrapper, /):
        return ResultHandler(self.aval, self.sharding, self.committed, self.skip_checks,
                             (wrapper, *self._wrappers))


def array_result_handler(aval, sharding, committed, _skip_checks=False):
    return ResultHandler(aval, sharding, committed, _skip_checks)


def batched_block_until_ready(arrays):
    """Waits for arrays."""
    for x in arrays:
        x.block_until_ready()


def live_arrays():
    return [x for x in live_objects(ArrayImpl) if not x.is_deleted()]


def make_error_array(client, aval, message, /):
    """Returns an array whose elements cannot be read: doing so raises an error."""
    sharding = make_single_device_sharding(client.devices()[0])
    return ArrayImpl._of(
        aval, sharding, _Failed(np.dtype(aval.dtype), tuple(aval.shape), message), False
    )


class _Failed(Storage):
    """The storage of an array that an error stands for."""

    __slots__ = ("message",)

    def __init__(self, dtype, shape, message):
        super().__init__(dtype, shape)
        self.message = message

    def read(self):
        raise status_error("INTERNAL", self.message)

    place = put = wait = lambda self, *args: self.read()


