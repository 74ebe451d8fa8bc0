"""Dialect mpmd: its operations and attributes.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.location import quote
from .._ir.structs import Structure, define
from .._ir.views import define_dialect

_TABLE = """
assign | tensor .origin:StrAttr? | result
broadcast | tensor | ~
call | *tensors .callee:FlatSymbolRefAttr | *result
for ForOp for_ | *tensors .iterations:UI32Attr .unroll_factor:UI32Attr? @region | *results_
fragment_call | *tensors .origin .mesh_name:StrAttr .callee:FlatSymbolRefAttr | *result
fragment | *inputs .origin .mesh_name:StrAttr .stage_id:I64Attr? .in_shardings? .out_shardings?
    @region | *results_
named_computation | *tensors .origin @region | *results_
named_tensor | tensor .name:StrAttr | ~
reduce | *tensors .reduction? | ~
return | *results_ |  |  | terminator
transfer | tensor | result
unassign | tensor .origin:StrAttr? | ~
"""

define_dialect("mpmd", globals(), _TABLE)


def _origin_text(self):
    name, count = self._key
    return f"<{quote(name)}({count})>" if count else f"<{quote(name)}>"


define(Structure, "mpmd", globals(), "UserOriginAttr", "user_origin",
       _fields=(("user_name", "user_name", "attribute"),
                ("transpose_count", "transpose_count", "int")),
       get=classmethod(lambda cls, name, transpose_count=0, context=None:
                       cls._of((name, int(transpose_count)))),
       _stripped=_origin_text,
       __str__=lambda self: f"#mpmd.user_origin{self._stripped()}")


def register_dialect(context, load=True):
    """Does nothing: all dialects are always known."""
