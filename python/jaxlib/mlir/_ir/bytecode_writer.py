"""Writer of MLIR bytecode."""

from .attributes import DictAttr, StringAttr
from .encodings import write_location, write_vhlo_attribute, write_vhlo_type
from .properties import names_of

VERSION = 6
CAST = "builtin.unrealized_conversion_cast"
_ISOLATED = frozenset(("builtin.module", "func.func", "vhlo.func_v1", "sdy.named_computation"))


class ByteWriter:
    """Bytes that grow."""

    def __init__(self, file=None):
        self.data = bytearray()
        self.file = file

    def byte(self, value):
        self.data.append(value)

    def varint(self, value):
        for more in range(8):
            if value < 1 << (7 * (more + 1)):
                coded = ((value << 1) | 1) << more
                self.data += coded.to_bytes(more + 1, "little")
                return
        if value < 1 << 56:
            self.data += (((value << 1) | 1) << 7).to_bytes(8, "little")
            return
        self.data.append(0)
        self.data += value.to_bytes(8, "little")

    def signed(self, value):
        self.varint((value << 1) if value >= 0 else ((-value << 1) - 1))

    def flagged(self, value, flag):
        self.varint(value << 1 | bool(flag))

    def list(self, items, write):
        self.varint(len(items))
        for item in items:
            write(item)

    def blob(self, data):
        self.varint(len(data))
        self.data += data

    def section(self, number, data):
        self.byte(number)
        self.varint(len(data))
        self.data += data

    # Parts of entries: indices into the tables of the file.

    def string(self, text):
        self.varint(self.file.string(text))

    def attribute(self, attribute):
        self.varint(self.file.attribute(attribute))

    def type(self, type_):
        self.varint(self.file.type(type_))

    def location(self, location):
        self.varint(self.file.location(location))

    def builtin_string(self, text):
        self.varint(self.file.builtin(StringAttr.get(text)))


class BytecodeWriter:
    """Bytecode of one operation: tables are filled while operations are written.

    The format groups entries by dialect, so final indices are known only when all entries are. The
    operations are therefore written twice: first to collect entries, then with the final indices.
    """

    def __init__(self, producer, native_casts=()):
        self.producer = producer
        self.native_casts = native_casts
        self.strings = {}
        self.dialects = {}
        self.names = {}
        self.entries = {"attribute": {}, "type": {}}
        self.order = {"attribute": None, "type": None}
        self.properties = {}

    # ---- tables ----

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def dialect(self, name):
        if name not in self.dialects:
            self.string(name)
            self.dialects[name] = len(self.dialects)
        return self.dialects[name]

    def _index(self, kind, key, encode):
        table = self.entries[kind]
        if key not in table:
            table[key] = None
            dialect, custom, data = encode()
            self.dialect(dialect)
            table[key] = (dialect, custom, data)
        order = self.order[kind]
        return 0 if order is None else order[key]

    def attribute(self, attribute):
        return self._index("attribute", ("vhlo", type(attribute), attribute),
                           lambda: self._vhlo(attribute))

    def builtin(self, attribute):
        """Returns the index of a dictionary or string of the builtin dialect."""
        return self._index("attribute", ("builtin", type(attribute), attribute),
                           lambda: self._builtin(attribute))

    def entries_of_vhlo(self, attribute):
        """Returns the index of a dictionary whose values are attributes of VHLO."""
        return self._index("attribute", ("entries", type(attribute), attribute),
                           lambda: self._entries(attribute))

    def _entries(self, attribute):
        output = ByteWriter(self)
        output.varint(1)
        output.list(attribute._key, lambda pair: (
            output.builtin_string(pair[0]), output.attribute(pair[1])))
        return "builtin", True, output

    def location(self, location):
        def encode():
            output = ByteWriter(self)
            write_location(output, location)
            return "builtin", True, output
        return self._index("attribute", ("location", type(location), location), encode)

    def type(self, type_):
        def encode():
            output = ByteWriter(self)
            if write_vhlo_type(output, type_):
                return "vhlo", True, output
            return self._written("builtin", str(type_))
        return self._index("type", type_, encode)

    def native_type(self, type_):
        """Returns the index of a type as its own dialect has it, not VHLO."""
        text = str(type_)
        dialect = text[1:].partition(".")[0] if text[0] == "!" else "builtin"
        return self._index("type", ("native", text), lambda: self._written(dialect, text))

    def _written(self, dialect, text):
        output = ByteWriter(self)
        output.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return dialect, False, output

    def _vhlo(self, attribute):
        output = ByteWriter(self)
        if write_vhlo_attribute(output, attribute):
            return "vhlo", True, output
        dialect = getattr(attribute, "_dialect", None) or _dialect_of(str(attribute))
        return self._written(dialect, str(attribute))

    def _builtin(self, attribute):
        output = ByteWriter(self)
        if isinstance(attribute, DictAttr):
            output.varint(1)
            output.list(attribute._key, lambda pair: (
                output.builtin_string(pair[0]), output.varint(self._native(pair[1]))))
        else:
            output.varint(2)
            output.string(attribute.value)
        return "builtin", True, output

    # ---- the whole ----

    def bytes(self, operation):
        self._top(operation)
        for kind, table in self.entries.items():
            groups = {}
            for key, (dialect, _, _) in table.items():
                groups.setdefault(dialect, []).append(key)
            ordered = [key for keys in groups.values() for key in keys]
            self.order[kind] = {key: index for index, key in enumerate(ordered)}
        self._number_names()
        self.properties = {}
        for table in self.entries.values():
            for key in list(table):
                table[key] = self._encoded_again(table, key)
        ir = self._top(operation)
        return self._assembled(ir)

    def _encoded_again(self, table, key):
        dialect, custom, _ = table[key]
        if not custom:
            return table[key]
        if table is self.entries["type"]:
            output = ByteWriter(self)
            write_vhlo_type(output, key)
            return dialect, custom, output
        space, _, attribute = key
        if space == "location":
            output = ByteWriter(self)
            write_location(output, attribute)
            return dialect, custom, output
        if space == "entries":
            return self._entries(attribute)
        return self._builtin(attribute) if space == "builtin" else self._vhlo(attribute)

    def _number_names(self):
        groups = {}
        for name in self.names:
            groups.setdefault(name.partition(".")[0], []).append(name)
        self.name_groups = groups
        ordered = [name for names in groups.values() for name in names]
        self.names = {name: index for index, name in enumerate(ordered)}

    def _name(self, name):
        if name not in self.names:
            dialect, _, base = name.partition(".")
            self.dialect(dialect)
            self.string(base)
            self.names[name] = len(self.names)
        return self.names[name]

    def _assembled(self, ir):
        dialects = ByteWriter(self)
        dialects.list(list(self.dialects), lambda name: dialects.flagged(
            self.string(name), False))
        dialects.varint(len(self.names))
        for dialect, names in self.name_groups.items():
            dialects.varint(self.dialects[dialect])
            dialects.list(names, lambda name: dialects.flagged(
                self.string(name.partition(".")[2]), True))
        data, offsets = ByteWriter(self), ByteWriter(self)
        for kind in ("attribute", "type"):
            offsets.varint(len(self.entries[kind]))
        for kind in ("attribute", "type"):
            self._offsets(kind, data, offsets)
        strings = ByteWriter(self)
        encoded = [text.encode("utf-8", "surrogateescape") + b"\0" for text in self.strings]
        strings.varint(len(encoded))
        for text in reversed(encoded):
            strings.varint(len(text))
        for text in encoded:
            strings.data += text
        properties = ByteWriter(self)
        properties.list(list(self.properties), properties.blob)
        whole = ByteWriter(self)
        whole.data += b"ML\xefR"
        whole.varint(VERSION)
        whole.data += self.producer.encode() + b"\0"
        for number, part in ((1, dialects), (2, data), (3, offsets), (4, ir), (0, strings),
                             (8, properties)):
            whole.section(number, part.data)
        return bytes(whole.data)

    def _offsets(self, kind, data, offsets):
        groups = {}
        for key in self.order[kind]:
            groups.setdefault(self.entries[kind][key][0], []).append(self.entries[kind][key])
        for dialect, entries in groups.items():
            offsets.varint(self.dialects[dialect])
            offsets.varint(len(entries))
            for _, custom, output in entries:
                offsets.flagged(len(output.data), custom)
                data.data += output.data

    # ---- operations ----

    def _top(self, operation):
        output = ByteWriter(self)
        output.flagged(1, False)
        self._operation(output, operation, {})
        return output

    def _operation(self, output, operation, numbers):
        name = operation._name
        output.varint(self._name(name))
        attributes = operation._attributes
        known = dict(names_of(name))
        inherent = [key for key in attributes if key in known]
        discardable = {key: attributes[key] for key in attributes if key not in known}
        mask = (bool(discardable) | bool(operation._results) << 1 |
                bool(operation._operands) << 2 | bool(operation._regions) << 4 |
                bool(known) << 6)
        output.byte(mask)
        output.location(operation._location)
        if discardable:
            write = self.entries_of_vhlo if name.startswith("vhlo.") else self.builtin
            output.varint(write(DictAttr.get(discardable)))
        if known:
            output.varint(self._property_index(name, attributes if inherent else {}))
        if operation._results:
            is_native = not name.startswith("vhlo.") and (
                name != CAST or operation in self.native_casts)
            index = self.native_type if is_native else self.type
            output.list(operation._results, lambda result: output.varint(index(result.type)))
        if operation._operands:
            output.list(operation._operands, lambda value: output.varint(numbers[value]))
        if operation._regions:
            self._regions(output, operation, numbers)

    def _property_index(self, name, attributes):
        own = ByteWriter(self)
        native = name.startswith("vhlo.")
        for key, optional in names_of(name):
            value = attributes.get(key)
            if value is None:
                own.varint(0)
                continue
            index = self.attribute(value) if native else self._native(value)
            if optional:
                own.flagged(index, True)
            else:
                own.varint(index)
        return self.properties.setdefault(bytes(own.data), len(self.properties))

    def _native(self, attribute):
        """Returns the index of an attribute of an operation that is not of VHLO."""
        if isinstance(attribute, (StringAttr, DictAttr)):
            return self.builtin(attribute)
        text = str(attribute)
        return self._index("attribute", ("text", None, text),
                           lambda: self._written(_dialect_of(text), text))

    def _regions(self, output, operation, numbers):
        isolated = operation._name in _ISOLATED
        output.flagged(len(operation._regions), isolated)
        target = ByteWriter(self) if isolated else output
        for region in operation._regions:
            self._region(target, region, {} if isolated else dict(numbers))
        if isolated:
            output.section(4, target.data)

    def _region(self, output, region, numbers):
        output.varint(len(region._blocks))
        if not region._blocks:
            return
        count = sum(len(block._arguments) + sum(len(op._results) for op in block._operations)
                    for block in region._blocks)
        output.varint(count)
        # Values of nested regions are numbered after all of this one.
        start = max(numbers.values(), default=-1) + 1
        for block in region._blocks:
            for argument in block._arguments:
                numbers[argument] = start
                start += 1
            for nested in block._operations:
                for result in nested._results:
                    numbers[result] = start
                    start += 1
        for block in region._blocks:
            self._block(output, block, numbers, region._parent._name.startswith("vhlo."))

    def _block(self, output, block, numbers, is_vhlo):
        index = self.type if is_vhlo else self.native_type
        output.flagged(len(block._operations), bool(block._arguments))
        if block._arguments:
            output.varint(len(block._arguments))
            for argument in block._arguments:
                output.flagged(index(argument.type), True)
                output.location(argument.location)
            output.byte(0)
        for nested in block._operations:
            self._operation(output, nested, numbers)


def _dialect_of(text):
    """Returns the dialect of an attribute by its text: #dialect.name or #dialect<name."""
    if text[:1] not in "#!":
        return "builtin"
    end = 1
    while end < len(text) and (text[end].isalnum() or text[end] in "_$"):
        end += 1
    return text[1:end]
