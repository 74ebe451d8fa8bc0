"""Rows of operations by name, and the classes of their views.

A dialect registers its table as text; a row is parsed when it is first asked for.
"""

import importlib

_DIALECTS = frozenset(("arith", "builtin", "cf", "chlo", "func", "math", "memref", "mhlo", "mpmd",
                       "scf", "sdy", "stablehlo", "vector"))

_texts = {}  # operation name -> line of a table
_rows = {}
_classes = {}
_default_class = None


class Row:
    """Facts about an operation.

    name: full name. class_name, function: names in Python. parameters: Parameters in their order.
    operands, attributes, results, regions: those Parameters by kind. infer: name of the rule of
    result types, or None. format: assembly format, or None for the generic form. terminator:
    whether it ends a block.
    """

    __slots__ = ("name", "class_name", "function", "parameters", "operands", "attributes",
                 "results", "regions", "infer", "format", "terminator", "defaults",
                 "segments", "program", "commutative")


class Parameter:
    """Operand ("operand"), attribute ("attribute"), result ("result") or region ("region").

    name: as in Python. key: name without the underscore that Python needs. variadic, optional:
    whether there may be any number, or none. kind: of an attribute, its builder. default: text of
    an attribute's default.
    """

    __slots__ = ("role", "name", "key", "variadic", "optional", "kind", "default")


def rows_of(table):
    """Returns the rows of a table; an indented line goes on with the row before it."""
    return table.strip().replace("\n    ", " ").split("\n")


def register(line):
    """Registers a line of a table; returns (operation name, class name, function name)."""
    head = line.split("|", 1)[0].split()
    name = head[0]
    _texts[name] = line
    base = name.split(".", 1)[1]
    class_name = head[1] if len(head) > 1 else _camel(base) + "Op"
    function = head[2] if len(head) > 2 else _python_name(base)
    return name, class_name, function


_KEYWORDS = frozenset("and or not if while return yield assert global".split())


def _python_name(base):
    base = base.replace("-", "_").replace(".", "_")
    return base + "_" if base in _KEYWORDS else base


def _camel(base):
    return "".join(word[:1].upper() + word[1:] for word in base.replace("-", "_").split("_"))


def find_row(name):
    """Returns the row of an operation, or None if it is of no table."""
    row = _rows.get(name)
    if row is None:
        if name not in _texts and not _load(name):
            return None
        row = _rows[name] = _parse(_texts[name])
    return row


def _load(name):
    """Imports the dialect of an operation; returns whether the operation is known then."""
    namespace = name.partition(".")[0]
    if namespace in _DIALECTS:
        importlib.import_module(f"...dialects.{namespace}", __package__ + ".registry")
    return name in _texts


def find_class(name):
    """Returns the class of views of the operation."""
    find_row(name)
    return _classes.get(name, _default_class)


def set_class(name, cls):
    _classes[name] = cls


def set_default_class(cls):
    global _default_class
    _default_class = cls


def _parse(line):
    """Parses `name Class function | parameters | results or ~rule | format | flags`."""
    columns = [column.strip() for column in line.split("|")]
    columns += [""] * (5 - len(columns))
    row = Row()
    row.name, row.class_name, row.function = register(line)
    row.parameters = [_parameter(word) for word in columns[1].split()]
    results = columns[2].split()
    row.infer = None
    if results and results[0].startswith("~"):
        row.infer = results.pop(0)[1:]
    row.results = [_result(word) for word in results]
    row.format = columns[3] or None
    flags = columns[4].split()
    row.terminator = "terminator" in flags
    row.commutative = "commutative" in flags
    row.operands = [p for p in row.parameters if p.role == "operand"]
    row.attributes = [p for p in row.parameters if p.role == "attribute"]
    row.regions = [p for p in row.parameters if p.role == "region"]
    row.defaults = {p.key: p.default for p in row.attributes if p.default is not None}
    row.segments = "segments" in flags
    row.program = None
    return row


def _result(word):
    parameter = _parameter(word)
    parameter.role = "result"
    return parameter


def _parameter(word):
    """Parses a word: `name`, `*name` or `?name` of operands, `.name:Kind?=default`, `@name`."""
    parameter = Parameter()
    parameter.kind = parameter.default = None
    parameter.variadic = parameter.optional = False
    parameter.role = "operand"
    if word.startswith("."):
        parameter.role = "attribute"
        word = word[1:]
        if "=" in word:
            word, parameter.default = word.split("=", 1)
        if word.endswith("?"):
            parameter.optional = True
            word = word[:-1]
        if ":" in word:
            word, parameter.kind = word.split(":", 1)
    elif word.startswith("@"):
        parameter.role = "region"
        word = word[1:]
    if word.startswith("*"):
        parameter.variadic = True
        word = word[1:]
    elif word.startswith("?"):
        parameter.optional = True
        word = word[1:]
    parameter.name = word
    parameter.key = word[:-1] if word.endswith("_") else word
    return parameter
