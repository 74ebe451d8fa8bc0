"""The client: its devices, and what compiles programs for them."""

import json
import os
import re

from .._engine import get_engine
from .array import live_arrays
from .callbacks import TARGETS
from .device import Device, DeviceList, live_objects
from .errors import status_error
from .executable import Executable, LoadedExecutable, PjRtLayout
from .options import CompileOptions, check_overrides


class Client:
    """The simulated devices of one core."""

    platform = _raw_platform = platform_version = "cpu"
    runtime_type = "pjrt_ifrt"
    serialize_with_sdy = True

    def __init__(self, num_devices):
        self._devices = [Device(self, i) for i in range(num_devices)]
        engine = get_engine()  # Starts node, or says that it is not there.
        for target in TARGETS:
            engine.register_target(target)

    def __getattr__(self, name):
        raise AttributeError(f"Unknown attribute {name}")

    def __reduce__(self):
        raise TypeError("cannot pickle 'Client' object")

    @property
    def unsafe_client_pointer(self):
        return id(self)

    def device_count(self):
        return len(self._devices)

    def local_device_count(self):
        return len(self._devices)

    def devices(self):
        return list(self._devices)

    local_devices = _get_all_devices = devices

    def device_from_local_hardware_id(self, number, /):
        if 0 <= number < len(self._devices):
            return self._devices[number]
        raise status_error(
            "INVALID_ARGUMENT", f"No matching device found for local_hardware_id {number}"
        )

    def process_index(self):
        return 0

    host_id = task_id = process_index

    def live_executables(self):
        return [x for x in live_objects(LoadedExecutable) if x.client is self]

    def live_arrays(self):
        return live_arrays()

    live_buffers = live_arrays

    def compile(self, computation, executable_devices=None, compile_options=None, topology=None,
                host_callbacks=()):
        return Executable(self.compile_and_load(
            computation, executable_devices, compile_options, host_callbacks))

    def compile_and_load(
        self, computation, executable_devices, compile_options=None, host_callbacks=()
    ):
        """Compiles a module, its text, or its bytecode."""
        if isinstance(executable_devices, (list, tuple)):
            executable_devices = DeviceList(tuple(executable_devices))
        options = compile_options or CompileOptions()
        check_overrides(options.env_option_overrides)
        return LoadedExecutable(
            self, _source_of(computation), executable_devices, options, host_callbacks
        )

    def compile_ifrt_program(self, program, options, /):
        return Executable(self.compile_and_load_ifrt_program(program, options))

    def compile_and_load_ifrt_program(self, program, options, /):
        from .ifrt_programs import load

        return load(self, program, options)

    def serialize_executable(self, executable, /):
        return executable.serialize()

    def deserialize_executable(self, serialized, executable_devices=None, compile_options=None,
                               host_callbacks=()):
        """Compiles the program that LoadedExecutable.serialize() has kept."""
        head, _, rest = bytes(serialized).partition(b"\0")
        if head != b"xla-wasm":
            raise status_error(
                "INVALID_ARGUMENT", "these bytes are no serialized executable of this client"
            )
        size = int.from_bytes(rest[:4], "little")
        about, body = json.loads(rest[4:4 + size]), rest[4 + size:]
        options = compile_options or CompileOptions.ParseFromString(about["options"].encode())
        if executable_devices is None or not len(executable_devices):
            executable_devices = [self._devices[i] for i in about["devices"]]
        return LoadedExecutable(
            self,
            body.decode("utf-8", "surrogateescape") if about["text"] else body,
            executable_devices,
            options,
            host_callbacks,
        )

    def heap_profile(self):
        """Returns a profile of the arrays that live, for pprof."""
        from .pprof import heap_profile

        return heap_profile(self.live_arrays())

    def defragment(self):
        """Does nothing: the memory of a core moves nothing."""

    def dma_map(self, address, size):
        raise status_error("UNIMPLEMENTED", "DmaMap is not supported.")

    def dma_unmap(self, address):
        raise status_error("UNIMPLEMENTED", "DmaUnmap is not supported.")

    def make_python_callback_from_host_send_and_recv(self, *args, **kwargs):
        raise status_error(
            "UNIMPLEMENTED",
            "Callbacks by sends and receives are for TPUs; the CPU calls Python by FFI.",
        )

    def get_default_layout(self, dtype, shard_shape, device):
        return PjRtLayout.default(len(shard_shape))


def _source_of(computation):
    """Returns a program's text, or its bytes."""
    if isinstance(computation, bytes) and computation.startswith(b"ML\xefR"):
        from jaxlib.mlir import ir

        with ir.Context():
            return ir.Module.parse(computation)._text()
    if isinstance(computation, (str, bytes)):
        return computation
    text = getattr(computation, "_text", None)
    return text() if text is not None else str(computation)


def get_tfrt_cpu_client(asynchronous=True, distributed_client=None, node_id=0, num_nodes=1,
                        collectives=None, num_devices=None, get_local_topology_timeout_minutes=None,
                        get_global_topology_timeout_minutes=None, transfer_server_factory=None):
    """Returns a client with so many simulated devices: as XLA_FLAGS says, or one."""
    if distributed_client is not None or num_nodes > 1:
        raise status_error("UNIMPLEMENTED", "A runtime of several processes is not available here.")
    if num_devices is None:
        found = re.findall(
            r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", "")
        )
        num_devices = int(found[-1]) if found else 1
    return Client(num_devices)


class CompileOnlyPyClient(Client):
    """A client that compiles only: of topologies, which there are none of."""

    def __init__(self, *args):
        raise status_error(
            "UNIMPLEMENTED", "Compilation for a topology of another platform is not available here."
        )
