/** The playground's examples: one for every operation, and all of them run. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Client } from '../bindings/index.mjs';
import { runProgram } from '../demo/shared/run_program.mjs';
import { EXAMPLES } from '../demo/playground/examples.mjs';

const table = await readFile(new URL('../src/hlo/opcodes.def', import.meta.url), 'utf8');
const operations = Array.from(table.matchAll(/^OPCODE\(\w+, "([^"]+)"/gm), ([, name]) => name);
const examples = EXAMPLES.flatMap(([, list]) => list);

test('every operation has its example', () => {
  assert.deepEqual(examples.map(({ operation }) => operation).sort(), operations.sort());
});

let client;
before(async () => {
  client = await Client.create({ threads: 2 });
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
      const { outputs } = await runProgram(client, executable, { inputs, text: program });
      assert.ok(outputs.every((leaves) => leaves.length > 0));
      const again = await runProgram(client, executable, { inputs, text: program });
      assert.equal(again.outfeeds.length, program.includes(' outfeed(') ? 1 : 0);
      executable.dispose();
      module.dispose();
    });
  }
});
