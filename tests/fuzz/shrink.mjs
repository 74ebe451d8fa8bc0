/** Makes a program that disagrees with XLA as small as it can. */
import { literalOf } from '../support/golden.mjs';
import { needed } from './program.mjs';

const MAX_ROUNDS = 40;

/**
 * @param {object} program its steps and replicas
 * @param {object[]} outputs the outputs that disagree
 * @param {(candidate: object) => Promise<boolean>} disagrees
 * @param {(candidate: object) => Promise<[string, string][][] | null>} ask real XLA's outputs
 * @returns {Promise<object>} the smallest candidate: { outputs, cuts, spelling }
 */
export async function shrink(program, outputs, disagrees, ask) {
  const plain = { outputs, cuts: new Map(), spelling: null };
  let best = { ...plain, spelling: program.spelling };
  if (program.spelling && await disagrees(plain)) best = plain;
  for (const output of outputs) {
    const candidate = { ...best, outputs: [output] };
    if (await disagrees(candidate)) {
      best = candidate;
      break;
    }
  }
  const tried = new Set();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const step = inner(program, best).find((each) => !tried.has(each));
    if (!step) break;
    tried.add(step);
    const candidate = await cutAt(step, best, ask);
    if (candidate && await disagrees(candidate)) best = candidate;
  }
  return best;
}

/** The steps that could be parameters instead, those that save most first. */
function inner(program, { outputs, cuts }) {
  return needed(program.steps, outputs, cuts)
    .filter((step) => step.operands.length && step.shape.isArray && !step.shape.isDynamic && !cuts.has(step) &&
      !outputs.includes(step))
    .reverse();
}

/** The program with a step's value, as XLA has it, in the place of the step. */
async function cutAt(step, { outputs, cuts, spelling }, ask) {
  const values = await ask({ outputs: [step], cuts, spelling });
  if (!values) return null;
  const literals = values.map(([leaf]) => literalOf(leaf, step.shape.elementType));
  return { outputs, cuts: new Map([...cuts, [step, literals]]), spelling };
}
