/**
 * Products whose scales and zero points are taken by a list of groups, one for each place of the depth: if place i is in group
 * i / block, they are repeated instead. The list is known at run time only. Sums are exact in any order.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees, whole } from '../support/as_written.mjs';
import { afterPass } from '../support/passes.mjs';

const client = await Client.create({ threads: 0 });
after(() => client.dispose());

/** Returns a program: `rows` vectors times (w - zeros[list]) * scales[list]. With `checked`, entries out of range give NaN, as in JAX. */
function program({
  rows = 1, depth = 256, columns = 96, groups = 4, turned = false, checked = true, type = 's8', list = 'l = s32[K] parameter(1)',
} = {}) {
  const last = groups - 1, table = turned ? `${columns},${groups}` : `${groups},${columns}`;
  const turn = (name, of) => (turned ? `${name} = ${of}[G,N] transpose(${name}0), dimensions={1,0}` : `${name} = ${of}[G,N] copy(${name}0)`);
  const numbers = 'offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,N}';
  const take = (name, of, missing) => `${name}_1 = ${of}[K,N] gather(${name}, at), ${numbers}
  ${name}_2 = ${of}[] constant(${missing})
  ${name}_3 = ${of}[K,N] broadcast(${name}_2), dimensions={}
  ${name}_4 = ${of}[K,N] ${checked ? `select(inside, ${name}_1, ${name}_3)` : `copy(${name}_1)`}`;
  return `HloModule m
all { a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT c = pred[] and(a, b) }
ENTRY e { x = f32[${rows},K] parameter(0)
  ${list}
  ${turned ? `w0 = ${type}[N,K] parameter(2)\n w = ${type}[K,N] transpose(w0), dimensions={1,0}` : `w = ${type}[K,N] parameter(2)`}
  s0 = f32[${table}] parameter(3)
  z0 = s8[${table}] parameter(4)
  ${turn('s', 'f32')}
  ${turn('z', 's8')}
  at = s32[K,1] reshape(l)
  none = s32[] constant(0)
  nones = s32[K,1] broadcast(none), dimensions={}
  low = pred[K,1] compare(at, nones), direction=GE
  most = s32[] constant(${last})
  mosts = s32[K,1] broadcast(most), dimensions={}
  high = pred[K,1] compare(at, mosts), direction=LE
  both = pred[K,1] and(low, high)
  yes = pred[] constant(true)
  one = pred[K] reduce(both, yes), dimensions={1}, to_apply=all
  inside = pred[K,N] broadcast(one), dimensions={0}
  ${take('s', 'f32', 'nan')}
  ${take('z', 's8', -128)}
  zf = f32[K,N] convert(z_4)
  wf = f32[K,N] convert(w)
  d = f32[K,N] subtract(wf, zf)
  y = f32[K,N] multiply(d, s_4)
  ROOT r = f32[${rows},N] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`
    .replace(/\bK\b/g, depth).replace(/\bN\b/g, columns).replace(/\bG\b/g, groups);
}

const splits = (text) => / conditional\(/.test(afterPass(text, 'regular-indices') ?? '');

/** Values of parameters, with a list. */
const withList = (list) => (i, k, type) => (k === 1 ? list(i) : k === 3 ? 2 ** (i % 3) : whole(i, k, type));

describe('groups by a list', () => {
  const lists = {
    regular: (i, block) => Math.floor(i / block),
    'regular but for the last place': (i, block, depth) => (i === depth - 1 ? 0 : Math.floor(i / block)),
    'regular but for the first place': (i, block) => (i === 0 ? 1 : Math.floor(i / block)),
    reordered: (i, block, depth) => Math.floor(((i * 37) % depth) / block),
    'with places out of range': (i, block) => (i === 5 ? 1000 : i === 9 ? -7 : Math.floor(i / block)),
    'of other blocks': (i, block) => Math.floor(i / (2 * block)),
  };
  for (const turned of [false, true]) {
    for (const checked of [true, false]) {
      test(`${turned ? 'turned tables, ' : ''}${checked ? 'checked' : 'clamped'}`, async () => {
        for (const [rows, type] of [[1, 's8'], [3, 's4'], [24, 's8']]) {
          const source = program({ turned, checked, rows, type });
          assert.ok(splits(source));
          for (const list of Object.values(lists)) await agrees(client, source, withList((i) => list(i, 64, 256)));
        }
      });
    }
  }

  test('a regular list reads blocks with one scale: the branch has no gather, and no check', () => {
    const text = afterPass(program(), 'regular-indices'), [regular, general] = text.split(/^regular_/m).slice(1);
    assert.doesNotMatch(regular, / gather\(/);
    assert.match(general, / gather\(/);
    assert.match(regular, /f32\[4,64,96\]\S* broadcast\(/);
  });

  test('nothing of the matrix\'s size is written', async () => {
    for (const turned of [false, true]) {
      const executable = await client.compile(client.parseHlo(program({ depth: 512, columns: 512, turned })));
      const { temporaries } = executable.memory;
      executable.dispose();
      assert.ok(temporaries < 512 * 512, `${temporaries} bytes, ${turned}`);
    }
  });

  test('sizes', async () => {
    const forms = [
      [{ depth: 128, columns: 128, groups: 4 }, true], [{ depth: 128, columns: 127, groups: 4 }, false], // MIN_MATRIX
      [{ groups: 32 }, true], [{ groups: 64 }, false], [{ groups: 1 }, true], [{ groups: 256 }, false], // MIN_BLOCK
      [{ groups: 5 }, false], // which do not divide the depth
    ];
    for (const [form, does] of forms) {
      const source = program(form), { depth = 256, groups = 4 } = form;
      assert.equal(splits(source), does, JSON.stringify(form));
      await agrees(client, source, withList((i) => Math.floor((i * groups) / depth)));
      await agrees(client, source, withList((i) => (i * 7) % groups));
    }
  });

  test('a list in a loop, of layers that are stacked', async () => {
    const source = `HloModule m
body { t = (s32[], f32[1,128], s32[2,128], s8[2,128,128], f32[2,4,128]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[1,128] get-tuple-element(t), index=1
  ls = s32[2,128] get-tuple-element(t), index=2
  ws = s8[2,128,128] get-tuple-element(t), index=3
  ss = f32[2,4,128] get-tuple-element(t), index=4
  zero = s32[] constant(0)
  l1 = s32[1,128] dynamic-slice(ls, i, zero), dynamic_slice_sizes={1,128}
  at = s32[128,1] reshape(l1)
  w1 = s8[1,128,128] dynamic-slice(ws, i, zero, zero), dynamic_slice_sizes={1,128,128}
  w = s8[128,128] reshape(w1)
  s1 = f32[1,4,128] dynamic-slice(ss, i, zero, zero), dynamic_slice_sizes={1,4,128}
  s = f32[4,128] reshape(s1)
  g = f32[128,128] gather(s, at), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,128}
  wf = f32[128,128] convert(w)
  y = f32[128,128] multiply(wf, g)
  r = f32[1,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  two = f32[] constant(0.0078125)
  twos = f32[1,128] broadcast(two), dimensions={}
  q = f32[1,128] multiply(r, twos)
  f = f32[1,128] floor(q)
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT o = (s32[], f32[1,128], s32[2,128], s8[2,128,128], f32[2,4,128]) tuple(n, f, ls, ws, ss) }
cond { t = (s32[], f32[1,128], s32[2,128], s8[2,128,128], f32[2,4,128]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  two = s32[] constant(2)
  ROOT p = pred[] compare(i, two), direction=LT }
ENTRY e { x = f32[1,128] parameter(0)
  ls = s32[2,128] parameter(1)
  ws = s8[2,128,128] parameter(2)
  ss = f32[2,4,128] parameter(3)
  zero = s32[] constant(0)
  t = (s32[], f32[1,128], s32[2,128], s8[2,128,128], f32[2,4,128]) tuple(zero, x, ls, ws, ss)
  u = (s32[], f32[1,128], s32[2,128], s8[2,128,128], f32[2,4,128]) while(t), condition=cond, body=body
  ROOT r = f32[1,128] get-tuple-element(u), index=1 }`;
    assert.ok(splits(source));
    const regular = (i) => Math.floor((i % 128) / 32);
    for (const list of [regular, (i) => (i < 128 ? regular(i) : (i * 5) % 4), (i) => i % 4]) await agrees(client, source, withList(list));
  });

  test('as it was: a list that is a constant', () => {
    const numbers = Array.from({ length: 256 }, (_, i) => (i * 7) % 4).join();
    assert.ok(!splits(program({ list: `unused = s32[] parameter(1)\n l = s32[K] constant({${numbers}})` })));
  });
});

/** Fields whose sign the program extends, as keras does. */
test('fields (q ^ 8) - 8 are signed', async () => {
  const source = (half, sub = half, word = 's8') => `HloModule m
ENTRY e { x = f32[1,128] parameter(0)
  q = ${word}[96,64] parameter(1)
  f15 = ${word}[] constant(15)
  m = ${word}[96,64] broadcast(f15), dimensions={}
  four = ${word}[] constant(4)
  n = ${word}[96,64] broadcast(four), dimensions={}
  eight = ${word}[] constant(${half})
  h = ${word}[96,64] broadcast(eight), dimensions={}
  other = ${word}[] constant(${sub})
  o = ${word}[96,64] broadcast(other), dimensions={}
  a = ${word}[96,64] and(q, m)
  b = ${word}[96,64] shift-right-arithmetic(q, n)
  c = ${word}[96,64] and(b, m)
  ax = ${word}[96,64] xor(a, h)
  cx = ${word}[96,64] xor(c, h)
  ay = ${word}[96,64] subtract(ax, o)
  cy = ${word}[96,64] subtract(cx, o)
  az = ${word}[96,64,1] reshape(ay)
  cz = ${word}[96,64,1] reshape(cy)
  all = ${word}[96,64,2] concatenate(az, cz), dimensions={2}
  w = ${word}[96,128] reshape(all)
  wf = f32[96,128] convert(w)
  ROOT r = f32[1,96] dot(x, wf), lhs_contracting_dims={1}, rhs_contracting_dims={1} }`;
  const bytes = (i, k) => (k ? (i * 89) % 256 - 128 : whole(i));
  for (const [text, signed] of [[source(8), true], [source(8, 7), false], [source(4), false], [source(16), false], [source(8, 8, 'u8'), false]]) {
    assert.equal(/ s4\[96,64,2\]/.test(afterPass(text, 'packed-fields') ?? ''), signed, text);
    await agrees(client, text, bytes);
  }
});
