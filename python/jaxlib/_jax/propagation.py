"""Shardings of a program's parameters and results, as its text states them or as they follow.

A value's sharding is (mesh, dimensions): the axes of the mesh that divide each dimension. It goes
from operands to results as far as the operation's dimensions correspond; the rest is replicated.
The program itself runs whole: only the layout of its results depends on this.
"""

import re

import numpy as np

from .hlo_sharding import HloSharding
from .op_sharding import Type
from .signature import Signature, closing, meshes_of, split

_SDY = re.compile(r"sdy\.sharding = #sdy\.sharding<")
_MHLO = re.compile(r'mhlo\.sharding = "((?:\\.|[^"\\])*)"')
_LINE = re.compile(r"\s*(?:((?:%[\w#]+(?::\d+)?(?:, )?)+) = )?\"?([\w.]+)\"?(.*)")
_OPERAND = re.compile(r"%[\w]+(?:#\d+)?")
_AXIS = re.compile(r'"([^"]+)"(?::\((\d+)\)(\d+))?')
_SYMBOL = r'@(?:[\w.$-]+|"(?:\\.|[^"\\])*")'
_CALL = re.compile(rf"\s*({_SYMBOL})\(")
INSPECT, PARTITIONED = "InspectSharding", "xla_ffi_partitioned_python_cpu_callback"
_SEEN = re.compile(rf"@({INSPECT}|{PARTITIONED})\(.*?(?:backend_config = \"|index = )(\d+)", re.S)
_GROUP = re.compile(r"sdy\.sharding_group (%\w+(?:#\d+)?) group_id=(\d+)")
_LAPACK = re.compile(r"\s*@(?:lapack_|\w*(?:Qr|Householder|LuDecomposition|Eigh?|Svd)\b)")
_INTS = r"\[([\d, ]*)\]"


def _ints(text):
    return [int(part) for part in text.split(",") if part.strip()]


def _axes(text):
    return tuple((name, int(pre or 1), int(size or 0)) for name, pre, size in _AXIS.findall(text))


def _read(text, meshes):
    """Returns the sharding of `@mesh, [{"x"}, {}], …`, or None."""
    parts = split(text)
    mesh = parts[0].lstrip("@").strip('"')
    if mesh.startswith("mesh<"):
        meshes[parts[0]] = meshes_of(f"sdy.mesh @m = {parts[0][4:]}")["m"]
        mesh = parts[0]
    if mesh not in meshes:
        return None
    dims = tuple(_axes(part) for part in split(parts[1][1:-1]))
    unreduced = ()
    for part in parts[2:]:
        if part.startswith("unreduced"):
            unreduced = _axes(part)
    return mesh, dims, unreduced


def _sdy_text(part):
    """Returns the text of the sharding in Shardy's form that a type's attributes have, or None."""
    found = _SDY.search(part)
    return part[found.end():closing(part, found.end() - 1) - 1] if found else None


def _stated(part, meshes):
    """Returns the sharding that a type's attributes state: in one of the two forms, or None."""
    text = _sdy_text(part)
    if text is not None:
        return _read(text, meshes)
    found = _MHLO.search(part)
    return HloSharding.from_string(found.group(1)) if found else None


def _is_open(text):
    return text is not None and "?" in text


def _filled(text, meshes, other):
    """Returns the sharding of a text whose open dimensions, `{?}` and `{"x", ?}`, `other` fills."""
    stated = _read(text, meshes)
    if stated is None or not _usable(other) or not _is_open(text):
        return stated
    mesh, dims, *rest = stated
    used = {axis[0] for group in dims for axis in group}
    if used and mesh != other[0]:
        return stated
    out = []
    for part, group, new in zip(split(split(text)[1][1:-1]), dims, other[1]):
        more = () if group or "?" not in part or used & {axis[0] for axis in new} else new
        used |= {axis[0] for axis in more}
        out.append(group + more)
    return (other[0], tuple(out), *rest)


def _dims_of(part):
    found = re.search(r"tensor<((?:[\d?]+x)*)", part)
    if not found:
        return None
    return tuple([int(d) if d.isdigit() else -1 for d in found.group(1).split("x")[:-1]])


def hlo_sharding(sharding, meshes):
    """Returns the HloSharding of a value's sharding."""
    if sharding is None:
        return HloSharding.replicate()
    if isinstance(sharding, HloSharding):
        return sharding
    mesh, dims, unreduced = sharding
    sizes, numbers = meshes[mesh]
    # Axes, those that are used in parts cut at the parts' ends.
    cuts = {name: {1, size} for name, size in sizes.items()}
    for name, pre, size in (axis for group in (*dims, unreduced) for axis in group):
        if size:
            cuts[name] |= {pre, pre * size}
    pieces = []  # (name, pre, size), major to minor
    for name, total in sizes.items():
        ends = sorted(cuts[name])
        pieces += [(name, low, high // low) for low, high in zip(ends, ends[1:])] or [(name, 1, 1)]

    def numbers_of(group):
        found = []
        for name, pre, size in group:
            low, high = (pre, pre * size) if size else (1, sizes[name])
            found += [i for i, (n, p, s) in enumerate(pieces) if n == name and low <= p < high]
        return found

    order, tile = [], []
    for group in dims:
        inner = numbers_of(group)
        order += inner
        tile.append(int(np.prod([pieces[i][2] for i in inner], dtype=int)))
    last, kinds = [], []
    reduced = numbers_of(unreduced)
    rest = [i for i in range(len(pieces)) if i not in order and i not in reduced]
    for group, kind in ((reduced, Type.UNREDUCED), (rest, Type.REPLICATED)):
        size = int(np.prod([pieces[i][2] for i in group], dtype=int))
        if size > 1:
            order += group
            last.append(size)
            kinds.append(kind)
        else:
            order += group
    shape = [size for _, _, size in pieces]
    if int(np.prod(tile, dtype=int)) == 1 and not reduced:
        return HloSharding.replicate()
    if numbers is None or numbers == sorted(numbers):
        return HloSharding.iota_tile([*tile, *last], shape, order, kinds)
    grid = np.array(numbers).reshape(shape).transpose(order).reshape([*tile, *last])
    return HloSharding.subgroup_with_device_ordering(grid, kinds)


def shardings_of(text, signature):
    """Returns the HloShardings of parameters and of results."""
    meshes = meshes_of(text)
    parameters = [_stated(part, meshes) for part in signature.parameters]
    results = [_stated(part, meshes) for part in signature.results]
    texts = [_sdy_text(part) for part in signature.results]
    if any(result is None for result in results) or any(map(_is_open, texts)):
        found = _Function(text, meshes, signature).propagate(parameters)
        for i, part in enumerate(signature.results):
            other = _even(found[i], _dims_of(part), meshes)
            if results[i] is None:
                results[i] = other
            elif _is_open(texts[i]):
                results[i] = _filled(texts[i], meshes, other)
    return (
        [hlo_sharding(s, meshes) for s in parameters],
        [hlo_sharding(s, meshes) for s in results],
    )


def _even(sharding, shape, meshes):
    """Returns the sharding without axes that do not divide their dimension evenly."""
    if not _usable(sharding) or shape is None:
        return sharding
    sizes = meshes[sharding[0]][0]
    dims = [_dividing(group, size, sizes) for group, size in zip(sharding[1], shape)]
    return (sharding[0], tuple(dims), sharding[2])


def _dividing(group, size, sizes):
    """Returns the first axes of a group, as many as divide a dimension's size evenly."""
    count = 1
    for i, axis in enumerate(group):
        count *= axis[2] or sizes[axis[0]]
        if size % count:
            return group[:i]
    return group


def seen_shardings(text, signature):
    """Returns calls that inspect shardings: (target, number of handler, operands' HloShardings)."""
    meshes = meshes_of(text)
    function = _Function(text, meshes, signature)
    function.seen = []
    function.propagate([_stated(part, meshes) for part in signature.parameters])
    return [(target, number, [hlo_sharding(s, meshes) for s in shardings])
            for target, number, shardings in function.seen]


class _Function:
    """Walks the lines of a function.

    seen: (target, number of its handler, shardings) of calls that look at shardings, or None.
    """

    def __init__(self, text, meshes, signature, caller=None):
        self.text = text
        self.meshes = meshes
        self.signature = signature
        self.module = caller.module if caller else text
        self.seen = caller.seen if caller else None
        self.groups = caller.groups if caller else {}  # The shardings of groups, by number.

    def propagate(self, shardings):
        """Returns the shardings of the results for those of the parameters; None where unknown."""
        known = {}
        for name, part, sharding in zip(self.signature.names, self.signature.parameters, shardings):
            known[name] = (sharding, _dims_of(part))
        found = self._walk(self.signature.body, dict(known))
        if self.groups:  # Members that come before the one that divides.
            found = self._walk(self.signature.body, known)
        return found if found is not None else [None] * len(self.signature.results)

    def _walk(self, at, known):
        """Returns the shardings of what the lines from a place on return, or None."""
        text = self.text
        while at < len(text):
            end = text.find("\n", at)
            line = text[at:end if end >= 0 else len(text)]
            stripped = line.strip()
            if stripped.startswith(("return ", "func.return ", "stablehlo.return ", "sdy.return ")):
                names = _OPERAND.findall(stripped.split(" : ")[0])
                return [known.get(name, (None, None))[0] for name in names]
            if stripped == "return" or stripped == "}":
                return None
            group = _GROUP.match(stripped)
            if group:
                self._join(group.group(1), int(group.group(2)), known)
            at = self._line(line, at, known)
        return None

    def _join(self, name, number, known):
        """Gives the members of a group the sharding of its first that divides."""
        sharding, shape = known.get(name, (None, None))
        if _usable(sharding) and any(sharding[1]):
            self.groups.setdefault(number, sharding)
        known[name] = (self.groups.get(number, sharding), shape)

    def _line(self, line, at, known):
        """Handles an operation; returns where the next one begins."""
        text = self.text
        end = at + len(line) + 1
        if text[end:end + 200].lstrip().startswith("cond {"):  # A loop's regions: on lines below.
            end = text.find("\n", end) + 1
            line = text[at:end - 1]
        tail, region = line, None
        if line.rstrip().endswith(("{", "({")):  # Its regions follow.
            start = at + line.rindex("{")
            if line.rstrip().endswith("({"):
                start -= 1
            close = closing(text, start)
            end = text.find("\n", close) + 1 or len(text)
            region = text.find("\n", start) + 1
            while text[close:end].rstrip().endswith("{"):  # else, do: another region.
                region = end
                close = closing(text, close + text[close:end].rindex("{"))
                end = text.find("\n", close) + 1 or len(text)
            tail = line.rstrip() + text[close - 1:end]
        match = _LINE.match(line)
        if match:
            names = [name for name, _ in _results(match.group(1) or "")]
            operation, rest = match.group(2), tail[match.start(3):]
            types = [_dims_of(t) for t in re.findall(r"tensor<[^>]*>", rest.rsplit("->", 1)[-1])]
            if "->" not in rest:
                types = [_dims_of(t) for t in re.findall(r"tensor<[^>]*>", rest)][-1:] * len(names)
            operands = _OPERAND.findall(rest.split(" : ")[0])
            if operation.endswith("while") and region:
                found = self._while(rest, region, known)
            elif operation.endswith((".case", ".if")) and region:
                found = self._walk(region, dict(known)) or []
            elif operation == "sdy.manual_computation":
                found = self._manual(rest, line, region, operands, known)
            else:
                found = self._result_shardings(operation, rest, operands, types, known)
            for i, name in enumerate(names):
                shape = types[i] if i < len(types) else None
                sharding = found[i] if i < len(found) else None
                known[name] = (sharding, shape)
        return end

    def _while(self, rest, body, known):
        """Returns the shardings of a loop's results: those of its body's, or of its operands."""
        pairs = re.findall(r"(%\w+) = (%\w+(?:#\d+)?)", rest.split(" : ")[0])
        inputs = [known.get(value, (None, None)) for _, value in pairs]
        inner = {**known, **{name: value for (name, _), value in zip(pairs, inputs)}}
        made = self._walk(body, inner) or [None] * len(inputs)
        return [new or old for new, (old, _) in zip(made, inputs)]

    def _manual(self, rest, line, body, operands, known):
        """Returns the stated shardings of a manual computation, open dimensions as in its body."""
        start = rest.index("out_shardings=[") + len("out_shardings=[")
        stated = split(rest[start:closing(rest, start - 1) - 1])
        inner = dict(known)
        inputs = re.findall(r"(%\w+): (tensor<[^>]*>)", line)
        for (name, part), operand in zip(inputs, operands):
            inner[name] = (known.get(operand, (None, None))[0], _dims_of(part))
        made = self._walk(body, inner) if body and any(map(_is_open, stated)) else None
        made = made or [None] * len(stated)
        return [_filled(part[1:-1], self.meshes, other) for part, other in zip(stated, made)]

    def _result_shardings(self, operation, rest, operands, types, known):
        inputs = _on_one_mesh([known.get(name, (None, None)) for name in operands])
        kind = operation.split(".")[-1]
        looks = self.seen is not None and _SEEN.search(rest)
        if looks:
            self.seen.append((looks.group(1), int(looks.group(2)), [s for s, _ in inputs]))
        if kind == "sharding_constraint":
            found = re.search(r"<(@.*\]>?)", rest.split(" : ")[0])
            if found:
                start = rest.index("<@")
                text = rest[start + 1:closing(rest, start) - 1]
                return [_filled(text, self.meshes, inputs[0][0] if inputs else None)]
        if kind == "call":
            return self._called(rest, inputs)
        if not inputs or all(s is None for s, _ in inputs):
            return []
        rule = _RULES.get(kind)
        if rule:
            return rule(rest, inputs, types) or []
        return [_same_shape(inputs, shape) for shape in types]

    def _called(self, rest, inputs):
        match = _CALL.match(rest)
        if not match:
            return []
        at = re.search(rf"func\.func private {re.escape(match.group(1))}\(", self.module)
        if not at:
            return []
        inner = re.sub(_SYMBOL, "@main", self.module[at.start():], count=1)
        signature = Signature(inner)
        parameters, results = ([_stated(part, self.meshes) for part in parts]
                               for parts in (signature.parameters, signature.results))
        found = _Function(inner, self.meshes, signature, self).propagate(
            [s or stated for (s, _), stated in zip(inputs, parameters)])
        return [stated or s for s, stated in zip(found, results)]


def _results(text):
    """Returns the names of an operation's results: `%3`, or `%3#0` and on for `%3:2`."""
    for part in text.split(", "):
        name, _, count = part.strip().partition(":")
        if count:
            for i in range(int(count)):
                yield f"{name}#{i}", i
        elif name:
            yield name, 0


def _usable(sharding):
    return sharding is not None and not isinstance(sharding, HloSharding)


def _on_one_mesh(inputs):
    """Returns the (sharding, shape) pairs, all on the mesh of the first that divides."""
    usable = [s for s, _ in inputs if _usable(s)]
    if len({s[0] for s in usable}) < 2:
        return inputs
    mesh = next((s[0] for s in usable if any(s[1])), usable[0][0])
    return [((mesh, *s[1:]) if _usable(s) and (s[0] == mesh or not any(s[1])) else None, shape)
            for s, shape in inputs]


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
    for groups in zip(*[s[1] for s in usable if s[0] == first[0]]):
        longest = max(groups, key=len)
        agree = all(longest[:len(group)] == group for group in groups)
        dims.append(longest if agree else ())
    # An axis that operands use for several dimensions divides that of the first one.
    used, out = set(), [()] * len(dims)
    for _, groups, *_ in usable:
        for i, group in enumerate(groups):
            names = {axis[0] for axis in dims[i]}
            if group and not out[i] and not names & used:
                out[i] = dims[i]
                used |= names
    return (first[0], tuple(out), first[2] if len(first) > 2 else ())


def _with(sharding, dims):
    """Returns the sharding with other dimensions; an axis divides only the first that has it."""
    used, out = set(), []
    for group in dims:
        names = {axis[0] for axis in group}
        out.append(() if used & names else group)
        used |= names
    return (sharding[0], tuple(out), ())


def _transpose(rest, inputs, types):
    sharding, _ = inputs[0]
    if not _usable(sharding):
        return None
    perm = _ints(re.search(r"dims = " + _INTS, rest).group(1))
    return [_with(sharding, [sharding[1][i] for i in perm])]


def _broadcast(rest, inputs, types):
    sharding, shape = inputs[0]
    if not _usable(sharding):
        return None
    places = _ints(re.search(r"dims = " + _INTS, rest).group(1))
    dims = [()] * len(types[0])
    for i, place in enumerate(places):
        if shape[i] == types[0][place]:
            dims[place] = sharding[1][i]
    return [_with(sharding, dims)]


def _reduce(rest, inputs, types):
    found = re.search(r"across dimensions = " + _INTS, rest)
    sharding, shape = inputs[0]
    if not found or not _usable(sharding):
        return None
    gone = set(_ints(found.group(1)))
    return [_with(sharding, [g for i, g in enumerate(sharding[1]) if i not in gone])] * len(types)


def _dot(rest, inputs, types):
    (left, left_shape), (right, right_shape) = inputs[:2]
    batch = re.search(r"batching_dims = \[([\d, ]*)\] x \[([\d, ]*)\]", rest)
    inner = re.search(r"contracting_dims = \[([\d, ]*)\] x \[([\d, ]*)\]", rest)
    pairs = [[], []]
    for found in (batch, inner):
        for side in (0, 1):
            pairs[side].append(_ints(found.group(side + 1)) if found else [])
    dims = []
    source = left if _usable(left) else right
    if not _usable(source):
        return None
    for i, j in zip(pairs[0][0], pairs[1][0]):
        group = left[1][i] if _usable(left) else ()
        dims.append(group or (right[1][j] if _usable(right) else ()))
    for side, sharding, shape in ((0, left, left_shape), (1, right, right_shape)):
        for i in range(len(shape or ())):
            if i not in pairs[side][0] and i not in pairs[side][1]:
                dims.append(sharding[1][i] if _usable(sharding) else ())
    return [_with(source, dims)]


def _reshape(rest, inputs, types):
    sharding, shape = inputs[0]
    if not _usable(sharding) or shape is None:
        return None
    dims, i, j = [()] * len(types[0]), 0, 0
    while i < len(shape) and j < len(types[0]):
        a, b, start, first = shape[i], types[0][j], i, j
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
                if j >= len(types[0]):
                    return [_with(sharding, dims)]
                b *= types[0][j]
        dims[first] = sharding[1][start]
        i += 1
        j += 1
    return [_with(sharding, dims)]


def _slice(rest, inputs, types):
    """Keeps the axes of each dimension that has more than one element in the result."""
    sharding, _ = inputs[0]
    if not _usable(sharding):
        return None
    dims = [group if size != 1 else () for group, size in zip(sharding[1], types[0])]
    return [_with(sharding, dims)]


def _concatenate(rest, inputs, types):
    return [_joined([sharding for sharding, _ in inputs])]


def _update(rest, inputs, types):
    """Joins the shardings of an array and of its part: where that has all of a dimension."""
    (sharding, shape), (part, part_shape) = inputs[:2]
    if _usable(part) and part_shape is not None and len(part_shape) == len(types[0]):
        dims = [g if a == b else () for g, a, b in zip(part[1], part_shape, types[0])]
        return [_joined([sharding, _with(part, dims)])]
    return [sharding]


def _all_but(count):
    """Returns a rule: the last dimensions are whole, as an operation needs them."""
    def rule(rest, inputs, types):
        sharding, shape = inputs[0]
        if not _usable(sharding) or shape is None:
            return None
        kept = sharding[1][:max(len(shape) - count, 0)]
        return [_with(sharding, [*kept, *[()] * len(dims)][:len(dims)]) for dims in types]

    return rule


_MATRICES = _all_but(2)


def _custom_call(rest, inputs, types):
    """Linear algebra needs whole matrices; other targets are as operations on elements."""
    if _LAPACK.match(rest):
        return _MATRICES(rest, inputs, types)
    return [_same_shape(inputs, shape) for shape in types]


def _gather(rest, inputs, types):
    """Keeps the axes of dimensions that a slice takes whole, and the axes of the indices."""
    (sharding, shape), (indices, indices_shape) = inputs[:2]

    def numbers(name):
        found = re.search(name + r" ?= (?:array<i64: ([\d, ]*)>|\[([\d, ]*)\]|(\d+))", rest)
        return _ints(next(filter(None, found.groups()), "")) if found else []

    offsets, sizes = numbers("offset_dims"), numbers("slice_sizes")
    gone = {*numbers("collapsed_slice_dims"), *numbers("operand_batching_dims")}
    vector = (numbers("index_vector_dim") or [0])[0]
    dims = [()] * len(types[0])
    if _usable(sharding) and len(shape or ()) == len(sizes):
        kept = [i for i in range(len(shape)) if i not in gone]
        for place, i in zip(offsets, kept):
            dims[place] = sharding[1][i] if sizes[i] == shape[i] else ()
    if _usable(indices) and indices_shape is not None:
        kept = [i for i in range(len(indices_shape)) if i != vector]
        used = {axis[0] for group in sharding[1] for axis in group} if _usable(sharding) else set()
        for place, i in zip([p for p in range(len(dims)) if p not in offsets], kept):
            dims[place] = () if used & {axis[0] for axis in indices[1][i]} else indices[1][i]
    source = sharding if _usable(sharding) else indices
    return [_with(source, dims)] if _usable(source) else None


def _same_sizes(rest, inputs, types):
    """Keeps what divides the dimensions that have the same size in the result."""
    sharding, shape = inputs[0]
    if not _usable(sharding) or shape is None or len(shape) != len(types[0]):
        return None
    dims = [group if a == b else () for group, a, b in zip(sharding[1], shape, types[0])]
    return [_with(sharding, dims)] * len(types)


_RULES = {
    "gather": _gather, "concatenate": _concatenate, "dynamic_update_slice": _update,
    **dict.fromkeys(("slice", "dynamic_slice", "pad", "reduce_window", "fft"), _slice),
    **dict.fromkeys(("sort", "reverse"), _same_sizes),
    "transpose": _transpose, "broadcast_in_dim": _broadcast, "reduce": _reduce, "dot_general": _dot,
    "reshape": _reshape, "bitcast_convert": _all_but(0), "top_k": _all_but(1),
    "cholesky": _MATRICES, "custom_call": _custom_call,
}
