"""Dialect builtin: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.registry import set_class
from .._ir.views import define_dialect

_TABLE = """
module | .sym_name:SymbolNameAttr? .sym_visibility:StrAttr? @bodyRegion |  | !module
unrealized_conversion_cast | *inputs | *outputs
"""

define_dialect("builtin", globals(), _TABLE)


class ModuleOp(ModuleOp):  # noqa: F821
    """Module, with its one block."""

    __slots__ = ()

    def __init__(self, *, loc=None, ip=None):
        super().__init__(loc=loc, ip=ip)
        self.regions[0].blocks.append()

    @property
    def body(self):
        return self.operation._regions[0]._blocks[0]


set_class("builtin.module", ModuleOp)
