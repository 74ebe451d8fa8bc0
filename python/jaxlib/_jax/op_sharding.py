"""OpSharding: the protocol buffer of a sharding, with its wire format."""

import enum


class Type(enum.IntEnum):
    REPLICATED = 0
    MAXIMAL = 1
    TUPLE = 2
    OTHER = 3
    MANUAL = 4
    UNKNOWN = 5
    UNREDUCED = 6

    def __repr__(self):
        return f"OpSharding_Type.{self.name}"


class ShardGroupType(enum.IntEnum):
    AS = 0
    LIKE = 1

    def __repr__(self):
        return f"OpSharding_ShardGroupType.{self.name}"


Type.__name__ = "OpSharding_Type"
ShardGroupType.__name__ = "OpSharding_ShardGroupType"

# Field numbers; lists are packed.
_SCALARS = {"type": 1, "replicate_on_last_tile_dim": 6, "is_shard_group": 11, "shard_group_id": 12,
            "shard_group_type": 13}
_LISTS = {"tile_assignment_dimensions": 3, "tile_assignment_devices": 4, "last_tile_dims": 8,
          "iota_reshape_dims": 9, "iota_transpose_perm": 10}
_TUPLE = 5
_SCALAR_NAMES = {number: name for name, number in _SCALARS.items()}
_LIST_NAMES = {number: name for name, number in _LISTS.items()}
_ENUMS = {"type": Type, "shard_group_type": ShardGroupType, "last_tile_dims": Type}


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


class OpSharding:
    Type = Type
    ShardGroupType = ShardGroupType

    def __init__(self):
        self.type = Type.REPLICATED
        self.tile_assignment_dimensions = []
        self.tile_assignment_devices = []
        self.tuple_shardings = []
        self.replicate_on_last_tile_dim = False
        self.last_tile_dims = []
        self.iota_reshape_dims = []
        self.iota_transpose_perm = []
        self.is_shard_group = False
        self.shard_group_id = 0
        self.shard_group_type = ShardGroupType.AS

    def SerializeToString(self):
        fields = {}
        for name, number in _SCALARS.items():
            value = int(getattr(self, name))
            if value:
                fields[number] = _varint(number << 3) + _varint(value)
        for name, number in _LISTS.items():
            values = getattr(self, name)
            if len(values):
                packed = b"".join(_varint(int(v)) for v in values)
                fields[number] = _varint(number << 3 | 2) + _varint(len(packed)) + packed
        if self.tuple_shardings:
            parts = [s.SerializeToString() for s in self.tuple_shardings]
            fields[_TUPLE] = b"".join(_varint(_TUPLE << 3 | 2) + _varint(len(p)) + p for p in parts)
        return b"".join(fields[number] for number in sorted(fields))

    def ParseFromString(self, data):
        OpSharding.__init__(self)
        data, at = bytes(data), 0
        while at < len(data):
            key, at = _read_varint(data, at)
            number, wire = key >> 3, key & 7
            if wire == 0:
                value, at = _read_varint(data, at)
                self._take(number, [value])
            elif wire == 2:
                size, at = _read_varint(data, at)
                part, at = data[at:at + size], at + size
                self._take_bytes(number, part)
            else:
                raise ValueError(f"OpSharding has no fields of wire type {wire}")

    def _take(self, number, values):
        name = _LIST_NAMES.get(number)
        if name:
            kind = _ENUMS.get(name, int)
            getattr(self, name).extend(kind(v) for v in values)
        elif number in _SCALAR_NAMES:
            name = _SCALAR_NAMES[number]
            kind = _ENUMS.get(name, type(getattr(self, name)))
            setattr(self, name, kind(values[-1]))

    def _take_bytes(self, number, part):
        if number == _TUPLE:
            inner = OpSharding()
            inner.ParseFromString(part)
            self.tuple_shardings.append(inner)
        elif number in _LIST_NAMES:
            values, at = [], 0
            while at < len(part):
                value, at = _read_varint(part, at)
                values.append(value)
            self._take(number, values)

    def clone(self):
        other = OpSharding()
        other.ParseFromString(self.SerializeToString())
        return other

    def __getstate__(self):
        return (self.SerializeToString(),)

    def __setstate__(self, state):
        self.ParseFromString(state[0])

    def __eq__(self, other):
        return isinstance(other, OpSharding) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None

    def __repr__(self):
        lines = []
        if self.type:
            lines.append(f"type: {self.type.name}")
        for name in _LISTS:
            lines += [f"{name}: {getattr(v, 'name', v)}" for v in getattr(self, name)]
        for inner in self.tuple_shardings:
            body = "".join(f"  {line}\n" for line in repr(inner).splitlines())
            lines.append(f"tuple_shardings {{\n{body}}}")
        if self.replicate_on_last_tile_dim:
            lines.append("replicate_on_last_tile_dim: true")
        return "".join(f"{line}\n" for line in lines)
