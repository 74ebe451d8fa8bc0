/** Weights: files in and out, arguments by name, and large constants of programs. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { deflateRawSync, gzipSync } from 'node:zlib';

import { readArguments } from '../../bindings/cli/files.mjs';
import {
  Client, Literal, loadWeights, readNpy, readNpz, readSafetensors, writeNpy, writeNpz, writeSafetensors, XlaError,
} from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const literals = {
  'params.w1': Literal.from([[1, 2.5, -3], [4, 5, 6]], 'f32[2,3]'),
  'steps': Literal.from(7n, 's64[]'),
  'flags': Literal.from([true, false, true], 'pred[3]'),
  'half': Literal.from([1, -2], 'bf16[2]'),
  'z': Literal.from([[1, 2]], 'c64[1]'),
  'none': Literal.from([], 'u16[0]'),
};
const plain = (map) => Object.fromEntries(Object.entries(map).map(([name, literal]) => [name, String(literal)]));

describe('files', () => {
  test('safetensors', async () => {
    const bytes = writeSafetensors(literals, { made: 'here' });
    assert.deepEqual(plain(await readSafetensors(bytes)), plain(literals));
    // From a place that no element type is aligned to.
    const moved = new Uint8Array(bytes.length + 1);
    moved.set(bytes, 1);
    assert.deepEqual(plain(await readSafetensors(moved.subarray(1))), plain(literals));
  });

  test('elements below a byte are packed in safetensors, and a byte each in npy', async () => {
    const packed = {
      a: Literal.from([1, -8, 7], 's4[3]'), b: Literal.from([[1, 2], [3, 0]], 'u2[2,2]'), c: Literal.from([0.5, -6], 'f4e2m1fn[2]'),
    };
    const bytes = writeSafetensors(packed);
    assert.deepEqual([...bytes.subarray(-4)], [0x81, 0x07, 0x39, 0xf1]);
    assert.match(new TextDecoder().decode(bytes), /"c":{"dtype":"F4","shape":\[2\],"data_offsets":\[3,4\]}/);
    assert.deepEqual(plain(await readSafetensors(bytes)), plain(packed));
    for (const literal of Object.values(packed)) {
      const file = writeNpy(literal), { elementType, elementCount } = literal.shape;
      assert.deepEqual([...file.subarray(-elementCount)].map((byte) => byte & 15), [...literal.data].map((byte) => byte & 15));
      if (elementType !== 'f4e2m1fn') assert.equal(String(await readNpy(file, { elementType })), String(literal));
    }
  });

  test('metadata of safetensors are strings by name', () => {
    for (const metadata of [new Uint8Array(3), ['x'], 'x', 5, new Map([['a', 'b']])]) {
      assert.throws(() => writeSafetensors({}, metadata), /metadata must be an object of strings by name; got/);
    }
    assert.throws(() => writeSafetensors({}, { made: 5 }), /metadata\.made must be a string; got 5/);
  });

  test('npy and npz', async () => {
    const { half, ...others } = literals;
    for (const literal of Object.values(others)) {
      assert.equal(String(await readNpy(writeNpy(literal))), String(literal));
    }
    assert.equal(String(await readNpy(new Blob([writeNpy(half)]), { elementType: 'bf16' })), String(half));
    assert.deepEqual(plain(await readNpz(writeNpz(others))), plain(others));
  });

  test('compressed npz', async () => {
    const content = writeNpy(literals['params.w1']);
    const packed = deflateRawSync(content);
    const stored = writeNpz({ w: literals['params.w1'] });
    const view = Buffer.from(stored);
    // The same zip with the method, sizes and bytes of a compressed one.
    const at = view.indexOf(Buffer.from(content));
    const head = view.subarray(0, at);
    const tail = Buffer.from(view.subarray(at + content.length));
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(packed.length, 18);
    tail.writeUInt16LE(8, 10);
    tail.writeUInt32LE(packed.length, 20);
    tail.writeUInt32LE(at + packed.length, tail.length - 6);
    const { w } = await readNpz(Buffer.concat([head, packed, tail]));
    assert.equal(String(w), String(literals['params.w1']));
  });

  test('progress of a Response', async () => {
    const bytes = writeSafetensors(literals);
    const seen = [];
    const response = new Response(bytes, { headers: { 'content-length': String(bytes.length) } });
    const read = await readSafetensors(response, { onProgress: (...progress) => seen.push(progress) });
    assert.deepEqual(plain(read), plain(literals));
    assert.deepEqual(seen.at(-1), [bytes.length, bytes.length]);
  });

  test('other files are refused, and a changed byte does no harm', async () => {
    await assert.rejects(readNpz(new Uint8Array(30)), /no \.npz file/);
    await assert.rejects(readSafetensors(new Uint8Array(30)), /no JSON|no safetensors/);
    await assert.rejects(readNpy(5), /readNpy: source must be bytes, a Blob/);
    await assert.rejects(readNpy('/no/such'), /readNpy: cannot read \/no\/such/);
    for (const [bytes, read] of [[writeNpz(literals), readNpz], [writeSafetensors(literals), readSafetensors]]) {
      for (let i = 0; i < bytes.length; i++) {
        const changed = bytes.slice();
        changed[i] ^= 1 << (i % 8);
        await read(changed).catch((error) => assert.ok(error instanceof XlaError, error.stack));
        if (i % 7 === 0) await read(bytes.subarray(0, i)).catch((error) => assert.ok(error instanceof XlaError, error.stack));
      }
    }
  });
});

describe('arguments by name', () => {
  const text = `func.func @main(%0: tensor<2xf32> loc("params['w1']"), %1: tensor<f32> loc("params['layers'][0]"),
      %2: tensor<2xf32> loc("x")) -> tensor<2xf32> {
    %3 = stablehlo.multiply %0, %2 : tensor<2xf32>
    %4 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %5 = stablehlo.add %3, %4 : tensor<2xf32>
    return %5 : tensor<2xf32>
  }`;

  test('trees, and paths in names', async () => {
    const executable = await client.compile(await client.load(text));
    for (const args of [
      { x: [10, 20], params: { w1: [1, 2], layers: [5] } },
      { x: [10, 20], 'params.w1': [1, 2], 'params.layers.0': 5 },
      [[1, 2], 5, [10, 20]],
    ]) {
      assert.deepEqual((await executable.execute(args))[0].toArray(), [15, 45]);
      assert.deepEqual((await executable.executeReplicas([args]))[0][0].toArray(), [15, 45]);
    }
    await assert.rejects(executable.execute({ x: [1, 2] }), /no argument is named params__w1__: f32\[2\], params__layers___0_: f32\[\]/);
    await assert.rejects(
      executable.execute({ x: [1, 2], params: { w1: [1, 2], layers: [5] }, y: 1 }),
      /there is no parameter y; there are/);
  });
});

/* [name of the parameter, name that is given, whether they belong together] */
const NAMES = [
  ['params__w__.1', "params['w']", true],
  ['params__w__.1', 'params/w', true],
  ['variables__params____Dense_0____kernel__', 'params.Dense_0.kernel', true], // Flax, saved without its top
  ['params_0_', 'params.0', true], // a list of JAX
  ['_layers__0_.weight', 'layers.0.weight', true], // Equinox
  ['state__model__layers____0____kernel__', 'layers.0.kernel', true], // NNX
  ['p_fc1_weight', 'fc1.weight', true], // torch.export
  ['fc1.weight', 'model.fc1.weight', true], // the file has more in front
  ['dense_kernel', 'kernel', true],
  ['subkernel', 'kernel', false], // no boundary
  ['kernel', 'kernels', false],
  ['kernel_0', 'kernel', false], // a beginning is no end
];

describe('one rule for names, in execute() and in the command line', () => {
  const programOf = (name) => `HloModule names\nENTRY e {\n  ${name} = f32[2] parameter(0)\n  ROOT r = f32[2] add(${name}, ${name})\n}`;
  for (const [parameter, given, belong] of NAMES) {
    test(`${parameter}, ${given}`, async () => {
      const executable = await client.compile(client.parseHlo(programOf(parameter)));
      const run = executable.execute({ [given]: Float32Array.of(1, 2) });
      const read = () => readArguments([`${given}=[1, 2]`], executable.parameters);
      const isPath = /[[\]/]/.test(given); // in an --input
      if (!belong) {
        await assert.rejects(run, /no argument is named/);
        await assert.rejects(read(), /there is no parameter/);
        return;
      }
      assert.deepEqual((await run)[0].toArray(), [2, 4]);
      if (!isPath) assert.deepEqual((await read())[0].toArray(), [1, 2]);
    });
  }

  const two = `HloModule two\nENTRY e {
    params__a____w__ = f32[2] parameter(0)
    params__b____w__ = f32[3] parameter(1)
    ROOT r = (f32[2], f32[3]) tuple(params__a____w__, params__b____w__)\n}`;

  test('a name that could mean several is refused', async () => {
    const executable = await client.compile(client.parseHlo(two));
    const [a, b] = [Float32Array.of(1, 2), Float32Array.of(1, 2, 3)];
    await assert.rejects(executable.execute({ w: a, 'b.w': b }), /the name w can mean|match the name/);
    await assert.rejects(executable.execute({ 'a.w': a, 'y.params.a.w': a.slice(), 'b.w': b }), /2 arguments match the name params__a____w__: /);
    assert.equal((await executable.execute({ 'a.w': a, 'b.w': b })).length, 2);
    assert.equal((await executable.execute({ params: { 'a.w': a, 'b.w': b, 'c.w': b } })).length, 2, 'a tree may hold more');
  });

  test('an error lists wanted and given arguments, with shapes', async () => {
    const executable = await client.compile(client.parseHlo(two));
    const weights = { 'a.w': Literal.from([1, 2], 'f32[2]'), 'B.w_': Literal.from([1, 2, 3], 'f32[3]'), other: Literal.from(1, 's32[]') };
    const error = await executable.execute(weights).catch((e) => e);
    assert.match(error.message, /no argument is named params__b____w__: f32\[3\]; the nearest given names are B\.w_, other;/);
    for (const row of ['params__b____w__: f32\\[3\\] +missing', 'params__a____w__: f32\\[2\\] +a\\.w: f32\\[2\\]', 'not used +B\\.w_: f32\\[3\\]',
      'not used +other: s32\\[\\]']) {
      assert.match(error.message, new RegExp(row));
    }
    const file = join(tmpdir(), `names-${process.pid}.safetensors`);
    await writeFile(file, writeSafetensors(weights));
    await assert.rejects(readArguments([file], executable.parameters), (thrown) => thrown.message.includes(error.message.replace('execute: ', '')));
    await rm(file);
  });

  test('a tree that is a part of itself is looked at once', async () => {
    const executable = await client.compile(client.parseHlo(two));
    const tree = {};
    Object.assign(tree, { p: tree, q: tree, r: tree });
    await assert.rejects(executable.execute(tree), /no argument is named/);
  });
});

describe('loadWeights', () => {
  const some = { 'a.weight': Literal.from([[1, 2], [3, 4], [5, 6]], 'f32[3,2]'), 'a.bias': Literal.from([1, 2, 3], 'f32[3]') };

  test('reads both formats, and calls map for each array', async () => {
    for (const file of [writeNpz(some), writeSafetensors(some)]) {
      assert.deepEqual(plain(await loadWeights(file)), plain(some));
      const seen = [];
      const mapped = await loadWeights(file, { map: (name, literal) => {
        seen.push(`${name}: ${literal.shape}`);
        return name === 'a.bias' ? null : [name.replace('weight', 'kernel'), literal.transpose()];
      } });
      assert.deepEqual(seen.sort(), ['a.bias: f32[3]', 'a.weight: f32[3,2]']);
      assert.deepEqual(plain(mapped), plain({ 'a.kernel': some['a.weight'].transpose() }));
    }
  });

  test('wrong results of map are named, its own errors are causes', async () => {
    const file = writeSafetensors(some);
    await assert.rejects(loadWeights(file, { map: (name) => name }), /map must return \[name, literal\].*got "a\.weight" for a\.weight/);
    await assert.rejects(loadWeights(file, { map: (_, literal) => ['same', literal] }), /map gives two arrays the name same/);
    await assert.rejects(loadWeights(file, { map: () => { throw new TypeError('mine'); } }), (error) => error instanceof XlaError &&
      /mine$/.test(error.message) && error.cause instanceof TypeError);
    await assert.rejects(loadWeights(file, { map: 5 }), /map must be a function/);
    await assert.rejects(loadWeights(writeNpy(some['a.bias'])), /one array, without a name: readNpy/);
  });

  /* The guide's table: a convolution in PyTorch's layouts, and in JAX's with transposed weights, are one. */
  for (const [spatial, order, torch, jax] of [
    ['7', [2, 1, 0], 'bf0_oi0->bf0', '0'], ['7,5', [2, 3, 1, 0], 'bf01_oi01->bf01', '01'], ['4,5,3', [2, 3, 4, 1, 0], 'bf012_oi012->bf012', '012'],
  ]) {
    test(`convolutions of rank ${jax.length}: transpose([${order}])`, async () => {
      const window = `window={size=${jax.split('').map(() => 2).join('x')}}`;
      const [input, kernel] = [`f32[2,3,${spatial}]`, `f32[4,3,${jax.split('').map(() => 2)}]`];
      const valuesOf = (shape, step) => Literal.from(Float32Array.from({ length: Literal.zeros(shape).data.length }, (_, i) => (i * step) % 7 - 3),
        shape);
      const convolve = async (x, w, labels) => {
        const text = `HloModule c\nENTRY e {\n x = ${x.shape} parameter(0)\n w = ${w.shape} parameter(1)\n ROOT y = ${resultOf(x, w, labels)} convolution(x, w), ${window}, dim_labels=${labels}\n}`;
        return (await (await client.compile(client.parseHlo(text))).execute([x, w]))[0];
      };
      const resultOf = (x, w, labels) => {
        const [lhs, rhs, , out] = [...labels.split(/_|->/), labels.split('->')[1]];
        const sizeOf = (shape, of, label) => shape.dimensions[of.indexOf(label)];
        const sizes = [...out].map((label) => (label === 'b' ? sizeOf(x.shape, lhs, 'b')
          : label === 'f' ? sizeOf(w.shape, rhs, 'o') : sizeOf(x.shape, lhs, label) - 1));
        return `f32[${sizes}]`;
      };
      const [x, w] = [valuesOf(input, 3), valuesOf(kernel, 5)];
      const last = [0, ...[...jax].map((_, i) => i + 2), 1]; // channels last
      const here = await convolve(x, w, torch);
      const there = await convolve(x.transpose(last), w.transpose(order), `b${jax}f_${jax}io->b${jax}f`);
      assert.deepEqual(there.toArray(), here.transpose(last).toArray());
    });
  }
});

describe('large constants', () => {
  const size = 1 << 20; // elements
  const values = Float32Array.from({ length: size }, (_, i) => i % 1000);

  test('of protos and builders reach the core as bytes', async () => {
    const b = client.builder('weights');
    const x = b.parameter(0, 'f32[]', 'x');
    const built = b.build(b.mul(b.constantLiteral(new Literal(`f32[${size}]`, values)), x));
    const read = await client.parseHloProto(await built.toProto());
    for (const module of [built, read]) {
      const executable = await client.compile(module);
      const [y] = await executable.execute([2]);
      assert.deepEqual(y.data.subarray(990, 1010), values.subarray(990, 1010).map((v) => 2 * v));
      executable.dispose();
      module.dispose();
    }
  });

  test('come back with the module', async () => {
    const start = client.heapInUse;
    for (let i = 0; i < 3; i++) {
      const b = client.builder(`weights.${i}`);
      b.build(b.constantLiteral(new Literal(`f32[${size}]`, values))).dispose();
    }
    assert.ok(client.heapInUse - start < size, `${client.heapInUse - start} bytes are left`);
  });

  /* Runs in a process of its own, whose peak memory holds the file and the module made from it. */
  test('are read in twice their size of memory', { timeout: 60000 }, async () => {
    const elements = 16 << 20, file = join(tmpdir(), `weights-${process.pid}.pb`);
    const b = client.builder('weights');
    const x = b.parameter(0, 'f32[]', 'x');
    const literal = new Literal(`f32[${elements}]`, new Float32Array(elements).fill(3));
    await writeFile(file, await b.build(b.mul(b.constantLiteral(literal), x)).toProto());
    const script = `
      import { openAsBlob } from 'node:fs';
      import { Client } from '${new URL('../../bindings/index.mjs', import.meta.url)}';
      const client = await Client.create({ threads: 0 }), [how, file] = process.argv.slice(-2);
      (await client.load('HloModule m\\nENTRY e { ROOT r = f32[] constant(1) }')).dispose();
      const before = process.resourceUsage().maxRSS;
      await client.load(how === 'blob' ? await openAsBlob(file) : file);
      console.log((process.resourceUsage().maxRSS - before) * 1024);
      client.dispose();`;
    for (const how of ['path', 'blob']) {
      const { stdout } = await promisify(execFile)(process.execPath,
        ['--no-warnings', '--input-type=module', '-e', script, how, file]);
      const most = 2.2 * 4 * elements;
      assert.ok(Number(stdout) <= most, `${how}: ${stdout.trim()} bytes, at most ${most}`);
    }
    await rm(file);
  });
});

test('compressed programs: whole, cut off, damaged, and with a trailer that lies', async () => {
  const text = `HloModule m\nENTRY e {\n  ROOT r = f32[40000] constant({${'1, '.repeat(39999)}1})\n}`;
  const packed = gzipSync(text);
  const lies = new Uint8Array(packed);
  new DataView(lies.buffer).setUint32(lies.length - 4, 0xfffffff0, true);
  (await client.load(packed)).dispose();
  (await client.load(gzipSync(text, { level: 0 }))).dispose();
  await assert.rejects(client.load(lies), /load: the gzip data is damaged/);
  for (const bytes of [packed.subarray(0, 100), packed.subarray(0, 3), packed.subarray(0, -9), packed.subarray(0, -1)]) {
    await assert.rejects(client.load(bytes), /load: the gzip data is cut off/);
  }
});

test('compressed data become no more than they may', async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from('HloModule m\n'), Buffer.alloc(1e8, 32)]));
  const refused = { code: 'RESOURCE_EXHAUSTED' };
  const saying = (limit) => ({ ...refused, message: new RegExp(`more than ${limit} bytes when unpacked`) });
  await assert.rejects(client.load(bomb), saying(200 * bomb.length));
  await assert.rejects(client.load(bomb, { maxBytes: 5000 }), saying(5000));
  await assert.rejects(client.load(new Blob([bomb])), saying(200 * bomb.length));
  const small = gzipSync('HloModule m\nENTRY e { ROOT x = f32[] parameter(0) }');
  (await client.load(small, { maxBytes: 1000 })).dispose();
  await assert.rejects(client.load(small, { maxBytes: 10 }), saying(10));
  await assert.rejects(client.load(small, { maxBytes: 0 }), /maxBytes must be an integer from 1/);
});

test('a content-length that lies changes nothing', async () => {
  const text = 'HloModule m\nENTRY e { ROOT x = f32[] parameter(0) }';
  for (const body of [text, gzipSync(text)]) {
    for (const length of ['0', '1', '100000', '1e12', '1000000000000000', '-5', 'x', 'NaN', 'Infinity']) {
      (await client.load(new Response(body, { headers: { 'content-length': length } }))).dispose();
    }
  }
  const cut = new Response(new ReadableStream({
    start(controller) { controller.enqueue(new TextEncoder().encode(text)); },
    pull(controller) { controller.error(new TypeError('terminated')); },
  }));
  await assert.rejects(client.load(cut), { code: 'DATA_LOSS', message: /load: the data are cut off: terminated/ });
});
