/**
 * Loops of products with narrow numbers are a module inside the module, which src/kernels/contraction/inner/relax.c rewrites for
 * engines with and without relaxed SIMD. Node 20 has relaxed SIMD behind a flag.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

import { BinaryReader, BinaryReaderState, OperatorCodeNames } from 'wasmparser';

import { products, ROUNDING } from '../support/narrow_products.mjs';
import { output } from '../support/project.mjs';
import { ALL } from '../support/sample.mjs';

const ROOT = new URL('../../', import.meta.url);
const HAS_FLAG = process.versions.node.startsWith('20.');
const RELAXED = HAS_FLAG ? ['--experimental-wasm-relaxed-simd'] : [];

/** The modules in a module's data. Each is followed by other bytes. */
function embedded(bytes) {
  const magic = Buffer.from('\0asm\x01\0\0\0\x01', 'latin1'), found = []; // and a section of types
  for (let at = bytes.indexOf(magic, 1); at > 0; at = bytes.indexOf(magic, at + 1)) found.push(Uint8Array.from(bytes.subarray(at)));
  return found;
}

/** The places of a module's instructions, and their names; where the bodies of its functions begin and end. */
function instructions(bytes) {
  const reader = new BinaryReader(), names = new Map(), bodies = [];
  reader.setData(bytes.buffer, 0, bytes.length);
  for (let before = 0; reader.read() && !(bodies.length > 0 && reader.state === BinaryReaderState.END_SECTION); before = reader.position) {
    if (reader.state === BinaryReaderState.BEGIN_FUNCTION_BODY) bodies.push([reader.position]);
    if (reader.state === BinaryReaderState.CODE_OPERATOR) names.set(before, OperatorCodeNames[reader.result.code]);
    if (reader.state === BinaryReaderState.END_FUNCTION_BODY) bodies.at(-1).push(reader.position);
  }
  return { names, bodies };
}

/** What relax.c looks for. */
const NAMES = { 12: 'v128.const', '128,2': 'i8x16.relaxed_swizzle', '133,2': 'f32x4.relaxed_madd', '135,2': 'f64x2.relaxed_madd' };

test('the bytes that are looked for are instructions, of those whose form an engine may choose the only ones', () => {
  const modules = embedded(readFileSync(new URL('build/dist/xla-threads.wasm', ROOT))).map((bytes) => ({ bytes, ...instructions(bytes) }));
  const { bytes, names, bodies } = modules.find(({ names: own }) => [...own.values()].includes('i8x16.relaxed_swizzle'));
  assert.ok(bodies.length > 50 && names.size > 10_000, `${bodies.length} ${names.size}`);
  const found = new Set();
  for (const [begin, end] of bodies) {
    for (let at = begin; at < end; at++) {
      if (bytes[at] !== 0xfd) continue;
      const name = NAMES[bytes[at + 1]] ?? NAMES[[bytes[at + 1], bytes[at + 2]]];
      if (!name) continue;
      assert.equal(names.get(at), name, `byte ${at}`);
      found.add(at);
      if (name === 'v128.const') at += 17;
    }
  }
  for (const [at, name] of names) if (/relaxed|v128\.const/.test(name)) assert.ok(found.has(at), `${name} at byte ${at}`);
  // The copy of its types that relax.c keeps has room for eight.
  assert.ok(bytes[10] <= 8);
});

test('products are right in an engine with relaxed SIMD', { skip: !HAS_FLAG }, async () => {
  // The tests that are left out check plans and the sizes of temporaries. These are the same in every engine.
  const numbers = ALL ? [] : ['--test-name-pattern=^(a number times|zero points|infinities|all numbers|sizes on|blocks of|units|bytes of|packed)'];
  const file = fileURLToPath(new URL('quantised.test.mjs', import.meta.url));
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }; // else it would not print the number
  const said = await output(process.execPath, [...RELAXED, ...numbers, file], { seconds: 900, env });
  assert.match(said, ALL ? /^# skipped 0$/m : /^# skipped 6$/m);
});

const PRODUCTS = fileURLToPath(new URL('../support/narrow_products.mjs', import.meta.url));
const elsewhere = async (flags, fused) => JSON.parse(await output(process.execPath, [...flags, PRODUCTS, fused]));

test("'never' gives the same bits with and without relaxed SIMD, 'auto' fuses with it", async () => {
  const [never, relaxed, fused] = await Promise.all([products('never'), elsewhere(RELAXED, 'never'), elsewhere(RELAXED, 'auto')]);
  assert.deepEqual(relaxed, never);
  for (const [name, values] of Object.entries(fused)) {
    assert.notDeepEqual(values, never[name], name);
    values.forEach((x, i) => assert.ok(Math.abs(x - never[name][i]) < ROUNDING, `${name}: ${x} is not ${never[name][i]}`));
  }
});
