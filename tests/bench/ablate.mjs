/**
 * Measures the gain of each optional rewrite, later stage and kernel. Each is switched off in turn, in each of the whole
 * programs and operations whose compiled form it changes; the time is compared with that of the unchanged program.
 *
 *     make bench ARGS="ablate [--only PATTERN] [--switches PATTERN] [--rounds N] [--operations] [--write]"
 *
 * --operations: the single operations of operations/ too. --write: puts the table into tests/bench/ABLATION.md; sections after it stay.
 *
 * A ratio is the time without it by the time with it, on one thread: the median over alternating rounds. A time above
 * LIMIT_MS counts as LIMIT_MS. Lines are those of the files that define it. Temporaries are the memory of a run's values.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { circumstances, geometric, Here, median, Native } from './against_native.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = join(ROOT, 'tests/bench/ABLATION.md');
const LIMIT_MS = 20_000;
const [PROGRAMS, OPERATIONS] = [join(ROOT, 'tests/bench/programs/'), join(ROOT, 'build/operations/')];

const { values: given } = parseArgs({
  args: process.argv.slice(2),
  options: {
    only: { type: 'string', default: '' },
    switches: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    milliseconds: { type: 'string', default: '60' },
    operations: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

/** @returns {Map<string, number>} the lines of the files that define each name that can be switched off */
function linesOfSwitches() {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true }).filter((path) => path.endsWith('.c'));
  const texts = files.map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'));
  const count = (pattern) => texts.filter((text) => pattern.test(text)).reduce((sum, text) => sum + text.split('\n').length - 1, 0);
  const table = readFileSync(join(ROOT, 'src/rewrite/base/passes.def'), 'utf8');
  const lines = new Map();
  for (const [, name, fn] of table.matchAll(/OPTIONAL, "([\w-]+)", (\w+)/g)) lines.set(name, count(new RegExp(`^bool ${fn}\\(`, 'm')));
  for (const [, name] of readFileSync(join(ROOT, 'src/compile/switches.def'), 'utf8').matchAll(/^SWITCH\("([\w-]+)"/gm)) lines.set(name, 0);
  for (const text of texts) {
    for (const [, name] of text.matchAll(/^const Kernel kernel_\w+ = \{\s*"([\w-]+)"/gm)) {
      if (name !== 'nothing') lines.set(`kernel-${name}`, text.split('\n').length - 1);
    }
  }
  return lines;
}

const SWITCHES = linesOfSwitches();
const names = [...SWITCHES.keys()].filter((name) => new RegExp(given.switches).test(name));
const [rounds, milliseconds] = [Number(given.rounds), Number(given.milliseconds)];
const found = new Map(names.map((name) => [name, []])); // { program, ratio, temporaries }

/** Returns a text of a compiled program that is equal for equal programs, as names are left out. */
const formOf = ({ executable }) => `${executable.thunks()}\n${executable.memory.generatedCode}`;

async function timed(base, other) {
  const ratios = [];
  await base.round(milliseconds / 2, 'wall');
  await other.round(milliseconds / 2, 'wall');
  for (let round = 0; round < rounds; round++) {
    const [first, second] = round % 2 ? [other, base] : [base, other];
    const [a, b] = [await first.round(milliseconds, 'wall'), await second.round(milliseconds, 'wall')];
    ratios.push(round % 2 ? a / b : b / a);
  }
  return median(ratios);
}

async function ablate(client, native, programs, program, folder) {
  await native.ask({ prepare: program, folder });
  const base = await Here.prepare(client, programs, program, folder);
  for (const name of names) {
    const other = await Here.prepare(client, programs, program, folder, { disable: [name], timeoutMs: LIMIT_MS }).catch((error) => {
      if (error.code !== 'DEADLINE_EXCEEDED') throw error;
      found.get(name).push({ program, ratio: LIMIT_MS / base.firstMs, temporaries: 1 });
    });
    if (!other) continue;
    if (formOf(base) !== formOf(other)) {
      found.get(name).push({ program, ratio: await timed(base, other), temporaries: other.temporaries / Math.max(base.temporaries, 1) });
    }
    other.dispose();
  }
  base.dispose();
}

const figure = ({ program, ratio }) => `${ratio.toPrecision(3)} (${program})`;
function row(name) {
  const list = found.get(name).toSorted((a, b) => b.ratio - a.ratio);
  const best = list.slice(0, 3).map(figure).join(', ');
  const worse = list.filter(({ ratio }) => ratio < 0.97).toReversed().slice(0, 2).map(figure).join(', ');
  const mean = list.length ? geometric(list.map(({ ratio }) => ratio)).toPrecision(3) : '';
  const memory = list.length ? geometric(list.map(({ temporaries }) => Math.max(temporaries, 1e-3))).toPrecision(3) : '';
  return `| \`${name}\` | ${SWITCHES.get(name) || ''} | ${list.length} | ${mean} | ${best} | ${worse} | ${memory} |`;
}

const page = () => `# The gain of each part

The output of \`make bench ARGS="ablate${given.operations ? ' --operations' : ''} --write"\` ${circumstances()}. Each row is switched off
alone, on one thread. Ratios are the time without it by the time with it; above 1, it is a gain.

| switched off | lines | programs that change | mean | most | faster without | temporaries |
| --- | --: | --: | --: | --- | --- | --: |
${names.map(row).join('\n')}
`;

const folder = mkdtempSync(`${tmpdir()}/xla-wasm-ablate-`);
const client = await Client.create({ threads: 1 });
try {
  for (const programs of given.operations ? [PROGRAMS, OPERATIONS] : [PROGRAMS]) {
    const native = new Native(programs);
    const all = readdirSync(programs).filter((file) => file.endsWith('.hlo')).map((file) => file.slice(0, -4));
    for (const program of all.filter((name) => new RegExp(given.only).test(name))) {
      process.stderr.write(`${program} `);
      await ablate(client, native, programs, program, folder).catch((error) => console.log(`${program} failed: ${error.message}`));
    }
    native.close();
  }
  console.log(page());
  if (given.write) {
    const [, byHand = ''] = readFileSync(PAGE, 'utf8').split(/^(?=## )/m);
    writeFileSync(PAGE, `${page().trimEnd()}\n\n${byHand}`);
  }
} finally {
  client.dispose();
  rmSync(folder, { recursive: true });
}
