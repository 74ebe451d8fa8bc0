"""The protocol buffer form of pytrees of leaves, lists, tuples, dicts of strings, and None.

PyTreeDefProto: field 1 the nodes in postorder, field 2 the interned strings. A node: field 1 its
arity, field 2 its type, field 3 the keys of a dict, each an index of a string (packed, field 1).
"""

from .errors import JaxRuntimeError

# Kinds of pytree.py (LEAF, NONE, TUPLE, LIST, DICT) and their types in the proto.
_TYPES = {0: 1, 4: 2, 1: 3, 2: 4, 5: 5}
_KINDS = {v: k for k, v in _TYPES.items()}
_DICT = 5


def _varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


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
        node = b"\x08" + _varint(arity) if arity else b""
        node += b"\x10" + _varint(_TYPES[kind])
        if kind == _DICT and data:
            if not all(isinstance(key, str) for key in data):
                raise ValueError(
                    "Only string keys are supported in proto pytree serialization."
                )
            ids = b"".join(_varint(strings.setdefault(key, len(strings))) for key in data)
            node += _field(3, _field(1, ids))
        out += _field(1, node)
    return out + b"".join(_field(2, key.encode()) for key in strings)


class _Malformed(Exception):
    pass


def _read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _Malformed
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _read_fields(data):
    """Yields (number, value) of each field: an integer, or bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _read_varint(data, at)
        elif wire == 2:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                raise _Malformed
            value = data[at:at + size]
            at += size
        else:
            raise _Malformed
        yield tag >> 3, value


def _read_ids(data):
    ids = []
    for number, value in _read_fields(data):
        if number != 1:
            continue
        if isinstance(value, int):
            ids.append(value)
            continue
        at = 0
        while at < len(value):
            n, at = _read_varint(value, at)
            ids.append(n)
    return ids


def parse(data):
    """Returns the list of (kind, arity, keys) of a serialized tree. Raises if malformed."""
    nodes, strings = [], []
    try:
        for number, value in _read_fields(bytes(data)):
            if number == 1:
                node = {1: 0, 2: 0, 3: b""}
                node.update(_read_fields(value))
                nodes.append((node[2], node[1], _read_ids(node[3])))
            elif number == 2:
                strings.append(value.decode())
    except (_Malformed, TypeError, AttributeError, UnicodeDecodeError):
        raise JaxRuntimeError("Could not deserialize PyTreeDefProto.") from None
    out = []
    for type_, arity, ids in nodes:
        if type_ not in _KINDS:
            raise ValueError("Malformed pytree proto (invalid node type)")
        if any(i >= len(strings) for i in ids):
            raise ValueError("Malformed pytree proto (dict_key out of range).")
        out.append((_KINDS[type_], arity, tuple([strings[i] for i in ids])))
    return out
