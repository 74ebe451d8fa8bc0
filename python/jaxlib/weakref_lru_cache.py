"""Caches that hold some of their keys weakly.

The outer dict of a cache maps weak keys to inner dicts, these map the other arguments to entries.
A weak key is the reference object that Python shares between all users of an object, so that
looking up the same object again compares identities. Another reference with a callback, the
guard, tells of the object's death. The order of use is that of an OrderedDict of entries.

Lookups call `__eq__` of keys, which may switch threads; each step below leaves a state that every
other step can work on.
"""

import collections
import threading
import weakref

from . import _frames

_ref = weakref.ref


class _Guard(weakref.ref):
    """The reference whose death evicts `key` from its cache."""

    __slots__ = ("key",)


class _Entry:
    """A cached call. `weak` and `strong` are its keys, `call` its context, arguments, keywords."""

    __slots__ = ("weak", "strong", "call", "done", "has_result", "result", "thread")

    def __init__(self, weak, strong, call):
        self.weak = weak
        self.strong = strong
        self.call = call
        self.done = None  # An Event once a thread waits; True when the result is there.
        self.has_result = False
        self.thread = threading.get_ident()


# Makes and sets the events of entries.
_event_lock = threading.Lock()


def _finish(entry):
    with _event_lock:
        event, entry.done = entry.done, True
    if event is not None:
        event.set()


def _wait(entry):
    with _event_lock:
        if entry.done is True:
            return
        if entry.done is None:
            entry.done = threading.Event()
        event = entry.done
    event.wait()


class _CacheInfo:
    """Counts of a cache."""

    __slots__ = ("hits", "misses", "maxsize", "currsize")

    def __init__(self, hits, misses, maxsize, currsize):
        self.hits = hits
        self.misses = misses
        self.maxsize = maxsize
        self.currsize = currsize

    def __repr__(self):
        return (f"WeakrefLRUCache(hits={self.hits}, misses={self.misses}, "
                f"maxsize={self.maxsize}, currsize={self.currsize})")


_CacheInfo.__name__ = _CacheInfo.__qualname__ = "WeakrefLRUCacheInfo"


class _Cache:
    """What the two caches share: entries, eviction, counts."""

    __slots__ = ("_context", "_fn", "_maxsize", "_explain", "_entries", "_guards", "_lru",
                 "_hits", "_misses", "_evict_dead", "__weakref__")

    def __init__(self, context, fn, maxsize, explain):
        self._context = context
        self._fn = fn
        self._maxsize = -1 if maxsize is None else maxsize
        self._explain = explain
        self._entries = {}
        self._guards = {}
        self._lru = collections.OrderedDict()
        self._hits = self._misses = 0
        cache = _ref(self)

        def evict_dead(guard):
            self = cache()
            if self is not None:
                self._evict(guard.key)

        self._evict_dead = evict_dead

    def _evict(self, weak):
        """Removes all entries of a weak key."""
        inner = self._entries.pop(weak, None)
        guards = self._guards.pop(weak, None)
        if inner is not None:
            for entry in list(inner.values()):
                self._lru.pop(entry, None)
        del inner, guards

    def _guard(self, weak, objects):
        guards = []
        for x in objects:
            guard = _Guard(x, self._evict_dead)
            guard.key = weak
            guards.append(guard)
        self._guards[weak] = guards

    def _evict_oldest(self):
        try:
            entry, _ = self._lru.popitem(last=False)
        except KeyError:
            return
        inner = self._entries.get(entry.weak)
        if inner is not None and inner.pop(entry.strong, None) is not None and not inner:
            self._entries.pop(entry.weak, None)
            self._guards.pop(entry.weak, None)

    def _miss(self, weak, objects, strong, call, args, kwargs):
        """Returns the value of a call that has no finished entry.

        `objects` are those of the weak key; `call` is (context, arguments, keywords).
        """
        # Keys once in the dict are kept: a key that is equal but another object is dropped.
        inner = self._entries.get(weak)
        if inner is None:
            inner = self._entries.setdefault(weak, {})
            if weak not in self._guards:
                self._guard(weak, objects)
        new = _Entry(weak, strong, call)
        entry = inner.setdefault(strong, new)
        if entry is new:
            return self._compute(entry, args, kwargs)
        if entry.done is not True:
            if entry.thread == threading.get_ident():
                raise RecursionError(f"Recursively calling {weak!r}")
            _wait(entry)
        self._hits += 1
        if entry.has_result:
            return entry.result
        # The function raised an error then; now it may raise its own.
        return self._fn(*args, **kwargs)

    def _compute(self, entry, args, kwargs):
        self._misses += 1
        lru = self._lru
        lru[entry] = None
        if 0 < self._maxsize < len(lru):
            self._evict_oldest()
        explain = None if self._explain is None else self._explain()
        try:
            if explain is not None:
                explain(self.cache_keys(), *args, **kwargs)
            entry.result = result = self._fn(*args, **kwargs)
            entry.has_result = True
        finally:
            _finish(entry)
        return result

    def cache_keys(self):
        keys = []
        for inner in list(self._entries.values()):
            for entry in list(inner.values()):
                if entry.done is True:
                    keys.append((entry.weak, *entry.call))
        return keys

    def cache_info(self):
        return _CacheInfo(self._hits, self._misses, self._maxsize, len(self._lru))

    def cache_clear(self):
        old = self._entries, self._guards, self._lru
        self._entries, self._guards, self._lru = {}, {}, collections.OrderedDict()
        self._hits = self._misses = 0
        del old


class WeakrefLRUCache(_Cache):
    """A cache whose first arguments are held weakly, the others strongly."""

    __slots__ = ("_num_weak",)
    WeakrefLRUCacheInfo = _CacheInfo

    def __init__(self, context, fn, maxsize, explain, num_weak):
        super().__init__(context, fn, maxsize, explain)
        self._num_weak = num_weak

    def __call__(self, /, *args, **kwargs):
        n = self._num_weak
        context = self._context()
        if n == 1 and args:
            weak = _ref(args[0])
        elif len(args) < n or not args:
            raise TypeError(f"Missing weakref_key argument(s). Expected {n}")
        else:
            weak = tuple([_ref(x) for x in args[:n]])
        if kwargs:
            strong = (context, args[n:], tuple(sorted(kwargs.items())))
        else:
            strong = (context, args[n:])
        inner = self._entries.get(weak)
        if inner is not None:
            entry = inner.get(strong)
            if entry is not None and entry.has_result:
                self._hits += 1
                try:
                    self._lru.move_to_end(entry)
                except KeyError:  # Another thread has evicted it.
                    pass
                return entry.result
        try:
            return self._miss(weak, args[:n], strong, (context, args[n:], kwargs), args, kwargs)
        except BaseException as e:
            _frames.strip(e)
            raise

    def evict_weakref(self, key, /):
        if self._num_weak == 1:
            self._evict(_ref(key))
            return
        if not isinstance(key, tuple):
            raise TypeError("evict_weakref expects a tuple of weak keys for multi-weakref cache")
        if len(key) != self._num_weak:
            raise ValueError("Incorrect number of weak keys")
        self._evict(tuple([_ref(x) for x in key]))


class MultiWeakrefLRUCache(_Cache):
    """A cache whose arguments are pytrees; leaves of some types, and callables, are held weakly."""

    __slots__ = ("_flatten", "_weak_types")

    def __init__(self, context, fn, maxsize, explain, registry, weak_types):
        super().__init__(context, fn, maxsize, explain)
        self._flatten = registry.flatten
        self._weak_types = weak_types

    def __call__(self, /, *args, **kwargs):
        context = self._context()
        flatten = self._flatten
        weak_types = self._weak_types
        if kwargs:
            names = tuple(sorted(kwargs))
            leaves, treedef = flatten((args, tuple([kwargs[name] for name in names])))
        else:
            names = None
            leaves, treedef = flatten(args)
        objects, others = [], []
        for leaf in leaves:
            if type(leaf) in weak_types or callable(leaf):
                objects.append(leaf)
            else:
                others.append(leaf)
        weak = tuple([_ref(x) for x in objects])
        strong = (context, names, treedef, tuple(others))
        inner = self._entries.get(weak)
        if inner is not None:
            entry = inner.get(strong)
            if entry is not None and entry.has_result:
                self._hits += 1
                try:
                    self._lru.move_to_end(entry)
                except KeyError:
                    pass
                return entry.result
        call = (context, tuple(others), {})
        try:
            return self._miss(weak, objects, strong, call, args, kwargs)
        except BaseException as e:
            _frames.strip(e)
            raise


def weakref_lru_cache(cache_context_fn, fn, maxsize=2048, explain=None, num_weakrefs=1):
    return WeakrefLRUCache(cache_context_fn, fn, maxsize, explain, num_weakrefs)


def multi_weakref_lru_cache(cache_context_fn, fn, *, maxsize=2048, explain=None, registry,
                            weak_types):
    return MultiWeakrefLRUCache(cache_context_fn, fn, maxsize, explain, registry, weak_types)


class WeakKeyWeakValueCache:
    """A function of one object whose results are kept while object and result live."""

    __slots__ = ("_fn", "_entries", "_forget", "__weakref__")

    def __init__(self, fn):
        self._fn = fn
        self._entries = {}  # By the object's id: its reference and the result's.
        cache = _ref(self)

        def forget(guard):
            self = cache()
            if self is None:
                return
            pair = self._entries.get(guard.key)
            if pair is not None and (pair[0] is guard or pair[1] is guard):
                self._entries.pop(guard.key, None)

        self._forget = forget

    def __call__(self, x, /):
        pair = self._entries.get(id(x))
        if pair is not None:
            result = pair[1]()
            if result is not None and pair[0]() is x:
                return result
        result = self._fn(x)
        key, value = _Guard(x, self._forget), _Guard(result, self._forget)
        key.key = value.key = id(x)
        self._entries[id(x)] = key, value
        return result


def weak_key_weak_value_cache(fn):
    return WeakKeyWeakValueCache(fn)


class WeakValueInterner:
    """A function whose results are kept, by its arguments, while they live elsewhere."""

    __slots__ = ("_fn", "_entries", "_forget", "__weakref__")

    def __init__(self, fn):
        self._fn = fn
        self._entries = {}
        interner = _ref(self)

        def forget(guard):
            self = interner()
            if self is not None and self._entries.get(guard.key) is guard:
                self._entries.pop(guard.key, None)

        self._forget = forget

    def __call__(self, /, *args, **kwargs):
        key = (args, tuple(sorted(kwargs.items()))) if kwargs else args
        guard = self._entries.get(key)
        if guard is not None:
            result = guard()
            if result is not None:
                return result
        result = self._fn(*args, **kwargs)
        new = _Guard(result, self._forget)
        new.key = key
        guard = self._entries.setdefault(key, new)
        if guard is new:
            return result
        other = guard()
        if other is not None:  # Another thread was faster.
            return other
        new.key = guard.key
        self._entries[key] = new
        return result


def weak_value_interner(fn):
    return WeakValueInterner(fn)
