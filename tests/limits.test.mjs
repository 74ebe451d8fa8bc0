/**
 * Programs that are very deep or very wide: each compiles and runs, or is refused with an error that
 * says the limit; none overflows a stack, and none takes for ever.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../bindings/index.mjs';

const TIMEOUT = { timeout: 60000 };

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

async function run(text, ...args) {
  const module = client.parseHlo(text);
  try {
    const executable = await client.compile(module);
    const results = await executable.execute(args);
    executable.dispose();
    return results;
  } finally {
    module.dispose();
  }
}

for (const operation of ['tanh', 'negate', 'reverse', 'reshape', 'none']) {
  for (const depth of [160, 400, 2000]) {
    test(`transpose and ${operation}, ${depth} times`, TIMEOUT, async () => {
      const lines = [];
      let value = 'x', shape = 'f32[2,3]';
      const add = (line) => lines.push(`v${lines.length} = ${line}`) && (value = `v${lines.length - 1}`);
      for (let i = 0; i < depth; i++) {
        shape = shape === 'f32[2,3]' ? 'f32[3,2]' : 'f32[2,3]';
        add(`${shape} transpose(${value}), dimensions={1,0}`);
        if (operation === 'reverse') add(`${shape} reverse(${value}), dimensions={0,1}`);
        else if (operation === 'reshape') {
          add(`f32[1,6] reshape(${value})`);
          add(`${shape} reshape(${value})`);
        } else if (operation !== 'none') add(`${shape} ${operation}(${value})`);
      }
      const [y] = await run(`HloModule m
ENTRY e {
  x = f32[2,3] parameter(0)
  ${lines.join('\n  ')}
  ROOT r = ${shape} copy(${value})
}`, [[1, 2, 3], [4, 5, 6]]);
      if (operation === 'tanh') {
        let [first] = [1];
        for (let i = 0; i < depth; i++) first = Math.fround(Math.tanh(first));
        assert.ok(Math.abs(y.data[0] - first) < 1e-4);
      } else assert.deepEqual([...y.data], [1, 2, 3, 4, 5, 6]);
    });
  }
}

test('sizes whose product needs more than 32 bits', TIMEOUT, async () => {
  const text = `HloModule m
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %r = f32[] add(%a, %b)
}
ENTRY e {
  x = f32[65536] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[65536] reduce-window(x, z), window={size=65536 pad=32767_32768 rhs_reversal=1}, to_apply=%add
}`;
  await assert.rejects(run(text, new Float32Array(65536)), { code: 'RESOURCE_EXHAUSTED' });
});
