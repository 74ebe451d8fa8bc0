"""Printing of operations, in the assembly of their dialects or in the generic form."""

from .aliases import Aliases
from .attributes import UnitAttr, entries_text, name_text
from .elements import DenseElementsAttr
from .naming import Names
from .registry import find_row
from .types import result_text


class Printer:
    """Text of one operation and all inside it.

    `parts` collects it. `names` are those of values. `generic`: whether every operation is in the
    generic form. `debug`: whether locations are written. `limit`: how many elements of a dense
    attribute are written at most.
    """

    def __init__(self, root, generic=False, debug=False, limit=None, pretty_debug=False,
                 skip_regions=False):
        self.parts = []
        self.indent = 0
        self.generic = generic
        self.debug = debug
        self.pretty_debug = pretty_debug
        self.limit = limit
        self.skip_regions = skip_regions
        outermost = root
        while outermost._block is not None:
            parent = outermost._block._parent_operation()
            if parent is None:
                break
            outermost = parent
        names = Names(outermost, generic)
        self.values = names.values
        self.groups = names.groups
        self.blocks = names.blocks
        self.default_dialects = [""]
        self.aliases = {}

    # ---- pieces ----

    def write(self, text):
        self.parts.append(text)

    def value(self, value):
        return self.values.get(value, "<<UNKNOWN SSA VALUE>>")

    def values_text(self, values):
        get = self.values.get
        return ", ".join([get(value, "<<UNKNOWN SSA VALUE>>") for value in values])

    def attribute(self, attribute):
        if self.limit is not None and isinstance(attribute, DenseElementsAttr):
            return attribute._limited(self.limit)
        return str(attribute)

    def entries(self, items):
        if self.limit is None:
            return entries_text(items)
        return ", ".join(name_text(name) if isinstance(value, UnitAttr) else
                         f"{name_text(name)} = {self.attribute(value)}" for name, value in items)

    def dictionary(self, attributes, elided, keyword=""):
        """Writes ` {…}` of the attributes whose names are not in `elided`, if there are any."""
        if not attributes:
            return
        items = [item for item in attributes.items() if item[0] not in elided]
        if items:
            items.sort()
            self.write(f"{keyword} {{{self.entries(items)}}}")

    def function_type(self, operation):
        inputs = ", ".join([operand.type._text for operand in operation._operands])
        results = result_text([result.type for result in operation._results])
        return f"({inputs}) -> {results}"

    # ---- locations ----

    def location(self, location):
        """Writes the location of an operation, by its alias."""
        if self.pretty_debug:
            self.write(f" {location._inner()}")
        else:
            self.write(f" loc({self.aliases[location]})")

    def argument_location(self, location):
        """Returns the location of an argument, in which those that it names have aliases."""
        if not self.debug:
            return ""
        if self.pretty_debug:
            return f" {location._inner()}"
        return f" loc({location._body(self.aliases.__getitem__)})"

    # ---- operations ----

    def operation(self, operation):
        results = operation._results
        if results:
            if len(results) == 1:
                self.write(f"{self.values[results[0]]} = ")
            else:
                name = self.groups.get(operation)
                if name is None:
                    self.write(f"{self.values_text(results)} = ")
                else:
                    self.write(f"{name}:{len(results)} = ")
        self.body(operation)
        if self.debug:
            self.location(operation._location)

    def body(self, operation):
        if not self.generic:
            row = find_row(operation._name)
            if row is not None and row.format is not None:
                program = row.program
                if program is None:
                    from .formats import compile_format
                    program = row.program = compile_format(row)
                if program.prints(operation):
                    program.print(self, operation)
                    return
        self.generic_form(operation)

    def operation_name(self, name):
        """Writes the name, without the dialect where that is implied."""
        dialect, _, base = name.partition(".")
        if (dialect == self.default_dialects[-1] or dialect == "builtin") and "." not in base:
            name = base
        self.write(name)

    def generic_form(self, operation, with_name=True):
        if with_name:
            self.write(f'"{operation._name}"')
        self.write(f"({self.values_text(operation._operands)})")
        if operation._successors:
            self.write(f"[{', '.join(self.blocks[block] for block in operation._successors)}]")
        row = find_row(operation._name)
        inherent = ()
        attributes = operation._attributes
        if row is not None and attributes:
            inherent = inherent_names(row)
            items = sorted(item for item in attributes.items() if item[0] in inherent)
            if items:
                self.write(f" <{{{self.entries(items)}}}>")
        if operation._regions and not self.skip_regions:
            self.default_dialects.append("")
            self.write(" (")
            for index, region in enumerate(operation._regions):
                if index:
                    self.write(", ")
                self.region(region)
            self.write(")")
            self.default_dialects.pop()
        self.dictionary(attributes, inherent)
        self.write(f" : {self.function_type(operation)}")

    # ---- regions ----

    def region(self, region, arguments=True, dialect=None):
        """Writes `{ … }`; `arguments`: whether those of the entry block are written."""
        if dialect is not None:
            self.default_dialects.append(dialect)
        self.write("{\n")
        for number, block in enumerate(region._blocks):
            if number or (arguments and block._arguments):
                self.block_header(block)
            self.block_body(block)
        self.write(f"{' ' * self.indent}}}")
        if dialect is not None:
            self.default_dialects.pop()

    def block_header(self, block):
        self.write(" " * self.indent + self.blocks[block])
        if block._arguments:
            self.write(f"({self.arguments_text(block)})")
        self.write(":\n")

    def arguments_text(self, block):
        return ", ".join(f"{self.value(a)}: {a.type}{self.argument_location(a.location)}"
                         for a in block._arguments)

    def block_body(self, block):
        self.indent += 2
        space = " " * self.indent
        for operation in block._operations:
            self.write(space)
            self.operation(operation)
            self.write("\n")
        self.indent -= 2

    def text(self):
        return "".join(self.parts)


_inherent = {}


def inherent_names(row):
    """Returns the names of the attributes that are properties of the operation."""
    names = _inherent.get(row.name)
    if names is None:
        names = {p.key for p in row.attributes}
        if row.segments:
            names |= {"operandSegmentSizes", "resultSegmentSizes"}
        names = _inherent[row.name] = frozenset(names)
    return names


def print_operation(operation, large_elements_limit=None, enable_debug_info=False,
                    pretty_debug_info=False, print_generic_op_form=False, skip_regions=False,
                    **unused_flags):
    """Returns the text of an operation; that of a module ends with a newline."""
    printer = Printer(operation, print_generic_op_form, enable_debug_info, large_elements_limit,
                      pretty_debug_info, skip_regions)
    aliases = None
    if enable_debug_info and not pretty_debug_info:
        aliases = Aliases(operation, print_generic_op_form)
        printer.aliases = aliases.names
    printer.operation(operation)
    text = printer.text()
    if aliases is not None:
        return f"{aliases.definitions(True)}{text}\n{aliases.definitions(False)}"
    return text + "\n" if operation._name == "builtin.module" else text


def block_text(block):
    """Returns the text of a block with its header."""
    printer = Printer(block._parent_operation())
    printer.block_header(block)
    printer.block_body(block)
    return printer.text()


def name_of_value(value):
    """Returns the name of a value in the text of the whole program."""
    root = value._scope()
    return Names(root).values[value]
