/**
 * Chooses aims of random programs, so that all combinations of construct, operation and class of element type occur
 * (pairs.mjs).
 *
 *     node tests/fuzz/aims.mjs [--seconds N] [--seed N] [--programs N]
 *
 * makes programs, without running them, and prints the table of their combinations.
 *
 * An aim is a rule, an element type and perhaps an operation: 'unary/f8e4m3fn/abs'. generate() then makes a program of that
 * rule, of that type and operation where it can, and puts each step into every construct. A construct and an asynchronous
 * operation may follow: 'unary/f8e4m3fn@call:copy-start' is the program of 'unary/f8e4m3fn' with another copy of all its
 * steps in a call, and with each copy written as its start and its end. '@call' does so to a program without an aim.
 *
 * Three kinds of aims take turns: each rule with each class of types; a program that had an operation, again, for each
 * construct that lacks the operation; and operations with classes of types that they never had, by rules that write them.
 */
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { readGolden } from '../support/golden.mjs';
import { generate, RULES } from './generate.mjs';
import { allOpcodes, classOf, Pairs, pairsOf } from './pairs.mjs';
import { buildModule } from './program.mjs';
import { spell } from './spelling.mjs';

const GOLDEN = new URL('../golden/', import.meta.url);
const PROGRAMS_OF_CLIENT = 200;
const MAX_TRIES = 12; // for one combination
const MAX_SOURCES = 4;
const TYPES = [...ELEMENT_TYPES.keys()].filter((name) => name !== 'token');
/** The types of each class. */
const CLASSES = new Map();
for (const name of TYPES) CLASSES.set(classOf(`${name}[]`), [...CLASSES.get(classOf(`${name}[]`)) ?? [], name]);

/** One of the types of a class. */
const typeOf = (of, seed) => CLASSES.get(of)[Math.floor(seed / 4) % CLASSES.get(of).length];
const isAsynchronous = (opcode) => /-(start|done)$/.test(opcode);

/** What a start or a done does: 'copy of f32' of 'copy-start of f32'. */
const started = (key) => key.replace(/-(start|done) of/, ' of');

/** A program: its seed and its aim. @typedef {{ seed: number, aim: string | undefined }} Way */

export class Aims {
  pairs = new Pairs();
  #fixed;
  #tries = new Map(); // of 'rule/class', 'construct|operation of class', 'operation of class', or a program: 'seed aim'
  #sources = new Map(); // 'operation of class' -> programs that had it, those first that had it outside of constructs
  #rules = new Map(); // operation -> the rules that wrote it outside of constructs

  /** @param {string} [fixed] the aim of all programs, or 'none' */
  constructor(fixed) {
    this.#fixed = fixed;
  }

  /** Program number `seed`: every other one is of any rules, or an earlier one in a construct. @returns {Way} */
  next(seed) {
    if (this.#fixed) return { seed, aim: this.#fixed === 'none' ? undefined : this.#fixed };
    const untried = seed % 4 === 0 && this.#untried(seed);
    const aimed = seed % 2 ? undefined : untried || this.again(seed) || this.#untried(seed) || this.#unseen(seed);
    return aimed ?? { seed, aim: undefined };
  }

  #triesOf(key) {
    return this.#tries.get(key) ?? 0;
  }

  #count(key) {
    this.#tries.set(key, this.#triesOf(key) + 1);
  }

  /** A rule with a class of types, for the first time. */
  #untried(seed) {
    const ways = RULES.flatMap((rule) => [...CLASSES.keys()].map((of) => [rule, of])).filter((way) => !this.#tries.has(way.join('/')));
    if (!ways.length) return undefined;
    const [rule, of] = ways[(Math.imul(seed, 0x9e3779b1) >>> 0) % ways.length]; // a hash by Knuth: rules of any family
    this.#count(`${rule}/${of}`);
    return { seed, aim: `${rule}/${typeOf(of, seed)}` };
  }

  /**
   * A program that had what a construct lacks, with all its steps in that construct; or one of a rule that writes it.
   * @returns {Way | undefined}
   */
  again(seed) {
    for (const pair of this.#least(this.pairs.lacking())) {
      const [construct, key] = pair.split('|'), [opcode] = key.split(' of ');
      const end = `@${construct}${isAsynchronous(opcode) ? `:${opcode}` : ''}`;
      const ways = this.#sourcesOf(key).map((one) => ({ seed: one.seed, aim: (one.aim ?? '') + end }));
      const way = ways.find((one) => !this.#tries.has(`${one.seed} ${one.aim}`)) ?? this.#byRule(key, seed);
      if (!way) continue;
      [pair, `${way.seed} ${way.aim}`].forEach((tried) => this.#count(tried));
      return way;
    }
    return undefined;
  }

  /** Programs that had it, or had the operation that becomes it. */
  #sourcesOf(key) {
    return this.#sources.get(started(key)) ?? this.#sources.get(key) ?? [];
  }

  /** An operation with a class of types that it never had. */
  #unseen(seed) {
    const seen = this.pairs.keys(), keys = [...this.#rules.keys()].flatMap((opcode) => [...CLASSES.keys()].map((of) => `${opcode} of ${of}`));
    const [key] = this.#least(keys.filter((one) => !seen.has(one)));
    if (!key) return undefined;
    this.#count(key);
    return this.#byRule(key, seed);
  }

  /** Of a rule that wrote the operation outside of constructs. */
  #byRule(key, seed) {
    const [opcode, of] = key.split(/ of (.*)/), rules = [...this.#rules.get(opcode) ?? []], rule = rules[seed % rules.length];
    return rule && { seed, aim: `${rule}/${typeOf(of, seed)}${isAsynchronous(opcode) ? `@:${opcode}` : `/${opcode}`}` };
  }

  /** Keys that were not tried too often: those first that were tried least. */
  #least(keys) {
    return keys.filter((key) => this.#triesOf(key) < MAX_TRIES).sort((a, b) => this.#triesOf(a) - this.#triesOf(b));
  }

  /** Notes a program's combinations. @param {object} module as it is spelt; it is disposed of @param {Way} way */
  note(module, way) {
    const text = module.toString();
    module.dispose();
    this.pairs.add(text);
    if (way.aim?.includes('@')) return;
    const rule = way.aim?.split('/')[0];
    for (const [construct, opcode, of] of pairsOf(text)) {
      if (rule && construct === 'entry') this.#rules.set(opcode, (this.#rules.get(opcode) ?? new Set()).add(rule));
      for (const key of new Set([`${opcode} of ${of}`, started(`${opcode} of ${of}`)])) this.#addSource(key, way, construct === 'entry');
    }
  }

  #addSource(key, way, isOutside) {
    const sources = this.#sources.get(key) ?? [];
    if (sources.some(({ seed, aim }) => seed === way.seed && aim === way.aim)) return;
    if (isOutside) sources.unshift(way);
    else sources.push(way);
    this.#sources.set(key, sources.slice(0, MAX_SOURCES));
  }
}

/** Makes programs, and counts: for some seconds, or as many as `most`, and then those that are aimed at what is missing. */
export async function collect(seconds, seed, most = Infinity) {
  let client = await Client.create({ threads: 0 });
  const aims = new Aims(), end = Date.now() + 1000 * seconds;
  let programs = 0;
  for (;; programs++) {
    if (programs % PROGRAMS_OF_CLIENT === PROGRAMS_OF_CLIENT - 1) { // builders go with their client
      client.dispose();
      client = await Client.create({ threads: 0 });
    }
    const way = Date.now() < end && programs < most ? aims.next(seed + programs) : aims.again(seed + programs);
    if (!way) break;
    const program = generate(client, way.seed, { refused: () => {}, aim: way.aim });
    const outputs = program.chooseOutputs();
    if (!outputs.length) continue;
    const { module } = buildModule(client, program.steps, outputs, new Map());
    aims.note(client.parseHlo(spell(module.toString(), program.spelling)), way);
    module.dispose();
  }
  client.dispose();
  return { pairs: aims.pairs, programs };
}

/** The combinations of the golden corpus. */
async function golden() {
  const client = await Client.create({ threads: 0 }), pairs = new Pairs();
  for (const file of await readdir(GOLDEN)) {
    if (!file.endsWith('.golden')) continue;
    for (const { hlo } of await readGolden(new URL(file, GOLDEN))) {
      const module = client.parseHlo(hlo);
      pairs.add(module.toString());
      module.dispose();
    }
  }
  client.dispose();
  return pairs;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' },
      programs: { type: 'string', default: 'Infinity' },
    },
  });
  const { pairs, programs } = await collect(Number(values.seconds), Number(values.seed), Number(values.programs));
  console.log(pairs.report(await allOpcodes()));
  console.log(`\n${pairs.unwritten(await golden())}`);
  console.log(`\n${programs} programs; ${pairs.lacking().length} combinations are missing`);
}
