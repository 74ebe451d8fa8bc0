"""Reader of MLIR bytecode: the portable artifact in VHLO, or dialects themselves.

Source: mlir.llvm.org/docs/BytecodeFormat.
"""

from .context import MLIRError
from .encodings import ATTRIBUTES, TYPES
from .location import UNKNOWN
from .operations import Block, Operation, Region
from .properties import names_of

STRING, DIALECT, ATTRIBUTE, OFFSET, IR, RESOURCE, RESOURCE_OFFSET, _VERSION, PROPERTIES = range(9)
NEWEST = 6


class Cursor:
    """Position in bytes."""

    def __init__(self, data, at=0, end=None):
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    def error(self, problem):
        return MLIRError(f"Unable to parse bytecode: {problem} at byte {self.at}")

    def byte(self):
        if self.at >= self.end:
            raise self.error("the end comes too early")
        self.at += 1
        return self.data[self.at - 1]

    def take(self, length):
        if length > self.end - self.at:
            raise self.error(f"{length} bytes that are not there")
        self.at += length
        return Cursor(self.data, self.at - length, self.at)

    def bytes(self, length):
        part = self.take(length)
        return self.data[part.at:part.end]

    def varint(self):
        """Reads a number: as many zeros at the low end of the first byte as bytes follow."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if first == 0:
            return int.from_bytes(self.bytes(8), "little")
        more = (first & -first).bit_length() - 1
        rest = int.from_bytes(self.bytes(more), "little")
        return (rest << (7 - more)) | (first >> (more + 1))

    def signed(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def count(self):
        count = self.varint()
        if count > self.end - self.at:
            raise self.error(f"{count} things where {self.end - self.at} bytes are left")
        return count

    def list(self, read):
        return [read() for _ in range(self.count())]

    def signed_list(self):
        return [self.signed() for _ in range(self.count())]

    def flagged(self):
        value = self.varint()
        return value >> 1, bool(value & 1)

    def text(self):
        end = self.data.index(0, self.at)
        text = self.data[self.at:end].decode("utf-8", "surrogateescape")
        self.at = end + 1
        return text

    def align(self, alignment):
        while self.at % alignment:
            self.byte()

    def section(self):
        """Returns (number, cursor) of the section that is next."""
        coded = self.byte()
        length = self.varint()
        if coded & 128:
            self.align(self.varint())
        return coded & 127, self.take(length)

    @property
    def at_end(self):
        return self.at >= self.end


class Entry(Cursor):
    """Cursor over an entry, with the tables that it refers to."""

    def __init__(self, reader, cursor):
        super().__init__(cursor.data, cursor.at, cursor.end)
        self.reader = reader

    def attribute(self):
        return self.reader.attribute(self.varint())

    def optional_attribute(self):
        index, there = self.flagged()
        return self.reader.attribute(index) if there else None

    def type(self):
        return self.reader.type(self.varint())

    def string(self):
        return self.reader.string(self.varint())

    def blob(self):
        return self.bytes(self.varint())

    def resource(self):
        return self.reader.resources[self.varint()]


class Reader:
    """Reader of a whole file; `operation()` gives its outermost operation."""

    def __init__(self, data):
        file = Cursor(data, 4)
        if data[:4] != b"ML\xefR":
            raise file.error('expected the bytes "ML\\xefR"')
        self.version = file.varint()
        if self.version > NEWEST:
            raise file.error(f"version {self.version}; versions up to {NEWEST} are known")
        self.producer = file.text()
        self.sections = {}
        while not file.at_end:
            number, cursor = file.section()
            self.sections[number] = cursor
        self.data = data
        self.resources = []
        self._read_strings(self.sections[STRING])
        self.properties = []
        if PROPERTIES in self.sections:
            cursor = self.sections[PROPERTIES]
            self.properties = [] if cursor.at_end else cursor.list(
                lambda: cursor.take(cursor.varint()))
        self._read_dialects(self.sections[DIALECT])
        if RESOURCE_OFFSET in self.sections:
            self._read_resources(self.sections[RESOURCE_OFFSET], self.sections[RESOURCE])
        self._read_offsets(self.sections[OFFSET], self.sections[ATTRIBUTE])

    def operation(self):
        cursor = Entry(self, self.sections[IR])
        block = Block()
        self._block(cursor, block, [], None)
        if len(block._operations) != 1:
            raise cursor.error("expected one outermost operation")
        operation = block._operations[0]
        operation._block = None
        return operation

    # ---- tables ----

    def _read_strings(self, cursor):
        count = cursor.count()
        sizes = [cursor.varint() for _ in range(count)]
        end = cursor.end
        self.strings = [None] * count
        for index, size in zip(range(count - 1, -1, -1), sizes):
            text = self.data[end - size:end - 1]
            self.strings[index] = text.decode("utf-8", "surrogateescape")
            end -= size

    def string(self, index):
        return self.strings[index]

    def _read_dialects(self, cursor):
        self.dialects, self.names = [], []
        for _ in range(cursor.count()):
            if self.version < 1:
                self.dialects.append(self.string(cursor.varint()))
                continue
            index, has_version = cursor.flagged()
            self.dialects.append(self.string(index))
            if has_version:
                cursor.section()
        if self.version >= 4:
            cursor.varint()
        while not cursor.at_end:
            dialect = self.dialects[cursor.varint()]
            for _ in range(cursor.count()):
                index, registered = ((cursor.varint(), True) if self.version < 5
                                     else cursor.flagged())
                self.names.append((f"{dialect}.{self.string(index)}", registered))

    def _read_resources(self, offsets, data):
        def group(keep):
            for _ in range(offsets.count()):
                offsets.varint()
                entry = data.take(offsets.varint())
                kind = offsets.byte()
                if keep:
                    self.resources.append(_blob(entry) if kind == 0 and not entry.at_end
                                          else b"")
        for _ in range(offsets.varint()):
            offsets.varint()
            group(False)
        while not offsets.at_end:
            offsets.varint()
            group(True)

    def _read_offsets(self, offsets, data):
        counts = offsets.varint(), offsets.varint()
        self.tables = []
        for count in counts:
            table = []
            while len(table) < count:
                dialect = self.dialects[offsets.varint()]
                for _ in range(offsets.count()):
                    length, custom = offsets.flagged()
                    table.append([dialect, custom, data.take(length), None])
            self.tables.append(table)

    def attribute(self, index):
        return self._resolved(0, index)

    def type(self, index):
        return self._resolved(1, index)

    def _resolved(self, kind, index):
        entry = self.tables[kind][index]
        if entry[3] is None:
            dialect, custom, cursor, _ = entry
            own = Entry(self, cursor)
            if not custom:
                from .parser import parse_attribute, parse_type
                entry[3] = (parse_type if kind else parse_attribute)(own.text())
            else:
                code = own.varint()
                decode = (TYPES if kind else ATTRIBUTES).get(dialect, {}).get(code)
                if decode is None:
                    raise own.error(f"{'type' if kind else 'attribute'} {code} of {dialect} is "
                                    "not known")
                entry[3] = decode(own)
        return entry[3]

    # ---- operations ----

    def _block(self, cursor, block, values, own):
        count, has_arguments = cursor.flagged()
        if has_arguments:
            for _ in range(cursor.count()):
                index, has_location = (cursor.flagged() if self.version >= 4
                                       else (cursor.varint(), True))
                location = self._location(cursor) if has_location else UNKNOWN
                self._define(block.add_argument(self.type(index), location), values, own)
            if self.version >= 3 and cursor.byte():
                _skip_order(cursor, len(block._arguments))
        for _ in range(count):
            operation = self._operation(cursor, values, own)
            operation._block = block
            block._operations.append(operation)

    def _define(self, value, values, own):
        if own is not None:
            values[own[0]] = value
            own[0] += 1

    def _location(self, cursor):
        return self.attribute(cursor.varint())._location

    def _operation(self, cursor, values, own):
        name, registered = self.names[cursor.varint()]
        mask = cursor.byte()
        location = self._location(cursor)
        attributes = {}
        if mask & 1:
            attributes.update(self.attribute(cursor.varint())._key)
        if mask & 64:
            if registered:
                attributes.update(self._properties(name, cursor.varint()))
            else:
                attributes.update(self.attribute(cursor.varint())._key)
        types = cursor.list(lambda: self.type(cursor.varint())) if mask & 2 else []
        operands = cursor.list(lambda: values[cursor.varint()]) if mask & 4 else []
        if any(operand is None for operand in operands):
            raise cursor.error(f"{name} uses a value before it is there")
        if mask & 8:
            raise cursor.error("operations with successors are not read")
        if mask & 32:
            _skip_order(cursor, len(types))
        operation = Operation._new(name, attributes, operands, types, 0, location)
        for result in operation._results:
            self._define(result, values, own)
        if mask & 16:
            self._regions(cursor, operation, values)
        return operation

    def _properties(self, name, index):
        own = Entry(self, self.properties[index])
        attributes = {}
        for attribute_name, optional in names_of(name):
            if own.at_end:
                break
            value = own.optional_attribute() if optional else own.attribute()
            if value is not None:
                attributes[attribute_name] = value
        return attributes

    def _regions(self, cursor, operation, values):
        count, isolated = cursor.flagged()
        if isolated and self.version >= 2:
            cursor = Entry(self, cursor.section()[1])
        inner = [] if isolated else values
        for _ in range(count):
            region = Region(operation)
            operation._regions.append(region)
            blocks = cursor.varint()
            if not blocks:
                continue
            size = cursor.varint()
            if max(size, blocks) > len(self.data):
                raise cursor.error(f"a region of {size} values and {blocks} blocks")
            start = len(inner)
            inner.extend([None] * size)
            own = [start]
            for _ in range(blocks):
                block = Block()
                block._region = region
                region._blocks.append(block)
                self._block(cursor, block, inner, own)
            del inner[start:]


def _skip_order(cursor, count):
    """Skips the order of uses of values, which has no meaning here."""
    several = count > 1
    for _ in range(cursor.count() if several else 1):
        if several:
            cursor.varint()
        for _ in range(cursor.flagged()[0]):
            cursor.varint()


def _blob(entry):
    alignment = entry.varint()
    size = entry.varint()
    entry.align(alignment)
    return entry.bytes(size)
