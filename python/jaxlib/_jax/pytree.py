"""Pytrees: the registry of node types, and the structures of trees.

A `PyTreeDef` holds its nodes in postorder. A node is a tuple (kind, arity, registration, data):
`registration` of a custom type or dataclass, else None; `data` is the sorted keys of a dict, the
type of a namedtuple, the auxiliary data of a custom type, the metadata of a dataclass. Nodes
without data are shared objects, so that comparing trees mostly compares identities.
"""

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

from . import pytree_proto
from .errors import JaxRuntimeError
from .pytree_keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey  # noqa: F401
from .pytree_nodes import (
    CUSTOM,
    DATACLASS,
    DICT,
    LEAF,
    LEAF_NODE,
    LIST,
    NAMEDTUPLE,
    NONE,
    NONE_NODE,
    TUPLE,
    Registration,
    check_leaf,
    fields_of,
    is_namedtuple,
    list_node,
    make_node,
    match_node,
    node_of,
    node_repr,
    nodes_equal,
    nodes_hash,
    plain_leaves,
    sorted_keys,
    tuple_node,
)

version = 3

_TYPE = type

_T = TypeVar("_T")
_Children = TypeVar("_Children", bound=Iterable[Any])
_KeyLeafPair = TypeVar("_KeyLeafPair", bound=tuple[Any, Any])
_KeyLeafPairs = TypeVar("_KeyLeafPairs", bound=Iterable[tuple[Any, Any]])
_KeyPath = TypeVar("_KeyPath", bound=tuple[Any, ...])
_AuxData = TypeVar("_AuxData", bound=Hashable)

class PyTreeRegistry:
    """Types of nodes, with how each is taken apart and made."""

    __slots__ = ("_types", "_enable_namedtuple", "__dict__", "__weakref__")

    def __init__(self, enable_none=True, enable_tuple=True, enable_namedtuple=True,
                 enable_list=True, enable_dict=True):
        self._types = {}
        self._enable_namedtuple = enable_namedtuple
        builtins = ((enable_none, NONE, type(None)), (enable_tuple, TUPLE, tuple),
                    (enable_list, LIST, list), (enable_dict, DICT, dict))
        for enabled, kind, builtin in builtins:
            if enabled:
                self._types[builtin] = Registration(kind, builtin)

    def __reduce__(self):
        return self.__name__

    def register_node(self, type, to_iterable, from_iterable, to_iterable_with_keys=None):
        reg = Registration(CUSTOM, type, to_iterable, from_iterable, to_iterable_with_keys)
        if self._types.setdefault(type, reg) is not reg:
            raise ValueError(f"Duplicate custom PyTreeDef type registration for {type!r}.")

    def register_dataclass_node(self, type, data_fields, meta_fields, /):
        reg = Registration(DATACLASS, type, data=tuple(data_fields), meta=tuple(meta_fields))
        if self._types.setdefault(type, reg) is not reg:
            raise ValueError(
                f"Duplicate custom dataclass PyTreeDef type registration for {type!r}."
            )

    def is_node(self, type):
        return type in self._types or (
            isinstance(type, _TYPE) and issubclass(type, tuple)
            and hasattr(type, "_fields")
        )

    def _kind(self, x):
        """Returns the kind of x, and its registration if it has one."""
        reg = self._types.get(type(x))
        if reg is not None:
            return reg.kind, reg
        return (NAMEDTUPLE if is_namedtuple(x) else LEAF), None

    def flatten(self, tree, leaf_predicate=None):
        leaves, nodes = [], []
        if leaf_predicate is None:
            _flatten(self._types.get, tree, leaves, nodes)
        else:
            _flatten_until(self._types.get, tree, leaves, nodes, leaf_predicate)
        return leaves, _new_treedef(self, nodes, len(leaves))

    def flatten_with_path(self, tree, leaf_predicate=None):
        leaves, nodes = [], []
        _flatten_with_path(self._types.get, tree, leaves, nodes, (), leaf_predicate)
        return leaves, _new_treedef(self, nodes, len(leaves))

    def flatten_one_level(self, tree):
        kind, reg = self._kind(tree)
        if kind == LEAF:
            return None
        if kind == NONE:
            return (), None
        if kind == TUPLE or kind == LIST:
            return tree, None
        if kind == DICT:
            keys = sorted_keys(tree)
            return tuple([tree[k] for k in keys]), keys
        if kind == NAMEDTUPLE:
            return list(tree), type(tree)
        if kind == CUSTOM:
            return reg.children(tree)
        return [getattr(tree, name) for name in reg.data], reg.metadata(tree)

    def flatten_one_level_with_keys(self, tree):
        kind, reg = self._kind(tree)
        if kind == LEAF:
            return None
        if kind == NONE:
            return (), None
        if kind == CUSTOM:
            return reg.children_with_keys(tree)
        pairs, data = _keyed_children(kind, reg, tree)
        if kind == NAMEDTUPLE or kind == DATACLASS:
            return pairs, data
        return tuple(pairs), data


def _flatten(get, x, leaves, nodes):
    """Appends the leaves of x and its nodes in postorder; `get` finds a type's registration."""
    t = type(x)
    reg = get(t)
    if reg is None:
        if t not in plain_leaves:
            if is_namedtuple(x):
                for child in x:
                    _flatten(get, child, leaves, nodes)
                nodes.append((NAMEDTUPLE, len(x), None, t))
                return
            check_leaf(x)
        leaves.append(x)
        nodes.append(LEAF_NODE)
        return
    kind = reg.kind
    if kind == TUPLE or kind == LIST:
        n = 0
        for child in x:
            n += 1
            c = type(child)
            if c in plain_leaves and get(c) is None:
                leaves.append(child)
                nodes.append(LEAF_NODE)
            else:
                _flatten(get, child, leaves, nodes)
        nodes.append(tuple_node(n) if kind == TUPLE else list_node(n))
    elif kind == DICT:
        keys = sorted_keys(x)
        for key in keys:
            _flatten(get, x[key], leaves, nodes)
        nodes.append((DICT, len(keys), None, keys))
    elif kind == NONE:
        nodes.append(NONE_NODE)
    elif kind == CUSTOM:
        children, aux = reg.children(x)
        n = 0
        for child in children:
            n += 1
            _flatten(get, child, leaves, nodes)
        nodes.append((CUSTOM, n, reg, aux))
    else:
        aux = reg.metadata(x)
        for name in reg.data:
            _flatten(get, getattr(x, name), leaves, nodes)
        nodes.append((DATACLASS, len(reg.data), reg, aux))


def _says_leaf(answer):
    if answer is None:
        return False
    if answer is True or answer is False:
        return answer
    raise ValueError(
        f"is_leaf predicate returned a non-boolean value {answer!r}; expected a boolean"
    )


def _children(get, x):
    """Returns the iterable children of x and a function from their number to its node.

    Returns None for a leaf.
    """
    t = type(x)
    reg = get(t)
    if reg is None:
        if t not in plain_leaves:
            if is_namedtuple(x):
                return x, lambda n: (NAMEDTUPLE, n, None, t)
            check_leaf(x)
        return None
    kind = reg.kind
    if kind == TUPLE:
        return x, tuple_node
    if kind == LIST:
        return x, list_node
    if kind == NONE:
        return (), lambda n: NONE_NODE
    if kind == DICT:
        keys = sorted_keys(x)
        return [x[k] for k in keys], lambda n: (DICT, n, None, keys)
    if kind == CUSTOM:
        children, aux = reg.children(x)
        return children, lambda n: (CUSTOM, n, reg, aux)
    aux = reg.metadata(x)
    return [getattr(x, name) for name in reg.data], lambda n: (DATACLASS, n, reg, aux)


def _flatten_until(get, x, leaves, nodes, leaf_predicate):
    """Flattens as `_flatten` does, but stops where the predicate says so."""
    answer = leaf_predicate(x)
    found = None if answer is True or _says_leaf(answer) else _children(get, x)
    if found is None:
        leaves.append(x)
        nodes.append(LEAF_NODE)
        return
    n = 0
    for child in found[0]:
        n += 1
        _flatten_until(get, child, leaves, nodes, leaf_predicate)
    nodes.append(found[1](n))


def _keyed_children(kind, reg, x):
    """Returns the list of (key, child) of the node x and its data."""
    if kind == TUPLE or kind == LIST:
        return [(SequenceKey(i), c) for i, c in enumerate(x)], None
    if kind == DICT:
        keys = sorted_keys(x)
        return [(DictKey(k), x[k]) for k in keys], keys
    if kind == NAMEDTUPLE:
        return [(GetAttrKey(str(f)), c) for f, c in zip(fields_of(x), x)], type(x)
    if kind == CUSTOM:
        return reg.children_with_keys(x)
    if kind == NONE:
        return [], None
    return [(GetAttrKey(name), getattr(x, name)) for name in reg.data], reg.metadata(x)


def _flatten_with_path(get, x, leaves, nodes, path, leaf_predicate):
    """Appends (path, leaf) of each leaf of x, and the nodes in postorder."""
    is_leaf = leaf_predicate is not None and _says_leaf(leaf_predicate(path, x))
    t = type(x)
    reg = get(t)
    if is_leaf:
        kind = LEAF
    elif reg is not None:
        kind = reg.kind
    elif t in plain_leaves:
        kind = LEAF
    elif is_namedtuple(x):
        kind = NAMEDTUPLE
    else:
        kind = LEAF
        check_leaf(x)
    if kind == LEAF:
        leaves.append((path, x))
        nodes.append(LEAF_NODE)
        return
    pairs, data = _keyed_children(kind, reg, x)
    for key, child in pairs:
        _flatten_with_path(get, child, leaves, nodes, (*path, key), leaf_predicate)
    if kind == TUPLE:
        nodes.append(tuple_node(len(pairs)))
    elif kind == LIST:
        nodes.append(list_node(len(pairs)))
    elif kind == NONE:
        nodes.append(NONE_NODE)
    else:
        nodes.append((kind, len(pairs), reg if kind >= CUSTOM else None, data))


class PyTreeDef:
    """The structure of a pytree."""

    __slots__ = ("_registry", "_nodes", "num_leaves")

    def __new__(cls, *args, **kwargs):
        if args or kwargs:
            raise TypeError("PyTreeDef: no constructor defined! Flatten a tree to get one.")
        return object.__new__(cls)

    @property
    def num_nodes(self):
        return len(self._nodes)

    def unflatten(self, leaves, /):
        if type(leaves) is not list:
            leaves = list(leaves)
        nodes = self._nodes
        if len(leaves) != self.num_leaves:
            if len(leaves) < self.num_leaves:
                raise ValueError(
                    f"Too few leaves for PyTreeDef; expected {self.num_leaves}, "
                    f"got {len(leaves)}"
                )
            raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.")
        last = nodes[-1]
        if last[1] == len(leaves) == len(nodes) - 1:  # A node of leaves.
            return make_node(last, leaves[:])
        stack = []
        next_leaf = iter(leaves).__next__
        for node in nodes:
            if node is LEAF_NODE:
                stack.append(next_leaf())
                continue
            arity = node[1]
            if arity:
                children = stack[-arity:]
                del stack[-arity:]
                stack.append(make_node(node, children))
            else:
                stack.append(make_node(node, []))
        return stack[0]

    def flatten_up_to(self, tree):
        nodes = self._nodes
        if nodes[-1] is LEAF_NODE:
            return [tree]
        leaves = []
        agenda = [tree]
        for node in reversed(nodes):
            if not agenda:
                raise _structures_differ(tree, self)
            x = agenda.pop()
            if node is LEAF_NODE:
                leaves.append(x)
            else:
                agenda.extend(match_node(self._registry._types.get, node, x))
        if agenda:
            raise _structures_differ(tree, self)
        leaves.reverse()
        return leaves

    def compose(self, inner, /):
        if inner._registry is not self._registry:
            raise ValueError(
                "PyTree registries of PyTreeDefs passed to Compose() must match."
            )
        nodes = []
        for node in self._nodes:
            if node is LEAF_NODE:
                nodes.extend(inner._nodes)
            else:
                nodes.append(node)
        return _new_treedef(self._registry, nodes, self.num_leaves * inner.num_leaves)

    def walk(self, f_node, f_leaf, leaves, /):
        """Walk pytree, calling f_node(node, node_data) at nodes, and f_leaf at leaves"""
        leaves = iter(leaves)
        agenda = []
        for node in self._nodes:
            if node is LEAF_NODE:
                try:
                    leaf = next(leaves)
                except StopIteration:
                    raise ValueError("Too few leaves for PyTreeDef") from None
                agenda.append(leaf if f_leaf is None else f_leaf(leaf))
                continue
            kind, arity, _, data = node
            children = tuple(agenda[len(agenda) - arity:])
            del agenda[len(agenda) - arity:]
            agenda.append(f_node(children, list(data) if kind == DICT else data))
        for _ in leaves:
            raise ValueError("Too many leaves for PyTreeDef")
        return agenda[0]

    def from_iterable_tree(self, xs, /):
        nodes = list(self._nodes)

        def build(x):
            if not nodes:
                raise ValueError("Tree structures did not match.")
            node = nodes.pop()
            if node is LEAF_NODE:
                return x
            children = list(x)
            if len(children) != node[1]:
                raise ValueError("Arity mismatch between trees")
            for i in range(len(children) - 1, -1, -1):
                children[i] = build(children[i])
            return make_node(node, children)

        out = build(xs)
        if nodes:
            raise ValueError("Tree structures did not match.")
        return out

    def children(self):
        nodes = self._nodes
        if nodes[-1][1] == len(nodes) - 1 == self.num_leaves:
            return [_new_treedef(self._registry, [LEAF_NODE], 1) for _ in range(len(nodes) - 1)]
        starts = []
        for i in range(len(nodes) - 1):
            arity = nodes[i][1]
            if not arity:
                starts.append(i)
            elif arity > 1:
                del starts[len(starts) - arity + 1:]
        starts.append(len(nodes) - 1)
        out = []
        for begin, end in zip(starts, starts[1:]):
            part = nodes[begin:end]
            out.append(_new_treedef(self._registry, part, part.count(LEAF_NODE)))
        return out

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return False
        return nodes_equal(self._nodes, other._nodes)

    def __hash__(self):
        return nodes_hash(self._nodes)

    def __repr__(self):
        agenda = []
        for node in self._nodes:
            arity = node[1]
            children = agenda[len(agenda) - arity:]
            del agenda[len(agenda) - arity:]
            agenda.append(node_repr(node, children))
        return f"PyTreeDef({agenda[0]})"

    def node_data(self):
        """Returns None if a leaf-pytree, else (type, node_data)"""
        kind, _, reg, data = self._nodes[-1]
        if kind == LEAF:
            return None
        if kind == NAMEDTUPLE:
            return data, None
        if kind == DICT:
            return dict, list(data)
        if reg is not None:
            return reg.type, data
        return {NONE: type(None), TUPLE: tuple, LIST: list}[kind], None

    @staticmethod
    def from_node_data_and_children(registry, node_data, children):
        """Reconstructs a pytree from `node_data()` and `children()`."""
        nodes = []
        arity = num_leaves = 0
        for child in children:
            nodes.extend(child._nodes)
            num_leaves += child.num_leaves
            arity += 1
        if node_data is None:
            nodes.append(LEAF_NODE)
            return _new_treedef(registry, nodes, num_leaves + 1)
        type_, data = node_data
        if issubclass(type_, tuple) and hasattr(type_, "_fields"):
            nodes.append((NAMEDTUPLE, arity, None, type_))
            return _new_treedef(registry, nodes, num_leaves)
        reg = registry._types.get(type_)
        if reg is None:
            raise RuntimeError(f"Could not find type: {type_!r}.")
        nodes.append(node_of(reg.kind, arity, reg, data))
        return _new_treedef(registry, nodes, num_leaves)

    def serialize_using_proto(self):
        return pytree_proto.serialize(self._nodes)

    @staticmethod
    def deserialize_using_proto(registry, data):
        nodes = [node_of(kind, arity, None, keys)
                 for kind, arity, keys in pytree_proto.parse(data)]
        return _new_treedef(registry, nodes, nodes.count(LEAF_NODE))

    def __getstate__(self):
        traversal = []
        starts = []  # (nodes, leaves) before each open subtree.
        leaves = 0
        for i, (kind, arity, reg, data) in enumerate(self._nodes):
            if arity:
                del starts[len(starts) - arity + 1:]
            else:
                starts.append((i, leaves))
            leaves += kind == LEAF
            traversal.append((
                kind, arity, list(data) if kind == DICT else data,
                None if reg is None else reg.type,
                leaves - starts[-1][1], i + 1 - starts[-1][0],
            ))
        return self._registry, traversal

    def __setstate__(self, state, /):
        if len(state) != 2:
            raise JaxRuntimeError("Malformed pickled PyTreeDef, expected 2-tuple")
        registry, traversal = state
        nodes = []
        for item in traversal:
            if len(item) != 6:
                raise JaxRuntimeError("Malformed pickled PyTreeDef")
            kind, arity, data, type_ = item[:4]
            reg = None
            if kind == CUSTOM or kind == DATACLASS:
                reg = None if type_ is None else registry._types.get(type_)
                if reg is None:
                    raise JaxRuntimeError(
                        f"Unknown custom type in pickled PyTreeDef: {type_!r}"
                    )
            elif type_ is not None:
                raise JaxRuntimeError("Malformed pickled PyTreeDef")
            nodes.append(node_of(kind, arity, reg, data))
        self._registry = registry
        self._nodes = nodes
        self.num_leaves = nodes.count(LEAF_NODE)


def _new_treedef(registry, nodes, num_leaves, _new=object.__new__):
    treedef = _new(PyTreeDef)
    treedef._registry = registry
    treedef._nodes = nodes
    treedef.num_leaves = num_leaves
    return treedef


def _structures_differ(tree, treedef):
    return ValueError(f"Tree structures did not match: {tree!r} vs {treedef!r}")


_default_registry = PyTreeRegistry()


def default_registry():
    return _default_registry


def treedef_tuple(registry, defs, /):
    nodes = []
    num_leaves = 0
    for treedef in defs:
        if treedef._registry is not registry:
            raise ValueError("PyTree registries of PyTreeDefs passed to Tuple() must match.")
        nodes.extend(treedef._nodes)
        num_leaves += treedef.num_leaves
    nodes.append(tuple_node(len(defs)))
    return _new_treedef(registry, nodes, num_leaves)


def all_leaves(registry, xs, /):
    return all(registry._kind(x)[0] == LEAF for x in xs)
