"""The portable artifact: StableHLO in the versioned dialect VHLO, as MLIR bytecode."""

import numpy as np

from . import attributes as attrs
from . import types
from .bytecode_reader import Reader
from .bytecode_writer import CAST, BytecodeWriter
from .context import MLIRError
from .elements import DenseElementsAttr, DenseIntElementsAttr
from .encodings import ApiVersion, stablehlo
from .location import UNKNOWN
from .operations import Module, Operation
from .registry import find_row

_ACCURATE = frozenset("cbrt cosine exponential exponential_minus_one log log_plus_one logistic "
                      "rsqrt sine sqrt tan tanh".split())

# Second versions of operations, and the version of StableHLO from which on they are written.
_SECOND = {"all_gather": (1, 5, 0), "all_reduce": (1, 5, 0), "all_to_all": (1, 5, 0),
           "dot_general": (1, 6, 0), "gather": (1, 1, 0), "dynamic_gather": (1, 1, 0),
           "scatter": (1, 1, 0), "dynamic_conv": (0, 19, 0), "send": (1, 11, 0),
           "recv": (1, 11, 0), "composite": (1, 12, 0), "custom_call": (1, 16, 0),
           "collective_broadcast": (1, 17, 0), **dict.fromkeys(_ACCURATE, (1, 9, 0))}

_DIMENSIONS = {
    "dimension_numbers gather": ("offset_dims collapsed_slice_dims operand_batching_dims "
                                 "start_indices_batching_dims start_index_map index_vector_dim"),
    "scatter_dimension_numbers scatter": (
        "update_window_dims inserted_window_dims input_batching_dims "
        "scatter_indices_batching_dims scatter_dims_to_operand_dims index_vector_dim"),
    "dot_dimension_numbers dot": ("lhs_batching_dimensions rhs_batching_dimensions "
                                  "lhs_contracting_dimensions rhs_contracting_dimensions"),
    "algorithm dot_algorithm": (
        "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count "
        "rhs_component_count num_primitive_operations allow_imprecise_accumulation"),
}
_CONV = ("input_batch_dimension input_feature_dimension input_spatial_dimensions "
         "kernel_input_feature_dimension kernel_output_feature_dimension "
         "kernel_spatial_dimensions output_batch_dimension output_feature_dimension "
         "output_spatial_dimensions").split()


def version_parts(version):
    parts = version.split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise ValueError(f"Invalid StableHLO target version argument '{version}'")
    return tuple(map(int, parts))


# ---- writing ----


def _integer(value):
    return attrs.IntegerAttr.get(types.i64(), value)


def _integers(values):
    return DenseIntElementsAttr.get(np.array(values, np.int64))


def _plain(value):
    """Returns a field of a structure as an attribute."""
    if isinstance(value, tuple):
        return _integers(value)
    if isinstance(value, bool):
        return attrs.BoolAttr.get(value)
    return attrs.TypeAttr.get(value) if isinstance(value, types.Type) else _integer(value)


def _ones(count, value=1):
    return _integers([value] * count)


def _rank(operation, index=0):
    return len(operation._operands[index].type._params[0])


def _spatial(operation):
    return _rank(operation) - 2


def _padding(rank):
    return DenseElementsAttr.get(np.zeros((rank, 2), np.int64), type=types.i64(), shape=(rank, 2))


def _no_pairs():
    return DenseElementsAttr.get(np.zeros((0, 2), np.int64), type=types.i64(), shape=(0, 2))


def _booleans(count):
    return DenseElementsAttr.get(np.zeros(count, np.bool_), type=types.i1(), shape=(count,))


def _precisions(operation):
    return attrs.ArrayAttr.get([stablehlo("precision").get("DEFAULT")] * 2)


_FALSE, _EMPTY = attrs.BoolAttr.get(False), attrs.ArrayAttr.get([])
_NOTHING = attrs.TypeAttr.get(types.NoneType.get())
_ALGORITHM = dict.fromkeys(_DIMENSIONS["algorithm dot_algorithm"].split(), _NOTHING)

# Attributes that VHLO has and StableHLO leaves out, by operation.
_WINDOW = {
    "window_strides": lambda o: _ones(_spatial(o)), "lhs_dilation": lambda o: _ones(_spatial(o)),
    "rhs_dilation": lambda o: _ones(_spatial(o)), "precision_config": _precisions,
    "window_reversal": lambda o: _booleans(_spatial(o))}
_COLLECTIVE = {"channel_id": lambda o: _integer(0), "use_global_device_ids": lambda o: _FALSE}
_ABSENT = {
    "all_gather": _COLLECTIVE, "all_reduce": _COLLECTIVE, "reduce_scatter": _COLLECTIVE,
    "all_to_all": {"channel_id": _COLLECTIVE["channel_id"]},
    "collective_permute": {"channel_id": _COLLECTIVE["channel_id"]},
    "collective_broadcast": {"channel_id": _COLLECTIVE["channel_id"],
                             "has_dynamic_root": lambda o: _FALSE},
    "cholesky": {"lower": lambda o: _FALSE},
    "compare": {"compare_type": lambda o: stablehlo("comparison_type").get("NOTYPE")},
    "composite": {"version": lambda o: attrs.IntegerAttr.get(types.i32(), 0),
                  "composite_attributes": lambda o: attrs.DictAttr.get({})},
    "convolution": {**_WINDOW, "padding": lambda o: _padding(_spatial(o))},
    "dynamic_conv": _WINDOW,
    "custom_call": {
        "has_side_effect": lambda o: _FALSE, "backend_config": lambda o: attrs.StringAttr.get(""),
        "api_version": lambda o: ApiVersion(1), "called_computations": lambda o: _EMPTY,
        "operand_layouts": lambda o: _EMPTY, "result_layouts": lambda o: _EMPTY,
        "output_operand_aliases": lambda o: _EMPTY, "result_tilings": lambda o: _EMPTY},
    "dot_general": {"precision_config": _precisions,
                    **{name: lambda o: _NOTHING for name in _ALGORITHM}},
    "dot": {"precision_config": _precisions},
    "dynamic_broadcast_in_dim": {"known_expanding_dimensions": lambda o: _integers([]),
                                 "known_nonexpanding_dimensions": lambda o: _integers([])},
    "dynamic_gather": {"indices_are_sorted": lambda o: _FALSE},
    "gather": {"indices_are_sorted": lambda o: _FALSE},
    "infeed": {"infeed_config": lambda o: attrs.StringAttr.get(""), "layout": lambda o: _EMPTY},
    "outfeed": {"outfeed_config": lambda o: attrs.StringAttr.get("")},
    "send": {"is_host_transfer": lambda o: _FALSE, "source_target_pairs": lambda o: _no_pairs()},
    "recv": {"is_host_transfer": lambda o: _FALSE, "source_target_pairs": lambda o: _no_pairs()},
    "reduce_window": {
        "window_strides": lambda o: _ones(_rank(o)), "base_dilations": lambda o: _ones(_rank(o)),
        "window_dilations": lambda o: _ones(_rank(o)), "padding": lambda o: _padding(_rank(o))},
    "scatter": {"indices_are_sorted": lambda o: _FALSE, "unique_indices": lambda o: _FALSE},
    "select_and_scatter": {
        "window_dimensions": lambda o: _ones(_rank(o)),
        "window_strides": lambda o: _ones(_rank(o)), "padding": lambda o: _padding(_rank(o))},
    "sort": {"dimension": lambda o: _integer(-1), "is_stable": lambda o: _FALSE},
    **{name: {"result_accuracy": lambda o: stablehlo("result_accuracy").get(
        0.0, 0.0, 0, "DEFAULT")} for name in _ACCURATE},
}


def _exploded(base, operation):
    """Returns the attributes of an operation as VHLO has them."""
    made = {}
    for key, value in operation._attributes.items():
        structure = getattr(value, "_mnemonic", None)
        names = _DIMENSIONS.get(f"{key} {structure}")
        if names is not None:
            made.update(zip(names.split(), map(_plain, value._key)))
        elif structure == "conv":
            made.update(zip(_CONV, (_plain(part) for group in value._key for part in group)))
        elif structure == "channel_handle":
            made["channel_id"] = _integer(value._key[0])
            if base in ("send", "recv"):
                made["channel_type"] = _integer(value._key[1])
        elif key == "api_version":
            made[key] = ApiVersion(value.value)
        elif isinstance(value, attrs.UnitAttr) and key in ("use_global_device_ids",
                                                       "has_dynamic_root"):
            made[key] = attrs.BoolAttr.get(True)
        else:
            made[key] = value
    for key, default in _ABSENT.get(base, {}).items():
        if key not in made:
            made[key] = default(operation)
    return made


def _to_vhlo(operation, target):
    """Changes an operation and all inside it to VHLO of the version `target`."""
    dialect, _, base = operation._name.partition(".")
    if dialect == "stablehlo":
        attributes = _exploded(base, operation)
        second = base in _SECOND and target >= _SECOND[base]
        if not second and base in _ACCURATE:
            attributes.pop("result_accuracy")
        if not second and base == "custom_call":
            attributes.pop("result_tilings")
        if not second and base == "collective_broadcast":
            attributes.pop("has_dynamic_root")
        operation._name = f"vhlo.{base}_v{2 if second else 1}"
        operation._attributes = attributes
    elif operation._name == "func.func":
        _function_to_vhlo(operation)
    elif operation._name in ("func.call", "func.return"):
        operation._name = f"vhlo.{base}_v1"
        for key in ("arg_attrs", "res_attrs", "no_inline"):
            operation._attributes.pop(key, None)
    for region in operation._regions:
        for block in region._blocks:
            for nested in block._operations:
                _to_vhlo(nested, target)


def _function_to_vhlo(operation):
    attributes = operation._attributes
    inputs, results = attributes["function_type"].value._params
    attributes.setdefault("sym_visibility", attrs.StringAttr.get(""))
    attributes.setdefault("arg_attrs", _EMPTY)
    attributes.setdefault("res_attrs", _EMPTY)
    operation._name = "vhlo.func_v1"


def _is_native(value):
    """Says whether a value is of an operation outside VHLO, by whose dialect its type is."""
    owner = value._owner
    if not isinstance(owner, Operation):
        owner = owner._parent_operation()
    return not owner._name.startswith("vhlo.") and owner._name != CAST


def _cast(value, block, position):
    """Inserts a cast of a value between its type in VHLO and that of its dialect."""
    cast = Operation._new(CAST, {}, [value], [value.type], 0, UNKNOWN)
    cast._block = block
    block._operations.insert(position, cast)
    return cast


def _add_casts(operation, casts):
    """Puts casts where operations of VHLO and of other dialects meet.

    casts: the set to which those are added that give a type outside VHLO.
    """
    replaced = {}
    for region in operation._regions:
        for block in region._blocks:
            if not operation._name.startswith("vhlo.") and operation._name != "builtin.module":
                for position, argument in enumerate(block._arguments):
                    replaced[argument] = _cast(argument, block, position)._results[0]
            for nested in list(block._operations):
                if nested._name == CAST:
                    continue
                if not nested._name.startswith("vhlo."):
                    for index, operand in enumerate(nested._operands):
                        if not _is_native(operand):
                            cast = _cast(operand, block, block._operations.index(nested))
                            casts.add(cast)
                            nested._operands[index] = cast._results[0]
                    for result in nested._results:
                        at = block._operations.index(nested) + 1
                        replaced[result] = _cast(result, block, at)._results[0]
                _add_casts(nested, casts)
    if replaced:
        for nested in operation._nested():
            if nested._name.startswith("vhlo."):
                nested._operands = [replaced.get(value, value) for value in nested._operands]


def serialize(module, target):
    """Returns the module as bytecode of VHLO `target`, a version such as 1.13.7.

    Operations of Shardy and CHLO stay in their dialects.
    """
    parts = version_parts(target)
    copy = module.operation._clone({}, None)
    _to_vhlo(copy, parts)
    casts = set()
    _add_casts(copy, casts)
    return BytecodeWriter(f"StableHLO_v{target}", casts).bytes(copy)


# ---- reading ----

_KINDS = {"DenseI64ArrayAttr": attrs.DenseI64ArrayAttr,
          "DenseBoolArrayAttr": attrs.DenseBoolArrayAttr}


def _field(value):
    if isinstance(value, DenseElementsAttr):
        return tuple(value._array().reshape(-1).tolist())
    return value.value


def _take(attributes, names):
    """Removes attributes and returns their values; old versions lack lists."""
    return tuple(_field(attributes.pop(name)) if name in attributes else () for name in names)


def _imploded(base, attributes, row):
    """Returns the attributes of an operation as StableHLO has them."""
    for key, names in _DIMENSIONS.items():
        names = names.split()
        if names[0] not in attributes:
            continue
        name, mnemonic = key.split()
        fields = _take(attributes, names)
        if not isinstance(fields[0], types.NoneType):
            attributes[name] = stablehlo(mnemonic)._of(fields)
    if _CONV[0] in attributes:
        fields = _take(attributes, _CONV)
        attributes["dimension_numbers"] = stablehlo("conv")._of(
            (fields[:3], fields[3:6], fields[6:]))
    if "channel_id" in attributes:
        handle = attributes.pop("channel_id").value
        kind = attributes.pop("channel_type", None)
        handles = (handle, 0 if kind is None else kind.value)
        attributes["channel_handle"] = stablehlo("channel_handle")._of(handles)
    for key in ("use_global_device_ids", "has_dynamic_root"):
        if key in attributes:
            attributes[key] = attrs.UnitAttr.get()
    for parameter in row.attributes if row else ():
        value = attributes.get(parameter.key)
        cls = _KINDS.get(parameter.kind)
        if cls is not None and isinstance(value, DenseElementsAttr):
            attributes[parameter.key] = cls.get(value._array().reshape(-1).tolist())
    for key in ("decomposition", "callee"):
        if isinstance(attributes.get(key), attrs.StringAttr):
            attributes[key] = attrs.FlatSymbolRefAttr.get(attributes[key].value)
    if base == "custom_call" and "called_computations" in attributes:
        attributes["called_computations"] = attrs.ArrayAttr.get(
            [attrs.FlatSymbolRefAttr.get(item.value) for item in attributes["called_computations"]])
    return attributes


def _without_defaults(base, operation):
    attributes = dict(operation._attributes)
    for key, default in _ABSENT.get(base, {}).items():
        if key not in attributes:
            continue
        value = attributes[key]
        if isinstance(value, attrs.IntegerAttr) and key == "api_version":
            same = value.value == 1
        elif key == "precision_config":
            same = all(item.value == "DEFAULT" for item in value)
        elif key == "backend_config":
            same = str(value) in ('""', "{}")
        elif key in _ALGORITHM:
            same = False
        else:
            same = value == default(operation)
        if same:
            del attributes[key]
    if base == "custom_call" and ("operand_layouts" in attributes) != (
            "result_layouts" in attributes):
        for key in ("operand_layouts", "result_layouts"):
            attributes.setdefault(key, _EMPTY)
    return attributes


def _from_vhlo(operation):
    """Changes an operation of VHLO and all inside it to StableHLO."""
    name = operation._name
    if name.startswith("vhlo."):
        base = name[5:].rpartition("_v")[0]
        if base in ("func", "call", "return"):
            _function_from_vhlo(operation, base)
        else:
            operation._name = f"stablehlo.{base}"
            attributes = _without_defaults(base, operation)
            operation._attributes = _imploded(base, attributes, find_row(operation._name))
    for region in operation._regions:
        for block in region._blocks:
            for nested in block._operations:
                _from_vhlo(nested)


def _function_from_vhlo(operation, base):
    attributes = operation._attributes
    if base == "return":
        parent = operation._block._parent_operation()._name
        inside = parent in ("func.func", "vhlo.func_v1")
        operation._name = "func.return" if inside else "stablehlo.return"
        return
    operation._name = f"func.{base}"
    if base == "call":
        attributes["callee"] = attrs.FlatSymbolRefAttr.get(attributes["callee"].value)
        return
    if attributes["sym_visibility"].value == "":
        del attributes["sym_visibility"]
    for key in ("arg_attrs", "res_attrs"):
        if not any(len(item) for item in attributes[key]):
            del attributes[key]


def read_bytecode(data):
    """Returns the outermost operation of bytecode, in StableHLO.

    Raises MLIRError for bytes that are no program, however they fail to be one.
    """
    try:
        operation = Reader(data).operation()
        _from_vhlo(operation)
        _remove_casts(operation)
    except MLIRError:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError,
            OverflowError, MemoryError) as error:
        raise MLIRError(f"Unable to parse bytecode: {error}") from None
    return operation


def _remove_casts(operation):
    """Removes casts between types that are the same outside VHLO."""
    replaced = {}
    for nested in list(operation._nested()):
        nested._operands = [replaced.get(value, value) for value in nested._operands]
        if nested._name == CAST and len(nested._operands) == len(nested._results) and all(
                x.type is y.type for x, y in zip(nested._operands, nested._results)):
            replaced.update(zip(nested._results, nested._operands))
            nested.erase()


def deserialize(artifact):
    """Returns the module of a portable artifact."""
    artifact = artifact.encode() if isinstance(artifact, str) else bytes(artifact)
    return Module.parse(artifact)


