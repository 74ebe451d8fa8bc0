"""OpSharding: the protocol buffer of a sharding, with its wire format."""

import enum

from .._proto import bytes_field, fields, int_field, integers, packed_field


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
        parts = {}
        for name, number in _SCALARS.items():
            value = int(getattr(self, name))
            if value:
                parts[number] = int_field(number, value)
        for name, number in _LISTS.items():
            values = getattr(self, name)
            if len(values):
                parts[number] = packed_field(number, values)
        if self.tuple_shardings:
            inner = [s.SerializeToString() for s in self.tuple_shardings]
            parts[_TUPLE] = b"".join(bytes_field(_TUPLE, part) for part in inner)
        return b"".join(parts[number] for number in sorted(parts))

    def ParseFromString(self, data):
        OpSharding.__init__(self)
        for number, value in fields(bytes(data)):
            if isinstance(value, int):
                self._take(number, [value])
            else:
                self._take_bytes(number, value)

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
            self._take(number, integers(part))

    def clone(self):
        other = OpSharding()
        other.ParseFromString(self.SerializeToString())
        return other

    def __getstate__(self):
        return (self.SerializeToString(),)

    def __setstate__(self, state):
        self.ParseFromString(state[0])

    def __eq__(self, other):
        return (
            isinstance(other, OpSharding) and self.SerializeToString() == other.SerializeToString()
        )

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
