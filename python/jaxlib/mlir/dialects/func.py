"""Dialect func: its operations.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

import inspect

from .._ir.attributes import ArrayAttr, DictAttr, FlatSymbolRefAttr, StringAttr, TypeAttr
from .._ir.operations import InsertionPoint, Operation, Value
from .._ir.registry import set_class
from .._ir.types import FunctionType
from .._ir.views import as_values, define_dialect

_TABLE = """
call_indirect | callee *callee_operands .arg_attrs:DictArrayAttr? .res_attrs:DictArrayAttr? |
    *results_
call | .callee:FlatSymbolRefAttr *operands_ .arg_attrs:DictArrayAttr? .res_attrs:DictArrayAttr?
    .no_inline:UnitAttr? | *result | {callee}({operands_})~fn
constant | .value:FlatSymbolRefAttr | result | {} {value} : {:results}
func | .sym_name:SymbolNameAttr .function_type .sym_visibility:StrAttr? .arg_attrs:DictArrayAttr?
    .res_attrs:DictArrayAttr? .no_inline:UnitAttr? @body |  | !function
return | *operands_ |  | !return | terminator
"""

define_dialect("func", globals(), _TABLE)


class FuncOp(FuncOp):  # noqa: F821
    """Function: a symbol with a type and, unless it is external, a body."""

    __slots__ = ()

    def __init__(self, name, type, *, visibility=None, body_builder=None, loc=None, ip=None):
        if isinstance(type, tuple):
            type = FunctionType.get(type[0], type[1])
        attributes = {"sym_name": StringAttr.get(str(name)), "function_type": TypeAttr.get(type)}
        if visibility is not None:
            attributes["sym_visibility"] = StringAttr.get(str(visibility))
        self._set(Operation.create("func.func", attributes=attributes, regions=1, loc=loc, ip=ip))
        if body_builder:
            with InsertionPoint(self.add_entry_block()):
                body_builder(self)

    @property
    def is_external(self):
        return not self.operation._regions[0]._blocks

    @property
    def body(self):
        return self.operation._regions[0]

    @property
    def type(self):
        return self.operation._attributes["function_type"].value

    @property
    def visibility(self):
        return self.attributes["sym_visibility"]

    @property
    def name(self):
        return self.attributes["sym_name"]

    @property
    def entry_block(self):
        if self.is_external:
            raise IndexError("External function does not have a body")
        return self.operation._regions[0]._blocks[0]

    def add_entry_block(self, arg_locs=None):
        """Appends and returns the block whose arguments are those of the function's type."""
        if not self.is_external:
            raise IndexError("The function already has an entry block!")
        return self.body.blocks.append(*self.type.inputs, arg_locs=arg_locs)

    @property
    def arg_attrs(self):
        known = self.operation._attributes.get("arg_attrs")
        return known or ArrayAttr.get([DictAttr.get({}) for _ in self.type.inputs])

    @arg_attrs.setter
    def arg_attrs(self, attribute):
        if not isinstance(attribute, ArrayAttr):
            attribute = ArrayAttr.get(attribute)
        self.attributes["arg_attrs"] = attribute

    @property
    def arguments(self):
        return self.entry_block.arguments

    @property
    def result_attrs(self):
        return self.attributes["res_attrs"]

    @result_attrs.setter
    def result_attrs(self, attribute):
        self.attributes["res_attrs"] = attribute

    @classmethod
    def from_py_func(cls, *inputs, results=None, name=None):
        """Decorates a Python function that builds the body from the arguments it gets."""
        def decorate(function):
            view = cls(name or function.__name__, (list(inputs), list(results or ())))
            accepts = inspect.signature(function).parameters
            options = {"func_op": view} if "func_op" in accepts else {}
            with InsertionPoint(view.add_entry_block()):
                returned = function(*view.arguments, **options)
                if results is None:
                    values = _values_of(returned)
                    ReturnOp(values)  # noqa: F821
                    type_ = FunctionType.get(inputs, [value.type for value in values])
                    view.attributes["function_type"] = TypeAttr.get(type_)

            def emit_call(*arguments):
                call = CallOp(view, list(arguments))
                return call.result if len(call.results) == 1 else call.results

            emit_call.__name__ = function.__name__
            emit_call.func_op = view
            return emit_call
        return decorate


def _values_of(returned):
    if returned is None:
        return []
    if isinstance(returned, Value):
        return [returned]
    return list(as_values(returned))


func = FuncOp.from_py_func


class CallOp(CallOp):  # noqa: F821
    """Call of a function: CallOp(function, arguments) or CallOp(types, name, arguments)."""

    __slots__ = ()

    def __init__(self, calleeOrResults, argumentsOrCallee, arguments=None, *, loc=None, ip=None):
        if isinstance(calleeOrResults, FuncOp):
            if not isinstance(argumentsOrCallee, list):
                raise ValueError("when constructing a call to a function, expected the second "
                                 "argument to be a list of call arguments, got "
                                 f"{type(argumentsOrCallee)}")
            if arguments is not None:
                raise ValueError("unexpected third argument when constructing a call to a function")
            callee, arguments = calleeOrResults.name.value, argumentsOrCallee
            calleeOrResults = calleeOrResults.type.results
        elif isinstance(argumentsOrCallee, list):
            raise ValueError("when constructing a call to a function by name, expected the second "
                             "argument to be a string or a FlatSymbolRefAttr, got "
                             f"{type(argumentsOrCallee)}")
        else:
            callee = argumentsOrCallee
        if isinstance(callee, str):
            callee = FlatSymbolRefAttr.get(callee)
        super().__init__(calleeOrResults, callee, arguments, loc=loc, ip=ip)


set_class("func.func", FuncOp)
set_class("func.call", CallOp)
