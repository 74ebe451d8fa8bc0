"""Profiles of pprof: their protocol buffer and its JSON form."""

import json

from .._proto import bytes_field, fields, int_field, integers, packed_field
from .errors import status_error

# Fields by number: name, type, whether repeated. Type "int" is a varint of 64 bits.
_MESSAGES = {
    "Profile": {
        1: ("sample_type", "ValueType", True), 2: ("sample", "Sample", True),
        3: ("mapping", "Mapping", True), 4: ("location", "Location", True),
        5: ("function", "Function", True), 6: ("string_table", "string", True),
        7: ("drop_frames", "int", False), 8: ("keep_frames", "int", False),
        9: ("time_nanos", "int", False), 10: ("duration_nanos", "int", False),
        11: ("period_type", "ValueType", False), 12: ("period", "int", False),
        13: ("comment", "int", True), 14: ("default_sample_type", "int", False),
    },
    "ValueType": {1: ("type", "int", False), 2: ("unit", "int", False)},
    "Sample": {1: ("location_id", "uint", True), 2: ("value", "int", True),
               3: ("label", "Label", True)},
    "Label": {1: ("key", "int", False), 2: ("str", "int", False), 3: ("num", "int", False),
              4: ("num_unit", "int", False)},
    "Mapping": {
        1: ("id", "uint", False), 2: ("memory_start", "uint", False),
        3: ("memory_limit", "uint", False), 4: ("file_offset", "uint", False),
        5: ("filename", "int", False), 6: ("build_id", "int", False),
        7: ("has_functions", "bool", False), 8: ("has_filenames", "bool", False),
        9: ("has_line_numbers", "bool", False), 10: ("has_inline_frames", "bool", False),
    },
    "Location": {1: ("id", "uint", False), 2: ("mapping_id", "uint", False),
                 3: ("address", "uint", False), 4: ("line", "Line", True),
                 5: ("is_folded", "bool", False)},
    "Line": {1: ("function_id", "uint", False), 2: ("line", "int", False)},
    "Function": {1: ("id", "uint", False), 2: ("name", "int", False),
                 3: ("system_name", "int", False), 4: ("filename", "int", False),
                 5: ("start_line", "int", False)},
}


def _camel(name):
    first, *rest = name.split("_")
    return first + "".join([word.capitalize() for word in rest])


def _encode(kind, value):
    fields = {}
    for number, (name, type_, repeated) in _MESSAGES[kind].items():
        fields[name] = fields[_camel(name)] = number, type_, repeated
    out = {}
    for key, item in value.items():
        if key not in fields:
            raise ValueError(f"no field {key} in {kind}")
        number, type_, repeated = fields[key]
        out[number] = _encode_field(
            number, type_, item if isinstance(item, list) else [item], repeated)
    return b"".join([out[number] for number in sorted(out)])


def _encode_field(number, type_, items, repeated):
    if type_ == "string":
        return b"".join([bytes_field(number, item.encode()) for item in items])
    if type_ in _MESSAGES:
        return b"".join([bytes_field(number, _encode(type_, item)) for item in items])
    if repeated:
        return packed_field(number, items) if items else b""
    return b"".join([int_field(number, int(item)) for item in items if int(item)])


def heap_profile(arrays):
    """Returns a profile of arrays: how many there are of a size and sharding, and their bytes."""
    counts = {}
    for array in arrays:
        key = array.on_device_size_in_bytes(), str(array.sharding)
        counts[key] = counts.get(key, 0) + 1
    strings = ["", "allocations", "count", "space", "bytes", "kind", "buffer", "device", "array"]
    samples = []
    for (size, sharding), count in counts.items():
        strings.append(sharding)
        labels = [{"key": 5, "str": 6}, {"key": 7, "str": len(strings) - 1}]
        samples.append({"location_id": [1], "value": [count, count * size], "label": labels})
    return _encode("Profile", {
        "sample_type": [{"type": 1, "unit": 2}, {"type": 3, "unit": 4}], "sample": samples,
        "location": [{"id": 1, "line": [{"function_id": 1}]}], "function": [{"id": 1, "name": 8}],
        "string_table": strings})


def json_to_pprof_profile(text, /):
    """Returns the binary form of a profile in JSON."""
    try:
        return _encode("Profile", json.loads(text))
    except (ValueError, TypeError, AttributeError) as e:
        raise status_error("INVALID_ARGUMENT", f"JSON parsing failed: {e}") from None


def _decode(kind, data):
    out = {}
    for number, raw in fields(data):
        if number not in _MESSAGES[kind]:
            continue
        name, type_, repeated = _MESSAGES[kind][number]
        if isinstance(raw, bytes) and type_ in ("int", "uint", "bool"):
            items = [_json_number(type_, n) for n in integers(raw)]
        elif type_ == "string":
            items = [raw.decode()]
        elif type_ in _MESSAGES:
            items = [_decode(type_, raw)]
        else:
            items = [_json_number(type_, raw)]
        if repeated:
            out.setdefault(_camel(name), []).extend(items)
        else:
            out[_camel(name)] = items[-1]
    return out


def _json_number(type_, n):
    if type_ == "bool":
        return bool(n)
    return str(n - (1 << 64) if type_ == "int" and n >> 63 else n)


def pprof_profile_to_json(data, /):
    """Returns the JSON form of an uncompressed binary profile."""
    try:
        return json.dumps(_decode("Profile", data), separators=(",", ":"))
    except (IndexError, ValueError, TypeError):
        raise status_error("INVALID_ARGUMENT", "Failed to parse the profile.") from None
