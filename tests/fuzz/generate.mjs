/** Random valid programs: what the seed and the number of a program determine. */
import { Program } from './program.mjs';
import { Random } from './random.mjs';
import { collectiveRules, controlRules } from './rules_control.mjs';
import { elementwiseRules } from './rules_elementwise.mjs';
import { movementRules } from './rules_movement.mjs';
import { reductionRules } from './rules_reduction.mjs';
import { randomDimensions, randomType } from './values.mjs';

const MOST_TRIES = 60;
const OFTEN = ['unary', 'binary']; // many operations each
const FAMILIES = [
  elementwiseRules, elementwiseRules, movementRules, movementRules, reductionRules, controlRules,
];

const namesOf = (rules) => Object.keys(rules)
  .flatMap((name) => (OFTEN.includes(name) ? [name, name, name, name] : [name]));
const names = new Map([...FAMILIES, collectiveRules].map((rules) => [rules, namesOf(rules)]));

/**
 * @param {object} client whose builder builds it
 * @param {number} seed
 * @param {(name: string, error: Error) => void} refused told of what the builder refuses
 * @returns {Program}
 */
export function generate(client, seed, refused) {
  const random = new Random(seed);
  const replicas = random.chance(0.08) ? random.pick([2, 4]) : 1;
  const program = new Program(client, random, replicas);
  const families = replicas > 1 ? [...FAMILIES, collectiveRules, collectiveRules] : FAMILIES;
  for (let i = random.between(1, 2); i > 0; i--) {
    program.fresh(randomType(random), randomDimensions(random));
  }
  const wanted = random.between(1, 12);
  let added = 0;
  for (let tries = 0; added < wanted && tries < MOST_TRIES; tries++) {
    const rules = random.pick(families);
    const name = random.pick(names.get(rules));
    try {
      if (rules[name](program, random)) added++;
    } catch (error) {
      refused(name, error);
    }
  }
  return program;
}
