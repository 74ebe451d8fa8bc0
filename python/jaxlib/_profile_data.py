"""Reading of profiles: planes, lines and events of a serialized XSpace."""

import struct

from ._jax.errors import status_error, unavailable
from ._proto import fields


def _names(plane, number):
    """Returns the names of a plane's metadata by their ids."""
    out = {}
    for n, entry in plane:
        if n == number:
            metadata = dict(fields(dict(fields(entry)).get(2, b"")))
            out[metadata.get(1, 0)] = metadata.get(2, b"").decode()
    return out


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _stats(message, number, names):
    """Yields (name, value) of the stats in a message's fields."""
    for n, data in message:
        if n != number:
            continue
        stat = dict(fields(data))
        name = names.get(stat.pop(1, 0))
        value = None
        for kind, raw in stat.items():
            if kind == 2:
                value = struct.unpack("<d", raw)[0]
            elif kind == 3:
                value = raw
            elif kind == 4:
                value = _signed(raw)
            elif kind == 5:
                value = raw.decode()
            elif kind == 6:
                value = raw
            elif kind == 7:
                value = names.get(raw)
        yield (None, None) if name is None else (name, value)


class ProfileEvent:
    """An event of a line."""

    def __init__(self, data, start, event_names, stat_names):
        self._fields = list(fields(data))
        values = dict(self._fields)
        self.start_ns = start + values.get(2, 0) / 1000
        self.duration_ns = values.get(3, 0) / 1000
        self.end_ns = self.start_ns + self.duration_ns
        self.name = event_names.get(values.get(1, 0), "")
        self._stat_names = stat_names

    @property
    def stats(self):
        return _stats(self._fields, 4, self._stat_names)


class ProfileLine:
    """A line of a plane: events of one thread or stream."""

    def __init__(self, data, event_names, stat_names):
        self._fields = list(fields(data))
        self._values = dict(self._fields)
        self._names = event_names, stat_names

    @property
    def name(self):
        return self._values.get(2, b"").decode()

    @property
    def events(self):
        start = self._values.get(3, 0)
        return (ProfileEvent(x, start, *self._names) for n, x in self._fields if n == 4)


class ProfilePlane:
    """A plane: what one device or the host did."""

    def __init__(self, data):
        self._fields = list(fields(data))
        self._event_names = _names(self._fields, 4)
        self._stat_names = _names(self._fields, 5)

    @property
    def name(self):
        return dict(self._fields).get(2, b"").decode()

    @property
    def lines(self):
        names = self._event_names, self._stat_names
        return (ProfileLine(x, *names) for n, x in self._fields if n == 3)

    @property
    def stats(self):
        return _stats(self._fields, 6, self._stat_names)


class ProfileData:
    """A profile."""

    def __init__(self, serialized_xspace, /):
        try:
            self._planes = [ProfilePlane(x) for n, x in fields(serialized_xspace) if n == 1]
        except (IndexError, TypeError, ValueError):
            raise status_error("INVALID_ARGUMENT", "The profile is not an XSpace.") from None

    @staticmethod
    def from_serialized_xspace(serialized_xspace):
        return ProfileData(serialized_xspace)

    @staticmethod
    def from_file(proto_file_path):
        with open(proto_file_path, "rb") as file:
            return ProfileData(file.read())

    @staticmethod
    def from_raw_cpp_ptr(capsule):
        raise unavailable("A profile of C++")

    @staticmethod
    def from_text_proto(text, /):
        raise unavailable("A profile in text form")

    @staticmethod
    def text_proto_to_serialized_xspace(text, /):
        raise unavailable("A profile in text form")

    def find_plane_with_name(self, name):
        return next((plane for plane in self._planes if plane.name == name), None)

    @property
    def planes(self):
        return iter(self._planes)
