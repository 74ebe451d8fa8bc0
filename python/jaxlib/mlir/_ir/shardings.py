"""Passes over shardings: meshes as symbols, shardings of frontend attributes."""

import numpy as np

from .attributes import ArrayAttr, DictAttr, FlatSymbolRefAttr, IntegerAttr, StringAttr
from .elements import DenseIntElementsAttr
from .operations import Operation
from .sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr
from .symbols import SymbolTable
from .types import i64


def _transform(attribute, change):
    """Returns `attribute` with `change` applied to every sharding in it."""
    if isinstance(attribute, TensorShardingAttr):
        return change(attribute)
    if isinstance(attribute, TensorShardingPerValueAttr):
        return TensorShardingPerValueAttr.get([change(item) for item in attribute.shardings])
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr.get([_transform(item, change) for item in attribute])
    if isinstance(attribute, DictAttr):
        return DictAttr._of(tuple((name, _transform(item, change))
                                  for name, item in attribute._key))
    return attribute


# Attributes with shardings, in the order in which their meshes get names.
_HOLDERS = ("arg_attrs", "res_attrs", "in_shardings", "out_shardings", "sdy.sharding", "sharding",
            "out_sharding")


def _plain_mesh(mesh):
    """Returns the dictionary that describes a mesh without Shardy's attributes."""
    axes = [DictAttr.get({"name": StringAttr.get(name), "size": IntegerAttr.get(i64(), size)})
            for name, size in (axis._key for axis in mesh.axes)]
    entries = {"axes": ArrayAttr.get(axes)}
    if mesh.device_ids:
        entries["device_ids"] = DenseIntElementsAttr.get(np.array(mesh.device_ids, np.int64))
    return DictAttr.get(entries)


def lift_meshes(module):
    """Replaces meshes inside shardings by symbols; equal meshes get one operation."""
    body = module._regions[0]._blocks[0]
    names, symbols, position = {}, None, 0
    for operation in list(body._operations):
        if operation._name != "sdy.mesh":
            continue
        mesh, name = operation._attributes["mesh"], operation._attributes["sym_name"].value
        if mesh in names:
            names[FlatSymbolRefAttr.get(name)] = names[mesh]
            operation.erase()
        else:
            names[mesh] = name
            position = body._operations.index(operation) + 1

    def named(mesh):
        nonlocal symbols, position
        if symbols is None:
            symbols = SymbolTable(module)
        axes, devices = mesh._key
        if len(devices) == 1 and not axes:
            name = f"maximal_mesh_{devices[0]}"
        else:
            name = "mesh" if axes or devices else "empty_mesh"
        operation = Operation._new(
            "sdy.mesh", {"sym_name": StringAttr.get(name), "mesh": mesh}, [], (), 0,
            module._location)
        operation._block = body
        body._operations.insert(position, operation)
        position += 1
        return symbols.insert(operation).value

    def change(sharding):
        mesh = sharding._key[0]
        name = names.get(mesh)
        if name is None:
            if not isinstance(mesh, MeshAttr):
                return sharding
            name = names[mesh] = named(mesh)
        return TensorShardingAttr._of((FlatSymbolRefAttr.get(name), *sharding._key[1:]))

    for operation in list(module._nested()):
        attributes = operation._attributes
        for key in _HOLDERS:
            if key in attributes:
                attributes[key] = _transform(attributes[key], change)
    for operation in body._operations:
        if operation._name == "sdy.mesh" and "stablehlo.mesh" not in operation._attributes:
            mesh = operation._attributes["mesh"]
            operation._attributes["stablehlo.mesh"] = _plain_mesh(mesh)


_FRONTEND = "mhlo.frontend_attributes"


def _taken(dictionary, name):
    """Returns (parsed attribute or None, dictionary without it)."""
    from .parser import parse_attribute
    frontend = dictionary.get(_FRONTEND)
    if frontend is None or name not in frontend:
        return None, dictionary
    rest = {key: value for key, value in frontend._key if key != name}
    kept = {key: value for key, value in dictionary.items() if key != _FRONTEND}
    if rest:
        kept[_FRONTEND] = DictAttr.get(rest)
    return parse_attribute(frontend[name].value), kept


def import_frontend_attributes(module):
    """Makes meshes and shardings of the frontend attributes in which they were exported."""
    meshes, kept = _taken(module._attributes, "xla.sdy.meshes")
    module._attributes = kept
    body = module._regions[0]._blocks[0]
    for index, (name, mesh) in enumerate(meshes._key if meshes is not None else ()):
        operation = Operation._new("sdy.mesh", {"sym_name": StringAttr.get(name), "mesh": mesh},
                                   [], (), 0, module._location)
        operation._block = body
        body._operations.insert(index, operation)
    for operation in module._nested():
        for key in ("arg_attrs", "res_attrs"):
            if key in operation._attributes:
                operation._attributes[key] = ArrayAttr.get(
                    [_imported(dict(item._key)) for item in operation._attributes[key]])
        sharding, kept = _taken(operation._attributes, "xla.sdy.sharding")
        if sharding is not None:
            operation._attributes = kept
            operation._attributes["sdy.sharding"] = sharding


def _imported(dictionary):
    sharding, kept = _taken(dictionary, "xla.sdy.sharding")
    if sharding is not None:
        kept["sdy.sharding"] = sharding
    return DictAttr.get(kept)
