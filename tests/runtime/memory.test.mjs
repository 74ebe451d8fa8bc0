/** Tests the memory that a run takes: the order of steps, and the places of temporaries. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

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

/** The expected results for these arguments. */
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
    assert.ok(inResult(executable).includes('a')); // unless that is y's, which is read until then
    assert.ok(executable.memory.temporariesGiven >= executable.memory.temporaries + BYTES);
    const other = await compile(text(`f32[${4 * N},${N}]`, dot('y', 'c')));
    assert.ok(inResult(other).includes('a'), JSON.stringify(other.memoryPlan()));
    const x = random(1), y = Float32Array.from({ length: 4 * N * N }, (_, i) => Math.cos(i));
    const [expected] = await other.execute([x, y]);
    const device = [client.buffer(x, M), client.buffer(y, `f32[${4 * N},${N}]`)];
    for (const options of [{}, {}, { donate: [0] }]) {
      const [given] = await other.execute(device, options);
      assert.deepEqual(given.data, expected.data);
    }
    for (const donate of [[], [1], [0], [0, 1]]) {
      const [sum] = await executable.execute([client.buffer(x, M), client.buffer(y, `f32[${4 * N},${N}]`)], { donate });
      assert.deepEqual(sum.data, y.map((value, i) => value + expected.data[i]));
    }
  });

  test('a donated argument leaves its memory to temporaries, then to the result', async () => {
    // x, which only the product reads, has the result's size.
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

describe('temporaries where a run finds room', () => {
  const WIDE = `f32[${4 * N},${N}]`;
  const numbers = (count, seed) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 3.1 + seed) / 8);

  /** Tries every choice of donated arguments: the results are the same, and the memory is as reported. */
  async function compare(executable, shapes) {
    const values = shapes.map((shape, i) => numbers(/,/.test(shape) ? shape.match(/\d+/g).slice(1).reduce((a, b) => a * b, 1) : 1, i));
    let expected;
    for (let choice = 0; choice < 2 << shapes.length; choice++) {
      const args = values.map((value, i) => client.buffer(value, shapes[i]));
      const donate = args.map((_, i) => i).filter((i) => choice >> i & 1);
      const before = client.memoryInUse;
      const running = executable.execute(args, { device: true, donate });
      const taken = client.memoryInUse - before;
      const made = await running;
      const data = made.map((buffer) => buffer.toLiteral().data);
      expected ??= data;
      assert.deepEqual(data, expected, `given: ${donate}`);
      const { results, aliases, temporaries, temporariesGiven } = executable.memory;
      const most = Math.max(temporaries + results, temporariesGiven + results - aliases);
      if (donate.length === 0 || donate.length === shapes.length) assert.ok(taken <= most, `${taken} of ${most}`);
      args.forEach((buffer, i) => donate.includes(i) || assert.deepEqual(buffer.toLiteral().data, values[i]));
      for (const buffer of [...args, ...made]) buffer.dispose();
    }
  }

  test('gradients are where the new weights come, unless these are where the old ones are', async () => {
    const executable = await compile(`HloModule step
ENTRY e {
  x = ${M} parameter(0)
  w = ${WIDE} parameter(1)
  v = ${WIDE} parameter(2)
  a = ${M} ${dot('x', 'x')}
  g = ${WIDE} ${dot('w', 'a')}
  h = ${WIDE} ${dot('v', 'a')}
  w1 = ${WIDE} subtract(w, g)
  v1 = ${WIDE} subtract(v, h)
  ROOT t = (${WIDE}, ${WIDE}) tuple(w1, v1)
}`);
    const { aliases, temporaries, temporariesGiven } = executable.memory;
    assert.equal(aliases, 8 * BYTES);
    assert.ok(temporaries < 3 * BYTES, `${temporaries}`); // a, and what a product packs
    assert.ok(temporariesGiven >= 4 * BYTES, `${temporariesGiven}`);
    await compare(executable, [M, WIDE, WIDE]);
  });

  test('an argument that becomes no result leaves its memory, if it was given away', async () => {
    const executable = await compile(`HloModule left
ENTRY e {
  x = ${WIDE} parameter(0)
  y = ${M} slice(x), slice={[0:${N}], [0:${N}]}
  s = ${M} sine(y)
  a = ${M} ${dot('s', 's')}
  b = ${M} ${dot('a', 's')}
  c = ${M} ${dot('b', 'a')}
  d = ${M} ${dot('c', 'b')}
  e = ${M} ${dot('d', 'a')}
  ROOT r = f32[1,${N}] slice(e), slice={[0:1], [0:${N}]}
}`);
    const { aliases, temporaries, temporariesGiven } = executable.memory;
    assert.equal(aliases, 0);
    assert.ok(temporariesGiven <= temporaries - BYTES, `${temporariesGiven} of ${temporaries}`);
    await compare(executable, [WIDE]);
  });

  test('both, in one program with loops', async () => {
    const executable = await compile(`HloModule both
cond {
  p = (s32[], ${M}, ${M}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
body {
  p = (s32[], ${M}, ${M}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = ${M} get-tuple-element(p), index=1
  b = ${M} get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  c = ${M} ${dot('a', 'b')}
  d = ${M} reverse(c), dimensions={0}
  ROOT t = (s32[], ${M}, ${M}) tuple(j, d, a)
}
ENTRY e {
  x = ${WIDE} parameter(0)
  w = ${WIDE} parameter(1)
  s = ${M} slice(x), slice={[0:${N}], [0:${N}]}
  u = ${M} slice(x), slice={[${N}:${2 * N}], [0:${N}]}
  zero = s32[] constant(0)
  t = (s32[], ${M}, ${M}) tuple(zero, s, u)
  l = (s32[], ${M}, ${M}) while(t), condition=cond, body=body
  a = ${M} get-tuple-element(l), index=1
  b = ${M} get-tuple-element(l), index=2
  c = ${M} ${dot('a', 'b')}
  g = ${WIDE} ${dot('w', 'c')}
  h = ${WIDE} ${dot('g', 'a')}
  ROOT w1 = ${WIDE} add(w, h)
}`);
    await compare(executable, [WIDE, WIDE]);
  });
});

describe('the core\'s own memory', () => {
  /** The bytes that an executable of a module keeps. */
  async function kept(module) {
    const before = client.heapInUse;
    const executable = await client.compile(module);
    const bytes = client.heapInUse - before;
    executable.dispose();
    assert.equal(client.heapInUse, before);
    module.dispose();
    return bytes;
  }

  test('an executable keeps nothing that its rewrites replaced', async () => {
    const chain = (count) => client.parseHlo(`HloModule chain\nENTRY e {\n  x0 = f32[4] parameter(0)\n` + Array.from({ length: count }, (_, i) =>
      `  x${i + 1} = f32[4] negate(x${i})\n`).join('') + `  ROOT r = f32[4] negate(x${count})\n}`);
    const short = await kept(chain(1)), long = await kept(chain(4001));
    assert.ok(long <= short + 1000, `${short} and ${long} bytes`);
  });

  test('constants of an executable lie in memory once', async () => {
    const value = Float32Array.from({ length: 1 << 20 }, (_, i) => i);
    const builder = client.builder('constants');
    builder.parameter(0, 'f32[1048576]').add(builder.constant(value)).mul(builder.constant(value.map((v) => v + 1)));
    const bytes = await kept(builder.build());
    assert.ok(Math.abs(bytes - 2 * value.byteLength) < 64_000, `${bytes} bytes`);
  });
});

test('results and temporaries of more bytes than memory can have are refused, and the client works on', async () => {
  const own = await Client.create({ threads: 0 });
  for (const bytes of [2 ** 32 - 128, 2 ** 32 - 64, 2 ** 32, 2 ** 32 + 64, 2 ** 32 + 4096, 2 ** 33, 2 ** 34 + 64]) {
    for (const rest of ['ROOT y = s8[N] broadcast(x), dimensions={}',
      'b = s8[N] broadcast(x), dimensions={}\n s = s8[N] sort(b), dimensions={0}, to_apply=less\n ROOT y = s8[1] slice(s), slice={[5:6]}']) {
      const text = `less { a = s8[] parameter(0)\n b = s8[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\nENTRY e { x = s8[] parameter(0)\n ${rest.replaceAll('N', bytes)} }`;
      await assert.rejects(async () => {
        const executable = await own.compile(own.parseHlo(text));
        await executable.execute([1]);
      }, { code: 'RESOURCE_EXHAUSTED' }, `${bytes}`);
    }
  }
  const executable = await own.compile(own.parseHlo('ENTRY e { x = s8[3] parameter(0)\n ROOT y = s8[3] negate(x) }'));
  assert.deepEqual((await executable.execute([[1, 2, 3]]))[0].toArray(), [-1, -2, -3]);
  own.dispose();
});
