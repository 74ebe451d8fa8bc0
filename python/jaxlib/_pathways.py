"""Functions of Pathways, a runtime of several processes: each raises."""

from ._jax.errors import unavailable


def _missing(*args, **kwargs):
    raise unavailable("Pathways")


_transfer_to_shardings = _split_by_mesh_axis = _missing
_concatenate_by_mesh_axis = _create_cpu_client = _missing
