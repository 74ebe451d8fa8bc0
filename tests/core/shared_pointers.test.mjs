/**
 * Loads whose elements lie at a constant distance use one pointer (src/codegen/loops/pointer_emitter.c). The tests count the
 * locals that hold addresses of loads in generated code, and compare the results with the evaluator's.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import * as parser from 'wasmparser';

import { wasmText } from '../../bindings/cli/wasm_text.mjs';
import { Client } from '../../bindings/index.mjs';
import { agrees, whole } from '../support/as_written.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The loads of vectors in a program's code: { pointer, offset }, where `pointer` is the local with the address. */
async function loadsOf(text) {
  const module = client.parseHlo(text), executable = await client.compile(module);
  const code = wasmText(parser, executable.generatedCode(), executable.thunks());
  executable.dispose();
  module.dispose();
  return Array.from(code.matchAll(/local\.get (\S+)\s+(?:v128|i\d+x\d)\.load\w*(?: offset=(\d+))?/g), ([, pointer, offset]) => (
    { pointer, offset: Number(offset ?? 0) }));
}

const sum = (type, names) => names.map((name, i) => (i === 0 ? '' : `\n ${i === names.length - 1 ? 'ROOT ' : ''}r${i} = ${type} add(${
  i === 1 ? names[0] : `r${i - 1}`}, ${name})`)).join('');

/** A sum of slices of x; each slice is [first row, first column], in this order. */
const slices = (type, places) => `HloModule m\nENTRY e { x = ${type}[9,50] parameter(0)\n ${
  places.map(([i, j], k) => `t${k} = ${type}[5,45] slice(x), slice={[${i}:${i + 5}], [${j}:${j + 45}]}`).join('\n ')
}${sum(`${type}[5,45]`, places.map((_, k) => `t${k}`))} }`;
const TAPS = Array.from({ length: 25 }, (_, k) => [k / 5 | 0, k % 5]);

/** A sum of two slices of x, each by its starts. */
const moved = (first, second) => `HloModule m\nENTRY e { x = f32[9,50] parameter(0)
 p = s32[] parameter(1)\n q = s32[] parameter(2)\n y = f32[5,45] slice(x), slice={[1:6], [2:47]}
 a = f32[5,45] dynamic-slice(x, ${first}), dynamic_slice_sizes={5,45}
 b = f32[5,45] dynamic-slice(x, ${second}), dynamic_slice_sizes={5,45}
 c = f32[5,45] add(a, b)\n ROOT d = f32[5,45] multiply(c, y) }`;

/** A loop whose arrays are of one memory: two of a type and one of another. */
const loop = (type, other) => {
  const state = `(s32[], ${type}[64], ${type}[64], ${other}[64])`;
  return `HloModule m
more { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)\n ROOT r = pred[] compare(i, n), direction=LT }
turn { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0
  a = ${type}[64] get-tuple-element(s), index=1\n b = ${type}[64] get-tuple-element(s), index=2
  c = ${other}[64] get-tuple-element(s), index=3\n d = ${type}[64] convert(c)
  one = s32[] constant(1)\n j = s32[] add(i, one)\n t = ${type}[64] subtract(b, a)\n u = ${type}[64] add(t, d)
  v = ${type}[64] subtract(u, b)\n w = ${other}[64] convert(v)
  ROOT r = ${state} tuple(j, u, t, w) }
ENTRY e { o = s32[] parameter(3)\n a = ${type}[64] parameter(0)\n b = ${type}[64] parameter(1)\n c = ${other}[64] parameter(2)
  t = ${state} tuple(o, a, b, c)\n w = ${state} while(t), condition=more, body=turn
  x = ${type}[64] get-tuple-element(w), index=1\n y = ${type}[64] get-tuple-element(w), index=2
  z = ${other}[64] get-tuple-element(w), index=3\n q = ${type}[64] convert(z)\n v = ${type}[64] multiply(x, q)
  ROOT u = ${type}[64] add(v, y) }`;
};

/** [program, how many pointers its loads have] */
const PROGRAMS = {
  'the taps of a stencil': [slices('f32', TAPS), 1],
  'taps from the last to the first': [slices('s32', TAPS.toReversed()), 1],
  'taps around the first one, of 16 bits': [slices('s16', [[2, 2], [1, 2], [2, 1], [2, 3], [3, 2]]), 1],
  'slices that begin at one place, which is known when it runs': [moved('p, q', 'p, q').replace(', y)', ', c)'), 1],
  'slices that begin at two places': [moved('p, q', 'q, p'), 3],
  'slices whose rows begin at two places': [moved('p, q', 'q, q'), 3],
  'slices of every row and of every other row': [`HloModule m\nENTRY e { x = f32[9,40] parameter(0)
    a = f32[4,40] slice(x), slice={[1:5], [0:40]}\n b = f32[4,40] slice(x), slice={[0:8:2], [0:40]}
    c = f32[4,40] slice(x), slice={[2:6], [0:40]}\n d = f32[4,40] add(a, b)\n ROOT r = f32[4,40] subtract(d, c) }`, 2],
  'two arguments': [`HloModule m\nENTRY e { x = f32[99] parameter(0)\n y = f32[99] parameter(1)
    ROOT r = f32[99] subtract(x, y) }`, 2],
};

for (const [title, [text, count]] of Object.entries(PROGRAMS)) {
  test(`loads share pointers: ${title}`, async () => {
    const pointers = new Set((await loadsOf(text)).map(({ pointer }) => pointer));
    assert.equal(pointers.size, count, [...pointers].join());
    await agrees(client, text, (i, k, type) => (title.includes('begin') && type === 's32' ? 3 - k : whole(i, k)));
  });
}

for (const [other, isShared] of [['f32', true], ['s16', false]]) {
  test(`arrays of ${other} beside those of f32 in one memory ${isShared ? 'share' : 'do not share'} their pointer`, async () => {
    const text = loop('f32', other), loads = await loadsOf(text);
    assert.ok(loads.length > 0);
    assert.equal(loads.some(({ offset }) => offset >= 4 * 64), isShared); // the distance of two arrays
    await agrees(client, text);
  });
}
