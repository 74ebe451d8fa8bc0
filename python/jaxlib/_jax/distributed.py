"""Parts of runtimes of several processes, plugins and other platforms: each raises when used."""

from .errors import unavailable


def _class(name, what):
    def __init__(self, *args, **kwargs):
        raise unavailable(what)

    members = {"__init__": __init__, "__module__": "jaxlib._jax", "__doc__": f"{what}."}
    return type(name, (), members)


def _function(name, what):
    def f(*args, **kwargs):
        raise unavailable(what)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Raises: {what[0].lower()}{what[1:]} is not available."
    return f


_PROCESSES = "A runtime of several processes"
_TRANSFER = "A server of transfers between processes"
_PLUGIN = "A PJRT plugin"
_TOPOLOGY = "Compilation for a topology of another platform"

CpuCollectives = _class("CpuCollectives", _PROCESSES)
MpiCollectives = _class("MpiCollectives", _PROCESSES)
DistributedRuntimeClient = _class("DistributedRuntimeClient", _PROCESSES)
DistributedRuntimeService = _class("DistributedRuntimeService", _PROCESSES)
PreemptionSyncManager = _class("PreemptionSyncManager", _PROCESSES)
TransferConnection = _class("TransferConnection", _TRANSFER)
TransferServer = _class("TransferServer", _TRANSFER)
TransferServerInterfaceFactory = _class("TransferServerInterfaceFactory", _TRANSFER)
DeviceTopology = _class("DeviceTopology", _TOPOLOGY)

make_gloo_tcp_collectives = _function("make_gloo_tcp_collectives", _PROCESSES)
make_mpi_collectives = _function("make_mpi_collectives", _PROCESSES)
get_distributed_runtime_client = _function("get_distributed_runtime_client", _PROCESSES)
get_distributed_runtime_service = _function("get_distributed_runtime_service", _PROCESSES)
create_preemption_sync_manager = _function("create_preemption_sync_manager", _PROCESSES)
start_transfer_server = _function("start_transfer_server", _TRANSFER)
make_transfer_server_interface_factory = _function(
    "make_transfer_server_interface_factory", _TRANSFER)
load_pjrt_plugin = _function("load_pjrt_plugin", _PLUGIN)
initialize_pjrt_plugin = _function("initialize_pjrt_plugin", _PLUGIN)
get_c_api_client = _function("get_c_api_client", _PLUGIN)
get_default_c_api_topology = _function("get_default_c_api_topology", _TOPOLOGY)
get_c_api_topology = _function("get_c_api_topology", _TOPOLOGY)
get_topology_for_devices = _function("get_topology_for_devices", _TOPOLOGY)


def pjrt_plugin_loaded(plugin_name, /):
    return False


def pjrt_plugin_initialized(plugin_name, /):
    return False
