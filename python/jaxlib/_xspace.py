"""The protocol buffer of profiles, XSpace: planes of lines of events.

XSpace: 1 planes. XPlane: 2 name, 3 lines, 4 event metadata (map), 5 stat metadata (map), 6 stats.
XLine: 2 name, 3 timestamp in ns, 4 events, 10 id. XEvent: 1 metadata id, 2 offset in ps,
3 duration in ps, 4 stats. XEventMetadata, XStatMetadata: 1 id, 2 name. XStat: 1 metadata id,
2 double, 3 uint64, 4 int64, 5 string, 6 bytes, 7 string by reference.
"""

import struct

from ._proto import bytes_field, int_field


class _Names:
    """Numbers of names, from 1."""

    def __init__(self):
        self.ids = {}

    def id(self, name):
        return self.ids.setdefault(name, len(self.ids) + 1)

    def serialize(self, number):
        out = b""
        for name, i in self.ids.items():
            metadata = int_field(1, i) + bytes_field(2, name.encode())
            out += bytes_field(number, int_field(1, i) + bytes_field(2, metadata))
        return out


def _stat(names, name, value):
    out = int_field(1, names.id(name))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return out + bytes_field(5, str(value).encode())
    if isinstance(value, float):
        return out + b"\x11" + struct.pack("<d", value)
    return out + int_field(4, value)


def serialize(events, metadata):
    """Returns the XSpace of a host's events: tuples (name, thread, begin, end, stats), in ns."""
    event_names, stat_names = _Names(), _Names()
    threads = {}
    for event in events:
        threads.setdefault(event[1], []).append(event)
    lines = b""
    for thread, its_events in threads.items():
        start = min([begin for _, _, begin, _, _ in its_events])
        line = int_field(10, thread) + bytes_field(2, b"python") + int_field(3, start)
        for name, _, begin, end, stats in its_events:
            event = (int_field(1, event_names.id(name)) + int_field(2, (begin - start) * 1000)
                     + int_field(3, (end - begin) * 1000))
            for key, value in stats.items():
                event += bytes_field(4, _stat(stat_names, key, value))
            line += bytes_field(4, event)
        lines += bytes_field(3, line)
    stats = b"".join(bytes_field(6, _stat(stat_names, k, v)) for k, v in metadata.items())
    plane = (bytes_field(2, b"/host:CPU") + lines + event_names.serialize(4)
             + stat_names.serialize(5) + stats)
    return bytes_field(1, plane)
