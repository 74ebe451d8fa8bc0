"""Devices, their memories, and lists of them. All are simulated: they share one core."""

import gc

from .errors import status_error

_MEMORIES = (
    ("device", "CpuDeviceMemory", "CPU_DEVICE"),
    ("pinned_host", "PinnedHostMemory", "PINNED_HOST"),
    ("unpinned_host", "UnpinnedHostMemorySpace", "UNPINNED_HOST"),
)
MEMORY_KINDS = tuple(kind for kind, _, _ in _MEMORIES)


class Memory:
    """A kind of memory of a device. The kinds differ by name only."""

    def __init__(self, device, number, kind, name, short_name):
        self._device = device
        self._id = number
        self.kind = kind
        self.platform = device.platform
        self.process_index = 0
        self._name = name
        self._short_name = short_name

    def __str__(self):
        return f"{self._name}(id={self._id}, process_index=0, client=cpu)"

    def __repr__(self):
        return f"{self._short_name}_{self._id}"

    def addressable_by_devices(self):
        """Returns devices that can address this memory."""
        return [self._device]


class Device:
    """A descriptor of an available device.

    Subclasses are used to represent specific types of devices, e.g. CPUs, GPUs.
    Subclasses may have additional properties specific to that device type.
    """

    process_index = host_id = task_id = 0
    platform = device_kind = "cpu"

    def __init__(self, client, number):
        self.client = client
        self.id = number
        self.local_hardware_id = number
        self._memories = [Memory(self, number * len(_MEMORIES) + i, *row)
                          for i, row in enumerate(_MEMORIES)]

    def __str__(self):
        return f"cpu:{self.id}"

    def __repr__(self):
        return f"CpuDevice(id={self.id})"

    def __reduce__(self):
        raise TypeError("cannot pickle 'Device' object")

    def __deepcopy__(self, memo):
        return self

    __copy__ = None

    def memory(self, kind):
        for memory in self._memories:
            if memory.kind == kind:
                return memory
        raise status_error(
            "INVALID_ARGUMENT",
            "Could not find memory addressable by device cpu. Device cpu can address the following "
            f"memory kinds: {', '.join(MEMORY_KINDS)}. Got memory kind: {kind}")

    def default_memory(self):
        """Returns the default memory of a device."""
        return self._memories[0]

    def addressable_memories(self):
        """Returns all the memories that a device can address."""
        return list(self._memories)

    def live_buffers(self):
        return [x for x in self.client.live_arrays() if self in x.sharding.device_set]

    def memory_stats(self):
        """Returns None: the devices share the memory of one core."""
        return None

    def get_stream_for_external_ready_events(self):
        raise status_error("UNIMPLEMENTED", "Devices of the CPU have no streams.")

    def poison_execution(self, launch_id, error):
        return False


del Device.__copy__


class DeviceList:
    """An immutable list of devices, which knows its hash."""

    __slots__ = ("_devices", "_hash", "__weakref__")

    def __init__(self, devices, /):
        if not isinstance(devices, tuple):
            raise TypeError(f"DeviceList takes a tuple of devices; got {type(devices)}")
        self._devices = devices
        self._hash = None

    def __hash__(self):
        if self._hash is None:
            self._hash = hash(self._devices)
        return self._hash

    def __eq__(self, other):
        if self is other:
            return True
        return isinstance(other, DeviceList) and self._devices == other._devices

    def __ne__(self, other):
        return not self == other

    def __len__(self):
        return len(self._devices)

    def __getitem__(self, index):
        return self._devices[index]

    def __iter__(self):
        return iter(self._devices)

    def __str__(self):
        return str(self._devices)

    __repr__ = __str__

    def __getstate__(self):
        return (self._devices,)

    def __setstate__(self, state):
        self.__init__(state[0])

    @property
    def is_fully_addressable(self):
        return True

    @property
    def addressable_device_list(self):
        return self

    @property
    def process_indices(self):
        return {d.process_index for d in self._devices}

    @property
    def default_memory_kind(self):
        return MEMORY_KINDS[0] if self._devices else None

    @property
    def memory_kinds(self):
        return MEMORY_KINDS if self._devices else ()

    @property
    def device_kind(self):
        if not self._devices:
            raise ValueError("DeviceList is empty")
        return self._devices[0].device_kind


def live_objects(kind):
    """Returns all objects of a class that the garbage collector knows."""
    return [x for x in gc.get_objects() if type(x) is kind]
