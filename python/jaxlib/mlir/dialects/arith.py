"""Dialect arith: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.views import define_dialect

_TABLE = """
addf AddFOp | lhs rhs .fastmath? .roundingmode? | ~
addi AddIOp | lhs rhs .overflowFlags? | ~
addui_extended AddUIExtendedOp | lhs rhs | sum overflow
andi AndIOp | lhs rhs | ~
bitcast | in_ | out
ceildivsi CeilDivSIOp | lhs rhs | ~
ceildivui CeilDivUIOp | lhs rhs | ~
cmpf CmpFOp | .predicate lhs rhs .fastmath? | ~comparison
cmpi CmpIOp | .predicate lhs rhs | ~comparison
constant | .value | ~value
convertf ConvertFOp | in_ .roundingmode? .fastmath? | out
divf DivFOp | lhs rhs .fastmath? .roundingmode? | ~
divsi DivSIOp | lhs rhs .isExact:UnitAttr? | ~
divui DivUIOp | lhs rhs .isExact:UnitAttr? | ~
extf ExtFOp | in_ .fastmath? | out
extsi ExtSIOp | in_ | out
extui ExtUIOp | in_ .nonNeg:UnitAttr? | out
fptosi FPToSIOp | in_ | out
fptoui FPToUIOp | in_ | out
floordivsi FloorDivSIOp | lhs rhs | ~
flush_denormals | operand .fastmath? | ~
index_cast | in_ | out
index_castui IndexCastUIOp | in_ .nonNeg:UnitAttr? | out
maxnumf MaxNumFOp | lhs rhs .fastmath? | ~
maxsi MaxSIOp | lhs rhs | ~
maxui MaxUIOp | lhs rhs | ~
maximumf MaximumFOp | lhs rhs .fastmath? | ~
minnumf MinNumFOp | lhs rhs .fastmath? | ~
minsi MinSIOp | lhs rhs | ~
minui MinUIOp | lhs rhs | ~
minimumf MinimumFOp | lhs rhs .fastmath? | ~
mulf MulFOp | lhs rhs .fastmath? .roundingmode? | ~
muli MulIOp | lhs rhs .overflowFlags? | ~
mulsi_extended MulSIExtendedOp | lhs rhs | ~ low high
mului_extended MulUIExtendedOp | lhs rhs | ~ low high
negf NegFOp | operand .fastmath? | ~
ori OrIOp | lhs rhs | ~
remf RemFOp | lhs rhs .fastmath? | ~
remsi RemSIOp | lhs rhs | ~
remui RemUIOp | lhs rhs | ~
sitofp SIToFPOp | in_ | out
scaling_extf ScalingExtFOp | in_ scale .fastmath? | out
scaling_truncf ScalingTruncFOp | in_ scale .roundingmode? .fastmath? | out
shli ShLIOp | lhs rhs .overflowFlags? | ~
shrsi ShRSIOp | lhs rhs .isExact:UnitAttr? | ~
shrui ShRUIOp | lhs rhs .isExact:UnitAttr? | ~
subf SubFOp | lhs rhs .fastmath? .roundingmode? | ~
subi SubIOp | lhs rhs .overflowFlags? | ~
subui_extended SubUIExtendedOp | lhs rhs | diff borrow
truncf TruncFOp | in_ .roundingmode? .fastmath? | out
trunci TruncIOp | in_ .overflowFlags? | out
uitofp UIToFPOp | in_ .nonNeg:UnitAttr? | out
xori XOrIOp | lhs rhs | ~
select | condition true_value false_value | ~second
"""

define_dialect("arith", globals(), _TABLE)
