/**
 * The combinations that programs have: a construct, an operation in it, the class of its element type. The table has for
 * each construct those that occur in it, of those that occur anywhere, and those that it lacks; and the operations that no
 * rule writes.
 */
import { readFile } from 'node:fs/promises';

import { HloLines, attributeOf, calledBy } from '../../bindings/objects/hlo_lines.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

/** Constructs that run their computations instruction by instruction. Others apply theirs to elements. */
const CONSTRUCTS = ['entry', 'while body', 'while condition', 'conditional', 'call'];
/** Operations that no rule writes, and why; or the fuzzer or test that has them. */
export const UNWRITTEN = {
  ...Object.fromEntries(['acos', 'acosh', 'asin', 'asinh', 'atanh', 'cosh', 'sinh'].map((name) =>
    [name, 'its bits are not decided, nor its error in XLA: tests/accuracy'])),
  'stochastic-convert': 'tests/golden has its cases',
  'scaled-dot': 'tests/golden has its cases',
  bitcast: 'it depends on layouts, which rules do not choose: tests/golden',
  domain: 'it does nothing: tests/golden',
  fusion: 'programs as people write them have none',
  'dynamic-reshape': 'tests/golden has its cases',
  rng: 'its numbers are not those of XLA: tests/api/accepted.test.mjs',
  'rng-get-and-update-state': 'its numbers depend on the order of the whole program: tests/golden',
  'partition-id': 'fuzz-devices has programs of several partitions',
  ...Object.fromEntries(['after-all', 'add-dependency', 'infeed', 'outfeed', 'send', 'send-done', 'recv', 'recv-done']
    .map((name) => [name, 'fuzz-devices has channels, and the host as a peer'])),
  'async-update': 'nothing writes it but XLA: tests/golden',
};

const STRUCTURE = new Set(['parameter', 'constant', 'tuple', 'get-tuple-element']);

/** Operations whose arrays may have different types: each array's class counts. For other operations that of the first counts. */
const CARRIES = new Set(['while', 'conditional', 'call']);
const classesOf = (opcode, shape) => CARRIES.has(opcode)
  ? new Set(Array.from(shape.matchAll(/[a-z]\w*\[/g), ([array]) => classOf(array))) : [classOf(shape)];

/** The class of an array's type; of tuples, of the first part. */
export function classOf(shape) {
  const name = /[a-z]\w*(?=\[)/.exec(shape)?.[0] ?? 'token', type = ELEMENT_TYPES.get(name);
  if (!type || name === 'token') return 'token';
  if (type.kind === 'pred') return 'pred';
  if (type.kind === 'complex') return 'complex';
  if (type.kind !== 'float') return type.bits < 8 ? 'integer of less than 8 bits' : type.bits < 32 ? 'narrow integer' : 'integer';
  if (type.bits >= 32) return name;
  return type.bits > 8 ? 'narrow float' : 'float of 8 bits or less';
}

/** The roles of computations: the constructs that they are part of, by name. */
function rolesOf(program) {
  const roles = new Map([[program.entry.name, 'entry']]);
  for (const { instructions } of program.computations) {
    for (const line of instructions) {
      const called = calledBy(line);
      if (line.opcode === 'while') {
        roles.set(attributeOf(line, 'condition'), 'while condition');
        roles.set(attributeOf(line, 'body'), 'while body');
      } else if (line.opcode === 'conditional') called.forEach((name) => roles.set(name, 'conditional'));
      else if (line.opcode === 'call') called.forEach((name) => roles.set(name, 'call'));
      else called.forEach((name) => roles.set(name, `applied by ${line.opcode}`));
    }
  }
  return roles;
}

/** Combinations of a program: 'while body|dot|f32'. */
export function* pairsOf(text) {
  const program = HloLines.parse(text), roles = rolesOf(program);
  for (const { name, instructions } of program.computations) {
    for (const { opcode, shape } of instructions) {
      if (STRUCTURE.has(opcode)) continue;
      for (const of of classesOf(opcode, shape)) yield [roles.get(name) ?? 'other', opcode, of];
    }
  }
}

export class Pairs {
  #counts = new Map(); // construct -> 'opcode, class' -> how often

  /** Counts those of a program. @returns {Set<string>} its operations by class of type */
  add(text) {
    const keys = new Set();
    for (const [construct, opcode, of] of pairsOf(text)) {
      if (!this.#counts.has(construct)) this.#counts.set(construct, new Map());
      const own = this.#counts.get(construct), key = `${opcode} of ${of}`;
      own.set(key, (own.get(key) ?? 0) + 1);
      keys.add(key);
    }
    return keys;
  }

  /** The combinations that a construct has; those of constructs that run instructions, if none is given. */
  keys(construct) {
    const of = construct ? [construct] : CONSTRUCTS;
    return new Set(of.flatMap((name) => [...this.#counts.get(name)?.keys() ?? []]));
  }

  get constructs() {
    return [...CONSTRUCTS, ...[...this.#counts.keys()].filter((name) => !CONSTRUCTS.includes(name)).sort()];
  }

  missing(construct) {
    const own = this.keys(construct);
    return [...this.keys()].filter((key) => !own.has(key)).sort();
  }

  /** 'construct|operation of class' that occur elsewhere. */
  lacking() {
    return CONSTRUCTS.flatMap((construct) => this.missing(construct).map((key) => `${construct}|${key}`));
  }

  /** @param {readonly string[]} opcodes all that there are */
  report(opcodes) {
    const all = this.keys(), lines = ['| construct | operations by class of type | of those anywhere |', '| --- | --- | --- |'];
    for (const construct of this.constructs) {
      const isFull = CONSTRUCTS.includes(construct);
      lines.push(`| ${construct} | ${this.keys(construct).size} | ${isFull ? all.size : ''} |`);
    }
    for (const construct of CONSTRUCTS) {
      const missing = this.missing(construct);
      if (missing.length) lines.push('', `${construct} lacks: ${missing.join(', ')}`);
    }
    lines.push('', '| no rule writes | because |', '| --- | --- |');
    for (const name of this.unmade(opcodes)) lines.push(`| ${name} | ${UNWRITTEN[name] ?? 'it is rare'} |`);
    return lines.join('\n');
  }

  /** Operations of classes of types that `others` have, and no program here; those of UNWRITTEN are left out. */
  unwritten(others) {
    const own = this.keys(), classes = new Map();
    for (const key of [...others.keys()].filter((one) => !own.has(one)).sort()) {
      const [opcode, of] = key.split(/ of (.*)/);
      if (!UNWRITTEN[opcode]) classes.set(of, [...classes.get(of) ?? [], opcode]);
    }
    const lines = ['| class | the golden corpus has these operations of it, and no rule writes them |', '| --- | --- |'];
    for (const [of, list] of [...classes].sort()) lines.push(`| ${of} | ${list.join(', ')} |`);
    return lines.join('\n');
  }

  unmade(opcodes) {
    const made = new Set([...this.#counts.values()].flatMap((own) => [...own.keys()]).map((key) => key.split(' of ')[0]));
    return opcodes.filter((name) => !made.has(name) && !STRUCTURE.has(name));
  }
}

/** The names of all operations. */
export async function allOpcodes() {
  const table = await readFile(new URL('../../src/hlo/ir/opcodes.def', import.meta.url), 'utf8');
  return [...table.matchAll(/^OPCODE\(\w+, "([\w-]+)"/gm)].map(([, name]) => name);
}
