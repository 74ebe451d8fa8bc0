/**
 * Tests tables and enumerations that must agree. Each place of one has the same word, ORDER and a name, and a test or
 * a static assertion beside one of the places checks the agreement.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { STATUS_CODES } from '../../bindings/base/error.mjs';
import { PRIMITIVE_TYPES } from '../../bindings/formats/hlo_schema.mjs';
import { chloArity } from '../../bindings/stablehlo/chlo.mjs';
import { VHLO_SCALARS } from '../../bindings/stablehlo/encodings.mjs';
import { arity } from '../../bindings/stablehlo/operations.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { VIEWS } from '../../demo/views.mjs';
import { operationRows, rowText } from '../support/operation_row.mjs';
import { ROOT } from '../support/program.mjs';
import { POLICY_SCENES, scenesOf, WITHOUT_POLICY_SCENES, WITHOUT_SCENES } from '../support/scenes.mjs';

const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const files = (folder, pattern) => readdirSync(join(ROOT, folder), { recursive: true })
  .filter((path) => pattern.test(path)).map((path) => `${folder}/${path}`);

test('a word that marks an order stands at two places, and one of them is checked', () => {
  const places = new Map();
  const sources = [...files('src', /\.(c|h|inc|def)$/), ...files('bindings', /\.mjs$/), ...files('python/jaxlib', /\.(py|mjs)$/),
    ...files('tests', /\.(mjs|c)$/)];
  for (const file of sources) {
    for (const [text, word] of read(file).matchAll(/\bORDER ([A-Z][A-Z_]+)[^]{0,200}/g)) {
      const isChecked = file.startsWith('tests/') || /^[^]*?\n_Static_assert/.test(text.split('\n\n')[0]);
      places.set(word, [...(places.get(word) ?? []), { file, isChecked }]);
    }
  }
  assert.ok(places.size >= 10);
  for (const [word, found] of places) {
    const list = found.map(({ file }) => file).join(', ');
    assert.ok(found.length >= 2, `ORDER ${word} stands in ${list} only`);
    assert.ok(found.some(({ isChecked }) => isChecked), `nothing checks ORDER ${word}: ${list}`);
  }
});

/* ORDER OPCODE */
test('StableHLO\'s operations with HLO\'s name take as many operands', () => {
  const rows = [...read('src/hlo/ir/opcodes.def').matchAll(/^OPCODE\(\w+, "([\w-]+)", (\w+),/gm)];
  const known = rows.map(([, name, count]) => [name, Number(count), arity[`stablehlo.${name.replaceAll('-', '_')}`]])
    .filter(([, count, own]) => !Number.isNaN(count) && own !== undefined);
  assert.ok(known.length > 60, `${known.length}`);
  for (const [name, count, own] of known) assert.equal(own, count, `${name}, in bindings/stablehlo/operations.mjs`);
});

test('Python\'s dialects have the operations of StableHLO and CHLO, with as many operands', () => {
  for (const counts of [arity, chloArity]) {
    const [dialect] = Object.keys(counts)[0].split('.'), file = `python/jaxlib/mlir/dialects/${dialect}.py`;
    const rows = [...read(file).matchAll(/^(\w+)(?: \w+)* \| ([^|]*)\|/gm)].map(([, name, parameters]) =>
      [`${dialect}.${name}`, parameters.split(/\s+/).filter((word) => /^\w/.test(word)).length]);
    const known = new Map(rows);
    for (const [name, count] of Object.entries(counts)) assert.equal(known.get(name), count, `${name}, in ${file}`);
  }
});

test('the operations with the attribute result_accuracy are the same in the bindings and in Python', () => {
  const words = (text) => text.match(/\b[a-z]\w+/g).sort();
  const wanted = words(/'result_accuracy\?': ([^]*?),\n/.exec(read('bindings/stablehlo/properties.mjs'))[1]);
  const places = {
    'mlir/_ir/properties.py': /^result_accuracy: ((?:.*@2.*\n)+)/m, 'mlir/_ir/portable.py': /_ACCURATE = frozenset\(([^]*?)\.split/,
  };
  for (const [file, list] of Object.entries(places)) assert.deepEqual(words(list.exec(read(`python/jaxlib/${file}`))[1]), wanted, file);
  const rows = [...read('python/jaxlib/mlir/dialects/stablehlo.py').matchAll(/^(\w+).*\.result_accuracy\?/gm)];
  assert.deepEqual(rows.map(([, name]) => name).sort(), wanted, 'dialects/stablehlo.py');
});

/* ORDER STATUS */
test('status codes have the same numbers in the core, in the bindings and in Python', () => {
  const codes = [...read('src/base/error.h').matchAll(/^ {2}STATUS_(\w+) = (\d+),/gm)];
  assert.ok(codes.length > 10);
  for (const [, name, number] of codes) assert.equal(STATUS_CODES[number], name);
  const [, python] = read('python/jaxlib/_jax/errors.py').match(/^CODES = \(([^)]*)\)/m);
  assert.deepEqual([...python.matchAll(/"(\w+)"/g)].map(([, name]) => name), [...STATUS_CODES], 'CODES in errors.py');
});

/* ORDER COMMAND */
test('commands and answers have one order in Python and in the process beside it', () => {
  const host = read('python/jaxlib/_engine/host.mjs'), bridge = read('python/jaxlib/_engine/bridge.py');
  const words = (list) => list.split(',').map((name) => name.trim().replaceAll("'", '').toUpperCase());
  const [, , last] = bridge.match(/^(OK.*) = range\((\d+)\)/m), [, commands, count] = bridge.match(/^(ANSWER.*) = range\((\d+)\)/m);
  assert.deepEqual(words(commands), words(host.match(/^const OPS = \[([^\]]*)\]/m)[1]));
  assert.deepEqual(words(commands), words(host.match(/^const \[(ANSWER[^\]]*)\] = OPS\.keys\(\)/m)[1]));
  assert.equal(words(commands).length, Number(count));
  const answers = words(bridge.match(/^(OK.*) = range/m)[1]);
  assert.deepEqual(answers.map((name, number) => `${name} = ${number}`).join(', '), host.match(/^const (OK = .*);/m)[1]);
  assert.equal(answers.length, Number(last));
});

/* ORDER TYPE */
test('element types have the same names, numbers and sizes in the core and in the bindings', () => {
  const rows = [...read('src/value/types.def').matchAll(/^TYPE\(\w+, "(\w+)", (\d+), (\d+), (\d+), KIND_(\w+)\)/gm)];
  assert.ok(rows.length > 25);
  for (const [, name, number, bytes, bits, kind] of rows) {
    assert.equal(PRIMITIVE_TYPES[number], name);
    if (['TUPLE', 'OPAQUE', 'TOKEN'].includes(kind)) continue;
    const type = ELEMENT_TYPES.get(name);
    assert.deepEqual({ bytes: type.bytes, bits: type.bits, kind: type.kind },
      { bytes: Number(bytes), bits: Number(bits), kind: kind.toLowerCase() }, name);
  }
  const names = rows.map(([, name]) => name);
  for (const name of ELEMENT_TYPES.keys()) assert.ok(names.includes(name), `the core has no ${name}`);
});

test('StableHLO and the declarations name every element type', () => {
  const names = [...ELEMENT_TYPES.values()].filter(({ kind }) => kind !== 'complex').map(({ name }) => name);
  const missing = names.filter((name) => !Object.values(VHLO_SCALARS).includes(name));
  assert.deepEqual(missing, [], 'in VHLO_SCALARS of bindings/stablehlo/encodings.mjs');
  const [, union] = read('bindings/index.d.ts').match(/^export type ElementType =([^;]*);/m);
  assert.deepEqual([...union.matchAll(/'(\w+)'/g)].map(([, name]) => name).sort(), [...ELEMENT_TYPES.keys()].sort(),
    'ElementType in bindings/index.d.ts');
});

test('the golden corpus has conversions to every element type', () => {
  const files = readdirSync(join(ROOT, 'tests/golden')).filter((name) => name.endsWith('.golden'));
  const made = new Set(files.flatMap((name) =>
    [...read(`tests/golden/${name}`).matchAll(/ = (\w+)\[[\d,]*\](?:\{[^}]*\})? convert\(/g)].map(([, type]) => type)));
  const missing = [...ELEMENT_TYPES.keys()].filter((name) => name !== 'token' && !made.has(name));
  assert.deepEqual(missing, [], 'in tests/golden/family_narrow.py');
});

test('Python knows every element type, by the numbers that its engine uses', () => {
  const [, engine] = read('python/jaxlib/_engine/session.mjs').match(/^export const TYPES = \[([^\]]*)\]/m);
  const names = [...engine.matchAll(/'(\w+)'/g)].map(([, name]) => name);
  assert.deepEqual([...names].sort(), [...ELEMENT_TYPES.keys()].filter((name) => name !== 'token').sort(), 'TYPES in session.mjs');
  const [, python] = read('python/jaxlib/_engine/dtypes.py').match(/^_NAMES = \(([^]*?)^\)/m);
  assert.deepEqual([...python.matchAll(/\("(\w+)", "\w+"\)/g)].map(([, name]) => name), names, '_NAMES in dtypes.py');
  const [, enumeration] = read('python/jaxlib/_hlo.py').match(/^class PrimitiveType[^]*?"""\n\n([^]*?)\n\n/m);
  const byNumber = new Map([...enumeration.matchAll(/^ +(\w+) = (\d+)$/gm)].map(([, name, number]) =>
    [Number(number), name.toLowerCase().replace('_type', '')]));
  for (const [number, name] of Object.entries(PRIMITIVE_TYPES)) assert.equal(byNumber.get(Number(number)), name, 'PrimitiveType in _hlo.py');
});

/* ORDER MEMORY */
test('kinds of memory have one order in the core and in the bindings', () => {
  const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  const [, fields] = read('src/compile/program.h').match(/typedef struct ProgramMemory [^;]*?int64_t ([^;]*);/);
  const names = fields.split(',').map((name) => camel(name.trim()));
  const [, given] = read('src/api.c').match(/double xla_executable_bytes[^]*?const int64_t bytes\[\] = \{([^}]*)\}/);
  assert.deepEqual([...given.matchAll(/memory\.(\w+)/g)].map(([, name]) => camel(name)).sort(), [...names].sort(), 'src/api.c');
  const [, bound] = read('bindings/objects/executable.mjs').match(/^const MEMORY = \[([^\]]*)\]/m);
  assert.deepEqual([...bound.matchAll(/'(\w+)'/g)].map(([, name]) => name),
    [...given.matchAll(/memory\.(\w+)/g)].map(([, name]) => camel(name)), 'MEMORY in bindings/objects/executable.mjs');
  const [, declared] = read('bindings/index.d.ts').match(/^export interface ExecutableMemory \{([^]*?)^\}/m);
  assert.deepEqual([...declared.matchAll(/readonly (\w+)/g)].map(([, name]) => name).sort(), [...names].sort(), 'bindings/index.d.ts');
});

/* ORDER PIPELINE: docs.test.mjs compares the page of rewrites with the table. */

/* ORDER OPCODE */
test('each operation has an entry in every table: its row across all, by tests/support/operation_row.mjs', () => {
  const rows = operationRows();
  assert.equal(rows.size, [...read('src/hlo/ir/opcodes.def').matchAll(/^OPCODE\(/gm)].length);
  for (const [name, row] of rows) {
    const missing = Object.keys(row).filter((column) => !row[column]);
    assert.deepEqual(missing, [], `${name} lacks an entry; CONTRIBUTING.md, "Add an operation", has the place of each:\n${rowText(row)}`);
  }
});

test('each view of the demo has scenes, also for the test of the policy', () => {
  const { scenes } = scenesOf({}), addressOf = new Map(scenes.map(([name, address]) => [name, address]));
  for (const [names, excepted] of [[[...addressOf.keys()], WITHOUT_SCENES], [POLICY_SCENES, WITHOUT_POLICY_SCENES]]) {
    const shown = new Set(names.map((name) => addressOf.get(name)?.split('/')[0]));
    assert.deepEqual(VIEWS.map(({ id }) => id).filter((id) => !shown.has(id)).sort(), Object.keys(excepted).sort());
  }
});
