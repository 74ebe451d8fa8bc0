/**
 * The blocks of GGUF's tensors: integers of a few bits that share a scale.
 * Source: github.com/ggml-org/ggml (layouts: src/ggml-common.h, values: src/ggml-quants.c)
 */
import { FLOAT_CODECS } from '../values/floats.mjs';
import { ELEMENT_TYPES, perByte, unpackElements } from '../values/types.mjs';

const { decode: halfOf } = FLOAT_CODECS.f16;
const bitsAt = (bytes, at) => bytes[at] | (bytes[at + 1] << 8);
const half = (bytes, at) => halfOf(bitsAt(bytes, at));

/** Packs numbers of four bits: the low halves of `count` bytes, then the high ones. */
function nibbles(bytes, at, count, out, to, flipped = 0) {
  for (let i = 0; i < count; i += 2) {
    const x = bytes[at + i], y = bytes[at + i + 1];
    out[to + i / 2] = (x & 15 | (y & 15) << 4) ^ flipped;
    out[to + (count + i) / 2] = (x >> 4 | y & 240) ^ flipped;
  }
}

/** As nibbles, with a fifth bit of each in the four bytes at `high`. */
function fives(bytes, high, at, out, to, offset) {
  for (let i = 0; i < 16; i++) {
    const low = (bytes[high + (i >> 3)] >> (i & 7)) & 1, top = (bytes[high + 2 + (i >> 3)] >> (i & 7)) & 1;
    out[to + i] = ((bytes[at + i] & 15) | (low << 4)) - offset;
    out[to + 16 + i] = ((bytes[at + i] >> 4) | (top << 4)) - offset;
  }
}

/** The scale and the minimum of part `i` of 8, six bits each in the twelve bytes of a K block. */
function sixes(bytes, at, i) {
  if (i < 4) return [bytes[at + i] & 63, bytes[at + 4 + i] & 63];
  const both = bytes[at + 4 + i];
  return [(both & 15) | ((bytes[at + i - 4] >> 6) << 4), (both >> 4) | ((bytes[at + i] >> 6) << 4)];
}

/** Scales and minima of a block of Q4_K and Q5_K: two halves and twelve bytes. */
function scalesOfK(bytes, at, { scales, mins }, to) {
  const scale = half(bytes, at), min = half(bytes, at + 2);
  for (let i = 0; i < 8; i++) {
    const [s, m] = sixes(bytes, at + 4, i);
    scales[to + i] = scale * s;
    mins[to + i] = -min * m;
  }
}

/**
 * By type: the elements and bytes of a block, the elements that share a scale, the element types, and a function that
 * writes block number `n`, which begins at byte `at`, to the arrays of quants (of four bits: packed), scales and mins (of f16: bits).
 */
export const BLOCKS = {
  Q8_0: {
    size: 32, bytes: 34, each: 32, quantType: 's8', scaleType: 'f16', read(bytes, at, { quants, scales }, n) {
      scales[n] = bitsAt(bytes, at);
      for (let i = 0; i < 32; i++) quants[n * 32 + i] = bytes[at + 2 + i]; // an Int8Array wraps
    },
  },
  Q4_0: {
    size: 32, bytes: 18, each: 32, quantType: 's4', scaleType: 'f16', read(bytes, at, { quants, scales }, n) {
      scales[n] = bitsAt(bytes, at);
      nibbles(bytes, at + 2, 16, quants, n * 16, 0x88); // x - 8 of four bits
    },
  },
  Q4_1: {
    size: 32, bytes: 20, each: 32, quantType: 'u4', scaleType: 'f16', hasMins: true, read(bytes, at, { quants, scales, mins }, n) {
      scales[n] = bitsAt(bytes, at);
      mins[n] = bitsAt(bytes, at + 2);
      nibbles(bytes, at + 4, 16, quants, n * 16);
    },
  },
  Q5_0: {
    size: 32, bytes: 22, each: 32, quantType: 's8', scaleType: 'f16', read(bytes, at, { quants, scales }, n) {
      scales[n] = bitsAt(bytes, at);
      fives(bytes, at + 2, at + 6, quants, n * 32, 16);
    },
  },
  Q5_1: {
    size: 32, bytes: 24, each: 32, quantType: 'u8', scaleType: 'f16', hasMins: true, read(bytes, at, { quants, scales, mins }, n) {
      scales[n] = bitsAt(bytes, at);
      mins[n] = bitsAt(bytes, at + 2);
      fives(bytes, at + 4, at + 8, quants, n * 32, 0);
    },
  },
  Q4_K: {
    size: 256, bytes: 144, each: 32, quantType: 'u4', scaleType: 'f32', hasMins: true, read(bytes, at, out, n) {
      scalesOfK(bytes, at, out, n * 8);
      for (let i = 0; i < 128; i += 32) nibbles(bytes, at + 16 + i, 32, out.quants, n * 128 + i);
    },
  },
  Q5_K: {
    size: 256, bytes: 176, each: 32, quantType: 'u8', scaleType: 'f32', hasMins: true, read(bytes, at, out, n) {
      scalesOfK(bytes, at, out, n * 8);
      for (let i = 0; i < 128; i++) {
        const to = n * 256 + (i >> 5) * 64 + (i & 31), byte = bytes[at + 48 + i], high = bytes[at + 16 + (i & 31)] >> (2 * (i >> 5));
        out.quants[to] = (byte & 15) | ((high & 1) << 4);
        out.quants[to + 32] = (byte >> 4) | ((high & 2) << 3);
      }
    },
  },
  Q6_K: {
    size: 256, bytes: 210, each: 16, quantType: 's8', scaleType: 'f32', read(bytes, at, { quants, scales }, n) {
      const scale = half(bytes, at + 208);
      for (let i = 0; i < 16; i++) scales[n * 16 + i] = scale * ((bytes[at + 192 + i] << 24) >> 24);
      for (let i = 0; i < 256; i++) {
        const part = i >> 7, within = i & 127; // each half: four runs of 32, the low bits of two of them in one byte
        const low = bytes[at + 64 * part + (within & 63)] >> (within >= 64 ? 4 : 0);
        const high = bytes[at + 128 + 32 * part + (within & 31)] >> (2 * (within >> 5));
        quants[n * 256 + i] = ((low & 15) | ((high & 3) << 4)) - 32;
      }
    },
  },
};

/**
 * @param {string} type one of BLOCKS
 * @param {Uint8Array} bytes whole blocks
 * @returns {{ quants: Int8Array | Uint8Array, scales: Uint16Array | Float32Array, mins?: Uint16Array | Float32Array,
 *   quantType: string, scaleType: string, blockSize: number }} quants of four bits are packed, scales of f16 are bits
 */
export function partsOf(type, bytes) {
  const { size, bytes: each, each: blockSize, quantType, scaleType, hasMins, read } = BLOCKS[type];
  const count = bytes.length / each, scaleCount = (count * size) / blockSize;
  const Scales = scaleType === 'f16' ? Uint16Array : Float32Array;
  const isPacked = perByte(ELEMENT_TYPES.get(quantType)) > 1;
  const quants = isPacked ? new Uint8Array(count * size / 2) : new (ELEMENT_TYPES.get(quantType).Array)(count * size);
  const scales = new Scales(scaleCount), mins = hasMins ? new Scales(scaleCount) : undefined;
  for (let n = 0; n < count; n++) read(bytes, n * each, { quants, scales, mins }, n);
  return { quants, scales, mins, quantType, scaleType, blockSize };
}

/** @returns {Float32Array} the values of whole blocks */
export function dequantized(type, bytes) {
  const { quants: given, scales, mins, quantType, scaleType, blockSize } = partsOf(type, bytes);
  const count = scales.length * blockSize, quant = ELEMENT_TYPES.get(quantType);
  const quants = perByte(quant) > 1 ? unpackElements(quant, given, count) : given;
  const values = new Float32Array(count);
  const number = scaleType === 'f16' ? halfOf : (value) => value;
  for (let block = 0; block < scales.length; block++) {
    const scale = number(scales[block]), min = mins && number(mins[block]);
    for (let i = block * blockSize; i < (block + 1) * blockSize; i++) {
      values[i] = scale * quants[i];
      if (mins) values[i] += min; // -0 + 0 would be 0
    }
  }
  return values;
}
