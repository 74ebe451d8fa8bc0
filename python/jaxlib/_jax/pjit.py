"""Jitted functions: a cache from signatures of calls to compiled programs.

A call flattens its arguments and makes a key: the structure, the static arguments, and for each
leaf an object that stands for its type, shape, sharding and commitment. Equal descriptions of
leaves are one object, so that looking up the key compares identities. Below a key, programs are
told apart by the options that were set when they were compiled.

On a miss the Python function `cache_miss` traces and compiles; the data that it returns makes the
entry. An entry knows for each argument whether it goes to the program as it is.

What this module asks of the engine's classes:
- an array has `aval`, `sharding`, `_committed`, `is_deleted()` and `_jit_key`. This module sets
  `_jit_key`; the array resets it to None when its aval changes;
  `ArrayImpl._of(aval, sharding, handles, committed)` makes one;
- a sharding has `num_devices` and `device_set`, and a hash;
- an executable has `_num_devices`, `_first_device`, `_execute_fast(arrays)`, which returns the
  handles of each result, and `_put(value, sharding)`: an array of a NumPy array or a scalar of
  Python, NumPy or JAX on the one device, of a 32-bit type where 64-bit types are off.
"""

import collections
import inspect
import sys
import threading
import types
import weakref

from .. import _frames
from ..weakref_lru_cache import _finish, _wait
from . import config, guard_lib, jax_jit, misc, values
from .array import ArrayImpl
from .errors import JaxRuntimeError
from .pytree import _flatten
from .pytree_nodes import LEAF_NODE, nodes_equal, nodes_hash

_DEFAULT_CAPACITY = 4096
_PICKLE_VERSION = 1
# Descriptions of leaves, by their parts. Cleared when full: keys that hold old ones then miss.
_leaf_keys = {}
_MAX_LEAF_KEYS = 65536


class _LeafKey:
    """Stands for the type, shape, sharding and commitment of a leaf; hashed by identity."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = parts

    def __repr__(self):
        return repr(self.parts)


def _intern(parts):
    key = _leaf_keys.get(parts)
    if key is None:
        if len(_leaf_keys) >= _MAX_LEAF_KEYS:
            _leaf_keys.clear()
        key = _leaf_keys.setdefault(parts, _LeafKey(parts))
    return key


class _Fallback(Exception):
    """Tells that only the Python path can run a call."""


def _array_key(x):
    """Returns the key of an array, or raises _Fallback for one that Python must shard."""
    aval, sharding, committed = x.aval, x.sharding, x._committed
    if not committed and sharding.num_devices > 1:
        raise _Fallback
    try:
        parts = (aval.dtype, aval.shape, aval.weak_type, sharding, committed, x._layout_key)
        return _intern(parts)
    except TypeError:  # A sharding without a hash.
        raise _Fallback from None


class _Structure:
    """The structure of a call's arguments as a part of a key."""

    __slots__ = ("nodes", "split", "hash")

    def __init__(self, nodes, split):
        self.nodes = nodes
        self.split = split
        self.hash = hash((nodes_hash(nodes), split))

    def __hash__(self):
        return self.hash

    def __eq__(self, other):
        return (isinstance(other, _Structure) and self.split == other.split
                and nodes_equal(self.nodes, other.nodes))


class _Static:
    """A static argument as a part of a key: equal to those of the same type and value."""

    __slots__ = ("value", "hash")

    def __init__(self, value):
        self.value = value
        try:
            self.hash = hash(value)
        except TypeError as e:
            raise jax_jit.non_hashable(value, e) from None

    def __hash__(self):
        return self.hash

    def __eq__(self, other):
        a, b = self.value, other.value if isinstance(other, _Static) else other
        if a is b:
            return True
        if type(a) is not type(b):
            return False
        try:
            return bool(a == b)
        except Exception as e:
            raise jax_jit.not_comparable(a, b, e) from None


# How an argument goes to the program: as it is, copied to the device, or sharded by Python.
_PUT, _SHARD = 1, 2


class _Entry:
    """A compiled program, or the wish to run the Python path."""

    __slots__ = ("options", "variants", "thread", "done", "fall_back", "execute", "outputs",
                 "unflatten", "kept", "plan", "const_args", "in_shardings", "in_layouts",
                 "executable")

    def __init__(self, options, variants):
        self.options = options
        self.variants = variants  # The list that holds this entry.
        self.thread = threading.get_ident()
        self.done = None  # An Event once a thread waits; True when the program is there.
        self.fall_back = False
        self.plan = None

    def fill(self, data, leaves):
        """Takes the program and what is known of its arguments and results."""
        if data is None:
            self.fall_back = True
            return
        self.executable = executable = data.xla_executable
        self.execute = executable._execute_fast
        self.in_shardings = list(data.in_shardings)
        self.in_layouts = list(data.in_device_local_layouts)
        self.const_args = list(data.const_args)
        kept = [bool(k) for k in data.kept_var_bitvec]
        leaves = self.const_args + leaves
        self.plan = self._plan([x for x, k in zip(leaves, kept) if k])
        self.kept = None if all(kept) else kept
        orders = executable._result_orders
        self.outputs = [
            (aval, sharding, bool(committed),
             _output_key(aval, sharding, bool(committed), orders.get(i)))
            for i, (aval, sharding, committed) in enumerate(zip(
                data.out_avals, data.out_shardings, data.out_committed))]
        treedef = data.out_pytree_def
        single = treedef.num_nodes == treedef.num_leaves == 1
        self.unflatten = None if single else treedef.unflatten

    def _plan(self, leaves):
        """Returns the list of (position, way) of kept arguments that need work, or None."""
        plan = []
        num_devices = self.executable._num_devices
        device = self.executable._first_device
        for i, x in enumerate(leaves):
            if type(x) is not ArrayImpl:
                put = num_devices == 1 and self.in_layouts[i] is None
                plan.append((i, _PUT if put else _SHARD))
            elif x.sharding.num_devices != num_devices or self.in_layouts[i] is not None:
                plan.append((i, _SHARD))
            elif num_devices == 1 and next(iter(x.sharding.device_set)) is not device:
                plan.append((i, _SHARD))
        return plan or None

    def arguments(self, leaves, shard_fallback):
        """Returns the arrays that the program takes."""
        if self.const_args:
            leaves = self.const_args + leaves
        if self.kept is not None:
            leaves = [x for x, k in zip(leaves, self.kept) if k]
        if self.plan is not None:
            if leaves and self.kept is None and not self.const_args:
                leaves = list(leaves)
            for i, way in self.plan:
                if way == _PUT:
                    if guard_lib.guards_transfers():
                        guard_lib.check_transfer("host_to_device")
                    leaves[i] = self.executable._put(leaves[i], self.in_shardings[i])
                else:
                    leaves[i] = shard_fallback(leaves[i], self.in_shardings[i],
                                               self.in_layouts[i])
        return leaves


def _output_key(aval, sharding, committed, order):
    """Returns the key of a result as an argument, or None where it must be asked each time."""
    try:
        if not committed and sharding.num_devices > 1:
            return None
        return _intern((aval.dtype, aval.shape, aval.weak_type, sharding, committed, order))
    except (TypeError, AttributeError):
        return None


class _Variants(list):
    """The entries of one key, which differ in their options."""

    __slots__ = ("programs", "key")

    def __init__(self, programs, key):
        super().__init__()
        self.programs = programs
        self.key = key


class _Programs:
    """The programs of one function: variants by key."""

    __slots__ = ("table", "lru", "size", "__weakref__")

    def __init__(self, lru):
        self.table = {}
        self.lru = lru  # Shared with the other functions of the cache.
        self.size = 0

    def clear(self):
        for variants in list(self.table.values()):
            for entry in variants:
                self.lru.pop(entry, None)
        self.table.clear()
        self.size = 0


class PjitFunctionCache:
    """Programs of many functions, of which the least recently used are dropped."""

    def __init__(self, capacity=_DEFAULT_CAPACITY):
        self._capacity = capacity
        self._lru = collections.OrderedDict()
        self._functions = {}
        self._lock = threading.RLock()

    def size(self):
        return len(self._lru)

    def capacity(self):
        return self._capacity

    def clear(self):
        with self._lock:
            functions = [programs for programs, _ in self._functions.values()]
            self._functions.clear()
            for programs in functions:
                programs.clear()
            self._lru.clear()

    @staticmethod
    def clear_all():
        for function in list(_functions):
            function._programs.clear()

    def _lookup(self, function, key):
        """Returns the programs of a function and its options; they die with the function."""
        if function is None:
            return _Programs(self._lru)
        try:
            key = id(function), key
            hash(key)
        except TypeError as e:
            raise ValueError(
                "Hashing global cache key lead to an exception. The error was:\n"
                f"{type(e).__name__}: {e}\n") from None
        with self._lock:
            found = self._functions.get(key)
            if found is not None:
                return found[0]
            programs = _Programs(self._lru)
            functions = self._functions
            try:
                ref = weakref.ref(function, lambda _: functions.pop(key, None))
            except TypeError:  # No references to it: only this jitted function has the programs.
                return programs
            functions[key] = programs, ref
            return programs

    def _insert(self, programs, key, options):
        """Returns the entry of key and options, and whether it is new."""
        with self._lock:
            variants = programs.table.get(key)
            if variants is None:
                variants = programs.table[key] = _Variants(programs, key)
            for entry in variants:
                if entry.options == options:
                    return entry, False
            entry = _Entry(options, variants)
            variants.append(entry)
            programs.size += 1
            self._lru[entry] = None
            while len(self._lru) > self._capacity:
                self._remove(next(iter(self._lru)))
            return entry, True

    def _remove(self, entry):
        with self._lock:
            self._lru.pop(entry, None)
            variants = entry.variants
            if entry in variants:
                variants.remove(entry)
                table = variants.programs.table
                variants.programs.size -= 1
                if not variants and table.get(variants.key) is variants:
                    del table[variants.key]

    def __getstate__(self):
        # An empty cache: its owner fills it again.
        return {"version": _PICKLE_VERSION, "capacity": self._capacity}

    def __setstate__(self, state):
        if state["version"] != _PICKLE_VERSION:
            raise ValueError(
                f"Invalid PjitFunction pickle version, got {state['version']}, "
                f"expected {_PICKLE_VERSION}")
        self.__init__(state["capacity"])


_functions = weakref.WeakSet()


class PjitFunction:
    """A function that is compiled for each signature of its calls.

    `functools.wraps` copies the attributes in `__dict__` from one function to another: what belongs
    to this object is in slots.
    """

    __slots__ = ("_function_name", "_function", "_miss", "_static_argnums", "_static_argnames",
                 "_global_cache_key", "_registry", "_registered", "_shard_arg_fallback", "_cache",
                 "_programs", "__dict__", "__weakref__")

    def __init__(self, function_name, fun, cache_miss, static_argnums, static_argnames,
                 global_cache_key, pytree_registry, shard_arg_fallback, cache):
        self._function_name = function_name
        self._function = fun
        self._miss = cache_miss
        self._static_argnums = tuple(sorted(static_argnums))
        self._static_argnames = frozenset([sys.intern(name) for name in static_argnames])
        if isinstance(global_cache_key, list):
            global_cache_key = tuple(global_cache_key)
        self._global_cache_key = global_cache_key
        self._registry = pytree_registry
        self._registered = pytree_registry._types.get
        self._shard_arg_fallback = shard_arg_fallback
        self._cache = cache
        self._programs = cache._lookup(fun, global_cache_key)
        _functions.add(self)

    def __call__(self, /, *args, **kwargs):
        try:
            if jax_jit.jit_disabled():
                return self._uncompiled()(*args, **kwargs)
            leaves = []
            try:
                if kwargs or self._static_argnums:
                    key = self._general_key(args, kwargs, leaves)
                else:
                    key = self._key(args, leaves)
            except _Fallback:
                key = None
            if key is None:
                return self._miss(*args, **kwargs)[0]
            options = config.jit_key()
            entry = self._find(key, options)
            if entry is not None:
                return self._run(entry, leaves, args, kwargs)
            return self._slow(key, options, leaves, args, kwargs)
        except BaseException as e:
            _frames.strip(e)
            raise

    def _uncompiled(self):
        if self._function is None:
            raise ValueError(
                "Disable jit is not supported in the AOT path since "
                f"the function is not available for ({self._function_name})")
        return self._function

    def _find(self, key, options):
        """Returns the finished entry of key and options, or None."""
        variants = self._programs.table.get(key)
        if variants is None:
            return None
        for entry in variants:
            if entry.options is options or entry.options == options:
                if entry.done is not True or entry.fall_back:
                    return None
                entry.options = options
                return entry
        return None

    def _key(self, args, leaves):
        """Appends the leaves of positional arguments; returns the key of the call."""
        registered = self._registered
        flat = True
        nodes = []
        for x in args:
            if type(x) is ArrayImpl:
                leaves.append(x)
                nodes.append(LEAF_NODE)
            else:
                _flatten(registered, x, leaves, nodes)
                if nodes[-1] is not LEAF_NODE:
                    flat = False
        key = [len(args) if flat else _Structure(nodes, len(args))]
        self._add_leaf_keys(key, leaves)
        return tuple(key)

    def _general_key(self, args, kwargs, leaves):
        registered = self._registered
        nodes = []
        static, static_names, dynamic_names, count = jax_jit.split_arguments(
            args, kwargs.items(), self._static_argnums, self._static_argnames,
            lambda x: _flatten(registered, x, leaves, nodes))
        split = (count, tuple(static_names), tuple(dynamic_names), len(static))
        key = [_Structure(nodes, split)]
        key.extend([_Static(x) for x in static])
        self._add_leaf_keys(key, leaves)
        return tuple(key)

    def _add_leaf_keys(self, key, leaves):
        for x in leaves:
            if type(x) is ArrayImpl:
                if x.is_deleted():
                    raise _Fallback
                leaf = x._jit_key
                if leaf is None:
                    leaf = x._jit_key = _array_key(x)
            else:
                try:
                    leaf = _intern(values.argument_signature(x, values.enable_x64()))
                except JaxRuntimeError:
                    raise _Fallback from None
            key.append(leaf)

    def _run(self, entry, leaves, args, kwargs):
        """Runs the program of a finished entry."""
        try:
            self._programs.lru.move_to_end(entry)
        except KeyError:  # Another thread has dropped it.
            pass
        if entry.plan is not None or entry.kept is not None or entry.const_args:
            try:
                leaves = entry.arguments(leaves, self._shard_arg_fallback)
            except JaxRuntimeError:
                return self._miss(*args, **kwargs)[0]
        of = ArrayImpl._of
        out = []
        for (aval, sharding, committed, key), handles in zip(
                entry.outputs, entry.execute(leaves)):
            array = of(aval, sharding, handles, committed)
            array._jit_key = key
            out.append(array)
        out = out[0] if entry.unflatten is None else entry.unflatten(out)
        hook = jax_jit.post_hook()
        if hook is not None:
            hook(self, args, kwargs, out)
        return out

    def _slow(self, key, options, leaves, args, kwargs):
        """Runs a call that has no program: compiles, waits, or takes the Python path."""
        entry, new = self._cache._insert(self._programs, key, options)
        if new:
            remove = False
            try:
                result, executable, *more = self._miss(*args, **kwargs)
                entry.fill(executable, leaves)
                remove = bool(more and more[0])  # Whether the cache must not keep it.
            except BaseException:
                entry.fall_back = True
                raise
            finally:
                _finish(entry)
            if remove:
                self._cache._remove(entry)
            return result
        if entry.done is not True:
            if entry.thread == threading.get_ident():
                raise RecursionError(
                    f"Recursively calling jit: {self._function_name}, arguments {key[1:]}")
            _wait(entry)
        if entry.fall_back:
            return self._miss(*args, **kwargs)[0]
        return self._run(entry, leaves, args, kwargs)

    def __get__(self, instance, owner=None, /):
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self):
        try:
            return f"<PjitFunction of {self.__wrapped__!r}>"
        except Exception:
            return "<PjitFunction>"

    def __getstate__(self):
        state = {
            "version": _PICKLE_VERSION,
            "function_name": self._function_name,
            "fun": self._function,
            "cache_miss": self._miss,
            "static_argnums": list(self._static_argnums),
            "static_argnames": sorted(self._static_argnames),
            "global_cache_key": self._global_cache_key,
            "pytree_registry": self._registry,
            "shard_arg_fallback": self._shard_arg_fallback,
            "cache": self._cache,
        }
        if self._function is None:
            del state["fun"]
        return state

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop("version")
        if version != _PICKLE_VERSION:
            raise ValueError(
                f"Invalid PjitFunction pickle version, got {version}, "
                f"expected {_PICKLE_VERSION}. Pickling/Unpickling jitted functions using "
                "different JAX versions is not supported.")
        state.setdefault("fun", None)
        self.__init__(**state)

    @property
    def __signature__(self):
        if self._function is None:
            raise ValueError(
                f"Calling __signature__ on PjitFunction({self._function_name}) not supported.")
        return inspect.signature(self._function)

    @property
    def _cache_miss(self):
        return self._miss

    def _cache_size(self):
        return self._programs.size

    def _clear_cache(self):
        self._programs.clear()


def pjit(function_name, fun, cache_miss, static_argnums, static_argnames, global_cache_key,
         pytree_registry, shard_arg_fallback, cache=None):
    if not _functions:
        misc.hide_own_frames()
    return PjitFunction(
        function_name, fun, cache_miss, static_argnums, static_argnames, global_cache_key,
        pytree_registry, shard_arg_fallback, PjitFunctionCache() if cache is None else cache)
