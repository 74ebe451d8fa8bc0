/**
 * docs/passes.md: the table of rewrites, from src/rewrite/base/passes.def.
 */
import { readdir, readFile } from 'node:fs/promises';

const TABLE = new URL('../../../src/rewrite/base/passes.def', import.meta.url);
export const PASSES_PAGE = new URL('../../../docs/passes.md', import.meta.url);

const STAGES = {
  DERIVE: ['Derive', 'Runs once for a derivative or a batch, before that is made. Nothing of it is optional.'],
  BATCH: ['Batch', 'Runs once for a batch, after *Derive*. Nothing of it is optional.'],
  DYNAMIC: ['Dynamic', 'Runs once if there are dynamic dimensions, which are resolved afterwards. Nothing of it is optional.'],
  PREPARE: ['Prepare', 'Runs once. Leaves fewer kinds of operations, on every machine.'],
  EXPAND: ['Expand', 'Runs once. Leaves operations that generated code and kernels have.'],
  SIMPLIFY: ['Simplify', 'Repeats until nothing changes; and once more after *Loops*, if that changed anything.'],
  UNROLL: ['Unroll', 'Runs in each round of *Simplify* before *Loops*, not in those after.'],
  LOOPS: ['Loops', 'Runs once.'],
  FUSE: ['Fuse', 'Runs once.'],
};

/** Stages that the option `disable` is not about. */
const ALWAYS = ['DERIVE', 'BATCH', 'DYNAMIC'];

const ROW = /^PASS(?:_FOR)?\((\w+), (\w+), "([\w-]+)", (\w+),\s*(ANY|ABOUT\([^)]*\)),\s*"([^"]*)"\)/gm;

function operations(about) {
  const names = about.match(/HLO_\w+/g) ?? [];
  return names.map((name) => `\`${name.slice(4).toLowerCase().replaceAll('_', '-')}\``).join(', ') || 'all';
}

const SWITCHES = new URL('../../../src/compile/switches.def', import.meta.url);
const SWITCH = /^SWITCH\("([\w-]+)", \w+,\s*"([^"]*)"\)/gm;

const SOURCES = new URL('../../../src/rewrite/', import.meta.url);

/** @returns {Promise<Map<string, string>>} the file of each function of src/rewrite that a row may name, seen from docs/ */
async function filesOfFunctions() {
  const names = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith('.c')).sort();
  const files = await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, SOURCES), 'utf8')]));
  return new Map(files.flatMap(([name, text]) =>
    [...text.matchAll(/^bool (\w+)\(Module \*/gm)].map(([, defined]) => [defined, `../src/rewrite/${name}`])));
}

/** The rule for every rewrite, which tests of rewrites and the fuzzer's tolerances (tests/fuzz/domain.mjs) follow. */
const BITS = [
  '## Bits that a rewrite may change', '',
  'With and without a rewrite, results are equal, except for these bits:', '',
  '| may differ | for example |', '| --- | --- |',
  '| the order in which floats are added, and whether a dot rounds a product before it adds it: the last bits of a sum, and ' +
    'the sign of a sum that is zero | `split-reductions`, `small-dots`, `small-convolutions` |',
  '| the last bits of a transcendental function; 0 for a denormal result of `logistic` | `logistic`; `fold-constants`, as the evaluator has other formulas than loops |',
  '| the last bits of an exponential divided by a broadcast value | `logistic` |',
  '| sign and payload of a computed NaN | |', '',
  'All other bits stay: of integers and predicates, of moved elements, of comparisons and conversions, and of `+`, `-`, `*`, `/` and',
  'square roots of real floats, element by element. Each of these is rounded to the type of its instruction. NaN, infinities, `-0` and',
  'denormals count: `x + 0` does not become `x`, as -0 + 0 is +0. `x * 0.5 + x * 0.5` does not either, as the smallest',
  'denormal gives 0.', '',
];

/** @returns {Promise<string>} the page */
export async function passesPage() {
  const rows = [...(await readFile(TABLE, 'utf8')).matchAll(ROW)];
  const files = await filesOfFunctions();
  const linked = (name, of) => {
    if (!files.has(of)) throw new Error(`src/rewrite does not define ${of} of the row "${name}"`);
    return `[\`${name}\`](${files.get(of)})`;
  };
  const sections = Object.entries(STAGES).flatMap(([stage, [title, when]]) => [
    `## ${title}`, '', when, '',
    '| rewrite | optional | about | why, and why there |', '| --- | --- | --- | --- |',
    ...rows.filter(([, of]) => of === stage).map(([, , need, name, of, about, why]) =>
      `| ${linked(name, of)} | ${need.includes('OPTIONAL') && !ALWAYS.includes(stage) ? 'yes' : ''} | ${operations(about)} | ${why} |`),
    '',
  ]);
  const switches = [...(await readFile(SWITCHES, 'utf8')).matchAll(SWITCH)];
  return [
    '# Rewrites', '',
    'What happens to a module between `parseHlo` and code, in order. The table is `src/rewrite/base/passes.def`; this',
    'page is made from it by `make declarations`. A rewrite\'s link leads to its file.', '',
    '`client.passes(module)` gives the module after each rewrite that changed it. `client.compile(module,',
    '{ disable: [\'fuse-loops\'] })` and `xla-wasm run --disable fuse-loops` leave optional rewrites out. The program is then',
    'slower, and its results are equal, except for [certain bits](#bits-that-a-rewrite-may-change). If leaving one out makes a',
    'wrong result right, the fault is in that rewrite: `xla-wasm run --bisect` finds it.', '',
    ...BITS,
    ...sections,
    '## Compile', '', 'Parts of the later stages, which can be left out in the same way (`src/compile/switches.def`).', '',
    '| part | purpose |', '| --- | --- |', ...switches.map(([, name, purpose]) => `| \`${name}\` | ${purpose} |`), '',
    'A name such as `kernel-sort` leaves a kernel out: the next kernel that takes the instruction runs it, or else the',
    'evaluator. Products, convolutions and other instructions that the evaluator lacks keep their kernel.',
    '`client.optionalPasses` has all names.', '',
  ].join('\n');
}
