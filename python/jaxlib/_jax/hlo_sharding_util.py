"""Utilities for manipulating HloSharding."""

import numpy as np

from .hlo_sharding import HloSharding, _tiled
from .op_sharding import Type


def PartiallyReplicateTiledShardingOnDims(sharding, dims, /):
    """Returns the sharding that does not divide some dimensions: their devices have copies."""
    if not sharding.is_tiled() or sharding._devices is None:
        return sharding
    devices = sharding._devices
    subgroups = list(sharding.subgroup_types())
    if sharding.replicate_on_last_tile_dim():
        subgroups.append(Type.REPLICATED)
    moved = [d for d in dims if devices.shape[d] > 1]
    if not moved:
        return sharding
    rank = devices.ndim - len(subgroups)
    size = int(np.prod([devices.shape[d] for d in moved]))
    kept = [d for d in range(devices.ndim) if d not in moved]
    grid = devices.transpose([*kept, *moved])
    shape = [1 if d in moved else devices.shape[d] for d in range(devices.ndim)]
    return _tiled(grid.reshape([*shape, size]), None, [*subgroups, Type.REPLICATED]) if rank else (
        HloSharding.replicate())
