/**
 * A copy of the checkout, build/mutants/NAME, whose core is changed, built and tested: with the checks of test builds,
 * for one thread or with threads, linked in a second.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ROOT } from '../support/program.mjs';

let TREE, VARIANT = 'single'; // makeTree() sets them
/** A path of the tree. */
export const inTree = (path) => join(TREE, path);
const FOLDERS = ['src', 'bindings', 'tests', 'web', 'demo', '.ci', 'docs'];
const FILES = ['Makefile', 'package.json', 'package-lock.json'];

const FAILED = /^ *not ok \d+ - (.*)$/gm;

/**
 * Runs a program in the tree, until it ends, a test fails that is not `known` to fail, or it has had `limit` seconds of a
 * core: time that other processes take does not count, until it is `patience` times that.
 * @returns {Promise<{ code: number, output: string, failed: string[] }>} code: 2 if it was ended; failed: not known to
 */
export function run(command, args, limit, { known = [], patience = 20 } = {}) {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', `ulimit -t ${Math.ceil(limit)}; exec "$0" "$@"`, command, ...args],
      { cwd: TREE, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, MAKEFLAGS: '' } });
    let output = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), 1000 * patience * limit);
    const failed = () => Array.from(output.matchAll(FAILED), ([, name]) => name).filter((name) => !known.includes(name));
    const look = (data) => {
      output += data;
      if (known !== EVERY && failed().length) child.kill('SIGKILL');
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 2, output, failed: failed() });
    });
  });
}

/** For `known`: the program runs to its end, whatever fails. */
export const EVERY = [];

/** Makes `folder` of the tree equal to the checkout's. Files that are the same stay untouched, for make. */
async function copyFolder(folder) {
  const listed = (root) => readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
  const pathsOf = (entries, root) => entries.filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length));
  const wanted = new Set(pathsOf(await listed(ROOT), ROOT.replace(/\/$/, '')));
  for (const path of pathsOf(await listed(TREE), TREE)) if (!wanted.has(path)) await rm(join(TREE, path));
  for (const path of wanted) await copyFile(path);
}

async function copyFile(path) {
  const text = await readFile(join(ROOT, path));
  const old = await readFile(join(TREE, path)).catch(() => undefined);
  if (!old) await cp(join(ROOT, path), join(TREE, path), { recursive: true, preserveTimestamps: true });
  else if (!old.equals(text)) await writeFile(join(TREE, path), text);
}

/** Tests that run with several numbers of threads do so once: the tree has none. */
async function withoutThreads(path) {
  const file = inTree(path), text = await readFile(file, 'utf8');
  if (!/clients\[[1-9]\]/.test(text)) await writeIfOther(file, text.replace(/for \(const threads of \[[\d, ]+\]\)/g, 'for (const threads of [0])'));
}

async function withoutThreadsAll() {
  for (const path of await readdir(inTree('tests'), { recursive: true })) if (path.endsWith('.test.mjs')) await withoutThreads(`tests/${path}`);
  await replace('bindings/host/core.mjs', 'const wanted = hasSharedMemory()', 'const wanted = false');
}

async function writeIfOther(file, text) {
  if ((await readFile(file, 'utf8')) !== text) await writeFile(file, text);
}

/**
 * Makes the tree, or brings it up to date. Each client of its tests is the single-threaded one, which is built; with
 * `variant` 'threads', the build with threads is the one that is changed, and the tests are as they are.
 */
export async function makeTree(name, variant = 'single') {
  TREE = join(ROOT, 'build/mutants', name);
  VARIANT = variant;
  await mkdir(join(TREE, 'build'), { recursive: true });
  for (const path of FILES) await copyFile(path);
  for (const path of FOLDERS) await copyFolder(path);
  await cp(join(ROOT, 'build/node'), join(TREE, 'build/node'), { recursive: true });
  await mkdir(join(TREE, 'build/dist'), { recursive: true });
  const other = `build/dist/xla-${variant === 'single' ? 'threads' : 'single'}`;
  for (const end of ['mjs', 'wasm']) await cp(join(ROOT, `${other}.${end}`), join(TREE, `${other}.${end}`));
  for (const path of ['node_modules', 'build/toolchain']) await symlink(join(ROOT, path), join(TREE, path)).catch(() => {});
  if (variant === 'single') await withoutThreadsAll();
  const { code, output } = await build();
  if (code) throw new Error(`the core does not build:\n${output}`);
}

/** Replaces a text, which must occur once, in a file of the tree. @returns a function that undoes it */
export async function replace(path, from, to) {
  const file = join(TREE, path), text = await readFile(file, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${path} has ${text.split(from).length - 1} of: ${from}`);
  await writeFile(file, text.replace(from, () => to));
  return () => writeFile(file, text);
}

/** Files that the Makefile compiles once for each core; the others are in both. */
const OWN = /^OWN_single := .*patsubst %,src\/%.c,(.*)\)$/m.exec(await readFile(join(ROOT, 'Makefile'), 'utf8'))[1].split(' ');

function objectPath(path) {
  const name = path.replace(/\.c$/, '');
  return `build/obj/${OWN.includes(name) ? VARIANT : 'threads'}/${name}.o`;
}
const make = (targets, limit) => run('make', ['--no-print-directory', '-o', 'node_modules/.package-lock.json', '-j2', 'CHECKED=1', ...targets],
  limit);

/** Makes the core, or the object file of one source below src. Never makes the modules of npm, which are the checkout's own. */
export const build = (path) => make([path ? objectPath(path) : `build/dist/xla-${VARIANT}.mjs`], 1200);

/** Makes the native programs under ASan and UBSan, and under ThreadSanitizer. */
export const buildNative = () => make(['native', 'native-tsan'], 6000);

/** The object file of a source, as it is now: whether it is the same later, and a function that puts it back. */
export async function objectOf(path) {
  const file = inTree(objectPath(path)), bytes = await readFile(file);
  return { isSame: async () => bytes.equals(await readFile(file)), restore: () => writeFile(file, bytes) };
}

export const digest = async () => createHash('sha256').update(await readFile(inTree(`build/dist/xla-${VARIANT}.wasm`))).digest('hex');
