/** Tests the optimisers by their formulas, in numbers of JavaScript, and a step of training. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { adam, adamw, clipByNorm, sgd, trainStep } from '../../bindings/train/index.mjs';

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

/** loss = sum((w - x)^2), and w - x; its gradient is 2 (w - x). */
const LOSS = `HloModule loss
add { a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT c = f64[] add(a, b) }
ENTRY main {
  x = f64[3] parameter(0)
  params.w = f64[3] parameter(1)
  apart = f64[3] subtract(params.w, x)
  squares = f64[3] multiply(apart, apart)
  zero = f64[] constant(0)
  loss = f64[] reduce(squares, zero), dimensions={0}, to_apply=add
  ROOT r = (f64[], f64[3]) tuple(loss, apart) }`;

const WEIGHTS = [1, -2, 3];
const TARGETS = [[0, 0, 0], [1, 1, 1], [0.5, -1, 2]];

/** The formulas of one weight: (weight, gradient, state, step) -> [weight, ...state]. */
const FORMULAS = {
  sgd: [sgd({ learningRate: 0.1 }), (w, g) => [w - 0.1 * g]],
  momentum: [sgd({ learningRate: 0.1, momentum: 0.9 }), (w, g, [v]) => [w - 0.1 * (0.9 * v + g), 0.9 * v + g]],
  nesterov: [sgd({ learningRate: 0.1, momentum: 0.9, nesterov: true }), (w, g, [v]) =>
    [w - 0.1 * (g + 0.9 * (0.9 * v + g)), 0.9 * v + g]],
  adam: [adam({ learningRate: 0.1 }), adamFormula(0)],
  adamw: [adamw({ learningRate: 0.1, weightDecay: 0.2 }), adamFormula(0.2)],
};

function adamFormula(decay) {
  return (w, g, [m, v], t) => {
    const [mean, square] = [0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g];
    const along = mean / (1 - 0.9 ** t) / (Math.sqrt(square / (1 - 0.999 ** t)) + 1e-8);
    return [w - 0.1 * (along + decay * w), mean, square];
  };
}

describe('trainStep', () => {
  for (const [name, [optimiser, formula]] of Object.entries(FORMULAS)) {
    test(`${name}: weights and losses of three steps`, async () => {
      const loss = client.parseHlo(LOSS);
      const step = await trainStep(client, loss, { wrt: 'params', optimiser });
      await step.start([WEIGHTS]);
      let state = WEIGHTS.map((w) => [w, ...new Array(optimiser.slots).fill(0)]);
      for (const [i, target] of TARGETS.entries()) {
        const apart = state.map(([w], k) => w - target[k]);
        const [value, gave] = await step.run([target]);
        const wanted = apart.reduce((sum, d) => sum + d * d, 0);
        assert.ok(Math.abs(value.data[0] - wanted) < 1e-5 * wanted, `${value.data[0]}, not ${wanted}`);
        assert.equal(gave.data.length, 3);
        state = state.map(([w, ...slots], k) => formula(w, 2 * apart[k], slots, i + 1));
        const { 'params.w': weights } = step.weights();
        state.forEach(([w], k) => assert.ok(Math.abs(weights.data[k] - w) < 1e-5, `${weights.data[k]}, not ${w}`));
      }
      step.dispose();
      loss.dispose();
    });
  }

  test('leaves no memory behind', async () => {
    const loss = client.parseHlo(LOSS);
    const round = async () => {
      const step = await trainStep(client, loss, { wrt: 1 });
      await step.start([WEIGHTS]);
      await step.run([TARGETS[0]]);
      step.dispose();
    };
    await round();
    const before = client.heapInUse;
    await round();
    assert.equal(client.heapInUse, before);
  });

  test('wrong arguments are named', async () => {
    const loss = client.parseHlo(LOSS);
    await assert.rejects(trainStep(client, loss, {}), /wrt must name the weights/);
    await assert.rejects(trainStep(client, loss, { wrt: 'y' }), /no parameter is named "y"/);
    await assert.rejects(trainStep(client, loss, { wrt: 1, optimiser: {} }), /optimiser must be an optimiser/);
    assert.throws(() => adam({ b1: 1 }), /b1 must be a number from 0 up to 1/);
    const step = await trainStep(client, loss, { wrt: 1 });
    await assert.rejects(step.run([TARGETS[0]]), /await start\(values\) first/);
    assert.throws(() => step.weights(), /await start\(values\) first/);
    await assert.rejects(step.start([]), /values must be a list of 1, one for each weight/);
    await step.start([WEIGHTS]);
    await assert.rejects(step.run(), /args must be a list of 1/);
    await assert.rejects(step.run([[1, 2]]), /x/);
    await step.run([TARGETS[0]]); // a run that did not begin leaves the weights as they were
    const gone = step.run([TARGETS[0]], { signal: AbortSignal.abort() });
    await assert.rejects(gone, /CANCELLED|cancelled/i);
    await step.run([TARGETS[0]]);
    const first = step.run([TARGETS[0]]);
    await assert.rejects(step.run([TARGETS[0]]), /await each run\(\)/);
    await first;
  });

  test("the caller's own optimiser: its errors are the caller's, its results are checked", async () => {
    const loss = client.parseHlo(LOSS);
    const own = new TypeError('mine');
    await assert.rejects(trainStep(client, loss, { wrt: 1, optimiser: { slots: 0, update() { throw own; } } }), (error) => error === own);
    for (const results of [undefined, [], (b, weight) => [weight, weight], (b) => [b.constant(1, 'f64[]')]]) {
      const update = (b, { weight }) => (typeof results === 'function' ? results(b, weight) : results);
      await assert.rejects(trainStep(client, loss, { wrt: 1, optimiser: { slots: 0, update } }),
        /optimiser.update must return \[weight, ...state\], 1 XlaOps of the weight's shape f64\[3\]/);
    }
  });
});

test('clipByNorm scales all gradients together, and leaves small ones', async () => {
  const b = client.builder('clip');
  const x = b.parameter(0, 'f32[2]');
  const y = b.parameter(1, 'f32[]');
  const executable = await client.compile(b.build(b.tuple(clipByNorm(b, [x, y], 6))));
  for (const [args, wanted] of [[[[6, 6], 3], [4, 4, 2]], [[[1, 2], 2], [1, 2, 2]], [[[0, 0], 0], [0, 0, 0]]]) {
    const results = await executable.execute(args);
    assert.deepEqual(results.flatMap(({ data }) => [...data]), wanted);
  }
});

test('clipByNorm of f16, bf16, complex and f64 gradients', async () => {
  const b = client.builder('clip');
  const types = ['f16[2]', 'bf16[2]', 'c64[]', 'f64[]'];
  const executable = await client.compile(b.build(b.tuple(clipByNorm(b, types.map((type, i) => b.parameter(i, type)), 3000))));
  const args = [[3000, 6000], [6000, 0], [3000, 6000], 0]; // the norm is that of (1, 2, 2, 0, 1, 2, 0) times 3000, sqrt(14)
  const by = 1 / Math.sqrt(14);
  const results = (await executable.execute(args)).flatMap((result) => [result.toArray()].flat());
  [3000, 6000, 6000, 0, 3000, 6000, 0].forEach((value, i) => assert.ok(Math.abs(results[i] - value * by) <= value * 2 ** -8, `${results}`));
});
