/**
 * Tests packed-fields: matrices that a program unpacks from bytes or words by shifts and masks. Each form, and others near it
 * that must stay, is compared bit for bit with the program as it is written; sums are exact, as all numbers are small.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { agrees } from '../support/as_written.mjs';
import { afterPass, client } from '../support/passes.mjs';

const N = 48, K = 128;

/** Lines that make `r`, of these dimensions, of the fields of q. */
const splat = (name, type, dims, value) => `${name}_s = ${type}[] constant(${value})
  ${name} = ${type}[${dims}] broadcast(${name}_s), dimensions={}`;

/** A field of q, of `type`[dims]: shifted and masked, by the way that `how` names. */
function field(i, { type, dims, bits, at, how }) {
  const mask = 2 ** bits - 1, width = Number(type.slice(1)), signed = { u8: 's8', u32: 's32' }[type] ?? type;
  const shift = (value) => splat(`c${i}`, type, dims, value), masked = (value) => splat(`m${i}`, type, dims, value);
  return {
    mask: () => `${shift(at * bits)}\n ${masked(mask)}\n a${i} = ${type}[${dims}] shift-right-logical(q, c${i})
      v${i} = ${type}[${dims}] and(a${i}, m${i})`,
    maskFirst: () => `${shift(at * bits)}\n ${masked(`${BigInt(mask) << BigInt(at * bits)}`)}\n a${i} = ${type}[${dims}] and(m${i}, q)
      v${i} = ${type}[${dims}] shift-right-logical(a${i}, c${i})`,
    top: () => at === width / bits - 1
      ? `${shift(at * bits)}\n v${i} = ${type}[${dims}] shift-right-logical(q, c${i})`
      : `${shift(at * bits)}\n ${masked(mask)}\n a${i} = ${type}[${dims}] shift-right-logical(q, c${i})
        v${i} = ${type}[${dims}] and(a${i}, m${i})`,
    wide: () => `w${i} = s32[${dims}] convert(q)\n ${splat(`c${i}`, 's32', dims, at * bits)}\n ${splat(`m${i}`, 's32', dims, mask)}
      a${i} = s32[${dims}] shift-right-arithmetic(w${i}, c${i})\n v${i} = s32[${dims}] and(a${i}, m${i})`,
    signed: () => `${splat(`c${i}`, signed, dims, width - bits)}\n ${splat(`m${i}`, signed, dims, width - bits * (at + 1))}
      h${i} = ${signed}[${dims}] convert(q)\n a${i} = ${signed}[${dims}] shift-left(h${i}, m${i})\n v${i} = ${signed}[${dims}] shift-right-arithmetic(a${i}, c${i})`,
  }[how]();
}

/**
 * A product with a matrix [N, K] that is unpacked from q. `order`: which field is number i along the dimension. `place`: `stack` puts
 * the fields of a number side by side, `halves` all first ones before all second ones, `rows` along the rows.
 */
function program({
  type = 'u8', bits = 4, how = 'mask', place = 'stack', order = null, after = 'scale', rows = 1, free = false, block = 32, uses = 1,
  per = Number(type.slice(1)) / bits,
} = {}) {
  const fields = order ?? Array.from({ length: per }, (_, i) => i);
  const dims = place === 'rows' ? [N / per, K] : place === 'halves' ? [N, K / 32, 32 / per] : [N, K / per];
  const of = how === 'wide' ? 's32' : how === 'signed' ? { u8: 's8', u32: 's32' }[type] ?? type : type;
  const part = place === 'stack' ? [...dims, 1] : place === 'rows' ? [N / per, 1, K] : dims;
  const dim = place === 'rows' ? 1 : 2, all = part.map((size, d) => d === dim ? size * per : size);
  const parts = fields.map((at, i) => `${field(i, { type, dims, bits, at, how })}
    ${after === 'inside' ? `${splat(`z${i}`, of, dims, 8)}\n y${i} = ${of}[${dims}] subtract(v${i}, z${i})` : `y${i} = ${of}[${dims}] copy(v${i})`}
    g${i} = ${of}[${part}] reshape(y${i})`);
  const blocks = `f32[${N},${K / block},${block}]`;
  // Sums over K; if `free`, over N: then the fields are columns of the result.
  const [depth, width] = free ? [N, K] : [K, N];
  return `HloModule m
ENTRY e { x = f32[${rows},${depth}] parameter(0)
  q = ${type}[${dims}] parameter(1)
  s = f32[${N},${K / block}] parameter(2)
  ${parts.join('\n')}
  c = ${of}[${all}] concatenate(${fields.map((_, i) => `g${i}`)}), dimensions={${dim}}
  flat = ${of}[${N},${K}] reshape(c)
  v = f32[${N},${K}] convert(flat)
  ${splat('zero', 'f32', `${N},${K}`, after === 'scale' ? 0.5 : 0)}
  d = f32[${N},${K}] subtract(v, zero)
  e = ${blocks} reshape(d)
  b = ${blocks} broadcast(s), dimensions={0,1}
  p = ${blocks} multiply(e, b)
  m = f32[${N},${K}] reshape(p)
  dot = f32[${rows},${width}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${free ? 0 : 1}}
  ROOT r = (f32[${rows},${width}]${uses > 1 ? `, ${of}[${all}]` : ''}) tuple(dot${uses > 1 ? ', c' : ''}) }`;
}

const value = (i, k, type) => k === 1 ? (type.endsWith('32') ? Math.imul(i + 1, 0x9e3779b1) : i * 37 + 11) : ((i * 7919 + k * 31) % 5) - 2;

const reads = (text) => /[us][248]\[[\d,]*\]\S* bitcast-convert/.test(afterPass(text, 'packed-fields') ?? '');
const shifts = (text) => afterPass(text, 'packed-fields') !== null && !reads(text);

describe('packed-fields', () => {
  test('fields side by side, in any order, and of any width', async () => {
    for (const [type, bits] of [['u8', 4], ['u8', 2], ['s8', 4], ['u32', 4], ['s32', 8], ['u16', 4], ['u32', 2]]) {
      const per = Number(type.slice(1)) / bits, up = Array.from({ length: per }, (_, i) => i);
      for (const order of [up, up.toReversed(), up.map((i) => (i * 3 + 1) % per)]) {
        if (new Set(order).size < per) continue;
        for (const place of ['stack', 'halves']) {
          if (place === 'halves' && per > 8) continue;
          for (const rows of [1, 5]) {
            const text = program({ type, bits, order, place, rows });
            assert.ok(reads(text), `${type} ${bits} ${order} ${place}`);
            await agrees(client, text, value);
          }
        }
      }
    }
  });

  test('all ways to write a field', async () => {
    for (const how of ['mask', 'maskFirst', 'top', 'wide', 'signed']) {
      for (const after of ['scale', 'inside', 'none']) {
        for (const [type, order] of [['u8', [0, 1]], ['u8', [1, 0]], ['s8', [0, 1]], ['u32', [7, 6, 5, 4, 3, 2, 1, 0]]]) {
          if (type === 's8' && (how === 'maskFirst' || how === 'top')) continue; // a field with a sign is no mask of 8 bits
          const text = program({ type, how, after, order });
          assert.ok(reads(text), `${how} ${after} ${type}`);
          await agrees(client, text, value);
        }
      }
    }
  });

  test('columns of the result are permuted back, and fields along rows are shifted where they are read', async () => {
    for (const order of [[0, 1], [1, 0]]) {
      // Blocks of one column: scales that differ along the fields keep them as they are.
      const columns = program({ free: true, order, place: 'halves', block: 128 });
      assert.ok(reads(columns), `${order}`);
      await agrees(client, columns, value);
      const rows = program({ place: 'rows', order });
      assert.ok(shifts(rows), `${order}`);
      await agrees(client, rows, value);
      await agrees(client, program({ place: 'rows', order, how: 'signed' }), value);
    }
  });

  test('what stays', async () => {
    const stays = {
      'permuted fields that are used elsewhere, too': program({ order: [1, 0], uses: 2 }),
    };
    const square = { type: 'u8', dims: [64, 64], bits: 4, how: 'mask' };
    stays['fields that a broadcast transposes'] = `HloModule m
ENTRY e { x = f32[1,128] parameter(0)
  q = u8[64,64] parameter(1)
  ${[0, 1].map((at) => `${field(at, { ...square, at })}\n  g${at} = u8[64,64,1] broadcast(v${at}), dimensions={1,0}`).join('\n  ')}
  c = u8[64,64,2] concatenate(g0, g1), dimensions={2}
  d = u8[64,128] reshape(c)
  m = f32[64,128] convert(d)
  ROOT r = f32[1,64] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={1} }`;
    for (const [name, text] of Object.entries(stays)) {
      assert.equal(afterPass(text, 'packed-fields'), null, name);
      await agrees(client, text, value);
    }
    const both = program({ uses: 2 });
    assert.ok(reads(both));
    await agrees(client, both, value);
  });

  test('all other fields of a product are shifted', async () => {
    const shifted = {
      'a field twice': program({ order: [0, 0] }),
      'scales that differ within a permuted block': program({ place: 'halves', block: 16 }),
      'with a sign': program({ place: 'halves', block: 16, how: 'signed' }),
      'fields of 1 bit': program({ bits: 1 }),
      'fields of 1 bit with a sign': program({ bits: 1, how: 'signed', order: [7, 6, 5, 4, 3, 2, 1, 0] }),
      'all 32 bits': program({ type: 'u32', bits: 1, how: 'wide' }),
      'fields of 1 bit along rows': program({ type: 's16', bits: 1, place: 'rows' }),
      // 5 of the 7 fields of 3 bits that 16 bits have room for, and a sixth one twice
      'fields of 3 bits': program({ type: 'u16', bits: 3, per: 8, order: [0, 1, 2, 3, 4, 2, 1, 0] }),
    };
    for (const [name, text] of Object.entries(shifted)) {
      assert.ok(shifts(text), name);
      await agrees(client, text, value);
    }
  });

  /** Numbers that are unpacked by a list of amounts, narrowed before they are masked, and permuted by a gather along the columns. */
  test('fields of words along the depth, and fields that a gather permutes', async () => {
    const along = ({ type, narrow, permute, columns, order = [0, 4, 1, 5, 2, 6, 3, 7] }) => {
      const [k, n] = [64, 40], words = columns ? [k, n / 8] : [k / 8, n], dims = columns ? `${k},${n / 8},8` : `${k / 8},8,${n}`;
      const flat = `${k},${n}`, of = narrow ?? type;
      const index = Array.from({ length: permute === 'blocks' ? 8 : n }, (_, i) => i - i % 8 + order[i % 8]);
      const at = permute === 'blocks' ? dims : flat, d = permute === 'blocks' ? 2 : 1, size = index.length;
      return `HloModule m
ENTRY e { x = f32[3,${k}] parameter(0)
  q = ${type}[${words}] parameter(1)
  by = ${type}[8] constant({${[0, 4, 8, 12, 16, 20, 24, 28]}})
  shifts = ${type}[${dims}] broadcast(by), dimensions={${columns ? 2 : 1}}
  qs = ${type}[${dims}] broadcast(q), dimensions={${columns ? '0,1' : '0,2'}}
  a = ${type}[${dims}] shift-right-arithmetic(qs, shifts)
  c = ${of}[${dims}] convert(a)
  r0 = ${of}[${permute ? at : flat}] reshape(c)
  ${permute ? `i = s32[${size}] constant({${index}})
  g = ${of}[${at}] gather(r0, i), offset_dims={${d === 2 ? '0,1' : '0'}}, collapsed_slice_dims={${d}}, start_index_map={${d}}, index_vector_dim=1, slice_sizes={${
    at.split(',').with(d, 1)}}` : `g = ${of}[${flat}] copy(r0)`}
  r1 = ${of}[${flat}] reshape(g)
  ${splat('mask', of, flat, 15)}
  f = ${of}[${flat}] and(r1, mask)
  m = f32[${flat}] convert(f)
  ROOT r = f32[3,${n}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`;
    };
    for (const type of ['u32', 's32']) {
      for (const narrow of [undefined, 's8']) {
        const depth = along({ type, narrow });
        assert.ok(shifts(depth), `${type} ${narrow}`);
        await agrees(client, depth, value);
        for (const permute of [undefined, 'blocks', 'columns']) {
          const columns = along({ type, narrow, permute, columns: true });
          assert.ok(reads(columns), `${type} ${narrow} ${permute}`);
          await agrees(client, columns, value);
        }
      }
    }
    // Numbers that are taken twice are shifted.
    const twice = along({ type: 's32', permute: 'columns', columns: true, order: [0, 0, 1, 1, 2, 2, 3, 3] });
    assert.ok(shifts(twice));
    await agrees(client, twice, value);
  });

  test('bytes that are narrowed to a type that has not all of them', async () => {
    const text = `HloModule m
ENTRY e { x = f32[1,128] parameter(0)
  q = u16[40,64] parameter(1)
  ${[0, 1].map((at) => `${field(at, { type: 'u16', dims: [40, 64], bits: 8, at, how: 'mask' })}
  n${at} = s8[40,64] convert(v${at})
  w${at} = s32[40,64] convert(n${at})
  g${at} = s32[40,64,1] reshape(w${at})`).join('\n  ')}
  c = s32[40,64,2] concatenate(g0, g1), dimensions={2}
  d = s32[40,128] reshape(c)
  m = f32[40,128] convert(d)
  ROOT r = f32[1,40] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={1} }`;
    assert.ok(reads(text));
    await agrees(client, text, value);
  });

  /** (q >> {0, 4, ...}) & 15, looked up in a table; and layers in a loop, whose bytes are read in place. */
  test('shifts by a list, tables, and layers of a loop', async () => {
    const list = (numbers) => `HloModule m
ENTRY e { x = f32[1,128] parameter(0)
  q = u32[40,16] parameter(1)
  t = f32[16] parameter(2)
  i = u32[8] ${numbers}
  four = u32[] constant(4)
  fours = u32[8] broadcast(four), dimensions={}
  by = u32[8] multiply(i, fours)
  shifts = u32[40,16,8] broadcast(by), dimensions={2}
  qs = u32[40,16,8] broadcast(q), dimensions={0,1}
  a = u32[40,16,8] shift-right-logical(qs, shifts)
  ${splat('mask', 'u32', '40,16,8', 15)}
  f = u32[40,16,8] and(a, mask)
  g = s32[40,16,8] convert(f)
  h = s32[40,128,1] reshape(g)
  m = f32[40,128] gather(t, h), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1}
  ROOT r = f32[1,40] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={1} }`;
    for (const numbers of ['iota(), iota_dimension=0', 'constant({0, 4, 1, 5, 2, 6, 3, 7})']) {
      assert.ok(reads(list(numbers)), numbers);
      await agrees(client, list(numbers), value);
    }
    const loop = `HloModule m
c { s = (s32[], f32[1,128], u8[3,128,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
b { s = (s32[], f32[1,128], u8[3,128,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1,128] get-tuple-element(s), index=1
  all = u8[3,128,64] get-tuple-element(s), index=2
  o = s32[] constant(0)
  one = s32[] constant(1)
  layer = u8[1,128,64] dynamic-slice(all, i, o, o), dynamic_slice_sizes={1,128,64}
  q = u8[128,64] reshape(layer)
  ${[1, 0].map((at, k) => `${field(k, { type: 'u8', dims: [128, 64], bits: 4, at, how: 'mask' })}
  g${k} = u8[128,64,1] reshape(v${k})`).join('\n')}
  cat = u8[128,64,2] concatenate(g0, g1), dimensions={2}
  flat = u8[128,128] reshape(cat)
  v = f32[128,128] convert(flat)
  y = f32[1,128] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ${splat('small', 'f32', '1,128', 1 / 64)}
  z = f32[1,128] multiply(y, small)
  w = f32[1,128] floor(z)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[1,128], u8[3,128,64]) tuple(j, w, all) }
ENTRY e { x = f32[1,128] parameter(0)
  q = u8[3,128,64] parameter(1)
  o = s32[] constant(0)
  s = (s32[], f32[1,128], u8[3,128,64]) tuple(o, x, q)
  l = (s32[], f32[1,128], u8[3,128,64]) while(s), condition=c, body=b
  ROOT r = f32[1,128] get-tuple-element(l), index=1 }`;
    assert.ok(reads(loop));
    await agrees(client, loop, value);
    const module = client.parseHlo(loop), executable = await client.compile(module);
    assert.ok(executable.memory.temporaries < 128 * 64, `${executable.memory.temporaries} bytes`);
    executable.dispose();
    module.dispose();
  });

  /** AWQ: eight fields along the columns, in the order 0, 4, 1, 5, ...; scales and zero points of 16 rows of each column. */
  test('scales and zero points that differ along the fields are permuted, too', async () => {
    const unpacked = (name, from, rows) => `${name}q = s32[${rows},8,8] broadcast(${from}), dimensions={0,1}
  ${name}by = s32[${rows},8,8] broadcast(by), dimensions={2}
  ${name}a = s32[${rows},8,8] shift-right-arithmetic(${name}q, ${name}by)
  ${splat(`${name}m`, 's32', `${rows},8,8`, 15)}
  ${name}f = s32[${rows},8,8] and(${name}a, ${name}m)
  ${name} = s32[${rows},64] reshape(${name}f)`;
    const awq = (t, numbers, rows, each = 's') => `HloModule m
ENTRY e { given = f32[${rows},64] parameter(0)
  p = s32[64,8] parameter(1)
  s = f16[4,64] parameter(2)
  o = s32[4,8] parameter(3)
  i = s32[8] constant({${numbers}})
  ${splat('fours', 's32', '8', 4)}
  by = s32[8] multiply(fours, i)
  ${unpacked('w', 'p', 64)}
  ${unpacked('z', 'o', 4)}
  k = s32[4,16,64] reshape(w)
  zs = s32[4,16,64] broadcast(z), dimensions={0,2}
  d = s32[4,16,64] subtract(k, zs)
  v = ${t}[4,16,64] convert(d)
  c = ${t}[4,64] convert(${each})
  ss = ${t}[4,16,64] broadcast(c), dimensions={0,2}
  q = ${t}[4,16,64] multiply(v, ss)
  m = ${t}[64,64] reshape(q)
  x = ${t}[${rows},64] convert(given)
  ROOT r = f32[${rows},64] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`;
    const of = (i, k) => k === 1 || k === 3 ? Math.imul(i + k, 0x9e3779b1) : value(i, k);
    for (const numbers of ['0,4,1,5,2,6,3,7', '7,6,5,4,3,2,1,0', '0,1,2,3,4,5,6,7']) {
      for (const [t, rows] of [['f32', 1], ['f16', 1], ['bf16', 5], ['f32', 40]]) {
        const text = awq(t, numbers, rows);
        assert.ok(reads(text), `${numbers} ${t}`);
        await agrees(client, text, of);
      }
    }
    // Scales that a concatenate makes are permuted as they are.
    const joined = awq('f32', '0,4,1,5,2,6,3,7', 1, 'j').replace('  c = ', '  j1 = f16[2,64] slice(s), slice={[0:2], [0:64]}\n'
      + '  j2 = f16[2,64] slice(s), slice={[1:3], [0:64]}\n  j = f16[4,64] concatenate(j1, j2), dimensions={0}\n  c = ');
    assert.ok(reads(joined));
    await agrees(client, joined, of);
  });

  /** As keras does: the words' last dimension comes first, its fields become neighbours, and it goes back; or elsewhere. */
  test('fields between two transposes', async () => {
    const between = ({ dims, turn, at, back = null, order = [0, 1], wide = false, uses = 1 }) => {
      const turned = turn.map((d) => dims[d]), part = turned.toSpliced(at + 1, 0, 1), pair = part.with(at + 1, 2);
      const doubled = turned.with(at, turned[at] * 2), undo = back ?? turn.map((_, d) => turn.indexOf(d)), ends = undo.map((d) => doubled[d]);
      const of = wide ? 's32' : 's8', depth = ends.at(-1), rest = dims.map((_, d) => d).slice(0, -1);
      return `HloModule m
ENTRY e { x = f32[3,${depth}] parameter(0)
  w = s8[${dims}] parameter(1)
  q = s8[${turned}] transpose(w), dimensions={${turn}}
  ${order.map((i, k) => `${splat(`f${k}`, 's8', turned, 4)}\n ${splat(`m${k}`, 's8', turned, 15)}
  h${k} = s8[${turned}] shift-right-arithmetic(q, f${k})
  a${k} = s8[${turned}] and(${i ? `h${k}` : 'q'}, m${k})\n ${splat(`e${k}`, 's8', turned, 8)}
  o${k} = s8[${turned}] xor(a${k}, e${k})\n v${k} = s8[${turned}] subtract(o${k}, e${k})
  g${k} = s8[${part}] reshape(v${k})`).join('\n  ')}
  c = s8[${pair}] concatenate(g0, g1), dimensions={${at + 1}}
  flat = s8[${doubled}] reshape(c)
  t = s8[${ends}] transpose(flat), dimensions={${undo}}
  i = ${of}[${ends}] convert(t)
  n = f32[${ends}] convert(i)
  s = f32[${depth}] parameter(2)
  b = f32[${ends}] broadcast(s), dimensions={${ends.length - 1}}
  v = f32[${ends}] multiply(n, b)
  dot = f32[3,${rest.map((d) => ends[d])}] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={${ends.length - 1}}
  ROOT r = (f32[3,${rest.map((d) => ends[d])}]${uses > 1 ? `, s8[${doubled}]` : ''}) tuple(dot${uses > 1 ? ', flat' : ''}) }`;
    };
    const numbers = (i, k) => (k === 1 ? ((i * 37 + 11) % 256) - 128 : ((i * 7919) % 5) - 2);
    for (const wide of [false, true]) {
      for (const form of [
        { dims: [96, 64], turn: [1, 0], at: 0 }, { dims: [64, 64], turn: [1, 0], at: 0 }, { dims: [4, 16, 64], turn: [2, 0, 1], at: 0 },
        { dims: [4, 16, 64], turn: [0, 2, 1], at: 1 }, { dims: [4, 16, 64], turn: [1, 2, 0], at: 1 }, { dims: [16, 1, 64], turn: [2, 0, 1], at: 0 },
        { dims: [64, 64], turn: [1, 0], at: 0, back: [0, 1] }, { dims: [8, 16, 64], turn: [2, 0, 1], at: 0, back: [2, 1, 0] },
      ]) {
        const text = between({ ...form, wide });
        assert.ok(reads(text), JSON.stringify(form));
        await agrees(client, text, numbers);
      }
    }
    for (const form of [
      { dims: [64, 64], turn: [1, 0], at: 1 }, { dims: [64, 64], turn: [1, 0], at: 0, order: [1, 0] }, // other fields
      { dims: [64, 64], turn: [1, 0], at: 0, uses: 2 },
    ]) {
      const text = between(form);
      assert.ok(!reads(text), JSON.stringify(form));
      await agrees(client, text, numbers);
    }
  });
});
