/** Invalid values, and the check of their outcome: an XlaError of a fitting code, at once. */
import assert from 'node:assert/strict';

import { describe, STATUS_CODES } from '../../bindings/base/error.mjs';
import { HloModule, Literal, XlaError, XlaOp } from '../../bindings/index.mjs';

/** A program to attack with. */
export const ADD = `HloModule add
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT sum = f32[2] add(x, y)
}`;

export class Defence extends Error {} // a new one each time: one that a caller's function threw passes as it is
export const trap = () => {
  throw new Defence('the value defends itself');
};
export const TRAPS = Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((name) => [name, trap]));

export function detached(array) {
  structuredClone(array, { transfer: [array.buffer] });
  return array;
}

function deep(depth) {
  let array = [];
  for (let i = 0; i < depth; i++) array = [array];
  return array;
}

function selfContaining() {
  const array = [1];
  array.push(array);
  array[0] = array;
  return array;
}

function revoked() {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

/** An array whose buffer became shorter than it was made for. */
function shrunk() {
  const buffer = new ArrayBuffer(32, { maxByteLength: 64 });
  const array = new Float32Array(buffer, 16, 4);
  buffer.resize(8);
  return array;
}

/** An array that looks different every time. */
function shifty() {
  let count = 0;
  return new Proxy([1, 2, 3], { get: (target, name) => {
    if (name === 'length') return count++ % 5;
    return name === Symbol.iterator ? undefined : target[name];
  } });
}

/**
 * Large values, which someone may pass by mistake in place of a number or of options. Code that compares each element with
 * each other one takes longer than SOON for them.
 */
const MANY = {
  bytes: new Uint8Array(2e5), floats: new Float64Array(1e5), entries: new Array(1e5).fill(1), word: 'x'.repeat(1e6),
};

export const hostile = (client, other) => ({
  undefined, null: null, true: true, symbol: Symbol('s'), zero: 0, minus: -1, NaN: NaN,
  Infinity, huge: 1e300, safe: 2 ** 53, bigint: 10n ** 40n, fraction: 0.5,
  empty: '', word: 'x', nul: '\0', long: 'a'.repeat(1e5), braces: '{'.repeat(1e5), '%': '%s%n{}="',
  object: {}, bare: Object.create(null), list: [], word_list: ['x'], nulls: [null],
  holes: new Array(3), vast: new Array(2 ** 32 - 1),
  self: selfContaining(), deep: deep(20_000), object_in_list: [{}], symbol_in_list: [Symbol('t')],
  detached: detached(new Float32Array(4)), detached_in_list: [detached(new Float32Array(2))],
  view: new DataView(new ArrayBuffer(8)), buffer: new ArrayBuffer(8), bytes: new Uint8Array(3),
  function: () => 1, class: Map, map: new Map(), date: new Date(NaN), promise: Promise.resolve(),
  revoked: revoked(), shifty: shifty(),
  traps: new Proxy({}, TRAPS), list_traps: new Proxy([1], TRAPS),
  function_traps: new Proxy(() => {}, TRAPS),
  getter: { get replicas() { return trap(); }, get dimensions() { return trap(); } },
  getter_in_list: [{ get shape() { return trap(); } }],
  many_bytes: MANY.bytes, many_floats: MANY.floats, many_entries: MANY.entries, many_words: MANY.word,
  words: { toString: trap, valueOf: trap, [Symbol.toPrimitive]: trap },
  named: { constructor: { name: Symbol('n') } },
  unknown: { unheardOf: 1 },
  a_client: client, another_client: other,
  imitation: Object.create(XlaOp.prototype), literal_imitation: Object.create(Literal.prototype),
  module_imitation: Object.create(HloModule.prototype), op_proxy: new Proxy(opOf(client), {}),
  foreign_op: opOf(other), foreign_buffer: other.buffer([1, 2]),
  foreign_module: other.parseHlo('ENTRY e { ROOT r = f32[] constant(1) }'),
  disposed_buffer: disposed(client.buffer([1, 2])),
  disposed_module: disposed(client.parseHlo('ENTRY e { ROOT r = f32[] constant(1) }')),
  foreign_shape: { elementType: 'f32', dimensions: [-1] },
  shared: new SharedArrayBuffer(8), shared_view: new Float32Array(new SharedArrayBuffer(16)),
  shrunk: shrunk(), bigints: new BigInt64Array(2), words_of_js: '__proto__', constructor_name: 'constructor',
  like_a_list: { length: 3, 0: 1 }, like_a_vast_list: { length: 2 ** 53 - 1 }, odd_length: { length: -1 },
  endless: { *[Symbol.iterator]() { for (;;) yield 1; } }, set: new Set([1]), error: new Error('x'),
  async: async () => 1, generator: (function* () { yield 1; })(), frozen: Object.freeze([Object.freeze({})]),
  entries: [[0, 1, 2], [{}], [NaN], [2n ** 70n], ['\u{1F600}']], large_list: new Array(100_000).fill(1e308),
  minus_zero: -0, half_list: [0.5], minus_list: [-1], huge_list: [2 ** 31], safe_list: [2 ** 53], pair: [[1, -1]],
});

function opOf(client) {
  return client.builder('b').parameter(0, 'f32[2,2]');
}

export function disposed(thing) {
  thing.dispose();
  return thing;
}

/** Checks that an error may leave the package. */
export function checkError(error, what) {
  assert.ok(error instanceof XlaError, `${what}: ${error?.stack ?? String(error)}`);
  assert.ok(STATUS_CODES.includes(error.code) && error.code !== 'OK', `${what}: ${error.code}`);
  assert.notEqual(error.code, 'INTERNAL', `${what}: ${error.stack}`);
  assert.equal(typeof error.message, 'string', what);
  assert.ok(error.message.length <= 10_000, `${what}: ${error.message.length} characters`);
  // Of our own mistakes, the boundary makes XlaErrors too: they have them as their cause.
  if (error.cause === undefined || error.cause?.code) return; // a code: Node's
  if (error.cause instanceof Defence) {
    assert.match(error.message, /argument \d+ cannot be read/, `${what}: ${error.message}`);
    return;
  }
  const isOurs = /Cannot read|is not a function|is not defined|not iterable|null|Reduce of/;
  const text = String(error.cause?.message);
  const ofTheProxy = /revoked|TypedArray|detached/.test(text);
  if (ofTheProxy) assert.match(error.message, /argument \d+ cannot be read|was disposed|must be/, `${what}: ${error.message}`);
  assert.ok(ofTheProxy || !isOurs.test(text), `${what}: ${error.cause?.stack}`);
}

/** Values of a kind that no argument takes; functions that take what can be awaited wait for a promise. */
const OF_NO_KIND = new Set(['symbol', 'map', 'date', 'set', 'error']);

/** Checks that an error names the argument, the value that came and the kind that is wanted. */
export function checkWords(error, what, kind, argument, value) {
  if (!OF_NO_KIND.has(kind) || error.code !== 'INVALID_ARGUMENT') return;
  const { message } = error;
  assert.match(message, new RegExp(`\\b${argument}\\b`), `${what} does not name ${argument}: ${message}`);
  assert.ok(message.includes(describe(value)), `${what} does not say what came: ${message}`);
  assert.match(message, /\bmust be\b|\bneeds\b|cannot hold|there are|did you mean/, `${what} does not say what is wanted: ${message}`);
}

const SOON = 3000; // milliseconds, on a busy machine

/** Calls, and waits for a returned promise. The call must neither hang nor throw another kind of error. */
export async function attack(what, call) {
  const start = performance.now();
  try {
    const result = call();
    if (result instanceof Promise) await result;
    return result;
  } catch (error) {
    checkError(error, what);
    return error;
  } finally {
    const took = performance.now() - start;
    assert.ok(took < SOON, `${what} took ${took} ms`);
  }
}

/** Each of `args` replaced by each hostile value. */
export async function attackAll(name, values, args, call) {
  for (let position = 0; position < args.length; position++) {
    for (const [kind, value] of Object.entries(values)) {
      await attack(`${name}(${position}: ${kind})`, () => call(args.with
        ? args.with(position, value)
        : args.map((arg, i) => (i === position ? value : arg))));
    }
  }
}
