"""Compiled programs, and their runs."""

import hashlib
import json
import math
import re

import numpy as np

from .._engine import get_engine
from .._engine.dtypes import DTYPES
from .._engine.storage import OrderedStorage, Storage, next_number
from . import callbacks
from .array import (
    ArrayImpl,
    Buffer,
    ResultHandler,
    _make_aval,
    host_storage,
    make_single_device_sharding,
)
from .errors import status_error
from .ffi import inspectors, make_buffers
from .hlo_sharding import HloSharding
from .signature import Signature
from .traceback import Traceback

_CALLBACK = re.compile(r"xla_(?:ffi|buffer)(?:_partitioned)?_python_cpu_callback")


class PjRtLayout:
    """An order of dimensions in memory."""

    def __init__(self, minor_to_major):
        self._minor_to_major = tuple(minor_to_major)

    @staticmethod
    def default(rank):
        return PjRtLayout(range(rank - 1, -1, -1))

    def __str__(self):
        return "{" + ",".join(map(str, self._minor_to_major)) + "}"

    def __eq__(self, other):
        return isinstance(other, PjRtLayout) and self._minor_to_major == other._minor_to_major

    def __hash__(self):
        return hash(self._minor_to_major)

    def _xla_layout(self):
        from jaxlib import _hlo

        return _hlo.Layout(self._minor_to_major)

    def __getstate__(self):
        return (str(self),)

    def __setstate__(self, state):
        self._minor_to_major = tuple(int(d) for d in re.findall(r"\d+", state[0].split(":")[0]))


class CompiledMemoryStats:
    """Bytes that a program needs on each device."""

    _FIELDS = ("generated_code", "argument", "output", "alias", "temp")

    def __init__(self):
        for name in self._FIELDS:
            setattr(self, f"{name}_size_in_bytes", 0)
            setattr(self, f"host_{name}_size_in_bytes", 0)
        self.peak_memory_in_bytes = 0
        self.serialized_buffer_assignment_proto = b""

    def __str__(self):
        names = [f"{where}{name}_size_in_bytes" for where in ("", "host_") for name in self._FIELDS]
        return f"CompiledMemoryStats({', '.join(f'{n}={getattr(self, n)}' for n in names)})"

    __repr__ = __str__


def _token_storage():
    """Returns the elements that stand for a token: none."""
    return Storage(np.dtype(bool), (0,), np.zeros(0, bool))


class Token:
    """Stands for the end of a run on a device."""

    def __init__(self, storage):
        self._storage = storage

    def block_until_ready(self):
        if self._storage is not None:
            self._storage.wait()


class ShardedToken:
    """Stands for the end of a run on all devices."""

    def __init__(self, storage):
        self._storage = storage

    def block_until_ready(self):
        Token(self._storage).block_until_ready()

    def get_token(self, index, /):
        return Token(self._storage)


class ExecuteResults:
    """Results of a run, to be taken once, from the first on."""

    def __init__(self, executable, storages):
        self._executable = executable
        self._storages = storages
        self._taken = 0

    def __len__(self):
        return len(self._storages) - self._taken

    def _take(self, count):
        if self._storages is None:
            raise status_error("INTERNAL", "ExecuteResults already exploded")
        start = self._taken
        if start + count > len(self._storages):
            raise status_error(
                "INVALID_ARGUMENT",
                f"In prefix disassembly: {count} > {len(self._storages) - start}",
            )
        self._taken += count
        return range(start, start + count)

    def _single(self, number):
        storage = self._storages[number]
        aval = _make_aval(storage.shape, storage.dtype)
        out = []
        for i, device in enumerate(self._executable._devices):
            buffer = Buffer(storage) if i == 0 else out[0]._whole.share()
            out.append(
                ArrayImpl._of_buffers(aval, make_single_device_sharding(device), [buffer], False)
            )
        return out

    def disassemble_into_single_device_arrays(self):
        return [self._single(i) for i in self._take(len(self))]

    def disassemble_prefix_into_single_device_arrays(self, count, /):
        return [self._single(i) for i in self._take(count)]

    def consume_with_handlers(self, out_handlers, strict=True):
        """Returns what handlers make of results: a ResultHandler of the whole, another of parts."""
        if strict and len(out_handlers) != len(self):
            raise status_error(
                "INTERNAL", f"Mismatched number of handlers: {len(out_handlers)} vs {len(self)}")
        out = []
        for handler, number in zip(out_handlers, self._take(len(out_handlers))):
            if isinstance(handler, ResultHandler):
                out.append(handler.of_storage(self._storages[number]))
            else:
                out.append(handler(self._single(number)))
        return out

    def consume_token(self):
        return ShardedToken(self._executable._last_result(self._storages))


class Executable:
    """A compiled program that is not loaded: what a topology of devices would give."""

    def __init__(self, loaded):
        self._loaded = loaded

    def __getattr__(self, name):
        if name.startswith("_") or name.startswith("execute"):
            raise AttributeError(name)
        return getattr(self._loaded, name)


class LoadedExecutable:
    """A program that the core has compiled."""

    def __init__(self, client, source, devices, options, host_callbacks=()):
        self.client = client
        self._devices = list(devices)
        self._num_devices = len(self._devices)
        self._first_device = self._devices[0]
        self._options = options
        self._host_callbacks = list(host_callbacks)
        self._kept = []
        self._known_shardings = None
        self._source = source
        self._donated = []
        self._parameter_orders = self._result_orders = {}
        if isinstance(source, str):
            if "mhlo.layout_mode" in source:
                signature = Signature(source)
                self._parameter_orders = signature.orders(signature.parameters)
                self._result_orders = signature.orders(signature.results)
            if "tf.aliasing_output" in source or "jax.buffer_donor" in source:
                self._donated = Signature(source).donated()
            self._data, self._waits = self._prepare_text(source)
        else:
            self._data, self._waits = source, True
        self._generation = -1
        self._number = None
        self.traceback = Traceback.get_traceback()
        self._compile(get_engine())
        if isinstance(source, str) and self._num_devices > 1:
            self._tell_shardings(source, is_whole=self._about["partitions"] == 1)

    def _prepare_text(self, source):
        """Returns the text to compile as bytes, and whether runs call Python."""
        waits = bool(self._host_callbacks) or bool(_CALLBACK.search(source)) or (
            callbacks.may_call_python(source))
        if callbacks.BUFFERS in source:
            make_buffers(source, self._host_callbacks)
        return source.encode("utf-8", "surrogateescape"), waits

    def _tell_shardings(self, source, is_whole):
        """Tells inspectors the shardings that they ask for, and callbacks of shards theirs."""
        from .propagation import INSPECT, PARTITIONED, seen_shardings

        if f"@{INSPECT}" not in source and f"@{PARTITIONED}" not in source:
            return
        for target, number, shardings in seen_shardings(source):
            if target == INSPECT:
                inspectors[number](shardings[0])
            elif is_whole:
                self._host_callbacks[number] = callbacks.of_shards(
                    self._host_callbacks[number], self._devices, shardings)

    def _compile(self, engine):
        number = next_number()
        callbacks.programs[number] = self._host_callbacks
        about = engine.call("compile", number, data=self._data)
        self._number = number
        self._generation = engine.generation
        self._about = about
        self._result_types = [
            (DTYPES[r["type"]], tuple(r["dims"])) if r["type"] >= 0 else None
            for r in about["results"]
        ]
        self._waits = self._waits or None in self._result_types

    def __del__(self):
        number = getattr(self, "_number", None)
        if number is None:
            return
        callbacks.programs.pop(number, None)
        try:
            engine = get_engine()
            if engine.generation == self._generation:
                engine.free_program(number)
        except (TypeError, ImportError):  # Python ends.
            pass

    # Runs.

    def _run(self, storages):
        """Runs with a storage for each argument. Returns those of the results."""
        engine = get_engine()
        engine.alive()
        if self._generation != engine.generation:
            self._compile(engine)
        puts = []
        args = [storage.place(engine, puts) for storage in storages]
        results = [next_number() for _ in self._result_types]
        donated = []
        for i in self._donated:
            storage = storages[i]
            if args.count(args[i]) > 1:
                raise status_error(
                    "INVALID_ARGUMENT",
                    "Attempt to donate the same buffer twice in Execute() (flattened argument "
                    f"{i}, replica 0). Toy example for this bug: `f(donate(a), a)` or "
                    "`f(donate(a), donate(a))`.",
                )
            if storage.users == 1:
                donated.append(args[i])
                storage.number = None
        generation = engine.generation
        out = [Storage(kind[0], kind[1], None, number, generation) if kind else _token_storage()
               for kind, number in zip(self._result_types, results)]
        for i, order in self._result_orders.items():
            out[i] = OrderedStorage(order, *self._result_types[i], None, results[i], generation)
        if self._waits:
            with callbacks.running():
                engine.execute(self._number, args, donated, results, puts, 1)
        else:
            engine.execute(self._number, args, donated, results, puts, 0)
        return out

    def _execute_fast(self, arrays):
        """Runs with arrays; returns the storage of each result."""
        storages = []
        for x in arrays:
            whole = x._whole
            storages.append(x._storage() if whole is None or whole.deleted else whole.storage)
        out = self._run(storages)
        for i in self._donated:
            arrays[i].delete()
        return out

    def execute_sharded(self, arguments, with_tokens=False, launch_id=None):
        return ExecuteResults(self, self._execute_fast(list(arguments)))

    def execute(self, arguments):
        return [x for x in ExecuteResults(self, self._execute_fast(list(arguments)))
                .disassemble_into_single_device_arrays()]

    def _last_result(self, storages):
        return storages[-1] if storages else None

    def _put(self, value, sharding):
        """Returns an array of a value of the host, for an argument."""
        from . import values

        dtype, shape, weak_type = values.argument_signature(value, values.enable_x64())
        return ArrayImpl._of(_make_aval(tuple(shape), dtype, weak_type), sharding,
                             host_storage(value, dtype), False)

    # What is known of it.

    def local_devices(self):
        return list(self._devices)

    def get_hlo_text(self):
        return get_engine().call("text", self._current())

    def _current(self):
        engine = get_engine()
        engine.alive()
        if self._generation != engine.generation:
            self._compile(engine)
        return self._number

    def serialize(self):
        """Returns bytes for Client.deserialize_executable: the program, which is compiled again."""
        source = self._source
        about = {
            "text": isinstance(source, str),
            "options": self._options.SerializeAsString().decode(),
            "devices": [d.id for d in self._devices],
        }
        head = json.dumps(about).encode()
        body = source.encode("utf-8", "surrogateescape") if isinstance(source, str) else source
        return b"xla-wasm\0" + len(head).to_bytes(4, "little") + head + body

    def size_of_generated_code_in_bytes(self):
        return int(self._about["memory"]["generatedCode"])

    def get_compiled_memory_stats(self):
        stats, memory = CompiledMemoryStats(), self._about["memory"]
        stats.generated_code_size_in_bytes = int(memory["generatedCode"])
        stats.argument_size_in_bytes = int(memory["arguments"])
        stats.output_size_in_bytes = int(memory["results"])
        donated = sum(self._parameter_bytes(i) for i in self._donated)
        stats.alias_size_in_bytes = min(int(memory["aliases"]), donated)
        stats.temp_size_in_bytes = int(memory["temporaries"])
        stats.peak_memory_in_bytes = (
            stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
            + stats.temp_size_in_bytes)
        return stats

    def _parameter_bytes(self, number):
        about = self._about["parameters"][number]
        return math.prod(about["dims"]) * DTYPES[about["type"]].itemsize

    def hlo_modules(self):
        from jaxlib import _hlo

        return [_hlo.hlo_module_from_text(self.get_hlo_text())]

    def get_output_memory_kinds(self):
        if not isinstance(self._source, str) or "mhlo.memory_kind" not in self._source:
            return [["device"] * len(self._result_types)]
        found = [
            re.search(r'mhlo\.memory_kind = "(\w+)"', part)
            for part in Signature(self._source).results
        ]
        return [[kind.group(1) if kind else "device" for kind in found]]

    def _shardings(self, which):
        if self._num_devices == 1:
            return None
        if self._known_shardings is None:
            if isinstance(self._source, str):
                from .propagation import shardings_of

                self._known_shardings = shardings_of(self._source)
            else:
                whole = HloSharding.replicate()
                self._known_shardings = ([whole] * len(self._about["parameters"]),
                                         [whole] * len(self._result_types))
        return [sharding.to_proto() for sharding in self._known_shardings[which]]

    def get_output_shardings(self):
        return self._shardings(1)

    def get_parameter_shardings(self):
        return self._shardings(0)

    def get_parameter_layouts(self):
        return self._layouts("parameters", self._parameter_orders)

    def get_output_layouts(self):
        return self._layouts("results", self._result_orders)

    def _layouts(self, which, orders):
        return [PjRtLayout(orders[i]) if i in orders else PjRtLayout.default(len(about["dims"]))
                for i, about in enumerate(self._about[which])]

    def keep_alive(self, value, /):
        self._kept.append(value)

    def cost_analysis(self):
        """Returns the bytes that a run reads and writes, and operations as the text shows them."""
        from .costs import flops_of

        memory = self._about["memory"]
        text = self._source if isinstance(self._source, str) else ""
        return {"bytes accessed": float(memory["arguments"] + memory["results"]),
                "flops": float(flops_of(text))}

    @property
    def unsafe_executable_pointer(self):
        return self._number

    @property
    def fingerprint(self):
        return hashlib.sha256(self._data).hexdigest()[:32].encode()


_stream = 0


def get_execution_stream_id():
    return _stream


def set_execution_stream_id(number, /):
    """Keeps the number: runs follow each other in any case."""
    global _stream
    _stream = number


def hlo_module_cost_analysis(client, module, /):
    """Returns what LoadedExecutable.cost_analysis() does, of a module of HLO."""
    from .costs import flops_of

    return {"flops": float(flops_of(str(module)))}
