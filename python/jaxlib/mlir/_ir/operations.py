"""Operations, regions, blocks, values and insertion points."""

import enum

from .context import context_of, current_property, pop, push, state
from .lists import (
    BlockArgumentList,
    BlockPredecessors,
    BlockSuccessors,
    OpAttributeMap,
    OpOperandList,
    OpOperands,
    OpResultList,
    OpSuccessors,
    RegionSequence,
)
from .location import UNKNOWN, location_or_current
from .registry import find_class, find_row


class WalkOrder(enum.Enum):
    PRE_ORDER = 0
    POST_ORDER = 1


class WalkResult(enum.Enum):
    ADVANCE = 0
    INTERRUPT = 1
    SKIP = 2


class Value:
    """Result of an operation or argument of a block; compared by identity."""

    __slots__ = ("type", "_owner", "_index", "__weakref__")

    def __new__(cls, value):
        if isinstance(value, cls):
            return value
        raise ValueError(f"Cannot cast value to {cls.__name__} (from {value!r})")

    @classmethod
    def _of(cls, type, owner, index):
        self = object.__new__(cls)
        self.type = type
        self._owner = owner
        self._index = index
        return self

    def __class_getitem__(cls, item):
        return cls

    @classmethod
    def isinstance(cls, other):
        return isinstance(other, cls)

    @property
    def context(self):
        return context_of()

    def set_type(self, type):
        self.type = type

    def maybe_downcast(self):
        return self

    def _scope(self):
        """Returns the outermost operation that holds this value."""
        owner = self._owner
        operation = owner if isinstance(owner, Operation) else owner._parent_operation()
        while operation is not None and operation._block is not None:
            operation = operation._block._parent_operation()
        return operation

    @property
    def uses(self):
        """Iterates over the operands that are this value."""
        scope = self._scope()
        if scope is None:
            return
        for operation in scope._nested():
            for index, operand in enumerate(operation._operands):
                if operand is self:
                    yield OpOperand(operation, index)

    def replace_all_uses_with(self, other):
        for use in list(self.uses):
            use._operation._operands[use.operand_number] = other

    def replace_all_uses_except(self, with_, exceptions):
        if isinstance(exceptions, _OperationBase):
            exceptions = [exceptions]
        kept = {id(operation.operation) for operation in exceptions}
        for use in list(self.uses):
            if id(use._operation) not in kept:
                use._operation._operands[use.operand_number] = with_

    def get_name(self, *args, use_local_scope=False, use_name_loc_as_prefix=False, state=None):
        from .printer import name_of_value
        return name_of_value(self)

    def dump(self):
        import sys
        print(str(self), file=sys.stderr)

    def __repr__(self):
        return str(self)


class OpResult(Value):
    __slots__ = ()

    @property
    def owner(self):
        return self._owner.opview

    @property
    def result_number(self):
        return self._index

    @property
    def location(self):
        return self._owner._location

    def __str__(self):
        return f"OpResult({str(self._owner).strip()})"


class BlockArgument(Value):
    __slots__ = ("location",)

    @property
    def owner(self):
        return self._owner

    @property
    def arg_number(self):
        return self._index

    def set_location(self, loc):
        self.location = loc

    def __str__(self):
        return (f"BlockArgument(<block argument> of type '{self.type}' at index: "
                f"{self._index})")


class OpOperand:
    """Place of a value among the operands of an operation."""

    __slots__ = ("_operation", "operand_number")

    def __init__(self, operation, number):
        self._operation = operation
        self.operand_number = number

    @property
    def owner(self):
        return self._operation.opview

    @property
    def value(self):
        return self._operation._operands[self.operand_number]


class Region:
    __slots__ = ("_blocks", "_parent")

    def __init__(self, parent):
        self._blocks = []
        self._parent = parent

    @property
    def blocks(self):
        return BlockList(self)

    @property
    def owner(self):
        return self._parent.opview

    def __iter__(self):
        return iter(list(self._blocks))


class BlockList:
    """Blocks of a region."""

    __slots__ = ("_region",)

    def __init__(self, region):
        self._region = region

    def __getitem__(self, index):
        try:
            return self._region._blocks[index]
        except IndexError:
            raise IndexError("attempt to access out of bounds block") from None

    def __iter__(self):
        return iter(list(self._region._blocks))

    def __len__(self):
        return len(self._region._blocks)

    def append(self, *args, arg_locs=None):
        block = Block(args, arg_locs)
        block._region = self._region
        self._region._blocks.append(block)
        return block


class Block:
    """Operations in order, with arguments."""

    __slots__ = ("_arguments", "_operations", "_region", "__weakref__")

    def __init__(self, arg_types=(), arg_locs=None):
        if len(arg_types) == 1 and isinstance(arg_types[0], (list, tuple)):
            arg_types = arg_types[0]
        self._region = None
        self._operations = []
        self._arguments = []
        if arg_locs is None:
            default = state.location or UNKNOWN
            arg_locs = [default] * len(arg_types)
        for type_, location in zip(arg_types, arg_locs):
            self.add_argument(type_, location)

    def _parent_operation(self):
        return None if self._region is None else self._region._parent

    @property
    def owner(self):
        parent = self._parent_operation()
        return None if parent is None else parent.opview

    @property
    def region(self):
        return self._region

    @property
    def arguments(self):
        return BlockArgumentList(self._arguments)

    def add_argument(self, type, loc):
        argument = BlockArgument._of(type, self, len(self._arguments))
        argument.location = loc
        self._arguments.append(argument)
        return argument

    def erase_argument(self, index):
        del self._arguments[index]
        for number, argument in enumerate(self._arguments):
            argument._index = number

    @property
    def operations(self):
        return OperationList(self)

    def __iter__(self):
        return iter([operation.opview for operation in self._operations])

    @staticmethod
    def create_at_start(parent, arg_types=(), arg_locs=None):
        block = Block(tuple(arg_types), arg_locs)
        block._region = parent
        parent._blocks.insert(0, block)
        return block

    def append_to(self, region):
        if self._region is not None:
            self._region._blocks.remove(self)
        self._region = region
        region._blocks.append(self)

    def _create_beside(self, offset, arg_types, arg_locs):
        block = Block(arg_types, arg_locs)
        block._region = self._region
        blocks = self._region._blocks
        blocks.insert(blocks.index(self) + offset, block)
        return block

    def create_before(self, *arg_types, arg_locs=None):
        return self._create_beside(0, arg_types, arg_locs)

    def create_after(self, *arg_types, arg_locs=None):
        return self._create_beside(1, arg_types, arg_locs)

    def append(self, operation):
        operation.operation._move_to(self, None)

    @property
    def successors(self):
        return BlockSuccessors(self._operations[-1]._successors if self._operations else [])

    @property
    def predecessors(self):
        return BlockPredecessors(block for block in self._region._blocks
                                 if self in block.successors)

    @property
    def context(self):
        return context_of()

    def __str__(self):
        from .printer import block_text
        return block_text(self)


class OperationList:
    """Operations of a block, as views."""

    __slots__ = ("_block",)

    def __init__(self, block):
        self._block = block

    def __getitem__(self, index):
        operations = self._block._operations
        if not -len(operations) <= index < len(operations):
            raise IndexError("attempt to access out of bounds operation")
        return operations[index].opview

    def __iter__(self):
        return iter(self._block)

    def __len__(self):
        return len(self._block._operations)


class InsertionPoint:
    """Place in a block where new operations go: its end, or before an operation."""

    __slots__ = ("_block", "_reference")

    current = current_property("insertion_point", "No current InsertionPoint")

    def __init__(self, block=None, *, beforeOperation=None):
        place = block if beforeOperation is None else beforeOperation
        if isinstance(place, Block):
            self._block, self._reference = place, None
        elif isinstance(place, _OperationBase):
            self._reference = place.operation
            self._block = self._reference._block
            if self._block is None:
                raise ValueError("the operation to insert before is in no block")
        else:
            raise TypeError(f"InsertionPoint: {place!r} is neither a Block nor an operation")

    def __enter__(self):
        push(None, None, self)
        return self

    def __exit__(self, *unused):
        pop()

    @staticmethod
    def at_block_begin(block):
        if block._operations:
            return InsertionPoint(block._operations[0])
        return InsertionPoint(block)

    @staticmethod
    def at_block_terminator(block):
        if not block._operations or not block._operations[-1]._is_terminator():
            raise ValueError("Block has no terminator")
        return InsertionPoint(block._operations[-1])

    @staticmethod
    def after(operation):
        operation = operation.operation
        operations = operation._block._operations
        index = operations.index(operation) + 1
        if index < len(operations):
            return InsertionPoint(operations[index])
        return InsertionPoint(operation._block)

    def insert(self, operation):
        operation = operation.operation
        if operation._block is not None:
            raise ValueError("Attempt to insert operation that is already attached to a block: "
                             "detach it first")
        operation._move_to(self._block, self._reference)

    @property
    def block(self):
        return self._block

    @property
    def ref_operation(self):
        return self._reference


class _OperationBase:
    """What operations and their views have in common."""

    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, _OperationBase) and self.operation is other.operation

    def __hash__(self):
        return id(self.operation)

    @property
    def context(self):
        return context_of()

    @property
    def name(self):
        return self.operation._name

    @property
    def attributes(self):
        return OpAttributeMap(self.operation._attributes)

    @property
    def operands(self):
        operands = OpOperandList(self.operation._operands)
        operands._operation = self.operation
        return operands

    @property
    def op_operands(self):
        operation = self.operation
        return OpOperands(OpOperand(operation, i) for i in range(len(operation._operands)))

    @property
    def regions(self):
        return RegionSequence(self.operation._regions)

    @property
    def results(self):
        return OpResultList(self.operation._results)

    @property
    def result(self):
        results = self.operation._results
        if len(results) != 1:
            raise ValueError(f"Cannot call .result on operation {self.operation._name} which has "
                             f"{len(results)} results (it is only valid for operations with a "
                             "single result)")
        return results[0]

    @property
    def successors(self):
        return OpSuccessors(self.operation._successors)

    @property
    def location(self):
        return self.operation._location

    @location.setter
    def location(self, location):
        self.operation._location = location

    @property
    def parent(self):
        block = self.operation._block
        parent = None if block is None else block._parent_operation()
        return None if parent is None else parent.opview

    @property
    def attached(self):
        return self.operation._block is not None

    def move_after(self, other):
        other = other.operation
        operations = other._block._operations
        index = operations.index(other) + 1
        self.operation._move_to(other._block,
                                operations[index] if index < len(operations) else None)

    def move_before(self, other):
        self.operation._move_to(other.operation._block, other.operation)

    def is_before_in_block(self, other):
        operations = self.operation._block._operations
        return operations.index(self.operation) < operations.index(other.operation)

    def clone(self, ip=None):
        copy = self.operation._clone({}, None)
        _insert(copy, ip)
        return copy

    def detach_from_parent(self):
        operation = self.operation
        if operation._block is None:
            raise ValueError("Detached operation has no parent.")
        operation._block._operations.remove(operation)
        operation._block = None
        return operation.opview

    def erase(self):
        operation = self.operation
        if operation._block is not None:
            operation._block._operations.remove(operation)
            operation._block = None

    def walk(self, callback, walk_order=WalkOrder.POST_ORDER, op_class=None):
        _walk(self.operation, callback, walk_order, op_class)

    def verify(self):
        from .verifier import verify
        return verify(self.operation)

    def has_trait(self, trait_cls):
        return trait_cls.__name__ == "IsTerminatorTrait" and self.operation._is_terminator()

    def get_asm(self, binary=False, **flags):
        from .printer import print_operation
        text = print_operation(self.operation, **flags)
        return text.encode("utf-8", "surrogateescape") if binary else text

    def print(self, large_elements_limit=None, large_resource_limit=None,
              enable_debug_info=False, pretty_debug_info=False, print_generic_op_form=False,
              use_local_scope=False, use_name_loc_as_prefix=False, assume_verified=False,
              file=None, binary=False, skip_regions=False, state=None):
        import sys
        text = self.get_asm(
            binary, large_elements_limit=large_elements_limit,
            enable_debug_info=enable_debug_info, pretty_debug_info=pretty_debug_info,
            print_generic_op_form=print_generic_op_form, use_local_scope=use_local_scope,
            skip_regions=skip_regions)
        (file or sys.stdout).write(text)

    def dump(self):
        import sys
        print(str(self), file=sys.stderr)

    def write_bytecode(self, file, desired_version=None):
        from .bytecode import write_operation
        file.write(write_operation(self.operation))

    def __str__(self):
        return self.get_asm()


class Operation(_OperationBase):
    """Operation with its operands, results, attributes and regions."""

    __slots__ = ("_name", "_attributes", "_operands", "_results", "_regions", "_location",
                 "_block", "_successors", "_view", "__weakref__")

    def __new__(cls, *unused, **unused_options):
        raise TypeError("Operation has no constructor; use Operation.create")

    @staticmethod
    def _new(name, attributes, operands, result_types, region_count, location, successors=()):
        """Makes an operation that is in no block. Nothing is checked or copied."""
        self = object.__new__(Operation)
        self._name = name
        self._attributes = attributes
        self._operands = operands
        self._location = location
        self._block = None
        self._view = None
        self._successors = list(successors) if successors else []
        self._regions = [Region(self) for _ in range(region_count)] if region_count else []
        of = OpResult._of
        if len(result_types) == 1:
            self._results = [of(result_types[0], self, 0)]
        else:
            self._results = [of(type_, self, index) for index, type_ in enumerate(result_types)]
        return self

    @staticmethod
    def create(name, results=None, operands=None, attributes=None, successors=None, regions=0,
               loc=None, ip=None, infer_type=False):
        location = location_or_current(loc)
        operands = list(operands or ())
        attributes = dict(attributes or {})
        for key, attribute in attributes.items():
            if attribute is None:
                raise RuntimeError(f'Found an invalid (`None`?) attribute value for the key '
                                   f'"{key}" when attempting to create the operation "{name}"')
        if infer_type:
            from .inference import infer
            results = infer(name, operands, attributes, find_row(name))
        operation = Operation._new(name, attributes, operands, tuple(results or ()), regions,
                                   location, successors or ())
        _insert(operation, ip)
        return operation

    @staticmethod
    def parse(source, *, source_name="", context=None):
        from .parser import parse_operation
        return parse_operation(source).opview

    @property
    def operation(self):
        return self

    @property
    def opview(self):
        view = self._view
        if view is None:
            view = self._view = find_class(self._name)._wrap(self)
        return view

    @property
    def block(self):
        return self._block

    def replace_uses_of_with(self, of, with_):
        self._operands = [with_ if operand is of else operand for operand in self._operands]

    def _is_terminator(self):
        row = find_row(self._name)
        return row is not None and row.terminator

    def _move_to(self, block, reference):
        """Puts the operation into `block`, before `reference` or at the end."""
        if self._block is not None:
            self._block._operations.remove(self)
        if reference is None:
            block._operations.append(self)
        else:
            operations = block._operations
            operations.insert(operations.index(reference), self)
        self._block = block

    def _nested(self):
        """Iterates over this operation and all inside it, parents first."""
        yield self
        for region in self._regions:
            for block in region._blocks:
                for operation in block._operations:
                    yield from operation._nested()

    def _clone(self, mapping, relocate):
        """Returns a deep copy.

        `mapping` gives new values for old ones and gets those of the copies. `relocate`, if not
        None, gives the location of each copy for that of its original.
        """
        get = mapping.get
        location = self._location
        copy = object.__new__(Operation)
        copy._name = self._name
        copy._attributes = self._attributes.copy()
        copy._operands = [get(value, value) for value in self._operands]
        copy._location = location if relocate is None else relocate(location)
        copy._block = copy._view = None
        copy._successors = [get(block, block) for block in self._successors]
        copy._results = results = []
        for old in self._results:
            new = object.__new__(OpResult)
            new.type, new._owner, new._index = old.type, copy, old._index
            mapping[old] = new
            results.append(new)
        copy._regions = []
        if self._regions:
            inner = None if self._name == "sdy.manual_computation" else relocate
            for region in self._regions:
                new = Region(copy)
                copy._regions.append(new)
                _clone_region(region, new, mapping, inner)
        return copy


def _clone_region(old, new, mapping, relocate):
    for block in old._blocks:
        copy = Block()
        copy._region = new
        for argument in block._arguments:
            mapping[argument] = copy.add_argument(argument.type, argument.location)
        new._blocks.append(copy)
        mapping[block] = copy
    for block, copy in zip(old._blocks, new._blocks):
        for operation in block._operations:
            cloned = operation._clone(mapping, relocate)
            cloned._block = copy
            copy._operations.append(cloned)


def _insert(operation, ip):
    """Inserts a new operation at `ip`; None is the current point if any, False is none."""
    if ip is False:
        return
    point = state.insertion_point if ip is None else ip
    if point is None:
        return
    reference = point._reference
    block = point._block
    operation._block = block
    if reference is None:
        block._operations.append(operation)
    else:
        operations = block._operations
        operations.insert(operations.index(reference), operation)


def _walk(operation, callback, order, op_class):
    """Walks nested operations; returns whether the walk goes on."""
    def call():
        if op_class is not None and not isinstance(operation.opview, op_class):
            return WalkResult.ADVANCE
        return callback(operation if op_class is None else operation.opview)

    if order is WalkOrder.PRE_ORDER:
        result = call()
        if result is WalkResult.INTERRUPT:
            return False
        if result is WalkResult.SKIP:
            return True
    for region in list(operation._regions):
        for block in list(region._blocks):
            for nested in list(block._operations):
                if not _walk(nested, callback, order, op_class):
                    return False
    return order is WalkOrder.PRE_ORDER or call() is not WalkResult.INTERRUPT


class Module:
    """Outermost operation, builtin.module, with its one block."""

    __slots__ = ("_operation", "context", "__weakref__")

    def __new__(cls, *unused, **unused_options):
        raise TypeError("Module has no constructor; use Module.create or Module.parse")

    @staticmethod
    def _of(operation, context=None):
        self = object.__new__(Module)
        self._operation = operation
        self.context = context_of(context)
        return self

    @staticmethod
    def create(loc=None):
        location = location_or_current(loc)
        operation = Operation._new("builtin.module", {}, [], (), 1, location)
        operation.regions[0].blocks.append()
        return Module._of(operation, location.context)

    @staticmethod
    def parse(asm, context=None):
        from .bytecode import is_bytecode, read_module
        from .parser import parse_module
        if isinstance(asm, (bytes, bytearray, memoryview)):
            asm = bytes(asm)
            if is_bytecode(asm):
                return Module._of(read_module(asm), context)
            asm = asm.decode("utf-8", "surrogateescape")
        return Module._of(parse_module(asm), context)

    @staticmethod
    def parseFile(path, context=None):
        with open(path, "rb") as file:
            return Module.parse(file.read())

    @property
    def operation(self):
        return self._operation

    @property
    def body(self):
        return self._operation._regions[0]._blocks[0]

    def __eq__(self, other):
        return isinstance(other, Module) and self._operation is other._operation

    def __hash__(self):
        return id(self._operation)

    def dump(self):
        self._operation.dump()

    def __str__(self):
        return str(self._operation)

    def _text(self):
        """Returns the program for the core: MLIR text without locations."""
        from .printer import print_operation
        return print_operation(self._operation, assume_verified=True)
