"""Parsing of operations: the generic form, and that of every format."""

import re

from . import attributes as attrs
from . import forms
from .context import MLIRError
from .elements import DenseElementsAttr
from .location import UNKNOWN
from .numbers import type_named
from .operations import Block, Operation
from .registry import find_row
from .structs import KNOWN
from .syntax import _ALIAS, Syntax
from .types import FunctionType, RankedTensorType, i64

# Classes of attributes that formats write without their names, by the names of the attributes.
_BARE = {"comparison_direction": "comparison_direction", "compare_type": "comparison_type",
         "fft_type": "fft_type", "rng_distribution": "rng_distribution",
         "rng_algorithm": "rng_algorithm", "sharding": "sharding", "mesh": "mesh",
         "out_sharding": "sharding", "allowed_direction": "propagation_direction"}
_TOKEN = re.compile(r"[A-Za-z_]+|->|\S")
_CONTAINERS = {"func.func": "func", "builtin.module": "builtin"}


class Parser(Syntax):
    """Reader of operations. `scopes` are dictionaries of values by name, innermost last."""

    def __init__(self, text, source="-", what="module assembly"):
        super().__init__(text, source, what)
        self.scopes = [{}]
        self.dialects = ["builtin"]

    # ---- values ----

    def value(self):
        self.skip()
        start = self.at
        name = self.value_name()
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name.endswith("#0"):
            return self._find(name[:-2], start)
        raise self.error(f"use of undeclared SSA value name '{name}'", start)

    def _find(self, name, start):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise self.error(f"use of undeclared SSA value name '{name}'", start)

    def values(self):
        """Returns the values of a list without brackets, which may be empty."""
        values = []
        if not self.peek("%"):
            return values
        values.append(self.value())
        while True:
            at = self.at
            if not (self.accept(",") and self.peek("%")):
                self.at = at
                return values
            values.append(self.value())

    def value_list(self):
        return self.list("(", ")", self.value)

    # ---- operations ----

    def operation(self):
        """Reads an operation with its location, and declares its results."""
        self.skip()
        start = self.at
        names = []
        if self.peek("%"):
            names.append(self._result_name())
            while self.accept(","):
                names.append(self._result_name())
            self.expect("=")
        operation = self.generic() if self.peek('"') else self.custom()
        operation._location = self.optional_location()
        results = iter(operation._results)
        scope = self.scopes[-1]
        if names and sum(count for _, count in names) != len(operation._results):
            raise self.error(f"operation defines {len(operation._results)} results but was "
                             f"provided {sum(count for _, count in names)} to bind", start)
        for name, count in names:
            for index in range(count):
                result = next(results)
                scope[f"{name}#{index}"] = result
                if count == 1:
                    scope[name] = result
        return operation

    def _result_name(self):
        name = self.value_name()
        return name, self.integer() if self.accept(":") else 1

    def generic(self, name=None):
        if name is None:
            name = self.string()
        operands = self.value_list()
        successors = self.list("[", "]", self.block_name) if self.peek("[") else []
        attributes = {}
        if self.accept("<"):
            attributes.update(self.dictionary())
            self.expect(">")
        operation = Operation._new(name, attributes, operands, (), 0, UNKNOWN)
        if self.peek("("):
            self.dialects.append("")
            self.list("(", ")", lambda: self.region(operation))
            self.dialects.pop()
        if self.peek("{"):
            attributes.update(self.dictionary())
        self.expect(":")
        self.finish(operation, self.function_type()._params[1])
        operation._successors = successors
        return operation

    def finish(self, operation, types):
        """Gives an operation its results."""
        from .operations import OpResult
        operation._results = [OpResult._of(type_, operation, index)
                              for index, type_ in enumerate(types)]
        return operation

    def custom(self):
        self.skip()
        start = self.at
        name = self.word() if self.peek_word() else ""
        if not name:
            raise self.error("expected operation name in quotes", start)
        tried = [name] if "." in name else []
        tried += [f"{dialect}.{name}" for dialect in (self.dialects[-1], "builtin") if dialect]
        for candidate in tried:
            row = find_row(candidate)
            if row is not None and row.format is not None:
                break
        else:
            raise self.error(f"custom op '{name}' is unknown (tried 'builtin.{name}' as well)",
                             start)
        form = self.program(row)
        if isinstance(form, forms.Form):
            return getattr(self, f"parse_{form.parse}")(row.name)
        return _Reader(self, form).read()

    def program(self, row):
        if row.program is None:
            from .formats import compile_format
            row.program = compile_format(row)
        return row.program

    # ---- regions ----

    def region(self, owner, arguments=None):
        """Reads a region into an operation; `arguments` are (name, type) of its entry block."""
        from .operations import Region
        region = Region(owner)
        owner._regions.append(region)
        self.scopes.append({})
        self.dialects.append(_CONTAINERS.get(owner._name, ""))
        saved, self.blocks = getattr(self, "blocks", None), {}
        self.expect("{")
        block = None
        if arguments is not None:
            block = self._new_block(region)
            for name, type_, location in arguments:
                self.scopes[-1][name] = block.add_argument(type_, location)
        while not self.accept("}"):
            if self.peek("^"):
                block = self._labelled_block(region)
                continue
            if self._skip_definition():
                continue
            if block is None:
                block = self._new_block(region)
            operation = self.operation()
            operation._block = block
            block._operations.append(operation)
        if block is None and owner._name != "func.func":
            self._new_block(region)
        self.blocks = saved
        self.scopes.pop()
        self.dialects.pop()
        return region

    def _skip_definition(self):
        """Skips the definition of an alias, if that is next."""
        self.skip()
        match = _ALIAS.match(self.text, self.at)
        if not match:
            return False
        name, self.at = match.group(1), match.end()
        if name[0] == "!":
            self.type()
        elif self.peek_word() == "loc":
            self.optional_location()
        else:
            self.attribute()
        return True

    def _new_block(self, region):
        block = Block()
        block._region = region
        region._blocks.append(block)
        return block

    def block_name(self):
        """Returns the block of a label, perhaps before its definition."""
        self.expect("^")
        return self.blocks.setdefault(self.suffix(), Block())

    def _labelled_block(self, region):
        block = self.block_name()
        block._region = region
        region._blocks.append(block)
        if self.peek("("):
            for name, type_, location in self.list("(", ")", self.argument):
                self.scopes[-1][name] = block.add_argument(type_, location)
        self.expect(":")
        return block

    def argument(self):
        name = self.value_name()
        self.expect(":")
        type_ = self.type()
        return name, type_, self.optional_location()

    # ---- forms of whole operations ----

    def parse_module(self, name):
        attributes = {}
        if self.peek_word() in ("public", "private", "nested"):
            attributes["sym_visibility"] = attrs.StringAttr.get(self.word())
        if self.peek("@"):
            attributes["sym_name"] = attrs.StringAttr.get(self.symbol_name())
        if self.accept_word("attributes"):
            attributes.update(self.dictionary())
        operation = Operation._new(name, attributes, [], (), 0, UNKNOWN)
        self.region(operation)
        return operation

    def parse_function(self, name):
        attributes = {}
        if self.peek_word() in ("public", "private", "nested"):
            attributes["sym_visibility"] = attrs.StringAttr.get(self.word())
        attributes["sym_name"] = attrs.StringAttr.get(self.symbol_name())
        arguments = self.list("(", ")", self._function_argument)
        results = []
        if self.accept("->"):
            if self.peek("("):
                results = self.list("(", ")", self._type_and_attributes)
            else:
                results = [(self.type(), {})]
        if any(entries for *_, entries in arguments):
            attributes["arg_attrs"] = attrs.ArrayAttr.get(
                [attrs.DictAttr.get(e) for *_, e in arguments])
        if any(entries for _, entries in results):
            attributes["res_attrs"] = attrs.ArrayAttr.get(
                [attrs.DictAttr.get(e) for _, e in results])
        type_ = FunctionType.get([entry[1] for entry in arguments], [r[0] for r in results])
        attributes["function_type"] = attrs.TypeAttr.get(type_)
        if self.accept_word("attributes"):
            attributes.update(self.dictionary())
        operation = Operation._new(name, attributes, [], (), 0, UNKNOWN)
        if self.peek("{"):
            self.region(operation, [entry[:3] for entry in arguments])
        else:
            from .operations import Region
            operation._regions.append(Region(operation))
        return operation

    def _function_argument(self):
        name = None
        if self.peek("%"):
            name = self.value_name()
            self.expect(":")
        type_, entries = self._type_and_attributes()
        return name, type_, self.optional_location(), entries

    def _type_and_attributes(self):
        type_ = self.type()
        return type_, self.dictionary() if self.peek("{") else {}

    def parse_return(self, name):
        attributes = self.dictionary() if self.peek("{") else {}
        operands = self.values()
        if operands:
            self.expect(":")
            self.type_list()
        return Operation._new(name, attributes, operands, (), 0, UNKNOWN)

    def parse_barrier(self, name):
        attributes = self.dictionary() if self.peek("{") else {}
        operands = self.values()
        types = []
        if operands:
            self.expect(":")
            types = self.type_list()
        else:
            self.expect("(")
            self.expect(")")
        return Operation._new(name, attributes, operands, types, 0, UNKNOWN)

    def parse_constant(self, name):
        if self.peek("("):
            return self.generic(name)
        attributes = self.dictionary() if self.peek("{") else {}
        value = self.attribute()
        attributes["value"] = value
        return Operation._new(name, attributes, [], [value.type], 0, UNKNOWN)

    def parse_while(self, name):
        pairs = self.list("(", ")", self._initialized)
        types = []
        if pairs:
            self.expect(":")
            types = self.type_list()
        attributes = self.dictionary() if self.accept_word("attributes") else {}
        operation = Operation._new(name, attributes, [value for _, value in pairs], types, 0,
                                   UNKNOWN)
        arguments = [(label, type_, UNKNOWN) for (label, _), type_ in zip(pairs, types)]
        self.expect("cond")
        self.region(operation, arguments)
        self.expect("do")
        self.region(operation, arguments)
        return operation

    def _initialized(self):
        name = self.value_name()
        self.expect("=")
        return name, self.value()

    def parse_reduce(self, name):
        pairs = [self._reduced()]
        while self.accept(","):
            pairs.append(self._reduced())
        inner = self.word() if self.accept_word("applies") else None
        for word in ("across", "dimensions", "="):
            self.expect(word)
        attributes = {"dimensions": attrs.DenseI64ArrayAttr.get(self.integers())}
        if self.peek("{"):
            attributes.update(self.dictionary())
        self.expect(":")
        types = self.function_type()._params[1]
        operands = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        operation = Operation._new(name, attributes, operands, types, 0, UNKNOWN)
        if inner is not None:
            _add_reducer(operation, inner)
            return operation
        location = self.optional_location()
        self.expect("reducer")
        firsts, seconds = [], []
        while self.peek("("):
            first, second = self.list("(", ")", self.argument)
            firsts.append(first)
            seconds.append(second)
        self.region(operation, firsts + seconds)
        operation._location = location
        return operation

    def _reduced(self):
        self.expect("(")
        array = self.value()
        self.expect("init")
        self.expect(":")
        initial = self.value()
        self.expect(")")
        return array, initial

    def per_value(self):
        sharding = KNOWN["sdy", "sharding"]
        shardings = self.list("[", "]", lambda: sharding._parse(self))
        return KNOWN["sdy", "sharding_per_value"].get(shardings)

    def parse_manual(self, name):
        operands = self.value_list()
        attributes = {}
        for key in ("in_shardings", "out_shardings"):
            self.expect(key)
            self.expect("=")
            attributes[key] = self.per_value()
        self.expect("manual_axes")
        self.expect("=")
        attributes["manual_axes"] = KNOWN["sdy", "manual_axes"]._parse(self)
        return self._with_inline_region(name, attributes, operands)

    def parse_named(self, name):
        self.expect("<")
        attributes = {"name": attrs.StringAttr.get(self.string())}
        self.expect(">")
        operands = self.value_list()
        for key in ("in_shardings", "out_shardings"):
            if self.accept_word(key):
                self.expect("=")
                attributes[key] = self.per_value()
        return self._with_inline_region(name, attributes, operands)

    def _with_inline_region(self, name, attributes, operands):
        operation = Operation._new(name, attributes, operands, (), 0, UNKNOWN)
        self.region(operation, self.list("(", ")", self.argument))
        if self.peek("{"):
            attributes.update(self.dictionary())
        self.expect(":")
        return self.finish(operation, self.function_type()._params[1])


def _add_reducer(operation, name):
    """Gives a reduction the body that applies one operation."""
    from .operations import Region
    region = Region(operation)
    operation._regions.append(region)
    scalar = RankedTensorType.get((), operation._operands[0].type.element_type)
    block = Block((scalar, scalar), (UNKNOWN, UNKNOWN))
    block._region = region
    region._blocks.append(block)
    inner = Operation._new(name, {}, list(block._arguments), [scalar], 0, UNKNOWN)
    dialect = name.partition(".")[0]
    returned = Operation._new(f"{dialect}.return", {}, list(inner._results), (), 0, UNKNOWN)
    for nested in (inner, returned):
        nested._block = block
        block._operations.append(nested)


class _Reader:
    """Reader of one operation by its format."""

    def __init__(self, parser, form):
        self.parser = parser
        self.form = form
        self.row = form.row
        self.operands = {}
        self.attributes = {}
        self.types = None

    def read(self):
        self._steps(self.form.steps)
        operands = []
        for index in sorted(self.operands):
            operands.extend(self.operands[index])
        types = self.types
        if types is None and self.row.infer is None:
            types = []
        elif types is None:
            from .inference import infer
            types = infer(self.row.name, operands, self.attributes, self.row)
        for key, text in self.form.defaults.items():
            if key not in self.attributes:
                self.attributes[key] = Syntax(text).attribute()
        return Operation._new(self.row.name, self.attributes, operands, types, 0, UNKNOWN)

    def _steps(self, steps):
        for kind, argument in steps:
            getattr(self, f"_{kind}")(argument)

    def _text(self, text):
        for token in _TOKEN.findall(text):
            self.parser.expect(token)

    def _operand(self, index):
        variadic = self.row.operands[index].variadic
        self.operands[index] = self.parser.values() if variadic else [self.parser.value()]

    def _operands(self, _):
        self.operands[0] = self.parser.values()

    def _attribute(self, parameter):
        dialect = self.row.name.partition(".")[0]
        known = _BARE.get(parameter.key)
        cls = KNOWN.get((dialect, known)) if known else None
        self.attributes[parameter.key] = self.parser.bare(parameter.kind, cls)

    def _dictionary(self, _):
        if self.parser.peek("{"):
            self.attributes.update(self.parser.dictionary())

    def _optional(self, steps):
        tokens = _TOKEN.findall(steps[0][1])
        at = self.parser.at
        if self.parser.accept(tokens[0]):
            self.parser.at = at
            self._steps(steps)

    def _types(self, rule):
        parser = self.parser
        if rule == "fn":
            self.types = parser.function_type()._params[1]
        elif rule in ("same", "complex"):
            type_ = parser.type()
            self.types = type_._params[1] if isinstance(type_, FunctionType) else [type_]
        elif rule == "select":
            types = parser.type_list()
            self.types = (types[0]._params[1] if isinstance(types[0], FunctionType)
                          else [types[1]])
        elif rule == "results":
            self.types = parser.type_list()
        elif rule == "operands":
            parser.type_list()
        else:
            parser.type()

    def _piece(self, piece):
        getattr(self, f"_read_{piece.parse}")()

    def _read_slice(self):
        rows = self.parser.list("[", "]", self._range)
        for position, name in enumerate(("start_indices", "limit_indices", "strides")):
            self.attributes[name] = attrs.DenseI64ArrayAttr.get([row[position] for row in rows])

    def _range(self):
        parser = self.parser
        start = parser.integer()
        parser.expect(":")
        limit = parser.integer()
        return start, limit, parser.integer() if parser.accept(":") else 1

    def _read_precision(self):
        parser = self.parser
        dialect = self.row.name.partition(".")[0]
        while parser.accept(","):
            name = parser.word()
            parser.expect("=")
            if name == "precision":
                cls = KNOWN[dialect, "precision"]
                self.attributes["precision_config"] = attrs.ArrayAttr.get(
                    parser.list("[", "]", lambda: cls._parse(parser)))
            else:
                self.attributes["algorithm"] = KNOWN[dialect, "dot_algorithm"]._parse(parser)

    def _read_dot(self):
        parser = self.parser
        pairs = {"batching_dims": ((), ()), "contracting_dims": ((), ())}
        while True:
            name = parser.word()
            parser.expect("=")
            left = parser.integers()
            parser.expect("x")
            pairs[name] = (left, parser.integers())
            if name == "contracting_dims":
                break
            parser.expect(",")
        cls = KNOWN[self.row.name.partition(".")[0], "dot"]
        self.attributes["dot_dimension_numbers"] = cls._of(
            (*pairs["batching_dims"], *pairs["contracting_dims"]))

    def _read_conv(self):
        cls = KNOWN["stablehlo", "conv"]
        self.attributes["dimension_numbers"] = cls._parse_stripped(self.parser)

    def _read_window(self):
        names = {short: name for name, short in forms._WINDOW}

        def entry():
            short = self.parser.word()
            self.parser.expect("=")
            name = names[short]
            if name == "padding":
                rows = self.parser.list("[", "]", self.parser.integers)
                import numpy as np
                self.attributes[name] = DenseElementsAttr.get(
                    np.array(rows, np.int64).reshape(-1, 2), type=i64())
            else:
                kind = "DenseBoolArrayAttr" if short == "reverse" else "DenseI64ArrayAttr"
                self.attributes[name] = self.parser.bare(kind, None)

        self.parser.list("{", "}", entry)

    def _read_target(self):
        self.attributes["call_target_name"] = attrs.StringAttr.get(self.parser.symbol_name())

    def _read_exponent(self):
        word = self.parser.word()
        match = re.fullmatch(r"e(\d+)m(\d+)", word)
        if not match:
            raise self.parser.error(f"expected e#m#, found '{word}'")
        for name, digits in zip(("exponent_bits", "mantissa_bits"), match.groups()):
            self.attributes[name] = attrs.IntegerAttr.get(type_named("i32"), int(digits))


# What wrong text may raise beside MLIRError: values that do not exist, too many levels.
_WRONG = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError,
          RecursionError)


def _whole(parser, read):
    """Returns what `read` reads of the whole text; every failure is an MLIRError."""
    try:
        value = read()
    except _WRONG as error:
        text = "too many levels" if isinstance(error, RecursionError) else str(error)
        raise parser.error(text) from None
    parser.skip()
    if parser.at != len(parser.text):
        raise parser.error("found trailing characters")
    return value


def parse_type(text):
    parser = Syntax(text, text, "type")
    return _whole(parser, parser.type)


def parse_attribute(text):
    parser = Syntax(text, text, "attribute")
    return _whole(parser, parser.attribute)


def _operations(parser):
    """Reads all operations of a text."""
    operations = []
    while True:
        parser.skip()
        if parser.peek("{-#"):
            parser.at = len(parser.text)
        if parser.at == len(parser.text):
            return operations
        if not parser._skip_definition():
            operations.append(parser.operation())


def parse_operation(text):
    """Returns the one operation of a text."""
    parser = Parser(text, what="operation assembly")
    operations = _whole(parser, lambda: _operations(parser))
    if len(operations) != 1:
        raise parser.error(f"expected one operation, found {len(operations)}", 0)
    return operations[0]


def parse_module(text):
    """Returns the module of a text; operations without one around them get it."""
    parser = Parser(text)
    operations = _whole(parser, lambda: _operations(parser))
    if len(operations) == 1 and operations[0]._name == "builtin.module":
        return operations[0]
    from .operations import Module
    module = Module.create(UNKNOWN).operation
    block = module._regions[0]._blocks[0]
    for operation in operations:
        operation._block = block
        block._operations.append(operation)
    return module


__all__ = ["parse_type", "parse_attribute", "parse_operation", "parse_module", "MLIRError"]
