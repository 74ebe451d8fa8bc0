"""The protocol buffer form of pytrees of leaves, lists, tuples, dicts of strings, and None.

PyTreeDefProto: field 1 the nodes in postorder, field 2 the interned strings. A node: field 1 its
arity, field 2 its type, field 3 the keys of a dict, each an index of a string (packed, field 1).
"""

from .._proto import bytes_field, fields, int_field, integers, packed_field
from .errors import JaxRuntimeError

# Kinds of pytree.py (LEAF, NONE, TUPLE, LIST, DICT) and their types in the proto.
_TYPES = {0: 1, 4: 2, 1: 3, 2: 4, 5: 5}
_KINDS = {v: k for k, v in _TYPES.items()}
_DICT = 5


def serialize(nodes):
    """Returns the bytes of nodes, tuples (kind, arity, registration, data)."""
    strings = {}
    out = b""
    for kind, arity, _, data in nodes:
        if kind not in _TYPES:
            raise ValueError(
                "User-defined nodes are not supported when serializing pytrees as "
                "protocol buffers. You should either convert the user-defined "
                "nodes to another type or use pickle instead."
            )
        node = int_field(1, arity) if arity else b""
        node += int_field(2, _TYPES[kind])
        if kind == _DICT and data:
            if not all(isinstance(key, str) for key in data):
                raise ValueError(
                    "Only string keys are supported in proto pytree serialization."
                )
            ids = [strings.setdefault(key, len(strings)) for key in data]
            node += bytes_field(3, packed_field(1, ids))
        out += bytes_field(1, node)
    return out + b"".join(bytes_field(2, key.encode()) for key in strings)


def _read_ids(data):
    ids = []
    for number, value in fields(data):
        if number == 1:
            ids += [value] if isinstance(value, int) else integers(value)
    return ids


def parse(data):
    """Returns the list of (kind, arity, keys) of a serialized tree. Raises if malformed."""
    nodes, strings = [], []
    try:
        for number, value in fields(bytes(data)):
            if number == 1:
                node = {1: 0, 2: 0, 3: b""}
                node.update(fields(value))
                nodes.append((node[2], node[1], _read_ids(node[3])))
            elif number == 2:
                strings.append(value.decode())
    except (ValueError, TypeError, AttributeError):
        raise JaxRuntimeError("Could not deserialize PyTreeDefProto.") from None
    out = []
    for type_, arity, ids in nodes:
        if type_ not in _KINDS:
            raise ValueError("Malformed pytree proto (invalid node type)")
        if any(i >= len(strings) for i in ids):
            raise ValueError("Malformed pytree proto (dict_key out of range).")
        out.append((_KINDS[type_], arity, tuple([strings[i] for i in ids])))
    return out
