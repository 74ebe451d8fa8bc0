/**
 * Measures this machine's limits on one thread by minimal loops, with which times of operations are compared. The loops
 * use WebAssembly's vectors of 128 bits, as all compared packages do.
 */

const V128 = 0x7b;
const I32 = 0x7f;
const ACCUMULATORS = 12;
const ARRAY = 4 << 20; // bytes of 1M floats
const PAGES = (3 * ARRAY) >> 16;

function leb(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}
const vector = (items) => [...leb(items.length), ...items.flat()];
const section = (id, bytes) => [id, ...leb(bytes.length), ...bytes];
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const i32 = (value) => [0x41, ...signed(value)];
/** Encodes a non-negative number in signed LEB128. */
const signed = (value) => {
  const bytes = leb(value);
  return bytes.at(-1) & 64 ? [...bytes.slice(0, -1), bytes.at(-1) | 128, 0] : bytes;
};
const simd = (...code) => [0xfd, ...code.flatMap(leb)];
const LOAD = (offset) => [0xfd, 0, 4, ...leb(offset)];
const STORE = (offset) => [0xfd, 11, 4, ...leb(offset)];
const F32X4_ADD = simd(0xe4);
const F32X4_MUL = simd(0xe6);
const F32X4_DIV = simd(0xe7);

/** for (position = 0; position < end; position += step) body; locals: end, position, vectors. */
const counted = (step, body) => [
  0x03, 0x40, ...body,
  ...get(1), ...i32(step), 0x6a, 0x22, 1, ...get(0), 0x49, // i32.lt_u
  0x0d, 0, 0x0b,
];

const accumulators = Array.from({ length: ACCUMULATORS }, (_, i) => 2 + i);
const UNROLLED = [0, 16, 32, 48];
const FUNCTIONS = {
  /* a = a * a + a, with enough accumulators that no step waits for the result of another */
  multiplyAdd: counted(1, accumulators.flatMap((a) =>
    [...get(a), ...get(a), ...F32X4_MUL, ...get(a), ...F32X4_ADD, ...set(a)])),
  divide: counted(1, accumulators.flatMap((a) => [...get(a), ...get(a), ...F32X4_DIV, ...set(a)])),
  read: counted(64, UNROLLED.flatMap((offset, i) =>
    [...get(2 + i), ...get(1), ...LOAD(offset), ...F32X4_ADD, ...set(2 + i)])),
  write: counted(64, UNROLLED.flatMap((offset) => [...get(1), ...get(2), ...STORE(offset)])),
  copy: counted(64, UNROLLED.flatMap((offset) =>
    [...get(1), ...get(1), ...LOAD(offset), ...STORE(ARRAY + offset)])),
};

function compiled() {
  const names = Object.keys(FUNCTIONS);
  const bodies = Object.values(FUNCTIONS).map((code) => {
    const used = accumulators.map((a) => [...i32(0), ...get(a), ...STORE(0)]).flat(); // so that none is left out
    const body = [...vector([[...leb(1), I32], [...leb(ACCUMULATORS), V128]]), ...code, ...used, 0x0b];
    return [...leb(body.length), ...body];
  });
  const text = (name) => vector([...new TextEncoder().encode(name)].map((byte) => [byte]));
  const bytes = [
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, vector([[0x60, ...vector([[I32]]), 0]])),
    ...section(3, vector(names.map(() => [0]))),
    ...section(5, vector([[0, ...leb(PAGES)]])),
    ...section(7, vector(names.map((name, i) => [...text(name), 0, i]))),
    ...section(10, vector(bodies)),
  ];
  return new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(bytes))).exports;
}

/** Returns the time of the fastest of many short calls, as engines optimise a function only at a later call. */
function fastest(call) {
  let best = Infinity;
  const end = performance.now() + 500;
  while (performance.now() < end) {
    const start = performance.now();
    call();
    best = Math.min(best, performance.now() - start);
  }
  return best / 1e3;
}

const STEPS = 20000;
const STEP_FLOPS = ACCUMULATORS * 8;
const mostFlops = ({ multiplyAdd }) => (STEPS * STEP_FLOPS) / fastest(() => multiplyAdd(STEPS));

/** @returns {number} products and sums of f32 per second, in registers */
export const peak = () => mostFlops(compiled());

/** @returns {(milliseconds: number) => number} the mean rate over this time */
export function multiplyAddRate() {
  const { multiplyAdd } = compiled();
  return (milliseconds) => {
    const start = performance.now();
    let steps = 0, took = 0;
    for (; took < milliseconds; steps += STEPS) {
      multiplyAdd(STEPS);
      took = performance.now() - start;
    }
    return (steps * STEP_FLOPS * 1e3) / took;
  };
}

/**
 * @returns {{ instructions: number, divisions: number, copied: number }} in a second: vector instructions of 128 bits,
 * vector divisions, and bytes of memory, read or written
 */
export function rates() {
  const { multiplyAdd, divide, copy } = compiled();
  return {
    instructions: (STEPS * 2 * ACCUMULATORS) / fastest(() => multiplyAdd(STEPS)),
    divisions: (STEPS * ACCUMULATORS) / fastest(() => divide(STEPS)),
    copied: (2 * ARRAY) / fastest(() => copy(ARRAY)),
  };
}

/** @returns {Record<string, string>} the rate per second, by the name of the probe */
export function probe() {
  const loops = compiled();
  const { read, write, copy } = loops;
  const gigabytes = (call, bytes) => `${(bytes / fastest(() => call(ARRAY)) / 1e9).toPrecision(3)} GB/s`;
  const flops = mostFlops(loops);
  return {
    'multiply and add, f32': `${(flops / 1e9).toPrecision(3)} GFLOP/s`,
    'read 4 MB': gigabytes(read, ARRAY),
    'write 4 MB': gigabytes(write, ARRAY),
    'copy 4 MB (counted once)': gigabytes(copy, ARRAY),
  };
}
