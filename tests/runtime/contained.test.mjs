/**
 * A trap in a function of the core that makes something new, such as compile(), fails that call and nothing else of
 * the client. The traps are put into functions that the core imports, which it calls while it reads, prints and
 * compiles.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { faultyClient } from '../support/faulty.mjs';
import { ADD } from '../support/hostile.mjs';

const CONSTANTS = `HloModule constants
ENTRY e {
  x = f64[3] parameter(0)
  c = f64[3] constant({0.12345678901234567, 3.3333333333333335e-301, 1.2345678901234567e+123})
  y = f64[3] multiply(x, c)
  ROOT z = f64[3] sine(y)
}`;

let client, trapped; // the import that traps
const { instantiate } = WebAssembly;
before(async () => {
  WebAssembly.instantiate = (module, imports) => {
    for (const name of ['xla_js_parse_decimal', 'xla_js_decimal_digits', 'xla_js_module_validate', 'emscripten_resize_heap']) {
      const plain = imports.env[name];
      imports.env[name] = (...args) => {
        if (name === trapped) throw new WebAssembly.RuntimeError('divide by zero');
        return plain(...args);
      };
    }
    return instantiate(module, imports);
  };
  client = await Client.create({ threads: 0 });
  WebAssembly.instantiate = instantiate;
});
after(() => client.dispose());

/** The client still does everything. */
async function works() {
  const module = client.parseHlo(ADD), executable = await client.compile(module);
  assert.deepEqual((await executable.execute([[1, 2], [3, 4]]))[0].toArray(), [4, 6]);
  executable.dispose();
  module.dispose();
}

async function traps(name, call, more = () => {}) {
  await works();
  const heap = client.heapInUse;
  trapped = name;
  try {
    await assert.rejects(async () => call(), (error) => {
      assert.equal(error.code, 'INTERNAL', error.stack);
      assert.match(error.message, /divide by zero/);
      more(error);
      return true;
    });
  } finally {
    trapped = undefined;
  }
  await works();
  assert.equal(client.heapInUse, heap);
}

test('while it reads', () => traps('xla_js_parse_decimal', () => client.parseHlo(CONSTANTS)));

test('while it prints', async () => {
  const module = client.parseHlo(CONSTANTS);
  await traps('xla_js_decimal_digits', () => module.toString());
  module.dispose();
});

test('while it compiles: the error has the program, and says how to go on', async () => {
  const module = client.parseHlo(CONSTANTS);
  await traps('xla_js_module_validate', () => client.compile(module), (error) => {
    assert.match(error.message, /fault of xla-wasm.*error\.module.*disable: client\.optionalPasses/);
    assert.equal(error.operation, 'compile');
    assert.equal(error.module, module.toString());
  });
  (await client.compile(module)).dispose();
  module.dispose();
});

test('while it lists passes', async () => {
  const module = client.parseHlo(CONSTANTS);
  await traps('xla_js_decimal_digits', () => client.passes(module));
  module.dispose();
});

test('wherever a compilation asks for memory', async () => {
  const wide = Array.from({ length: 60_000 }, (_, i) => ` v${i} = f32[3] add(x, ${i ? `v${i - 1}` : 'x'})`);
  const module = client.parseHlo(`ENTRY e {\n x = f32[3] parameter(0)\n${wide.join('\n')}\n}`);
  await traps('emscripten_resize_heap', () => client.compile(module));
  module.dispose();
});

/** A program that enters every stage. */
const STAGES = `HloModule stages
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[6,40] parameter(0)
  w = f32[40,8] parameter(1)
  y = f32[6,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[6,8] exponential(y)
  zero = f32[] constant(0)
  r = f32[6] reduce(e, zero), dimensions={1}, to_apply=sum
  ROOT t = (f32[6,8], f32[6]) tuple(e, r)
}`;

test('in each step: the error names it, and says whether it can be left out', async (t) => {
  const faulty = await faultyClient(), steps = new Set(), module = faulty.client.parseHlo(STAGES);
  const optional = faulty.client.optionalPasses;
  const needed = [
    'dynamic-dimensions', 'dead-code', 'inline-calls', 'normalize-floats', 'rewrites', 'thunks', 'memory', 'frames', 'code',
  ];
  for (const step of [...needed, ...optional.filter((name) => name !== 'large-chunks')]) {
    await t.test(step, async () => {
      const before = faulty.client.heapInUse;
      faulty.put(step, true);
      let error;
      try {
        (await faulty.client.compile(module)).dispose();
      } catch (thrown) {
        error = thrown;
      }
      if (error) {
        steps.add(step);
        assert.equal(error.code, 'INTERNAL', error.stack);
        assert.equal(error.step, step);
        assert.match(error.message, new RegExp(`^compile: the core trapped: .*, in the step ${step}\\. This is a fault of xla-wasm`));
        assert.equal(error.module, module.toString());
        if (optional.includes(step)) {
          assert.match(error.message, new RegExp(`{ disable: \\['${step}'\\] }$`));
          if (step !== 'kernel-dot') (await faulty.client.compile(module, { disable: [step] })).dispose();
        } else {
          assert.match(error.message, /{ disable: client\.optionalPasses }$/);
        }
        assert.throws(() => faulty.client.passes(module), { code: 'INTERNAL', step });
      }
      faulty.put('');
      (await faulty.client.compile(module)).dispose();
      assert.equal(faulty.client.heapInUse, before);
    });
  }
  for (const step of [...needed, 'in-place', 'row-groups', 'regions', 'fuse-loops', 'kernel-dot']) assert.ok(steps.has(step), step);
  faulty.client.dispose();
});
