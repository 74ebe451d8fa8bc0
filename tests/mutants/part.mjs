/**
 * Runs test files, or only some tests of them, one after another in this process, until one fails:
 *
 *     node tests/mutants/part.mjs CHOICE.json
 *
 * CHOICE is a list of [file, names], names being of the tests with those of the suites that they are in, or null for all.
 * node:test is replaced: it starts each file in a process of its own, which costs more than most tests here. With
 * XLA_REACH=FILE no failure ends the run, and FILE becomes a list of { name, ms, failed, blocks }: the blocks of the core
 * that each test reached (reach.mjs). Blocks reached outside of tests, as a file is loaded, have the name ''.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const report = process.env.XLA_REACH && [];
const suite = (name, parent) => ({ name, parent, children: [], before: [], after: [], beforeEach: [], afterEach: [] });
const isThere = ({ skip, todo } = {}) => !skip && !todo;

let current; // the suite whose function runs now
const argumentsOf = (args) => ({ name: typeof args[0] === 'string' ? args[0] : args[0]?.name ?? '',
  options: args.find((arg) => arg && typeof arg === 'object') ?? {}, body: args.find((arg) => typeof arg === 'function') });

function describe(...args) {
  const { name, options, body } = argumentsOf(args), made = suite(name, current);
  if (!isThere(options) || !body) return;
  current.children.push(made);
  const outer = current;
  current = made;
  try {
    body();
  } finally {
    current = outer;
  }
}

function test(...args) {
  const { name, options, body } = argumentsOf(args);
  if (isThere(options) && body) current.children.push({ name, body, parent: current });
}

const hook = (kind) => (...args) => current[kind].push(argumentsOf(args).body);
const never = () => {};
const api = { test, it: test, describe, suite: describe, before: hook('before'), after: hook('after'), beforeEach: hook('beforeEach'),
  afterEach: hook('afterEach') };
for (const one of [test, describe]) Object.assign(one, { skip: never, todo: never, only: one });
Object.assign(require('node:test'), api);
syncBuiltinESMExports();

/** What the core's blocks call, in the tree of reach.mjs: collects them, and forgets them in all instances. */
const reached = globalThis.xlaReach = { blocks: new Set(), instances: new Set() };
function taken() {
  const { blocks } = reached;
  reached.blocks = new Set();
  for (const instance of reached.instances) {
    const state = instance.deref();
    if (state) state.clear();
    else reached.instances.delete(instance);
  }
  return [...blocks];
}

async function runTest(name, body) {
  if (report) report.push({ name: '', blocks: taken() });
  const started = performance.now(), after = [];
  const context = { name, diagnostic: never, after: (fn) => after.push(fn), signal: new AbortController().signal,
    test: async (...args) => argumentsOf(args).body(context), skip: never };
  let failed = false;
  try {
    await body(context);
    for (const fn of after) await fn();
  } catch (error) {
    failed = true;
    if (!report) {
      console.log(`not ok 1 - ${name}\n${error?.stack ?? error}`);
      process.exit(1);
    }
  }
  if (report) report.push({ name, ms: Math.round(performance.now() - started), failed, blocks: taken() });
}

const inherited = (one, kind) => one ? [...inherited(one.parent, kind), ...one[kind]] : [];
const pathOf = ({ name, parent }) => parent?.parent ? `${pathOf(parent)} > ${name}` : name;
const wantedOf = (one, names) => one.body ? !names || names.has(pathOf(one)) : one.children.some((child) => wantedOf(child, names));

async function runSuite(one, names) {
  if (!wantedOf(one, names)) return;
  for (const fn of one.before) await fn();
  for (const child of one.children) {
    if (child.children) {
      await runSuite(child, names);
    } else if (wantedOf(child, names)) {
      for (const fn of inherited(one, 'beforeEach')) await fn();
      await runTest(pathOf(child), child.body);
      for (const fn of inherited(one, 'afterEach')) await fn();
    }
  }
  for (const fn of one.after) await fn();
}

const choice = JSON.parse(readFileSync(process.argv[2], 'utf8'));
try {
  for (const [file, names] of choice) {
    const root = suite('', null);
    current = root;
    await import(pathToFileURL(file));
    await runSuite(root, names && new Set(names));
  }
} catch (error) {
  console.log(`not ok 1 - a hook or a file\n${error?.stack ?? error}`);
  if (!report) process.exit(1);
}
if (report) {
  report.push({ name: '', blocks: taken() });
  writeFileSync(process.env.XLA_REACH, JSON.stringify(report));
}
process.exit(0);
