"""Locations: unknown, file, name, call site and fused ones."""

from .context import context_of, current_property, pop, push, state


def quote(text):
    """Returns `text`, str or bytes, as a string literal of MLIR."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    if data.isascii() and data.decode().isprintable() and b'"' not in data and b"\\" not in data:
        return f'"{data.decode()}"'
    out = []
    for byte in data:
        if byte == 0x5C:
            out.append("\\\\")
        elif 0x20 <= byte < 0x7F and byte != 0x22:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:02X}")
    return f'"{"".join(out)}"'


class Location:
    """Place in a source, which operations and values carry. Immutable, compared by content."""

    __slots__ = ("_fields",)

    current = current_property("location", "No current Location")

    def __new__(cls, cast_from_loc):
        if isinstance(cast_from_loc, cls):
            return cast_from_loc
        raise ValueError(f"Cannot cast location to {cls.__name__} (from {cast_from_loc!r})")

    @classmethod
    def _of(cls, *fields):
        self = object.__new__(cls)
        self._fields = fields
        return self

    def __enter__(self):
        push(None, self, None)
        return self

    def __exit__(self, *unused):
        pop()

    def __eq__(self, other):
        if self is other:
            return True
        return type(self) is type(other) and self._fields == other._fields

    def __hash__(self):
        return hash((type(self).__name__, self._fields))

    @property
    def context(self):
        return context_of()

    @property
    def attr(self):
        from .attributes import LocationAttr
        return LocationAttr(self)

    @staticmethod
    def from_attr(attribute, context=None):
        return attribute._location

    @staticmethod
    def unknown(context=None):
        return UnknownLoc.get(context)

    @staticmethod
    def file(filename, line=None, col=None, end_line=None, end_col=None, context=None, *,
             start_line=None, start_col=None):
        line = start_line if line is None else line
        col = start_col if col is None else col
        if not isinstance(end_line, int):
            end_line, end_col = line, col
        return FileLineColLoc._of(filename, line, col, end_line, end_col)

    @staticmethod
    def name(name, childLoc=None, context=None):
        return NameLoc._of(name, childLoc or UNKNOWN)

    @staticmethod
    def callsite(callee, frames, context=None):
        frames = list(frames)
        if not frames:
            raise ValueError("No caller frames provided.")
        caller = frames[-1]
        for frame in reversed(frames[:-1]):
            caller = CallSiteLoc._of(frame, caller)
        return CallSiteLoc._of(callee, caller)

    @staticmethod
    def fused(locations, metadata=None, context=None):
        return FusedLoc.get(locations, metadata)

    def emit_error(self, message):
        import sys
        print(f"{self}: error: {message}", file=sys.stderr)

    def _body(self, nested):
        """Returns the text inside loc(...); `nested` gives the text of a location inside it."""
        raise NotImplementedError

    def __str__(self):
        return f"loc({self._body(lambda child: child._inner())})"

    def _inner(self):
        return self._body(lambda child: child._inner())

    __repr__ = __str__


class UnknownLoc(Location):
    """No place. One that is made for a context knows it, so that a module made there does."""

    __slots__ = ("_context",)

    @staticmethod
    def get(context=None):
        if context is None:
            return UNKNOWN
        self = UnknownLoc._of()
        self._context = context
        return self

    @property
    def context(self):
        return context_of(self._context)

    def _body(self, nested):
        return "unknown"


UNKNOWN = UnknownLoc._of()
UNKNOWN._context = None


class FileLineColLoc(Location):
    __slots__ = ()

    get = staticmethod(Location.file)

    @property
    def filename(self):
        return self._fields[0]

    @property
    def start_line(self):
        return self._fields[1]

    @property
    def start_col(self):
        return self._fields[2]

    @property
    def end_line(self):
        return self._fields[3]

    @property
    def end_col(self):
        return self._fields[4]

    def _body(self, nested):
        name, line, column, end_line, end_column = self._fields
        text = f"{quote(name)}:{line}:{column}"
        if end_line != line:
            return f"{text} to {end_line}:{end_column}"
        return text if end_column == column else f"{text} to :{end_column}"


class NameLoc(Location):
    __slots__ = ()

    @staticmethod
    def get(name, child_loc=None, context=None):
        return NameLoc._of(name, child_loc or UNKNOWN)

    @property
    def name_str(self):
        return self._fields[0]

    @property
    def child_loc(self):
        return self._fields[1]

    def _body(self, nested):
        name, child = self._fields
        return quote(name) if type(child) is UnknownLoc else f"{quote(name)}({nested(child)})"


class CallSiteLoc(Location):
    __slots__ = ()

    get = staticmethod(Location.callsite)

    @property
    def callee(self):
        return self._fields[0]

    @property
    def caller(self):
        return self._fields[1]

    def _body(self, nested):
        return f"callsite({nested(self._fields[0])} at {nested(self._fields[1])})"


class FusedLoc(Location):
    __slots__ = ()

    @staticmethod
    def get(locations, metadata=None, context=None):
        unique = dict.fromkeys(loc for loc in locations if type(loc) is not UnknownLoc)
        if metadata is None and len(unique) < 2:
            return next(iter(unique), UNKNOWN)
        return FusedLoc._of(tuple(unique), metadata)

    @property
    def locations(self):
        return list(self._fields[0])

    @property
    def metadata(self):
        return self._fields[1]

    def _body(self, nested):
        locations, metadata = self._fields
        inner = ", ".join(map(nested, locations))
        return f"fused[{inner}]" if metadata is None else f"fused<{metadata}>[{inner}]"


def location_or_current(location):
    """Returns `location`, else the current one; raises if there is none."""
    if location is not None:
        return location
    if state.location is None:
        raise RuntimeError("An MLIR function requires a Location but none was provided in the "
                           "call or from the surrounding environment. Pass it with a 'loc=' "
                           "argument or establish it by 'with loc:'.")
    return state.location
