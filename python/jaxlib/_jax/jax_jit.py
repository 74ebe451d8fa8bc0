"""Signatures of calls: which arguments are static, and the structures of the others."""

from . import values
from .config import Config as _Config  # noqa: F401
from .pytree import (
    PyTreeDef as _PyTreeDef,  # noqa: F401
)
from .pytree import (
    PyTreeRegistry as _PyTreeRegistry,  # noqa: F401
)
from .pytree import (
    _flatten,
    _new_treedef,
)
from .pytree_nodes import LEAF_NODE, nodes_equal, nodes_hash
from .values import set_enable_x64_state  # noqa: F401

_disable_jit = None
_post_hook = None


def set_disable_jit_state(config):
    global _disable_jit
    _disable_jit = config


def set_post_hook_state(config):
    global _post_hook
    _post_hook = config


def jit_disabled():
    if _disable_jit is None:
        raise RuntimeError("disable_jit_state is not set")
    return _disable_jit.value


def post_hook():
    """Returns the function that is told of each call, or None."""
    return None if _post_hook is None else _post_hook.value


class PyArgSignature:
    """Element type, shape and weak type of an argument."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, dtype, shape, weak_type):
        self.dtype = dtype
        self.shape = shape
        self.weak_type = weak_type


def _ArgSignatureOfValue(value, enable_x64, /):
    return PyArgSignature(*values.argument_signature(value, bool(enable_x64)))


class ArgumentSignature:
    """The static arguments of a call, and the structures of the others.

    `_nodes` holds the nodes of all dynamic arguments, one tree after the other.
    """

    __slots__ = ("_registry", "_nodes", "_count", "static_args", "static_arg_names",
                 "dynamic_arg_names", "_hash")

    def __init__(self, registry, nodes, count, static_args, static_arg_names, dynamic_arg_names):
        self._registry = registry
        self._nodes = nodes
        self._count = count
        self.static_args = static_args
        self.static_arg_names = static_arg_names
        self.dynamic_arg_names = dynamic_arg_names
        h = hash((count, nodes_hash(nodes)))
        if static_args or static_arg_names or dynamic_arg_names:
            h = hash((h, _static_hash(static_args), *static_arg_names, *dynamic_arg_names))
        self._hash = h

    @property
    def dynamic_arg_treedefs(self):
        trees = []  # (first node, end)
        for i, node in enumerate(self._nodes):
            begin = trees[-node[1]][0] if node[1] else i
            del trees[len(trees) - node[1]:]
            trees.append((begin, i + 1))
        out = []
        for begin, end in trees:
            nodes = self._nodes[begin:end]
            out.append(_new_treedef(self._registry, nodes, nodes.count(LEAF_NODE)))
        return out

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, ArgumentSignature):
            return False
        return (
            self._hash == other._hash
            and self._count == other._count
            and nodes_equal(self._nodes, other._nodes)
            and self.dynamic_arg_names == other.dynamic_arg_names
            and self.static_arg_names == other.static_arg_names
            and (self.static_args is other.static_args
                 or _static_equal(self.static_args, other.static_args))
        )

    def __repr__(self):
        def join(xs, separator=","):
            return separator.join([str(x) for x in xs])

        return (
            f"static args (positional + keyword): [{join(self.static_args)}], "
            f"static arg keyword names: [{join(self.static_arg_names)}], "
            "dynamic arg signatures (positional + keyword): "
            f"[{join(self.dynamic_arg_names)}], "
            f"dynamic arg shardings: [{join(self.dynamic_arg_treedefs, '| ')}]"
        )


def _static_hash(static_args):
    h = len(static_args)
    for x in static_args:
        try:
            h = hash((h, x))
        except TypeError as e:
            raise non_hashable(x, e) from None
    return h


def non_hashable(x, error):
    """Returns the error of a static argument without a hash."""
    return ValueError(
        "Non-hashable static arguments are not supported. An error occurred "
        f"while trying to hash an object of type {type(x)}, {x}. The error was:\n"
        f"{type(error).__name__}: {error}\n"
    )


def _static_equal(xs, ys):
    if len(xs) != len(ys):
        return False
    for x, y in zip(xs, ys):
        if type(x) is not type(y):
            return False
        try:
            if x is not y and not x == y:
                return False
        except Exception as e:
            raise not_comparable(x, y, e) from None
    return True


def not_comparable(x, y, error):
    """Returns the error of static arguments whose comparison fails."""
    return ValueError(
        "static arguments should be comparable using __eq__."
        "The following error was raised when comparing two objects of "
        f"types {type(x)} and {type(y)}. The error was:\n{type(error).__name__}: {error}"
    )


def split_arguments(args, kwargs, static_argnums, static_argnames, flatten):
    """Flattens the dynamic arguments with `flatten`; returns how the arguments were split.

    Returns static arguments, static names, dynamic names (each a list), and the number of
    dynamic arguments. `kwargs` is a list of pairs.
    """
    static = []
    count = 0
    if static_argnums:
        n = len(args)
        positions = {i if i >= 0 else i + n for i in static_argnums}
        for i, arg in enumerate(args):
            if i in positions:
                static.append(arg)
            else:
                flatten(arg)
                count += 1
    else:
        for arg in args:
            flatten(arg)
        count = len(args)
    static_names, dynamic_names = [], []
    for name, value in sorted(kwargs, key=_first):
        if name in static_argnames:
            static_names.append(name)
            static.append(value)
        else:
            dynamic_names.append(name)
            flatten(value)
            count += 1
    return static, static_names, dynamic_names, count


def _first(pair):
    return pair[0]


def parse_arguments(positional_args, keyword_args, kwnames, static_argnums, static_argnames,
                    pytree_registry):
    """Parses the arguments to a function as jax.jit would.

    Returns an ArgumentSignature and the list of flattened dynamic arguments. `keyword_args` are
    the values of the keywords `kwnames`.
    """
    get = pytree_registry._types.get
    leaves, nodes = [], []
    if not static_argnums and not kwnames:
        for arg in positional_args:
            _flatten(get, arg, leaves, nodes)
        signature = ArgumentSignature(pytree_registry, nodes, len(positional_args), [], [], [])
        return signature, leaves
    split = split_arguments(
        positional_args, zip(kwnames, keyword_args), static_argnums, static_argnames,
        lambda x: _flatten(get, x, leaves, nodes))
    static, static_names, dynamic_names, count = split
    signature = ArgumentSignature(
        pytree_registry, nodes, count, static, static_names, dynamic_names)
    return signature, leaves
