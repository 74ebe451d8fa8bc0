/**
 * Tests parameters and results with bounded dynamic dimensions; the golden family dynamic_dimension has
 * only static ones. Expected values are worked out by hand, from the sizes.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const client = await Client.create({ threads: 1 });
after(() => client.dispose());

const REDUCERS = `add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
greater {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}
`;

const ZEROS = '{{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}}';

/** Compiles the lines of an entry computation; the last one is the root. */
function compile(lines, computations = '') {
  const body = [...lines];
  body.push(`ROOT ${body.pop()}`);
  const entry = `ENTRY main {\n${body.map((line) => `  ${line}\n`).join('')}}\n`;
  return client.compile(client.parseHlo(`HloModule m\n\n${REDUCERS}${computations}\n${entry}`));
}

async function run(lines, args, computations) {
  const executable = await compile(lines, computations);
  try {
    const results = await executable.execute(args);
    return results.map((literal) => [String(literal.shape), literal.toArray()]);
  } finally {
    executable.dispose();
  }
}

describe('parameters and results of dynamic size', () => {
  test('are as long as they are', async () => {
    const lines = ['x = f32[<=5] parameter(0)', 'y = f32[<=5] negate(x)'];
    const executable = await compile(lines);
    for (const n of [0, 1, 4, 5]) {
      const x = Array.from({ length: n }, (_, i) => i + 1);
      const [y] = await executable.execute([x]);
      assert.equal(String(y.shape), `f32[${n}]`);
      assert.deepEqual(y.toArray(), x.map((value) => -value));
    }
    executable.dispose();
  });

  test('of top-k: all dimensions but the last one', async () => {
    const rows = [[[1, 5, 3], [4, 2, 9]], [[8, 7, 6], [0, 1, 0]]];
    const lines = ['x = f32[<=4,<=3,3] parameter(0)', 't = (f32[<=4,<=3,2], s32[<=4,<=3,2]) topk(x), k=2, largest=true'];
    const [[shape, values], [, indices]] = await run(lines, [rows]);
    assert.equal(shape, 'f32[2,2,2]');
    assert.deepEqual(values, [[[5, 3], [9, 4]], [[8, 7], [1, 0]]]);
    assert.deepEqual(indices, [[[1, 2], [2, 0]], [[0, 1], [1, 0]]]);
  });

  test('inside of computations whose parameters and results are static', async () => {
    const inner = `sum_of_some { x = f32[4] parameter(0)\n n = s32[] parameter(1)\n y = f32[<=4] set-dimension-size(x, n), dimensions={0}
 zero = f32[] constant(0)\n ROOT r = f32[] reduce(y, zero), dimensions={0}, to_apply=add }
of_pair { t = (f32[4], s32[]) parameter(0)\n x = f32[4] get-tuple-element(t), index=0\n n = s32[] get-tuple-element(t), index=1\n ROOT r = f32[] call(x, n), to_apply=sum_of_some }
none { t = (f32[4], s32[]) parameter(0)\n ROOT r = f32[] constant(-1) }
more { t = (f32[4], s32[], f32[]) parameter(0)\n n = s32[] get-tuple-element(t), index=1\n z = s32[] constant(0)\n ROOT r = pred[] compare(n, z), direction=GT }
turn { t = (f32[4], s32[], f32[]) parameter(0)\n x = f32[4] get-tuple-element(t), index=0\n n = s32[] get-tuple-element(t), index=1\n a = f32[] get-tuple-element(t), index=2
 s = f32[] call(x, n), to_apply=sum_of_some\n b = f32[] add(a, s)\n one = s32[] constant(1)\n m = s32[] subtract(n, one)\n ROOT r = (f32[4], s32[], f32[]) tuple(x, m, b) }
`;
    const lines = ['x = f32[4] parameter(0)', 'n = s32[] parameter(1)', 'called = f32[] call(x, n), to_apply=sum_of_some',
      't = (f32[4], s32[]) tuple(x, n)',
      'two = s32[] constant(2)', 'p = pred[] compare(n, two), direction=GE',
        'branch = f32[] conditional(p, t, t), true_computation=of_pair, false_computation=none',
      'zero = f32[] constant(0)', 'u = (f32[4], s32[], f32[]) tuple(x, n, zero)', 'w = (f32[4], s32[], f32[]) while(u), condition=more, body=turn',
      'all = f32[] get-tuple-element(w), index=2', 'r = (f32[], f32[], f32[]) tuple(called, branch, all)'];
    for (const [n, wanted] of [[1, [1, -1, 1]], [2, [11, 11, 12]], [4, [1111, 1111, 1 + 11 + 111 + 1111]]]) {
      assert.deepEqual((await run(lines, [[1, 10, 100, 1000], n], inner)).map(([, value]) => value), wanted);
    }
  });

  test('in any dimension, in tuples, beside static ones', async () => {
    const got = await run(
      [
        't = (s32[], f32[3,<=4]) parameter(0)',
        'v = f32[<=4] parameter(1)',
        'm = f32[3,<=4] get-tuple-element(t), index=1',
        'b = f32[3,<=4] broadcast(v), dimensions={1}',
        's = f32[3,<=4] add(m, b)',
        'u = f32[<=4,3] transpose(s), dimensions={1,0}',
        'n = s32[] get-dimension-size(u), dimensions={0}',
        'r = (f32[<=4,3], s32[], f32[<=4]) tuple(u, n, v)',
      ],
      [[7, [[1, 2], [3, 4], [5, 6]]], [10, 20]],
    );
    assert.deepEqual(got, [
      ['f32[2,3]', [[11, 13, 15], [22, 24, 26]]],
      ['s32[]', 2],
      ['f32[2]', [10, 20]],
    ]);
  });

  test('built with the builder', async () => {
    const b = client.builder('mean');
    const x = b.parameter(0, 'f32[<=8]', 'x');
    const add = client.builder('sum');
    const sum = add.build(add.add(add.parameter(0, 'f32[]', 'a'), add.parameter(1, 'f32[]', 'b')));
    const total = b.reduce(x, b.constant(0, 'f32[]'), sum, [0]);
    const size = b.convertElementType(b.getDimensionSize(x, 0), 'f32');
    const executable = await client.compile(b.build(b.div(total, size)));
    assert.equal((await executable.execute([[2, 4, 9]]))[0].toArray(), 5);
    assert.equal((await executable.execute([Float32Array.of(1, 2)]))[0].toArray(), 1.5);
    executable.dispose();
  });

  test('as device buffers, one shorter than the next', async () => {
    const executable = await compile([
      'x = f32[<=6] parameter(0)',
      'one = s32[] constant(1)',
      'n = s32[] get-dimension-size(x), dimensions={0}',
      'less = s32[] subtract(n, one)',
      'y = f32[<=6] set-dimension-size(x, less), dimensions={0}',
    ]);
    let [buffer] = await executable.execute([[1, 2, 3, 4]], { device: true });
    assert.equal(String(buffer.shape), 'f32[3]');
    [buffer] = await executable.execute([buffer], { device: true, donate: [0] });
    assert.deepEqual(buffer.toLiteral().toArray(), [1, 2]);
    buffer.dispose();
    executable.dispose();
  });

  test('differ between replicas', async () => {
    const module = client.parseHlo(`HloModule m\n${REDUCERS}
      ENTRY main {
        x = f32[<=4] parameter(0)
        zero = f32[] constant(0)
        s = f32[] reduce(x, zero), dimensions={0}, to_apply=add
        t = f32[] all-reduce(s), to_apply=add
        ROOT r = (f32[], f32[<=4]) tuple(t, x)
      }`);
    const executable = await client.compile(module, { replicas: 2 });
    const results = await executable.executeReplicas([[[1, 2, 3]], [[10]]]);
    assert.deepEqual(results.map((r) => r.map((l) => l.toArray())), [
      [16, [1, 2, 3]],
      [16, [10]],
    ]);
    executable.dispose();
  });

  test('refuse an array longer than the bound, or of another shape', async () => {
    const executable = await compile(['x = f32[<=2,3] parameter(0)', 'y = f32[<=2,3] negate(x)']);
    for (const wrong of [
      [[1, 2, 3], [1, 2, 3], [1, 2, 3]],
      [[1, 2]],
      new Float32Array(9),
      client.buffer(new Float32Array(4), 'f32[4]'),
    ]) {
      await assert.rejects(executable.execute([wrong]), { code: 'INVALID_ARGUMENT' });
    }
    assert.deepEqual((await executable.execute([new Float32Array(3)]))[0].toArray(), [[-0, -0, -0]]);
    executable.dispose();
  });
});

describe('elements past the size take no part', () => {
  const SIZED = ['p = f32[5] parameter(0)', 'n = s32[] parameter(1)',
    'x = f32[<=5] set-dimension-size(p, n), dimensions={0}'];
  const VALUES = [3, 1, 2, 9, 8];
  const OPPOSITE = 'opposite {\n  a = f32[<=5] parameter(0)\n  ROOT r = f32[<=5] negate(a)\n}\n';
  const cases = {
    concatenate: [['y = f32[<=10] concatenate(x, x), dimensions={0}'], [3, 1, 2, 3, 1, 2]],
    reverse: [['y = f32[<=5] reverse(x), dimensions={0}'], [2, 1, 3]],
    sort: [['y = f32[<=5] sort(x), dimensions={0}, to_apply=greater'], [3, 2, 1]],
    pad: [['z = f32[] constant(7)', 'y = f32[<=12] pad(x, z), padding=1_2_1'],
      [7, 3, 7, 1, 7, 2, 7, 7]],
    'pad, negative': [['z = f32[] constant(7)', 'y = f32[<=4] pad(x, z), padding=-1_0'], [1, 2]],
    'reduce-window': [
      ['z = f32[] constant(0)',
        'y = f32[<=5] reduce-window(x, z), window={size=3 pad=1_1}, to_apply=add'],
      [4, 6, 3],
    ],
    'reduce-window, dilated': [
      ['z = f32[] constant(0)',
        'y = f32[<=4] reduce-window(x, z), window={size=2 stride=2 lhs_dilate=2}, to_apply=add'],
      [3, 1],
    ],
    'reshape to rows': [['y = f32[<=5,1] reshape(x)'], [[3], [1], [2]]],
    scatter: [
      ['i = s32[5] iota(), iota_dimension=0', 'r = f32[5] scatter(p, i, x), ' +
        'update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, ' +
        'index_vector_dim=1, to_apply=add'],
      [6, 2, 4, 9, 8],
    ],
    gather: [
      ['i = s32[5] constant({4,0,1,2,3})', 'j = s32[<=5] set-dimension-size(i, n), dimensions={0}',
        'y = f32[<=5] gather(p, j), offset_dims={}, collapsed_slice_dims={0}, ' +
          'start_index_map={0}, index_vector_dim=1, slice_sizes={1}'],
      [8, 3, 1],
    ],
    'dynamic-update-slice': [
      ['q = f32[7] constant({1,1,1,1,1,1,1})', 'o = s32[] constant(1)',
        'y = f32[7] dynamic-update-slice(q, x, o)'],
      [1, 3, 1, 2, 1, 1, 1],
    ],
    topk: [
      ['t = (f32[2], s32[2]) topk(x), k=2, largest=true',
        'y = f32[2] get-tuple-element(t), index=0'],
      [3, 2],
    ],
    'a size of 1 is broadcast': [
      ['one = s32[] constant(1)', 'f = f32[<=5] set-dimension-size(p, one), dimensions={0}',
        'y = f32[<=5] add(x, f)'],
      [6, 4, 5],
    ],
    barrier: [['b = f32[<=5] opt-barrier(x)', 'y = f32[<=5] negate(b)'], [-3, -1, -2]],
    domain: [['b = f32[<=5] domain(x), domain={kind="sharding", entry={replicated}, exit={replicated}}', 'y = f32[<=5] negate(b)'], [-3, -1, -2]],
    'an order by a token': [['t = token[] after-all()', 'b = f32[<=5] add-dependency(x, t)', 'y = f32[<=5] negate(b)'], [-3, -1, -2]],
    'all-reduce': [['b = f32[<=5] all-reduce(x), replica_groups={}, to_apply=add', 'y = f32[<=5] negate(b)'], [-3, -1, -2]],
    'all-reduce, in two steps': [['s = f32[<=5] all-reduce-start(x), replica_groups={}, to_apply=add',
      'b = f32[<=5] all-reduce-done(s)', 'y = f32[<=5] negate(b)'], [-3, -1, -2]],
    'copy, in two steps': [['s = (f32[<=5], f32[<=5], u32[]) copy-start(x)', 'b = f32[<=5] copy-done(s)', 'y = f32[<=5] negate(b)'], [-3, -1, -2]],
    'a call, in two steps': [['s = ((f32[<=5]), f32[<=5], s32[]) async-start(x), calls=opposite', 'b = f32[<=5] async-done(s)',
      'y = f32[<=5] add(b, b)'],
      [-6, -2, -4]],
    'map, after a copy in two steps': [['s = (f32[<=5], f32[<=5], u32[]) copy-start(x)', 'b = f32[<=5] copy-done(s)',
      'y = f32[<=5] map(b, b), dimensions={0}, to_apply=add'], [6, 2, 4]],
    'the bits of elements': [['c = s32[<=5] convert(x)', 'y = u8[<=5,4] bitcast-convert(c)'], [[3, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]]],
    'the size is set again': [['four = s32[] constant(4)',
      'y = f32[<=5] set-dimension-size(x, four), dimensions={0}'], [3, 1, 2, 9]],
  };
  for (const [name, [lines, expected]] of Object.entries(cases)) {
    test(name, async () => {
      const [[, got]] = await run([...SIZED, ...lines], [VALUES, 3], OPPOSITE);
      assert.deepEqual(got, expected);
    });
  }

  test('a dimension inside is packed when it is merged, and spread when it is split', async () => {
    const m = Array.from({ length: 2 }, (_, i) => [1, 2, 3, 4].map((j) => 10 * i + j));
    const sized = ['p = f32[2,4] parameter(0)', 'n = s32[] parameter(1)',
      'x = f32[2,<=4] set-dimension-size(p, n), dimensions={1}'];
    const merged = [...sized, 'y = f32[<=8] reshape(x)'];
    assert.deepEqual(await run(merged, [m, 3]), [['f32[6]', [1, 2, 3, 11, 12, 13]]]);
    const split = [...merged.slice(0, -1), 'z = f32[<=8] reshape(x)', 'y = f32[2,<=4] reshape(z)'];
    assert.deepEqual(await run(split, [m, 3]), [['f32[2,3]', [[1, 2, 3], [11, 12, 13]]]]);
  });

  test('spatial dimensions of a convolution', async () => {
    const lines = ['i = f32[1,1,5] parameter(0)', 'n = s32[] parameter(1)',
      'k = f32[1,1,2] constant({{{1, 10}}})',
      'x = f32[1,1,<=5] set-dimension-size(i, n), dimensions={2}',
      'y = f32[1,1,<=5] convolution(x, k), window={size=2 pad=0_1}, dim_labels=bf0_oi0->bf0'];
    const got = await run(lines, [[[[1, 2, 3, 4, 5]]], 3]);
    assert.deepEqual(got, [['f32[1,1,3]', [[[21, 32, 3]]]]]);
  });
});

test('the window of a convolution', async () => {
  const lines = (window) => ['x = f32[1,1,6] parameter(0)', 'p = f32[1,1,3] parameter(1)', 'n = s32[] parameter(2)',
    'k = f32[1,1,<=3] set-dimension-size(p, n), dimensions={2}',
    `y = f32[1,1,<=2] convolution(x, k), window={size=3 stride=3${window}}, dim_labels=bf0_oi0->bf0`];
  for (const [size, wanted] of [[3, [321, 654]], [2, [21, 54]], [1, [1, 4]]]) {
    assert.deepEqual(await run(lines(''), [[[[1, 2, 3, 4, 5, 6]]], [[[1, 10, 100]]], size]), [['f32[1,1,2]', [[wanted]]]]);
  }
  await assert.rejects(compile(lines(' rhs_reversal=1')),
    /operand 1 .* is dynamic in dimension 2; a window dimension that is reversed must be static/);
});

describe('batch normalisation counts elements within the size', () => {
  const vectors = [[1, 2], [0.5, -1], [4, 0.25]]; // scale, mean or offset, variance
  const x = [[3, -1], [0, 4], [-2, 2]];
  const dy = [[1, 2], [-1, 0.5], [3, -3]];
  const programs = {
    'batch-norm-training': '(m, scale, mean)',
    'batch-norm-grad': '(m, scale, mean, variance, dm)',
  };
  const rest = ['scale = f32[2] parameter(2)', 'mean = f32[2] parameter(3)',
    'variance = f32[2] parameter(4)'];
  for (const [operation, operands] of Object.entries(programs)) {
    // As many rows as there are, with static shapes: other code, the same numbers.
    const call = (n) => `t = (f32[${n},2], f32[2], f32[2]) ` +
      `${operation}${operands}, epsilon=0.5, feature_index=1`;
    test(operation, async () => {
      const fixed = ['m = f32[3,2] parameter(0)', 'dm = f32[3,2] parameter(1)', ...rest, call(3)];
      const sized = ['m = f32[<=8,2] parameter(0)', 'dm = f32[<=8,2] parameter(1)', ...rest,
        call('<=8')];
      const expected = await run(fixed, [x, dy, ...vectors]);
      const got = await run(sized, [x, dy, ...vectors]);
      assert.deepEqual(got.map(([shape]) => shape), expected.map(([shape]) => shape));
      got.forEach(([, values], i) => values.flat().forEach((value, k) => {
        const want = expected[i][1].flat()[k];
        assert.ok(Math.abs(value - want) <= 1e-6 * Math.max(1, Math.abs(want)), `${value} ${want}`);
      }));
    });
  }
});

describe('control flow carries sizes', () => {
  const LOOP = `condition {
    s = (s32[], f32[<=5]) parameter(0)
    x = f32[<=5] get-tuple-element(s), index=1
    n = s32[] get-dimension-size(x), dimensions={0}
    two = s32[] constant(2)
    ROOT c = pred[] compare(n, two), direction=GT
  }
  body {
    s = (s32[], f32[<=5]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    one = s32[] constant(1)
    j = s32[] add(i, one)
    x = f32[<=5] get-tuple-element(s), index=1
    n = s32[] get-dimension-size(x), dimensions={0}
    m = s32[] subtract(n, one)
    y = f32[<=5] negate(x)
    z = f32[<=5] set-dimension-size(y, m), dimensions={0}
    ROOT t = (s32[], f32[<=5]) tuple(j, z)
  }
  halve {
    x = f32[<=5] parameter(0)
    two = s32[] constant(2)
    ROOT y = f32[<=5] set-dimension-size(x, two), dimensions={0}
  }
  keep {
    x = f32[<=5] parameter(0)
    ROOT y = f32[<=5] negate(x)
  }`;
  const loop = ['t = (s32[], f32[<=5]) tuple(zero, x)',
    'r = (s32[], f32[<=5]) while(t), condition=condition, body=body'];

  test('while, whose condition or body has an operation that needs static sizes', async () => {
    const lines = ['x = f32[<=5] parameter(0)', 'zero = s32[] constant(0)', ...loop];
    for (const [from, to] of [
      ['n = s32[] get-dimension-size(x), dimensions={0}\n    two',
        'held = f32[<=5] custom-call(x), custom_call_target="mine"\n    n = s32[] get-dimension-size(held), dimensions={0}\n    two'],
      ['y = f32[<=5] negate(x)\n    z', 'y = f32[<=5] custom-call(x), custom_call_target="mine"\n    z'],
    ]) {
      assert.ok(LOOP.includes(from));
      await assert.rejects(compile(lines, LOOP.replace(from, to)), /custom-call: .* is dynamic in dimension 0; /);
    }
  });

  test('while, whose body makes it smaller', async () => {
    const lines = ['x = f32[<=5] parameter(0)', 'zero = s32[] constant(0)', ...loop];
    const got = await run(lines, [[1, 2, 3, 4]], LOOP);
    assert.deepEqual(got, [['s32[]', 2], ['f32[2]', [1, 2]]]);
  });

  test('while, which starts with a static size', async () => {
    const lines = ['x = f32[5] parameter(0)', 'zero = s32[] constant(0)', ...loop];
    const got = await run(lines, [[1, 2, 3, 4, 5]], LOOP);
    assert.deepEqual(got, [['s32[]', 3], ['f32[2]', [-1, -2]]]);
  });

  test('conditional, whose branches have different sizes', async () => {
    const lines = ['x = f32[5] parameter(0)', 'p = pred[] parameter(1)',
      'r = f32[<=5] conditional(p, x, x), true_computation=halve, false_computation=keep'];
    const x = [1, 2, 3, 4, 5];
    assert.deepEqual(await run(lines, [x, true], LOOP), [['f32[2]', [1, 2]]]);
    assert.deepEqual(await run(lines, [x, false], LOOP), [['f32[5]', x.map((v) => -v)]]);
  });

  test('call', async () => {
    const lines = ['x = f32[<=5] parameter(0)', 'r = f32[<=5] call(x), to_apply=halve'];
    assert.deepEqual(await run(lines, [[1, 2, 3, 4]], LOOP), [['f32[2]', [1, 2]]]);
  });
});

describe('matrices of dynamic size', () => {
  const junk = [[4, 2, 9], [2, 5, NaN], [9, NaN, -1]];
  const small = [[4, 2], [2, 5]];
  const b = [[8, 4, 7], [8, 12, NaN], [NaN, 1, 2]];
  // Solutions that every order of operations computes exactly: kernels choose theirs by size.
  const exactJunk = [[4, 2, 9], [2, 4, NaN], [9, NaN, -1]];
  const exact = [[4, 2], [2, 4]];
  // The leading part, with static shapes: other code, the same numbers.
  const sized = (name) => [
    `${name}0 = f32[<=3,3] set-dimension-size(${name}p, n), dimensions={0}`,
    `${name} = f32[<=3,<=3] set-dimension-size(${name}0, n), dimensions={1}`,
  ];
  const inputs = ['ap = f32[3,3] parameter(0)', 'n = s32[] parameter(1)'];

  test('cholesky', async () => {
    const fixed = await run(['a = f32[2,2] parameter(0)', 'y = f32[2,2] cholesky(a), lower=true'],
      [small]);
    const got = await run([...inputs, ...sized('a'), 'y = f32[<=3,<=3] cholesky(a), lower=true'],
      [junk, 2]);
    assert.deepEqual(got, fixed);
  });

  for (const attributes of [
    'left_side=true, lower=true, transpose_a=NO_TRANSPOSE',
    'left_side=true, lower=false, transpose_a=NO_TRANSPOSE',
    'left_side=false, lower=true, transpose_a=TRANSPOSE',
  ]) {
    test(`triangular-solve, ${attributes}`, async () => {
      const solve = (shape) => `y = ${shape} triangular-solve(a, b), ${attributes}`;
      const fixed = await run(
        ['a = f32[2,2] parameter(0)', 'b = f32[2,2] parameter(1)', solve('f32[2,2]')],
        [exact, [[8, 4], [8, 12]]],
      );
      const lines = [...inputs, 'bp = f32[3,3] parameter(2)', ...sized('a'), ...sized('b')];
      assert.deepEqual(await run([...lines, solve('f32[<=3,<=3]')], [exactJunk, 2, b]), fixed);
    });
  }
});

test('calls of calls, with different dimensions dynamic', async () => {
  // Each calls the one before twice: 2^9 additions of 1 in all.
  const levels = Array.from({ length: 10 }, (_, i) => `level${i} {
    x = f32[<=4,3] parameter(0)
    one = f32[] parameter(1)
    ones = f32[<=4,3] broadcast(one), dimensions={}
    a = f32[<=4,3] ${i ? `call(x, one), to_apply=level${i - 1}` : 'add(x, ones)'}
    ROOT b = f32[<=4,3] ${i ? `call(a, one), to_apply=level${i - 1}` : 'copy(a)'}
  }`);
  const lines = [
    'x = f32[<=4,<=3] parameter(0)',
    'one = f32[] constant(1)',
    'y = f32[<=4,<=3] call(x, one), to_apply=level9',
    's = f32[4,3] constant({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}})',
    'z = f32[4,3] call(s, one), to_apply=level9',
    'zero = f32[] constant(0)',
    'total = f32[] reduce(z, zero), dimensions={0,1}, to_apply=add',
    'r = (f32[<=4,<=3], f32[]) tuple(y, total)',
  ];
  assert.deepEqual(await run(lines, [[[5, 7]]], levels.join('\n')), [
    ['f32[1,2]', [[5 + 2 ** 9, 7 + 2 ** 9]]],
    ['f32[]', 66 + 12 * 2 ** 9],
  ]);
});

/** XLA:CPU refuses all of these too, but for some that it has no rule against. */
describe('what needs static dimensions says so', () => {
  const X = 'x = f32[<=4] parameter(0)';
  const M = 'x = f32[<=4,4] parameter(0)';
  const refused = {
    'all-gather': [X, 'y = f32[<=4] all-gather(x), dimensions={0}, replica_groups={}'],
    'all-to-all': [X, 'y = f32[<=4] all-to-all(x), dimensions={0}, replica_groups={{0}}'],
    'reduce-scatter': [X,
      'y = f32[<=4] reduce-scatter(x), dimensions={0}, replica_groups={}, to_apply=add'],
    'collective-permute': [X, 'y = f32[<=4] collective-permute(x), source_target_pairs={{0,0}}'],
    'collective-broadcast': [X, 'y = f32[<=4] collective-broadcast(x), replica_groups={{0}}'],
    fft: ['x = c64[<=4] parameter(0)', 'y = c64[<=4] fft(x), fft_type=FFT, fft_length={4}',
      'the dimensions of the transform must be static'],
    'bitcast-convert': ['x = u8[1,<=4] parameter(0)', 'y = f32[1] bitcast-convert(x)',
      'a dimension that is split must be static'],
    bitcast: [M, 'y = f32[<=16] bitcast(x)'],
    convolution: ['x = f32[1,<=4,3] parameter(0)', 'k = f32[2,2,2] constant({...})',
      'y = f32[1,2,2] convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0, ' +
        'feature_group_count=2', 'a dimension that is divided into groups must be static'],
    'select-and-scatter': [X, 's = f32[2] constant({1, 2})', 'z = f32[] constant(0)',
      'y = f32[<=4] select-and-scatter(x, s, z), window={size=2 stride=2}, select=same, scatter=add',
      'select must compare its parameters by GE, GT, LE or LT'],
    reshape: [M, 'y = f32[4,4,1] reshape(x)', 'z = f32[<=2,<=2,4] reshape(y)'],
    'custom-call': [X, 'y = f32[<=4] custom-call(x), custom_call_target="mine"'],
    outfeed: [X, 't = token[] after-all()', 'y = token[] outfeed(x, t), outfeed_shape=f32[<=4]'],
    send: [X, 't = token[] after-all()',
      's = (f32[<=4], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true',
      'y = token[] send-done(s), channel_id=1, is_host_transfer=true'],
  };
  const SAME = 'same {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n' +
    ' ROOT r = pred[] compare(a, b), direction=EQ\n}\n';
  for (const [operation, given] of Object.entries(refused)) {
    test(operation, async () => {
      const lines = given.filter((line) => line.includes(' = '));
      const rule = given.find((line) => !line.includes(' = ')) ?? 'must be';
      await assert.rejects(compile(lines.map((line) => line.replace('{...}', ZEROS)), SAME), (error) => {
        assert.equal(error.code, 'UNIMPLEMENTED');
        assert.equal(error.operation, operation);
        assert.match(error.message, /: operand 0 \(\w+, \w+\[.*<=.*\]\) is dynamic in dimension \d; /);
        assert.ok(error.message.includes(rule), error.message);
        return true;
      });
    });
  }
});
