/**
 * A loop of complex numbers that diverges to infinities and NaN: bit for bit what XLA:CPU makes of it where it
 * has no fused multiply-add (XLA_FLAGS=--xla_cpu_max_isa=SSE4_2; docs/differences.md). The values are JAX's, of
 *   z, n = z * z + c, n + (abs(z) < 2)
 * in a fori_loop, c = x / 4 + i (y / 2 + 1 / 8) for x from -9 to 4 and y from -3 to 3.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const ROWS = [
  {
    type: 'c64', steps: 11, Floats: Float32Array,
    turns: 'AAAAAAEBAQEBAQEBAQEAAAECAgIDAwsIAwIBAQAAAgMLBwcLCwsLBAIBAAADBgsLCwsLCwsEAgEAAAICAgMECwsLCwMCAQAAAAECAgICBAMCAQEBAAAAAAABAQEBAQEBAQE=',
    z: 'AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAA' +
      'wP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAID/w4Epf/94cn5Gco4+' +
      'GFicP0A8NsHOuNRCAADA/wAAgP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AACAf2C+q78fVu2+mg1Aw3sb' +
      'j8GKBRdC+jqbQkj86b5owj6+en57vmnXf75Va7i98Viivpjkuz1wn/e+EjL3X2BhOV4AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA//3+EvMvm4Pz' +
      'WJCpUbIiDFJ+l66/jqQFPpvegb9tw/k9k/Uiv0Z/dz5CGbq+oBKhPYigWb7gl7M9wURuvLjD+D2z3oE+yPF+PqQjGG9ISVLuAADA/wAAwP8AAMD/AADA/wAA' +
      'wP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAgH8AAMD/AACA/5BpOmZUQ45moDDCvv62Hz9c8Ky+4NuNPeE36r3aTDE/3mVhv6yqfT8AAMD/' +
      'AACAfwAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/Alad8ePA' +
      'hvIAAMD/AACA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/' +
      'AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/wAAwP8AAMD/AADA/w==',
  },
  {
    type: 'c128', steps: 13, Floats: Float64Array,
    turns: 'AAAAAAEBAQEBAQEBAQEAAAECAgIDAwwIAwIBAQAAAgMNBwcNDQ0NBAIBAAADBg0NDQ0NDQ0EAgEAAAICAgMEDQ0NDQMCAQAAAAECAgICBAMCAQEBAAAAAAABAQEBAQEBAQE=',
    z: 'AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAA' +
      'AAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPB/AAAAAAAA+P8AAAAAAADw/wAAAAAAAPj/AAAAAAAA+P8AAAAA' +
      'AAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA' +
      '+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAADwfwAAAAAAAPj/AAAAAAAA8H9EHKNgrCwUezRyEfLkhQx7upnNmuyBqF+j3R4ajLHOX6jscLL82wNA' +
      'jFhbZ8TBzL+kJECBW2qcQfF3MQ5c2YlBcraR9cr8AewqoCK9Op8N7AAAAAAAAPj/AAAAAAAA8H8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAA' +
      'AAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAADw/7oRhcVEHpJtQyw3IoBnlW0XWTdA00f+v7AK3ZA5nMo/bP8fbLc300FNvAmD' +
      '0/G9QXhiVgJ4KGnB4c0aGa+0icFbV7QxF+PbvwZMYar1686/2R5Skm0B0L/6Cy8a7rfPv9SEjNrmrre/SrrHNCM91L9s8RS7yzKiP3gC4M93dNm/ACAAO8ta' +
      'KlDcIv4KBK4UUAAAAAAAAPj/AAAAAAAA8H8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA8P/AOcr2iK7r2SvxVVQCfPvZ' +
      'tk8ngnJqOMnjweHrAqJByZIIWKEYcO6/VB3tdYkZw7+dHk72kTzwv1Gt5J5mFr8/RLriaaLd479kanECAm7RPzgnZSHCVte/iCbgXnECsz9R9yfmLzTLv23c' +
      'jhdSdLY/p/NyyJfIjb/MYVw/dxi/P4orD2erCNA/qY974g4e0D+9f87qMwWjV8auv1Qnb8PXAAAAAAAA+P8AAAAAAADw/wAAAAAAAPj/AAAAAAAA+P8AAAAA' +
      'AAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPB/FxbD3QQPHfw7HSgAL7MhfIV7AXnIOtFpGKEhFD+t' +
      '0mlqVCFbh/uA0yNi5DZSQoLTwKob75+soD/Al896lYXZP8GXJuqVEOK/EvXFJwqW3T8AAGD/0Lquvrw4DvuZRMg/7MrotiIJ8L86JfWUcuTgP1Z37TpW5dpo' +
      '03lQ2OOF/egAAAAAAAD4/wAAAAAAAPD/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAA' +
      'AAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA8P8AAAAAAAD4/wAAAAAAAPD/Auq1ZpJ/Y1mrOh1E' +
      'G/502ZJfJX1EkqdwEZXF4ErgsvAAAAAAAAD4/wAAAAAAAPD/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA' +
      '+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/' +
      'AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAA' +
      'AAAAAPj/AAAAAAAA+P8AAAAAAAD4/wAAAAAAAPj/AAAAAAAA+P8=',
  },
];

const program = (type, float, steps) => `HloModule diverges
more { s = (s32[], ${type}[7,14], s32[7,14], ${type}[7,14]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(${steps})
  ROOT p = pred[] compare(i, k), direction=LT }
turn { s = (s32[], ${type}[7,14], s32[7,14], ${type}[7,14]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  z = ${type}[7,14] get-tuple-element(s), index=1
  n = s32[7,14] get-tuple-element(s), index=2
  c = ${type}[7,14] get-tuple-element(s), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
  square = ${type}[7,14] multiply(z, z)
  next = ${type}[7,14] add(square, c)
  size = ${float}[7,14] abs(next)
  two = ${float}[] constant(2)
  twos = ${float}[7,14] broadcast(two), dimensions={}
  small = pred[7,14] compare(size, twos), direction=LT
  more = s32[7,14] convert(small)
  m = s32[7,14] add(n, more)
  ROOT t = (s32[], ${type}[7,14], s32[7,14], ${type}[7,14]) tuple(j, next, m, c) }
ENTRY e { c = ${type}[7,14] parameter(0)
  zero = s32[] constant(0)
  none = ${type}[] constant((0, 0))
  z = ${type}[7,14] broadcast(none), dimensions={}
  n = s32[7,14] broadcast(zero), dimensions={}
  t = (s32[], ${type}[7,14], s32[7,14], ${type}[7,14]) tuple(zero, z, n, c)
  w = (s32[], ${type}[7,14], s32[7,14], ${type}[7,14]) while(t), condition=more, body=turn
  last = ${type}[7,14] get-tuple-element(w), index=1
  turns = s32[7,14] get-tuple-element(w), index=2
  ROOT r = (${type}[7,14], s32[7,14]) tuple(last, turns) }`;

for (const { type, steps, Floats, turns, z } of ROWS) {
  test(`${type}[7,14], ${steps} times`, async () => {
    const client = await Client.create({ threads: 0 });
    const c = Array.from({ length: 7 }, (_, y) => Array.from({ length: 14 }, (_, x) => [(x - 9) / 4, (y - 3) / 2 + 0.125]));
    const executable = await client.compile(client.parseHlo(program(type, type === 'c64' ? 'f32' : 'f64', steps)));
    const [last, counts] = await executable.execute([c]);
    const expected = new Floats(Uint8Array.from(Buffer.from(z, 'base64')).buffer);
    assert.ok(expected.some(Number.isNaN) && expected.includes(Infinity) && expected.some(Number.isFinite));
    assert.deepEqual(last.data, expected); // of NaN not the bits, which machines choose
    assert.deepEqual([...counts.data], [...Buffer.from(turns, 'base64')]);
    client.dispose();
  });
}
