"""The client's names as JAX imports them, and registrations of custom calls by platform."""

import atexit
import contextlib
import enum
import logging
import threading

from . import _jax as _xla  # isort: skip  (the modules of _hlo belong to it)
from . import _hlo as hlo
from ._jax import (
    Array,  # noqa: F401
    ArrayCopySemantics,  # noqa: F401
    ArrayImpl,  # noqa: F401
    AutotuneCacheMode,  # noqa: F401
    Client,  # noqa: F401
    CompileOptions,  # noqa: F401
    Device,  # noqa: F401
    DeviceAssignment,  # noqa: F401
    DeviceList,  # noqa: F401
    DeviceTopology,  # noqa: F401
    Executable,  # noqa: F401
    Frame,  # noqa: F401
    GSPMDSharding,  # noqa: F401
    HostBufferSemantics,  # noqa: F401
    LoadedExecutable,
    Memory,  # noqa: F401
    NamedSharding,  # noqa: F401
    PjRtLayout,  # noqa: F401
    Sharding,  # noqa: F401
    SingleDeviceSharding,  # noqa: F401
    Traceback,  # noqa: F401
    TracebackScope,  # noqa: F401
    array_result_handler,  # noqa: F401
    batched_block_until_ready,  # noqa: F401
    batched_copy_array_to_devices_with_sharding,  # noqa: F401
    batched_device_put,  # noqa: F401
    check_and_canonicalize_memory_kind,  # noqa: F401
    custom_call_targets,  # noqa: F401
    encode_inspect_sharding_callback,  # noqa: F401
    get_topology_for_devices,  # noqa: F401
    hlo_sharding_util,  # noqa: F401
    ifrt_programs,  # noqa: F401
    initialize_pjrt_plugin,  # noqa: F401
    pjrt_plugin_initialized,  # noqa: F401
    pjrt_plugin_loaded,  # noqa: F401
    register_custom_call_as_batch_partitionable,  # noqa: F401
    register_custom_call_partitioner,  # noqa: F401
    reorder_shards,  # noqa: F401
)
from ._jax import JaxRuntimeError as XlaRuntimeError  # noqa: F401
from ._jax.errors import unavailable

# The version of the interface between jax and jaxlib, and that of IFRT.
_version = 467
_ifrt_version = _xla.ifrt_version_number

HloSharding = hlo.HloSharding
Layout = hlo.Layout
OpSharding = hlo.OpSharding
PrimitiveType = hlo.PrimitiveType
ProgramShape = hlo.ProgramShape
Shape = hlo.Shape
XlaComputation = hlo.XlaComputation

xla_platform_names = {"cpu": "Host", "gpu": "CUDA"}
logger = logging.getLogger(__name__)
_NameValueMapping = dict


def make_cpu_client(asynchronous=True, distributed_client=None, node_id=0, num_nodes=1,
                    collectives=None, num_devices=None, get_local_topology_timeout_minutes=None,
                    get_global_topology_timeout_minutes=None, transfer_server_factory=None):
    """Returns the client whose devices the core simulates."""
    register_custom_call_handler("cpu", _xla.register_custom_call_target)
    register_custom_type_handler("cpu", _xla.register_custom_type)
    return _xla.get_tfrt_cpu_client(
        asynchronous=asynchronous, distributed_client=distributed_client, node_id=node_id,
        num_nodes=num_nodes, collectives=collectives, num_devices=num_devices)


def make_tfrt_tpu_c_api_device_topology(topology_name="", **kwargs):
    return _xla.get_default_c_api_topology("tpu", topology_name, kwargs)


def make_c_api_device_topology(c_api, topology_name="", **kwargs):
    return _xla.get_c_api_topology(c_api, topology_name, kwargs)


def load_pjrt_plugin_dynamically(plugin_name, library_path):
    return _xla.load_pjrt_plugin(plugin_name, library_path, None)


def load_pjrt_plugin_with_c_api(plugin_name, c_api):
    return _xla.load_pjrt_plugin(plugin_name, None, c_api)


def make_c_api_client(plugin_name, options=None, distributed_client=None,
                      transfer_server_factory=None, force_dcn_cross_host_transfers=False,
                      sort_devices_by_process_index=True):
    return _xla.get_c_api_client(plugin_name, options or {}, distributed_client)


def generate_pjrt_gpu_plugin_options():
    raise unavailable("A GPU")


def _execute(self, arguments, device=None):
    results = self.execute_sharded(arguments)
    return [x[0] for x in results.disassemble_into_single_device_arrays()]


def _execute_with_token(self, arguments, device=None):
    results = self.execute_sharded(arguments, with_tokens=True)
    arrays = [x[0] for x in results.disassemble_into_single_device_arrays()]
    return arrays, results.consume_token().get_token(0)


LoadedExecutable.execute = _execute
LoadedExecutable.execute_with_token = _execute_with_token


class CustomCallTargetTraits(enum.IntFlag):
    """Promises of a custom call."""

    DEFAULT = 0
    COMMAND_BUFFER_COMPATIBLE = 1


class _Registrations:
    """Registrations that wait for a platform's handler, then go to it at once."""

    def __init__(self):
        self._lock = threading.Lock()
        self._handlers = {}
        self._waiting = {}

    def add(self, platform, *registration):
        with self._lock:
            handler = self._handlers.get(platform)
            if handler is None:
                self._waiting.setdefault(platform, []).append(registration)
                return
        handler(*registration)

    def set_handler(self, platform, handler):
        with self._lock:
            if self._handlers.setdefault(platform, handler) is not handler:
                logger.debug("%s has a handler of registrations already", platform)
                return
            waiting = self._waiting.pop(platform, ())
        for registration in waiting:
            handler(*registration)


_custom_calls = _Registrations()
_custom_types = _Registrations()


def _platform_name(platform):
    return xla_platform_names.get(platform, platform)


def register_custom_call_target(name, fn, platform="cpu", api_version=0,
                                traits=CustomCallTargetTraits.DEFAULT):
    """Registers the target of a custom call: its name, function, and version of the interface."""
    platform = _platform_name(platform)
    _custom_calls.add(platform, name, fn, platform, api_version, traits)


def register_custom_call_handler(platform, handler):
    """Gives a platform's registrations, past and future, to a function. The first handler stays."""
    _custom_calls.set_handler(_platform_name(platform), handler)


def register_custom_type(type_name, type_id, platform="cpu"):
    """Registers a type of the FFI."""
    _custom_types.add(_platform_name(platform), type_name, type_id)


def register_custom_type_handler(platform, handler):
    """Gives a platform's registrations of types to a function. The first handler stays."""
    _custom_types.set_handler(_platform_name(platform), handler)


@contextlib.contextmanager
def execution_stream_id(new_id):
    """Sets this thread's identity of executions within the context."""
    saved = _xla.get_execution_stream_id()
    _xla.set_execution_stream_id(new_id)
    try:
        yield
    finally:
        _xla.set_execution_stream_id(saved)


atexit.register(_xla.collect_garbage)
