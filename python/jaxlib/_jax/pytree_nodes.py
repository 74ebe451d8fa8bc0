"""The nodes of pytrees: their kinds, how types are taken apart and made, and how nodes compare."""

from .pytree_keys import FlattenedIndexKey

# The kinds are numbered as in jaxlib: pickles hold them.
LEAF, NONE, TUPLE, NAMEDTUPLE, LIST, DICT, CUSTOM, DATACLASS = range(8)

LEAF_NODE = (LEAF, 0, None, None)
NONE_NODE = (NONE, 0, None, None)
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
plain_leaves = {bool, int, float, complex, str}
_MAX_PLAIN_LEAVES = 256


def tuple_node(n):
    return _TUPLE_NODES[n] if n < 64 else (TUPLE, n, None, None)


def list_node(n):
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


def is_namedtuple(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


def fields_of(x):
    fields = x._fields
    if not isinstance(fields, tuple) or len(fields) != len(x):
        raise ValueError(
            "A namedtuple's _fields attribute should have the same size as the tuple."
        )
    return fields


def sorted_keys(d):
    try:
        return tuple(sorted(d))
    except Exception as e:
        raise ValueError(
            "Comparator raised exception while sorting pytree dictionary keys."
        ) from e


def check_leaf(x):
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
    elif len(plain_leaves) < _MAX_PLAIN_LEAVES and "<locals>" not in type(x).__qualname__:
        plain_leaves.add(type(x))


def make_node(node, children):
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


def nodes_hash(nodes):
    """Hashes a list of nodes by its length and its last node; data of nodes may have no hash."""
    if not nodes:
        return 0
    kind, arity, _, data = nodes[-1]
    return hash((len(nodes), kind, arity, data if kind == DICT else None))


def nodes_equal(a, b):
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


def node_of(kind, arity, reg, data):
    """Returns the node of these parts: the shared object if there is one."""
    if kind == LEAF:
        return LEAF_NODE
    if kind == NONE:
        return NONE_NODE
    if kind == TUPLE:
        return tuple_node(arity)
    if kind == LIST:
        return list_node(arity)
    if kind == DICT:
        return (DICT, arity, None, tuple(data))
    if kind == NAMEDTUPLE:
        return (NAMEDTUPLE, arity, None, data)
    return (kind, arity, reg, data)


def node_repr(node, children):
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


def match_node(get, node, x):
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
        keys = sorted_keys(x)
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
        if not is_namedtuple(x):
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
