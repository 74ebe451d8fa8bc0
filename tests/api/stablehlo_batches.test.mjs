/**
 * Tests that programs of the corpus are lowered with their instructions collected (bindings/builder/batch.mjs), without
 * going back to a call of the core for each, and become the same HLO both ways.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client } from '../../bindings/index.mjs';
import { isBytecode } from '../../bindings/stablehlo/index.mjs';
import { readBytecode } from '../../bindings/stablehlo/bytecode.mjs';
import { Lowering } from '../../bindings/stablehlo/lower.mjs';
import { readText } from '../../bindings/stablehlo/text.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The text of the HLO that a program becomes. */
function lowered(bytes, collects) {
  const module = isBytecode(bytes) ? readBytecode(bytes) : readText(bytes);
  const lowering = new Lowering(client, module, {}, collects);
  try {
    const made = lowering.entry();
    const text = String(made);
    made.dispose();
    return text;
  } finally {
    lowering.clear();
  }
}

for (const file of ['stablehlo.gz', 'dialects.gz']) {
  test(file, { timeout: 120_000 }, async () => {
    const bytes = gunzipSync(await readFile(new URL(`../golden/${file}`, import.meta.url)));
    let count = 0;
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(10, at);
      const head = bytes.toString('utf8', at, end).split(' ');
      at = end + 1 + Number(head.at(-1));
      if (head.includes('export')) continue; // the same as bytecode
      if (count++ % 4) continue;
      const program = bytes.subarray(end + 1, at);
      assert.equal(lowered(program, true), lowered(program, false), head.join(' '));
    }
    assert.ok(count > 40, `${count} programs`);
  });
}
