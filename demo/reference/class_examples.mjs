/**
 * Examples of the API reference for everything that makes no operation. A comment after what a line prints says it:
 * tests/project/reference.test.mjs runs them all, and compares.
 */
import { EXAMPLES, programOf } from './examples.mjs';

const CLIENT = `import { Client } from 'xla-wasm';

const client = await Client.create();`;

const SYNC = `import { Client } from 'xla-wasm/sync';

const client = Client.createSync();`;

/** A module x + y of vectors, as text. */
const ADD = `const module = client.parseHlo(\`HloModule sum
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT z = f32[2] add(x, y)
}\`);`;

/** The loss (w - 3)^2. */
const LOSS = `const loss = client.parseHlo(\`HloModule loss
ENTRY main {
  w = f32[] parameter(0)
  three = f32[] constant(3)
  error = f32[] subtract(w, three)
  ROOT square = f32[] multiply(error, error)
}\`);`;

/** The lines of a template, without the indentation of this file. */
const lines = (text) => text.replace(/^\n/, '').replace(/^ {6}/gm, '');
const client = (text) => [CLIENT, lines(text)].join('\n');
const now = (text) => [SYNC, ADD, lines(text)].join('\n');
const added = (text) => [CLIENT, ADD, lines(text)].join('\n');
const compiled = (text) => added(`const sum = await client.compile(module);\n${lines(text)}`);
const differentiated = (text) => [CLIENT, LOSS, lines(text)].join('\n');
const using = (names, text) => [`import { ${names} } from 'xla-wasm';`, '', lines(text)].join('\n');

const TABLE = {
  Client: {
    create: client('console.log(client.replicas, client.disposed); // 1 false'),
    createSync: now('console.log(client.compileSync(module).executeSync([[1, 2], [10, 20]])[0].toArray()); // [11, 22]'),
    prepareSync: using('Client', `
      await Client.prepareSync({ threads: 0 });
      console.log(Client.createSync({ threads: 0 }).threads); // 0`),
    loadSync: now('console.log(client.loadSync(String(module)).name); // sum'),
    parseStableHloSync: now(`
      const same = client.parseStableHloSync('func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }');
      console.log(String(same.resultShape)); // f32[2]`),
    parseHloProtoSync: now(`
      const bytes = await module.toProto();
      console.log(client.parseHloProtoSync(bytes).name); // sum`),
    compileSync: now('console.log(client.compileSync(module).partitions); // 1'),
    launchSync: now(`
      const executable = client.compileSync(module);
      const [[z]] = client.launchSync([{ executable, arguments: [[1, 2], [10, 20]] }]);
      console.log(z.toArray()); // [11, 22]`),
    builder: client(`
      const b = client.builder('twice');
      const x = b.parameter(0, 'f32[2]', 'x');
      const twice = await client.compile(b.build(x.mul(2)));
      console.log((await twice.execute([[1, 2]]))[0].toArray()); // [2, 4]`),
    load: client(`
      const text = \`module @double {
        func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
          %0 = stablehlo.add %x, %x : tensor<2xf32>
          return %0 : tensor<2xf32>
        }
      }\`;
      const double = await client.compile(await client.load(text)); // or an address, bytes, a File
      console.log((await double.execute([[1, 2]]))[0].toArray()); // [2, 4]`),
    parseHlo: added(`
      console.log(module.name, module.parameters.map(({ name, shape }) => \`\${name}: \${shape}\`)); // sum ['x: f32[2]', 'y: f32[2]']`),
    parseStableHlo: client(`
      const module = await client.parseStableHlo(\`func.func @main(%x: tensor<f32>) -> tensor<f32> {
        %0 = stablehlo.sine %x : tensor<f32>
        return %0 : tensor<f32>
      }\`);
      console.log(String(module.resultShape)); // f32[]`),
    parseHloProto: added(`
      const bytes = await module.toProto();
      const again = await client.parseHloProto(bytes);
      console.log(again.name); // sum`),
    compile: compiled('console.log((await sum.execute([[1, 2], [10, 20]]))[0].toArray()); // [11, 22]'),
    optionalPasses: client(`console.log(client.optionalPasses.includes('fuse-loops')); // true`),
    passes: added('for (const { pass } of client.passes(module)) console.log(pass); // dynamic-dimensions'),
    gradient: differentiated(`
      const step = await client.compile(client.gradient(loss, { value: true }));
      const [value, slope] = await step.execute([5]);
      console.log(value.toArray(), slope.toArray()); // 4 4`),
    vjp: differentiated(`
      const back = await client.compile(client.vjp(loss));
      console.log((await back.execute([5, 10]))[0].toArray()); // 40`),
    jvp: differentiated(`
      const forward = await client.compile(client.jvp(loss));
      const [value, tangent] = await forward.execute([5, 1]);
      console.log(value.toArray(), tangent.toArray()); // 4 4`),
    vmap: differentiated(`
      const batch = await client.compile(client.vmap(loss, { size: 3 }));
      console.log((await batch.execute([[3, 4, 5]]))[0].toArray()); // [0, 1, 4]`),
    jacobian: added(`
      const jacobian = await client.compile(client.jacobian(module, { wrt: [0] }));
      console.log((await jacobian.execute([[1, 2], [3, 4]]))[0].toArray()); // [[1, 0], [0, 1]]`),
    hessian: differentiated(`
      const hessian = await client.compile(client.hessian(loss));
      console.log((await hessian.execute([5]))[0].toArray()); // 2`),
    registerCustomCall: client(`
      client.registerCustomCall('reverse', ({ operands: [x] }) => x.toArray().reverse());
      const b = client.builder('called');
      const x = b.parameter(0, 'f32[3]', 'x');
      const program = await client.compile(b.build(b.customCall('reverse', [x], 'f32[3]')));
      console.log((await program.execute([[1, 2, 3]]))[0].toArray()); // [3, 2, 1]`),
    registerGradient: client(`
      client.registerCustomCall('cube', ({ operands: [x] }) => [x.toArray() ** 3]);
      client.registerGradient('cube', { vjp: (b, [x], results, [cotangent]) => [x.mul(x).mul(3).mul(cotangent)] });
      const b = client.builder('called');
      const module = b.build(b.customCall('cube', [b.parameter(0, 'f32[]', 'x')], 'f32[]'));
      const slope = await client.compile(client.gradient(module));
      console.log((await slope.execute([2]))[0].toArray()); // 12`),
    transferToInfeed: client(`
      const b = client.builder('fed');
      const program = await client.compile(b.build(b.infeed('f32[2]').mul(2)));
      client.transferToInfeed([1, 2]);
      console.log((await program.execute([]))[0].toArray()); // [2, 4]`),
    transferFromOutfeed: client(`
      const b = client.builder('told');
      b.outfeed(b.constant([1, 2], 'f32[2]'));
      const program = await client.compile(b.build(b.constant(0, 'f32[]')));
      const told = client.transferFromOutfeed();
      await program.execute([]);
      console.log((await told).toArray()); // [1, 2]`),
    outfeed: client(`
      const b = client.builder('told');
      b.outfeed(b.constant([1, 2], 'f32[2]'));
      const program = await client.compile(b.build(b.constant(0, 'f32[]')));
      await program.execute([]);
      for await (const value of client.outfeed()) {
        console.log(value.toArray()); // [1, 2]
        break;
      }`),
    infeed: client(`
      const b = client.builder('fed');
      const program = await client.compile(b.build(b.infeed('f32[]')));
      client.infeed([1, 2, 3]);
      for (let i = 0; i < 3; i++) console.log((await program.execute([]))[0].toArray()); // 1`),
    launch: client(`
      const b = client.builder('sum');
      const module = b.build(b.allReduce(b.parameter(0, 'f32[]'), 'add', { channelId: 1 }));
      const executable = await client.compile(module, { replicas: 2 });
      const results = await client.launch([
        { executable, replica: 0, arguments: [1] },
        { executable, replica: 1, arguments: [10] },
      ]);
      console.log(results.map(([y]) => y.toArray())); // [11, 11]`),
    buffer: compiled(`
      const x = client.buffer([1, 2], 'f32[2]');
      const [y] = await sum.execute([x, x], { device: true });
      console.log(y.toArray(), client.memoryInUse > 0); // [2, 4] true`),
    memoryInUse: client(`
      const x = client.buffer(new Float32Array(1000), 'f32[1000]');
      console.log(client.memoryInUse >= 4000); // true
      x.dispose();`),
    heapInUse: client('console.log(client.heapInUse > 0); // true'),
    dispose: client(`
      client.dispose();
      console.log(client.disposed); // true`),
    replicas: client('console.log(client.replicas); // 1'),
    threads: client('console.log(client.threads >= 0); // true'),
  },
  Executable: {
    executeSync: now(`
      const sum = client.compileSync(module);
      console.log(sum.executeSync([[1, 2], [10, 20]])[0].toArray()); // [11, 22]`),
    executeReplicasSync: now(`
      const both = client.compileSync(module, { replicas: 2 });
      const results = both.executeReplicasSync([[[1, 2], [0, 0]], [[3, 4], [1, 1]]]);
      console.log(results.map(([z]) => z.toArray())); // [[1, 2], [4, 5]]`),
    execute: compiled(`
      const [z] = await sum.execute({ x: [1, 2], y: [10, 20] }); // by name, or as an array
      console.log(z.toArray()); // [11, 22]`),
    executeReplicas: client(`
      const b = client.builder('sum');
      const total = await client.compile(b.build(b.allReduce(b.parameter(0, 'f32[]'), 'add')), { replicas: 2 });
      const results = await total.executeReplicas([[1], [10]]);
      console.log(results.map(([y]) => y.toArray())); // [11, 11]`),
    toString: compiled(`console.log(sum.toString().startsWith('HloModule sum')); // true`),
    thunks: compiled(`console.log(sum.thunks().includes('parameter0')); // true`),
    generatedCode: compiled('console.log(WebAssembly.validate(sum.generatedCode())); // true'),
    memory: compiled('console.log(sum.memory.arguments, sum.memory.results); // 16 8'),
    memoryPlan: compiled('console.log(sum.memoryPlan().buffers.length > 0); // true'),
    parameters: compiled(`console.log(sum.parameters.map(({ name }) => name)); // ['x', 'y']`),
    resultShape: compiled('console.log(String(sum.resultShape.withoutLayout())); // f32[2]'),
    replicas: compiled('console.log(sum.replicas, sum.partitions); // 1 1'),
    partitions: compiled('console.log(sum.partitions); // 1'),
  },
  HloModule: {
    toString: added('console.log(client.parseHlo(module.toString()).name); // sum'),
    toProto: added('console.log((await module.toProto()).length > 100); // true'),
    parameters: added(`console.log(module.parameters.map(({ name }) => name)); // ['x', 'y']`),
    resultShape: added('console.log(String(module.resultShape.withoutLayout())); // f32[2]'),
    name: added('console.log(module.name); // sum'),
    replicaCount: added('console.log(module.replicaCount); // undefined'),
    partitionCount: added('console.log(module.partitionCount); // undefined'),
    vjp: added('console.log(module.vjp); // null'),
    resultNames: client(`
      const module = await client.load(\`
        func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32> {jax.result_info = "result['copy']"}, tensor<2xf32> {jax.result_info = "result['twice']"}) {
          %y = stablehlo.add %x, %x : tensor<2xf32>
          return %x, %y : tensor<2xf32>, tensor<2xf32>
        }\`);
      console.log(module.resultNames); // ['copy', 'twice']`),
  },
  Buffer: {
    toLiteralSync: now('console.log(client.buffer([1, 2]).toLiteralSync().toArray()); // [1, 2]'),
    toLiteral: client(`
      const x = client.buffer([1, 2], 'f32[2]');
      console.log(String(x.toLiteral().shape)); // f32[2]`),
    toArray: client(`console.log(client.buffer([1, 2], 'f32[2]').toArray()); // [1, 2]`),
    view: client(`
      const x = client.buffer([1, 2], 'f32[2]');
      console.log([...x.view()]); // [1, 2]`),
    shape: client(`console.log(String(client.buffer([1, 2], 'f32[2]').shape)); // f32[2]`),
  },
  Literal: {
    new: using('Literal', `
      const x = new Literal('f32[2]', new Float32Array([1, 2]));
      console.log(x.toArray()); // [1, 2]`),
    from: using('Literal', `
      const x = Literal.from([[1, 2], [3, 4]], 'bf16[2,2]');
      console.log(x.toArray()); // [[1, 2], [3, 4]]`),
    tuple: using('Literal', `
      const pair = Literal.tuple([Literal.from(1, 's32[]'), Literal.from(2, 'f32[]')]);
      console.log(String(pair.shape)); // (s32[], f32[])`),
    fromPacked: using('Literal', `console.log(Literal.fromPacked(new Uint8Array([0x21, 0x03]), 'u4[3]').toArray()); // [1, 2, 3]`),
    packed: using('Literal', `console.log(Array.from(Literal.from([1, 2, 3], 'u4[3]').packed)); // [33, 3]`),
    zeros: using('Literal', `console.log(Literal.zeros('f32[3]').toArray()); // [0, 0, 0]`),
    toArray: using('Literal', `console.log(Literal.from([[true], [false]], 'pred[2,1]').toArray()); // [[true], [false]]`),
    get: using('Literal', `console.log(Literal.from([[1, 2], [3, 4]], 'f32[2,2]').get([1, 0])); // 3`),
    inLayout: using('Literal', `
      const x = Literal.from([[1, 2], [3, 4]], 'f32[2,2]').inLayout([0, 1]);
      console.log([...x.data]); // [1, 3, 2, 4]`),
    convert: using('Literal', `console.log(Literal.from([1, -1], 'f32[2]').convert('s32').toArray()); // [1, -1]`),
    transpose: using('Literal', `
      console.log(Literal.from([[1, 2], [3, 4]], 'f32[2,2]').transpose().toArray()); // [[1, 3], [2, 4]]`),
    leaves: using('Literal', `
      const pair = Literal.tuple([Literal.from(1, 's32[]'), Literal.from(2, 'f32[]')]);
      console.log(pair.leaves().length); // 2`),
    data: using('Literal', `console.log([...Literal.from([1, 2], 'f32[2]').data]); // [1, 2]`),
    shape: using('Literal', `console.log(String(Literal.from([1, 2], 'f32[2]').shape)); // f32[2]`),
    elements: using('Literal', `console.log(Literal.from(1, 'f32[]').elements); // null`),
    toString: using('Literal', `console.log(String(Literal.from([1, 2], 's32[2]'))); // s32[2] {1, 2}`),
  },
  Shape: {
    array: using('Shape', `console.log(String(Shape.array('f32', [2, 3]))); // f32[2,3]`),
    tuple: using('Shape', `console.log(String(Shape.tuple(['f32[2]', 's32[]']))); // (f32[2], s32[])`),
    token: using('Shape', 'console.log(String(Shape.token())); // token[]'),
    parse: using('Shape', `console.log(Shape.parse('bf16[2,<=3]').isDynamic); // true`),
    of: using('Shape', `console.log(Shape.of('f32[2,3]').elementCount); // 6`),
    leaves: using('Shape', `
      console.log(Shape.parse('(f32[2], (s32[]))').leaves().map(String)); // ['f32[2]', 's32[]']`),
    withElementType: using('Shape', `console.log(String(Shape.parse('f32[2]').withElementType('s8'))); // s8[2]`),
    withLayout: using('Shape', `console.log(String(Shape.parse('f32[2,3]').withLayout([0, 1]))); // f32[2,3]{0,1}`),
    withoutLayout: using('Shape', `console.log(String(Shape.parse('f32[2,3]{0,1}').withoutLayout())); // f32[2,3]`),
    compatible: using('Shape', `console.log(Shape.parse('f32[2,3]{0,1}').compatible(Shape.parse('f32[2,3]'))); // true`),
    accepts: using('Shape', `console.log(Shape.parse('f32[<=3]').accepts(Shape.parse('f32[2]'))); // true`),
    equals: using('Shape', `console.log(Shape.parse('f32[2]').equals(Shape.parse('f32[3]'))); // false`),
    linearIndex: using('Shape', `console.log(Shape.parse('f32[2,3]').linearIndex([1, 2])); // 5`),
    multiIndex: using('Shape', `console.log(Shape.parse('f32[2,3]').multiIndex(5)); // [1, 2]`),
    strides: using('Shape', `console.log(Shape.parse('f32[2,3]').strides()); // [3, 1]`),
    toString: using('Shape', `console.log(\`\${Shape.parse('f32[2]')}\`); // f32[2]`),
    toJSON: using('Shape', `console.log(JSON.stringify(Shape.parse('f32[2]'))); // "f32[2]"`),
    ...Object.fromEntries([
      ['elementType', 'f32'], ['isTuple', 'false'], ['isToken', 'false'], ['isArray', 'true'], ['isScalar', 'false'], ['isDynamic', 'false'],
      ['rank', '2'], ['elementCount', '6'], ['byteSize', '24'], ['linearSize', '6'],
      ['dimensions', '[2, 3]'], ['layout', 'null'], ['tupleShapes', 'null'],
    ].map(([name, value]) => [name, using('Shape', `console.log(Shape.parse('f32[2,3]').${name}); // ${value}`)])),
    dynamicDimensions: using('Shape', `console.log(Shape.parse('f32[2,<=3]').dynamicDimensions); // [false, true]`),
    effectiveLayout: using('Shape', `console.log(String(Shape.parse('f32[2,3]').effectiveLayout)); // {1,0}`),
  },
  Layout: {
    new: using('Layout', 'console.log(String(new Layout({ minorToMajor: [0, 1] }))); // {0,1}'),
    rowMajor: using('Layout', 'console.log(Layout.rowMajor(3).minorToMajor); // [2, 1, 0]'),
    equals: using('Layout', 'console.log(Layout.rowMajor(2).equals(new Layout({ minorToMajor: [1, 0] }))); // true'),
    isDefault: using('Layout', 'console.log(Layout.rowMajor(2).isDefault); // true'),
    minorToMajor: using('Layout', 'console.log(Layout.rowMajor(2).minorToMajor); // [1, 0]'),
    paddedDimensions: using('Layout', 'console.log(Layout.rowMajor(2).paddedDimensions); // null'),
    paddingValue: using('Layout', 'console.log(Layout.rowMajor(2).paddingValue); // ZERO_PAD'),
    toString: using('Layout', 'console.log(`${Layout.rowMajor(2)}`); // {1,0}'),
  },
  XlaError: Object.fromEntries(Object.entries({
    code: 'INVALID_ARGUMENT', operation: 'abs', line: 4, column: 8, docs: 'xla-wasm/docs/errors.md#invalid_argument',
  }).map(([name, printed]) => [name, client(`
      try {
        client.parseHlo('HloModule m\\nENTRY e {\\n  x = f32[2] parameter(0)\\n  ROOT y = f32[3] abs(x)\\n}');
      } catch (error) {
        console.log(error.${name}); // ${printed}
      }`)])),
  readNpy: { '': using('Literal, readNpy, writeNpy', `
      const bytes = writeNpy(Literal.from([1, 2], 'f32[2]'));
      console.log((await readNpy(bytes)).toArray()); // [1, 2]`) },
  writeNpy: { '': using('Literal, writeNpy', `console.log(writeNpy(Literal.from([1, 2], 'f32[2]')).length); // 136`) },
  readNpz: { '': using('Literal, readNpz, writeNpz', `
      const bytes = writeNpz({ w: Literal.from([1, 2], 'f32[2]') });
      console.log((await readNpz(bytes)).w.toArray()); // [1, 2]`) },
  writeNpz: { '': using('Literal, readNpz, writeNpz', `
      const bytes = writeNpz({ w: Literal.from(1, 'f32[]') });
      console.log(Object.keys(await readNpz(bytes))); // ['w']`) },
  readSafetensors: { '': using('Literal, readSafetensors, writeSafetensors', `
      const bytes = writeSafetensors({ w: Literal.from([1, 2], 'bf16[2]') });
      console.log((await readSafetensors(bytes)).w.toArray()); // [1, 2]`) },
  writeSafetensors: { '': using('Literal, readSafetensors, writeSafetensors', `
      const bytes = writeSafetensors({ w: Literal.from(1, 'f32[]') });
      console.log(Object.keys(await readSafetensors(bytes))); // ['w']`) },
  loadWeights: { '': using('Literal, loadWeights, writeSafetensors', `
      const bytes = writeSafetensors({ 'fc.weight': Literal.from([[1, 2]], 'f32[1,2]') });
      const weights = await loadWeights(bytes, { map: (name, array) => [name.replace('weight', 'kernel'), array.transpose()] });
      console.log(JSON.stringify(weights)); // {`) },
  trainStep: {
    '': differentiated(`
      const fit = await trainStep(client, loss, { wrt: [0], optimiser: sgd({ learningRate: 0.1 }) });
      await fit.start([0]);
      for (let i = 0; i < 100; i++) await fit.run([]);
      console.log(fit.weights().w.toArray().toFixed(3)); // 3.000`)
      .replace('\n\n', "\nimport { sgd, trainStep } from 'xla-wasm/train';\n\n"),
  },
};

const byMethod = new Map(EXAMPLES.map((example) => [example.method, example]));

/** @returns {string | undefined} the program of an example; `member`: '' for functions, 'constructor' for `new` */
export function exampleOf(name, member) {
  if (name === 'XlaBuilder' || name === 'XlaOp') return byMethod.has(member) ? programOf(byMethod.get(member)) : undefined;
  return TABLE[name]?.[member === 'constructor' ? 'new' : member];
}

/** @returns {[string, string][]} names and programs of the examples that say what they print */
export const classExamples = () => Object.entries(TABLE).flatMap(([name, members]) =>
  Object.entries(members).map(([member, code]) => [member ? `${name}.${member}` : name, code]));
