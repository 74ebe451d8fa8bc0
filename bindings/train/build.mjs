/** Builds the programs of a training step: the step itself, and the state before the first one. */
import { callersFunction } from '../base/boundary.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { inAtLeastF32 } from '../builder/functions/axes.mjs';
import { isOp } from '../builder/op.mjs';
import { parameterNumbers } from '../derive/gradients.mjs';
import { pathOf } from '../objects/named_arguments.mjs';
import { Shape } from '../values/shape.mjs';
import { clipByNorm } from './optimisers.mjs';

/**
 * Finds the parameters that are weights. `own` has name and shape of each. `state` has names and shapes of the optimiser's
 * state, weight by weight; the number of the step is the last.
 */
export function planOf(loss, wrt, { slots }) {
  const parameters = loss.parameters.map(({ name, shape }) => ({ name, shape: shape.withoutLayout() }));
  const weights = parameterNumbers('trainStep', loss.parameters, wrt);
  const rest = parameters.map((_, number) => number).filter((number) => !weights.includes(number));
  const paths = weights.map((number) => pathOf(parameters[number].name));
  const names = new Set(paths).size === paths.length ? paths : weights.map((number) => parameters[number].name);
  const state = weights.flatMap((number, i) => Array.from({ length: slots }, (_, slot) =>
    ({ name: `optimiser.${slot}.${names[i]}`, shape: parameters[number].shape })));
  state.push({ name: 'optimiser.step', shape: Shape.array('f32', []) });
  const own = weights.map((number, i) => ({ name: names[i], shape: parameters[number].shape }));
  return { parameters, results: loss.resultShape.isTuple ? loss.resultShape.tupleShapes.length : 1, weights, rest, own, state };
}

/** The state before the first step. */
export function buildZeros(client, { state }) {
  const b = client.builder('zeros');
  return b.build(b.tuple(state.map(({ shape: { elementType, dimensions } }) =>
    b.broadcast(b.constant(0, `${elementType}[]`), [...dimensions]))));
}

export function buildStep(client, gradient, { parameters, results, weights, rest }, { optimiser, maxNorm, average }) {
  const b = client.builder('train_step');
  const values = [];
  let count = 0;
  const add = (shape, name) => b.parameter(count++, shape, name);
  for (const number of weights) values[number] = add(parameters[number].shape, parameters[number].name);
  const state = weights.map((number) => Array.from({ length: optimiser.slots }, (_, slot) =>
    add(parameters[number].shape, `${parameters[number].name}_state${slot}`)));
  const step = add('f32[]', 'step');
  for (const number of rest) values[number] = add(parameters[number].shape, parameters[number].name);
  const made = [...b.call(gradient, values)];
  let gradients = made.splice(results);
  if (average) gradients = averages(b, gradients);
  if (maxNorm) gradients = clipByNorm(b, gradients, maxNorm);
  const next = step.add(1);
  const updated = weights.map((number, i) =>
    update(optimiser, b, { weight: values[number], gradient: gradients[i], state: state[i], step: next }));
  return b.build(b.tuple([
    ...updated.map(([weight]) => weight), ...updated.flatMap(([, ...slots]) => slots), next, ...made,
  ]));
}

/** The averages over the replicas. The count of replicas is a sum too, since compile() chooses it. */
function averages(b, values) {
  const count = b.crossReplicaSum(b.constant(1, 'f32[]'));
  return values.map((value) => inAtLeastF32(b, b.crossReplicaSum(value), (wide) =>
    wide.div(b.convertElementType(count, wide.shape.elementType))));
}

/** Calls the optimiser, which may be the caller's own. Its results are the arguments of the next step. */
function update(optimiser, b, values) {
  const results = callersFunction(() => optimiser.update(b, values));
  const { shape } = values.weight;
  const isWeight = (value) => isOp(value) && value.shape.withoutLayout().equals(shape.withoutLayout());
  if (Array.isArray(results) && results.length === 1 + optimiser.slots && results.every(isWeight)) return results;
  throw invalidArgument('trainStep', `optimiser.update must return [weight, ...state], ${1 + optimiser.slots} XlaOps of the ` +
    `weight's shape ${shape}; got ${describe(results)}`);
}
