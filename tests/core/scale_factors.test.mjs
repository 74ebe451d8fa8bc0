/**
 * f8e8m0fnu and f4e2m1fn, which loops compute in other types (rewrite/expand/normalize_floats.c): all pairs of operands, held
 * against the evaluator, which the golden corpus holds against XLA.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client } from '../../bindings/index.mjs';
import { operationRows } from '../support/operation_row.mjs';

const EVALUATOR = fileURLToPath(new URL('../../build/native/xla-run', import.meta.url));
/** Element-wise operations that take no floats, or give no float; the other ones of opcodes.def are tested. */
const INTEGERS = 'it takes integers only', PARTS = 'of a real number it is the number or 0', TRUTH = 'its result is pred: PROGRAMS';
const EXCEPTED = {
  ...Object.fromEntries(['and', 'count-leading-zeros', 'mulhi', 'not', 'or', 'popcnt', 'shift-left', 'shift-right-arithmetic',
    'shift-right-logical', 'xor'].map((name) => [name, INTEGERS])),
  real: PARTS, imag: PARTS, 'is-finite': TRUTH,
};
const ROWS = [...operationRows().values()].filter(({ name, shape }) => /^infer_(unary|binary)$/.test(shape) && !EXCEPTED[name]);

let client, folder;
before(async () => {
  client = await Client.create({ threads: 0 });
  folder = await mkdtemp(path.join(tmpdir(), 'xla-wasm-'));
});
after(async () => {
  client.dispose();
  await rm(folder, { recursive: true });
});

/** The bits of all results, x along the rows and y along the columns, compiled and evaluated. */
async function bothWays(type, bits, lines) {
  const count = 1 << bits, shape = (of) => `${of}[${count},${count}]`, word = shape(`u${bits}`);
  const text = `HloModule m\nENTRY e {
  i = ${shape('u32')} iota(), iota_dimension=0\n  ib = ${word} convert(i)\n  x = ${shape(type)} bitcast-convert(ib)
  j = ${shape('u32')} iota(), iota_dimension=1\n  jb = ${word} convert(j)\n  y = ${shape(type)} bitcast-convert(jb)
  ${lines(shape(type), word)}\n}`;
  const file = path.join(folder, 'module.hlo');
  await writeFile(file, text);
  const executable = await client.compile(client.parseHlo(text));
  assert.doesNotMatch(executable.thunks(), /\beval\b/);
  const [{ data }] = await executable.execute([]);
  executable.dispose();
  const printed = execFileSync(EVALUATOR, [file], { maxBuffer: 1 << 24 }).toString();
  return [Array.from(data), printed.slice(printed.indexOf('{')).match(/\d+/g).map(Number)];
}

const result = (operation) => (shape, word) => `r = ${shape} ${operation}\n  ROOT q = ${word} bitcast-convert(r)`;
const truth = (operation) => (shape, word) => `p = ${shape.replace(/^\w+/, 'pred')} ${operation}\n  ROOT q = ${word} convert(p)`;
const PROGRAMS = {
  ...Object.fromEntries(ROWS.map(({ name, arity }) => [name, result(`${name}(${arity === '1' ? 'x' : 'x, y'})`)])),
  ...Object.fromEntries(['EQ', 'LT', 'GE'].map((d) => [`compare ${d}`, truth(`compare(x, y), direction=${d}`)])),
  'is-finite': truth('is-finite(x)'),
  clamp: result('clamp(x, y, x)'),
  'reduce-precision': result('reduce-precision(x), exponent_bits=3, mantissa_bits=1'),
};
for (const [type, bits] of [['f8e8m0fnu', 8], ['f4e2m1fn', 4]]) {
  test(`${type}: loops and the evaluator agree on all pairs`, { timeout: 300000 }, async () => {
    for (const [name, lines] of Object.entries(PROGRAMS)) {
      const [compiled, evaluated] = await bothWays(type, bits, lines);
      assert.equal(evaluated.length, compiled.length);
      const wrong = compiled.findIndex((word, i) => word !== evaluated[i]);
      assert.equal(wrong, -1, `${name} of ${wrong >> bits} and ${wrong & ((1 << bits) - 1)}: ${compiled[wrong]}, not ${evaluated[wrong]}`);
    }
  });
}
