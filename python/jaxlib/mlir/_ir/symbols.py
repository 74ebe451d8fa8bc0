"""Tables of symbols: operations with a name inside another."""

from .attributes import ArrayAttr, DictAttr, FlatSymbolRefAttr, StringAttr, SymbolRefAttr, TypeAttr
from .operations import _OperationBase


def _name_of(operation):
    attribute = operation._attributes.get("sym_name")
    return attribute.value if isinstance(attribute, StringAttr) else None


class SymbolTable:
    """Symbols of an operation; names of inserted symbols are made unique."""

    def __init__(self, operation):
        operation = operation.operation
        if not operation._regions or not operation._regions[0]._blocks:
            raise TypeError("Operation is not a Symbol Table.")
        self._operation = operation
        self._counter = 0
        self._symbols = {}
        for nested in operation._regions[0]._blocks[0]._operations:
            name = _name_of(nested)
            if name is not None:
                self._symbols[name] = nested

    def __getitem__(self, name):
        operation = self._symbols.get(name)
        if operation is None:
            raise KeyError(f"Symbol '{name}' not in the symbol table.")
        return operation.opview

    def __contains__(self, name):
        return name in self._symbols

    def insert(self, operation):
        operation = operation.operation
        name = _name_of(operation)
        if name is None:
            raise ValueError("Expected operation to have a symbol name.")
        if operation._block is None:
            operation._move_to(self._operation._regions[0]._blocks[0], None)
        known = self._symbols.get(name)
        if known is operation:
            return operation._attributes["sym_name"]
        unique = name
        while unique in self._symbols:
            unique = f"{name}_{self._counter}"
            self._counter += 1
        self._symbols[unique] = operation
        attribute = StringAttr.get(unique)
        operation._attributes["sym_name"] = attribute
        return attribute

    def erase(self, operation):
        operation = operation.operation
        self._symbols.pop(_name_of(operation), None)
        operation.erase()

    def __delitem__(self, name):
        self.erase(self[name])

    @staticmethod
    def set_symbol_name(symbol, name):
        if _name_of(symbol.operation) is None:
            raise ValueError("Expected operation to have a symbol name.")
        symbol.operation._attributes["sym_name"] = StringAttr.get(name)

    @staticmethod
    def get_symbol_name(symbol):
        if _name_of(symbol.operation) is None:
            raise ValueError("Expected operation to have a symbol name.")
        return symbol.operation._attributes["sym_name"]

    @staticmethod
    def get_visibility(symbol):
        attribute = symbol.operation._attributes.get("sym_visibility")
        return attribute or StringAttr.get("public")

    @staticmethod
    def set_visibility(symbol, visibility):
        if visibility not in ("public", "private", "nested"):
            raise ValueError("Expected visibility to be 'public', 'private' or 'nested'")
        symbol.operation._attributes["sym_visibility"] = StringAttr.get(visibility)

    @staticmethod
    def replace_all_symbol_uses(old_symbol, new_symbol, from_op):
        old, new = _text(old_symbol), _text(new_symbol)
        for operation in from_op.operation._nested():
            attributes = operation._attributes
            for key, attribute in attributes.items():
                attributes[key] = replace_symbol(attribute, old, new)

    @staticmethod
    def walk_symbol_tables(from_op, all_sym_uses_visible, callback):
        for operation in list(from_op.operation._nested()):
            if operation._name == "builtin.module":
                callback(operation, all_sym_uses_visible)


def _text(symbol):
    if isinstance(symbol, _OperationBase):
        return _name_of(symbol.operation)
    return symbol if isinstance(symbol, str) else symbol.value


def replace_symbol(attribute, old, new):
    """Returns `attribute` with references to the symbol `old` made ones to `new`."""
    if isinstance(attribute, SymbolRefAttr):
        if attribute._key[0] != old:
            return attribute
        names = (new,) + attribute._key[1:]
        return FlatSymbolRefAttr.get(new) if len(names) == 1 else SymbolRefAttr._of(names)
    if isinstance(attribute, ArrayAttr):
        items = tuple(replace_symbol(item, old, new) for item in attribute._key)
        return attribute if items == attribute._key else ArrayAttr._of(items)
    if isinstance(attribute, DictAttr):
        items = tuple((key, replace_symbol(item, old, new)) for key, item in attribute._key)
        return attribute if items == attribute._key else DictAttr._of(items)
    rename = getattr(attribute, "_replace_symbol", None)
    return attribute if rename is None else rename(old, new)


def symbols_in(attribute, found):
    """Adds the symbols that an attribute refers to to the set `found`."""
    if isinstance(attribute, SymbolRefAttr):
        found.add(attribute._key[0])
    elif isinstance(attribute, (ArrayAttr, DictAttr)):
        for item in attribute._key:
            symbols_in(item[1] if isinstance(attribute, DictAttr) else item, found)
    elif not isinstance(attribute, (StringAttr, TypeAttr)):
        for symbol in getattr(attribute, "_symbols", tuple)():
            found.add(symbol)
