/** Tests the command line: its output and its exit codes. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { paint } from '../../bindings/cli/terminal.mjs';
import { CommandLine } from '../support/cli.mjs';
import { file, header } from '../support/npy.mjs';
import { run as program } from '../support/program.mjs';

const CLI = fileURLToPath(new URL('../../bindings/cli/index.mjs', import.meta.url));

let folder;
const commandLine = new CommandLine();
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'xla-wasm-'));
});
after(async () => {
  commandLine.end();
  await rm(folder, { recursive: true });
});

async function write(name, content) {
  const to = path.join(folder, name);
  await writeFile(to, content);
  return to;
}

/** Runs the command line: { code, stdout, stderr }. Documents' tests, and those below of pipes and terminals, start it itself. */
const xlaWasm = (...args) => commandLine.run(...args);

/** A zip of one file, not compressed. */
function storedZip(name, content) {
  const bytes = Buffer.from(name), size = content.length;
  const common = [20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, size, size >> 8, 0, 0, size, size >> 8, 0, 0, bytes.length, 0, 0, 0];
  const local = Buffer.concat([Buffer.from([0x50, 0x4b, 3, 4, ...common]), bytes, content]);
  const central = Buffer.concat([Buffer.from([0x50, 0x4b, 1, 2, 20, 0, ...common, ...new Array(14).fill(0)]), bytes]);
  const end = Buffer.alloc(22);
  end.set([0x50, 0x4b, 5, 6, 0, 0, 0, 0, 1, 0, 1, 0]);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

async function prints(args, stdout) {
  assert.deepEqual(await xlaWasm(...args), { code: 0, stdout, stderr: '' });
}

async function fails(args, pattern) {
  const { code, stdout, stderr } = await xlaWasm(...args);
  assert.equal(code, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: [^\n]+\n$/);
  assert.match(stderr, pattern);
}

const AXPY = `HloModule axpy
ENTRY main {
  x = f32[2,3] parameter(0)
  v = f32[3] parameter(1)
  w = f32[2,3] broadcast(v), dimensions={1}
  ROOT sum = f32[2,3] add(x, w)
}
`;

describe('run', () => {
  let axpy, x, v;
  before(async () => {
    axpy = await write('axpy.hlo', AXPY);
    x = await write('x.npy', file(header('<f4', '(2, 3)'), Float32Array.of(1, 2, 3, 4, 5, 6)));
    v = await write('v.npy', file(header('<f4', '(3,)'), Float32Array.of(7, 8, 9)));
  });

  test('--json', () => prints(['run', axpy, '--input', x, '--input', v, '--json'],
    '{"replica":0,"outputs":[{"shape":"f32[2,3]","data":[8,10,12,11,13,15]}]}\n'));

  test('for people', () => prints(['run', axpy, '--input', x, `--input=${v}`],
    'f32[2,3] {\n  {8, 10, 12},\n  {11, 13, 15}\n}\n'));

  test('on several replicas, with and without threads', async () => {
    const hlo = await write('id.hlo', 'ENTRY main { ROOT r = u32[] replica-id() }');
    const lines = [0, 1, 2].map((i) =>
      `{"replica":${i},"outputs":[{"shape":"u32[]","data":[${i}]}]}\n`).join('');
    await prints(['run', hlo, '--replicas', '3', '--threads', '0', '--json'], lines);
    await prints(['run', hlo, '--json', '--threads', '2', '--replicas', '3'], lines);
    await prints(['run', hlo, '--replicas', '2'], 'replica 0\nu32[] 0\nreplica 1\nu32[] 1\n');
  });

  test('on as many replicas as the module states', async () => {
    const hlo = await write('two.hlo',
      'HloModule m, replica_count=2\nENTRY main { ROOT r = u32[] replica-id() }');
    const { stdout } = await xlaWasm('run', hlo, '--json');
    assert.equal(stdout.trim().split('\n').length, 2);
  });

  test('what JSON numbers cannot hold', async () => {
    const hlo = await write('values.hlo', `ENTRY main {
      f = f32[6] constant({nan, inf, -inf, -0, 0.5, 1e10})
      s = s64[3] constant({9007199254740991, 9007199254740993, -9223372036854775808})
      u = u64[2] constant({18446744073709551615, 7})
      p = pred[2] constant({true, false})
      c = c64[2] constant({(1, 2), (inf, nan)})
      h = bf16[1] constant({1.5})
      n = s4[2] constant({-8, 7})
      e = f32[0,2] constant({})
      t = (f32[6], s64[3], u64[2], pred[2], c64[2], bf16[1], s4[2], f32[0,2])
        tuple(f, s, u, p, c, h, n, e)
      ROOT r = (f32[6], s64[3], u64[2], pred[2], c64[2], bf16[1], s4[2], f32[0,2]) copy(t)
    }`);
    await prints(['run', hlo, '--json'], '{"replica":0,"outputs":[' + [
      '{"shape":"f32[6]","data":["nan","inf","-inf",-0.0,0.5,10000000000]}',
      '{"shape":"s64[3]","data":[9007199254740991,"9007199254740993","-9223372036854775808"]}',
      '{"shape":"u64[2]","data":["18446744073709551615",7]}',
      '{"shape":"pred[2]","data":[true,false]}',
      '{"shape":"c64[2]","data":[[1,2],["inf","nan"]]}',
      '{"shape":"bf16[1]","data":[1.5]}',
      '{"shape":"s4[2]","data":[-8,7]}',
      '{"shape":"f32[0,2]","data":[]}',
    ].join(',') + ']}\n');
  });

  test('data are row-major whatever layout the module asks for', async () => {
    const hlo = await write('turn.hlo', `HloModule turn,
        entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
      ENTRY main { x = f32[2,3]{0,1} parameter(0)
        ROOT y = f32[2,3]{0,1} negate(x) }`);
    await prints(['run', hlo, '--input', x, '--json'],
      '{"replica":0,"outputs":[{"shape":"f32[2,3]","data":[-1,-2,-3,-4,-5,-6]}]}\n');
  });

  test('a module as XLA serializes it', async () => {
    const protos = await readFile(new URL('../golden/protos.txt', import.meta.url), 'utf8');
    const [, base64] = /^text constant\.s4 (\S+)$/m.exec(protos);
    const pb = await write('constant.pb', Buffer.from(base64, 'base64'));
    await prints(['run', pb, '--json'],
      '{"replica":0,"outputs":[{"shape":"s4[4]","data":[-8,7,0,-1]}]}\n');
  });

  test('in a process of its own, as a user starts it', async () => {
    const start = (...args) => program(process.execPath, [CLI, ...args]);
    assert.deepEqual(await start('run', axpy, '--input', x, '--input', v, '--output', '1'), await xlaWasm('run', axpy, '--input', x, '--input', v, '--output', '1'));
    const failed = await start('run', path.join(folder, 'nothing.hlo'));
    assert.deepEqual(failed, await xlaWasm('run', path.join(folder, 'nothing.hlo')));
    assert.equal(failed.code, 1);
  });

  test('a module from standard input', async () => {
    const child = spawn(process.execPath, [CLI, 'run', '-', '--json']);
    child.stdin.end('ENTRY main { ROOT r = s32[] constant(5) }');
    const chunks = [];
    for await (const chunk of child.stdout) chunks.push(chunk);
    assert.equal(Buffer.concat(chunks).toString(),
      '{"replica":0,"outputs":[{"shape":"s32[]","data":[5]}]}\n');
  });

  test('a result larger than a pipe holds', async () => {
    const hlo = await write('large.hlo',
      'ENTRY main { ROOT r = s32[200000] iota(), iota_dimension=0 }');
    const child = spawn(process.execPath, [CLI, 'run', hlo, '--json']);
    const chunks = [];
    for await (const chunk of child.stdout) chunks.push(chunk);
    const [{ data }] = JSON.parse(Buffer.concat(chunks).toString()).outputs;
    assert.equal(data.length, 200000);
    assert.equal(data[199999], 199999);
  });

  test('arguments that are missing, too many, or do not fit', async () => {
    await fails(['run', axpy],
      /has 2 parameters \(x: f32\[2,3\], v: f32\[3\]\); 0 --input were given/);
    await fails(['run', axpy, '--input', x, '--input', v, '--input', v], /3 --input were given/);
    await fails(['run', axpy, '--input', v, '--input', x],
      /v\.npy holds f32\[3\]; parameter 0 \(x\) is f32\[2,3\]/);
    await fails(['run', axpy, '--input', axpy, '--input', v], /axpy\.hlo: readNpy: this is no \.npy/);
    await fails(['run', axpy, '--input', 'nothing.npy', '--input', v],
      /cannot read nothing\.npy: there is no such file/);
    const doubles = await write('d.npy', file(header('<f8', '(2, 3)'), new Float64Array(6)));
    await fails(['run', axpy, '--input', doubles, '--input', v], /d\.npy holds f64\[2,3\]/);
  });

  test('values as they are, and where they come from', async () => {
    const twice = await write('twice.hlo', 'HloModule t\nENTRY e {\n  a = s64[2] parameter(0)\n  ROOT r = s64[2] add(a, a)\n}');
    const { stdout } = await xlaWasm('run', twice, '--input', '["4611686018427387903", 3]', '--json');
    assert.deepEqual(JSON.parse(stdout).outputs[0].data, ['9223372036854775806', 6]);
    const some = await xlaWasm('run', axpy, '--input', '[[1,2,3],[4,5,6]]', '--input', '[nan, -inf, "inf"]', '--json');
    assert.deepEqual(JSON.parse(some.stdout).outputs[0].data, ['nan', '-inf', 'inf', 'nan', '-inf', 'inf']);
    await fails(['run', axpy, '--input', x, '--input', '[1, x, 2]'], /--input v=\[1, x, 2\]: a value is a number or a list/);
    await fails(['run', axpy, '--random', '--bisect', '--on', 'pjrt'], /--bisect compares with the evaluator/);
    await fails(['run', '-', '--input', 'x=-'], /standard input is the module or an argument/);
    const info = await xlaWasm('info', x);
    assert.match(info.stdout, /^\S*: f32\[2,3\]\n$/);
  });

  test('modules that are none', async () => {
    await fails(['run', 'nothing.hlo'], /cannot read nothing\.hlo: there is no such file/);
    const bad = await write('bad.hlo', AXPY.replace('add(x, w)', 'add(x, v)'));
    await fails(['run', bad], /bad\.hlo:6:\d+: add: .*f32\[2,3\].*f32\[3\]/);
    await fails(['run', await write('empty.hlo', '')], /empty\.hlo is empty/);
  });

  test('runs that fail', async () => {
    const huge = await write('huge.hlo',
      'ENTRY main { ROOT r = f32[2000000000] iota(), iota_dimension=0 }');
    await fails(['run', huge], /memory/);
    const hang = await write('hang.hlo', `HloModule hang, replica_count=2
      ENTRY main {
        t = token[] after-all()
        r = (f32[], u32[], token[]) recv(t), channel_id=1
        d = (f32[], token[]) recv-done(r), channel_id=1
        ROOT x = f32[] get-tuple-element(d), index=0
      }`);
    await fails(['run', hang], /recv/);
  });
});

describe('usage', () => {
  test('--help', async () => {
    const { code, stdout, stderr } = await xlaWasm('--help');
    assert.deepEqual([code, stderr], [0, '']);
    for (const option of ['run MODULE', '--input', '--replicas', '--threads', '--json']) {
      assert.ok(stdout.includes(option), option);
    }
  });
  test('--version', async () => {
    const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    await prints(['--version'], `${JSON.parse(text).version}\n`);
  });
  const mistakes = [
    [[], /a command is missing; there are run, info, .*completion \(see xla-wasm --help\)/],
    [['walk'], /there is no command "walk"/],
    [['run'], /run needs the file of a module/],
    [['run', 'a', 'b'], /run takes one module, not "b" too/],
    [['run', 'a', '--speed', '9'], /--speed/],
    [['run', 'a', '--replicas', '0'], /--replicas must be a number from 1 on; got "0"/],
    [['run', 'a', '--replicas', 'two'], /--replicas must be a number/],
    [['run', 'a', '--replicas', '1e3'], /--replicas must be a number/],
    [['run', 'a', '--threads', '-1'], /--threads/],
    [['run', 'a', '--replicas'], /--replicas/],
    [['run', 'a', '--json=yes'], /--json/],
  ];
  for (const [args, pattern] of mistakes) {
    test(args.join(' ') || 'nothing', () => fails(args, pattern));
  }
});

describe('other commands and options', () => {
  const MLIR = `func.func @main(%x: tensor<?xf32> loc("x"), %s: tensor<f32> loc("s")) -> tensor<?xf32> {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %d = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %b = stablehlo.dynamic_broadcast_in_dim %s, %d, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %r = stablehlo.multiply %x, %b : tensor<?xf32>
    return %r : tensor<?xf32>
  }`;
  const shapes = ['--shape', 'f32[3]', '--shape=f32[]'];
  let mlir, axpy, pb;
  before(async () => {
    mlir = await write('scale.mlir', MLIR);
    axpy = await write('again.hlo', AXPY);
    pb = path.join(folder, 'scale.pb');
  });

  test('info', () => prints(['info', axpy],
    'axpy\nparameter 0  x: f32[2,3]\nparameter 1  v: f32[3]\nresult 0  f32[2,3]\n'));

  test('StableHLO of unknown sizes, values as arguments, by name', () => prints(
    ['run', mlir, ...shapes, '--input', 's=2', '--input', 'x=[1, 2, 3]'], 'f32[3] {2, 4, 6}\n'));

  test('convert, and run what that gave', async () => {
    await prints(['convert', mlir, ...shapes, '--output', pb], '');
    await prints(['run', pb, '--input=0=[1, 2, 3]', '--input', '1=3'], 'f32[3] {3, 6, 9}\n');
    assert.match((await xlaWasm('print', pb)).stdout, /^HloModule [^]*ROOT [^]*multiply/);
    assert.match((await xlaWasm('compile', axpy, '--threads', '0')).stdout, /^HloModule axpy[^]*ROOT/);
  });

  test('results into a file, and arguments from it; a trace; times', async () => {
    const [npz, st, npy, trace] = ['r.npz', 'r.safetensors', 'r.npy', 't.json'].map((name) => path.join(folder, name));
    const x = ['--input', 'x=[[1,2,3],[4,5,6]]', '--input', 'v=[1,1,1]'];
    for (const out of [npz, st, npy]) await prints(['run', axpy, ...x, '--output', out], '');
    await prints(['run', axpy, '--input', npy, '--input', 'v=[0,0,0]'],
      'f32[2,3] {\n  {2, 3, 4},\n  {5, 6, 7}\n}\n');
    const double = await write('double.hlo', `ENTRY main {
      result.0 = f32[2,3] parameter(0)
      ROOT r = f32[2,3] add(result.0, result.0)
    }`);
    for (const file of [npz, st]) {
      await prints(['run', double, '--input', file, '--json'],
        '{"replica":0,"outputs":[{"shape":"f32[2,3]","data":[4,6,8,10,12,14]}]}\n');
    }
    const { code, stderr } = await xlaWasm('run', axpy, '--random', '--seed', '3', '--time', '3', '--profile', trace, '--json');
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^3 runs: min [\d.]+ ms, median [\d.]+ ms\n$/);
    assert.ok(JSON.parse(await readFile(trace, 'utf8')).traceEvents.length > 0);
  });

  test('each device has its own arguments and results', async () => {
    const [x, out] = ['x', 'out'].map((name) => path.join(folder, `${name}.{replica}.npy`));
    for (const replica of [0, 1]) {
      const file = x.replace('{replica}', replica);
      await prints(['run', axpy, '--input', `x=[[${replica},2,3],[4,5,6]]`, '--input', 'v=[0,0,0]', '--output', file], '');
    }
    const both = ['--input', x, '--input', 'v=[1,1,1]', '--replicas', '2'];
    await prints(['run', axpy, ...both, '--json'], [0, 1].map((replica) =>
      `{"replica":${replica},"outputs":[{"shape":"f32[2,3]","data":[${replica + 1},3,4,5,6,7]}]}\n`).join(''));
    await prints(['run', axpy, ...both, '--output', out], '');
    await prints(['run', axpy, '--input', out.replace('{replica}', 1), '--input', 'v=[0,0,0]'],
      'f32[2,3] {\n  {2, 3, 4},\n  {5, 6, 7}\n}\n');
    await fails(['run', axpy, ...both, '--replicas', '3'], /x\.2\.npy: there is no such file/);
  });

  test('arrays from one form to another', async () => {
    const [npz, st, npy] = ['a.npz', 'a.safetensors', 'a.npy'].map((name) => path.join(folder, name));
    await prints(['run', axpy, '--random', '--output', npz], '');
    await prints(['convert', npz, '--output', st], '');
    await prints(['convert', st, '--output', npy], '');
    const { stdout } = await xlaWasm('run', axpy, '--random', '--json');
    const same = ['run', axpy, '--input', npy, '--input', 'v=[0,0,0]', '--json'];
    await prints(same, stdout);
    await fails(['convert', npz], /convert needs --output FILE\.npy/);
    await fails(['convert', await write('none.npz', 'no'), '--output', st], /none\.npz: /);
  });

  test('gradient prints the program of a gradient, or writes it', async () => {
    const square = await write('square.hlo', `HloModule square
ENTRY main {
  params.x = f32[] parameter(0)
  n = s32[] parameter(1)
  ROOT y = f32[] multiply(params.x, params.x) }`);
    const { stdout } = await xlaWasm('gradient', square, '--wrt', 'params', '--value');
    assert.match(stdout, /^HloModule square[^]*ROOT .*\(f32\[\], f32\[\]\) tuple\(/);
    const to = path.join(folder, 'gradient.hlo');
    assert.deepEqual(await xlaWasm('gradient', square, '--wrt', '0', '--value', '--output', to),
      { code: 0, stdout: '', stderr: 'result 0: f32[]\nresult 1: f32[], the gradient by params.x\n' });
    assert.deepEqual(await xlaWasm('gradient', square, '--wrt', '0', '--output', to),
      { code: 0, stdout: '', stderr: 'result 0: f32[], the gradient by params.x\n' });
    await fails(['gradient', axpy], /real floating-point scalar: sum it up or name another result by --of N$/m);
    await prints(['run', to, '--input', 'params.x=3', '--input', 'n=0'], 'f32[] 6\n');
    const { code, stderr } = await xlaWasm('gradient', square, '--wrt', 'n');
    assert.equal(code, 1);
    assert.match(stderr, /wrt: parameter 1 "n" of shape s32\[\]/);
  });

  test('vmap prints the program for a batch, or writes it', async () => {
    const to = path.join(folder, 'batch.hlo');
    const { stdout } = await xlaWasm('vmap', axpy, '--size', '4', '--in', 'v=null,x=-1', '--out', '1');
    assert.match(stdout, /^HloModule axpy.*\(f32\[2,3,4\]\{2,1,0\}, f32\[3\]\{0\}\)->f32\[2,4,3\]/);
    await prints(['vmap', axpy, '--size', '1', '--in', '0,null', '--output', to], '');
    await prints(['run', to, '--input', 'x=[[[1,2,3],[4,5,6]]]', '--input', 'v=[10,20,30]'],
      'f32[1,2,3] {\n  {\n    {11, 22, 33},\n    {14, 25, 36}\n  }\n}\n');
    await fails(['vmap', axpy, '--size', '2', '--in', '0,x=1'], /--in must be dimensions or null/);
    const { code, stderr } = await xlaWasm('vmap', axpy, '--in', '0');
    assert.equal(code, 1);
    assert.match(stderr, /vmap: --size N is missing/);
  });

  test('the generated WebAssembly', async () => {
    const wasm = path.join(folder, 'axpy.wasm');
    const { stdout } = await xlaWasm('compile', axpy, '--wasm', '--threads', '0');
    assert.match(stdout, /^\(module[^]*;; \w+ \S+\n[^]*f32x4\.add/);
    await prints(['compile', axpy, '--wasm', '--output', wasm], '');
    assert.ok(WebAssembly.validate(await readFile(wasm)));
  });

  test('colours on a terminal that wants them', () => {
    const before = { ...process.env };
    const painted = (isTTY, env) => {
      Object.assign(process.env, { TERM: 'xterm', NO_COLOR: '' }, env);
      return paint({ isTTY }, 'red', 'no');
    };
    try {
      assert.equal(painted(true), '\u001b[31mno\u001b[0m');
      for (const plain of [painted(false), painted(true, { NO_COLOR: '1' }), painted(true, { TERM: 'dumb' })]) {
        assert.equal(plain, 'no');
      }
    } finally {
      process.env = before;
    }
  });

  test('control characters of a program do not reach a terminal', async () => {
    const evil = '\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066\x7f\b';
    const mild = '\x9b31m\u202egnp\u2066'; // in text there are no others
    const named = await write('evil.hlo', `HloModule evil
ENTRY e {
  x = f32[2] parameter(0)
  ROOT y = f32[2] custom-call(x), custom_call_target="${mild}", metadata={op_name="${mild}"}
}`);
    const broken = await write('broken.hlo', `HloModule m\nENTRY e { x = f32[] ${mild}() }`);
    const array = await write(`${'evil'}.npz`, storedZip(`a${evil}.npy`, file(header('<f4', '(2,)'), new Uint8Array(8))));
    const inTerminal = (...args) => new Promise((resolve) => {
      execFile('python3', ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', process.execPath, CLI, ...args],
        { timeout: 60_000, encoding: 'utf8' }, (error, stdout) => resolve(stdout));
    });
    for (const [args, said] of [[['print', named], 'custom_call_target='], [['compile', named], 'custom-call('],
      [['run', named, '--random'], 'nothing is registered'], [['info', broken], 'error:'], [['info', array], 'f32[2]'],
      [['run', `${evil.replace('\x07', '')}.hlo`], 'no such file'], [[evil], 'there is no command'],
      [['run', named, `--${evil}`], 'there is no option']]) {
      // eslint-disable-next-line no-control-regex
      const own = (await inTerminal(...args)).replace(/\x1b\[(\d+m|2K)|\r/g, '');
      assert.ok(own.includes(said), `${args}: ${own}`);
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(own, /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/, JSON.stringify(own));
    }
    // A pipe gets the text unchanged.
    assert.ok((await xlaWasm('print', named)).stdout.includes('\x9b31m\u202egnp') );
  });

  test('nothing but text where there is no terminal', async () => {
    for (const args of [['info', axpy], ['run', axpy, '--random', '--time', '2'], ['run', 'nothing']]) {
      const { stdout, stderr } = await xlaWasm(...args);
      assert.ok(!['\x1b', '\r'].some((control) => (stdout + stderr).includes(control)), args.join(' '));
    }
  });

  test('constants that a dump leaves out', async () => {
    const dump = path.join(folder, 'elided.hlo');
    await writeFile(dump, 'HloModule m\nENTRY e {\n ROOT c = f32[3]{0} constant({...})\n}\n');
    await fails(['run', dump], /elided\.hlo:3:\d+: .*print_large_constants, or give --elided zeros or random/);
    await fails(['run', dump, '--elided', 'ones'], /--elided is zeros or random, not "ones"/);
    const { stdout } = await xlaWasm('run', dump, '--elided', 'zeros', '--json');
    assert.equal(stdout, '{"replica":0,"outputs":[{"shape":"f32[3]","data":[0,0,0]}]}\n');
  });

  test('no error names an option that only the API has', async () => {
    const loop = await write('loop.hlo', `HloModule loop
body { t = (f32[], f32[]) parameter(0)
  x = f32[] get-tuple-element(t), index=0
  n = f32[] get-tuple-element(t), index=1
  bits = u32[] bitcast-convert(x)
  others = u32[] add(bits, bits)
  drawn = f32[] bitcast-convert(others)
  y = f32[] multiply(x, drawn)
  ROOT u = (f32[], f32[]) tuple(y, n) }
goes_on { t = (f32[], f32[]) parameter(0)
  x = f32[] get-tuple-element(t), index=0
  n = f32[] get-tuple-element(t), index=1
  ROOT c = pred[] compare(x, n), direction=LT }
ENTRY main { x = f32[] parameter(0)
  n = f32[] parameter(1)
  t = (f32[], f32[]) tuple(x, n)
  w = (f32[], f32[]) while(t), condition=goes_on, body=body
  ROOT r = f32[] get-tuple-element(w), index=0 }`);
    const call = await write('call.hlo',
      'HloModule call\nENTRY main {\n  x = f32[] parameter(0)\n  ROOT y = f32[] custom-call(x), custom_call_target="mine"\n}');
    for (const [words, ...args] of [
      [/give an upper bound \(--max-trips N\), or export from JAX with serialize\(vjp_order=1\), which keeps JAX's own gradient$/m, 'gradient', loop],
      [/name another result by --of N$/m, 'gradient', axpy],
      [/--size N is missing/, 'vmap', axpy, '--in', 'null'],
      [/only a program of the package can, by client\.registerCustomCall\(\)$/m, 'run', call, '--random'],
      [/--shape x=f32\[8\]/, 'run', mlir],
    ]) {
      const { code, stderr } = await xlaWasm(...args);
      assert.equal(code, 1, stderr);
      assert.match(stderr, words);
      assert.doesNotMatch(stderr, /maxTrips|\(of\)|client\.vjp|optionalPasses|load\(source/);
    }
  });

  test('mistakes', async () => {
    await fails(['run', axpy, '--out', 'x'], /run takes no --out; did you mean --output\?/);
    await fails(['run', axpy, '--outp', 'x'], /there is no option --outp; did you mean --output\?/);
    assert.match((await xlaWasm('info', mlir)).stdout,
      /^a program of unknown sizes\nparameter 0 {2}x: f32\[\?\]\n[^]*give the shapes of these parameters by --shape/m);
    await fails(['run', mlir, '--shape', 'n=16'], /--shape n=16: .*a parameter's whole shape is wanted, as in --shape x=f32\[8,128\]/);
    await fails(['chek', axpy], /there is no command "chek"; write run MODULE --check/);
    await fails(['rum', axpy], /there is no command "rum"; did you mean run\?/);
    await fails(['run', axpy, '--outptu', 'x'], /there is no option --outptu; did you mean --output\?/);
    await fails(['run', axpy, '--inptu', 'x'], /did you mean --input\?/);
    await fails(['run', axpy, '--input', '-1.5'], /a value that begins with "-" is written after "=": --input=-1/);
    await fails(['info', axpy, '--input', 'x'], /info takes no --input/);
    await fails(['check', '--help'], /there is no command "check"; write run MODULE --check/);
    await fails(['run', axpy, '--input', 'y=1'], /there is no parameter "y"; there are x, v/);
    await fails(['run', axpy, '--random', '--output', 'r.txt'], /written as \.npy, \.npz or \.safetensors/);
    await fails(['convert', axpy], /convert needs --output/);
    await fails(['run', mlir], /argument 0 \(x\) is tensor<\?xf32>.*: --shape x=f32\[8\]/);
    await fails(['run', await write('page.html', '<!DOCTYPE html>')], /page\.html: this is an HTML page/);
  });
});

test('--function and --platform choose a part of a program', async () => {
  const [add, multiply] = ['add', 'multiply'].map((operation, i) => `func.func @${'ab'[i]}(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.${operation} %x, %x : tensor<2xf32>  return %0 : tensor<2xf32> }`);
  const two = await write('two.mlir', `module { ${add} ${multiply} }`);
  await prints(['run', two, '--function', 'b', '--input', 'arg0=[3, 4]'], 'f32[2] {9, 16}\n');
  await fails(['run', two], /^error: the program has no function @main; public ones are @a, @b: choose one: --function a /);
  await fails(['run', two, '--function', 'a', '--platform', 'tpu'], /^error: --platform: only files of jax\.export /);
});
