"""Dialect cf: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.views import define_dialect

_TABLE = """
assert | arg .msg:StrAttr
br BranchOp | *destOperands .dest:UnitAttr |  |  | terminator
cond_br CondBranchOp | condition *trueDestOperands *falseDestOperands .trueDest:UnitAttr
    .falseDest:UnitAttr .branch_weights:DenseI32ArrayAttr? |  |  | terminator segments
switch | flag *defaultOperands *caseOperands .case_operand_segments:DenseI32ArrayAttr
    .defaultDestination:UnitAttr .caseDestinations:UnitAttr .case_values? |  |  | segments
"""

define_dialect("cf", globals(), _TABLE)
