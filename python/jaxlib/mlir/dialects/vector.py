"""Dialect vector: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.views import define_dialect

_TABLE = """
vscale VectorScaleOp |  | ~ res
bitcast BitCastOp | source | result
broadcast | source | vector
compressstore CompressStoreOp | base *indices mask valueToStore .alignment:I64Attr?
constant_mask | .mask_dim_sizes:DenseI64ArrayAttr | result
contract ContractionOp | lhs rhs acc .indexing_maps:ArrayAttr .iterator_types .kind? .fastmath? |
    result
create_mask | *mask_dim_sizes | result
deinterleave | source | ~ res1 res2
expandload ExpandLoadOp | base *indices mask pass_thru .alignment:I64Attr? | result
extract | source *dynamic_position .static_position:DenseI64ArrayAttr | ~
extract_strided_slice | source .offsets:I64ArrayAttr .sizes:I64ArrayAttr .strides:I64ArrayAttr |
    result
fma FMAOp | lhs rhs acc | ~
from_elements | *elements | dest
gather | base *offsets indices mask pass_thru .alignment:I64Attr? | result
insert | valueToStore dest *dynamic_position .static_position:DenseI64ArrayAttr | ~
insert_strided_slice | valueToStore dest .offsets:I64ArrayAttr .strides:I64ArrayAttr | ~
interleave | lhs rhs | ~
load | base *indices .nontemporal:BoolAttr? .alignment:I64Attr? | result
mask | mask ?passthru @maskRegion | *results_
maskedload MaskedLoadOp | base *indices mask pass_thru .alignment:I64Attr? | result
maskedstore MaskedStoreOp | base *indices mask valueToStore .alignment:I64Attr?
multi_reduction MultiDimReductionOp | .kind source acc .reduction_dims:DenseI64ArrayAttr | ~ dest
outerproduct OuterProductOp | lhs rhs ?acc .kind? | result
print PrintOp print_ | ?source .punctuation? .stringLiteral?
reduction | .kind vector ?acc .fastmath? | dest
scalable.extract ScalableExtractOp | source .pos:I64Attr | result
scalable.insert ScalableInsertOp | valueToStore dest .pos:I64Attr | ~
scan | .kind source initial_value .reduction_dim:I64Attr .inclusive:BoolAttr | ~ dest
    accumulated_value
scatter | base *offsets indices mask valueToStore .alignment:I64Attr? | result
shape_cast | source | result
shuffle | v1 v2 .mask:DenseI64ArrayAttr | ~ vector
step |  | result
store | valueToStore base *indices .nontemporal:BoolAttr? .alignment:I64Attr?
to_elements | source | ~ elements
transfer_read | base *indices .permutation_map:AffineMapAttr padding .in_bounds:BoolArrayAttr
    ?mask | vector |  | segments
transfer_write | valueToStore base *indices .permutation_map:AffineMapAttr
    .in_bounds:BoolArrayAttr ?mask | result |  | segments
transpose | vector .permutation:DenseI64ArrayAttr | result
type_cast | memref | result
yield | *operands_
"""

define_dialect("vector", globals(), _TABLE)
