/**
 * Differential fuzzing: random programs, run here (with threads and without) and by real XLA:CPU.
 *
 *     PYTHON=build/venv/bin/python node tests/fuzz/fuzz.mjs [--seconds N] [--seed N] [--programs N]
 *       [--rules NAME,NAME...] [--verbose] [--no-xla]
 *
 * Program number i of seed s is always the same: `--seed s+i --programs 1` runs it, with the same --rules, and the --aim
 * that is printed.
 * --rules limits the generator to rules of these names. A program that disagrees is shrunk, printed, and
 * written to build/fuzz/ as a golden case. Exit code 1 if any disagreed. Each program also runs with a
 * random subset of the optional rewrites left out. With --no-xla, compiled programs are compared with
 * the native build's evaluator (make native), and two threads with none.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { Differential, reduceJob } from '../reduce/check.mjs';
import { Evaluator } from './evaluator.mjs';
import { Aims } from './aims.mjs';
import { generate } from './generate.mjs';
import { goldenCase } from './golden_file.mjs';
import { knownFault } from './known_faults.mjs';
import { Oracle } from './oracle.mjs';
import { buildModule } from './program.mjs';
import { compare, Host, leafOf } from './run.mjs';
import { shrink } from './shrink.mjs';
import { spell } from './spelling.mjs';

const FOLDER = new URL('../../build/fuzz/', import.meta.url);
const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    programs: { type: 'string', default: 'Infinity' },
    rules: { type: 'string' },
    aim: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    'no-xla': { type: 'boolean', default: false },
  },
});
const deadline = Date.now() + 1000 * Number(options.seconds);
const firstSeed = Number(options.seed);
const aims = new Aims(options.rules ? 'none' : options.aim);
const REDUCING_SECONDS = 60;

const oracle = new Oracle(process.env.PYTHON ?? 'build/venv/bin/python');
const threads = new Host('threads', 2), single = new Host('single', 0);
const subset = new Host('a subset of the rewrites', 0, true);
const hosts = [threads, single, subset];
const evaluator = new Evaluator(FOLDER);
const totals = { programs: 0, instructions: 0, refused: 0, disagreements: 0 };
const operations = new Map(); // name -> how often
const rules = new Map(); // name -> in how many programs
const refusals = new Map(); // first line of an error -> [how often, a seed]

function count(map, message, seed) {
  const [line] = message.slice(0, 200).split('\n');
  const key = line.replace(/\[[\d,]*\]|\d+/g, '#');
  const [n, first] = map.get(key) ?? [0, seed];
  map.set(key, [n + 1, first]);
}

/** Makes a candidate of a program runnable: text, operands, tolerances. */
async function assemble({ steps, replicas }, { outputs, cuts, spelling }) {
  const client = await hosts[0].client();
  const built = buildModule(client, steps, outputs, cuts);
  const text = textOf(built);
  const asked = built.steps.some((step) => step.ask)
    ? textOf(buildModule(client, steps, outputs, cuts, true)) : text;
  return {
    asked, text, hlo: spell(text, spelling), replicas, literals: built.literals, steps: built.steps,
    isSpelt: Boolean(spelling),
    outputs: outputs.map(({ domain, shape: { isDynamic } }) =>
      ({ tolerance: domain.tolerance ?? 'exact', isDynamic })),
  };
}

function textOf({ module }) {
  const text = module.toString();
  module.dispose();
  return text;
}

async function askSingle(job) {
  try {
    const results = await single.run({ ...job, hlo: job.asked, isSpelt: false });
    return { outputs: results.map((leaves) => leaves.map(leafOf)) };
  } catch (error) {
    await single.restart();
    return { error: error.message };
  }
}

function ask(job) {
  const fault = options['no-xla'] ? undefined : knownFault(job.asked);
  if (fault) count(refusals, `left out, XLA's fault: ${fault}`, job.seed);
  if (fault || options['no-xla']) return askSingle(job);
  const { asked, replicas, literals } = job;
  const inputs = Array.from({ length: replicas }, (_, replica) =>
    literals.map((perReplica) => leafOf(perReplica[replica])));
  return oracle.run({ hlo: asked, replicas, inputs });
}

/** Returns the differences: by host, a text and the numbers of the outputs that differ. */
async function check(job, reply) {
  const problems = [];
  for (const host of options['no-xla'] ? [threads, subset] : hosts) {
    try {
      const wrong = compare(await host.run(job), reply.outputs, job.outputs);
      if (!wrong.size) continue;
      const [first] = wrong.values();
      problems.push({ text: `${host.name}: ${first}`, outputs: [...wrong.keys()] });
    } catch (error) {
      problems.push({ text: `${host.name}: ${error.stack}`, outputs: null });
      await host.restart();
    }
  }
  return problems;
}

async function minimise(program, outputs, seed) {
  const wrong = async (candidate) => {
    try {
      const job = { ...await assemble(program, candidate), seed };
      const reply = await ask(job);
      return reply.outputs ? (await check(job, reply)).length > 0 : false;
    } catch {
      return false;
    }
  };
  const value = async (candidate) => {
    try {
      return (await ask(await assemble(program, candidate))).outputs ?? null;
    } catch {
      return null;
    }
  };
  return shrink(program, outputs, wrong, value);
}

async function report(seed, program, outputs, problem) {
  totals.disagreements++;
  const wrong = problem.outputs?.map((i) => outputs[i]) ?? outputs;
  console.log(`\nDISAGREEMENT, seed ${seed} --aim '${program.aim}': ${problem.text}`);
  const best = await minimise(program, wrong, seed);
  const job = { ...await assemble(program, best), seed };
  const reply = await ask(job);
  const [still] = reply.outputs ? await check(job, reply) : [];
  console.log(job.hlo);
  if (!job.isSpelt && job.asked !== job.hlo) console.log(`XLA was asked:\n${job.asked}`);
  job.literals.forEach(([literal], i) => console.log(`p${i} = ${clip(literal.toString())}`));
  console.log(still?.text ?? 'when it runs alone, it agrees');
  await reduceFurther(job);
  const name = `seed${seed}`;
  const text = goldenCase({
    ...job, name, expected: reply.outputs ?? [], tolerance: job.outputs[0].tolerance,
  });
  await writeFile(new URL(`${name}.golden`, FOLDER), text);
}

/** Where the evaluator is right, the reducer goes on below the steps of the generator. */
async function reduceFurther(job) {
  for (const host of hosts) {
    const differential = new Differential({
      replicas: job.replicas, create: () => host.newClient(), compile: await host.options(job.seed),
    });
    const reduced = await reduceJob(differential, job, REDUCING_SECONDS).catch(() => null);
    differential.dispose();
    if (reduced) return console.log(`reduced (${host.name}), against the evaluator:\n${reduced}`);
  }
  return undefined;
}

const clip = (text) => {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 600 ? `${line.slice(0, 600)}…` : line;
};

/** Generates program `seed` and asks XLA; the answer comes while the next is generated. */
async function prepare(seed) {
  const client = await hosts[0].client();
  const way = aims.next(seed), program = generate(client, way.seed, {
    aim: way.aim,
    refused: (name, error) => count(refusals, `builder, ${name}: ${error.message}`, way.seed),
    only: options.rules?.split(','),
  });
  const outputs = program.chooseOutputs();
  if (!outputs.length) return null;
  const job = await assemble(program, { outputs, cuts: new Map(), spelling: program.spelling });
  job.seed = way.seed;
  program.aim = way.aim ?? 'none';
  aims.note(client.parseHlo(job.hlo), way);
  return { seed: way.seed, program, outputs, job, reply: ask(job) };
}

async function finish({ seed, program, outputs, job, reply: promised }) {
  const reply = await promised;
  if (!reply.outputs) {
    totals.refused++;
    count(refusals, `XLA: ${reply.error.slice(0, 600)}`, seed);
    return;
  }
  totals.programs++;
  for (const step of job.steps) {
    totals.instructions++;
    operations.set(step.name, (operations.get(step.name) ?? 0) + 1);
  }
  new Set(program.rules).forEach((name) => rules.set(name, (rules.get(name) ?? 0) + 1));
  const problems = await check(job, reply);
  if (problems.length) await report(seed, program, outputs, problems[0]);
  for (const failure of await evaluator.add({ ...job, seed, expected: reply.outputs })) {
    totals.disagreements++;
    console.log(`\nDISAGREEMENT of the evaluator: ${failure}`);
  }
}

function progress(next) {
  const { programs, refused, disagreements } = totals;
  const seconds = Math.max(0, Math.round((deadline - Date.now()) / 1000));
  console.log(`${programs} programs compared, ${refused} refused by XLA, ${disagreements} ` +
    `disagreements, next seed ${next}, ${seconds} s left`);
}

async function main() {
  await mkdir(FOLDER, { recursive: true });
  console.log(`seed ${firstSeed}`);
  let previous = null;
  let told = Date.now();
  for (let i = 0; i < Number(options.programs) && Date.now() < deadline; i++) {
    let prepared = null;
    try {
      prepared = await prepare(firstSeed + i);
    } catch (error) {
      totals.disagreements++;
      console.log(`\nseed ${firstSeed + i}: ${error.stack}`);
      await hosts[0].restart();
    }
    if (previous) await finish(previous);
    previous = prepared;
    if (Date.now() - told > 5000) {
      told = Date.now();
      progress(firstSeed + i + 1);
    }
  }
  if (previous) await finish(previous);
  for (const failure of await evaluator.flush()) {
    totals.disagreements++;
    console.log(`\nDISAGREEMENT of the evaluator: ${failure}`);
  }
  await summary();
}

async function summary() {
  oracle.close();
  for (const host of hosts) {
    const client = await host.client();
    if (client.memoryInUse) {
      totals.disagreements++;
      console.log(`${host.name}: ${client.memoryInUse} bytes are left behind`);
    }
    client.dispose();
  }
  const { programs, instructions, refused, disagreements } = totals;
  const list = (map) =>
    [...map].sort(([, a], [, b]) => b - a).map(([name, n]) => `${name} ${n}`).join(', ');
  console.log(`\noperations: ${list(operations)}`);
  console.log(`\nprograms with rules: ${list(rules)}`);
  const reasons = [...refusals].sort(([, [a]], [, [b]]) => b - a);
  const shown = options.verbose ? reasons : reasons.slice(0, 8);
  for (const [reason, [n, seed]] of shown) console.log(`  ${n} x (seed ${seed}) ${reason}`);
  console.log(`${programs} programs of ${instructions} instructions ran, ${operations.size} ` +
    `operations; ${options['no-xla'] ? 'we' : 'XLA'} refused ${refused} others and crashed ${oracle.crashes} times; ` +
    `${disagreements} disagreements (seed ${firstSeed})`);
  process.exitCode = disagreements ? 1 : 0;
}

await main();
