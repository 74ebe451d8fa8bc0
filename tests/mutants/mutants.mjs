/**
 * Measures what the tests see: makes small changes to the core, one at a time, and runs tests until one fails.
 *
 *     make mutants [COUNT=20] [SEED=1] [FILES='src/plan/fusible.c src/compile'] [ARGS='--slow --again']
 *
 * Mutants are drawn at random from all changes (mutate.mjs) to files of compile/, rewrite/, plan/, codegen/, runtime/ and
 * the planning half of kernels/: from each folder in turn, so that each has as many. Each is built in a tree of its own
 * (tree.mjs). A mutant that does not compile, or makes the same object file, is none, and another is drawn. It meets the
 * tests that reach its block (reach.mjs), first some of each file, then all; it is killed by one that fails or takes too
 * long. The last line is "K of N killed". FILES may be lines, too: src/plan/fusible.c:12 tries all mutants of that line.
 *
 * build/mutants/SEED.jsonl has a line for each; a run that was stopped goes on after the last. ARGS: --slow tries the
 * slower tests, too; --again tries the survivors of the file again, on the core and the tests as they are now; --keep takes
 * what the tests reached from the measurement before, though the core has changed since; --quick runs some
 * quick tests only, of 4 s, for a first look at many mutants; --only NAMES these test files; --tree NAME is another copy,
 * for a second run beside the first. --threads changes the build with threads instead, and runs the tests of THREADED;
 * --native runs those of NATIVE, too: the core under ASan and UBSan, and under ThreadSanitizer. Both take minutes for each
 * mutant, and are for survivors: with --again.
 */
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { Random } from '../fuzz/random.mjs';
import { ROOT } from '../support/program.mjs';
import { applied, lineOf, mutationsOf } from './mutate.mjs';
import { measured } from './reach.mjs';
import { build, buildNative, inTree, makeTree, objectOf, run } from './tree.mjs';

const { values: options } = parseArgs({
  options: { count: { type: 'string', default: '20' }, seed: { type: 'string', default: '1' }, files: { type: 'string', default: '' },
    tree: { type: 'string', default: 'tree' }, slow: { type: 'boolean', default: false }, again: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false }, native: { type: 'boolean', default: false },
      threads: { type: 'boolean', default: false },
    only: { type: 'string', default: '' } },
});
const FOLDERS = ['compile', 'rewrite', 'plan', 'codegen', 'runtime'];
/** Files of kernels that plan; the others compute, and tests of their results are elsewhere. */
const PLANS = /^kernels\/(list|kernels|elements)\.c$|_plan\.c$|_rows\.c$|kernels\/(contraction\/(dot|direct)|convolution\/(convolution|window)|fft\/fft|linalg\/linalg|sort\/order_key)\.c$/;
/** Written natively with vectors of their own, or checks of test builds: not part of the core's decisions. */
const LEFT_OUT = /(vector_math|vector_real|vector_complex|lane_math|wasm_encoder|plan_check|fusion_check|module_check|rewrite\/effects)\.c$/;
/** Some 40 s of one core in all, if none fails. */
const FAST = [
  'core/aliases', 'api/builder', 'api/builder_mistakes', 'core/codegen', 'core/counters', 'api/dynamic', 'core/effects', 'core/epilogues',
  'api/errors', 'corpus/golden', 'core/listing', 'core/loop_state', 'core/lowering', 'core/maps', 'project/old_faults',
  'project/order', 'core/overwrite', 'core/ranks', 'core/reductions', 'core/regions', 'core/rows', 'core/short_rows',
  'core/siblings', 'core/sort', 'core/thresholds', 'core/windows',
];
/** For mutants that FAST does not see, if --slow is given: whatever needs no threads, processes, page or clock. */
const SLOW = [
  'api/accepted', 'core/applied', 'api/attributes', 'api/boundary', 'corpus/captured', 'runtime/collective_shapes',
  'api/comforts', 'runtime/contained', 'runtime/devices', 'core/divergence', 'core/doubled', 'corpus/evaluated', 'corpus/examples',
  'corpus/exports', 'corpus/finite_differences', 'api/functions', 'api/gradient_rules', 'api/gradients', 'api/hlo_proto',
  'core/in_place', 'core/large_operands', 'core/rare_forms', 'api/launch', 'core/library_calls', 'runtime/limits', 'core/linalg', 'api/literal',
  'api/locations', 'runtime/memory', 'runtime/mesh', 'runtime/mesh_types', 'api/mistakes', 'core/movement', 'api/nans', 'api/npy',
  'api/out_of_range', 'api/pjrt', 'core/ragged_dot', 'core/ranges', 'core/reduce', 'corpus/rewrites', 'runtime/runtime', 'runtime/failures',
    'runtime/out_of_memory',
  'api/shape', 'runtime/sharding', 'api/stablehlo', 'api/stacks', 'core/thresholds_numbers',
  'core/thresholds_programs', 'core/topk', 'api/train', 'api/vmap', 'corpus/vmap_corpus', 'runtime/waiting', 'api/without_derivative',
    'core/zero_sizes',
];
/** For --threads: tests of what only threads, deadlines or failing allocations show. */
const THREADED = [
  'core/slices', 'runtime/yielding', 'runtime/traps', 'runtime/waiting', 'runtime/exhaustion', 'runtime/compiling', 'runtime/lifetime',
  'runtime/killed', 'runtime/runtime', 'runtime/failures', 'runtime/out_of_memory', 'runtime/meshes', 'runtime/memory', 'api/profile',
    'api/client', 'core/sort', 'core/linalg', 'core/reductions', 'corpus/golden',
];
/** For --native: tests of the programs under sanitizers. */
const NATIVE = ['native/programs', 'native/run', 'corpus/native_corpus', 'native/races'];
const MOST_SECONDS = 300; // of a core, of one of these files
const FIRST_MS = 2000; // of the first tests that a mutant meets
const FIRST_OF_FILE = 4;
const QUICK_MS = 400;
const SOME_MS = 4000;
const START_MS = 100; // of a test file, beside its tests

const folderOf = (path) => path.split('/')[0];
const nameOf = ({ path, kind, source, column, text, nth }) => JSON.stringify([path, kind, source, column, text, nth]);

/** All files that are changed. */
async function filesOf() {
  const all = (await readdir(join(ROOT, 'src'), { recursive: true })).filter((path) => path.endsWith('.c') && !LEFT_OUT.test(path)).sort();
  return all.filter((path) => FOLDERS.includes(folderOf(path)) || (folderOf(path) === 'kernels' && PLANS.test(path)));
}

const ONLY = options.only.split(/\s+/).filter(Boolean);
let threaded = []; // the test files of --threads that pass without a mutant

/** FILES: folders, files, or lines of files as path:line. */
const WANTED = options.files.split(/\s+/).filter(Boolean).map((one) => one.replace(/^src\//, ''));
const LINES = WANTED.some((one) => one.includes(':'));
const isWanted = (path) => !WANTED.length || WANTED.some((one) => one.split(':')[0] === path || path.startsWith(`${one}/`));
const isWantedLine = ({ path, line }) => !LINES || WANTED.includes(path) || WANTED.includes(`${path}:${line}`);

/** Mutations of a file, each with its line and the number of equal lines before, which find it when the file has changed. */
function mutationsIn(path, text) {
  const seen = new Map();
  return mutationsOf(text).map((mutation) => {
    const start = text.lastIndexOf('\n', mutation.at - 1) + 1;
    const one = { ...mutation, path, line: lineOf(text, mutation.at), source: text.slice(start).split('\n', 1)[0], column: mutation.at - start,
      nth: 0 };
    const name = nameOf(one);
    one.nth = seen.get(name) ?? 0;
    seen.set(name, one.nth + 1);
    return one;
  });
}

/** Draws mutations without end, from each folder in turn. */
function* drawn(texts, random) {
  const folders = new Map();
  for (const [path, text] of texts) folders.set(folderOf(path),
    [...folders.get(folderOf(path)) ?? [], ...mutationsIn(path, text).filter(isWantedLine)]);
  const all = [...folders.values()];
  while (all.some((list) => list.length)) {
    for (const list of all) if (list.length) yield list.splice(random.between(0, list.length - 1), 1)[0];
  }
}

/** The mutations of lines that a run before wrote, where they stand now. */
function* found(texts, lines) {
  for (const line of lines) {
    const mutation = mutationsIn(line.path, texts.get(line.path) ?? '').find((one) => nameOf(one) === nameOf(line));
    if (mutation) yield mutation;
    else console.log(`is no more: src/${line.path}:${line.line} ${line.source.trim()}`);
  }
}

/** Some tests of each file, then all others that are quick, then the others: lists of [file, names]. */
function choices(tests, random) {
  const parts = [new Map(), new Map(), new Map()], left = [...tests], ofFile = new Map();
  const add = (part, { file, name }) => parts[part].set(file, [...parts[part].get(file) ?? [], name]);
  let budget = FIRST_MS;
  while (left.length) {
    const [test] = left.splice(random.between(0, left.length - 1), 1), count = ofFile.get(test.file) ?? 0;
    const isFirst = test.ms < QUICK_MS && count < FIRST_OF_FILE && budget > 0;
    if (isFirst) {
      ofFile.set(test.file, count + 1);
      budget -= test.ms + START_MS / FIRST_OF_FILE;
    }
    add(isFirst ? 0 : test.ms < QUICK_MS ? 1 : 2, test);
  }
  return parts.filter((part) => part.size).map((part) => Array.from(part, ([file, names]) => [file, names.includes(null) ? null : names]));
}

/** Tests of some seconds, drawn at random. */
function some(all, random) {
  const left = [...all], list = [];
  for (let ms = 0; left.length && ms < SOME_MS; ms += list.at(-1).ms) list.push(...left.splice(random.between(0, left.length - 1), 1));
  return list;
}

/** The first test that fails, or undefined. */
async function killer(all, random) {
  const tests = options.quick ? some(all.filter(({ ms }) => ms < QUICK_MS), random) : all;
  const seconds = tests.reduce((sum, { ms }) => sum + ms, 0) / 1000;
  for (const choice of choices(tests, random)) {
    const file = inTree('build/choice.json');
    await writeFile(file, JSON.stringify(choice));
    const { code, failed } = await run(process.execPath, ['tests/mutants/part.mjs', file], 20 + 5 * seconds);
    if (code) return failed[0] ?? 'a test that does not end';
  }
  return undefined;
}

/** The first test of these files that fails, or undefined; a file has a process of its own. */
async function killerOf(names) {
  for (const name of names) {
    const file = inTree('build/choice.json');
    await writeFile(file, JSON.stringify([[`tests/${name}.test.mjs`, null]]));
    const { code, failed } = await run(process.execPath, ['tests/mutants/part.mjs', file], MOST_SECONDS, { patience: 3 });
    if (code) return `${name}: ${failed[0] ?? 'it does not end'}`;
  }
  return undefined;
}

/** Those of the files that pass now. */
async function passing(names) {
  const list = [];
  for (const name of names) {
    const by = await killerOf([name]);
    if (by) console.log(`without a mutant: ${by}`);
    else list.push(name);
  }
  return list;
}

async function killerNatively() {
  const { code, output } = await buildNative();
  if (code) throw new Error(`native programs do not build:\n${output}`);
  return killerOf(NATIVE);
}

/** Builds and tests a mutant. Returns what to write about it. */
async function tried(mutation, text, reach) {
  const file = inTree(`src/${mutation.path}`), random = new Random(mutation.at);
  const undo = await objectOf(mutation.path);
  try {
    await writeFile(file, applied(text, mutation));
    const { code } = await build(mutation.path);
    if (code || (await undo.isSame())) return { none: true };
    const started = Date.now(), tests = reach(mutation.path, text, mutation.at);
    if ((tests.length || options.threads) && (await build()).code) return { none: true };
    const [fast, slow] = [true, false].map((isFast) =>
      tests.filter((test) => FAST.includes(test.file.slice('tests/'.length, -'.test.mjs'.length)) === isFast));
    const byFast = await killer(fast, random);
    const bySlow = byFast ? undefined : (options.slow && await killer(slow, random)) || (options.threads && await killerOf(threaded)) ||
      (options.native && await killerNatively()) || undefined;
    return { by: byFast ?? bySlow ?? null, slow: Boolean(bySlow), tests: tests.length, seconds: Math.round((Date.now() - started) / 1000) };
  } finally {
    await writeFile(file, text);
    await undo.restore();
  }
}

function print({ path, line, kind, from, text, by, slow, tests, seconds }) {
  const change = `${kind}: ${JSON.stringify(from)} -> ${JSON.stringify(text)}`;
  console.log(`${by ? `killed by ${slow ? 'slower ' : ''}${by}` : 'SURVIVES'} (${tests} tests, ${seconds} s): src/${path}:${line} ${change}`);
}

/** By folder: mutants, those that the fast tests kill, and the slower ones. */
function table(lines) {
  for (const folder of [...new Set(lines.map(({ path }) => folderOf(path)))].sort()) {
    const list = lines.filter(({ path }) => folderOf(path) === folder), killed = list.filter(({ by }) => by);
    console.log(`${folder.padEnd(10)} ${killed.length} of ${list.length}${options.slow ? `, ${killed.filter(({ slow }) => slow).length} by the slower tests` : ''}`);
  }
}

const readLines = async (file) => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean).map((line) => JSON.parse(line));

async function main() {
  const started = Date.now(), all = await filesOf(), files = all.filter(isWanted), log = join(ROOT, `build/mutants/${options.seed}.jsonl`);
  if (!files.length) throw new Error(`no file of src is one of ${options.files}`);
  await mkdir(join(ROOT, 'build/mutants'), { recursive: true });
  const isReached = !options.threads && !(options.native && !options.slow);
  const reach = isReached ? await measured(all, ONLY.length ? ONLY : [...FAST, ...options.slow ? SLOW : []], options.keep) : () => [];
  await makeTree(options.tree, options.threads ? 'threads' : 'single');
  if (options.threads) threaded = await passing(ONLY.length ? ONLY : THREADED);
  const texts = new Map(await Promise.all(files.map(async (path) => [path, await readFile(inTree(`src/${path}`), 'utf8')])));
  console.log(`${files.length} files (${Math.round((Date.now() - started) / 1000)} s)`);

  const before = await readLines(log), known = new Map(options.again || LINES ? [] : before.map((line) => [nameOf(line), line]));
  const survivors = before.filter((line) => !line.none && !line.by && isWanted(line.path) && isWantedLine(line)), lines = [];
  const source = options.again ? found(texts, survivors) : drawn(texts, new Random(Number(options.seed)));
  for (const mutation of source) {
    if (!options.again && lines.length >= Number(options.count)) break;
    const text = texts.get(mutation.path), old = known.get(nameOf(mutation));
    const line = old ?? { ...mutation, from: text.slice(mutation.at, mutation.at + mutation.length), ...await tried(mutation, text, reach) };
    if (!old) await appendFile(LINES ? '/dev/null' : options.again ? log.replace('.jsonl', '.again.jsonl') : log, `${JSON.stringify(line)}\n`);
    if (line.none) continue;
    lines.push(line);
    print(line);
  }
  table(lines);
  console.log(`${lines.filter(({ by }) => by).length} of ${lines.length} killed (seed ${options.seed}, ${Math.round((Date.now() - started) / 1000)} s)`);
}

await main();
