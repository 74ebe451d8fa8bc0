/** The program of the curve that learns: a network, its loss, and a step of training. */
import { adam } from '../../bindings/train/index.mjs';

export const POINTS = 32; // the most that there may be
export const CURVE = 121; // places at which the curve is drawn, from -1 to 1

const DECAY = 5e-5; // of large weights: a smooth curve costs less

/** Weights of a network 1 - width - width - 1, and where they begin. */
export const shapesOf = (width) => [[1, width], [width], [width, width], [width], [width, 1], [1]];

function network(b, x, [w1, b1, w2, b2, w3, b3]) {
  const first = b.tanh(b.add(b.dot(x, w1), b1, [1]));
  const second = b.tanh(b.add(b.dot(first, w2), b2, [1]));
  return b.add(b.dot(second, w3), b3, [1]);
}

/**
 * Some steps of Adam, as one program with its loop; no derivative is written by hand.
 * Parameters: x, y and whether the point is there, f32[32,1] each; the learning rate; then the state: the number of
 * steps, weights, and Adam's two arrays for each. Result: the loss, the curve f32[121,1], the state.
 */
export function buildSteps(client, { width, steps }) {
  const b = client.builder('fit');
  const [x, y, there] = ['x', 'y', 'there'].map((name, i) => b.parameter(i, `f32[${POINTS},1]`, name));
  const optimiser = adam({ learningRate: 1 });
  const rate = b.parameter(3, 'f32[]', 'rate');
  const shapes = shapesOf(width).map((sizes) => `f32[${sizes}]`);
  const count = b.parameter(4, 'f32[]', 'count');
  const state = ['weight', 'mean', 'square'].flatMap((name, k) =>
    shapes.map((shape, i) => b.parameter(5 + k * shapes.length + i, shape, `${name}${i}`)));
  const n = shapes.length;

  const lossOf = (f, weights) => {
    const error = f.mul(f.sub(network(f, x, weights), y), there);
    const size = weights.map((weight) => f.sum(f.mul(weight, weight))).reduce((sum, one) => sum.add(one));
    return f.div(f.sum(f.mul(error, error)), f.sum(there)).add(size.mul(DECAY));
  };
  const [, after, ...trained] = b.while((_, i) => i.lt(steps), (f, i, before, ...values) => {
    const weights = values.slice(0, n);
    const step = before.add(1);
    const slopes = f.gradient(lossOf(f, weights), weights);
    const next = weights.map((weight, k) =>
      optimiser.update(f, { weight, gradient: slopes[k], state: [values[n + k], values[2 * n + k]], step }));
    const moved = next.map(([weight], k) => weights[k].add(weight.sub(weights[k]).mul(rate)));
    return [i.add(1), step, ...moved, ...next.map(([, mean]) => mean), ...next.map(([, , square]) => square)];
  }, [b.constant(0, 's32[]'), count, ...state]);

  const places = b.reshape(b.linspace(b.constant(-1, 'f32[]'), 1, CURVE), [CURVE, 1]);
  const weights = trained.slice(0, n);
  return b.build(b.tuple([lossOf(b, weights), network(b, places, weights), after, ...trained]));
}
