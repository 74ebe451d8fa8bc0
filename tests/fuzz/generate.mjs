/** Makes random valid programs from a seed and a program's number. */
import { OPERATIONS } from '../../bindings/builder/operations.mjs';
import { enclose, encloseAll, encloseEach } from './enclose.mjs';
import { Program } from './program.mjs';
import { Random } from './random.mjs';
import { collectiveRules } from './rules_collective.mjs';
import { controlRules } from './rules_control.mjs';
import { dynamicRules } from './rules_dynamic.mjs';
import { elementwiseRules } from './rules_elementwise.mjs';
import { idiomRules } from './rules_idioms.mjs';
import { indexingRules } from './rules_indexing.mjs';
import { libraryRules } from './rules_library.mjs';
import { loopRules } from './rules_loops.mjs';
import { modelRules } from './rules_models.mjs';
import { movementRules } from './rules_movement.mjs';
import { nestingRules } from './rules_nesting.mjs';
import { reductionRules } from './rules_reduction.mjs';
import { refusedCollectiveRules, refusedRules } from './rules_refused.mjs';
import { weightRules } from './rules_weights.mjs';
import { randomSpelling } from './spelling.mjs';
import { randomDimensions, randomType } from './values.mjs';

const MAX_TRIES = 60;
const OFTEN = ['unary', 'binary']; // many operations each
const FAMILIES = [
  elementwiseRules, { ...elementwiseRules, ...refusedRules }, movementRules, indexingRules, reductionRules, libraryRules,
  { ...controlRules, ...nestingRules }, dynamicRules, loopRules, loopRules,
  { ...idiomRules, ...modelRules, ...weightRules },
];

const TOGETHER = { ...collectiveRules, ...refusedCollectiveRules };

const repeated = (name) => (OFTEN.includes(name) ? [name, name, name, name] : [name]);
const namesOf = (rules, only) => Object.keys(rules)
  .filter((name) => !only || only.includes(name)).flatMap(repeated);

/** Rules that write many operations. ALL has them eight times. */
const MANY = [...OFTEN, 'transcendental'];
/** The names of all rules. */
export const RULES = Object.keys(Object.assign({}, ...FAMILIES, TOGETHER));
const ALL = RULES.flatMap((name) => new Array(MANY.includes(name) ? 8 : 1).fill(name));

/** The builder's methods that write an operation. */
const methodsOf = (opcode) => Object.keys(OPERATIONS).filter((name) => OPERATIONS[name].opcode === opcode);

/** The parts of an aim: 'rule/type/opcode@construct:asynchronous'. Only the rule is always there. */
function partsOf(aim = '') {
  const [, rule, type, opcode, construct, asynchronous] = /^([^/@]*)\/?([^/@]*)\/?([^/@]*)@?([^:]*):?(.*)$/.exec(aim);
  return { rule, type, opcode, construct, asynchronous };
}

/**
 * Two programs of five sweep: they have two steps of one rule, any as often as any other, and put each into every
 * construct. The others are of all rules, some as often as people write them.
 *
 * @param {object} client whose builder builds it
 * @param {number} seed
 * @param {object} options
 * @param {(name: string, error: Error) => void} options.refused told of what the builder refuses
 * @param {string[]} [options.only] the rules to use, if not all
 * @param {string} [options.aim] 'rule/type/opcode@construct:asynchronous': sweeps with this rule, and this element type and
 *   operation where the rule has a choice (aims.mjs). It puts all steps into the construct, too, and writes the operation
 *   as its start and its end.
 * @returns {Program}
 */
export function generate(client, seed, { refused, only, aim }) {
  const random = new Random(seed), { rule, type, opcode, construct, asynchronous } = partsOf(aim);
  random.type = type;
  random.methods = methodsOf(opcode);
  const isSweep = Boolean(rule) || (!only && random.chance(0.4));
  if (isSweep) only = [rule || random.pick(ALL)];
  const together = only ? namesOf(TOGETHER, only).length > 0 : false;
  const replicas = together || random.chance(0.08) ? random.pick([2, 2, 3, 4, 4, 8]) : 1;
  const program = new Program(client, random, replicas);
  const families = (replicas > 1 ? [...FAMILIES, TOGETHER, TOGETHER] : FAMILIES)
    .filter((rules) => namesOf(rules, only).length);
  program.spelling = rule && random.chance(0.4) ? { seed: random.bits(), layouts: false, asynchronous: true } : randomSpelling(random);
  if (asynchronous) program.spelling = { seed, layouts: false, asynchronous: true, always: asynchronous.replace(/-(start|done)$/, '') };
  else if (construct) program.spelling = null;
  for (let i = random.between(1, 2); i > 0; i--) {
    program.fresh(randomType(random), randomDimensions(random));
  }
  const wanted = rule && MANY.includes(rule) ? 5 : isSweep ? 2 : random.between(1, 12);
  for (let tries = 0; program.rules.length < wanted && tries < MAX_TRIES; tries++) {
    const rules = random.pick(families);
    const name = random.pick(namesOf(rules, only));
    try {
      if (rules[name](program, random)) program.rules.push(name);
    } catch (error) {
      refused(name, error);
    }
  }
  if (isSweep) {
    encloseEach(program, random);
    program.rules.push('encloseEach');
  }
  if (construct) encloseAll(program, new Random(seed), construct); // other numbers would enclose other steps below
  for (let times = !isSweep && random.chance(0.75) ? random.between(1, 5) : 0; times > 0; times--) {
    if (enclose(program, random)) program.rules.push('enclose');
  }
  return program;
}
