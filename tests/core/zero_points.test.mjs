/** Tests zero-points: zero points of integers that are subtracted in floats. What might wrap, or would be rounded, stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { agrees } from '../support/as_written.mjs';
import { afterPass, client } from '../support/passes.mjs';

/** q[64,64] & mask, less the zero points z[4,64] & zeroMask plus `more`, in `type`; converted to `to`. */
function program({ type = 's32', mask = 15, zeroMask = 15, more = 0, to = 'f32', operation = 'subtract', how = 'broadcast' } = {}) {
  const splat = (name, dims, value) => `${name}_s = ${type}[] constant(${value})\n  ${name} = ${type}[${dims}] broadcast(${name}_s), dimensions={}`;
  const repeated = how === 'broadcast' ? `t = ${type}[4,16,64] broadcast(y), dimensions={0,2}\n  b = ${type}[64,64] reshape(t)`
    : `b = ${type}[64,64] gather(y, g), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}`;
  return `HloModule m
ENTRY e { q = ${type}[64,64] parameter(0)
  z = ${type}[4,64] parameter(1)
  g = s32[64] parameter(2)
  ${splat('m', '64,64', mask)}
  ${splat('n', '4,64', zeroMask)}
  ${splat('o', '4,64', more)}
  w = ${type}[64,64] ${mask ? 'and(q, m)' : 'copy(q)'}
  a = ${type}[4,64] ${zeroMask ? 'and(z, n)' : 'copy(z)'}
  y = ${type}[4,64] add(a, o)
  ${repeated}
  d = ${type}[64,64] ${operation}(w, b)
  ROOT r = ${to}[64,64] convert(d) }`;
}

const value = (i, k) => k === 2 ? i * 7 % 4 : Math.imul(i + k, 0x9e3779b1) >> 24;

test('zero points are subtracted in floats if no difference wraps or is rounded', async () => {
  const changed = [{}, { more: 1 }, { type: 's8' }, { type: 's8', more: 1, how: 'gather' }, { to: 'f16', more: 1 }, { to: 'bf16', mask: 127, zeroMask: 127 },
    { operation: 'add' }, { type: 'u8', operation: 'add' }, { mask: 65535, zeroMask: 65535 }];
  for (const how of changed) {
    const text = program(how), after = afterPass(text, 'zero-points');
    assert.match(after ?? '', new RegExp(`${how.to ?? 'f32'}\\[64,64\\]\\S* ${how.operation ?? 'subtract'}\\(`), JSON.stringify(how));
    await agrees(client, text, value);
  }
});

test('what stays in integers', async () => {
  const stays = [{ type: 'u32' }, { type: 'u8' }, { mask: 0 }, { zeroMask: 0 }, { type: 's8', mask: 127, zeroMask: 127, operation: 'add' },
    { type: 's8', zeroMask: 127, more: 1 }, { to: 'bf16', mask: 511 }, { to: 'f16', mask: 4095 }, { mask: 2 ** 24, zeroMask: 2 ** 24, operation: 'add' }];
  for (const how of stays) {
    assert.equal(afterPass(program(how), 'zero-points'), null, JSON.stringify(how));
    await agrees(client, program(how), value);
  }
});

test('products of differences with scales of f16 and bf16 are computed in f32 and rounded once', async () => {
  for (const to of ['f16', 'bf16']) {
    for (const scaled of ['broadcast', 'reshape', 'each', 'first']) {
      const split = scaled === 'reshape' ? '4,16,64' : '64,64', each = scaled === 'each';
      const lines = `c = ${to}[64,64] convert(d)
  s = ${to}[${each ? split : '4,64'}] parameter(3)
  ${each ? '' : `u = ${to}[4,16,64] broadcast(s), dimensions={0,2}`}
  ${scaled === 'broadcast' || scaled === 'first' ? `f = ${to}[64,64] reshape(u)` : ''}
  ${scaled === 'reshape' ? `v = ${to}[4,16,64] reshape(c)` : ''}
  ROOT r = ${to}[${split}] multiply(${{ broadcast: 'c, f', first: 'f, c', reshape: 'v, u', each: 'c, s' }[scaled]}) }`;
      const text = program({ to, more: 1 }).replace(/ROOT r[^]*/, lines), after = afterPass(text, 'zero-points');
      assert.equal(new RegExp(`f32\\[${split}\\]\\S* multiply\\(`).test(after), !each, `${to} ${scaled}`);
      await agrees(client, text, (i, k) => (k === 3 ? Math.sin(i) * 2 ** (i % 40 - 25) : value(i, k)));
    }
  }
});
