/** Tests the optimisers by their formulas, in numbers of JavaScript, and a step of training. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client, readSafetensors, writeSafetensors } from '../../bindings/index.mjs';
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

/* The weights after these three steps by Optax 0.2.8 in f64, with its own defaults: optax.adamw(0.1) and others. */
const OPTAX = {
  sgd: [sgd({ learningRate: 0.1 }), [0.772, -1.064, 2.096]],
  momentum: [sgd({ learningRate: 0.1, momentum: 0.9 }), [0.502, 0.016, 0.926]],
  nesterov: [sgd({ learningRate: 0.1, momentum: 0.9, nesterov: true }), [0.479248, 0.234304, 0.832544]],
  adam: [adam({ learningRate: 0.1 }), [0.7768234612763619, -1.7116906050958884, 2.7167613894634224]],
  adamw: [adamw({ learningRate: 0.1 }), [0.7767981968613088, -1.7116339571026264, 2.71667537064231]],
};

describe('defaults are Optax\'s', () => {
  for (const [name, [optimiser, wanted]] of Object.entries(OPTAX)) {
    test(name, async () => {
      const loss = client.parseHlo(LOSS);
      const step = await trainStep(client, loss, { wrt: 'params', optimiser });
      await step.start([WEIGHTS]);
      for (const target of TARGETS) await step.run([target]);
      const { data } = step.weights()['params.w'];
      wanted.forEach((w, k) => assert.ok(Math.abs(data[k] - w) < 2e-6, `${data[k]}, not ${w}`));
      step.dispose();
      loss.dispose();
    });
  }

  test('a rate in the place of the options', () => {
    assert.throws(() => adamw(1e-2), /^XlaError: adamw: options must be an object; got 0.01: write adamw\(\{ learningRate \}\)$/);
  });
});

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

  test('weights, state and arguments by name; a saved state goes on where it was', async () => {
    const loss = client.parseHlo(LOSS);
    const options = { wrt: 'params', optimiser: adam({ learningRate: 0.1 }) };
    const inUse = client.heapInUse;
    const first = await trainStep(client, loss, options), second = await trainStep(client, loss, options);
    await first.start({ params: { w: WEIGHTS } });
    await first.run({ x: TARGETS[0] });
    const saved = await readSafetensors(writeSafetensors(first.state()));
    assert.deepEqual(Object.keys(saved).sort(), ['optimiser.0.params.w', 'optimiser.1.params.w', 'optimiser.step', 'params.w']);
    await second.start(saved);
    for (const target of TARGETS.slice(1)) {
      assert.deepEqual(await second.run({ x: target }), await first.run([target]));
    }
    assert.deepEqual(second.weights(), first.weights());
    await assert.rejects(first.start({ 'params.v': WEIGHTS }), /start: no argument is named params\.w: f64\[3\]/);
    await assert.rejects(first.start({ w: [1, 2] }), /start: params\.w: .*f64\[3\]|start: params\.w: needs an array of 3/);
    assert.throws(() => first.weights(), /await start\(values\) first/);
    for (const step of [first, second]) step.dispose();
    assert.equal(client.heapInUse, inUse);
  });

  test('weights of equal shapes go by their names', async () => {
    const b = client.builder('line'); // loss = (10 x scale + bias)^2
    const [bias, scale, x] = ['dense__bias__', 'dense__scale__', 'x'].map((name, i) => b.parameter(i, 'f64[]', name));
    const y = x.mul(scale).mul(10).add(bias);
    const step = await trainStep(client, b.build(y.mul(y)), { wrt: ['dense'] });
    await step.start({ scale: 1, bias: 2 });
    assert.equal((await step.run({ x: 1 }))[0].toArray(), 144);
    assert.deepEqual(Object.keys(step.weights()), ['dense.bias', 'dense.scale']);
    step.dispose();
  });

  test('a learning rate that changes', async () => {
    const loss = client.parseHlo(LOSS);
    const learningRate = (b, step) => b.div(b.constant(0.5, 'f32[]'), step);
    const fit = await trainStep(client, loss, { wrt: 1, optimiser: sgd({ learningRate }) });
    await fit.start([WEIGHTS]);
    let wanted = WEIGHTS;
    for (const [i, target] of TARGETS.entries()) {
      await fit.run([target]);
      wanted = wanted.map((w, k) => w - (0.5 / (i + 1)) * 2 * (w - target[k]));
      fit.weights()['params.w'].data.forEach((w, k) => assert.ok(Math.abs(w - wanted[k]) < 1e-6, `${w}, not ${wanted[k]}`));
    }
    fit.dispose();
    await assert.rejects(trainStep(client, loss, { wrt: 1, optimiser: sgd({ learningRate: () => 0.1 }) }),
      /learningRate: the function must return an XlaOp of one number; got 0\.1/);
  });

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
    await assert.rejects(step.start([]), /values must be a list of 1, one for each weight, or an object with params\.w; got \[\]/);
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

describe('on several devices', () => {
  /** The mean of (w - x)^2 over x. */
  function lossOf(b, x) {
    const apart = b.sub(b.parameter(1, x, 'x'), b.parameter(0, 'f64[]', 'w'));
    return b.build(b.mean(apart.mul(apart)));
  }
  const DATA = [[1, 2], [3, 4], [5, 6], [7, 0]];

  test('each has its data, all have the same weights: those of one device with all data', async () => {
    const many = await Client.create({ replicas: 4, threads: 0 });
    const options = { wrt: 'w', optimiser: adam({ learningRate: 0.1 }) };
    const step = await trainStep(many, lossOf(many.builder('loss'), 'f64[2]'), { ...options, average: true });
    const wanted = await trainStep(client, lossOf(client.builder('all'), 'f64[8]'), options);
    await Promise.all([step.start([1]), wanted.start([1])]);
    for (let i = 0; i < 5; i++) {
      const losses = (await step.runReplicas(DATA.map((own) => [own]))).map(([{ data }]) => data[0]);
      const [{ data: [loss] }] = await wanted.run([DATA.flat()]);
      const mean = losses.reduce((sum, own) => sum + own) / 4;
      assert.ok(Math.abs(mean - loss) < 1e-12 * loss, `${mean}, not ${loss}`);
    }
    const [own, all] = [step, wanted].map((each) => each.weights().w.data[0]);
    assert.ok(Math.abs(own - all) < 1e-12, `${own}, not ${all}`);
    await assert.rejects(step.runReplicas([DATA[0]]), /argsPerReplica must be a list of 4, one for each device/);
    many.dispose();
  });

  test('a client of several replicas trains a loss that knows nothing of them', async () => {
    const many = await Client.create({ replicas: 3, threads: 0 });
    const step = await trainStep(many, lossOf(many.builder('loss'), 'f64[2]'), { wrt: 'w', optimiser: sgd({ learningRate: 0.25 }) });
    await step.start([0]);
    const losses = [];
    for (let i = 0; i < 3; i++) losses.push((await step.run([[2, 2]]))[0].data[0]);
    assert.deepEqual(losses, [4, 1, 0.25]);
    many.dispose();
  });

  test('the option replicas; without it the error names it', async () => {
    const loss = client.parseHlo(LOSS), all = TARGETS.map((target) => [target]);
    const one = await trainStep(client, loss, { wrt: 'params' });
    await one.start([WEIGHTS]);
    await assert.rejects(one.runReplicas(all),
      /a list of 1, one for each device; got .*; for 3 replicas write trainStep\(client, loss, \{ replicas: 3, … \}\)$/);
    const three = await trainStep(client, loss, { wrt: 'params', replicas: 3, average: true });
    await three.start([WEIGHTS]);
    assert.equal((await three.runReplicas(all)).length, 3);
  });

  test('the devices are those that the loss states', async () => {
    const loss = client.parseHlo(LOSS.replace('HloModule loss', 'HloModule loss, replica_count=2'));
    const step = await trainStep(client, loss, { wrt: 'params' });
    await step.start([WEIGHTS]);
    assert.equal((await step.runReplicas(TARGETS.slice(0, 2).map((target) => [target]))).length, 2);
    assert.ok(step.weights()['params.w'].data.every((w, i) => w !== WEIGHTS[i]));
  });
});
