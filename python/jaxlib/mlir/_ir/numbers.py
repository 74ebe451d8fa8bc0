"""Numbers as MLIR writes them, and NumPy's types for MLIR's types of elements."""

import ml_dtypes
import numpy as np

from . import types

# Bits of the significands, the leading one included.
_PRECISION = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "tf32": 11, "f4E2M1FN": 2,
              "f6E2M3FN": 4, "f6E3M2FN": 3, "f8E3M4": 5, "f8E4M3": 4, "f8E4M3FN": 4,
              "f8E4M3FNUZ": 4, "f8E4M3B11FNUZ": 4, "f8E5M2": 3, "f8E5M2FNUZ": 3, "f8E8M0FNU": 1}

_FLOAT_DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}

# Types of the numbers in memory; those of 2 and 4 bits take a byte each.
DTYPES = {name: np.dtype(dtype) for name, dtype in _FLOAT_DTYPES.items()}
DTYPES.update({f"{prefix}{bits}": np.dtype(f"{kind}{max(bits, 8) // 8}")
               for prefix, kind in (("i", "i"), ("si", "i"), ("ui", "u"))
               for bits in (2, 4, 8, 16, 32, 64)})
DTYPES["i1"] = np.dtype(np.bool_)
DTYPES["ui1"] = DTYPES["si1"] = np.dtype(np.uint8)
DTYPES["index"] = np.dtype(np.int64)
DTYPES["complex<f32>"] = np.dtype(np.complex64)
DTYPES["complex<f64>"] = np.dtype(np.complex128)

NAMES_OF_DTYPES = {dtype: name for name, dtype in DTYPES.items()
                   if name not in ("index", "ui1", "si1") and not name.startswith("si")
                   and name not in ("i2", "i4", "ui2", "ui4")}
NAMES_OF_DTYPES.update({np.dtype(ml_dtypes.int4): "i4", np.dtype(ml_dtypes.uint4): "ui4",
                        np.dtype(ml_dtypes.int2): "i2", np.dtype(ml_dtypes.uint2): "ui2"})


def dtype_of(element_type):
    """Returns the NumPy type of an element type; raises ValueError if there is none."""
    dtype = DTYPES.get(element_type._text)
    if dtype is None:
        raise ValueError(f"there is no array of {element_type}")
    return dtype


def type_named(name):
    """Returns the scalar type of this name, or None."""
    if name in types.FLOATS:
        return types.FLOATS[name].get()
    if name == "index":
        return types.IndexType.get()
    if name == "none":
        return types.NoneType.get()
    if name.startswith("complex<"):
        return types.ComplexType.get(type_named(name[8:-1]))
    for prefix in ("i", "si", "ui"):
        if name.startswith(prefix) and name[len(prefix):].isdigit():
            return types.IntegerType._get(prefix, int(name[len(prefix):]))
    return None


def element_type_of(dtype):
    """Returns the element type of arrays of a NumPy type, integers being signless."""
    name = NAMES_OF_DTYPES.get(np.dtype(dtype))
    if name is None:
        raise ValueError(f"unimplemented array format conversion from format: {dtype}")
    return type_named(name)


def float_text(value, name):
    """Returns the text of a number, a NumPy scalar of the float type `name`."""
    number = float(value)
    if number == number and number not in (np.inf, -np.inf):
        short = _short_text(number)
        if DTYPES[name].type(float(short)) == value:
            return short
        text = _exact_text(number, 2 + _PRECISION[name] * 59 // 196)
        if "." in text:
            return text
    array = np.asarray(value)
    size = array.dtype.itemsize
    return f"0x{int(array.view(f'u{size}')):0{size * 2}X}"


def _decimal(number, precision):
    """Returns (digits without trailing zeros, power of ten), as LLVM's APFloat rounds.

    It cuts surplus digits off before it rounds to `precision` of them.
    """
    significand, denominator = abs(number).as_integer_ratio()
    exponent = 1 - denominator.bit_length()
    significand *= 5 ** -exponent
    required = (precision * 196 + 58) // 59
    surplus = (significand.bit_length() - required) * 59 // 196
    if surplus > 0:
        exponent += surplus
        significand //= 10 ** surplus
    digits = str(significand)
    if len(digits) > precision:
        exponent += len(digits) - precision
        rounded = int(digits[:precision]) + (digits[precision] >= "5")
        digits = str(rounded)
    kept = digits.rstrip("0")
    return kept or "0", exponent + len(digits) - len(kept)


def _short_text(number):
    """Returns the number with six digits: 1.500000e+00."""
    sign = "-" if number < 0 or str(number)[0] == "-" else ""
    if not number:
        return sign + "0.000000e+00"
    digits, exponent = _decimal(number, 6)
    exponent += len(digits) - 1
    mark = "-" if exponent < 0 else "+"
    return f"{sign}{digits[0]}.{digits[1:].ljust(6, '0')}e{mark}{abs(exponent):02d}"


def _exact_text(number, precision):
    """Returns `number` with at most `precision` digits, as APFloat writes it."""
    sign = "-" if number < 0 else ""
    digits, exponent = _decimal(number, precision)
    count = len(digits)
    if exponent >= 0:
        scientific = exponent > 3 or count + exponent > precision
    else:
        leading = exponent + count - 1
        scientific = leading < 0 and -leading > 3
    if scientific:
        exponent += count - 1
        rest = digits[1:] or "0"
        return f"{sign}{digits[0]}.{rest}E{'+' if exponent >= 0 else '-'}{abs(exponent)}"
    if exponent >= 0:
        return sign + digits + "0" * exponent
    whole = count + exponent
    if whole > 0:
        return f"{sign}{digits[:whole]}.{digits[whole:]}"
    return f"{sign}0.{'0' * -whole}{digits}"


def scalar_text(value, element_type):
    """Returns the text of an element of a dense array of `element_type`."""
    if isinstance(element_type, types.IntegerType):
        if element_type._text == "i1":
            return "true" if value else "false"
        return str(int(value))
    if isinstance(element_type, types.ComplexType):
        part = element_type.element_type
        if isinstance(part, types.IntegerType):
            return f"({int(value[0])},{int(value[1])})"
        return f"({float_text(value.real, part._text)},{float_text(value.imag, part._text)})"
    if isinstance(element_type, types.FloatType):
        return float_text(value, element_type._text)
    return str(int(value))


def nested_text(array, element_type):
    """Returns the text of an array as nested lists, a scalar without brackets."""
    if element_type._text in ("f32", "f64") and array.size:
        flat = [float_text(value, element_type._text) for value in array.reshape(-1)]
    elif isinstance(element_type, types.IntegerType) and element_type._text != "i1":
        flat = list(map(str, array.reshape(-1).tolist()))
    else:
        flat = [scalar_text(value, element_type) for value in array.reshape(-1)]
    for size in reversed(array.shape):
        flat = [f"[{', '.join(flat[i:i + size])}]" for i in range(0, len(flat), size or 1)]
    return flat[0]
