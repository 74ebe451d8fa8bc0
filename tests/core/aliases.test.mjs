/**
 * Tests values that share another value's buffer (reshape, bitcast-convert, tuples): the host and the evaluator
 * read them with their own shape and element type.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

let client, seen;
before(async () => {
  client = await Client.create({ threads: 2 });
  client.registerCustomCall('see', ({ operands }) => {
    seen = operands;
    return 0;
  });
});
after(() => client.dispose());

const run = async (text, ...args) =>
  (await client.compile(client.parseHlo(text))).execute(args);
const described = (literals) =>
  literals.map((literal) => [literal.shape.toString(), literal.toArray()]);

/* name: parameters, steps, and the operands that the host gets, with their shapes and values. */
const VALUES = {
  reshape: {
    args: [[[1, 2, 3], [4, 5, 6]]],
    steps: `x = f32[2,3] parameter(0)
      y = f32[3,2] reshape(x)`,
    wants: { y: ['f32[3,2]', [[1, 2], [3, 4], [5, 6]]], x: ['f32[2,3]', [[1, 2, 3], [4, 5, 6]]] },
  },
  'bitcast-convert to the same width': {
    args: [[0x3f800000, 0x40000000]],
    steps: `x = s32[2] parameter(0)
      y = f32[2] bitcast-convert(x)`,
    wants: { y: ['f32[2]', [1, 2]], x: ['s32[2]', [0x3f800000, 0x40000000]] },
  },
  'bitcast-convert to another width': {
    args: [[1, 0, 0, 0, 2, 1, 0, 0]],
    steps: `x = u8[8] parameter(0)
      z = u8[2,4] reshape(x)
      y = u32[2] bitcast-convert(z)`,
    wants: { y: ['u32[2]', [1, 258]], z: ['u8[2,4]', [[1, 0, 0, 0], [2, 1, 0, 0]]] },
  },
  'one that a step makes': {
    args: [[1, 2, 3, 4]],
    steps: `x = f32[4] parameter(0)
      n = f32[4] negate(x)
      m = s32[4] bitcast-convert(n)
      y = s32[2,2] reshape(m)`,
    wants: { y: ['s32[2,2]', [[-1082130432, -1073741824], [-1069547520, -1065353216]]], n: ['f32[4]', [-1, -2, -3, -4]] },
  },
  'a scalar': {
    args: [1065353216],
    steps: `x = s32[] parameter(0)
      f = f32[] bitcast-convert(x)
      y = f32[1,1] reshape(f)`,
    wants: { y: ['f32[1,1]', [[1]]], f: ['f32[]', 1] },
  },
};

describe('the host sees', () => {
  for (const [name, { args, steps, wants }] of Object.entries(VALUES)) {
    const operands = Object.keys(wants);
    const program = (root) => `HloModule m
ENTRY e {
  ${steps}
  ${root}
}`;

    test(`${name}: operands of a custom call`, async () => {
      await run(program(`ROOT r = s32[] custom-call(${operands}), custom_call_target="see",
        custom_call_has_side_effect=true`), ...args);
      assert.deepEqual(described(seen), operands.map((operand) => wants[operand]));
    });

    test(`${name}: operands in a tuple`, async () => {
      const shapes = operands.map((operand) => wants[operand][0]);
      await run(program(`t = (${shapes}) tuple(${operands})
        ROOT r = s32[] custom-call(t), custom_call_target="see", custom_call_has_side_effect=true`), ...args);
      assert.deepEqual(described(seen), operands.map((operand) => wants[operand]));
    });

    test(`${name}: an outfeed`, async () => {
      const out = client.transferFromOutfeed();
      await run(program(`a = token[] after-all()
        o = token[] outfeed(y, a), outfeed_shape=${wants.y[0]}
        ROOT r = s32[] constant(0)`), ...args);
      assert.deepEqual(described([await out]), [wants.y]);
    });

    test(`${name}: results`, async () => {
      const shapes = operands.map((operand) => wants[operand][0]);
      const results = await run(program(`ROOT t = (${shapes}) tuple(${operands})`), ...args);
      assert.deepEqual(described(results), operands.map((operand) => wants[operand]));
    });
  }
});

test('the evaluator reads the elements of a part with their own type', async () => {
  const count = 40_000; // more than the evaluator does in one go
  const [high] = await run(`HloModule m
ENTRY e {
  x = u32[${count}] parameter(0)
  i = s32[${count}] bitcast-convert(x)
  c = s32[] constant(16)
  b = s32[${count}] broadcast(c), dimensions={}
  ROOT r = s32[${count}] mulhi(i, b)
}`, new Uint32Array(count).fill(0xf0000000));
  assert.ok(high.data.every((value) => value === -1), `${high.data[0]}`);
});
