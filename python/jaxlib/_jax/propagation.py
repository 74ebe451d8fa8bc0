"""Shardings of a program's parameters and results, as it states them or as they follow.

A sharding goes from operands to results as far as the operation's dimensions correspond; the rest
is replicated. The program itself runs whole: only the layout of its results depends on this.
"""

import re
from typing import NamedTuple

import numpy as np

from jaxlib.mlir import ir

from .hlo_sharding import HloSharding
from .op_sharding import Type

INSPECT, PARTITIONED = "InspectSharding", "xla_ffi_partitioned_python_cpu_callback"
_LAPACK = re.compile(r"lapack_|\w*(?:Qr|Householder|LuDecomposition|Eigh?|Svd)\b")


class Axis(NamedTuple):
    """An axis of a mesh, or a part of it: `size` of its devices, after `pre` times as many."""

    name: str
    pre: int
    size: int  # 0: the whole axis.


class Sharding(NamedTuple):
    """The axes of a mesh that divide each dimension, and those along which values are added."""

    mesh: str
    dims: tuple
    unreduced: tuple = ()


class Known(NamedTuple):
    """What is known of a value. Its sharding: a Sharding, an HloSharding, or None."""

    sharding: object
    shape: tuple


class Mesh(NamedTuple):
    sizes: dict  # By the axes' names.
    devices: list  # None: in order.


# ---- What a program states ----


def _mesh_of(attribute):
    sizes = {axis.name: axis.size for axis in attribute.axes}
    return Mesh(sizes, attribute.device_ids or None)


def _axes(references):
    axes = []
    for axis in references:
        part = axis.sub_axis_info
        axes.append(Axis(axis.name, part.pre_size, part.size) if part else Axis(axis.name, 1, 0))
    return tuple(axes)


def _shape_of(type):
    shape = getattr(type, "shape", None)
    return None if shape is None else tuple([size if size >= 0 else -1 for size in shape])


class _Program:
    """The functions and meshes of a module, and what a walk through it collects.

    seen: (target, number of its handler, HloShardings) of calls that look at shardings.
    groups: the shardings of Shardy's groups, by number.
    """

    def __init__(self, text):
        with ir.Context():
            operations = list(ir.Module.parse(text).body.operations)
        self.meshes, self.functions, self.seen, self.groups = {}, {}, [], {}
        for operation in operations:
            operation = operation.operation
            if operation.name in ("sdy.mesh", "func.func"):
                name = operation.attributes["sym_name"].value
                if operation.name == "sdy.mesh":
                    self.meshes[name] = _mesh_of(operation.attributes["mesh"])
                else:
                    self.functions[name] = operation

    def read(self, attribute):
        """Returns the Sharding of an attribute of Shardy, or None."""
        mesh = attribute.mesh_or_ref
        if isinstance(mesh, ir.FlatSymbolRefAttr):
            name = mesh.value
        else:
            name = str(mesh)
            self.meshes[name] = _mesh_of(mesh)
        if name not in self.meshes:
            return None
        dims = tuple([_axes(dim.axes) for dim in attribute.dimension_shardings])
        return Sharding(name, dims, _axes(attribute.unreduced_axes))

    def stated(self, attributes):
        """Returns the sharding that a type's attributes state: in one of the two forms, or None."""
        if "sdy.sharding" in attributes:
            return self.read(attributes["sdy.sharding"])
        if "mhlo.sharding" in attributes:
            return HloSharding.from_string(attributes["mhlo.sharding"].value)
        return None

    def filled(self, attribute, other):
        """Returns the sharding whose open dimensions, `{?}` and `{"x", ?}`, `other` fills."""
        stated = self.read(attribute)
        if stated is None or not _usable(other) or not _is_open(attribute):
            return stated
        used = {axis.name for group in stated.dims for axis in group}
        if used and stated.mesh != other.mesh:
            return stated
        out = []
        for dim, group, new in zip(attribute.dimension_shardings, stated.dims, other.dims):
            taken = group or dim.is_closed or used & {axis.name for axis in new}
            more = () if taken else new
            used |= {axis.name for axis in more}
            out.append(group + more)
        return Sharding(other.mesh, tuple(out), stated.unreduced)

    def hlo_sharding(self, sharding):
        """Returns the HloSharding of a value's sharding."""
        if sharding is None:
            return HloSharding.replicate()
        return _tiled(sharding, self.meshes[sharding.mesh]) if _usable(sharding) else sharding


def _attributes(function, which, count):
    """Returns the attributes of a function's parameters or results."""
    attributes = function.attributes
    return list(attributes[which]) if which in attributes else [{}] * count


def _is_open(attribute):
    return attribute is not None and not all(d.is_closed for d in attribute.dimension_shardings)


def _tiled(sharding, mesh):
    dims, unreduced, sizes = sharding.dims, sharding.unreduced, mesh.sizes
    # Axes, those that are used in parts cut at the parts' ends.
    cuts = {name: {1, size} for name, size in sizes.items()}
    for name, pre, size in (axis for group in (*dims, unreduced) for axis in group):
        if size:
            cuts[name] |= {pre, pre * size}
    pieces = []  # Major to minor.
    for name in sizes:
        ends = sorted(cuts[name])
        pieces += [Axis(name, low, high // low) for low, high in zip(ends, ends[1:])] or [
            Axis(name, 1, 1)]

    def numbers_of(group):
        found = []
        for name, pre, size in group:
            low, high = (pre, pre * size) if size else (1, sizes[name])
            found += [i for i, (n, p, s) in enumerate(pieces) if n == name and low <= p < high]
        return found

    def count(numbers):
        return int(np.prod([pieces[i].size for i in numbers], dtype=int))

    inner = [numbers_of(group) for group in dims]
    order, tile = sum(inner, []), [count(numbers) for numbers in inner]
    reduced = numbers_of(unreduced)
    rest = [i for i in range(len(pieces)) if i not in order and i not in reduced]
    kinds = []
    for group, kind in ((reduced, Type.UNREDUCED), (rest, Type.REPLICATED)):
        order += group
        if count(group) > 1:
            tile.append(count(group))
            kinds.append(kind)
    if int(np.prod(tile[:len(dims)], dtype=int)) == 1 and not reduced:
        return HloSharding.replicate()
    shape, devices = [piece.size for piece in pieces], mesh.devices
    if devices is None or devices == sorted(devices):
        return HloSharding.iota_tile(tile, shape, order, kinds)
    grid = np.array(devices).reshape(shape).transpose(order).reshape(tile)
    return HloSharding.subgroup_with_device_ordering(grid, kinds)


# ---- Propagation ----


def shardings_of(text):
    """Returns the HloShardings of the parameters and of the results of @main."""
    program = _Program(text)
    main = program.functions.get("main")
    if main is None:
        return [], []
    parameters, stated, types = _stated_by(program, main)
    attributes = [a["sdy.sharding"] if "sdy.sharding" in a else None
                  for a in _attributes(main, "res_attrs", len(types))]
    results = stated
    if None in stated or any(map(_is_open, attributes)):
        found = _propagate(program, main, parameters)
        results = []
        for i, type in enumerate(types):
            other = _even(found[i], _shape_of(type), program.meshes)
            if stated[i] is None:
                results.append(other)
            else:
                is_open = _is_open(attributes[i])
                results.append(program.filled(attributes[i], other) if is_open else stated[i])
    return tuple([program.hlo_sharding(s) for s in part] for part in (parameters, results))


def seen_shardings(text):
    """Returns calls that inspect shardings: (target, number of handler, operands' HloShardings)."""
    program = _Program(text)
    main = program.functions["main"]
    _propagate(program, main, _stated_by(program, main)[0])
    return program.seen


def _stated_by(program, function):
    """Returns the stated shardings of a function's parameters, of its results, and their types."""
    type = function.attributes["function_type"].value
    parameters = _attributes(function, "arg_attrs", len(type.inputs))
    results = _attributes(function, "res_attrs", len(type.results))
    stated = [[program.stated(a) for a in part] for part in (parameters, results)]
    return *stated, type.results


def _propagate(program, function, shardings):
    """Returns the shardings of a function's results for those of its parameters."""
    block = function.regions[0].blocks[0]
    known = {argument: Known(sharding, _shape_of(argument.type))
             for argument, sharding in zip(block.arguments, shardings)}
    found = _walk(program, block, dict(known))
    if program.groups:  # Members that come before the one that divides.
        found = _walk(program, block, known)
    return found


def _walk(program, block, known):
    """Follows the operations of a block; returns the shardings of what its last one returns."""
    for operation in block.operations:
        operation = operation.operation
        inputs = [known.get(value, Known(None, None)) for value in operation.operands]
        name = operation.name
        if name == "sdy.sharding_group":
            _join(program, operation, known)
        elif name == "stablehlo.while":
            found = _loop(program, operation, inputs, known)
        elif name in ("stablehlo.case", "stablehlo.if"):
            found = _walk(program, operation.regions[0].blocks[0], dict(known))
        elif name == "sdy.manual_computation":
            found = _manual(program, operation, inputs, known)
        else:
            found = _results(program, operation, _on_one_mesh(inputs))
        for i, value in enumerate(operation.results):
            known[value] = Known(found[i] if i < len(found) else None, _shape_of(value.type))
    return [sharding for sharding, _ in inputs]


def _join(program, operation, known):
    """Gives the members of a group the sharding of its first that divides."""
    value, number = operation.operands[0], operation.attributes["group_id"].value
    sharding, shape = known.get(value, Known(None, None))
    if _usable(sharding) and any(sharding.dims):
        program.groups.setdefault(number, sharding)
    known[value] = Known(program.groups.get(number, sharding), shape)


def _inner(program, operation, inputs, known):
    """Returns what the last region of an operation returns if its arguments are the operands."""
    block = operation.regions[-1].blocks[0]
    arguments = {argument: Known(sharding, _shape_of(argument.type))
                 for argument, (sharding, _) in zip(block.arguments, inputs)}
    return _walk(program, block, {**known, **arguments})


def _loop(program, operation, inputs, known):
    """Returns the shardings of a loop's results: those of its body's, or of its operands."""
    made = _inner(program, operation, inputs, known)
    return [new or old for new, (old, _) in zip(made, inputs)]


def _manual(program, operation, inputs, known):
    """Returns the stated shardings of a manual computation, open dimensions as in its body."""
    stated = operation.attributes["out_shardings"].shardings
    made = [None] * len(stated)
    if any(map(_is_open, stated)):
        made = _inner(program, operation, inputs, known)
    return [program.filled(attribute, other) for attribute, other in zip(stated, made)]


def _results(program, operation, inputs):
    name, shardings = operation.name, [sharding for sharding, _ in inputs]
    if name == "stablehlo.custom_call":
        _look(program, operation, shardings)
    if name == "sdy.sharding_constraint":
        return [program.filled(operation.attributes["sharding"], shardings[0])]
    if name == "func.call":
        function = program.functions[operation.attributes["callee"].value]
        parameters, results, _ = _stated_by(program, function)
        found = _propagate(program, function,
                           [s or stated for s, stated in zip(shardings, parameters)])
        return [stated or s for s, stated in zip(found, results)]
    if all(sharding is None for sharding in shardings):
        return []
    shapes = [_shape_of(value.type) for value in operation.results]
    rule = _RULES.get(name.split(".")[-1])
    if rule:
        return rule(operation, inputs, shapes) or []
    return [_same_shape(inputs, shape) for shape in shapes]


def _look(program, call, shardings):
    """Notes the operands' shardings of a call that inspects them."""
    target = call.attributes["call_target_name"].value
    if target in (INSPECT, PARTITIONED):
        number = None
        for key in ("backend_config", "mhlo.backend_config"):
            config = call.attributes[key] if key in call.attributes else ""
            if isinstance(config, ir.DictAttr):
                number = config["index"].value
            elif config and config.value:
                number = int(config.value)
        program.seen.append((target, number, [program.hlo_sharding(s) for s in shardings]))


def _usable(sharding):
    return isinstance(sharding, Sharding)


def _even(sharding, shape, meshes):
    """Returns the sharding without axes that do not divide their dimension evenly."""
    if not _usable(sharding) or shape is None:
        return sharding
    sizes = meshes[sharding.mesh].sizes
    dims = [_dividing(group, size, sizes) for group, size in zip(sharding.dims, shape)]
    return sharding._replace(dims=tuple(dims))


def _dividing(group, size, sizes):
    """Returns the first axes of a group, as many as divide a dimension's size evenly."""
    count = 1
    for i, axis in enumerate(group):
        count *= axis.size or sizes[axis.name]
        if size % count:
            return group[:i]
    return group


def _on_one_mesh(inputs):
    """Returns what is known of operands, all on the mesh of the first that divides."""
    usable = [s for s, _ in inputs if _usable(s)]
    if len({s.mesh for s in usable}) < 2:
        return inputs
    mesh = next((s.mesh for s in usable if any(s.dims)), usable[0].mesh)
    return [Known(s._replace(mesh=mesh) if _usable(s) and (s.mesh == mesh or not any(s.dims))
                  else None, shape) for s, shape in inputs]


def _same_shape(inputs, shape):
    """Returns the operands' shardings for the result of an element-wise operation, joined."""
    return _joined([sharding for sharding, other in inputs if other == shape])


def _joined(shardings):
    """Returns the sharding that follows from those of operands, dimension by dimension.

    Where operands divide a dimension differently, the longest list of axes wins if the others are
    its prefixes; else the dimension is not divided.
    """
    usable = [s for s in shardings if _usable(s)]
    if not usable:
        return next((s for s in shardings if s is not None), None)
    first = usable[0]
    dims = []
    for groups in zip(*[s.dims for s in usable if s.mesh == first.mesh]):
        longest = max(groups, key=len)
        agree = all(longest[:len(group)] == group for group in groups)
        dims.append(longest if agree else ())
    # An axis that operands use for several dimensions divides that of the first one.
    used, out = set(), [()] * len(dims)
    for sharding in usable:
        for i, group in enumerate(sharding.dims):
            names = {axis.name for axis in dims[i]}
            if group and not out[i] and not names & used:
                out[i] = dims[i]
                used |= names
    return first._replace(dims=tuple(out))


def _with(sharding, dims):
    """Returns the sharding with other dimensions; an axis divides only the first that has it."""
    used, out = set(), []
    for group in dims:
        names = {axis.name for axis in group}
        out.append(() if used & names else group)
        used |= names
    return Sharding(sharding.mesh, tuple(out))


# ---- Rules ----

# A rule takes the operation, what is known of its operands, and the shapes of its results.


def _transpose(operation, inputs, shapes):
    sharding, _ = inputs[0]
    if not _usable(sharding):
        return None
    permutation = operation.attributes["permutation"]
    return [_with(sharding, [sharding.dims[i] for i in permutation])]


def _broadcast(operation, inputs, shapes):
    sharding, shape = inputs[0]
    if not _usable(sharding):
        return None
    places = operation.attributes["broadcast_dimensions"]
    dims = [()] * len(shapes[0])
    for i, place in enumerate(places):
        if shape[i] == shapes[0][place]:
            dims[place] = sharding.dims[i]
    return [_with(sharding, dims)]


def _reduce(operation, inputs, shapes):
    sharding, shape = inputs[0]
    if not _usable(sharding):
        return None
    gone = set(operation.attributes["dimensions"])
    kept = [group for i, group in enumerate(sharding.dims) if i not in gone]
    return [_with(sharding, kept)] * len(shapes)


def _dot(operation, inputs, shapes):
    (left, left_shape), (right, right_shape) = inputs[:2]
    numbers = operation.attributes["dot_dimension_numbers"]
    batch = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
    inner = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    dims = []
    source = left if _usable(left) else right
    if not _usable(source):
        return None
    for i, j in zip(*batch):
        group = left.dims[i] if _usable(left) else ()
        dims.append(group or (right.dims[j] if _usable(right) else ()))
    for side, sharding, shape in ((0, left, left_shape), (1, right, right_shape)):
        for i in range(len(shape or ())):
            if i not in batch[side] and i not in inner[side]:
                dims.append(sharding.dims[i] if _usable(sharding) else ())
    return [_with(source, dims)]


def _reshape(operation, inputs, shapes):
    sharding, shape = inputs[0]
    if not _usable(sharding) or shape is None:
        return None
    dims, i, j = [()] * len(shapes[0]), 0, 0
    while i < len(shape) and j < len(shapes[0]):
        a, b, start, first = shape[i], shapes[0][j], i, j
        if a != b and 1 in (a, b):  # A dimension that comes or goes.
            i, j = i + (a == 1), j + (b == 1)
            continue
        while a != b:
            if a < b:
                i += 1
                if i >= len(shape):
                    return [_with(sharding, dims)]
                a *= shape[i]
            else:
                j += 1
                if j >= len(shapes[0]):
                    return [_with(sharding, dims)]
                b *= shapes[0][j]
        dims[first] = sharding.dims[start]
        i += 1
        j += 1
    return [_with(sharding, dims)]


def _slice(operation, inputs, shapes):
    """Keeps the axes of each dimension that has more than one element in the result."""
    sharding, _ = inputs[0]
    if not _usable(sharding):
        return None
    dims = [group if size != 1 else () for group, size in zip(sharding.dims, shapes[0])]
    return [_with(sharding, dims)]


def _concatenate(operation, inputs, shapes):
    return [_joined([sharding for sharding, _ in inputs])]


def _update(operation, inputs, shapes):
    """Joins the shardings of an array and of its part: where that has all of a dimension."""
    (sharding, shape), (part, part_shape) = inputs[:2]
    if _usable(part) and part_shape is not None and len(part_shape) == len(shapes[0]):
        dims = [g if a == b else () for g, a, b in zip(part.dims, part_shape, shapes[0])]
        return [_joined([sharding, _with(part, dims)])]
    return [sharding]


def _all_but(count):
    """Returns a rule: the last dimensions are whole, as an operation needs them."""
    def rule(operation, inputs, shapes):
        sharding, shape = inputs[0]
        if not _usable(sharding) or shape is None:
            return None
        kept = sharding.dims[:max(len(shape) - count, 0)]
        return [_with(sharding, [*kept, *[()] * len(dims)][:len(dims)]) for dims in shapes]

    return rule


_MATRICES = _all_but(2)


def _custom_call(operation, inputs, shapes):
    """Linear algebra needs whole matrices; other targets are as operations on elements."""
    if _LAPACK.match(operation.attributes["call_target_name"].value):
        return _MATRICES(operation, inputs, shapes)
    return [_same_shape(inputs, shape) for shape in shapes]


def _gather(operation, inputs, shapes):
    """Keeps the axes of dimensions that a slice takes whole, and the axes of the indices."""
    (sharding, shape), (indices, indices_shape) = inputs[:2]
    numbers = operation.attributes["dimension_numbers"]
    sizes = operation.attributes["slice_sizes"]
    offsets, vector = numbers.offset_dims, numbers.index_vector_dim
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    dims = [()] * len(shapes[0])
    if _usable(sharding) and len(shape or ()) == len(sizes):
        kept = [i for i in range(len(shape)) if i not in gone]
        for place, i in zip(offsets, kept):
            dims[place] = sharding.dims[i] if sizes[i] == shape[i] else ()
    if _usable(indices) and indices_shape is not None:
        kept = [i for i in range(len(indices_shape)) if i != vector]
        groups = sharding.dims if _usable(sharding) else ()
        used = {axis.name for group in groups for axis in group}
        for place, i in zip([p for p in range(len(dims)) if p not in offsets], kept):
            dims[place] = () if used & {axis.name for axis in indices.dims[i]} else indices.dims[i]
    source = sharding if _usable(sharding) else indices
    return [_with(source, dims)] if _usable(source) else None


def _same_sizes(operation, inputs, shapes):
    """Keeps what divides the dimensions that have the same size in the result."""
    sharding, shape = inputs[0]
    if not _usable(sharding) or shape is None or len(shape) != len(shapes[0]):
        return None
    dims = [group if a == b else () for group, a, b in zip(sharding.dims, shape, shapes[0])]
    return [_with(sharding, dims)] * len(shapes)


_RULES = {
    "gather": _gather, "concatenate": _concatenate, "dynamic_update_slice": _update,
    **dict.fromkeys(("slice", "dynamic_slice", "pad", "reduce_window", "fft"), _slice),
    **dict.fromkeys(("sort", "reverse"), _same_sizes),
    "transpose": _transpose, "broadcast_in_dim": _broadcast, "reduce": _reduce, "dot_general": _dot,
    "reshape": _reshape, "bitcast_convert": _all_but(0), "top_k": _all_but(1),
    "cholesky": _MATRICES, "custom_call": _custom_call,
}
