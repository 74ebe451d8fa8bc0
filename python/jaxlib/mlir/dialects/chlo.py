"""Dialect chlo: its operations and attributes.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.structs import define_enumerations, define_structures
from .._ir.views import define_dialect

_TABLE = """
acos | operand | ~ | {operand}{} : {:operand} -> {:results}
acosh | operand | ~ | {operand}{} : {:operand} -> {:results}
_asin_acos_kernel | operand | ~ | {operand}{} : {:operand} -> {:results}
asin | operand | ~ | {operand}{} : {:operand} -> {:results}
asinh | operand | ~ | {operand}{} : {:operand} -> {:results}
atan | operand | ~ | {operand}{} : {:operand} -> {:results}
atanh | operand | ~ | {operand}{} : {:operand} -> {:results}
bessel_i1e | operand | ~ | {operand}{} : {:operand} -> {:results}
broadcast_add | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} : ({:lhs},
    {:rhs}) -> {:results}
broadcast_and | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} : ({:lhs},
    {:rhs}) -> {:results}
broadcast_atan2 | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} : ({:lhs},
    {:rhs}) -> {:results}
broadcast_compare | lhs rhs .comparison_direction .broadcast_dimensions:DenseI64ArrayAttr?
    .compare_type? | ~broadcast_compare
broadcast_complex | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~broadcast_complex | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_divide BroadcastDivOp | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_maximum BroadcastMaxOp | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_minimum BroadcastMinOp | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_multiply BroadcastMulOp | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_next_after | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} :
    ({:lhs}, {:rhs}) -> {:results}
broadcast_or | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} : ({:lhs},
    {:rhs}) -> {:results}
broadcast_polygamma | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} :
    ({:lhs}, {:rhs}) -> {:results}
broadcast_power BroadcastPowOp | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_remainder BroadcastRemOp | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_select | pred on_true on_false | ~broadcast_select | {operands}{} : ({:operands}) ->
    {:results}
broadcast_shift_left | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} :
    ({:lhs}, {:rhs}) -> {:results}
broadcast_shift_right_arithmetic | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_shift_right_logical | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_subtract BroadcastSubOp | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs},
    {rhs}{} : ({:lhs}, {:rhs}) -> {:results}
broadcast_xor | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} : ({:lhs},
    {:rhs}) -> {:results}
broadcast_zeta | lhs rhs .broadcast_dimensions:DenseI64ArrayAttr? | ~ | {lhs}, {rhs}{} : ({:lhs},
    {:rhs}) -> {:results}
conj | operand | ~ | {operand}{} : {:operand} -> {:results}
constant_like | .value operand | ~second
constant | .value | ~value output | {} {value}
cosh | operand | ~ | {operand}{} : {:operand} -> {:results}
digamma | operand | ~ | {operand}{} : {:operand} -> {:results}
erf_inv | operand | ~ | {operand}{} : {:operand} -> {:results}
erf | operand | ~ | {operand}{} : {:operand} -> {:results}
erfc | operand | ~ | {operand}{} : {:operand} -> {:results}
is_inf | operand | ~predicate | {operand}{} : {:operand} -> {:results}
is_neg_inf | operand | ~predicate | {operand}{} : {:operand} -> {:results}
is_pos_inf | operand | ~predicate | {operand}{} : {:operand} -> {:results}
lgamma | operand | ~ | {operand}{} : {:operand} -> {:results}
mulhi | lhs rhs | ~ | {lhs}, {rhs}{} : {:lhs}, {:rhs} -> {:results}
next_after | x y | ~ | {x}, {y}{} : {:x}, {:y} -> {:results}
polygamma | n x | ~ | {n}, {x}{} : {:n}, {:x} -> {:results}
ragged_dot | lhs rhs group_sizes .ragged_dot_dimension_numbers .precision_config? | result
scan | *inputs *inits .dimension:I64Attr .scan_dim_size:I64Attr? .is_reverse:BoolAttr?
    .is_associative:BoolAttr? @body | *outputs *carries |  | segments
sinh | operand | ~ | {operand}{} : {:operand} -> {:results}
square | operand | ~ | {operand}{} : {:operand} -> {:results}
tan | operand | ~ | {operand}{} : {:operand} -> {:results}
top_k | operand .k:I64Attr | ~top_k values indices | ({operand}, k = {k}){} : {:operand} ->
    ({:results})
zeta | x q | ~ | {x}, {q}{} : {:x}, {:q} -> {:results}
"""

define_dialect("chlo", globals(), _TABLE)

define_structures("chlo", globals(), """
ragged_dot RaggedDotDimensionNumbers sparse lhs_batching_dimensions rhs_batching_dimensions
    lhs_contracting_dimensions rhs_contracting_dimensions lhs_ragged_dimensions
    rhs_group_dimensions
""")
define_enumerations("chlo", globals(), """
comparison_direction ComparisonDirectionAttr EQ NE GE GT LE LT
comparison_type ComparisonTypeAttr NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED
precision PrecisionAttr DEFAULT HIGH HIGHEST PACKED_NIBBLE
""")


def register_dialect(context, load=True):
    """Does nothing: all dialects are always known."""


register_chlo_dialect = register_dialect
