"""HloSharding: how XLA divides an array, as tiles of it on a grid of devices."""

import math
import re

import numpy as np

from .errors import status_error
from .op_sharding import OpSharding, Type

# The order of subgroups; replicated ones come last.
_ORDER = (Type.MAXIMAL, Type.TUPLE, Type.OTHER, Type.MANUAL, Type.UNKNOWN, Type.UNREDUCED,
          Type.REPLICATED)
_NAMES = {"replicated": Type.REPLICATED, "manual": Type.MANUAL, "unknown": Type.UNKNOWN,
          "unreduced": Type.UNREDUCED}


class HloSharding:
    """type: a Type; OTHER for tiles. devices: an array of device numbers with the grid's shape.

    iota: (reshape, permutation) where the grid is a transposed count; subgroups: types of the
    last dimensions of the grid, which divide no dimension of the array.
    """

    __slots__ = ("_type", "_devices", "_iota", "_subgroups", "_replicate_last", "_elements")

    def __init__(
        self, kind, devices=None, iota=None, subgroups=(), replicate_last=False, elements=()
    ):
        self._type = kind
        self._devices = devices
        self._iota = iota
        self._subgroups = tuple(subgroups)
        self._replicate_last = replicate_last
        self._elements = tuple(elements)

    # Makers.

    @staticmethod
    def replicate():
        return HloSharding(Type.REPLICATED)

    @staticmethod
    def manual():
        return HloSharding(Type.MANUAL)

    @staticmethod
    def unknown():
        return HloSharding(Type.UNKNOWN)

    @staticmethod
    def unreduced():
        return HloSharding(Type.UNREDUCED)

    @staticmethod
    def iota_tile(dims, reshape_dims=(), transpose_perm=(), subgroup_types=()):
        """Returns the sharding whose grid of devices is a count, reshaped and transposed."""
        size = int(np.prod(dims))
        if not len(dims):
            raise status_error("INVALID_ARGUMENT", "`dims` should not be empty.")
        if len(reshape_dims) != len(transpose_perm):
            raise status_error("INVALID_ARGUMENT",
                               "`reshape_dims` and `transpose_perm` should have the same size, got "
                               f"{len(reshape_dims)} vs {len(transpose_perm)}.")
        if reshape_dims and int(np.prod(reshape_dims)) != size:
            raise status_error(
                "INVALID_ARGUMENT",
                f"Cannot reshape from dims {list(dims)} to reshape_dims {list(reshape_dims)}",
            )
        if len(subgroup_types) > len(dims):
            raise status_error(
                "INVALID_ARGUMENT",
                f"`subgroup_types`({len(subgroup_types)}) should not have more dimensions "
                f"than `dims`({len(dims)}).",
            )
        reshape = list(reshape_dims) or [size]
        perm = list(transpose_perm) or list(range(len(reshape)))
        devices = np.arange(size).reshape(reshape).transpose(perm).reshape(dims)
        return _tiled(devices, _canonical(reshape, perm), subgroup_types)

    @staticmethod
    def subgroup_with_device_ordering(tile_assignment, subgroup_types=()):
        return _tiled(np.array(tile_assignment), None, subgroup_types)

    @staticmethod
    def tuple_sharding(shape, shardings, /):
        return HloSharding(Type.TUPLE, elements=shardings)

    @staticmethod
    def from_proto(proto, /):
        if proto.type == Type.TUPLE:
            return HloSharding(
                Type.TUPLE, elements=[HloSharding.from_proto(p) for p in proto.tuple_shardings]
            )
        if proto.type == Type.MAXIMAL:
            return HloSharding(Type.MAXIMAL, np.array([proto.tile_assignment_devices[0]]))
        if proto.type != Type.OTHER:
            return HloSharding(Type(proto.type))
        dims = list(proto.tile_assignment_dimensions)
        subgroups = list(proto.last_tile_dims)
        if proto.replicate_on_last_tile_dim:
            subgroups.append(Type.REPLICATED)
        if proto.iota_reshape_dims:
            return HloSharding.iota_tile(
                dims, proto.iota_reshape_dims, proto.iota_transpose_perm, subgroups)
        return _tiled(np.array(proto.tile_assignment_devices).reshape(dims), None, subgroups)

    @staticmethod
    def from_string(text, /):
        return _parse(text)

    @staticmethod
    def v3_to_v2_sharding(sharding, /):
        return sharding

    def to_proto(self):
        proto = OpSharding()
        proto.type = self._type
        if self._type == Type.TUPLE:
            proto.tuple_shardings = [e.to_proto() for e in self._elements]
        elif self._type == Type.MAXIMAL:
            proto.tile_assignment_devices = [int(self._devices[0])]
            proto.tile_assignment_dimensions = [1]
        elif self._type == Type.OTHER:
            proto.tile_assignment_dimensions = list(self._devices.shape)
            if self._iota:
                proto.iota_reshape_dims, proto.iota_transpose_perm = map(list, self._iota)
            else:
                proto.tile_assignment_devices = [int(d) for d in self._devices.ravel()]
            proto.replicate_on_last_tile_dim = self._replicate_last
            proto.last_tile_dims = list(self._subgroups)
        return proto

    # Questions.

    def is_replicated(self):
        if self._type == Type.TUPLE:
            return all(e.is_replicated() for e in self._elements)
        return self._type == Type.REPLICATED

    def is_manual(self):
        return self._type == Type.MANUAL

    def is_unknown(self):
        return self._type == Type.UNKNOWN

    def is_unreduced(self):
        return self._type == Type.UNREDUCED

    def is_maximal(self):
        return self._type == Type.MAXIMAL

    def is_tiled(self):
        return self._type in (Type.OTHER, Type.TUPLE)

    def is_tile_assignment_iota(self):
        return self._iota is not None

    def tuple_elements(self):
        return list(self._elements)

    def num_devices(self):
        return 1 if self._devices is None else self._devices.size

    def num_dimensions(self):
        return 1 if self._devices is None else self._devices.ndim

    def tile_assignment_dimensions(self):
        return [0] if self._devices is None else list(self._devices.shape)

    def tile_assignment_devices(self):
        return [] if self._devices is None else [int(d) for d in self._devices.ravel()]

    def replicate_on_last_tile_dim(self):
        return self._replicate_last

    def subgroup_types(self):
        return list(self._subgroups)

    def get_axis_sizes(self):
        """Returns the sizes of axes, major to minor, of a mesh that divides the dimensions."""
        if not self._iota:
            return self.tile_assignment_dimensions()
        reshape, perm = self._iota
        parts = [[] for _ in reshape]
        tiles = [d for d in self._devices.shape if d > 1]
        sizes = [reshape[i] for i in perm]
        for i, size in zip(reversed(perm), reversed(sizes)):
            while size > 1:
                step = math.gcd(size, tiles[-1])
                parts[i].insert(0, step)
                size //= step
                tiles[-1] //= step
                if tiles[-1] == 1:
                    tiles.pop()
        return [size for part in parts for size in part]

    def tile(self, shape, /):
        """Returns the shape of a tile of an array."""
        if self._type != Type.OTHER:
            return shape
        dims = [-(-d // n) for d, n in zip(shape.dimensions(), self._devices.shape)]
        return type(shape).array_shape(shape.numpy_dtype(), dims)

    def _key(self):
        if self._type == Type.TUPLE:
            return (self._type, tuple(e._key() for e in self._elements))
        devices = None if self._devices is None else (self._devices.shape, self._devices.tobytes())
        return (self._type, devices, self._subgroups, self._replicate_last)

    def __eq__(self, other):
        return isinstance(other, HloSharding) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        if self._type == Type.TUPLE:
            return "{" + ", ".join(map(repr, self._elements)) + "}"
        if self._type == Type.MAXIMAL:
            return f"{{maximal device={int(self._devices[0])}}}"
        if self._type != Type.OTHER:
            return f"{{{self._type.name.lower()}}}"
        text = f"devices=[{_joined(self._devices.shape)}]"
        if self._iota:
            reshape, perm = self._iota
            text += f"<=[{_joined(reshape)}]"
            if len(reshape) > 1:
                text += f"T({_joined(perm)})"
        else:
            text += _joined(self._devices.ravel())
        if self._replicate_last:
            text += " last_tile_dim_replicate"
        elif self._subgroups:
            text += f" last_tile_dims={{{', '.join(t.name.lower() for t in self._subgroups)}}}"
        return f"{{{text}}}"

    def __getstate__(self):
        return (self.to_proto().SerializeToString(),)

    def __setstate__(self, state):
        proto = OpSharding()
        proto.ParseFromString(state[0])
        other = HloSharding.from_proto(proto)
        for name in HloSharding.__slots__:
            setattr(self, name, getattr(other, name))


def _joined(values):
    return ",".join(str(int(v)) for v in values)


def _canonical(reshape, perm):
    """Drops dimensions of size 1, and merges those that stay neighbours."""
    kept = [i for i, d in enumerate(reshape) if d != 1]
    order = [i for i in perm if i in kept]
    groups = []
    for i in order:
        if groups and kept.index(i) == kept.index(groups[-1][-1]) + 1:
            groups[-1].append(i)
        else:
            groups.append([i])
    by_place = sorted(groups)
    sizes = [int(np.prod([reshape[i] for i in group])) for group in by_place]
    return (tuple(sizes) or (1,), tuple(by_place.index(group) for group in groups) or (0,))


def _tiled(devices, iota, subgroups):
    """Returns the tiled sharding in normal form: subgroups in order, one a type, none of size 1."""
    subgroups = [Type(t) for t in subgroups]
    rank = devices.ndim - len(subgroups)
    groups = {}
    for i, kind in enumerate(subgroups):
        if devices.shape[rank + i] > 1:
            groups.setdefault(kind, []).append(rank + i)
    order = [kind for kind in _ORDER if kind in groups]
    perm = [*range(rank), *(i for kind in order for i in groups[kind])]
    perm += [i for i in range(devices.ndim) if i not in perm]
    sizes = [int(np.prod([devices.shape[i] for i in groups[kind]])) for kind in order]
    tile = devices.shape[:rank]
    new = devices.transpose(perm).reshape(*tile, *sizes)
    if iota is not None and perm != list(range(devices.ndim)):
        iota = _found_iota(new)
    if int(np.prod(tile)) == 1 and len(order) <= 1:
        return HloSharding(order[0] if order else Type.REPLICATED)
    if order == [Type.REPLICATED]:
        return HloSharding(Type.OTHER, new, iota, (), True)
    return HloSharding(Type.OTHER, new, iota, order)


def _found_iota(devices):
    """Returns the form as a transposed count, if the grid's own dimensions are one of it."""
    flat = devices
    shape, strides = flat.shape, []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        index = [0] * flat.ndim
        index[axis] = 1
        strides.append((int(flat[tuple(index)] - flat[(0,) * flat.ndim]), axis))
    ordered = sorted(strides, reverse=True)
    reshape = [shape[axis] for _, axis in ordered]
    axes = [axis for _, axis in ordered]
    perm = [axes.index(axis) for _, axis in strides]
    count = np.arange(flat.size).reshape(reshape or [1]).transpose(perm or [0]).reshape(shape)
    return _canonical(reshape or [1], perm or [0]) if np.array_equal(count, flat) else None


_DEVICES = re.compile(
    r"devices=\[([\d,]*)\](?:<=\[([\d,]*)\](?:T\(([\d,]*)\))?|([\d,]*))"
    r"(?: last_tile_dim_replicate| last_tile_dims=\{([\w, ]*)\})?")


def _ints(text):
    return [int(part) for part in text.split(",") if part]


def _parse(text):
    text = text.strip()
    if text.startswith("{{"):
        parts, depth, start = [], 0, 1
        for i, c in enumerate(text):
            depth += (c == "{") - (c == "}")
            if c == "{" and depth == 2:
                start = i
            elif c == "}" and depth == 1:
                parts.append(_parse(text[start:i + 1]))
        return HloSharding(Type.TUPLE, elements=parts)
    body = text.strip("{}") if "last_tile_dims" not in text else text[1:-1]
    if body in _NAMES:
        return HloSharding(_NAMES[body])
    maximal = re.fullmatch(r"maximal device=(\d+)", body)
    if maximal:
        return HloSharding(Type.MAXIMAL, np.array([int(maximal.group(1))]))
    found = _DEVICES.fullmatch(body)
    if not found:
        raise ValueError(f"{text!r} is no sharding")
    dims, reshape, perm, devices, last = found.groups()
    subgroups = [_NAMES[name.strip()] for name in last.split(",")] if last else []
    if "last_tile_dim_replicate" in body:
        subgroups = [Type.REPLICATED]
    if reshape:
        return HloSharding.iota_tile(_ints(dims), _ints(reshape), _ints(perm or ""), subgroups)
    return _tiled(np.array(_ints(devices)).reshape(_ints(dims)), None, subgroups)
