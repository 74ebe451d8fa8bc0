"""Options of compilation. They are kept, compared and serialized; the core has few of them."""

import copy
import enum
import json

import numpy as np

from .._proto import bytes_field, int_field, packed_field
from .errors import status_error


class AutotuneCacheMode(enum.Enum):
    UNSPECIFIED = 0
    UPDATE = 1
    READ = 2


class DeviceAssignment:
    """Which device each partition of each replica runs on."""

    def __init__(self, array):
        self._array = np.array(array, np.int32)

    @staticmethod
    def create(array, /):
        return DeviceAssignment(array)

    def replica_count(self):
        return self._array.shape[0]

    def computation_count(self):
        return self._array.shape[1]

    def __repr__(self):
        replicas, computations = self._array.shape
        parts = "".join(
            f"Computation{i}{{{' '.join(str(d) for d in self._array[:, i])}}} "
            for i in range(computations)).rstrip()
        counts = f"replica_count={replicas}, computation_count={computations}"
        return f"DeviceAssignment{{{counts}, {parts}}}"

    def __eq__(self, other):
        return isinstance(other, DeviceAssignment) and np.array_equal(self._array, other._array)

    def serialize(self):
        """Returns a DeviceAssignmentProto."""
        replicas, computations = self._array.shape
        out = int_field(1, replicas) + int_field(2, computations)
        for i in range(computations):
            out += bytes_field(3, packed_field(1, self._array[:, i]))
        return out


class _Options:
    """Named values with defaults; others are refused, as by a class with those properties."""

    _defaults = {}

    def __init__(self):
        object.__setattr__(self, "_values", {})

    def __getattr__(self, name):
        if name.startswith("__") or name not in type(self)._defaults:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        values = self.__dict__["_values"]
        if name not in values:
            values[name] = copy.deepcopy(type(self)._defaults[name])
        return values[name]

    def __setattr__(self, name, value):
        if name not in type(self)._defaults:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._values[name] = value

    def __dir__(self):
        return [*object.__dir__(self), *type(self)._defaults]

    def _changed(self):
        return {name: value for name, value in self._values.items()
                if value != type(self)._defaults[name]}


_OPTION_TYPES = {
    "xla_backend_optimization_level": 3, "xla_cpu_enable_fast_math": False,
    "xla_cpu_enable_xprof_traceme": False, "xla_cpu_fast_math_honor_division": True,
    "xla_cpu_fast_math_honor_functions": True, "xla_cpu_fast_math_honor_infs": True,
    "xla_cpu_fast_math_honor_nans": True, "xla_detailed_logging": True,
    "xla_disable_hlo_passes": "", "xla_dump_compress_protos": False,
    "xla_dump_disable_metadata": False, "xla_dump_fusion_visualization": False,
    "xla_dump_hlo_as_dot": False, "xla_dump_hlo_as_html": False,
    "xla_dump_hlo_as_long_text": True, "xla_dump_hlo_as_proto": False,
    "xla_dump_hlo_as_text": False, "xla_dump_hlo_as_url": False, "xla_dump_hlo_module_re": "",
    "xla_dump_hlo_pass_re": "", "xla_dump_hlo_pipeline_re": "", "xla_dump_hlo_snapshots": False,
    "xla_dump_max_hlo_modules": -1, "xla_dump_module_metadata": False, "xla_dump_to": "",
    "xla_enable_dumping": True, "xla_enable_hlo_passes_only": "",
    "xla_force_host_platform_device_count": 1, "xla_gpu_cuda_data_dir": "./cuda_sdk_lib",
    "xla_gpu_dump_autotune_logs_to": "", "xla_gpu_dump_autotune_results_to": "",
    "xla_gpu_enable_fast_min_max": False,
    "xla_gpu_enable_llvm_module_compilation_parallelism": False,
    "xla_gpu_experimental_autotune_cache_mode": AutotuneCacheMode.UPDATE,
    "xla_gpu_kernel_cache_file": "", "xla_gpu_load_autotune_results_from": "",
    "xla_gpu_per_fusion_autotune_cache_dir": "", "xla_llvm_disable_expensive_passes": False,
    "xla_test_all_input_layouts": False,
}


class DebugOptions(_Options):
    _defaults = _OPTION_TYPES

    def __repr__(self):
        return "".join(f"{name}: {value}\n" for name, value in sorted(self._changed().items()))


class ExecutableBuildOptions(_Options):
    _defaults = {
        "allow_spmd_sharding_propagation_to_output": [False],
        "allow_spmd_sharding_propagation_to_parameters": [False],
        "auto_spmd_partitioning_mesh_ids": [], "auto_spmd_partitioning_mesh_shape": [],
        "device_assignment": None, "exec_time_optimization_effort": 0.0, "fdo_profile": b"",
        "memory_fitting_effort": 0.0, "memory_fitting_level": 0, "num_partitions": 1,
        "num_replicas": 1, "optimization_level": 0, "result_layout": None,
        "use_auto_spmd_partitioning": False, "use_shardy_partitioner": False,
        "use_spmd_partitioning": False, "debug_options": None,
    }

    def __init__(self):
        super().__init__()
        self._values["debug_options"] = DebugOptions()

    def __repr__(self):
        return ("ExecutableBuildOptions{device_ordinal=-1, result_layout=nullopt, "
                f"num_replicas={self.num_replicas}}}")

    def compilation_environments_from_serialized_proto(self, serialized, /):
        """Does nothing: the core has no compilation environments."""


class CompileOptions(_Options):
    _defaults = {
        "argument_layouts": None, "parameter_is_tupled_arguments": False,
        "compile_portable_executable": False, "executable_build_options": None,
        "env_option_overrides": [], "num_replicas": 1, "num_partitions": 1, "profile_version": 0,
        "device_assignment": None,
    }
    # These are those of the build options.
    _SHARED = ("num_replicas", "num_partitions", "device_assignment")

    def __init__(self):
        super().__init__()
        self._values["executable_build_options"] = ExecutableBuildOptions()

    def __getattr__(self, name):
        if name in CompileOptions._SHARED:
            return getattr(self.executable_build_options, name)
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        if name in CompileOptions._SHARED:
            setattr(self.executable_build_options, name, value)
        elif name == "env_option_overrides":
            self._values[name] = _checked_overrides(value)
        else:
            super().__setattr__(name, value)

    def _state(self):
        build = self.executable_build_options
        own = {k: v for k, v in self._changed().items() if k != "executable_build_options"}
        others = {k: v for k, v in build._changed().items() if k != "debug_options"}
        if isinstance(others.get("device_assignment"), DeviceAssignment):
            others["device_assignment"] = others["device_assignment"]._array.tolist()
        if "fdo_profile" in others:
            others["fdo_profile"] = others["fdo_profile"].hex()
        own.pop("argument_layouts", None)
        others.pop("result_layout", None)
        debug = {k: getattr(v, "name", v) for k, v in build.debug_options._changed().items()}
        return {"own": own, "build": others, "debug": debug}

    def SerializeAsString(self):
        """Returns bytes that ParseFromString takes back; they are the same for equal options."""
        return json.dumps(self._state(), sort_keys=True).encode()

    @staticmethod
    def ParseFromString(data, /):
        state = json.loads(data)
        options = CompileOptions()
        for name, value in state["own"].items():
            setattr(
                options,
                name,
                [tuple(v) for v in value] if name == "env_option_overrides" else value,
            )
        for name, value in state["build"].items():
            if name == "device_assignment":
                value = DeviceAssignment(value)
            elif name == "fdo_profile":
                value = bytes.fromhex(value)
            setattr(options.executable_build_options, name, value)
        for name, value in state["debug"].items():
            if name == "xla_gpu_experimental_autotune_cache_mode" and isinstance(value, str):
                value = AutotuneCacheMode[value]
            setattr(options.executable_build_options.debug_options, name, value)
        return options

    def __getstate__(self):
        return (self.SerializeAsString(),)

    def __setstate__(self, state):
        other = CompileOptions.ParseFromString(state[0])
        object.__setattr__(self, "_values", other._values)

    def __deepcopy__(self, memo):
        return CompileOptions.ParseFromString(self.SerializeAsString())


def _checked_overrides(pairs):
    return sorted(((str(name), value) for name, value in pairs), key=lambda pair: pair[0])


# Options beside XLA's flags, by their types.
_OTHERS = {
    "exec_time_optimization_effort": float,
    "memory_fitting_effort": float,
    "optimization_level": int,
    "memory_fitting_level": int,
    "num_replicas": int,
    "num_partitions": int,
    "use_spmd_partitioning": bool,
    "use_shardy_partitioner": bool,
    "use_auto_spmd_partitioning": bool,
}
_FLAGS = {"xla_embed_ir_in_executable": bool}


def check_overrides(pairs):
    """Refuses options of compilation that XLA has not, or whose value is of another type."""
    for name, value in pairs:
        if name in _OTHERS:
            kind = _OTHERS[name]
        elif name.startswith("xla_"):
            kind = _FLAGS.get(name) or type(_OPTION_TYPES.get(name, value))
        else:
            raise status_error("INVALID_ARGUMENT", f"No such compile option: {name!r}")
        if (
            kind is bool
            and not isinstance(value, bool)
            and str(value).lower() not in ("true", "false", "0", "1")
        ):
            raise status_error("INVALID_ARGUMENT",
                               f"While setting option {name}, {value!r} is not a valid bool value.")
