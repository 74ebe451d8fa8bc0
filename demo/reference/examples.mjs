/**
 * An example for each method that makes an operation: the parameters with their values, and an expression of them.
 * tests/project/reference.test.mjs runs each, and compares with real XLA (tests/guides/examples.json, by examples.py).
 *
 * [method, { parameter: [shape, value] }, expression]; with `replicas` a value is a list, one for each replica.
 */
const X = { x: ['f32[4]', [-2, -0.5, 0, 1.5]] };
const UNIT = { x: ['f32[4]', [-0.5, 0, 0.25, 0.75]] };
const POSITIVE = { x: ['f32[4]', [0.25, 1, 2, 9]] };
const WHOLE = { x: ['s32[4]', [0, 1, 12, -1]] };
const COMPLEX = { x: ['c64[2]', [[3, 4], [0, -1]]] };
const XY = { x: ['f32[3]', [1, -5, 7]], y: ['f32[3]', [2, 2, 0.5]] };
const BITS = { x: ['s32[3]', [12, 5, -1]], y: ['s32[3]', [10, 1, 4]] };
const MATRIX = { x: ['f32[2,3]', [[1, 2, 3], [4, 5, 6]]] };
const MATRICES = { x: ['f32[2,3]', [[1, 2, 3], [4, 5, 6]]], w: ['f32[3,2]', [[1, 0], [0, 1], [2, 2]]] };
const IMAGE = { image: ['f32[1,1,3,3]', [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]], kernel: ['f32[1,1,2,2]', [[[[1, 0], [0, -1]]]]] };
const LAST = { image: ['f32[1,3,3,1]', [[[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [9]]]]], kernel: ['f32[2,2,1,1]', [[[[1]], [[0]]], [[[0]], [[-1]]]]] };
const NORM = {
  x: ['f32[3,2]', [[1, 10], [2, 20], [3, 60]]], scale: ['f32[2]', [1, 2]], offset: ['f32[2]', [0, 1]],
};
const BATCH = { mean: ['f32[2]', [2, 30]], variance: ['f32[2]', [1, 400]] };
const EACH = { x: ['f32[2]', [[1, 2], [10, 20]]] }; // on two replicas
const EACH_FOUR = { x: ['f32[4]', [[1, 2, 3, 4], [10, 20, 30, 40]]] };

const same = (inputs, methods, more = '') => methods.map((method) => [method, inputs, `b.${method}(${Object.keys(inputs).join(', ')}${more})`]);

export const EXAMPLES = [
  ...same(X, ['abs', 'asinh', 'cbrt', 'ceil', 'cos', 'cosh', 'erf', 'exp', 'expm1', 'floor', 'isFinite', 'logistic', 'neg', 'round', 'roundNearestEven', 'sign', 'sin', 'sinh', 'tan', 'tanh', 'copy', 'optimizationBarrier', 'relu', 'gelu', 'silu', 'softplus']),
  ...same(UNIT, ['acos', 'asin', 'atanh', 'log1p']),
  ...same(POSITIVE, ['acosh', 'log', 'rsqrt', 'sqrt']),
  ...same(WHOLE, ['clz', 'not', 'populationCount']),
  ...same(COMPLEX, ['conj', 'imag', 'real']),
  ...same(XY, ['add', 'sub', 'mul', 'div', 'rem', 'max', 'min', 'pow', 'atan2', 'complex', 'eq', 'ne', 'ge', 'gt', 'le', 'lt', 'eqTotalOrder', 'neTotalOrder', 'geTotalOrder', 'gtTotalOrder', 'leTotalOrder', 'ltTotalOrder']),
  ...same(BITS, ['mulhi', 'and', 'or', 'xor', 'shiftLeft', 'shiftRightArithmetic', 'shiftRightLogical']),
  ['compare', XY, 'b.compare(x, y, \'LT\')'],
  ['clamp', X, 'b.clamp(-1, x, 1)'],
  ['select', { p: ['pred[3]', [true, false, true]], ...XY }, 'b.select(p, x, y)'],
  ['reducePrecision', POSITIVE, 'b.reducePrecision(x.mul(1.1), 5, 3)'],
  ['map', XY, 'b.map([x, y], (f, one, other) => one.mul(other), [0])'],
  ['convertElementType', X, 'b.convertElementType(x, \'s32\')'],
  ['bitcastConvertType', X, 'b.bitcastConvertType(x, \'u32\')'],

  /* Shapes */
  ['broadcast', XY, 'b.broadcast(x, [2])'],
  ['broadcastInDim', XY, 'b.broadcastInDim(x, [3, 2], [0])'],
  ['collapse', MATRIX, 'b.collapse(x, [0, 1])'],
  ['concatInDim', XY, 'b.concatInDim([x, y], 0)'],
  ['iota', {}, 'b.iota(\'s32[2,3]\', 1)'],
  ['pad', XY, 'b.pad(x, 0, [[1, 2, 1]])'],
  ['padInDim', MATRIX, 'b.padInDim(x, 0, 1, 1, 0)'],
  ['reshape', MATRIX, 'b.reshape(x, [3, 2])'],
  ['rev', MATRIX, 'b.rev(x, [1])'],
  ['slice', MATRIX, 'b.slice(x, [0, 1], [2, 3])'],
  ['sliceInDim', MATRIX, 'b.sliceInDim(x, 0, 3, 2, 1)'],
  ['transpose', MATRIX, 'b.transpose(x, [1, 0])'],
  ['dynamicSlice', { ...MATRIX, at: ['s32[]', 1] }, 'b.dynamicSlice(x, [b.constant(0, \'s32[]\'), at], [2, 2])'],
  ['dynamicUpdateSlice', { ...MATRIX, part: ['f32[1,2]', [[0, 0]]], at: ['s32[]', 1] }, 'b.dynamicUpdateSlice(x, part, [at, at])'],
  ['gather', { table: ['f32[3,2]', [[0, 1], [10, 11], [20, 21]]], rows: ['s32[2]', [2, 0]] },
    'b.gather(table, rows, { offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1 }, [1, 2])'],
  ['scatter', { table: ['f32[3,2]', [[0, 1], [10, 11], [20, 21]]], rows: ['s32[2]', [2, 2]], updates: ['f32[2,2]', [[1, 1], [2, 2]]] },
    'b.scatter(table, rows, updates, \'add\', { updateWindowDims: [1], insertedWindowDims: [0], scatterDimsToOperandDims: [0], indexVectorDim: 1 })'],
  ['tuple', XY, 'b.tuple([x, y])'],
  ['getTupleElement', XY, 'b.getTupleElement(b.tuple([x, y]), 1)'],

  /* Sums and products */
  ['dot', MATRICES, 'b.dot(x, w)'],
  ['dotGeneral', MATRICES, 'b.dotGeneral(x, w, { lhsContractingDimensions: [1], rhsContractingDimensions: [0] })'],
  ['matmul', MATRICES, 'b.matmul(x, w)'],
  ['einsum', MATRICES, 'b.einsum(\'ij,jk->ki\', [x, w])'],
  ['reduce', MATRIX, 'b.reduce(x, 0, \'add\', [1])'],
  ['reduceAll', MATRIX, 'b.reduceAll(x, -Infinity, \'max\')'],
  ['reduceWindow', X, 'b.reduceWindow(x, 0, \'add\', [2], [1], \'VALID\')'],
  ['reduceWindowWithGeneralPadding', X, 'b.reduceWindowWithGeneralPadding(x, 0, \'add\', [2], [1], [1], [1], [[1, 1]])'],
  ['selectAndScatter', { x: ['f32[4]', [1, 5, 2, 3]], source: ['f32[2]', [10, 20]] }, 'b.selectAndScatter(x, (f, a, c) => a.ge(c), [2], [2], \'VALID\', source, 0, \'add\')'],
  ['selectAndScatterWithGeneralPadding', { x: ['f32[3]', [1, 5, 2]], source: ['f32[2]', [10, 20]] }, 'b.selectAndScatterWithGeneralPadding(x, (f, a, c) => a.ge(c), [2], [2], [[1, 0]], source, 0, \'add\')'],
  ['sort', { x: ['f32[4]', [3, 1, 4, 2]] }, 'b.sort(x, (f, a, c) => a.lt(c))'],
  ['topK', { x: ['f32[5]', [3, 1, 4, 1, 5]] }, 'b.topK(x, 2)'],
  ['conv', IMAGE, 'b.conv(image, kernel, [1, 1], \'VALID\')'],
  ['convWithGeneralPadding', IMAGE, 'b.convWithGeneralPadding(image, kernel, [1, 1], [[1, 0], [0, 1]])'],
  ['convWithGeneralDimensions', LAST, 'b.convWithGeneralDimensions(image, kernel, [1, 1], \'SAME\', \'b01f_01io->b01f\')'],
  ['convGeneral', LAST, 'b.convGeneral(image, kernel, [2, 1], [[0, 1], [0, 0]], \'b01f_01io->b01f\')'],
  ['convGeneralDilated', LAST, 'b.convGeneralDilated(image, kernel, [1, 1], \'VALID\', [1, 1], [2, 2], \'b01f_01io->b01f\')'],
  ['batchNormTraining', NORM, 'b.batchNormTraining(x, scale, offset, 0.001, 1)'],
  ['batchNormInference', { ...NORM, ...BATCH }, 'b.batchNormInference(x, scale, offset, mean, variance, 0.001, 1)'],
  ['batchNormGrad', { x: NORM.x, scale: NORM.scale, ...BATCH, slope: ['f32[3,2]', [[1, 0], [0, 1], [0, 0]]] }, 'b.batchNormGrad(x, scale, mean, variance, slope, 0.001, 1)'],
  ['cholesky', { a: ['f32[2,2]', [[4, 2], [2, 5]]] }, 'b.cholesky(a, true)'],
  ['triangularSolve', { a: ['f32[2,2]', [[2, 0], [1, 4]]], y: ['f32[2,1]', [[2], [9]]] }, 'b.triangularSolve(a, y, true, true, false, \'NO_TRANSPOSE\')'],
  ['fft', { x: ['c64[4]', [[1, 0], [0, 0], [0, 0], [0, 0]]] }, 'b.fft(x, \'FFT\', [4])'],
  ['rngBitGenerator', { state: ['u64[2]', [1n, 0n]] }, 'b.rngBitGenerator(\'RNG_THREE_FRY\', state, \'u32[3]\')'],

  /* Control */
  ['call', XY, 'b.call((f, one, other) => one.add(other), [x, y])'],
  ['conditional', { p: ['pred[]', true], ...XY }, 'b.conditional(p, () => x.add(y), () => x.mul(y))'],
  ['while', { n: ['s32[]', 5] }, 'b.while((f, i) => i.lt(n), (f, i, s) => [i.add(1), s.add(i)], [b.constant(0, \'s32[]\'), b.constant(0, \'s32[]\')])'],

  /* Functions beside the operations */
  ...same(MATRIX, ['sum', 'mean', 'variance', 'logsumexp', 'argmax', 'argmin', 'cumsum'], ', 1'),
  ...same(MATRIX, ['softmax', 'logSoftmax', 'layerNorm']),
  ['oneHot', { x: ['s32[3]', [2, 0, 3]] }, 'b.oneHot(x, 3)'],
  ['crossEntropy', { logits: MATRIX.x, labels: ['s32[2]', [2, 0]] }, 'b.crossEntropy(logits, labels)'],
  ['where', { p: ['pred[2,1]', [[true], [false]]], ...XY }, 'b.where(p, x, y)'],
  ['take', { ...MATRIX, at: ['s32[2]', [2, -3]] }, 'b.take(x, at, 1)'],
  ['stack', XY, 'b.stack([x, y], 1)'],
  ['split', MATRIX, 'b.split(x, 3, 1)'],
  ['linspace', {}, 'b.linspace(b.constant(0, \'f32[]\'), 1, 5)'],
  ['key', {}, 'b.key(42)'],
  ['splitKey', {}, 'b.splitKey(b.key(42))'],
  ['foldIn', {}, 'b.foldIn(b.key(42), 7)'],
  ['uniform', {}, 'b.uniform(b.key(42), \'f32[3]\')'],
  ['normal', {}, 'b.normal(b.key(42), \'f32[3]\')'],
  ['dropout', X, 'b.dropout(x, b.key(42), 0.5)'],

  /* Builders */
  ['function', XY, 'b.function((f, one, other) => f.sqrt(one.mul(one).add(other.mul(other))), \'length\')(x, y)'],
  ['gradient', XY, 'b.gradient(b.sum(x.mul(x).mul(y)), [x, y])'],
  ['vmap', MATRIX, 'b.vmap((f, row) => f.sum(row))(x)'],
  ['jacobian', XY, 'b.jacobian((f, row) => row.mul(row))(x)'],
  ['hessian', XY, 'b.hessian((f, row) => f.sum(row.mul(row).mul(row)))(x)'],
  ['parameter', XY, 'x'],
  ['constant', {}, 'b.constant([[1, 2], [3, 4]], \'f32[2,2]\')'],
  ['constantLiteral', {}, 'b.constantLiteral(Literal.from([1, 2], \'s32[2]\'))'],
  ['constantR0', {}, 'b.constantR0(1.5, \'f32\')'],
  ['constantR1', {}, 'b.constantR1(3, 1.5, \'f32\')'],
  ['constantR2', {}, 'b.constantR2([[1, 2], [3, 4]], \'f32\')'],
  ['constantR3', {}, 'b.constantR3([[[1, 2]], [[3, 4]]], \'f32\')'],
  ['constantR4', {}, 'b.constantR4([[[[1, 2]]], [[[3, 4]]]], \'f32\')'],

  /* Devices: two replicas */
  ['allReduce', EACH, 'b.allReduce(x, \'add\')', 2],
  ['crossReplicaSum', EACH, 'b.crossReplicaSum(x)', 2],
  ['allGather', EACH, 'b.allGather(x, 0, 2)', 2],
  ['reduceScatter', EACH_FOUR, 'b.reduceScatter(x, \'add\', 0, 2)', 2],
  ['allToAll', EACH_FOUR, 'b.allToAll(x, 0, 0, 2, [[0, 1]])', 2],
  ['allToAllTuple', { ...EACH, y: ['f32[2]', [[3, 4], [30, 40]]] }, 'b.allToAllTuple([x, y])', 2],
  ['collectiveBroadcast', EACH, 'b.collectiveBroadcast(x)', 2],
  ['collectivePermute', EACH, 'b.collectivePermute(x, [[0, 1], [1, 0]])', 2],
  ['replicaId', {}, 'b.replicaId()', 2],
  ['partitionId', {}, 'b.partitionId()'],
].map(([method, parameters, expression, replicas = 1]) => ({ method, parameters, expression, replicas }));

/** Methods without an example, and why. */
export const WITHOUT = {
  name: 'no operation', build: 'in every example', createSubBuilder: 'see while, whose functions are sub-builders', dispose: 'frees memory',
  createToken: 'a token has no value', afterAll: 'a token has no value',
  stochasticConvertType: 'XLA:CPU does not run it', scan: 'XLA:CPU does not run it',
  dynamicReshape: 'see the playground: its shapes are dynamic', getDimensionSize: 'as dynamicReshape',
  removeDynamicDimension: 'as dynamicReshape', setDimensionSize: 'as dynamicReshape',
  raggedDot: 'see the playground', scaledDot: 'see the playground', raggedAllToAll: 'see the playground',
  rngNormal: 'random', rngUniform: 'random',
  customCall: 'the host takes part: see Client.registerCustomCall',
  infeed: 'the host takes part', infeedWithToken: 'the host takes part', outfeed: 'the host takes part', outfeedWithToken: 'the host takes part',
  send: 'two programs take part: see the guide on meshes', sendWithToken: 'as send', recv: 'as send', recvWithToken: 'as send',
  sendToHost: 'the host takes part', recvFromHost: 'the host takes part',
};

const valueText = (value) => (Array.isArray(value) ? `[${value.map(valueText).join(', ')}]` : typeof value === 'bigint' ? `${value}n` : String(value));

/** @returns {string} the program of an example, as users write it */
export function programOf({ method, parameters, expression, replicas }) {
  const names = Object.keys(parameters);
  const args = names.map((name) => parameters[name][1]);
  const each = replicas > 1;
  const given = each ? Array.from({ length: replicas }, (_, replica) => valueText(args.map((list) => list[replica]))) : [valueText(args)];
  return [
    `import { Client${/Literal\./.test(expression) ? ', Literal' : ''} } from 'xla-wasm';`,
    '',
    'const client = await Client.create();',
    `const b = client.builder('${method}');`,
    ...names.map((name, i) => `const ${name} = b.parameter(${i}, '${parameters[name][0]}', '${name}');`),
    `const result = ${expression};`,
    '',
    `const program = await client.compile(b.build(${/^b\.(gradient|hessian|jacobian)/.test(expression) ? '[result].flat().length > 1 ? b.tuple(result) : result' : 'result'})${each ? `, { replicas: ${replicas} }` : ''});`,
    ...(each ? [`const replicas = await program.executeReplicas([${given.join(', ')}]);`,
      'for (const [i, values] of replicas.entries()) {', '  for (const y of values) console.log(`replica ${i}: ${y.shape}`, y.toArray());', '}']
      : [`const values = await program.execute(${given[0]});`, 'for (const y of values) console.log(String(y.shape), y.toArray());']),
    '',
  ].join('\n');
}
