/** The custom calls that JAX makes on the CPU: none is missing, and they read nothing but their operands. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const { targets, approximate } = JSON.parse(await readFile(new URL('../golden/cpu_targets.json', import.meta.url), 'utf8'));
const page = await readFile(new URL('../../docs/evaluated.md', import.meta.url), 'utf8');

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

async function run(hlo, args) {
  const executable = await client.compile(client.parseHlo(`HloModule m\nENTRY e {\n${hlo}\n}`));
  try {
    return (await executable.execute(args)).map((result) => result.toArray());
  } finally {
    executable.dispose();
  }
}

test('docs/evaluated.md lists the targets that jaxlib registers', () => {
  const [, text] = /holds this list against jaxlib's(.*?)`BCSR/s.exec(page);
  const [all, real, complex, plain] = text.split(/; (?:for|and without)/).map((part) =>
    [...part.matchAll(/`(\w+_ffi)`/g)].map(([, name]) => name));
  const of = (letters, names) => [...letters].flatMap((letter) => names.map((name) => `lapack_${letter}${name}`));
  const listed = [...of('sdcz', all), ...of('sd', real), ...of('cz', complex), ...plain].sort();
  assert.deepEqual(listed, targets);
  assert.match(page, new RegExp(`all ${targets.length} custom calls`));
});

test('each target is built in', async () => {
  for (const target of targets) {
    await assert.rejects(run(`x = f32[7] parameter(0)\nROOT r = pred[3,1,2] custom-call(x), custom_call_target="${target}"`, [[1, 2, 3, 4, 5, 6, 7]]),
      ({ code, message }) => code === 'INVALID_ARGUMENT' && message.includes(target) && message.includes('it takes ('), target);
  }
});

for (const { name, file, argument, results } of approximate) {
  test(`approximate top k: ${name}`, async () => {
    const sizes = `f32[${argument.length},${argument[0].length}]`;
    const module = await client.load(new Uint8Array(Buffer.from(file, 'base64')), { arguments: [sizes] });
    const executable = await client.compile(module);
    assert.deepEqual((await executable.execute([argument])).map((result) => result.toArray()), results);
  });
}

test('a sparse product reads nothing beside its operands', async () => {
  const product = (rows, columns, type = 's32') => run(`
    data = f32[4] parameter(0)
    rows = ${type}[4] parameter(1)
    columns = ${type}[4] parameter(2)
    x = f32[3,2] parameter(3)
    ROOT r = f32[3,2] custom-call(data, rows, columns, x), custom_call_target="cpu_csr_sparse_dense_ffi"`,
  [[1, 2, 4, 8], rows, columns, [[1, 10], [2, 20], [3, 30]]]);
  assert.deepEqual(await product([0, 2, 2, 4], [0, 2, 1, 1]), [[[7, 70], [0, 0], [24, 240]]]);
  assert.deepEqual(await product([0, 2, 2, 4].map(BigInt), [0, 2, 1, 1].map(BigInt), 's64'), [[[7, 70], [0, 0], [24, 240]]]);
  // Columns that are not there count as zeros, rows end where the numbers do.
  assert.deepEqual(await product([0, 2, 2, 4], [0, 3, -1, 1]), [[[1, 10], [0, 0], [16, 160]]]);
  assert.deepEqual(await product([-5, 1, 99, 2], [0, 0, 0, 2 ** 31 - 1]), [[[1, 10], [6, 60], [0, 0]]]);
  assert.deepEqual(await product([2 ** 31 - 1, -(2 ** 31), 4, 4], [1, 1, 1, 1]), [[[0, 0], [30, 300], [0, 0]]]);
});

test('rows of many numbers, some of them absent', async () => {
  const count = 300;
  const columns = Int32Array.from({ length: count }, (_, i) => (i % 7 === 3 ? -1 : i % 5));
  const want = [0, 0];
  columns.forEach((column) => { if (column >= 0) want[0] += column + 1; });
  const [found] = await run(`
    data = s64[${count}] parameter(0)
    rows = s32[3] parameter(1)
    columns = s32[${count}] parameter(2)
    x = s64[5] parameter(3)
    ROOT r = s64[2] custom-call(data, rows, columns, x), custom_call_target="cpu_csr_sparse_dense_ffi"`,
  [new BigInt64Array(count).fill(1n), [0, count, count], columns, [1, 2, 3, 4, 5]]);
  assert.deepEqual(found.map(Number), want);
});
