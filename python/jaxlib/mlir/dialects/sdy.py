"""Dialect sdy: its operations and attributes.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

import enum

from .._ir.sdy import define_attributes
from .._ir.views import define_dialect

_TABLE = """
all_gather | tensor .gathering_axes .out_sharding | ~ | {gathering_axes} {tensor}
    out_sharding={out_sharding}{} : {:results}
all_reduce | tensor .reduction_axes .out_sharding | ~ | {reduction_axes} {tensor}
    out_sharding={out_sharding}{} : {:results}
all_slice | tensor .slicing_axes .out_sharding | ~ | {slicing_axes} {tensor}
    out_sharding={out_sharding}{} : {:results}
all_to_all | tensor .params .out_sharding | ~ | {params} {tensor} out_sharding={out_sharding}{} :
    {:results}
collective_permute | tensor .out_sharding | ~ | {tensor} out_sharding={out_sharding}{} : {:results}
constant | .value | ~value output | !constant
data_flow_edge | input .sharding? | ~ | {input}<? sharding={sharding}?>{} : {:results}
func_data_flow_edge | operand | ~
manual_computation | *tensors .in_shardings .out_shardings .manual_axes @body | *results_ | !manual
mesh | .sym_name:SymbolNameAttr .mesh |  | {sym_name} = {mesh}{}
named_computation | .name:StrAttr *operands_ .in_shardings? .out_shardings? @body | *result | !named
propagation_barrier | input .allowed_direction | ~ | {input}
    allowed_direction={allowed_direction}{} : {:input}
reduce_scatter | tensor .reduce_scatter_axes .out_sharding | ~ | {reduce_scatter_axes} {tensor}
    out_sharding={out_sharding}{} : {:results}
replicated_to_unreduced | tensor .axes .out_sharding | ~ | {axes} {tensor}
    out_sharding={out_sharding}{} : {:results}
reshard | input .sharding | ~ | {input} {sharding}{} : {:results}
return | *results_ |  | !return | terminator
sharded_to_unreduced | tensor .axes .out_sharding | ~ | {axes} {tensor}
    out_sharding={out_sharding}{} : {:results}
sharding_constraint | input .sharding | ~ | {input} {sharding}{} : {:results}
sharding_group | input .group_id:I64Attr | ~none | {input} group_id={group_id}{} : {:input}
"""

define_dialect("sdy", globals(), _TABLE)
define_attributes(globals())


class PropagationDirection(enum.IntEnum):
    """Directions in which a propagation barrier lets shardings through."""

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


class CompatibilityRequirement(enum.Enum):
    NONE = 0
    WEEK_4 = 1
    WEEK_12 = 2
    MAX = 3


def get_version_from_compatibility_requirement(requirement):
    """Returns the version of Shardy's portable form."""
    return "0.0.1"


def register_dialect(context, load=True):
    """Does nothing: all dialects are always known."""
