/**
 * Random programs, each compiled and run in every way that must give the same results.
 *
 *     node tests/fuzz/ways.mjs [--seconds N] [--seed N] [--programs N] [--rules NAME,NAME...]
 *
 * The reference is the evaluator, an operation at a time. Results that the specification decides must have its bits;
 * the bits of all results must be the same for 0, 1 and 4 threads. The program that a compilation prints must be valid
 * HLO. Program number i of seed s is the first of seed
 * s + i. A program that differs is made small (tests/reduce) and printed. Exit code 1 if any did.
 */
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';

import { Differential, reduceJob } from '../reduce/check.mjs';
import { Aims } from './aims.mjs';
import { generate } from './generate.mjs';
import { buildModule } from './program.mjs';
import { Random } from './random.mjs';
import { compare, Host, leafOf } from './run.mjs';
import { spell } from './spelling.mjs';

const REDUCING_SECONDS = 60;
const MAX_REFERENCE_MS = 4000;

/** @typedef {{ name: string, host: string, options?: object, donates?: boolean, all?: boolean }} Way */

/**
 * The ways of program number `seed`. `all`: every value of the program is a result; `donates`: the arguments are
 * donated buffers.
 * @param {string[]} names of what can be left out: rewrites, stages, kernels
 * @returns {Way[]}
 */
function waysOf(seed, names) {
  const random = new Random(seed), isKernel = (name) => name.startsWith('kernel-');
  const stages = ['in-place', 'row-groups', 'regions', 'large-chunks'];
  const rewrites = names.filter((name) => !isKernel(name) && !stages.includes(name));
  const without = (name, disable, more) => ({ name: `without ${name}`, host: 'single', options: { disable }, ...more });
  const some = () => random.some(names, random.pick([0.05, 0.3, 0.7]));
  return [
    { name: 'as it is', host: 'single' },
    { name: 'one thread', host: 'one' },
    { name: 'four threads', host: 'four' },
    without('rewrites', rewrites),
    without('everything', names),
    without('kernels', names.filter(isKernel)),
    ...stages.map((name) => without(name, [name])),
    without('large-chunks', ['large-chunks'], { name: 'four threads without large-chunks', host: 'four' }),
    without('a subset', some()),
    without('another subset', some(), { host: 'four' }),
    { name: 'donated arguments', host: 'single', donates: true },
    without('a subset, donated', some(), { donates: true }),
    { name: 'all values as results', host: 'single', all: true },
    without('a subset, all values as results', some(), { all: true }),
  ];
}

const bitsOf = (results) => JSON.stringify(results.map((leaves) => leaves.map(leafOf)));

export class Ways {
  totals = { programs: 0, runs: 0, refused: 0, differences: 0 };
  hosts = { single: new Host('single', 0), one: new Host('one', 1), four: new Host('four', 4) };

  /** @param {{ only?: string[], aim?: string, say?: (text: string) => void }} [options] only: rules; aim: of all programs */
  constructor({ only, aim, say = console.log } = {}) {
    this.only = only;
    this.aims = new Aims(only ? 'none' : aim);
    this.say = say;
  }

  /** A program as text with its arguments, and the tolerances of its outputs. */
  async #assemble({ steps, replicas, spelling }, outputs) {
    const client = await this.hosts.single.client();
    const { module, literals } = buildModule(client, steps, outputs, new Map());
    const text = module.toString(), hlo = spell(text, spelling);
    module.dispose();
    return {
      hlo, text, replicas, literals, isSpelt: Boolean(spelling),
      outputs: outputs.map(({ domain, shape: { isDynamic } }) => ({ tolerance: domain.tolerance ?? 'exact', isDynamic })),
    };
  }

  async #reference(job) {
    const results = await this.hosts.single.runWith(job, { optimize: false });
    return results.map((leaves) => leaves.map((leaf) => leafOf(leaf.inLayout(null))));
  }

  /** Runs program number `seed` in all ways. */
  async check(seed) {
    const client = await this.hosts.single.client();
    const source = this.aims.next(seed), { aim } = source, program = generate(client, source.seed, { refused: () => {}, only: this.only, aim });
    const number = `${source.seed} --aim '${aim ?? 'none'}'`;
    const outputs = program.chooseOutputs();
    if (!outputs.length) return;
    const values = program.steps.filter(({ shape, literals }) => shape.isArray && !shape.isDynamic && !literals);
    let plain, all, expected, expectedAll;
    try {
      plain = await this.#assemble(program, outputs);
      this.aims.note(client.parseHlo(plain.hlo), source);
      all = await this.#assemble(program, values.length ? values : outputs);
      const start = performance.now();
      [expected, expectedAll] = [await this.#reference(plain), await this.#reference(all)];
      if (performance.now() - start > MAX_REFERENCE_MS) throw new Error('some of the ways would take as long');
    } catch (error) {
      const { code = 'REFUSED' } = error.cause ?? error;
      if (['INTERNAL', 'UNAVAILABLE', 'UNIMPLEMENTED'].includes(code)) {
        this.totals.differences++;
        this.say(`\nThe reference fails, seed ${number}: ${error.stack}\n${all?.hlo ?? ''}`);
      }
      this.totals.refused++; // the evaluator takes too many steps, or too long: sums of long windows, for example
      await this.hosts.single.restart();
      return;
    }
    this.totals.programs++;
    const bits = new Map(); // of the ways that differ by threads alone
    for (const way of waysOf(source.seed, client.optionalPasses)) {
      const job = way.all ? all : plain;
      const problem = await this.#problem(way, job, way.all ? expectedAll : expected, bits);
      this.totals.runs++;
      if (problem) await this.#report(number, way, job, problem);
    }
    const invalid = await this.#unreadable(plain);
    if (!invalid) return;
    this.totals.differences++;
    this.say(`\nThe compiled program is invalid, seed ${number}: ${invalid.message}\n${plain.hlo}`);
  }

  /** The error of the parser for what a compilation prints; undefined if it is valid. */
  async #unreadable({ hlo, replicas }) {
    const client = await this.hosts.single.client(), module = client.parseHlo(hlo);
    const executable = await client.compile(module, { replicas });
    module.dispose();
    try {
      client.parseHlo(executable.toString()).dispose();
      return undefined;
    } catch (error) {
      return error;
    } finally {
      executable.dispose();
    }
  }

  async #problem(way, job, expected, bits) {
    const host = this.hosts[way.host];
    try {
      const results = await host.runWith(job, way.options ?? {}, way.donates);
      const [first] = compare(results, expected, job.outputs).values();
      if (first) return first;
      if (way.options || way.donates || way.all) return undefined;
      bits.set(way.name, bitsOf(results));
      return new Set(bits.values()).size > 1 ? `the bits differ between ${[...bits.keys()].join(' and ')}` : undefined;
    } catch (error) {
      await host.restart();
      return error.stack;
    }
  }

  async #report(number, way, job, problem) {
    this.totals.differences++;
    this.say(`\nDIFFERENCE, seed ${number}, ${way.name} ${JSON.stringify(way.options ?? {})}: ${problem}`);
    const differential = new Differential({
      replicas: job.replicas, create: () => this.hosts[way.host].newClient(), compile: way.options ?? {},
    });
    const reduced = await reduceJob(differential, job, REDUCING_SECONDS).catch(() => null);
    differential.dispose();
    this.say(reduced ?? job.hlo);
  }

  /** @param {{ seed: number, seconds: number, programs?: number }} options */
  async run({ seed, seconds, programs = Infinity }) {
    const end = Date.now() + 1000 * seconds;
    let told = Date.now();
    for (let i = 0; i < programs && Date.now() < end; i++) {
      await this.check(seed + i);
      if (Date.now() - told < 10_000) continue;
      told = Date.now();
      this.say(`${this.#summary()}, next seed ${seed + i + 1}`);
    }
    for (const host of Object.values(this.hosts)) {
      const client = await host.client();
      if (client.memoryInUse) this.say(`${host.name}: ${client.memoryInUse} bytes are left behind`);
      this.totals.differences += client.memoryInUse ? 1 : 0;
      client.dispose();
    }
    this.say(this.#summary());
    return this.totals;
  }

  #summary() {
    const { programs, runs, refused, differences } = this.totals;
    return `${programs} programs in ${runs} runs, ${refused} refused, ${differences} differences`;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: String(Date.now() % 1e9) },
      programs: { type: 'string', default: 'Infinity' }, rules: { type: 'string' }, aim: { type: 'string' },
    },
  });
  console.log(`seed ${values.seed}`);
  const { differences } = await new Ways({ only: values.rules?.split(','), aim: values.aim })
    .run({ seed: Number(values.seed), seconds: Number(values.seconds), programs: Number(values.programs) });
  process.exitCode = differences ? 1 : 0;
}
