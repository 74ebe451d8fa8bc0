/** How much memory a run takes: the order of steps, and where temporaries lie. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 2 });
});
after(() => client.dispose());

const compile = (text) => client.compile(client.parseHlo(text));
const N = 64;
const BYTES = N * N * 4;
const M = `f32[${N},${N}]`;
const LAYERS = 8;
const layers = (line) => Array.from({ length: LAYERS }, (_, i) => line(i)).join('\n');
const dot = (a, b, lhs = 1, rhs = 0) =>
  `dot(${a}, ${b}), lhs_contracting_dims={${lhs}}, rhs_contracting_dims={${rhs}}`;
const random = (seed) => Float32Array.from({ length: N * N }, (_, i) => Math.sin(i * 7.3 + seed) / 8);

/** A step of training as frameworks write it: forwards, backwards, and all new weights at the end. */
const STEP = `HloModule step
ENTRY e {
  x = ${M} parameter(${LAYERS})
  a0 = ${M} negate(x)
${layers((i) => `  w${i} = ${M} parameter(${i})
  d${i} = ${M} ${dot(`a${i}`, `w${i}`)}
  a${i + 1} = ${M} sine(d${i})`)}
  g${LAYERS} = ${M} reverse(a${LAYERS}), dimensions={0}
${layers((k) => {
  const i = LAYERS - 1 - k;
  return `  g${i} = ${M} ${dot(`g${i + 1}`, `w${i}`, 1, 1)}`;
})}
${layers((i) => `  n${i} = ${M} ${dot(`a${i}`, `g${i + 1}`, 0, 0)}
  v${i} = ${M} reverse(n${i}), dimensions={0,1}
  new${i} = ${M} subtract(w${i}, v${i})`)}
  ROOT t = (${layers(() => M).split('\n').join(', ')}) tuple(${layers((i) => `new${i}`).split('\n').join(', ')})
}`;

/** What it makes of its arguments. */
function expectedOf(args) {
  const multiply = (a, b, from, to) => Float64Array.from({ length: N * N }, (_, at) => {
    let sum = 0;
    for (let k = 0; k < N; k++) sum += a[from(Math.floor(at / N), k)] * b[to(k, at % N)];
    return sum;
  });
  const plain = (i, k) => i * N + k;
  const turned = (i, k) => k * N + i;
  const kept = [args[LAYERS].map((value) => -value)];
  for (let i = 0; i < LAYERS; i++) kept.push(multiply(kept[i], args[i], plain, plain).map(Math.sin));
  let gradient = kept[LAYERS].map((_, at) => kept[LAYERS][(N - 1 - Math.floor(at / N)) * N + (at % N)]);
  const made = [];
  for (let i = LAYERS - 1; i >= 0; i--) {
    const change = multiply(kept[i], gradient, turned, plain).reverse();
    made[i] = args[i].map((value, at) => value - change[at]);
    gradient = multiply(gradient, args[i], plain, turned);
  }
  return made;
}

function assertClose(literals, expected) {
  literals.forEach((literal, i) => literal.data.forEach((value, k) =>
    assert.ok(Math.abs(value - expected[i][k]) < 1e-4, `${value} of ${expected[i][k]}`)));
}

describe('the order of steps', () => {
  test('what frees memory comes as soon as it can', async () => {
    const args = Array.from({ length: LAYERS + 1 }, (_, i) => random(i));
    const step = await compile(STEP);
    const { temporaries } = step.memory;
    assert.ok(temporaries < (LAYERS + 6) * BYTES, `${temporaries / BYTES} arrays`); // 2 * LAYERS as written
    assertClose(await step.execute(args), expectedOf(args));
  });

  test('what the host sees stays in order', async () => {
    const step = await compile(STEP.replace('ROOT', `
  one = token[] after-all()
  o1 = token[] outfeed(x, one), outfeed_shape=${M}
  two = token[] after-all()
  o2 = token[] outfeed(new0, two), outfeed_shape=${M}
  three = token[] after-all()
  o3 = token[] outfeed(a1, three), outfeed_shape=${M}
  ROOT`));
    assert.deepEqual(step.thunks().match(/^host \w+/gm), ['host o1', 'host o2', 'host o3']);
  });
});

describe('temporaries in the memory of results', () => {
  // Two of the three products are not wanted any more when the result is made.
  const text = (result, last) => `HloModule chain
ENTRY e {
  x = ${M} parameter(0)
  y = f32[${4 * N},${N}] parameter(1)
  a = ${M} ${dot('x', 'x')}
  b = ${M} ${dot('a', 'x')}
  c = ${M} ${dot('b', 'a')}
  ROOT r = ${result} ${last}
}`;
  const inResult = (executable) => {
    const { buffers } = executable.memoryPlan();
    const made = Math.max(...buffers.filter(({ place }) => place === 'result0').map(({ first }) => first));
    return buffers.filter(({ place, last, bytes }) => place === 'result0' && last < made && bytes === BYTES).map(({ name }) => name);
  };

  test('before they are made, whatever is given away', async () => {
    const executable = await compile(text(`f32[${4 * N},${N}]`, 'add(y, w)')
      .replace('ROOT', `w = f32[${4 * N},${N}] ${dot('y', 'c')}\n  ROOT`));
    assert.deepEqual(inResult(executable), []); // y is read until then, and its memory may be the result's
    const other = await compile(text(`f32[${4 * N},${N}]`, dot('y', 'c')));
    assert.ok(inResult(other).includes('a'), JSON.stringify(other.memoryPlan()));
    const x = random(1), y = Float32Array.from({ length: 4 * N * N }, (_, i) => Math.cos(i));
    const [expected] = await other.execute([x, y]);
    const device = [client.buffer(x, M), client.buffer(y, `f32[${4 * N},${N}]`)];
    for (const options of [{}, {}, { donate: [0] }]) {
      const [given] = await other.execute(device, options);
      assert.deepEqual(given.data, expected.data);
    }
    const [sum] = await executable.execute([x, y]);
    assert.deepEqual(sum.data, y.map((value, i) => value + expected.data[i]));
  });

  test('a donated argument leaves its memory to temporaries, then to the result', async () => {
    // x, of which only its product is wanted, has the result's size.
    const executable = await compile(`HloModule left
less {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT l = pred[] compare(p, q), direction=LT
}
ENTRY e {
  x = f32[${4 * N},${N}] parameter(0)
  y = ${M} parameter(1)
  s = ${M} slice(x), slice={[0:${N}], [0:${N}]}
  a = ${M} ${dot('s', 'y')}
  b = ${M} ${dot('a', 'y')}
  c = ${M} ${dot('b', 'a')}
  z = f32[${4 * N},${N}] concatenate(y, b, c, a), dimensions={0}
  ROOT r = f32[${4 * N},${N}] sort(z), dimensions={0}, to_apply=less
}`);
    const { aliases, temporaries } = executable.memory;
    assert.equal(aliases, 4 * BYTES);
    const x = Float32Array.from({ length: 4 * N * N }, (_, i) => Math.cos(i)), y = random(2);
    const device = () => [client.buffer(x, `f32[${4 * N},${N}]`), client.buffer(y, M)];
    const kept = device();
    const [expected] = await executable.execute(kept);
    assert.deepEqual(kept[0].toLiteral().data, x);
    const given = device();
    const before = client.memoryInUse;
    const running = executable.execute(given, { device: true, donate: [0] });
    assert.ok(client.memoryInUse <= before + temporaries, 'live values only');
    const [made] = await running;
    assert.deepEqual(made.toLiteral().data, expected.data);
    for (const buffer of [...kept, given[1], made]) buffer.dispose();
  });
});
