"""Dialect scf: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.views import define_dialect

_TABLE = """
condition | condition *args
execute_region | .no_inline:UnitAttr? @region | *result
for ForOp for_ | lowerBound upperBound step *initArgs .unsignedCmp:UnitAttr? @region | *results_
forall | *dynamicLowerBound *dynamicUpperBound *dynamicStep .staticLowerBound:DenseI64ArrayAttr
    .staticUpperBound:DenseI64ArrayAttr .staticStep:DenseI64ArrayAttr *outputs .mapping? @region |
    *results_ |  | segments
if | condition @thenRegion @elseRegion | *results_
forall.in_parallel InParallelOp | @region
index_switch | arg .cases:DenseI64ArrayAttr @defaultRegion @*caseRegions | *results_
parallel | *lowerBound *upperBound *step *initVals @region | *results_ |  | segments
reduce | *operands_ @*reductions
reduce.return ReduceReturnOp | result
while | *inits @before @after | *results_
yield | *results_ |  |  | terminator
"""

define_dialect("scf", globals(), _TABLE)
