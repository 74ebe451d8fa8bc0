/**
 * Measures what the tests see: makes small changes to the core, one at a time, and runs the fast tests until one fails.
 *
 *     make mutants [COUNT=20] [SEED=1] [FILES='src/plan/*.c']
 *
 * Mutants are drawn at random from all changes (mutate.mjs) to files of compile/, rewrite/, plan/, codegen/, runtime/ and
 * the planning half of kernels/: from each folder in turn, so that each has as many. Each is built in a tree of its own
 * (tree.mjs). A mutant that does not compile, or makes the same WebAssembly, is none, and another is drawn. It is killed
 * by a test that fails or that takes too long. The tests that killed most per second come first. The last line is
 * "K of N killed"; build/mutants/SEED.txt has all lines. ARGS: --slow tries the slower tests, too; --tree NAME is another
 * copy, for a second run beside the first.
 */
import { createHash } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { Random } from '../fuzz/random.mjs';
import { ROOT } from '../support/program.mjs';
import { applied, lineOf, mutationsOf } from './mutate.mjs';
import { build, digest, EVERY, inTree, makeTree, run } from './tree.mjs';

const { values: options } = parseArgs({
  options: { count: { type: 'string', default: '20' }, seed: { type: 'string', default: '1' }, files: { type: 'string', default: '' },
    tree: { type: 'string', default: 'tree' }, slow: { type: 'boolean', default: false } },
});
const FOLDERS = ['compile', 'rewrite', 'plan', 'codegen', 'runtime'];
/** Files of kernels that plan; the others compute, and tests of their results are elsewhere. */
const PLANS = /^kernels\/(list|kernels|elements)\.c$|_plan\.c$|_rows\.c$|kernels\/(contraction\/(dot|direct)|convolution\/(convolution|window)|fft\/fft|linalg\/linalg|sort\/order_key)\.c$/;
/** Written natively with vectors of their own, or checks of test builds: not part of the core's decisions. */
const LEFT_OUT = /(vector_math|vector_real|vector_complex|lane_math|wasm_encoder|plan_check|fusion_check|module_check|rewrite\/effects)\.c$/;
/** Some 50 s of one core in all, if none fails. */
const FAST = [
  'core/aliases', 'api/builder', 'api/dynamic', 'core/effects', 'core/epilogues', 'api/errors', 'corpus/golden',
  'core/loop_state', 'project/old_faults', 'project/order', 'core/overwrite', 'core/reductions', 'core/regions',
  'core/rows', 'core/short_rows', 'core/siblings', 'core/thresholds', 'core/windows',
];
/** For mutants that FAST does not see, if --slow is given. */
const SLOW = [
  'core/applied', 'corpus/captured', 'core/codegen', 'runtime/collective_shapes', 'core/divergence',
  'core/library_calls', 'core/lowering', 'core/maps', 'runtime/mesh_types', 'core/movement', 'core/ragged_dot',
  'core/ranks', 'runtime/sharding', 'core/sort', 'api/stacks', 'core/thresholds_numbers', 'core/thresholds_programs',
  'core/topk', 'api/vmap', 'runtime/yielding',
];

const MAX_SECONDS = 60; // of a core, for one test file

/** By test: seconds that it takes without a mutant, what fails then (it wants threads), and how many mutants it killed. */
const record = new Map();

/** Runs each test without a mutant; or reads what that gave, if the core and the tests were the same. */
async function measure(right) {
  const names = [...FAST, ...options.slow ? SLOW : []], file = join(ROOT, 'build/mutants/measured.json'), hash = createHash('sha256').update(right);
  for (const name of names) hash.update(await readFile(inTree(`tests/${name}.test.mjs`)));
  const key = hash.digest('hex'), kept = JSON.parse(await readFile(file, 'utf8').catch(() => '{}'));
  if (!kept[key]) {
    kept[key] = [];
    for (const name of names) {
      const started = Date.now();
      const { code, failed } = await run(process.execPath, [`tests/${name}.test.mjs`], MAX_SECONDS, EVERY);
      if (code === 2) console.log(`${name} without a mutant: not over after ${MAX_SECONDS} s`);
      else kept[key].push([name, { seconds: (Date.now() - started) / 1000, known: failed, kills: 0 }]);
      if (failed.length) console.log(`${name} without a mutant: ${failed.length} tests fail`);
    }
    await writeFile(file, JSON.stringify(kept));
  }
  for (const [name, test] of kept[key]) record.set(name, test);
}

/** The first test that fails, or undefined. The likeliest in the shortest time is first. */
async function killer() {
  const worth = ({ seconds, kills }) => (kills + 0.3) / (seconds + 0.5);
  for (const [name, test] of [...record].sort(([, a], [, b]) => worth(b) - worth(a))) {
    const { code, failed } = await run(process.execPath, [`tests/${name}.test.mjs`], MAX_SECONDS, test.known);
    if (code === 0 || (test.known.length && code === 1 && !failed.length)) continue;
    test.kills++;
    return name;
  }
  return undefined;
}

async function filesOf() {
  const all = (await readdir(join(ROOT, 'src'), { recursive: true })).filter((path) => path.endsWith('.c') && !LEFT_OUT.test(path)).sort();
  const wanted = options.files.split(/\s+/).filter(Boolean).map((path) => path.replace(/^src\//, ''));
  if (wanted.length) return all.filter((path) => wanted.some((one) => path === one || path.startsWith(`${one}/`)));
  return all.filter((path) => FOLDERS.includes(folderOf(path)) || (folderOf(path) === 'kernels' && PLANS.test(path)));
}

const folderOf = (path) => path.split('/')[0];

/** Draws mutations without end, from each folder in turn. */
function* drawn(texts, random) {
  const folders = grouped([...texts.keys()]);
  const all = [...folders.values()].map((files) => files.flatMap((path) => mutationsOf(texts.get(path)).map((mutation) => ({ path, ...mutation }))));
  while (all.some((list) => list.length)) {
    for (const list of all) if (list.length) yield list.splice(random.between(0, list.length - 1), 1)[0];
  }
}

function grouped(paths) {
  const groups = new Map();
  for (const path of paths) groups.set(folderOf(path), [...groups.get(folderOf(path)) ?? [], path]);
  return groups;
}

async function main() {
  const started = Date.now(), seconds = () => Math.round((Date.now() - started) / 1000);
  const log = join(ROOT, `build/mutants/${options.seed}.txt`);
  const files = await filesOf();
  if (!files.length) throw new Error(`no file of src is one of ${options.files}`);
  await makeTree(options.tree);
  const texts = new Map(await Promise.all(files.map(async (path) => [path, await readFile(inTree(`src/${path}`), 'utf8')])));
  const right = await digest();
  await measure(right);
  console.log(`${files.length} files, ${record.size} tests (${seconds()} s)`);
  await mkdir(join(ROOT, 'build/mutants'), { recursive: true });
  await writeFile(log, '');

  const byFolder = new Map();
  let [count, killed] = [0, 0];
  for (const mutation of drawn(texts, new Random(Number(options.seed)))) {
    if (count >= Number(options.count)) break;
    const text = texts.get(mutation.path), file = inTree(`src/${mutation.path}`);
    const place = `src/${mutation.path}:${lineOf(text, mutation.at)}`;
    const change = `${mutation.kind}: ${JSON.stringify(text.slice(mutation.at, mutation.at + mutation.length))} -> ${JSON.stringify(mutation.text)}`;
    await writeFile(file, applied(text, mutation));
    const { code } = await build();
    if (!code && (await digest()) !== right) {
      const before = Date.now(), by = await killer();
      const counts = byFolder.get(folderOf(mutation.path)) ?? [0, 0];
      byFolder.set(folderOf(mutation.path), [counts[0] + Boolean(by), counts[1] + 1]);
      count++;
      killed += Boolean(by);
      const line = `${by ? `killed by ${by}` : 'SURVIVES'} in ${Math.round((Date.now() - before) / 1000)} s: ${place} ${change}`;
      console.log(line);
      await appendFile(log, `${line}\n`);
    }
    await writeFile(file, text);
  }
  for (const [folder, [dead, all]] of [...byFolder].sort()) console.log(`${folder.padEnd(10)} ${dead} of ${all}`);
  console.log(`${killed} of ${count} killed (seed ${options.seed}, ${seconds()} s)`);
}

await main();
