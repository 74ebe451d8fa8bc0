"""Shardings: which device holds which part of an array. JAX adds the methods."""

from .device import MEMORY_KINDS, DeviceList


def check_and_canonicalize_memory_kind(memory_kind, device_list):
    """Returns the memory kind, or the default for None. Raises ValueError if devices lack it."""
    if memory_kind is None:
        return device_list.default_memory_kind
    kinds = device_list.memory_kinds
    if memory_kind in kinds or not len(device_list):
        return memory_kind
    kind = device_list.device_kind
    raise ValueError(
        f"Could not find memory addressable by device {kind}. Device {kind} can address the "
        "following "
        f"memory kinds: {', '.join(kinds)}. Got memory kind: {memory_kind}"
    )


class Sharding:
    """The base of all shardings."""

    def __init__(self):
        pass


_check_pspec = None


def _checked_pspec(mesh, spec):
    global _check_pspec
    if _check_pspec is None:
        from jax._src.named_sharding import check_pspec

        _check_pspec = check_pspec
    _check_pspec(mesh, spec)


class NamedSharding(Sharding):
    """A mesh, and the axes of it that divide each dimension."""

    def __init__(self, mesh, spec, memory_kind=None, _logical_device_ids=None):
        if mesh is None or spec is None:
            raise TypeError(f"Unexpected None passed as {'mesh' if mesh is None else 'spec'} for "
                            "NamedSharding.__init__")
        self.mesh = mesh
        self.spec = spec
        devices = mesh._internal_device_list
        if devices is not None:
            memory_kind = check_and_canonicalize_memory_kind(memory_kind, devices)
        elif memory_kind is not None and memory_kind not in MEMORY_KINDS:
            raise ValueError(f"Got invalid memory kind: {memory_kind}. Valid memory kinds are: "
                             f"{', '.join(MEMORY_KINDS)}")
        self._memory_kind = memory_kind
        self._logical_device_ids = _logical_device_ids
        self._devices_or_none = devices
        self._hash = None
        self._num_devices = mesh.size
        _checked_pspec(mesh, spec)

    @property
    def _internal_device_list(self):
        if self._devices_or_none is None:
            from .errors import status_error

            raise status_error("INVALID_ARGUMENT", "internal_device_list is not implemented for "
                               "`jax.sharding.AbstractMesh`")
        return self._devices_or_none

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, NamedSharding):
            return False
        return (self.mesh == other.mesh and self.spec == other.spec
                and self._memory_kind == other._memory_kind
                and self._logical_device_ids == other._logical_device_ids)

    def __hash__(self):
        if self._hash is None:
            self._hash = hash((self.mesh, self.spec, self._memory_kind, self._logical_device_ids))
        return self._hash


class SingleDeviceSharding(Sharding):
    """The whole array on one device."""

    def __init__(self, device, memory_kind=None):
        self._device = device
        self._device_list = DeviceList((device,))
        self._memory_kind = check_and_canonicalize_memory_kind(memory_kind, self._device_list)

    @property
    def _internal_device_list(self):
        return self._device_list


class GSPMDSharding(Sharding):
    """Devices, and a sharding in XLA's form."""

    def __init__(self, devices, op_sharding, memory_kind=None):
        from jaxlib import _hlo

        if not isinstance(devices, DeviceList):
            devices = DeviceList(tuple(devices))
        if isinstance(op_sharding, _hlo.OpSharding):
            op_sharding = _hlo.HloSharding.from_proto(op_sharding)
        self._devices = devices
        self._hlo_sharding = op_sharding
        self._memory_kind = check_and_canonicalize_memory_kind(memory_kind, devices)

    @property
    def _internal_device_list(self):
        return self._devices
