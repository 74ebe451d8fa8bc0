/** Frequent mistakes: each error says what to write instead. And what it says works: the remedies are run, too. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';

import { guarded } from '../../bindings/base/boundary.mjs';
import { zip } from '../../bindings/formats/zip.mjs';
import { Client, Literal, openGguf, readNpy, readNpz, readSafetensors, Shape, writeNpy, writeNpz, writeSafetensors, XlaError } from '../../bindings/index.mjs';
import { sample } from '../support/sample.mjs';

let client, other, given;
const identity = (shape) => `HloModule m\nENTRY e {\n  x = ${shape} parameter(0)\n  ROOT r = ${shape} copy(x)\n}`;
const MANY = `HloModule m\nENTRY e {${['a', 'b', 'c', 'd'].map((name, i) => `\n  params__${name} = f32[2] parameter(${i})`).join('')}
  x = f32[2] parameter(4)\n  ROOT r = f32[2] add(params__a, x)\n}`;
before(async () => {
  [client, other] = [await Client.create({ threads: 0 }), await Client.create({ threads: 0 })];
  const compiled = async (shape) => client.compile(client.parseHlo(identity(shape)));
  const builder = client.builder('b');
  const disposed = { executable: await compiled('f32[3]'), buffer: client.buffer([1, 2, 3]), module: client.parseHlo(identity('f32[3]')) };
  for (const thing of Object.values(disposed)) thing.dispose();
  given = {
    vector: await compiled('f32[3]'), half: await compiled('bf16[3]'), matrix: await compiled('f32[2,3]'), batch: await compiled('f32[1,3]'),
    kernel: await compiled('f32[2,3,4,5]'), many: await client.compile(client.parseHlo(MANY)), builder, op: builder.parameter(0, 'f32[2]'),
      disposed, text: identity('f32[3]'),
    module: client.parseHlo(identity('f32[3]')),
  };
});
after(() => {
  client.dispose();
  other.dispose();
});

/** A safetensors file with this header and four bytes of data. */
const safetensorsOf = (header) => Buffer.concat([Buffer.from(BigUint64Array.of(BigInt(header.length)).buffer), Buffer.from(header), Buffer.alloc(4)]);
const three = () => Literal.from([1, 2, 3], 'f32[3]');
const column = () => Literal.from([[1, 4], [2, 5], [3, 6]], 'f32[3,2]');

/** name: [the mistake, the error's words, what the error says to write, if it can be tried by itself] */
const MISTAKES = {
  'a literal of f32 for bf16': [({ half }) => half.execute([three()]), /literal\.convert\('bf16'\)$/,
    ({ half }) => half.execute([three().convert('bf16')])],
  'a buffer of f32 for bf16': [({ half }) => half.execute([client.buffer(three())]), /buffer\.toLiteral\(\)\.convert\('bf16'\)$/,
    ({ half }) => half.execute([client.buffer(three()).toLiteral().convert('bf16')])],
  'numbers instead of a list of arguments': [({ vector }) => vector.execute([1, 2, 3]), /a list: execute\(\[\[1,2,3\]\]\)$/,
    ({ vector }) => vector.execute([[1, 2, 3]])],
  'an array instead of a list of arguments': [({ vector }) => vector.execute(Float32Array.of(1, 2, 3)), /one list: execute\(\[x\]\)$/,
    ({ vector }) => vector.execute([three()])],
  'a literal instead of a list of arguments': [({ vector }) => vector.execute(three()), /one list: execute\(\[x\]\)$/],
  'a Map of arguments': [({ vector }) => vector.execute(new Map([['x', [1, 2, 3]]])), /Object\.fromEntries\(map\)/,
    ({ vector }) => vector.execute(Object.fromEntries(new Map([['x', [1, 2, 3]]])))],
  'a promise of an argument': [({ vector }) => vector.execute([Promise.resolve([1, 2, 3])]), /await it$/],
  'a list of results as an argument': [async ({ vector }) => vector.execute([await vector.execute([[1, 2, 3]])]),
    /take the first, as in const \[y\] = await/,
    async ({ vector }) => vector.execute([(await vector.execute([[1, 2, 3]]))[0]])],
  'an argument that is undefined': [({ vector }) => vector.execute([undefined]), /the argument is missing$/],
  'a text as an argument': [({ vector }) => vector.execute(['[1, 2, 3]']), /JSON\.parse/, ({ vector }) => vector.execute([JSON.parse('[1, 2, 3]')])],
  'a transposed literal': [({ matrix }) => matrix.execute([column()]), /literal\.transpose\(\[1,0\]\)$/,
    ({ matrix }) => matrix.execute([column().transpose([1, 0])])],
  'a transposed literal of another type': [({ matrix }) => matrix.execute([column().convert('f64')]),
    /literal\.convert\('f32'\)\.transpose\(\[1,0\]\)$/,
    ({ matrix }) => matrix.execute([column().convert('f64').convert('f32').transpose([1, 0])])],
  'a transposed list': [({ matrix }) => matrix.execute([[[1, 4], [2, 5], [3, 6]]]), /Literal\.from\(value\)\.transpose\(\[1,0\]\)$/,
    ({ matrix }) => matrix.execute([Literal.from([[1, 4], [2, 5], [3, 6]]).transpose([1, 0])])],
  'dimensions in another order': [({ kernel }) => kernel.execute([Literal.zeros('f32[5,4,2,3]')]), /literal\.transpose\(\[2,3,1,0\]\)$/,
    ({ kernel }) => kernel.execute([Literal.zeros('f32[5,4,2,3]').transpose([2, 3, 1, 0])])],
  'a flat list': [({ matrix }) => matrix.execute([[1, 2, 3, 4, 5, 6]]), /a typed array of all of them fits, row-major$/,
    ({ matrix }) => matrix.execute([Float32Array.from([1, 2, 3, 4, 5, 6])])],
  'a batch of one is forgotten': [({ batch }) => batch.execute([three()]), /lacks a dimension of 1, such as a batch/],
  'a buffer of another client': [({ vector }) => vector.execute([other.buffer([1, 2, 3])]), /another client: give its values, buffer\.toLiteral\(\)/,
    ({ vector }) => vector.execute([other.buffer([1, 2, 3]).toLiteral()])],
  'a module of another client': [() => other.compile(client.parseHlo(given.text)), /another client; load it by this one$/],
  'a disposed executable': [({ disposed }) => disposed.executable.execute([[1, 2, 3]]), /Executable was disposed; compile its module again/],
  'a disposed buffer': [({ vector, disposed }) => vector.execute([disposed.buffer]), /Buffer was disposed, or donated to a run; keep the Buffers/],
  'a disposed module': [({ disposed }) => client.compile(disposed.module), /HloModule was disposed; load or build it again/],
  'compile a promise': [({ text }) => client.compile(client.load(text)), /got a Promise; await it: client\.compile\(await client\.load/,
    async ({ text }) => client.compile(await client.load(text))],
  'compile a text': [({ text }) => client.compile(text), /client\.compile\(await client\.load\(text\)\)$/],
  'compile an operation': [({ op }) => client.compile(op), /client\.compile\(builder\.build\(result\)\)$/],
  'compile a builder': [({ builder }) => client.compile(builder), /client\.compile\(builder\.build\(result\)\)$/],
  'compile an executable': [({ vector }) => client.compile(vector), /it is compiled already: call its execute\(\)$/],
  'no await before create()': [() => Client.create({ threads: 0 }).builder('b'), /^create: .* write await before it$/],
  'no await before load()': [({ text }) => client.load(text).toProto(), /^load: .* write await before it$/],
  'no await before compile()': [({ text }) => client.compile(client.parseHlo(text)).execute([[1, 2, 3]]), /^compile: .* write await before it$/],
  'an array as an operand': [({ builder, op }) => builder.add(op, [1, 2]), /constant\(value, shape\)$/,
    ({ builder, op }) => builder.add(op, builder.constant([1, 2], 'f32[2]'))],
  'a typed array as an operand': [({ op }) => op.add(Float32Array.of(1, 2)), /constant\(value, shape\)$/],
  'a literal as an operand': [({ op }) => op.add(three()), /constant\(value, shape\)$/],
  'times with an operand': [({ builder, op }) => builder.sub(op, op * 2),
    /^JavaScript's operators cannot compute with an XlaOp: write x\.mul\(2\) for x \* 2/,
    ({ builder, op }) => builder.sub(op, op.mul(2))],
  'plus with an operand': [({ builder, op }) => builder.sub(op, op + 2), /operators cannot compute with an XlaOp/],
  'a comparison of operands': [({ op }) => (op > 1 ? op : op.neg()), /x\.gt\(y\) for x > y/, ({ op }) => op.gt(1).select(op, op.neg())],
  'an operand as a JavaScript number': [({ op }) => Math.max(op, 1), /operators cannot compute with an XlaOp/],
  'arithmetic with a literal': [() => three() * 2, /operators cannot compute with a Literal: write y\.toArray\(\) for its numbers$/,
    () => three().toArray()[0] * 2],
  'arithmetic with a buffer': [() => client.buffer(3) * 2, /cannot compute with a Buffer: write y\.toArray\(\)/,
    () => client.buffer(3).toArray() * 2],
  'several results': [() => { const b = client.builder('b'); const x = b.parameter(0, 'f32[2]'); return b.build(x, x); },
    /several results are one tuple: build\(b\.tuple\(\[x, y\]\)\)$/,
    () => { const b = client.builder('b'); const x = b.parameter(0, 'f32[2]'); return b.build(b.tuple([x, x])); }],
  'a list of results': [({ builder, op }) => builder.build([op, op]), /several results are one tuple: build\(b\.tuple\(\[x, y\]\)\)$/],
  'a scan that returns the carry first': [() => {
    const b = client.builder('b');
    return b.scan(b.parameter(0, 'f32[4,3]'), b.constant(0, 'f32[]'), (f, x, c) => [c.add(f.sum(x)), x], 0);
  },
    /outputs come first, carries after them/,
      () => {
        const b = client.builder('b');
        return b.scan(b.parameter(0, 'f32[4,3]'), b.constant(0, 'f32[]'), (f, x, c) => [x, c.add(f.sum(x))], 0);
      }],
  'more devices than there are': [({ vector }) => vector.executeReplicas([[[1, 2, 3]], [[1, 2, 3]]]),
    /for 2 replicas write compile\(module, \{ replicas: 2 \}\)$/],
  'a fraction for an integer': [() => client.builder('b').parameter(0, 's32[]').mul(0.5),
    /^multiply: rhs: s32\[\] cannot hold 0\.5: .*; convert the other operand: x\.convertElementType\('f32'\)$/,
    () => client.builder('b').parameter(0, 's32[]').convertElementType('f32').mul(0.5)],
  'an operand of a builder that was built': [({ builder }) => {
    const b = client.builder('a'), x = b.parameter(0, 'f32[2]');
    b.build(x);
    return builder.parameter(1, 'f32[2]').add(x);
  },
    /rhs is an XlaOp of builder "a"; .* of its own builder, "b": the other one was built already$/],
  'a builder that was built': [() => { const b = client.builder('a'), x = b.parameter(0, 'f32[2]'); b.build(x); return x.add(1); },
    /^builder "a" was built already: begin another one, client\.builder\(\)$/],
  'an operand of another client': [({ op }) => op.add(other.builder('o').parameter(0, 'f32[2]')),
    /of its own builder, "b": they are of two clients$/],
  'a program instead of weights': [() => readSafetensors(new TextEncoder().encode('ML\u00efR is not written so')), /this is no safetensors file$/],
  'weights that are cut off': [() => readSafetensors(writeSafetensors({ a: Literal.zeros('f32[100]') }).subarray(0, 300)),
    /a would end at byte 400 of the data, which ends at 228: is the file whole\?$/],
  'weights that are cut off in their header': [() => readSafetensors(writeSafetensors({ a: Literal.zeros('f32[100]') }).subarray(0, 40)),
    /this is a safetensors file that is cut off$/],
  'weights of Git LFS': [() => openGguf(new TextEncoder().encode('version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n')),
    /^openGguf: this is a pointer of Git LFS: git lfs pull fetches its file$/],
  'a program of Git LFS': [() => client.load('version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n'),
    /a pointer of Git LFS, not a program: git lfs pull fetches its file$/],
  'weights of no bytes': [() => readSafetensors(new Uint8Array()), /^readSafetensors: the source is empty$/],
  'a tensor without a shape': [() => readSafetensors(safetensorsOf('{"a":{"dtype":"F32","data_offsets":[0,4]}}')),
    /^readSafetensors: a: its shape must be an array of sizes; got undefined$/],
  'a list instead of tensors': [() => readSafetensors(safetensorsOf('[]')), /^readSafetensors: the header is no JSON object$/],
  'an array that is cut off in its header': [() => readNpy(writeNpy(Literal.zeros('f32[2]')).subarray(0, 11)),
    /^readNpy: the file ends within its header: is it whole\?$/],
  'a zip with an array that is cut off': [() => readNpz(zip([{ name: 'a.npy', content: writeNpy(Literal.zeros('f32[2]')).subarray(0, 130) }])),
    /^readNpz: a\.npy: the file ends before its 2 elements do: is it whole\?$/],
  'a disposed argument': [({ vector }) => {
    const x = client.buffer([1, 2, 3], 'f32[3]');
    x.dispose();
    return vector.execute([x]);
  },
    /^execute: argument 0 \(x\): this Buffer was disposed, or donated to a run; keep the Buffers that a run returns instead$/],
  'a type as a name': [() => client.parseHlo('HloModule m\nENTRY e {\n  s2 = f32[] parameter(0)\n  ROOT r = f32[] tanh(s2)\n}'),
    /^expected an instruction or '\}', found s2; as a name it is written %s2 \(line 3, column 3\)$/,
    () => client.parseHlo('HloModule m\nENTRY e {\n  %s2 = f32[] parameter(0)\n  ROOT r = f32[] tanh(%s2)\n}')],
  'a run that is aborted at once': [({ vector }) => {
    const abort = new AbortController();
    const run = vector.execute([[1, 2, 3]], { signal: abort.signal });
    abort.abort();
    return run;
  },
    /^the run was cancelled$/],
  'a run whose client is disposed': [async () => {
    const c = await Client.create({ threads: 0 });
    const e = await c.compile(c.parseHlo(given.text));
    const run = e.execute([[1, 2, 3]]);
    c.dispose();
    return run;
  },
    /^the client was disposed$/],
  'numpy\'s name of a method': [({ op }) => op.multiply(2), /^multiply: there is no multiply; did you mean mul\?$/, ({ op }) => op.mul(2)],
  'numpy\'s name of an operation': [({ builder, op }) => builder.subtract(op, op), /there is no subtract; did you mean sub\?$/,
    ({ builder, op }) => builder.sub(op, op)],
  'a misspelt operation': [({ builder, op }) => builder.reshap(op, [2, 1]), /there is no reshap; did you mean reshape\?$/,
    ({ builder, op }) => builder.reshape(op, [2, 1])],
  'reshape to -1': [({ builder, op }) => builder.reshape(op, [-1]), /give the number instead of -1$/],
  'an element type as a shape': [({ builder }) => builder.constant([[1, 2], [3, 4]], 's32'), /the shape is s32\[2,2\]$/,
    ({ builder }) => builder.constant([[1, 2], [3, 4]], 's32[2,2]')],
  'donate a name that is none': [({ vector }) => vector.execute([[1, 2, 3]], { donate: ['y'] }), /donate: no parameter is named "y"/,
    ({ vector }) => vector.execute([[1, 2, 3]], { donate: ['x'] })],
  'a promise among named arguments': [({ vector }) => vector.execute({ x: Promise.resolve([1, 2, 3]) }), /x is a Promise: await it$/],
  'a promise of a whole tree': [({ vector }) => vector.execute({ variables: Promise.resolve({}) }), /variables is a Promise: await it$/],
  'a named literal of f64': [({ vector }) => vector.execute({ x: three().convert('f64') }), /literal\.convert\('f32'\)$/,
    ({ vector }) => vector.execute({ x: three().convert('f64').convert('f32') })],
  'arguments one by one': [({ vector }) => vector.execute([1, 2, 3], [4, 5, 6]), /the arguments are one list: execute\(\[a, b\]\)$/],
  'a gradient of a promise': [({ text }) => client.gradient(client.load(text)), /got a Promise; await it$/],
  'reduce by sum': [({ builder, op }) => builder.reduce(op, 0, 'sum', [0]), /did you mean "add"\?$/,
    ({ builder, op }) => builder.reduce(op, 0, 'add', [0])],
  'reduce by prod': [({ builder, op }) => builder.reduce(op, 1, 'prod', [0]), /did you mean "mul"\?$/,
    ({ builder, op }) => builder.reduce(op, 1, 'mul', [0])],
  'all-reduce by sum': [({ builder, op }) => builder.allReduce(op, 'sum'), /did you mean "add"\?$/,
    ({ builder, op }) => builder.allReduce(op, 'add')],
  'all-reduce by mean': [({ builder, op }) => builder.allReduce(op, 'mean'), /use "add", and divide by the count$/],
  'reduce by a misspelt operation': [({ builder, op }) => builder.reduce(op, 0, 'ad', [0]), /did you mean computation: "add"\?$/],
  'a misspelt operation in HLO text': [() => client.parseHlo(given.text.replace('copy', 'coppy')),
    /no operation called coppy; did you mean copy\? \(line 4, column 19\)$/],
  'a short word that is no operation': [() => client.parseHlo(given.text.replace('copy', 'sum')),
    /there is no operation called sum \(line 4, column 19\)$/],
  'a misspelt operation in StableHLO': [() =>
    client.load('func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %y = stablehlo.cosin %x : tensor<2xf32>\n  return %y : tensor<2xf32>\n}'),
    /did you mean stablehlo\.cosine\? \(line 2, column 3\)$/],
  'an element type of Python in HLO text': [() => client.parseHlo(given.text.replace('f32[3] p', 'float[3] p')),
    /float is no element type, as f32, s32 and pred are \(line 3, /],
  'an element type of Python in StableHLO': [() =>
    client.load('func.func @main(%x: tensor<2xint>) -> tensor<2xi32> {\n  return %x : tensor<2xi32>\n}'), /did you mean i32\? \(line 1, /],
  'a dot without dimensions': [() =>
    client.parseHlo('HloModule m\nENTRY e {\n  x = f32[2,3] parameter(0)\n  y = f32[3,4] parameter(1)\n  ROOT r = f32[2,4] dot(x, y)\n}'),
    /lhs_contracting_dims is missing/],
  'a misspelt clause of dot_general': [() => client.load(`func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = stablehlo.dot_general %x, %x, contracting_dim = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}`),
    /dot_general has no contracting_dim; did you mean contracting_dims\?/],
  'a page instead of weights': [() => readSafetensors(new TextEncoder().encode('<!doctype html><html></html>')),
    /this is an HTML page: was the address not found \(404\)\?$/],
  'a page instead of an array': [() => readNpy(new TextEncoder().encode('<html><head></head></html>')),
    /this is an HTML page: was the address not found \(404\)\?$/],
  'one argument of many': [({ many }) => many.execute([[1, 2, 3]]),
    /an array of 5 arguments \(params__a: f32\[2\], .* and 1 more\); got 1; by name it is execute\(\{ params, x \}\)$/,
    ({ many }) => many.execute({ params: { a: [1, 2], b: [1, 2], c: [1, 2], d: [1, 2] }, x: [1, 2] })],
  'an array of many arguments': [({ many }) => many.execute(Float32Array.of(1, 2)), /by name it is execute\(\{ params, x \}\)$/],
  'a batch of another size': [({ matrix }) => matrix.execute([[[1, 2, 3]]]),
    /^execute: argument 0 \(x\): .*; the program is for 2 in dimension 0; if that is a batch, /],
  'execute() of a module': [({ text }) => client.parseHlo(text).execute([[1, 2, 3]]),
    /^HloModule has no execute: compile it first: \(await client\.compile\(module\)\)\.execute\(args\)$/,
    async ({ text }) => (await client.compile(client.parseHlo(text))).execute([[1, 2, 3]])],
  'data of a buffer': [() => client.buffer([1, 2, 3]).data, /^Buffer has no data: write y\.toLiteral\(\)\.data for a copy/,
    () => client.buffer([1, 2, 3]).toLiteral().data],
  'no await before execute()': [({ vector }) => { const [y] = vector.execute([[1, 2, 3]]); return y; },
    /^execute: execute\(\) gives a promise: write await before it$/],
  'a row without broadcast_dimensions': [({ builder }) => {
    const x = builder.parameter(7, 'f32[2,3,4]');
    return x.add(builder.parameter(8, 'f32[2,4]'));
  }, /pass broadcast_dimensions \[0,2\] or reshape/,
    () => { const b = client.builder('b'); return b.parameter(0, 'f32[2,3,4]').add(b.parameter(1, 'f32[2,4]'), [0, 2]); }],
  'a row that fits nowhere': [() => { const b = client.builder('b'); return b.parameter(0, 'f32[2,3,4]').add(b.parameter(1, 'f32[4,2]')); },
    /pass broadcast_dimensions or reshape/],
  'PyTorch\'s sigmoid': [({ op }) => op.sigmoid(), /^sigmoid: there is no sigmoid; did you mean logistic\?$/, ({ op }) => op.logistic()],
  'a number where only operands are': [({ builder }) => builder.exp(1),
    /^exponential: operand must be an XlaOp; got 1; make an operand of it by constant\(value, shape\)$/,
    ({ builder }) => builder.exp(builder.constant(1, 'f32[]'))],
  'dimensions one by one': [({ op }) => op.reshape(2, 1), /an array is written in \[ \]: \[2, \.\.\.\]$/, ({ op }) => op.reshape([2, 1])],
  'a permutation one by one': [({ builder }) => builder.constant([[1]], 'f32[1,1]').transpose(1, 0), /an array is written in \[ \]: \[1, \.\.\.\]$/],
  'readNpz() of one array': [() => readNpz(writeNpy(three())), /^readNpz: this is a NumPy array: readNpy\(\) reads it$/,
    () => readNpy(writeNpy(three()))],
  'readNpy() of several': [() => readNpy(writeNpz({ a: three() })), /this is NumPy arrays in a zip \(\.npz\): readNpz\(\) reads it$/],
  'readNpz() of safetensors': [() => readNpz(writeSafetensors({ a: three() })), /this is a safetensors file: readSafetensors\(\) reads it$/],
  'readSafetensors() of GGUF': [() => readSafetensors(new TextEncoder().encode('GGUF\x03'.padEnd(40, '\0'))), /this is a GGUF file: openGguf\(\) reads it$/],
  'readSafetensors() of a zip': [() => readSafetensors(writeNpz({ a: three() })), /readNpz\(\) reads it$/],
  'an empty source': [() => client.load(new Uint8Array(0)), /^load: the source is empty$/],
  'an element type in numpy\'s words': [({ builder, op }) => builder.convertElementType(op, 'float64'), /did you mean f64\?$/],
};

test('properties that libraries look for are not there', async () => {
  for (const thing of [given.op, given.builder]) {
    for (const name of ['then', 'toJSON', 'length', 'get', 'size', 'type', 'end', 'at', 'keys', 'ref', 'next', 'nodeType',
      'asymmetricMatch', '$$typeof', 'toLiteral', 'executeReplicas', 'inLayout']) {
      assert.equal(thing[name], undefined, name);
    }
    assert.ok(thing instanceof Object && !('then' in thing));
    assert.equal(await thing, thing);
  }
});

test('a run that ends with its client is CANCELLED, with threads or without', async () => {
  for (const threads of [0, 2]) {
    const ending = await Client.create({ threads });
    const executable = await ending.compile(ending.parseHlo(given.text));
    const run = executable.execute([[1, 2, 3]]);
    ending.dispose();
    await assert.rejects(run, { code: 'CANCELLED' });
  }
});

test('a part of the package that cannot be imported is UNAVAILABLE', () => assert.rejects(
  guarded(async () => import('./no-such-part.mjs'), 'load')(),
    { code: 'UNAVAILABLE', operation: 'load', message: /^load: a file of the package cannot be loaded: Cannot find module/ }));

test('operands, literals and buffers in texts and consoles', () => {
  assert.equal(`${given.op}`, 'f32[2] p0');
  assert.equal(String([given.op]), 'f32[2] p0');
  assert.equal(`${three()}` + three(), 'f32[3] {1, 2, 3}'.repeat(2));
  assert.match(inspect([given.op, three(), client.buffer(1)]), /XlaOp \{ f32\[2\] p0 \}/);
});

describe('each mistake is told with its remedy', () => {
  for (const [name, [mistake, words, remedy]] of Object.entries(MISTAKES)) {
    test(name, async () => {
      const error = await (async () => mistake(given))().then(() => assert.fail('it is accepted'), (thrown) => thrown);
      assert.ok(error instanceof XlaError, error.stack);
      assert.match(error.message, words);
      await remedy?.(given);
    });
  }
});

describe('shapes in other words', () => {
  const SHAPES = {
    'float32[2]': 'f32[2]', 'int64[2,3]': 's64[2,3]', 'f32(2,3)': 'f32[2,3]', 'float32(2, 3)': 'f32[2,3]', 'tensor<2x3xf32>': 'f32[2,3]',
      'tensor<i32>': 's32[]',
    '2x3xbf16': 'bf16[2,3]', f32: 'f32[]', bool: 'pred[]', '(2, 3)': 'f32[2,3]', 'bfloat16[4]': 'bf16[4]',
  };
  for (const [given, meant] of Object.entries(SHAPES)) {
    test(given, () => {
      assert.throws(() => Shape.parse(given), (error) => error instanceof XlaError && error.message.endsWith(`did you mean ${meant}?`));
      assert.equal(String(Shape.parse(meant)), meant);
    });
  }
  test('a list of sizes', () => assert.throws(() => client.builder().parameter(0, [2, 3]), /did you mean "f32\[2,3\]"\?$/));
  test('nothing is suggested for what is no shape', () => {
    for (const text of ['', 'x', '[]', 'f33[2]', 'tensor<2x3>', 'f32[2', '2x3']) {
      assert.throws(() => Shape.parse(text), (error) => error instanceof XlaError && !/did you mean(?! f(16|32|64)\[2\]\?$)/.test(error.message),
        text);
    }
  });
});

describe('convert() and transpose() of literals', () => {
  test('convert by value, and refuse values that the type does not hold', () => {
    assert.deepEqual(Literal.from([1.5, -2, 1 + 2 ** -9], 'f32[3]').convert('bf16').toArray(), [1.5, -2, 1]);
    assert.deepEqual(Literal.from([1, 2], 'f32[2]').convert('s64').toArray(), [1n, 2n]);
    assert.deepEqual(Literal.from([1n, 2n], 's64[2]').convert('f32').toArray(), [1, 2]);
    assert.deepEqual(Literal.from([true, false], 'pred[2]').convert('s32').toArray(), [1, 0]);
    assert.deepEqual(Literal.from([1, 2], 'f32[2]').convert('c64').toArray(), [[1, 0], [2, 0]]);
    assert.throws(() => Literal.from([1.5], 'f32[1]').convert('s32'), /cannot hold 1\.5, which is entry 0: it holds whole numbers/);
    assert.throws(() => Literal.from([300], 's32[1]').convert('u8'), /cannot hold 300/);
    assert.throws(() => three().convert('float16'), /did you mean f16\?/);
    assert.throws(() => Literal.tuple([three()]).convert('f32'), /is no array/);
  });

  test('transpose as XLA does, of any layout', async () => {
    const b = client.builder('transpose');
    const exe = await client.compile(b.build(b.transpose(b.parameter(0, 'f32[2,3,4]'), [2, 0, 1])));
    const value = Literal.from(Float32Array.from({ length: 24 }, (_, i) => i), 'f32[2,3,4]');
    const [expected] = await exe.execute([value]);
    for (const from of [value, value.inLayout([0, 2, 1]), value.inLayout([0, 1, 2])]) {
      assert.equal(String(from.transpose([2, 0, 1])), String(expected));
    }
    const pairs = Literal.from([[[1, 2], [3, 4]]], 'c64[1,2]').transpose();
    assert.deepEqual(pairs.toArray(), [[[1, 2]], [[3, 4]]]);
    for (const wrong of [[0, 1], [0, 0, 1], [0, 1, 3], 'x', [2, 1, 0.5]]) {
      assert.throws(() => value.transpose(wrong), /permutation must be an array that names each of the 3 dimensions of f32\[2,3,4\] once/);
    }
  });
});

/* ---- Values of every kind, to every public function ---- */

const revoked = (target) => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
const transferred = (view) => {
  structuredClone(view.buffer ?? view, { transfer: [view.buffer ?? view] });
  return view;
};
const bad = () => { throw new Error('a getter of the caller'); };
/** Made once: collecting thousands of such lists would take most of the time of this file. */
const DEEP_LIST = Array.from({ length: 1e5 }).reduce((list) => [list], []);
/** @type {Record<string, () => any>} */
const ODD_VALUES = {
  'undefined': () => undefined, 'null': () => null, 'NaN': () => NaN, 'a huge number': () => 2 ** 60, 'a huge bigint': () => 10n ** 30n,
    'a symbol': () => Symbol('s'),
  'a long text': () => 'x'.repeat(1e6), 'a function': () => () => 1, 'an object': () => ({}),
    'an object without a prototype': () => Object.create(null),
  'a sparse array': () => new Array(1e9), 'a sparse array with an end': () => Object.assign([], { 5e7: 1 }),
    'nothing in an array': () => [null, undefined],
  'lists of other sizes': () => [[1], [2, 3]], 'a part of itself': () => { const list = []; list.push(list); return list; },
    'a deep list': () => DEEP_LIST,
  'a Map': () => new Map([[1, 2]]), 'a Set': () => new Set([1]), 'a Date': () => new Date(0), 'a DataView': () => new DataView(new ArrayBuffer(12)),
    'memory': () => new ArrayBuffer(12),
  'frozen numbers': () => Object.freeze([1, 2, 3]), 'a frozen object': () => Object.freeze({ a: 1 }),
    'a Proxy of numbers': () => new Proxy([1, 2, 3], {}),
  'a Proxy that throws': () => new Proxy([], { get: bad }), 'a Proxy without keys': () => new Proxy({}, { ownKeys: bad }),
    'a revoked list': () => revoked([]), 'a revoked object': () => revoked({}),
  'getters that throw': () => ({ get a() { return bad(); }, get length() { return bad(); }, get shape() { return bad(); },
    get elementType() { return bad(); } }),
  'an element that throws': () => Object.defineProperty([1, 2, 3], 1, { get: bad }),
    'text that throws': () => ({ toString: bad, [Symbol.toPrimitive]: bad }),
  'numbers of no memory': () => transferred(new Float32Array(3)), 'no memory': () => transferred(new ArrayBuffer(12)),
    'a class of arrays': () => (class extends Array {}).from([1, 2, 3]),
  'a class of typed arrays': () => new (class extends Float32Array {})(3), 'a length only': () => ({ length: 1e9 }),
    'a negative length': () => ({ length: -1 }), 'a generator': () => (function* () { yield 1; })(),
  'a huge shape': () => 'f32[99999999999]', 'a huger shape': () => 'f32[9999999,9999999,9999999]', 'no Shape': () => Object.create(Shape.prototype),
    'no Literal': () => Object.create(Literal.prototype),
  'no Buffer': () => Object.create(Object.getPrototypeOf(client.buffer(1))), 'a promise': () => Promise.resolve(1), 'a class': () => Literal,
};
const FORMS = [(value) => [value], (value) => ['f32[3]', value], (value) => [[1, 2, 3], value], (value) => [[value]],
  (value) => [{ a: value }], (value) => [given.op, value],
  (value) => [given.module, value], (value) => [given.module, { wrt: value, size: value, of: value, threads: value }],
    (value) => [[{ executable: given.vector, args: value }], {}]];

/** What the engine says of the inside of a function; not what a getter of the caller's says. */
const INSIDE = /Cannot read propert|is not iterable|is not a function|Invalid (array|typed array|string) length|of undefined\b|of null\b|Cannot convert|Maximum call stack|detached ArrayBuffer|Cannot mix|private member|incompatible receiver/;
const SLOWEST = 1000; // ms of processor time

/** A promise, or an error if it is not settled in time. */
async function soon(promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve(new Error('no answer')), 10_000); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function methodsOf(thing, name) {
  const names = new Set();
  for (let at = thing; at && at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at)) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) if (typeof value === 'function') names.add(key);
  }
  return [...names].filter((key) =>
    !/^(constructor|dispose|registerCustomCall|registerGradient|prototype|transferFromOutfeed)$/.test(key)).map((key) =>
      [`${name}.${key}`, (...args) => thing[key](...args)]);
}

describe('sizes, memory and objects that do not fit', () => {
  const CASES = {
    'a sparse list of arguments': [({ vector }) => vector.execute(new Array(1e9)),
      /args needs an array of 1 arguments \(x: f32\[3\]\); got 1000000000$/],
    'a sparse argument': [({ vector }) => vector.execute([new Array(1e9)]), /f32\[3\] needs 3 elements in dimension 0; got 1000000000/],
    'a sparse argument by its name': [({ vector }) => vector.execute({ x: new Array(1e9) }),
      /f32\[3\] needs 3 elements in dimension 0; got 1000000000/],
    'a sparse literal': [() => Literal.from(new Array(1e9)), /^literal: element 0 of an array of 1000000000 is missing$/],
    'a long text of arguments': [({ vector }) => vector.execute('x'.repeat(1e6)), /args needs an array of 1 arguments/],
    'many numbers as arguments': [({ vector }) => vector.execute(new Float32Array(2e7)), /the arguments are one list: execute\(\[x\]\)$/],
    'a DataView': [() => client.buffer(new DataView(new ArrayBuffer(12)), 'f32[3]'),
      /got a DataView, whose elements have no type: give a typed array of its buffer$/],
    'a shape that no array holds': [() => Literal.zeros('f32[99999999999]'),
      /^literal: f32\[99999999999\] is too large: its 399999999996 bytes are more than an array holds here$/],
    'no Buffer': [() => client.buffer(Object.create(Object.getPrototypeOf(client.buffer(1)))),
      /the object does not fit; objects of this package's classes must be made by it/],
    'memory that was transferred': [() => readNpz(transferred(new ArrayBuffer(12))),
      /^readNpz: the arguments do not fit: got an ArrayBuffer; .* memory must not have been transferred away$/],
  };
  for (const [name, [mistake, words]] of Object.entries(CASES)) {
    test(name, async () => {
      const began = process.cpuUsage();
      const error = await (async () => mistake(given))().then(() => assert.fail('it is accepted'), (thrown) => thrown);
      assert.ok(process.cpuUsage(began).user < SLOWEST * 1000);
      assert.ok(error instanceof XlaError, error.stack);
      assert.match(error.message, words);
    });
  }
});

describe('values of every kind: an XlaError soon, in words of the caller', () => {
  const things = () => ({
    Literal, Shape, module: client.parseHlo(given.text), literal: three(), buffer: client.buffer([1, 2, 3]), shape: Shape.of('f32[3]'),
    executable: given.vector, operand: given.op, builder: client.builder('c'), client, Client,
  });
  for (const name of ['Literal', 'Shape', 'module', 'literal', 'buffer', 'shape', 'executable', 'operand', 'builder', 'client', 'Client']) {
    test(name, { timeout: 240_000 }, async () => {
      const faults = new Map();
      // A builder's operations are an operand's, too: of both, each method is asked with a part of the values, the next with another.
      const every = ['builder', 'operand'].includes(name) ? 3 : 1;
      for (const [turn, [method, call]] of methodsOf(things()[name], name).entries()) {
        for (const [value, make] of sample(Object.entries(ODD_VALUES), every, turn % every)) {
          for (const form of FORMS) {
            const args = form(make()), began = process.cpuUsage();
            const error = await soon((async () => call(...args))().then(() => undefined, (thrown) => thrown));
            const { user, system } = process.cpuUsage(began), ms = (user + system) / 1000;
            const message = error instanceof XlaError ? error.message : error && `not an XlaError: ${error.stack}`;
            const isCallers = message?.includes('cannot be read (');
            const fault = ms > SLOWEST ? `${Math.round(ms)} ms` : message && !isCallers && (INSIDE.test(message) || !(error instanceof XlaError))
              ? message : undefined;
            if (fault) faults.set(`${method}: ${value}`, fault.slice(0, 200));
          }
        }
      }
      assert.deepEqual(Object.fromEntries([...faults].slice(0, 10)), {});
    });
  }
});
