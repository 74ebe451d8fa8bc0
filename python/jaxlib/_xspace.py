"""The protocol buffer of profiles, XSpace: planes of lines of events.

XSpace: 1 planes. XPlane: 2 name, 3 lines, 4 event metadata (map), 5 stat metadata (map), 6 stats.
XLine: 2 name, 3 timestamp in ns, 4 events, 10 id. XEvent: 1 metadata id, 2 offset in ps,
3 duration in ps, 4 stats. XEventMetadata, XStatMetadata: 1 id, 2 name. XStat: 1 metadata id,
2 double, 3 uint64, 4 int64, 5 string, 6 bytes, 7 string by reference.
"""

import struct

from ._jax.pytree_proto import _field, _varint


def _int(number, value):
    return _varint(number << 3) + _varint(value & (1 << 64) - 1)


class _Names:
    """Numbers of names, from 1."""

    def __init__(self):
        self.ids = {}

    def id(self, name):
        return self.ids.setdefault(name, len(self.ids) + 1)

    def serialize(self, number):
        out = b""
        for name, i in self.ids.items():
            metadata = _int(1, i) + _field(2, name.encode())
            out += _field(number, _int(1, i) + _field(2, metadata))
        return out


def _stat(names, name, value):
    out = _int(1, names.id(name))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return out + _field(5, str(value).encode())
    if isinstance(value, float):
        return out + b"\x11" + struct.pack("<d", value)
    return out + _int(4, value)


def serialize(events, metadata):
    """Returns the XSpace of a host's events: tuples (name, thread, begin, end, stats), in ns."""
    event_names, stat_names = _Names(), _Names()
    threads = {}
    for event in events:
        threads.setdefault(event[1], []).append(event)
    lines = b""
    for thread, its_events in threads.items():
        start = min([begin for _, _, begin, _, _ in its_events])
        line = _int(10, thread) + _field(2, b"python") + _int(3, start)
        for name, _, begin, end, stats in its_events:
            event = (_int(1, event_names.id(name)) + _int(2, (begin - start) * 1000)
                     + _int(3, (end - begin) * 1000))
            for key, value in stats.items():
                event += _field(4, _stat(stat_names, key, value))
            line += _field(4, event)
        lines += _field(3, line)
    stats = b"".join(_field(6, _stat(stat_names, k, v)) for k, v in metadata.items())
    plane = (_field(2, b"/host:CPU") + lines + event_names.serialize(4)
             + stat_names.serialize(5) + stats)
    return _field(1, plane)


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Yields (number, value) of a message's fields: integers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _read_varint(data, at)
        else:
            if wire == 2:
                size, at = _read_varint(data, at)
            else:
                size = 8 if wire == 1 else 4
            value = data[at:at + size]
            if len(value) != size:
                raise IndexError
            at += size
        yield tag >> 3, value
