/**
 * The float formats that JavaScript has no typed array for: their bits from a number (rounded to
 * nearest, ties to even) and back.
 */

/*
 * A format: exponent bits, mantissa bits, exponent bias, and the kind of its special values:
 *   'ieee'  infinities and NaNs in the highest exponent
 *   'fn'    no infinities; NaN where exponent and mantissa are all ones
 *   'fnuz'  no infinities, no negative zero; its bits are the NaN
 *   'fnu'   unsigned powers of two, no zero; NaN where all bits are ones
 *   'all'   none: too large a number becomes the largest, NaN becomes negative zero
 * After the papers: IEEE 754, Micikevicius et al. (arXiv 2209.05433), Noune et al. (2206.02915),
 * Rouhani et al. (2310.10537).
 */
const FORMATS = {
  f16: [5, 10, 15, 'ieee'],
  bf16: [8, 7, 127, 'ieee'],
  f8e5m2: [5, 2, 15, 'ieee'],
  f8e4m3: [4, 3, 7, 'ieee'],
  f8e3m4: [3, 4, 3, 'ieee'],
  f8e4m3fn: [4, 3, 7, 'fn'],
  f8e4m3b11fnuz: [4, 3, 11, 'fnuz'],
  f8e5m2fnuz: [5, 2, 16, 'fnuz'],
  f8e4m3fnuz: [4, 3, 8, 'fnuz'],
  f8e8m0fnu: [8, 0, 127, 'fnu'],
  f4e2m1fn: [2, 1, 1, 'all'],
};

function describeFormat([exponentBits, mantissaBits, bias, kind]) {
  const sign = 2 ** (exponentBits + mantissaBits);
  const infinity = sign - 2 ** mantissaBits; // the exponent all ones, the mantissa zero
  const endsInNaN = kind === 'fn' || kind === 'fnu';
  const largest = kind === 'ieee' ? infinity - 1 : endsInNaN ? sign - 2 : sign - 1;
  const nan = kind === 'ieee' ? infinity + 2 ** (mantissaBits - 1) : endsInNaN ? sign - 1 : sign;
  return { mantissaBits, sign, infinity, largest, nan, smallestExponent: 1 - bias, kind };
}

/** floor(log2(x)) of a positive finite number, subnormal doubles taken as the smallest normal. */
const float64 = new Float64Array(1);
const float64Bits = new Uint32Array(float64.buffer); // little-endian, as all of WebAssembly
function exponentOf(x) {
  float64[0] = x;
  return Math.max(float64Bits[1] >>> 20, 1) - 1023;
}

/** 2 ** exponent of a normal double: a power by `**` takes most of the time of encode(). */
function powerOfTwo(exponent) {
  float64Bits[0] = 0;
  float64Bits[1] = (exponent + 1023) << 20;
  return float64[0];
}

/** x >= 0 to the nearest integer, ties to even; exact for x < 2^52. */
function roundToEven(x) {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

function encode(format, x) {
  const { mantissaBits, sign, infinity, largest, nan, smallestExponent, kind } = format;
  if (Number.isNaN(x)) return nan;
  const negative = x < 0 || Object.is(x, -0) ? sign : 0;
  const overflow = { ieee: infinity + negative, all: largest + negative }[kind] ?? nan;
  const magnitude = Math.abs(x);
  if (magnitude === Infinity) return overflow;
  const exponent = Math.max(exponentOf(magnitude), smallestExponent);
  // In units of the last place. A carry into the next exponent comes out right by itself.
  const units = roundToEven(magnitude * powerOfTwo(mantissaBits - exponent));
  const bits = units + (exponent - smallestExponent) * (1 << mantissaBits);
  if (bits > largest) return overflow;
  return bits === 0 && kind === 'fnuz' ? 0 : bits + negative;
}

function decode(format, bits) {
  const { mantissaBits, sign, infinity, largest, smallestExponent, kind } = format;
  if (kind === 'fnuz' && bits === sign) return NaN;
  const magnitude = bits % sign;
  const negative = bits >= sign ? -1 : 1;
  if (magnitude > largest) return magnitude === infinity ? negative * Infinity : NaN;
  const exponent = magnitude >> mantissaBits; // biased
  const mantissa = magnitude & ((1 << mantissaBits) - 1);
  const units = exponent === 0 ? mantissa : mantissa + (1 << mantissaBits);
  return negative * units * powerOfTwo(smallestExponent + Math.max(exponent - 1, 0) - mantissaBits);
}

/** Returns the exponent of the nearest power of two; of two that are equally near, the greater. */
function encodePower({ largest, nan, smallestExponent }, x) {
  if (!(x > 0) || x === Infinity) return nan;
  let exponent = exponentOf(x);
  if (x >= 1.5 * 2 ** exponent) exponent++;
  const bits = Math.max(exponent - smallestExponent + 1, 0);
  return bits > largest ? nan : bits;
}

function decodePower({ nan, smallestExponent }, bits) {
  return bits === nan ? NaN : 2 ** (bits + smallestExponent - 1);
}

function makeCodec(row) {
  const format = describeFormat(row);
  if (format.kind === 'fnu') {
    const decodeBits = (bits) => decodePower(format, bits);
    return {
      encode: (x) => encodePower(format, x),
      decode: decodeBits,
      lowest: decodeBits(0),
      highest: decodeBits(format.largest),
    };
  }
  const highest = format.kind === 'ieee' ? Infinity : decode(format, format.largest);
  return {
    encode: (x) => encode(format, x),
    decode: (bits) => decode(format, bits),
    lowest: -highest,
    highest,
  };
}

/**
 * By element type: `encode` makes the bits of a number, `decode` the number of bits; `lowest`
 * and `highest` are the extreme values that are not NaN.
 * @type {Record<string, {
 *   encode: (x: number) => number,
 *   decode: (bits: number) => number,
 *   lowest: number,
 *   highest: number,
 *   mantissaBits: number,
 *   isIeee: boolean,
 * }>}
 */
export const FLOAT_CODECS = Object.fromEntries(
  Object.entries(FORMATS).map(([type, row]) => [type, { ...makeCodec(row), mantissaBits: row[1], isIeee: row[3] === 'ieee' }]),
);
