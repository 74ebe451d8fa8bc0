"""The names of jaxlib's extension module, from the modules that hold them."""

from . import (  # noqa: F401
    config,
    ffi,
    guard_lib,
    hlo_sharding_util,
    ifrt_programs,
    jax_jit,
    mlir,
    pytree,
)
from .array import (  # noqa: F401, E402
    Array,
    ArrayCopySemantics,
    ArrayImpl,
    ArrayMeta,
    HostBufferSemantics,
    ResultHandler,
    array_result_handler,
    batched_block_until_ready,
    batched_copy_array_to_devices_with_sharding,
    batched_device_put,
    get_internal_device_put_info,
    reorder_shards,
    set_tracer_class,
)
from .array import (
    make_error_array as _make_error_array,
)
from .client import Client, CompileOnlyPyClient, get_tfrt_cpu_client  # noqa: F401, E402
from .device import Device, DeviceList, Memory  # noqa: F401, E402
from .distributed import (  # noqa: F401
    CpuCollectives,
    DeviceTopology,
    DistributedRuntimeClient,
    DistributedRuntimeService,
    MpiCollectives,
    PreemptionSyncManager,
    TransferConnection,
    TransferServer,
    TransferServerInterfaceFactory,
    create_preemption_sync_manager,
    get_c_api_client,
    get_c_api_topology,
    get_default_c_api_topology,
    get_distributed_runtime_client,
    get_distributed_runtime_service,
    get_topology_for_devices,
    initialize_pjrt_plugin,
    load_pjrt_plugin,
    make_gloo_tcp_collectives,
    make_mpi_collectives,
    make_transfer_server_interface_factory,
    pjrt_plugin_initialized,
    pjrt_plugin_loaded,
    start_transfer_server,
)
from .dlpack import (  # noqa: F401, E402
    buffer_to_dlpack_managed_tensor,
    cuda_array_interface_to_buffer,
    dlpack_managed_tensor_to_buffer,
)
from .errors import JaxRuntimeError  # noqa: F401
from .executable import (  # noqa: F401, E402
    CompiledMemoryStats,
    Executable,
    ExecuteResults,
    LoadedExecutable,
    PjRtLayout,
    ShardedToken,
    Token,
    get_execution_stream_id,
    hlo_module_cost_analysis,
    set_execution_stream_id,
)
from .ffi import (  # noqa: F401, E402
    custom_call_targets,
    encode_inspect_sharding_callback,
    register_custom_call_as_batch_partitionable,
    register_custom_call_partitioner,
    register_custom_call_target,
    register_custom_type,
)
from .misc import (  # noqa: F401
    RuntimeTracebackMode,
    add_exclude_path,
    approx_top_k_reduction_output_size,
    collect_garbage,
    ifrt_version_number,
    is_asan,
    is_msan,
    is_optimized_build,
    is_sanitized,
    is_tsan,
    set_send_traceback_to_runtime_global,
    set_send_traceback_to_runtime_thread_local,
)
from .options import (  # noqa: F401, E402
    AutotuneCacheMode,
    CompileOptions,
    DebugOptions,
    DeviceAssignment,
    ExecutableBuildOptions,
)
from .partition_spec import (  # noqa: F401
    canonicalize_partition,
    canonicalize_partitions,
    set_pspec_unconstrained,
)
from .pjit import PjitFunction, PjitFunctionCache, pjit  # noqa: F401
from .pprof import json_to_pprof_profile, pprof_profile_to_json  # noqa: F401
from .pytree import PyTreeDef  # noqa: F401
from .pytree import PyTreeRegistry as _PyTreeRegistry  # noqa: F401
from .sharding import (  # noqa: F401, E402
    GSPMDSharding,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    check_and_canonicalize_memory_kind,
)
from .traceback import (  # noqa: F401
    Frame,
    Traceback,
    TracebackScope,
    set_tracebacks_enabled,
    tracebacks_enabled,
)
from .values import (  # noqa: F401
    canonicalize_value,
    register_canonicalize_value_handler,
    set_invalid_input_exception,
    set_typed_complex_type,
    set_typed_float_type,
    set_typed_int_type,
    set_typed_ndarray_type,
    set_valid_dtypes,
)
