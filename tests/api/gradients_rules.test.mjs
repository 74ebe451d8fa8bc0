/** Tests rules of derivatives that JAX's values do not decide: of LAPACK, scatters, collectives and complex functions. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { flat } from '../support/from_jax.mjs';
import { LOSS, resultsOf } from '../support/loss.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const run = (module, args) => resultsOf(client, module, args);

describe('results of LAPACK that the matrix does not determine', () => {
  const of = (call, shapes, index) => client.parseHlo(`HloModule m
ENTRY main {
  x = f64[4,3] parameter(0)
  r = (${shapes}) custom-call(x), custom_call_target=${call}
  ROOT y = ${shapes.split(', ')[index]} get-tuple-element(r), index=${index} }`);
  const svd = (index) => of('"lapack_dgesdd_ffi", backend_config={mode = 65 : ui8}', 'f64[4,3], f64[3], f64[4,4], f64[3,3], s32[]', index);

  test('are refused: singular vectors of full matrices, factors of tridiagonal matrices', () => {
    for (const index of [2, 3]) assert.throws(() => client.vjp(svd(index)), /singular vectors .*full_matrices=False/);
    client.vjp(svd(1)).dispose();
    const shapes = 'f64[3], f64[3], f64[3], f64[3,1], s32[]';
    const solve = (index) => client.parseHlo(`HloModule m
ENTRY main {
  d = f64[3] parameter(0)
  b = f64[3,1] parameter(1)
  r = (${shapes}) custom-call(d, d, d, b), custom_call_target="lapack_dgtsv_ffi"
  ROOT y = ${shapes.split(', ')[index]} get-tuple-element(r), index=${index} }`);
    assert.throws(() => client.vjp(solve(1), { wrt: 0 }), /has factors as results, of which only X has a derivative/);
    client.vjp(solve(3), { wrt: 0 }).dispose();
  });

  // The second form is jnp.triu's.
  for (const triangle of ['inside = pred[3,3] compare(row, column), direction=LE\n  ROOT y = f64[3,3] select(inside, packed, zeros)',
    `one = s32[] constant(-1)\n  ones = s32[3,3] broadcast(one), dimensions={}\n  above = s32[3,3] add(row, ones)
  below = pred[3,3] compare(above, column), direction=GE\n  ROOT y = f64[3,3] select(below, zeros, packed)`]) {
    test(`are not waited for: the gradient of R is finite where reflectors have none: ${/direction=../.exec(triangle)}`, async () => {
      const module = client.parseHlo(`HloModule m
ENTRY main {
  x = f64[3,3] parameter(0)
  r = (f64[3,3], f64[3]) custom-call(x), custom_call_target="lapack_dgeqrf_ffi"
  packed = f64[3,3] get-tuple-element(r), index=0
  row = s32[3,3] iota(), iota_dimension=0
  column = s32[3,3] iota(), iota_dimension=1
  zero = f64[] constant(0)
  zeros = f64[3,3] broadcast(zero), dimensions={}
  ${triangle} }`);
      const upper = [[2, 1, 3], [0, 1, 1], [0, 0, 3]], seeds = [[1, 2, 3], [9, 4, 5], [9, 9, 6]];
      const derived = client.vjp(module), cotangents = (await run(derived, [upper, seeds])).at(-1);
      assert.ok(flat(cotangents).every(Number.isFinite), `${cotangents}`);
      // One with R; the others are the reflectors'.
      if (triangle.includes('GE')) assert.equal(derived.toString().match(/ triangular-solve\(/g).length, 1, derived.toString());
    });
  }
});

test('a solve with factors or another matrix, as a select chooses, has the slopes of both', async () => {
  const solve = (name, rhs, uplo, diag) =>
    `${name} = f64[2,1] custom-call(m, ${rhs}), custom_call_target="lapack_dtrsm_ffi", backend_config={diag = ${diag} : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = ${uplo} : ui8}`;
  const module = client.parseHlo(`HloModule m
ENTRY main {
  a = f64[2,2] parameter(0)
  other = f64[2,2] parameter(1)
  b = f64[2,1] parameter(2)
  factored = pred[] parameter(3)
  r = (f64[2,2], s32[2], s32[]) custom-call(a), custom_call_target="lapack_dgetrf_ffi"
  lu = f64[2,2] get-tuple-element(r), index=0
  chosen = pred[2,2] broadcast(factored), dimensions={}
  m = f64[2,2] select(chosen, lu, other)
  ${solve('y', 'b', 76, 85)}
  ${solve('x', 'y', 85, 78)}
  ROOT out = f64[2,1] copy(x) }`);
  const args = [[[3, 1], [2, 5]], [[2, 1], [0.5, 4]], [[1], [3]], false, [[1], [1]]];
  const [byA, byOther] = (await run(client.vjp(module, { wrt: ['a', 'other'] }), args)).slice(-2);
  assert.deepEqual(flat(byA).map((x) => x + 0), [0, 0, 0, 0]);
  // U = [[2, 1], [0, 4]], L = [[1, 0], [0.5, 1]], y = [1, 2.5], x = [0.1875, 0.625]; -U^-T g x^T above, -L^-T U^-T g y^T below.
  assert.deepEqual(flat(byOther), [-0.09375, -0.3125, -0.125, -0.078125]);
});

test('a branch that is not taken adds no NaN: a dot without a contraction', async () => {
  /* jnp.nansum(jnp.einsum('tl,t->tl', x, s)); JAX's slopes by s, with 0 instead of NaN in x: 4, 15. */
  for (const [operands, batch] of [['x, s', '0'], ['s, x', '0'], ['x, n', ''], ['n, x', '']]) {
    const module = client.parseHlo(`HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY main {
  s = f32[2] parameter(0)
  n = f32[] parameter(1)
  x = f32[2,3] constant({{1, nan, 3}, {4, 5, 6}})
  y = f32[2,3] dot(${operands}), lhs_batch_dims={${batch}}, rhs_batch_dims={${batch}}
  none = pred[2,3] compare(y, y), direction=NE
  zero = f32[] constant(0)
  zeros = f32[2,3] broadcast(zero), dimensions={}
  kept = f32[2,3] select(none, zeros, y)
  ROOT sum = f32[] reduce(kept, zero), dimensions={0,1}, to_apply=add }`);
    const derived = client.vjp(module, { wrt: [operands.includes('n') ? 1 : 0] });
    const executable = await client.compile(derived);
    const [slopes] = await executable.execute([[2, 7], 3, 1]);
    assert.deepEqual([...slopes.data], operands.includes('n') ? [19] : [4, 15], operands);
  }
});

describe('scatters of several arrays', () => {
  const text = (results) => `HloModule m
update { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  sum = f32[] add(a, c)
  max = f32[] maximum(b, d)
  mixed = f32[] add(max, a)
  ROOT t = (f32[], f32[]) tuple(${results}) }
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  u = f32[3] parameter(2)
  v = f32[3] parameter(3)
  i = s32[3,1] constant({{2}, {0}, {2}})
  r = (f32[4], f32[4]) scatter(x, y, i, u, v), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=update
  p = f32[4] get-tuple-element(r), index=0
  q = f32[4] get-tuple-element(r), index=1
  ROOT z = f32[4] multiply(p, q) }`;

  test('are differentiated array by array', async () => {
    const derived = client.vjp(client.parseHlo(text('sum, max')), { wrt: [0, 1, 2, 3] });
    const results = (await run(derived, [[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 3], [4, 9, 7.5], [1, 1, 1, 1]])).slice(-4);
    /* p = [3, 2, 7, 4], q = [9, 6, 7.5, 8] */
    assert.deepEqual(results, [[9, 6, 7.5, 8], [0, 2, 0, 4], [7.5, 9, 7.5], [0, 3, 7]]);
  });

  test('are refused if an array depends on another', () => {
    assert.throws(() => client.vjp(client.parseHlo(text('sum, mixed'))), /one of which depends on another/);
  });
});

describe('collectives', () => {
  const ADDER = 'add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }';
  const program = (operation) => `HloModule m, replica_count=2
${ADDER}
ENTRY main {
  x = f32[2] parameter(0)
  ROOT y = ${operation} }`;
  /** J^T c = sum over devices: <c, J t> of all devices equals <J^T c, t> of all devices. */
  for (const [name, operation] of [
    ['all-reduce', 'f32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add'],
    ['all-gather', 'f32[4] all-gather(x), replica_groups={{0,1}}, dimensions={0}'],
    ['reduce-scatter', 'f32[1] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=add'],
    ['all-to-all', 'f32[2] all-to-all(x), replica_groups={{0,1}}, dimensions={0}'],
    ['collective-permute', 'f32[2] collective-permute(x), source_target_pairs={{0,1}}'],
    ['collective-broadcast', 'f32[2] collective-broadcast(x), replica_groups={{1,0}}'],
  ]) {
    test(`${name}: forward and reverse mode agree over the devices`, async () => {
      const module = client.parseHlo(program(operation));
      const tangents = [[1, 2], [3, 5]];
      const onAll = async (derived, more) => {
        const executable = await client.compile(derived);
        const results = await executable.executeReplicas(more.map((own) => [[0.5, 1.5], own]));
        return results.map((own) => own.at(-1).toArray());
      };
      const forward = await onAll(client.jvp(module), tangents);
      const cotangents = forward.map((own, device) => own.map((_, i) => 7 * device + i + 1));
      const backward = await onAll(client.vjp(module), cotangents);
      const product = (xs, ys) => flat(xs).reduce((sum, x, i) => sum + x * flat(ys)[i], 0);
      assert.equal(product(forward, cotangents), product(backward, tangents));
      assert.notEqual(product(forward, cotangents), 0);
    });
  }

  /** 2 a + b of the pair that a collective of x and y gives; tangents and cotangents by hand. */
  for (const [name, operation, forward, backward] of [
    ['all-reduce', 'all-reduce(x, y), replica_groups={{0,1}}, to_apply=add', [[17, 1212], [17, 1212]], [[18, 9], [18, 9]]],
    ['all-to-all', 'all-to-all(x, y), replica_groups={{0,1}}', [[6, 102], [9, 1020]], [[6, 12], [3, 6]]],
  ]) {
    test(`${name} of two arrays`, async () => {
      const module = client.parseHlo(`HloModule m, replica_count=2
${ADDER}
ENTRY main { x = f32[1] parameter(0)\n y = f32[1] parameter(1)\n t = (f32[1], f32[1]) ${operation}\n a = f32[1] get-tuple-element(t), index=0
 b = f32[1] get-tuple-element(t), index=1\n two = f32[1] constant({2})\n c = f32[1] multiply(a, two)\n ROOT r = f32[1] add(c, b) }`);
      const onBoth = async (derived, lists) => {
        const executable = await client.compile(derived), results = await executable.executeReplicas(lists.map((list) => list.map((x) => [x])));
        executable.dispose();
        return results.map((own) => own.map((literal) => literal.toArray()[0]));
      };
      assert.deepEqual(await onBoth(client.jvp(module), [[1, 2, 1, 10], [4, 5, 100, 1000]]), forward);
      assert.deepEqual(await onBoth(client.vjp(module), [[1, 2, 3], [4, 5, 6]]), backward);
    });
  }

  test('collective-broadcast among partitions: the sender gets the sum of the cotangents', async () => {
    const program = (replicas) => client.parseHlo(`HloModule m, replica_count=${replicas}, num_partitions=2
ENTRY main { x = f32[2] parameter(0)\n ROOT y = f32[2] collective-broadcast(x), channel_id=1, replica_groups={{1,0}} }`);
    const executable = await client.compile(client.vjp(program(1)));
    const results = await executable.executeReplicas([[[0, 0], [1, 2]], [[0, 0], [4, 5]]]);
    assert.deepEqual(results.map(([slopes]) => slopes.toArray()), [[0, 0], [5, 7]]);
    assert.throws(() => client.vjp(program(2)), /is among the partitions of several replicas; write it without channel_id/);
  });

  test('channels of a derivative are above those of the branches of a conditional', () => {
    const gather = (x, channel) =>
      `f32[4] all-gather(${x}), channel_id=${channel}, use_global_device_ids=true, replica_groups={{0,1}}, dimensions={0}`;
    const module = client.parseHlo(`HloModule m, replica_count=2
first { x = f32[2] parameter(0)\n ROOT g = ${gather('x', 9)} }
second { x = f32[2] parameter(0)\n ROOT g = f32[4] concatenate(x, x), dimensions={0} }
ENTRY main { x = f32[2] parameter(0)\n p = pred[] parameter(1)\n y = f32[4] conditional(p, x, x), true_computation=first, false_computation=second
 s = f32[2] slice(y), slice={[1:3]}\n ROOT z = ${gather('s', 2)} }`);
    const text = client.vjp(module, { wrt: [0] }).toString();
    const made = [...text.matchAll(/ reduce-scatter\(.*channel_id=(\d+)/g)].map(([, id]) => Number(id));
    assert.ok(made.length === 2 && made.every((id) => id > 9), text);
  });

  test('collectives of a derivative have channels of their own, wherever the function has some', () => {
    const module = client.parseHlo(`HloModule m, replica_count=2
inner { x = f32[2] parameter(0)\n ROOT g = f32[4] all-gather(x), channel_id=1, use_global_device_ids=true, replica_groups={{0,1}}, dimensions={0} }
ENTRY main { x = f32[2] parameter(0)\n y = f32[4] call(x), to_apply=inner\n s = f32[2] slice(y), slice={[1:3]}
 ROOT z = f32[4] all-gather(s), channel_id=2, use_global_device_ids=true, replica_groups={{0,1}}, dimensions={0} }`);
    const derived = client.vjp(module), channels = [...derived.toString().matchAll(/channel_id=(\d+)/g)].map(([, id]) => Number(id));
    assert.ok(channels.length >= 4, derived.toString());
    assert.equal(new Set(channels).size, channels.length, derived.toString());
  });
});

describe('complex functions, in all quadrants, against finite differences', () => {
  const points = [[0.3, 0.4], [1.5, 0.2], [-1.5, -0.3], [-0.4, 0.3], [0.2, -1.7], [-0.2, -1.7]];
  const STEP = 1e-6;
  const FUNCTIONS = [
    'acos', 'acosh', 'asin', 'asinh', 'atanh', 'cos', 'cosh', 'exp', 'expm1', 'log', 'log1p', 'logistic', 'neg', 'rsqrt',
    'sin', 'sinh', 'sqrt', 'tan', 'tanh',
  ];
  for (const name of FUNCTIONS) {
    test(name, async () => {
      const b = client.builder(name);
      const module = b.build(b[name](b.parameter(0, `c128[${points.length}]`, 'x')));
      const value = await client.compile(module), derivative = await client.compile(client.jvp(module));
      const at = async (shift) => (await value.execute([points.map(([re, im]) => [re + shift, im])]))[0].toArray();
      const [above, below] = [await at(STEP), await at(-STEP)];
      const [, tangents] = await derivative.execute([points, points.map(() => [1, 0])]);
      tangents.toArray().forEach((tangent, i) => tangent.forEach((part, k) => {
        const wanted = (above[i][k] - below[i][k]) / (2 * STEP);
        assert.ok(Math.abs(part - wanted) <= 1e-7, `at ${points[i]}: ${tangent}, part ${k} not ${wanted}`);
      }));
    });
  }
});

test('memory returns to where it began', () => {
  const loss = client.parseHlo(LOSS);
  client.gradient(loss, { wrt: 1 }).dispose();
  const before = client.heapInUse;
  for (let i = 0; i < 20; i++) {
    client.gradient(loss, { wrt: 1 }).dispose();
    assert.throws(() => client.gradient(loss, { of: 1 }));
  }
  assert.equal(client.heapInUse, before);
});

describe('rules that keep few values for the backward part', () => {
  const gradient = (module, wrt = [0]) => client.gradient(module, { wrt, value: true });
  const SUM = 'add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n';
  const MAX = 'max {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b)\n}\n';
  const SHIFTED = `HloModule m\n${SUM}${MAX}ENTRY e {\n x = f32[3,4] parameter(0)\n w = f32[3,4] parameter(1)\n v = f32[3] parameter(2)
 low = f32[] constant(-inf)\n zero = f32[] constant(0)\n top = f32[3] reduce(x, low), dimensions={1}, to_apply=max
 m = f32[3,4] broadcast(top), dimensions={0}\n d = f32[3,4] subtract(x, m)\n e = f32[3,4] exponential(d)
 s = f32[3] reduce(e, zero), dimensions={1}, to_apply=add\n l = f32[3] log(s)\n`;
  const END = '\n ROOT r = f32[] reduce(p, zero), dimensions={0,1}, to_apply=add\n}';
  const FORMS = {
    softmax: ` t = f32[3,4] broadcast(s), dimensions={0}\n y = f32[3,4] divide(e, t)\n p = f32[3,4] multiply(y, w)${END}`,
    'log of softmax': ` t = f32[3,4] broadcast(l), dimensions={0}\n y = f32[3,4] subtract(d, t)\n p = f32[3,4] multiply(y, w)${END}`,
    'log of a sum': ` y = f32[3] add(l, top)\n q = f32[3] multiply(y, v)\n p = f32[3,1] reshape(q)${END}`,
  };
  for (const [name, lines] of Object.entries(FORMS)) {
    test(`${name}: without the slopes of the maximum that is subtracted`, async () => {
      const derived = gradient(client.parseHlo(SHIFTED + lines));
      assert.doesNotMatch(derived.toString(), /compare\(/);
      const x = [[1, 2, 2, 0.5], [0, -1, 3, 3], [-2, 0, 1, 4]], w = [[1, -2, 3, 0.5], [2, 1, 0, -1], [0.25, 1, 1, 2]], v = [1, -2, 3];
      const wanted = x.map((row, i) => {
        const e = row.map(Math.exp), sum = e.reduce((a, b) => a + b), y = e.map((a) => a / sum);
        const mean = y.reduce((a, b, k) => a + b * w[i][k], 0), total = w[i].reduce((a, b) => a + b);
        return { softmax: y.map((a, k) => a * (w[i][k] - mean)), 'log of softmax': y.map((a, k) => w[i][k] - a * total),
          'log of a sum': y.map((a) => a * v[i]) }[name];
      });
      const [, slopes] = await (await client.compile(derived)).execute([x, w, v]);
      slopes.toArray().flat().forEach((got, i) => assert.ok(Math.abs(got - wanted.flat()[i]) < 1e-6, `${i}: ${got}, ${wanted.flat()[i]}`));
    });
  }

  test('a number that is used elsewhere, too, keeps its slope', async () => {
    const lines = ` u = f32[3] multiply(top, top)\n y = f32[3] add(l, u)\n q = f32[3] multiply(y, v)\n p = f32[3,1] reshape(q)${END}`;
    const derived = gradient(client.parseHlo(SHIFTED + lines));
    const [, slopes] = await (await client.compile(derived)).execute([[[0, 1, -1, -2], [0, 1, -1, -2], [0, 1, -1, -2]],
      new Array(3).fill([1, 1, 1, 1]), [1, 1, 1]]);
    const e = [-1, 0, -2, -3].map(Math.exp), sum = e.reduce((a, b) => a + b); // at the largest: - 1 + 2 m more
    slopes.toArray()[0].forEach((got, i) => assert.ok(Math.abs(got - (e[i] / sum + (i === 1 ? 1 : 0))) < 1e-6));
  });

  for (const name of ['erfc', 'erf_inv']) {
    test(`${name} as it is written out: from its operand or its result`, async () => {
      const t = 'tensor<64x64xf32>';
      const module = await client.parseStableHlo(`func.func @main(%x: ${t}) -> tensor<f32> {
        %y = chlo.${name} %x : ${t} -> ${t}\n %p = stablehlo.multiply %y, %y : ${t}\n %q = stablehlo.exponential %p : ${t}
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [0, 1] : (${t}, tensor<f32>) -> tensor<f32>
        return %s : tensor<f32>\n}`);
      const { temporaries } = (await client.compile(gradient(module))).memory;
      assert.ok(temporaries <= 2 * 64 * 64 * 4 + 1024, `${temporaries} bytes`);
    });
  }

  test('a solution by LU factors: by the factors, without their slopes', async () => {
    const call = (of, target, operands, shapes, how) => ` ${of} custom-call(${operands}), custom_call_target="lapack_${target}_ffi", ` +
      `operand_layout_constraints={${shapes}}, api_version=API_VERSION_TYPED_FFI, backend_config={${how}}\n`;
    const A = 'f32[3,3]{0,1}', B = 'f32[3,2]{0,1}';
    const how = (diag, uplo) => `diag = ${diag} : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = ${uplo} : ui8`;
    const module = client.parseHlo(`HloModule m\n${SUM}ENTRY e {\n a = f32[3,3] parameter(0)\n b = f32[3,2] parameter(1)\n zero = f32[] constant(0)
${call(`f = (${A}, s32[3], s32[])`, 'sgetrf', 'a', A, '')} lu = ${A} get-tuple-element(f), index=0
${call(`y = ${B}`, 'strsm', 'lu, b', `${A}, ${B}`, how(85, 76))}${call(`x = ${B}`, 'strsm', 'lu, y', `${A}, ${B}`, how(78, 85))}
 p = f32[3,2] multiply(x, x)${END}`);
    const derived = gradient(module, [0, 1]);
    assert.equal(derived.toString().match(/ triangular-solve\(/g).length, 2);
    const a = [[4, 1, -1], [2, 5, 1], [0, 1, 3]], b = [[1, 2], [3, -1], [0.5, 4]], executable = await client.compile(derived);
    const [, byA, byB] = await executable.execute([a, b]);
    const loss = async (matrix, right) => (await executable.execute([matrix, right]))[0].data[0];
    const moved = (rows, i, j, h) => rows.map((row, r) => row.map((v, c) => v + (r === i && c === j ? h : 0)));
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) {
        const slope = (await loss(moved(a, i, j, 1 / 64), b) - await loss(moved(a, i, j, -1 / 64), b)) * 32;
        assert.ok(Math.abs(byA.data[3 * i + j] - slope) < 0.02, `${i} ${j}: ${byA.data[3 * i + j]}, ${slope}`);
      }
      const slope = (await loss(a, moved(b, i, 1, 1 / 64)) - await loss(a, moved(b, i, 1, -1 / 64))) * 32;
      assert.ok(Math.abs(byB.data[2 * i + 1] - slope) < 0.02, `${i}: ${byB.data[2 * i + 1]}, ${slope}`);
    }
  });
});

describe('layouts', () => {
  const LAYOUT = (parameter, result) => `HloModule m, entry_computation_layout={(f32[2,3]${parameter})->f32[2,3]${result}}
ENTRY main {
  x = f32[2,3] parameter(0)
  y = f32[2,3]{0,1} multiply(x, x)
  ROOT r = f32[2,3]${result} copy(y) }`;
  const flatOf = async (module, args) => {
    const executable = await client.compile(module);
    return (await executable.execute(args)).map(({ data }) => [...data]);
  };
  const x = [1, 2, 3, 4, 5, 6], step = [7, 8, 9, 10, 11, 12], wanted = [14, 32, 54, 80, 110, 144];

  test('inside do not reach results and cotangents: JAX\'s triangular solves write columns', async () => {
    const module = client.parseHlo(LAYOUT('{1,0}', '{1,0}'));
    const args = [x, step].map((values) => Float32Array.from(values));
    assert.deepEqual((await flatOf(client.vjp(module), args)).at(-1), wanted);
    assert.deepEqual((await flatOf(client.jvp(module), args)).at(-1), wanted);
    const batches = args.map((values) => Float32Array.of(...values, ...values));
    assert.deepEqual((await flatOf(client.vmap(client.vjp(module), { size: 2 }), batches)).at(-1), [...wanted, ...wanted]);
    assert.deepEqual((await flatOf(client.vjp(client.vmap(module, { size: 2 })), batches)).at(-1), [...wanted, ...wanted]);
  });

  test('of parameters stay those that the source states; the other parameters and results are rows', async () => {
    const module = client.parseHlo(LAYOUT('{0,1}', '{0,1}'));
    const columns = Float32Array.of(1, 4, 2, 5, 3, 6);
    for (const derived of [client.vjp(module), client.jvp(module)]) {
      assert.deepEqual(derived.parameters.map(({ shape }) => String(shape)), ['f32[2,3]{0,1}', 'f32[2,3]']);
      assert.deepEqual((await flatOf(derived, [columns, Float32Array.from(step)])).at(-1), wanted);
    }
  });
});

describe('loops of a batch', () => {
  // Steps as an adaptive solver has them: the last step of an element has length 0, where its norm has no slope. Values by JAX, for
  // the number of steps that each element takes.
  const STEPS = `HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
more { s = (f32[2], f32[], f32[]) parameter(0)
  t = f32[] get-tuple-element(s), index=1
  end = f32[] get-tuple-element(s), index=2
  ROOT r = pred[] compare(t, end), direction=LT }
step { s = (f32[2], f32[], f32[]) parameter(0)
  x = f32[2] get-tuple-element(s), index=0
  t = f32[] get-tuple-element(s), index=1
  end = f32[] get-tuple-element(s), index=2
  dt = f32[] constant(0.5)
  left = f32[] subtract(end, t)
  h = f32[] minimum(dt, left)
  hs = f32[2] broadcast(h), dimensions={}
  v = f32[2] multiply(hs, x)
  vv = f32[2] multiply(v, v)
  zero = f32[] constant(0)
  sum = f32[] reduce(vv, zero), dimensions={0}, to_apply=add
  norm = f32[] sqrt(sum)
  norms = f32[2] broadcast(norm), dimensions={}
  y = f32[2] add(x, norms)
  u = f32[] add(t, h)
  ROOT r = (f32[2], f32[], f32[]) tuple(y, u, end) }
ENTRY main {
  x = f32[2] parameter(0)
  end = f32[] parameter(1)
  zero = f32[] constant(0)
  s = (f32[2], f32[], f32[]) tuple(x, zero, end)
  w = (f32[2], f32[], f32[]) while(s), condition=more, body=step
  ROOT r = f32[2] get-tuple-element(w), index=0 }`;
  const WANTED = [[1.88347328, 2.61864161, 4.34660721, 4.09300518, 1.36270678, 2.57232904], [7.53875399, 12.39284706, 22.73026276]];
  const ARGS = [[[1, 2], [3, 4], [5, 6]], [0.75, 2, 1.25], [[1, 1], [1, 0], [0, 1]]];

  test('an element that has ended adds no NaN: a vjp of a vmap is the vmap of a vjp', async () => {
    const steps = client.parseHlo(STEPS), options = { maxTrips: 8 };
    for (const module of [client.vjp(client.vmap(steps, { size: 3 }), options), client.vmap(client.vjp(steps, options), { size: 3 })]) {
      const got = await run(module, ARGS);
      got.forEach((values, i) => flat(values).forEach((x, k) => {
        assert.ok(Math.abs(x - WANTED[i][k]) < 1e-5 * WANTED[i][k], `${i} ${k}: ${x}, ${WANTED[i][k]}`);
      }));
    }
  });

  test('a branch of a loop that ends by its values adds no NaN: the root of a number by steps of limited length', async () => {
    /* The last step has length 0. JAX's slopes, of 40 steps by scan: 0.25, 0.3333333333333333, 0.5. */
    const module = client.parseHlo(`HloModule m
shorter { p = (f64[], f64[]) parameter(0)
  d = f64[] get-tuple-element(p), index=0
  n = f64[] get-tuple-element(p), index=1
  half = f64[] constant(0.5)
  q = f64[] divide(d, n)
  ROOT r = f64[] multiply(half, q) }
whole { p = (f64[], f64[]) parameter(0)
  ROOT r = f64[] get-tuple-element(p), index=0 }
step { s = (f64[], f64[], pred[]) parameter(0)
  x = f64[] get-tuple-element(s), index=0
  a = f64[] get-tuple-element(s), index=1
  q = f64[] divide(a, x)
  sum = f64[] add(x, q)
  half = f64[] constant(0.5)
  mean = f64[] multiply(half, sum)
  d = f64[] subtract(mean, x)
  dd = f64[] multiply(d, d)
  n = f64[] sqrt(dd)
  long = pred[] compare(n, half), direction=GT
  both = (f64[], f64[]) tuple(d, n)
  taken = f64[] conditional(long, both, both), true_computation=shorter, false_computation=whole
  y = f64[] add(x, taken)
  zero = f64[] constant(0)
  done = pred[] compare(n, zero), direction=EQ
  ROOT r = (f64[], f64[], pred[]) tuple(y, a, done) }
goes { s = (f64[], f64[], pred[]) parameter(0)
  done = pred[] get-tuple-element(s), index=2
  ROOT r = pred[] not(done) }
ENTRY main {
  a = f64[] parameter(0)
  three = f64[] constant(3)
  no = pred[] constant(false)
  s = (f64[], f64[], pred[]) tuple(three, a, no)
  w = (f64[], f64[], pred[]) while(s), condition=goes, body=step
  ROOT r = f64[] get-tuple-element(w), index=0 }`);
    for (const options of [{ maxTrips: 40 }, {}, { maxTrips: 40, checkpoint: 'sqrt' }]) {
      for (const [a, wanted] of [[4, 0.25], [2.25, 0.3333333333333333], [1, 0.5]]) {
        const slope = flat((await run(client.vjp(module, options), [a, 1])).at(-1))[0];
        assert.ok(Math.abs(slope - wanted) < 1e-12, `${JSON.stringify(options)}, ${a}: ${slope}`);
      }
    }
  });
});
