"""Rules that give the types of results from operands and attributes."""


from .elements import DenseElementsAttr
from .structs import Bounds
from .types import (
    DYNAMIC,
    ComplexType,
    FutureType,
    IntegerType,
    RankedTensorType,
    TokenType,
    TupleType,
    i1,
    i32,
)


def infer(name, operands, attributes, row):
    """Returns the types of the results of an operation; raises ValueError if they do not exist.

    name: of the operation. operands: values. attributes: by name. row: of the operation's table.
    """
    if row is None or row.infer is None:
        raise ValueError(f"types of results of {name} cannot be inferred: give `results`")
    result = RULES[row.infer or "same"]([operand.type for operand in operands], attributes,
                                        operands)
    return result if isinstance(result, list) else [result]


def _tensor(shape, like, element=None):
    """Returns a tensor of `shape` and of the elements of `like`, static without bounds."""
    return RankedTensorType.get(shape, like.element_type if element is None else element)


def _with_element(type_, element):
    return RankedTensorType.get(type_._params[0], element, type_._params[2])


def _most_specific(types):
    """Returns the type of elementwise results: of known sizes where one operand has them."""
    first = types[0]
    if all(type_ is first for type_ in types) or not isinstance(first, RankedTensorType):
        return first
    if any(type_.element_type is not first.element_type for type_ in types):
        raise ValueError("requires compatible types for all operands and results, got " +
                         ", ".join(f"'{type_}'" for type_ in types))
    shape = list(first._params[0])
    encoding = first._params[2]
    for type_ in types[1:]:
        other = type_._params[0]
        if len(other) != len(shape):
            raise ValueError("requires compatible types for all operands and results, got " +
                             ", ".join(f"'{type_}'" for type_ in types))
        for dim, size in enumerate(other):
            if shape[dim] == DYNAMIC:
                shape[dim] = size
            elif size not in (DYNAMIC, shape[dim]):
                raise ValueError("requires compatible types for all operands and results, got " +
                                 ", ".join(f"'{type_}'" for type_ in types))
        encoding = encoding if encoding is not None else type_._params[2]
    if DYNAMIC not in shape and isinstance(encoding, Bounds):
        encoding = None
    return RankedTensorType.get(shape, first.element_type, encoding)


def _same(types, attributes, operands):
    return _most_specific(types)


def _first(types, attributes, operands):
    return types[0]


def _all(types, attributes, operands):
    return list(types)


def _real(types, attributes, operands):
    element = types[0].element_type
    if isinstance(element, ComplexType):
        return _with_element(types[0], element.element_type)
    return types[0]


def _complex(types, attributes, operands):
    type_ = _most_specific(types)
    return _with_element(type_, ComplexType.get(type_.element_type))


def _predicate(types, attributes, operands):
    return _with_element(_most_specific(types), i1())


def _select(types, attributes, operands):
    predicate, on_true, on_false = types
    shape = predicate._params[0]
    if shape and on_true._params[0] and len(shape) != len(on_true._params[0]):
        raise ValueError("requires the same shape for all operands")
    return _most_specific([on_true, on_false])


def _concatenate(types, attributes, operands):
    dimension = attributes["dimension"].value
    if not types:
        raise ValueError("concatenate of no operands; give one at least")
    shape = list(types[0]._params[0])
    if not 0 <= dimension < len(shape):
        raise ValueError(f"dimension {dimension} is out-of-bounds for input rank {len(shape)}")
    for number, type_ in enumerate(types[1:], 1):
        other = type_._params[0]
        if len(other) != len(shape):
            raise ValueError(f"operands (0) and ({number}) do not match rank")
        if type_.element_type is not types[0].element_type:
            raise ValueError(f"operands (0) and ({number}) have different element types")
        for dim, size in enumerate(other):
            if dim == dimension:
                known = DYNAMIC not in (size, shape[dim])
                shape[dim] = shape[dim] + size if known else DYNAMIC
            elif shape[dim] == DYNAMIC:
                shape[dim] = size
            elif size not in (DYNAMIC, shape[dim]):
                raise ValueError(f"shapes of operand (0) and ({number}) do not match at "
                                 f"non-concat index: {types[0]} and {type_}")
    return _tensor(shape, types[0])


def _slice(types, attributes, operands):
    shape = []
    for size, start, limit, stride in zip(
            types[0]._params[0], attributes["start_indices"], attributes["limit_indices"],
            attributes["strides"]):
        if start < 0 or limit < start or stride <= 0 or (size != DYNAMIC and limit > size):
            raise ValueError(f"slice {start}:{limit}:{stride} is not inside a size of {size}")
        shape.append(-(-(limit - start) // stride))
    return _tensor(shape, types[0])


def _dynamic_slice(types, attributes, operands):
    return _tensor(list(attributes["slice_sizes"]), types[0])


def _gather_shape(types, numbers, sizes):
    (offset_dims, collapsed, operand_batching, _, _, vector_dim) = numbers._key
    indices = [size for dim, size in enumerate(types[1]._params[0]) if dim != vector_dim]
    dropped = {*collapsed, *operand_batching}
    offsets = [size for dim, size in enumerate(sizes) if dim not in dropped]
    rank = len(indices) + len(offset_dims)
    indices, offsets = iter(indices), iter(offsets)
    kept = set(offset_dims)
    return [next(offsets) if dim in kept else next(indices) for dim in range(rank)]


def _gather(types, attributes, operands):
    shape = _gather_shape(types, attributes["dimension_numbers"], attributes["slice_sizes"])
    return _tensor(shape, types[0])


def constant_of(value):
    """Returns the array of a value that a constant gives, or None."""
    operation = value._owner
    attribute = getattr(operation, "_attributes", {}).get("value")
    return attribute._array() if isinstance(attribute, DenseElementsAttr) else None


def _dynamic_gather(types, attributes, operands):
    sizes = constant_of(operands[2])
    count = types[2]._params[0][0]
    sizes = [DYNAMIC] * count if sizes is None else sizes.tolist()
    return _tensor(_gather_shape(types, attributes["dimension_numbers"], sizes), types[0])


def _pad(types, attributes, operands):
    shape = []
    for size, low, high, interior in zip(
            types[0]._params[0], attributes["edge_padding_low"], attributes["edge_padding_high"],
            attributes["interior_padding"]):
        if size != DYNAMIC:
            size = low + high + size + max(size - 1, 0) * interior
            if size < 0:
                raise ValueError(f"Padding result in negative size for dimension {len(shape)}")
        shape.append(size)
    return _tensor(shape, types[0])


def _transpose(types, attributes, operands):
    sizes = types[0]._params[0]
    permutation = list(attributes["permutation"])
    if sorted(permutation) != list(range(len(sizes))):
        raise ValueError(f"permutation {permutation} is not one of {len(sizes)} dimensions")
    return _tensor([sizes[dim] for dim in permutation], types[0])


def _broadcast(types, attributes, operands):
    return _tensor([*attributes["broadcast_sizes"], *types[0]._params[0]], types[0])


def _fft(types, attributes, operands):
    kind = attributes["fft_type"].value
    lengths = list(attributes["fft_length"])
    shape = list(types[0]._params[0])
    element = types[0].element_type
    if kind == "RFFT":
        element = ComplexType.get(element)
        shape[-1] = lengths[-1] // 2 + 1
    elif kind == "IRFFT":
        element = element.element_type
        shape[len(shape) - len(lengths):] = lengths
    return _tensor(shape, types[0], element)


def _rng(types, attributes, operands):
    shape = constant_of(operands[2])
    if shape is None:
        shape = [DYNAMIC] * types[2]._params[0][0]
    return _tensor([int(size) for size in shape], types[0])


def _all_to_all(types, attributes, operands):
    split, concat, count = (attributes[name].value for name in (
        "split_dimension", "concat_dimension", "split_count"))
    results = []
    for type_ in types:
        shape = list(type_._params[0])
        if shape[split] != DYNAMIC:
            if shape[split] % count:
                raise ValueError(f"split dimension has size {shape[split]}, expected to be a "
                                 f"multiple of split_count {count}")
            shape[split] //= count
        if shape[concat] != DYNAMIC:
            shape[concat] *= count
        results.append(_tensor(shape, type_))
    return results


def _batch_norm_training(types, attributes, operands):
    size = types[0]._params[0][attributes["feature_index"].value]
    feature = _tensor([size], types[0])
    return [types[0], feature, feature]


def _set_dimension_size(types, attributes, operands):
    dimension = attributes["dimension"].value
    shape = list(types[0]._params[0])
    size = constant_of(operands[1])
    encoding = types[0]._params[2]
    if size is not None:
        shape[dimension] = int(size)
        return _tensor(shape, types[0])
    bounds = list(encoding._key) if isinstance(encoding, Bounds) else [DYNAMIC] * len(shape)
    if shape[dimension] != DYNAMIC:
        bounds[dimension] = shape[dimension]
        shape[dimension] = DYNAMIC
    return RankedTensorType.get(shape, types[0].element_type, Bounds.get(bounds))


def _tuple_element(types, attributes, operands):
    return types[0]._params[0][attributes["index"].value]


def _broadcast_shapes(types, attributes):
    left, right = types[0]._params[0], types[1]._params[0]
    dims = attributes.get("broadcast_dimensions")
    small, large = (left, right) if len(left) < len(right) else (right, left)
    if dims is None:
        dims = range(len(large) - len(small), len(large))
    shape = list(large)
    for dim, size in zip(dims, small):
        other = shape[dim]
        if other == 1:
            shape[dim] = size
        elif size not in (1, other):
            if DYNAMIC not in (size, other):
                raise ValueError(f"shapes {types[0]} and {types[1]} do not broadcast")
            shape[dim] = max(size, other)
    return shape


def _broadcast_binary(types, attributes, operands):
    return _tensor(_broadcast_shapes(types, attributes), types[0])


def _broadcast_compare(types, attributes, operands):
    return _tensor(_broadcast_shapes(types, attributes), types[0], i1())


def _broadcast_complex(types, attributes, operands):
    element = ComplexType.get(types[0].element_type)
    return _tensor(_broadcast_shapes(types, attributes), types[0], element)


def _broadcast_select(types, attributes, operands):
    shape = []
    rank = max(len(type_._params[0]) for type_ in types)
    for dim in range(rank):
        sizes = [type_._params[0][dim - rank] for type_ in types
                 if rank - dim <= len(type_._params[0])]
        shape.append(max(sizes))
    return _tensor(shape, types[1])


def _top_k(types, attributes, operands):
    shape = list(types[0]._params[0])
    count = attributes["k"].value
    if not shape:
        raise ValueError("operand's rank must be at least 1")
    if shape[-1] != DYNAMIC and shape[-1] < count:
        raise ValueError("operand's last dimension must be at least " + str(count))
    shape[-1] = count
    return [_tensor(shape, types[0]), _tensor(shape, types[0], i32())]


def _async_done(types, attributes, operands):
    return list(types[0].types) if isinstance(types[0], FutureType) else list(types)


def _value(types, attributes, operands):
    value = attributes["value"]
    return value.type


def _comparison(types, attributes, operands):
    type_ = types[0]
    return i1() if not hasattr(type_, "_params") or not isinstance(
        type_, RankedTensorType) else _with_element(type_, i1())


RULES = {
    "same": _same, "first": _first, "all": _all, "real": _real, "complex": _complex,
    "predicate": _predicate, "select": _select, "concatenate": _concatenate, "slice": _slice,
    "dynamic_slice": _dynamic_slice, "gather": _gather, "dynamic_gather": _dynamic_gather,
    "pad": _pad, "transpose": _transpose, "broadcast": _broadcast, "fft": _fft, "rng": _rng,
    "all_to_all": _all_to_all, "batch_norm_training": _batch_norm_training,
    "set_dimension_size": _set_dimension_size, "tuple_element": _tuple_element,
    "broadcast_binary": _broadcast_binary, "broadcast_compare": _broadcast_compare,
    "broadcast_complex": _broadcast_complex, "broadcast_select": _broadcast_select,
    "top_k": _top_k, "async_done": _async_done, "value": _value, "comparison": _comparison,
    "second": lambda types, attributes, operands: types[1],
    "token": lambda types, attributes, operands: TokenType.get(),
    "none": lambda types, attributes, operands: [],
    "id": lambda types, attributes, operands: RankedTensorType.get(
        (), IntegerType.get_unsigned(32)),
    "size": lambda types, attributes, operands: RankedTensorType.get((), i32()),
    "tuple": lambda types, attributes, operands: TupleType.get_tuple(types),
}
