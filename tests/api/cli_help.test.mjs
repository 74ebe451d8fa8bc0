/** The command line's help of each command, its completion scripts, and `explain`. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { COMMAND_NAMES, USAGE } from '../../bindings/cli/help.mjs';
import { CommandLine } from '../support/cli.mjs';

const commandLine = new CommandLine();
const xlaWasm = (...args) => commandLine.run(...args);
const bash = promisify(execFile);

const LAYER = `HloModule layer
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
ENTRY e {
  x = f32[32,64] parameter(0)
  w = f32[64,64] parameter(1)
  h = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[32,64] tanh(h)
  n = f32[32,64] negate(t)
  low = f32[] constant(-inf)
  ROOT m = f32[32] reduce(n, low), dimensions={1}, to_apply=max
}`;

let folder, layer;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'xla-wasm-help-'));
  layer = join(folder, 'layer.hlo');
  await writeFile(layer, LAYER);
});
after(async () => {
  commandLine.end();
  await rm(folder, { recursive: true });
});

/** The options that a help lists. */
const optionsIn = (text) => [...new Set(Array.from(text.matchAll(/^ {2}--([\w-]+)/gm), ([, name]) => name))];

const TAKES_VALUE = ['input', 'seed', 'output', 'time', 'profile', 'on', 'platform', 'function', 'coordinator', 'process', 'processes',
  'wrt', 'of', 'max-trips', 'checkpoint', 'disable'];

describe('help', () => {
  test('names every command and every option', async () => {
    const { stdout } = await xlaWasm('--help');
    assert.equal(stdout.trim(), USAGE);
    for (const name of COMMAND_NAMES) assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'));
    assert.match(stdout, /Exit codes: 0: done; 1: it failed/);
  });

  for (const name of COMMAND_NAMES) {
    test(`of ${name}: its options, and examples that use no others`, async () => {
      const { code, stdout, stderr } = await xlaWasm(name, '--help');
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, new RegExp(`^usage: xla-wasm ${name} `));
      const options = optionsIn(stdout);
      const examples = Array.from(stdout.matchAll(/^ {2}xla-wasm (\w+) (.*?) +# \S/gm));
      assert.ok(examples.length > 0);
      for (const [, command, args] of examples) {
        assert.equal(command, name);
        for (const [, option] of args.matchAll(/ --([\w-]+)/g)) assert.ok(options.includes(option), `${option} in ${args}`);
      }
      if (name !== 'completion') {
        assert.match(stdout, /Exit codes/);
        // An option that is not listed is refused. One is enough: each is a process.
        const other = optionsIn(USAGE).find((option) => !options.includes(option));
        const { stderr: refused } = await xlaWasm(name, layer, TAKES_VALUE.includes(other) ? `--${other}=1` : `--${other}`);
        assert.match(refused, new RegExp(`takes no --${other}`), other);
      }
    });
  }
});


describe('completion', () => {
  /** What bash offers for the last word of a line. */
  async function offered(...words) {
    const { stdout: script } = await xlaWasm('completion', 'bash');
    const line = `${script}\nCOMP_WORDS=(xla-wasm ${words.map((word) => `'${word}'`).join(' ')})\nCOMP_CWORD=${words.length}\n_xla_wasm\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await bash('bash', ['-c', line], { cwd: folder });
    return stdout.split('\n').filter(Boolean);
  }

  test('of commands, options, words and files, in bash', async () => {
    assert.deepEqual((await offered('')).filter((word) => !word.startsWith('--')).sort(), [...COMMAND_NAMES].sort());
    assert.deepEqual(await offered('ex'), ['explain']);
    assert.deepEqual(await offered('gradient', 'm.hlo', '--w'), ['--wrt']);
    assert.deepEqual(await offered('info', 'm.hlo', '--prof'), []);
    assert.deepEqual(await offered('run', '--platform', 'g'), ['gpu']);
    assert.deepEqual(await offered('run', 'lay'), ['layer.hlo']);
  });

  test('scripts name the options of each command; another shell is refused', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await xlaWasm('completion', shell);
      for (const name of COMMAND_NAMES) assert.ok(stdout.includes(name), `${shell}: ${name}`);
      for (const option of ['input', 'max-trips', 'elided']) assert.match(stdout,
        new RegExp(shell === 'fish' ? `-l ${option}\\b` : `--${option}\\b`));
    }
    const { code, stderr } = await xlaWasm('completion', 'csh');
    assert.equal(code, 1);
    assert.match(stderr, /^error: completion is for bash, zsh or fish, not "csh"/);
    assert.match((await xlaWasm('completion')).stderr, /completion is for bash, zsh or fish/);
  });
});

describe('explain', () => {
  test('a region is taken apart where it has much of the time', async () => {
    const { code, stdout, stderr } = await xlaWasm('explain', layer, '--threads', '0');
    assert.equal(code, 0, stderr);
    const [, whole, parts] = /^Time: [^\n]*\n([^]*?) {2}When the small steps run one by one[^\n]*\n([^]*?)\n\n/m.exec(stdout);
    assert.match(whole, /a run of small steps/);
    assert.doesNotMatch(parts, /a run of small steps/);
    assert.ok(parts.split('\n').length > 1, parts);
  });

  test('in words: steps with their operations, time, memory', async () => {
    const { code, stdout, stderr } = await xlaWasm('explain', layer, '--threads', '0');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^layer takes \d+ steps? on one device\./);
    assert.match(stdout, /h, a hand-written kernel: dot/);
    assert.match(stdout, /a loop of generated code: .*tanh.*/);
    assert.match(stdout, /Time: [\d.]+ ms on the first device/);
    const shares = Array.from(stdout.split('  When the small steps')[0].matchAll(/^ +([\d.]+) % /gm), ([, share]) => Number(share));
    assert.ok(shares.length && Math.abs(shares.reduce((sum, share) => sum + share) - 100) < 1, `${shares}`);
    const bytes = (32 * 64 + 64 * 64) * 4;
    assert.ok(stdout.includes(`arguments ${(bytes / 1000).toPrecision(3)} kB, results 128 bytes`), stdout);
  });

  test('as JSON: every operation of the program is in one step, but for those that are rewritten', async () => {
    const { stdout } = await xlaWasm('explain', layer, '--threads', '0', '--json');
    const { steps, times, totalUs, memory, devices } = JSON.parse(stdout);
    const operations = steps.flatMap((step) => step.operations).sort();
    for (const opcode of ['dot', 'tanh', 'negate', 'reduce']) assert.equal(operations.filter((name) => name === opcode).length, 1, `${operations}`);
    assert.equal(devices, 1);
    assert.equal(memory.results, 128);
    assert.ok(Math.abs(times.reduce((sum, { us }) => sum + us, 0) - totalUs) < 1e-6);
  });

  test('on several devices, with arguments of the caller, and without the evaluator being hidden', async () => {
    const file = join(folder, 'reduced.hlo');
    await writeFile(file, `HloModule reduced, replica_count=2
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[4] parameter(0)
  ROOT met = f32[4] all-reduce(x), to_apply=add, metadata={op_name="jit(f)/psum" source_file="f.py" source_line=3} }`);
    const { code, stdout, stderr } = await xlaWasm('explain', file, '--input', 'x=[1,2,3,4]');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /on each of 2 devices/);
    assert.match(stdout, /met, a collective.*\(jit\(f\)\/psum, f\.py:3\)/);
  });
});

test('compile --wasm needs no other package', async () => {
  const { code, stdout } = await xlaWasm('compile', layer, '--wasm', '--threads', '0');
  const functions = Array.from(stdout.matchAll(/^ *\(func (\S+) .*\n *(.*)/gm), ([, name, next]) => ({ name, isEmpty: next === ')' }));
  assert.equal(new Set(functions.map(({ name }) => name)).size, functions.length, 'each function has a name of its own');
  for (const { name, isEmpty } of functions) assert.equal(isEmpty, name.startsWith('$in_region'), name);
  for (const [line] of stdout.matchAll(/^ *\(export "\d+" .*$/gm)) assert.match(line, /;; [\w.-]+(, [\w.-]+)*$/);
  assert.equal(code, 0);
  assert.match(stdout, /^\(module/);
  assert.match(stdout, /;; generated/);
});
