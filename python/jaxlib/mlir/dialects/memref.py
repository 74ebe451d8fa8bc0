"""Dialect memref: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.views import define_dialect

_TABLE = """
assume_alignment | memref .alignment:I32Attr | ~
atomic_rmw AtomicRMWOp | .kind value memref *indices | ~
atomic_yield | result
copy | source target
distinct_objects | *operands_ | ~ results_
generic_atomic_rmw GenericAtomicRMWOp | memref *indices @atomic_body | result
load | memref *indices .nontemporal:BoolAttr? .alignment:I64Attr? | ~
alloc | *dynamicSizes *symbolOperands .alignment:I64Attr? | memref |  | segments
alloca | *dynamicSizes *symbolOperands .alignment:I64Attr? | memref |  | segments
alloca_scope | @bodyRegion | *results_
alloca_scope.return AllocaScopeReturnOp | *results_
cast | source | dest
collapse_shape | src .reassociation:IndexListArrayAttr | result
dealloc | memref
dim | source index | ~
dma_start | *operands_
dma_wait | tagMemRef *tagIndices numElements
expand_shape | src .reassociation:IndexListArrayAttr *output_shape
    .static_output_shape:DenseI64ArrayAttr | result
extract_aligned_pointer_as_index | source | ~ aligned_pointer
extract_strided_metadata | source | ~ base_buffer offset sizes strides
get_global | .name:FlatSymbolRefAttr | result
global | .sym_name:SymbolNameAttr .type_:MemRefTypeAttr .sym_visibility:StrAttr? .initial_value?
    .constant:UnitAttr? .alignment:I64Attr?
memory_space_cast | source | dest
prefetch | memref *indices .isWrite:BoolAttr .localityHint:I32Attr .isDataCache:BoolAttr
rank | memref | ~
realloc | source ?dynamicResultSize .alignment:I64Attr? | result
reinterpret_cast | source *offsets *sizes *strides .static_offsets:DenseI64ArrayAttr
    .static_sizes:DenseI64ArrayAttr .static_strides:DenseI64ArrayAttr | result |  | segments
reshape | source shape | result
store | value memref *indices .nontemporal:BoolAttr? .alignment:I64Attr?
transpose | in_ .permutation:AffineMapAttr | result
view | source byte_shift *sizes | result
subview SubViewOp | source *offsets *sizes *strides .static_offsets:DenseI64ArrayAttr
    .static_sizes:DenseI64ArrayAttr .static_strides:DenseI64ArrayAttr | result |  | segments
"""

define_dialect("memref", globals(), _TABLE)
