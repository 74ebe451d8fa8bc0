"""The wire format of protocol buffers: fields as bytes, and back."""


class Malformed(ValueError):
    pass


def varint(value):
    """Returns the bytes of an integer of 64 bits; a negative one in two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def int_field(number, value):
    return varint(number << 3) + varint(value)


def bytes_field(number, data):
    """Returns a field of bytes: a string, a message, or a packed list of integers."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def packed_field(number, values):
    return bytes_field(number, b"".join([varint(int(value)) for value in values]))


def _read_varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise Malformed


def integers(data):
    """Returns the integers of a packed list."""
    values, at = [], 0
    while at < len(data):
        value, at = _read_varint(data, at)
        values.append(value)
    return values


def fields(data):
    """Yields (number, value) of a message's fields: an integer, or the bytes of any other."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _read_varint(data, at)
        elif wire in (1, 2, 5):
            size, at = _read_varint(data, at) if wire == 2 else (8 if wire == 1 else 4, at)
            value = data[at:at + size]
            if len(value) != size:
                raise Malformed
            at += size
        else:
            raise Malformed
        yield tag >> 3, value
