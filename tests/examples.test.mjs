/** The playground's examples: one for every operation, and all of them run. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import * as xla from '../bindings/index.mjs';
import { trace } from '../demo/playground/trace.mjs';
import { runProgram } from '../demo/shared/run_program.mjs';
import { EXAMPLES, PROGRAMS } from '../demo/playground/examples.mjs';

const table = await readFile(new URL('../src/hlo/opcodes.def', import.meta.url), 'utf8');
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
      const module = client.parseHlo(program);
      assert.equal(module.parameters.length, inputs.length);
      const executable = await client.compile(module, mesh);
      assert.equal(executable.replicas * executable.partitions,
        (mesh?.replicas ?? 1) * (mesh?.partitions ?? 1));
      const { outputs, args } = await runProgram(client, executable, { inputs, text: program });
      inputs.forEach((input, i) => {
        if (typeof input !== 'string') assert.deepEqual(args[0][i].toArray(), xla.Literal.from(input, args[0][i].shape).toArray());
      });
      assert.ok(outputs.every((leaves) => leaves.length > 0));
      const again = await runProgram(client, executable, { inputs, text: program });
      assert.equal(again.outfeeds.length, program.includes(' outfeed(') ? 1 : 0);
      executable.dispose();
      module.dispose();
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
      assert.equal(module.parameters.length, inputs.length);
      const executable = await client.compile(module);
      const { outputs } = await runProgram(client, executable, { inputs });
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
  const executable = await client.compile(client.parseHlo(text));
  const { sources, links } = await trace(client, executable, { inputs: ['iota', 1], text, isStale: () => false });
  assert.deepEqual(sources.map(({ name, isIndex }) => [name, isIndex]), [['x', false], ['i', true]]);
  // With i = 1; and i, being element 6, decides which row it is.
  assert.deepEqual(links, [[], [3, 6], [4, 6], [5, 6]]);
});
