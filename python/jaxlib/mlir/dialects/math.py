"""Dialect math: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.views import define_dialect

_TABLE = """
absf AbsFOp | operand .fastmath? | ~
absi AbsIOp | operand | ~
acos | operand .fastmath? | ~
acosh | operand .fastmath? | ~
asin | operand .fastmath? | ~
asinh | operand .fastmath? | ~
atan2 | lhs rhs .fastmath? | ~
atan | operand .fastmath? | ~
atanh | operand .fastmath? | ~
cbrt | operand .fastmath? | ~
ceil | operand .fastmath? | ~
clampf ClampFOp | value min max .fastmath? | ~
copysign CopySignOp | lhs rhs .fastmath? | ~
cos | operand .fastmath? | ~
cosh | operand .fastmath? | ~
ctlz CountLeadingZerosOp | operand | ~
cttz CountTrailingZerosOp | operand | ~
ctpop CtPopOp | operand | ~
erf | operand .fastmath? | ~
erfc | operand .fastmath? | ~
exp2 | operand .fastmath? | ~
expm1 ExpM1Op | operand .fastmath? | ~
exp | operand .fastmath? | ~
fpowi FPowIOp | lhs rhs .fastmath? | ~
floor | operand .fastmath? | ~
fma | a b c .fastmath? .roundingmode? | ~
ipowi IPowIOp | lhs rhs | ~
isfinite IsFiniteOp | operand .fastmath? | ~
isinf IsInfOp | operand .fastmath? | ~
isnan IsNaNOp | operand .fastmath? | ~
isnormal IsNormalOp | operand .fastmath? | ~
log1p | operand .fastmath? | ~
log2 | operand .fastmath? | ~
log10 | operand .fastmath? | ~
log | operand .fastmath? | ~
powf PowFOp | lhs rhs .fastmath? | ~
roundeven RoundEvenOp | operand .fastmath? | ~
round | operand .fastmath? | ~
rsqrt | operand .fastmath? | ~
sin | operand .fastmath? | ~
sincos | operand .fastmath? | ~ sin cos
sinh | operand .fastmath? | ~
sqrt | operand .fastmath? | ~
tan | operand .fastmath? | ~
tanh | operand .fastmath? | ~
trunc | operand .fastmath? | ~
"""

define_dialect("math", globals(), _TABLE)
