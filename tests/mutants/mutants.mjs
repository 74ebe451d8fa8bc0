/**
 * Measures what the tests see: makes small changes to the core, one at a time, and runs the fast tests until one fails.
 *
 *     make mutants [COUNT=20] [SEED=1] [FILES='src/plan/*.c']
 *
 * Mutants are drawn at random from all changes (mutate.mjs) to files of compile/, rewrite/, plan/, codegen/, runtime/ and
 * the planning half of kernels/. Each is built for one thread in a copy of the checkout, build/mutants. A mutant that does
 * not compile, or makes the same WebAssembly, is none, and another is drawn. It is killed by a test that fails or that
 * takes too long. The last line is "K of N killed"; build/mutants/survivors.txt has the changes that no test saw.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { Random } from '../fuzz/random.mjs';
import { ROOT } from '../support/program.mjs';
import { applied, lineOf, mutationsOf } from './mutate.mjs';

const { values: options } = parseArgs({
  options: { count: { type: 'string', default: '20' }, seed: { type: 'string', default: '1' }, files: { type: 'string', default: '' } },
});
const FOLDERS = ['compile', 'rewrite', 'plan', 'codegen', 'runtime'];
/** Files of kernels that plan; the others compute, and tests of their results are elsewhere. */
const PLANS = /^kernels\/(list|kernels|elements)\.c$|_plan\.c$|_rows\.c$|kernels\/(contraction\/(dot|direct)|convolution\/(convolution|window)|fft\/fft|linalg\/linalg|sort\/order_key)\.c$/;
/** Written natively with vectors of their own, not part of the core's decisions. */
const LEFT_OUT = /(vector_math|vector_real|vector_complex|lane_math|wasm_encoder)\.c$/;
/** In the order in which they find most. */
const TESTS = ['golden', 'reductions', 'regions', 'loop_state', 'in_place', 'aliases', 'effects', 'siblings', 'rows', 'windows', 'thresholds', 'runtime',
  'collective_shapes', 'captured', 'gradients', 'devices', 'compiling', 'errors'];
const MAX_SECONDS = 300; // of one test file

const TREE = join(ROOT, 'build/mutants/tree');
const WASM = join(TREE, 'build/dist/xla-single.wasm');

const run = (command, args, limit) => new Promise((resolve) => {
  const child = spawn(command, args, { cwd: TREE, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, MAKEFLAGS: '', XLA_MUTANT: '1' } });
  let output = '';
  const end = (code) => {
    clearTimeout(timer);
    resolve({ code, output });
  };
  const timer = setTimeout(() => child.kill('SIGKILL'), 1000 * limit);
  const look = (data) => {
    output += data;
    if (/^\s*not ok/m.test(output)) child.kill('SIGKILL');
  };
  child.stdout.on('data', look);
  child.stderr.on('data', look);
  child.on('close', (code) => end(code ?? 1));
});

/** A copy with what was built, so that a changed file is all that is compiled. */
async function makeTree() {
  await rm(TREE, { recursive: true, force: true });
  await mkdir(join(TREE, 'build/obj'), { recursive: true });
  const copies = ['src', 'bindings', 'tests', 'web', '.ci', 'Makefile', 'package.json', 'package-lock.json', 'docs', 'build/dist', 'build/node', 'build/obj/single', 'build/obj/sources'];
  for (const path of copies) await cp(join(ROOT, path), join(TREE, path), { recursive: true, preserveTimestamps: true });
  for (const path of ['node_modules', 'build/toolchain']) await symlink(join(ROOT, path), join(TREE, path));
}

const build = () => run('make', ['--no-print-directory', 'build/dist/xla-single.mjs'], 300);
const digest = async () => createHash('sha256').update(await readFile(WASM)).digest('hex');

/** The first test that fails, or undefined. */
async function killer() {
  for (const name of TESTS) {
    const { code } = await run(process.execPath, [`tests/${name}.test.mjs`], MAX_SECONDS);
    if (code !== 0) return name;
  }
  return undefined;
}

async function filesOf() {
  const all = (await readdir(join(ROOT, 'src'), { recursive: true })).filter((path) => path.endsWith('.c') && !LEFT_OUT.test(path)).sort();
  const wanted = options.files.split(/\s+/).filter(Boolean).map((path) => path.replace(/^src\//, ''));
  if (wanted.length) return all.filter((path) => wanted.some((one) => path === one || path.startsWith(`${one}/`)));
  return all.filter((path) => FOLDERS.includes(path.split('/')[0]) || PLANS.test(path));
}

async function main() {
  const started = Date.now(), seconds = () => Math.round((Date.now() - started) / 1000);
  const files = await filesOf();
  if (!files.length) throw new Error(`no file of src is one of ${options.files}`);
  await makeTree();
  const texts = new Map(await Promise.all(files.map(async (path) => [path, await readFile(join(ROOT, 'src', path), 'utf8')])));
  const all = files.flatMap((path) => mutationsOf(texts.get(path)).map((mutation) => ({ path, ...mutation })));
  const first = await build();
  if (first.code) throw new Error(`the core does not build:\n${first.output}`);
  const [right, wrong] = [await digest(), await killer()];
  if (wrong) throw new Error(`tests/${wrong}.test.mjs fails without a mutant`);
  console.log(`${all.length} changes to ${files.length} files; the tests pass without one (${seconds()} s)`);

  const random = new Random(Number(options.seed)), byFolder = new Map(), survivors = [];
  let [drawn, killed] = [0, 0];
  while (drawn < Number(options.count) && all.length) {
    const [mutation] = all.splice(random.between(0, all.length - 1), 1);
    const text = texts.get(mutation.path), file = join(TREE, 'src', mutation.path);
    const place = `src/${mutation.path}:${lineOf(text, mutation.at)}`;
    const change = `${mutation.kind}: ${JSON.stringify(text.slice(mutation.at, mutation.at + mutation.length))} -> ${JSON.stringify(mutation.text)}`;
    await writeFile(file, applied(text, mutation));
    const { code } = await build();
    if (!code && (await digest()) !== right) {
      const before = Date.now(), by = await killer();
      const folder = mutation.path.split('/')[0], counts = byFolder.get(folder) ?? [0, 0];
      byFolder.set(folder, [counts[0] + Boolean(by), counts[1] + 1]);
      drawn++;
      killed += Boolean(by);
      if (!by) survivors.push(`${place} ${change}`);
      console.log(`${by ? `killed by ${by}` : 'SURVIVES'} in ${Math.round((Date.now() - before) / 1000)} s: ${place} ${change}`);
    }
    await writeFile(file, text);
    const now = new Date();
    await utimes(file, now, now);
  }
  await writeFile(join(ROOT, 'build/mutants/survivors.txt'), survivors.map((line) => `${line}\n`).join(''));
  for (const [folder, [dead, count]] of [...byFolder].sort()) console.log(`${folder.padEnd(10)} ${dead} of ${count}`);
  console.log(`${killed} of ${drawn} killed (seed ${options.seed}, ${seconds()} s)`);
}

await main();
