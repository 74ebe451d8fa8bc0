"""Pytrees: the registry of node types, and the structures of trees.

A `PyTreeDef` holds its nodes in postorder. A node is a tuple (kind, arity, registration, data):
`registration` of a custom type or dataclass, else None; `data` is the sorted keys of a dict, the
type of a namedtuple, the auxiliary data of a custom type, the metadata of a dataclass. Nodes
without data are shared objects, so that comparing trees mostly compares identities.
"""

from typing import Any, Hashable, Iterable, TypeVar

from . import pytree_proto
from .errors import JaxRuntimeError
from .pytree_keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

version = 3

_T = TypeVar("_T")
_Children = TypeVar("_Children", bound=Iterable[Any])
_KeyLeafPair = TypeVar("_KeyLeafPair", bound=tuple[Any, Any])
_KeyLeafPairs = TypeVar("_KeyLeafPairs", bound=Iterable[tuple[Any, Any]])
_KeyPath = TypeVar("_KeyPath", bound=tuple[Any, ...])
_AuxData = TypeVar("_AuxData", bound=Hashable)

# The kinds are numbered as in jaxlib: pickles hold them.
_TYPE = type

LEAF, NONE, TUPLE, NAMEDTUPLE, LIST, DICT, CUSTOM, DATACLASS = range(8)

_LEAF_NODE = (LEAF, 0, None, None)
_NONE_NODE = (NONE, 0, None, None)
_TUPLE_NODES = tuple((TUPLE, n, None, None) for n in range(64))
_LIST_NODES = tuple((LIST, n, None, None) for n in range(64))

_ITERATOR_TYPES = (
    type({}.values()),
    type(x for x in ()),
    zip,
    type(iter([])),
    type(iter(set())),
    map,
    filter,
    enumerate,
    reversed,
    type(iter(())),
    type(iter({}.keys())),
    type(iter({}.values())),
    type(iter({}.items())),
)

# Types known to be plain leaves of every registry that does not register them. Bounded.
_plain_leaves = {bool, int, float, complex, str}
_MAX_PLAIN_LEAVES = 256


def _tuple_node(n):
    return _TUPLE_NODES[n] if n < 64 else (TUPLE, n, None, None)


def _list_node(n):
    return _LIST_NODES[n] if n < 64 else (LIST, n, None, None)


class Registration:
    """Describes a registered node type. Equal if type and constructor are."""

    __slots__ = ("kind", "type", "to_iterable", "from_iterable", "with_keys", "data", "meta")

    def __init__(self, kind, type, to_iterable=None, from_iterable=None, with_keys=None,
                 data=(), meta=()):
        self.kind = kind
        self.type = type
        self.to_iterable = to_iterable
        self.from_iterable = from_iterable
        self.with_keys = with_keys
        self.data = data
        self.meta = meta

    def __eq__(self, other):
        return self is other or (
            isinstance(other, Registration)
            and self.kind == other.kind
            and self.type is other.type
            and self.from_iterable is other.from_iterable
        )

    def __hash__(self):
        return hash(self.type)

    def children(self, x):
        """Returns the children and the auxiliary data of the custom node x."""
        out = self.to_iterable(x)
        if not isinstance(out, tuple) or len(out) != 2:
            raise ValueError(
                "The to_iterable function for a custom PyTree node should return "
                f"a (children, aux_data) tuple, got {out!r}"
            )
        if type(out[0]) is not tuple and not _is_iterable(out[0]):
            raise ValueError(
                "The to_iterable function for a custom PyTree node should return "
                f"a (children, aux_data) tuple where 'children' is iterable, got {out!r}"
            )
        return out

    def children_with_keys(self, x):
        """Returns the list of (key, child) and the auxiliary data of the custom node x."""
        if self.with_keys is None:
            children, aux = self.children(x)
            return [(FlattenedIndexKey(i), c) for i, c in enumerate(children)], aux
        out = self.with_keys(x)
        if not isinstance(out, tuple) or len(out) != 2:
            raise ValueError(
                "The to_iterable_with_keys function for a custom PyTree "
                f"node should return a (key_leaf_pairs, aux_data) tuple, got {out!r}"
            )
        expected = (
            "The to_iterable_with_keys function for a custom PyTree node should "
            "return a (key_leaf_pairs, aux_data) tuple where "
        )
        if not _is_iterable(out[0]):
            raise ValueError(f"{expected}'key_leaf_pairs' is iterable, got {out!r}")
        pairs = []
        for pair in out[0]:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(f"{expected}'child{pair!r}")
            pairs.append(pair)
        return pairs, out[1]

    def metadata(self, x):
        return tuple([getattr(x, name) for name in self.meta])


def _is_iterable(x):
    return hasattr(type(x), "__iter__") or hasattr(type(x), "__getitem__")


def _is_namedtuple(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _fields(x):
    fields = x._fields
    if not isinstance(fields, tuple) or len(fields) != len(x):
        raise ValueError(
            "A namedtuple's _fields attribute should have the same size as the tuple."
        )
    return fields


def _sorted_keys(d):
    try:
        return tuple(sorted(d))
    except Exception as e:
        raise ValueError(
            "Comparator raised exception while sorting pytree dictionary keys."
        ) from e


def _check_leaf(x):
    """Warns of an iterator that is a leaf; remembers the type of any other leaf."""
    if isinstance(x, _ITERATOR_TYPES):
        import warnings

        warnings.warn(
            f"Python iterable type '{type(x).__name__}' is treated as a leaf in PyTree. "
            "Use is_leaf to suppress this warning if you want this "
            "behavior. In a future version of JAX, this will become an error.",
            DeprecationWarning,
            stacklevel=3,
        )
    elif len(_plain_leaves) < _MAX_PLAIN_LEAVES and "<locals>" not in type(x).__qualname__:
        _plain_leaves.add(type(x))


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
        return (NAMEDTUPLE if _is_namedtuple(x) else LEAF), None

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
            keys = _sorted_keys(tree)
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
        if t not in _plain_leaves:
            if _is_namedtuple(x):
                for child in x:
                    _flatten(get, child, leaves, nodes)
                nodes.append((NAMEDTUPLE, len(x), None, t))
                return
            _check_leaf(x)
        leaves.append(x)
        nodes.append(_LEAF_NODE)
        return
    kind = reg.kind
    if kind == TUPLE or kind == LIST:
        n = 0
        for child in x:
            n += 1
            c = type(child)
            if c in _plain_leaves and get(c) is None:
                leaves.append(child)
                nodes.append(_LEAF_NODE)
            else:
                _flatten(get, child, leaves, nodes)
        nodes.append(_tuple_node(n) if kind == TUPLE else _list_node(n))
    elif kind == DICT:
        keys = _sorted_keys(x)
        for key in keys:
            _flatten(get, x[key], leaves, nodes)
        nodes.append((DICT, len(keys), None, keys))
    elif kind == NONE:
        nodes.append(_NONE_NODE)
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
        if t not in _plain_leaves:
            if _is_namedtuple(x):
                return x, lambda n: (NAMEDTUPLE, n, None, t)
            _check_leaf(x)
        return None
    kind = reg.kind
    if kind == TUPLE:
        return x, _tuple_node
    if kind == LIST:
        return x, _list_node
    if kind == NONE:
        return (), lambda n: _NONE_NODE
    if kind == DICT:
        keys = _sorted_keys(x)
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
        nodes.append(_LEAF_NODE)
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
        keys = _sorted_keys(x)
        return [(DictKey(k), x[k]) for k in keys], keys
    if kind == NAMEDTUPLE:
        return [(GetAttrKey(str(f)), c) for f, c in zip(_fields(x), x)], type(x)
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
    elif t in _plain_leaves:
        kind = LEAF
    elif _is_namedtuple(x):
        kind = NAMEDTUPLE
    else:
        kind = LEAF
        _check_leaf(x)
    if kind == LEAF:
        leaves.append((path, x))
        nodes.append(_LEAF_NODE)
        return
    pairs, data = _keyed_children(kind, reg, x)
    for key, child in pairs:
        _flatten_with_path(get, child, leaves, nodes, (*path, key), leaf_predicate)
    if kind == TUPLE:
        nodes.append(_tuple_node(len(pairs)))
    elif kind == LIST:
        nodes.append(_list_node(len(pairs)))
    elif kind == NONE:
        nodes.append(_NONE_NODE)
    else:
        nodes.append((kind, len(pairs), reg if kind >= CUSTOM else None, data))


def _make_node(node, children):
    """Returns the object of a node from the list of its children."""
    kind, _, reg, data = node
    if kind == TUPLE:
        return tuple(children)
    if kind == LIST:
        return children
    if kind == DICT:
        return dict(zip(data, children))
    if kind == NONE:
        return None
    if kind == NAMEDTUPLE:
        return data(*children)
    if kind == CUSTOM:
        return reg.from_iterable(data, tuple(children))
    kwargs = dict(zip(reg.meta, data))
    kwargs.update(zip(reg.data, children))
    return reg.type(**kwargs)


def _nodes_hash(nodes):
    """Hashes a list of nodes by its length and its last node; data of nodes may have no hash."""
    if not nodes:
        return 0
    kind, arity, _, data = nodes[-1]
    return hash((len(nodes), kind, arity, data if kind == DICT else None))


def _nodes_equal(a, b):
    if len(a) != len(b):
        return False
    try:
        return a == b
    except Exception as e:
        raise ValueError(
            "Exception raised while checking equality of metadata "
            "fields of pytree. Make sure that metadata fields are "
            "hashable and have simple equality semantics. (Note: "
            "arrays cannot be passed as metadata fields!)"
        ) from e


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
            return _make_node(last, leaves[:])
        stack = []
        next_leaf = iter(leaves).__next__
        for node in nodes:
            if node is _LEAF_NODE:
                stack.append(next_leaf())
                continue
            arity = node[1]
            if arity:
                children = stack[-arity:]
                del stack[-arity:]
                stack.append(_make_node(node, children))
            else:
                stack.append(_make_node(node, []))
        return stack[0]

    def flatten_up_to(self, tree):
        nodes = self._nodes
        if nodes[-1] is _LEAF_NODE:
            return [tree]
        leaves = []
        agenda = [tree]
        for node in reversed(nodes):
            if not agenda:
                raise _structures_differ(tree, self)
            x = agenda.pop()
            if node is _LEAF_NODE:
                leaves.append(x)
            else:
                agenda.extend(_match(self._registry._types.get, node, x))
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
            if node is _LEAF_NODE:
                nodes.extend(inner._nodes)
            else:
                nodes.append(node)
        return _new_treedef(self._registry, nodes, self.num_leaves * inner.num_leaves)

    def walk(self, f_node, f_leaf, leaves, /):
        """Walk pytree, calling f_node(node, node_data) at nodes, and f_leaf at leaves"""
        leaves = iter(leaves)
        agenda = []
        for node in self._nodes:
            if node is _LEAF_NODE:
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
            if node is _LEAF_NODE:
                return x
            children = list(x)
            if len(children) != node[1]:
                raise ValueError("Arity mismatch between trees")
            for i in range(len(children) - 1, -1, -1):
                children[i] = build(children[i])
            return _make_node(node, children)

        out = build(xs)
        if nodes:
            raise ValueError("Tree structures did not match.")
        return out

    def children(self):
        nodes = self._nodes
        if nodes[-1][1] == len(nodes) - 1 == self.num_leaves:
            return [_new_treedef(self._registry, [_LEAF_NODE], 1) for _ in range(len(nodes) - 1)]
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
            out.append(_new_treedef(self._registry, part, part.count(_LEAF_NODE)))
        return out

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return False
        return _nodes_equal(self._nodes, other._nodes)

    def __hash__(self):
        return _nodes_hash(self._nodes)

    def __repr__(self):
        agenda = []
        for node in self._nodes:
            arity = node[1]
            children = agenda[len(agenda) - arity:]
            del agenda[len(agenda) - arity:]
            agenda.append(_node_repr(node, children))
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
            nodes.append(_LEAF_NODE)
            return _new_treedef(registry, nodes, num_leaves + 1)
        type_, data = node_data
        if issubclass(type_, tuple) and hasattr(type_, "_fields"):
            nodes.append((NAMEDTUPLE, arity, None, type_))
            return _new_treedef(registry, nodes, num_leaves)
        reg = registry._types.get(type_)
        if reg is None:
            raise RuntimeError(f"Could not find type: {type_!r}.")
        nodes.append(_node(reg.kind, arity, reg, data))
        return _new_treedef(registry, nodes, num_leaves)

    def serialize_using_proto(self):
        return pytree_proto.serialize(self._nodes)

    @staticmethod
    def deserialize_using_proto(registry, data):
        nodes = [_node(kind, arity, None, keys)
                 for kind, arity, keys in pytree_proto.parse(data)]
        return _new_treedef(registry, nodes, nodes.count(_LEAF_NODE))

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
            nodes.append(_node(kind, arity, reg, data))
        self._registry = registry
        self._nodes = nodes
        self.num_leaves = nodes.count(_LEAF_NODE)


def _new_treedef(registry, nodes, num_leaves, _new=object.__new__):
    treedef = _new(PyTreeDef)
    treedef._registry = registry
    treedef._nodes = nodes
    treedef.num_leaves = num_leaves
    return treedef


def _node(kind, arity, reg, data):
    """Returns the node of these parts: the shared object if there is one."""
    if kind == LEAF:
        return _LEAF_NODE
    if kind == NONE:
        return _NONE_NODE
    if kind == TUPLE:
        return _tuple_node(arity)
    if kind == LIST:
        return _list_node(arity)
    if kind == DICT:
        return (DICT, arity, None, tuple(data))
    if kind == NAMEDTUPLE:
        return (NAMEDTUPLE, arity, None, data)
    return (kind, arity, reg, data)


def _node_repr(node, children):
    kind, _, reg, data = node
    if kind == LEAF:
        return "*"
    if kind == NONE:
        return "None"
    if kind == DICT:
        return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(data, children)) + "}"
    inner = ", ".join(children)
    if kind == TUPLE:
        return f"({inner},)" if len(children) == 1 else f"({inner})"
    if kind == LIST:
        return f"[{inner}]"
    if kind == NAMEDTUPLE:
        return f"CustomNode(namedtuple[{data.__name__}], [{inner}])"
    return f"CustomNode({reg.type.__name__}[{data}], [{inner}])"


def _structures_differ(tree, treedef):
    return ValueError(f"Tree structures did not match: {tree!r} vs {treedef!r}")


def _match(get, node, x):
    """Returns the children of x if it is a node like `node`, else raises ValueError."""
    kind, arity, reg, data = node
    if kind == TUPLE:
        if type(x) is not tuple:
            raise ValueError(f"Expected tuple, got {x!r}.")
        if len(x) != arity:
            raise ValueError(f"Tuple arity mismatch: {len(x)} != {arity}; tuple: {x!r}.")
        return x
    if kind == LIST:
        if type(x) is not list:
            raise ValueError(f"Expected list, got {x!r}.")
        if len(x) != arity:
            raise ValueError(f"List arity mismatch: {len(x)} != {arity}; list: {x!r}.")
        return x
    if kind == DICT:
        if type(x) is not dict:
            raise ValueError(f"Expected dict, got {x!r}.")
        keys = _sorted_keys(x)
        if keys != data:
            raise ValueError(
                f"Dict key mismatch; expected keys: {list(data)!r}; "
                f"present keys: {list(keys)!r}."
            )
        return [x[k] for k in keys]
    if kind == NONE:
        if x is not None:
            raise ValueError(
                f"Expected None, got {x!r}.\n\n"
                "In previous releases of JAX, flatten-up-to used to "
                "consider None to be a tree-prefix of non-None values. To obtain "
                "the previous behavior, you can usually write:\n"
                "  jax.tree.map(lambda x, y: None if x is None else f(x, y), a, "
                "b, is_leaf=lambda x: x is None)"
            )
        return ()
    if kind == NAMEDTUPLE:
        if not _is_namedtuple(x):
            raise ValueError(f"Expected named tuple, got {x!r}.")
        if len(x) != arity:
            raise ValueError(f"Named tuple arity mismatch: {len(x)} != {arity}; tuple: {x!r}.")
        if type(x) is not data:
            raise ValueError(
                f"Named tuple type mismatch: expected type: {data!r}, tuple: {x!r}."
            )
        return x
    name = "" if kind == CUSTOM else " dataclass"
    if get(type(x)) is not reg:
        raise ValueError(
            f"Custom{name} node type mismatch: expected type: {reg.type!r}, value: {x!r}."
        )
    if kind == CUSTOM:
        children, aux = reg.children(x)
    else:
        children, aux = [getattr(x, f) for f in reg.data], reg.metadata(x)
    if data is not aux and data != aux:
        raise ValueError(f"Mismatch custom{name} node data: {data!r} != {aux!r}; value: {x!r}.")
    children = list(children)
    if len(children) != arity:
        raise ValueError(f"Custom type arity mismatch: {len(children)} != {arity}; value: {x!r}.")
    return children


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
    nodes.append(_tuple_node(len(defs)))
    return _new_treedef(registry, nodes, num_leaves)


def all_leaves(registry, xs, /):
    return all(registry._kind(x)[0] == LEAF for x in xs)
