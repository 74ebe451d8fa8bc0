/**
 * Chooses aims of random programs, so that all combinations of construct, operation and class of element type occur
 * (pairs.mjs).
 *
 *     node tests/fuzz/aims.mjs [--seconds N] [--seed N]
 *
 * makes programs, without running them, and prints the table of their combinations.
 *
 * An aim is a rule, an element type and perhaps an operation: 'unary/f8e4m3fn/abs'. generate() then makes a program of that
 * rule, of that type and operation where it can, and puts each step into every construct. Which rules write an operation
 * is learned from the programs that have only one rule. So program `seed` of an aim is always the same one, whatever came
 * before.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { generate, RULES } from './generate.mjs';
import { allOpcodes, classOf, Pairs } from './pairs.mjs';
import { buildModule } from './program.mjs';
import { spell } from './spelling.mjs';

const PROGRAMS_OF_CLIENT = 200;
const MAX_TRIES = 12; // of one aim, for one combination
const TYPES = [...ELEMENT_TYPES.keys()].filter((name) => name !== 'token');
/** The types of each class. */
const CLASSES = new Map();
for (const name of TYPES) CLASSES.set(classOf(`${name}[]`), [...CLASSES.get(classOf(`${name}[]`)) ?? [], name]);

export class Aims {
  pairs = new Pairs();
  #fixed;
  #tries = new Map(); // of 'rule/class', or of 'construct|operation of class'
  #rules = new Map(); // 'operation of class' -> 'rule/class' of programs that had it

  /** @param {string} [fixed] the aim of all programs: 'rule/type/opcode', or 'none' */
  constructor(fixed) {
    this.#fixed = fixed;
  }

  /** The aim of program `seed`; undefined for every other one: it is of any rules. */
  next(seed) {
    if (this.#fixed) return this.#fixed === 'none' ? undefined : this.#fixed;
    if (seed % 2) return undefined;
    const untried = RULES.flatMap((rule) => [...CLASSES.keys()].map((of) => `${rule}/${of}`)).filter((way) => !this.#tries.has(way));
    const missing = this.#missing();
    const isWanted = Boolean(seed % 4 && missing.length) || !untried.length;
    const way = isWanted ? this.#wayTo(missing, seed) : untried[seed % 97 % untried.length];
    if (!way) return undefined;
    this.#count(way);
    const [rule, of] = way.split('/'), types = CLASSES.get(of);
    const opcode = isWanted ? `/${/\|(\S+) of /.exec(missing[0])[1]}` : '';
    return `${rule}/${types[Math.floor(seed / 4) % types.length]}${opcode}`;
  }

  #count(key) {
    this.#tries.set(key, (this.#tries.get(key) ?? 0) + 1);
  }

  /** What a construct lacks and some rule writes: those first that were tried least. */
  #missing() {
    const tries = (pair) => this.#tries.get(pair) ?? 0;
    return this.pairs.lacking().filter((pair) => this.#rules.has(pair.split('|')[1]) && tries(pair) < MAX_TRIES)
      .sort((a, b) => tries(a) - tries(b));
  }

  #wayTo(missing, seed) {
    if (!missing.length) return undefined;
    this.#count(missing[0]);
    const ways = [...this.#rules.get(missing[0].split('|')[1])];
    return ways[seed % ways.length];
  }

  /** Notes a program's combinations. @param {string} text its module @param {string} [aim] */
  note(text, aim) {
    const keys = this.pairs.add(text);
    if (!aim) return;
    const [rule, type] = aim.split('/'), way = `${rule}/${classOf(`${type}[]`)}`;
    for (const key of keys) this.#rules.set(key, (this.#rules.get(key) ?? new Set()).add(way));
  }
}

/** Makes programs, and counts: for some seconds, or as many as `most`. */
export async function collect(seconds, seed, most = Infinity) {
  let client = await Client.create({ threads: 0 });
  const aims = new Aims(), end = Date.now() + 1000 * seconds;
  let programs = 0;
  for (; Date.now() < end && programs < most; programs++) {
    if (programs % PROGRAMS_OF_CLIENT === PROGRAMS_OF_CLIENT - 1) { // builders go with their client
      client.dispose();
      client = await Client.create({ threads: 0 });
    }
    const aim = aims.next(seed + programs), program = generate(client, seed + programs, { refused: () => {}, aim });
    const outputs = program.chooseOutputs();
    if (!outputs.length) continue;
    const { module } = buildModule(client, program.steps, outputs, new Map());
    const spelt = client.parseHlo(spell(module.toString(), program.spelling));
    aims.note(spelt.toString(), aim);
    for (const each of [module, spelt]) each.dispose();
  }
  client.dispose();
  return { pairs: aims.pairs, programs };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
  });
  const { pairs, programs } = await collect(Number(values.seconds), Number(values.seed));
  console.log(pairs.report(await allOpcodes()));
  console.log(`\n${programs} programs`);
}
