/** Tests the playground's examples: there is one for every operation, and all of them run. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import * as xla from '../../bindings/index.mjs';
import { EXAMPLES, PROGRAMS } from '../../demo/playground/examples.mjs';
import { trace } from '../../demo/shared/trace.mjs';
import { loadProgram } from '../../demo/shared/loaded_program.mjs';
import { runProgram } from '../../demo/shared/run_program.mjs';

const table = await readFile(new URL('../../src/hlo/ir/opcodes.def', import.meta.url), 'utf8');
const operations = Array.from(table.matchAll(/^OPCODE\(\w+, "([^"]+)"/gm), ([, name]) => name);
const examples = EXAMPLES.flatMap(([, list]) => list);

test('every operation has its example', () => {
  assert.deepEqual(examples.map(({ operation }) => operation).sort(), operations.sort());
});

let client;
before(async () => {
  client = await xla.Client.create({ threads: 2 });
});
after(() => client?.dispose());

describe('examples', () => {
  for (const { operation, text, program, inputs, mesh } of examples) {
    test(operation, async () => {
      assert.ok(program.includes(` ${operation}(`), 'its program has it');
      const sentences = text.match(/[.!?](\s|$)/g) ?? [];
      assert.equal(sentences.length, 2, text);
      const loaded = await loadProgram(client, program, { kind: 'hlo', mesh });
      assert.equal(loaded.parameters.length, inputs.length);
      assert.equal(loaded.devices, (mesh?.replicas ?? 1) * (mesh?.partitions ?? 1));
      const { outputs, args } = await runProgram(loaded, { inputs });
      inputs.forEach((input, i) => {
        if (typeof input !== 'string') assert.deepEqual(args[0][i].toArray(), xla.Literal.from(input, args[0][i].shape).toArray());
      });
      assert.ok(outputs.every((leaves) => leaves.length > 0));
      const again = await runProgram(loaded, { inputs });
      assert.equal(again.outfeeds.length, program.includes(' outfeed(') ? 1 : 0);
      loaded.dispose();
    });
  }
});

describe('programs', () => {
  for (const { name, language, program, inputs } of PROGRAMS) {
    test(name, async () => {
      let module;
      if (language === 'javascript') {
        const AsyncFunction = (async () => {}).constructor;
        const shown = [];
        const names = { ...xla, client, show: (value) => shown.push(value) };
        module = await new AsyncFunction(...Object.keys(names), program)(...Object.values(names));
        assert.equal(shown.length, program.split('show(await').length - 1 ? 3 : 0);
      } else {
        module = await client.load(program);
      }
      const loaded = await loadProgram(client, module.toString());
      assert.equal(loaded.parameters.length, inputs.length);
      const { outputs } = await runProgram(loaded, { inputs });
      for (const literal of outputs.flat()) {
        assert.ok([...literal.data].some((value) => value !== literal.data[0]) || literal.data.length === 1);
      }
    });
  }
});

test('traces say where elements came from', async () => {
  const body = `  x = f32[2,3] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  row = f32[1,3] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,3}
  nought = f32[] constant(0)
  ROOT y = f32[1,4] pad(row, nought), padding=0_0x1_0`;
  const text = `HloModule m\nENTRY e {\n${body}\n}`;
  const program = await loadProgram(client, text);
  const { sources, links } = await trace(program, { inputs: ['iota', 1], isStale: () => false });
  assert.deepEqual(sources.map(({ name, isIndex }) => [name, isIndex]), [['x', false], ['i', true]]);
  // With i = 1; and i, being element 6, decides which row it is.
  assert.deepEqual(links, [[], [3, 6], [4, 6], [5, 6]]);
});

test('traces of what orders: each element went to one place', async () => {
  for (const [operation, moved] of [['sort', [3, 5, 0, 6, 2, 4, 1, 7]], ['topk', null]]) {
    const { program: text, inputs } = examples.find((one) => one.operation === operation);
    const program = await loadProgram(client, text);
    const { sources, results, links } = await trace(program, { inputs, isStale: () => false });
    const values = sources[0].data;
    const [first] = results;
    links.slice(0, first.data.length).forEach((from, i) => {
      assert.equal(from.length, 1, `${operation} ${i}: ${from}`);
      assert.equal(first.data[i], values[from[0]], `${operation} ${i}`);
    });
    assert.ok(moved || results.length > 1);
  }
});
