/**
 * The row of an operation across all tables of the project: what CONTRIBUTING's recipe writes.
 * `node tests/support/operation_row.mjs tanh` prints it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { OPERATIONS } from '../../bindings/builder/operations.mjs';
import { DOCS } from '../../bindings/tools/declarations/operations.mjs';
import { EXAMPLES as PROGRAMS } from '../../demo/playground/examples.mjs';
import { EXAMPLES, WITHOUT } from '../../demo/reference/examples.mjs';
import { stableHloNames } from '../../demo/reference/operations_data.mjs';
import { UNWRITTEN } from '../fuzz/pairs.mjs';
import { ROOT } from './program.mjs';

const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const sourcesOf = (folder, pattern = /\.c$/) => readdirSync(join(ROOT, folder)).filter((name) => pattern.test(name))
  .map((name) => [`${folder}/${name}`, read(`${folder}/${name}`)]);

/** The columns of the rows of opcodes.def: arguments, separated by commas outside of parentheses and strings. */
function columnsOf(text) {
  return [...text.matchAll(/(?:"[^"]*"|\((?:"[^"]*"|[^()"])*\)|[^,"(])+/g)].map(([column]) => column.trim().replace(/\s+/g, ' '));
}
const definitions = [...read('src/hlo/ir/opcodes.def').matchAll(/\/\* (.*) \*\/\nOPCODE\(((?:"[^"]*"|\((?:"[^"]*"|[^()"])*\)|[^()"])*)\)$/gm)]
  .map(([, result, columns]) => ({ result, columns: columnsOf(columns) }));

const SCALAR = sourcesOf('src/hlo/scalar');
const FORMULAS = [...['src/codegen/formulas', 'src/codegen/loops', 'src/codegen'].flatMap((folder) => sourcesOf(folder)),
  ...sourcesOf('src/vectors', /\.def$/)];
const RULES = sourcesOf('tests/fuzz', /^(rules_\w+|spelling|enclose)\.mjs$/);
const EVALUATOR = read('src/reference/eval.c') + read('tests/textbook/textbook.c');
const [SIZES, PADDING, LOOPS] = ['sizes', 'padding', 'dimensions'].map((name) => read(`src/rewrite/dynamic/${name}.c`));
const SELECTS = read('src/derive/gradient/selects.c');
const PASSES = read('src/rewrite/base/passes.def');
const EXAMPLE_METHODS = new Set([...EXAMPLES.map(({ method }) => method), ...Object.keys(WITHOUT)]);
const WITH_PROGRAM = new Set(PROGRAMS.flatMap(([, list]) => list.map(({ operation }) => operation)));
const NOT_EMITTED = /not_emitted\[\] = \{([^]*?)\n\};/.exec(read('tests/native/tables.c'))[1];
const DOCUMENT = read('docs/operations.md');
const ERRORS = read('tests/api/errors.json').split('\n');

const IS_ELEMENTWISE = /^ELEMENTWISE_/;

/** Operations whose operands have static sizes, and why. Others of them are refused by refuse_dynamic in sizes.c. */
const NO_ARRAYS = 'it has no operands of dynamic sizes';
const REFUSED = 'refused: its operands must have static sizes';
const STATIC = {
  ...Object.fromEntries(['CONSTANT', 'IOTA', 'PARAMETER', 'PARTITION_ID', 'REPLICA_ID', 'RNG', 'RNG_BIT_GENERATOR', 'RNG_GET_AND_UPDATE_STATE',
    'AFTER_ALL']
    .map((id) => [id, NO_ARRAYS])),
  ...Object.fromEntries(['RAGGED_DOT', 'ASYNC_START', 'ASYNC_UPDATE', 'ASYNC_DONE', 'ALL_GATHER', 'ALL_GATHER_START', 'ALL_GATHER_DONE',
    'ALL_REDUCE_START', 'ALL_REDUCE_DONE', 'ALL_TO_ALL', 'RAGGED_ALL_TO_ALL', 'COLLECTIVE_BROADCAST', 'COLLECTIVE_PERMUTE',
    'COLLECTIVE_PERMUTE_START', 'COLLECTIVE_PERMUTE_DONE', 'REDUCE_SCATTER', 'INFEED', 'OUTFEED', 'RECV', 'RECV_DONE', 'SEND', 'SEND_DONE',
    'COPY_START', 'COPY_DONE', 'CUSTOM_CALL'].map((id) => [id, REFUSED])),
};

/** Operations that no operation of StableHLO, CHLO or MHLO becomes, and why. */
const HALF = 'none: a half of an asynchronous operation, which compilers make';
const NOT_STABLEHLO = {
  ...Object.fromEntries(['all-gather', 'all-reduce', 'collective-permute',
    'copy'].flatMap((name) => [[`${name}-start`, HALF], [`${name}-done`, HALF]])),
  'send-done': 'none: stablehlo.send becomes both halves', 'recv-done': 'none: stablehlo.recv becomes both halves',
  parameter: 'none: an argument of a function', 'scaled-dot': 'none: it has no operation for scales',
  'ragged-all-to-all': 'none: a custom call, of the table in bindings/stablehlo/custom_calls.mjs',
  'rng-get-and-update-state': 'none: rng_bit_generator takes its state as an operand', domain: 'none: boundaries of shardings, which XLA makes',
};

/** Whether a table by opcode has a row of the operation. */
const hasRow = (text, id) => new RegExp(`\\[HLO_${id}\\] =`).test(text);
const filesWith = (sources, id) =>
  sources.filter(([, text]) => new RegExp(`\\bHLO_${id}\\b`).test(text)).map(([path]) => path);

/** Where the value of an operation is computed, one element or a whole array. */
function valueOf(id, category) {
  if (IS_ELEMENTWISE.test(category) && !/TERNARY/.test(category)) return filesWith(SCALAR, id).join(' ');
  if (category === 'COLLECTIVE' || category === 'TRANSFER') return 'src/runtime, among devices';
  if (id === 'PARAMETER') return 'an argument';
  if (id === 'CUSTOM_CALL') return 'by its target';
  return new RegExp(`HLO_${id}(?:\\] =|,) (\\w+)`).exec(EVALUATOR)?.[1] ?? '';
}

/** Where the sizes of a result of dynamic dimensions come from. */
function sizesOf(id, category) {
  if (IS_ELEMENTWISE.test(category)) return 'those of the operands, by category';
  if (hasRow(SIZES, id)) return 'src/rewrite/dynamic/sizes.c';
  if (new RegExp(`== HLO_${id}\\b`).test(LOOPS)) return 'src/rewrite/dynamic/dimensions.c';
  return new RegExp(`^PASS\\(DYNAMIC, .*\\bHLO_${id}\\b`, 'm').test(PASSES) ? 'rewritten before: passes.def' : STATIC[id] ?? '';
}

/** What gradients of a select know of the operation's result where its branch is not taken: the table `growth`. */
function growthOf(id, category, derivative) {
  if (!IS_ELEMENTWISE.test(category) || /^(ZERO|LINEAR)/.test(derivative)) return 'BOUNDED: not in the table';
  return new RegExp(`\\[HLO_${id}\\] = (\\w+)`).exec(SELECTS)?.[1] ?? '';
}

function codeOf(id, name, category) {
  if (!IS_ELEMENTWISE.test(category)) return 'by src/codegen/loops, a kernel or the evaluator';
  return filesWith(FORMULAS, id).join(' ') || (NOT_EMITTED.includes(`"${name}"`) ? 'none: not_emitted in tests/native/tables.c' : '');
}

/** The fuzzer's files that name the operation or a method that makes it, or why no rule writes it. */
function fuzzOf(name, methods) {
  const whole = name.replace(/-(start|done)$/, ''); // spelling.mjs writes both halves of an operation that it names
  const any = `(${[whole, ...methods].join('|')})`;
  const named = new RegExp(`'${any}'|\\bb\\.${any}\\(|\\b${any}: [{(\\d]`);
  return RULES.filter(([, text]) => named.test(text)).map(([path]) => path).join(' ') || (UNWRITTEN[name] ?? '');
}

/** @returns {Record<string, string>} by column; '' where the operation has no entry */
function rowOf({ result, columns: [id, quoted, arity, category, attributes, inference, batch, derivative, transposition] }) {
  const name = quoted.slice(1, -1);
  const [, methods, links] = new RegExp(`^\\| \`${name}\` \\| (.*) \\| (\\[.*) \\|$`, 'm').exec(DOCUMENT) ?? [];
  const builder = [...(methods ?? '').matchAll(/`(\w+)`/g)].map(([, method]) => method);
  return {
    name, result, arity, category,
    attributes: attributes.replace(/" ?"|"/g, '') || 'none',
    shape: inference && `infer_${inference}`,
    value: valueOf(id, category),
    batch, derivative, transposition,
    growth: growthOf(id, category, derivative),
    sizes: sizesOf(id, category),
    padding: hasRow(PADDING, id) ? 'src/rewrite/dynamic/padding.c' : 'any',
    code: codeOf(id, name, category),
    builder: builder.join(' ') || (methods === '(text only)' ? 'text only' : ''),
    sentence: builder.every((method) => DOCS[method] || !OPERATIONS[method]) ?
      builder.map((method) => DOCS[method]).join(' ') || 'text only' : '',
    stablehlo: stableHloNames(name).join(' ') || (NOT_STABLEHLO[name] ?? ''),
    program: WITH_PROGRAM.has(name) ? 'demo/playground/examples.mjs' : '',
    example: builder.every((method) => EXAMPLE_METHODS.has(method) || !OPERATIONS[method]) ? 'demo/reference/examples.mjs' : '',
    tests: links ? [...links.matchAll(/\[(\w[\w.]*)\]/g)].map(([, test]) => test).join(' ') : '',
    fuzz: fuzzOf(name, builder),
    errors: String(ERRORS.filter((line) => line.includes(`"op": "${name}"`)).length || ''),
  };
}

/** By the operation's name in HLO text. */
export const operationRows = () => new Map(definitions.map((definition) => {
  const row = rowOf(definition);
  return [row.name, row];
}));

/** A row as lines of text. */
export const rowText = (row) =>
  Object.entries(row).map(([column, value]) => `${column.padEnd(14)}${value || 'MISSING'}`).join('\n');

if (process.argv[1] === import.meta.filename) {
  const rows = operationRows();
  for (const name of process.argv.slice(2)) {
    const row = rows.get(name);
    if (!row) throw new Error(`no operation is called ${name}: ${[...rows.keys()].join(', ')}`);
    console.log(rowText(row));
  }
}
