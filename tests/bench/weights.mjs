/**
 * Measures products of a few vectors with a matrix of narrow or quantised weights, on one thread: G weights a second,
 * GB/s, and this bandwidth by that of a sum over as many bytes of f32 in the same process.
 *
 *     make bench ARGS="weights [--only PATTERN] [--rows 1,8,128] [--size 4096]"
 *
 * A row is a type, the order of the matrix (`kn`: columns are contiguous; `nk`: the depth), and how it is dequantised.
 * Rounds alternate between rows; each row shows the min processor time of its rounds.
 */
import { parseArgs } from 'node:util';

import { Client } from '../../build/node/index.mjs';
import { clocks } from './clocks.mjs';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rows: { type: 'string', default: '1' },
    size: { type: 'string', default: '4096' },
    rounds: { type: 'string', default: '5' },
    fused: { type: 'boolean', default: false },
  },
});
const SIZE = Number(options.size), only = new RegExp(options.only);

const PLAIN = ['f32', 'bf16', 'f16', 's8', 'u8', 's4', 'u4', 'f8e4m3fn', 'f8e5m2'];
const BITS = { f32: 32, bf16: 16, f16: 16, s8: 8, u8: 8, s4: 4, u4: 4, f8e4m3fn: 8, f8e5m2: 8, s32: 32 };
const OTHER = { kn: 'nk', nk: 'kn' };

/** Lines that make `m`, the matrix in f32, of `w`; and the shapes of further parameters, f32 unless another type is given. */
const FORMS = {
  none: () => [[], 'm = f32[D] convert(w)'],
  tensor: () => [['f32[]'], `v = f32[D] convert(w)
    b = f32[D] broadcast(p0), dimensions={}
    m = f32[D] multiply(v, b)`],
  column: (order) => [[`f32[${SIZE}]`], `v = f32[D] convert(w)
    b = f32[D] broadcast(p0), dimensions={${order === 'kn' ? 1 : 0}}
    m = f32[D] multiply(v, b)`],
  row: (order) => [[`f32[${SIZE}]`], `v = f32[D] convert(w)
    b = f32[D] broadcast(p0), dimensions={${order === 'kn' ? 0 : 1}}
    m = f32[D] multiply(v, b)`],
  block: (order, size, value = 'v = f32[D] convert(w)', type = 'f32', zero = '') => {
    const blocks = SIZE / size;
    const [dims, split, over] = order === 'kn'
      ? [`${blocks},${SIZE}`, `${blocks},${size},${SIZE}`, '0,2'] : [`${SIZE},${blocks}`, `${SIZE},${blocks},${size}`, '0,1'];
    const center = !zero ? '' : `z0 = ${zero}[${dims}] parameter(P1)
    z1 = f32[${dims}] convert(z0)
    z2 = f32[${split}] broadcast(z1), dimensions={${over}}
    y = f32[${split}] subtract(u, z2)`;
    return [[`${type}[${dims}]`, ...(zero ? [`${zero}[${dims}]`] : [])], `${value}
    u = f32[${split}] reshape(v)
    ${center.replace(/z0 = .*/, 'z0 = ' + zero + '[' + dims + '] copy(p1)')}
    s = f32[${dims}] convert(p0)
    b = f32[${split}] broadcast(s), dimensions={${over}}
    t = f32[${split}] multiply(${zero ? 'y' : 'u'}, b)
    m = f32[D] reshape(t)`];
  },
  codebook: (order, size) => {
    const book = 'c = f32[16] constant({-1, -0.75, -0.5, -0.375, -0.25, -0.125, -0.0625, 0, 0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75, 1})';
    const value = `${book}
    i = s32[D] convert(w)
    j = s32[D,1] reshape(i)
    v = f32[D] gather(c, j), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1}`;
    return size ? FORMS.block(order, size, value) : [[], value.replace('v =', 'm =')];
  },
};

function* cases() {
  for (const order of ['kn', 'nk']) {
    for (const type of PLAIN) {
      yield { type, order, form: 'none' };
      if (type === 'f32') continue;
      yield { type, order, form: 'column' };
      if (!['s8', 's4', 'f8e4m3fn'].includes(type)) continue;
      yield { type, order, form: 'tensor' };
      yield { type, order, form: 'row' };
      for (const size of type === 's4' ? [32, 64, 128] : [32]) yield { type, order, form: 'block', args: [size] };
    }
    yield { type: 'u4', order, form: 'block', name: 'block 32 f32, zero u4', args: [32, undefined, 'f32', 'u4'] };
    yield { type: 'u8', order, form: 'block', name: 'block 128 f16, zero u8', args: [128, undefined, 'f16', 'u8'] };
    yield { type: 's4', order, form: 'block', name: 'block 32 f16', args: [32, undefined, 'f16'] };
    yield { type: 'f8e4m3fn', order, form: 'block', name: 'block 32 e8m0 (MX)', args: [32, undefined, 'f8e8m0fnu'] };
    yield { type: 'u8', order, form: 'codebook' };
    yield { type: 'u4', order, form: 'codebook', args: [64] };
    yield { type: 'u8', order, form: 'codebook', args: [64] };
  }
}

function text({ type, order, form, args = [] }, rows) {
  const dims = `${SIZE},${SIZE}`;
  const [given, lines] = FORMS[form](order, ...args);
  return `HloModule m
ENTRY e { x = f32[${rows},${SIZE}] parameter(0)
    w = ${type}[${dims}] parameter(1)
    ${given.map((shape, i) => `p${i} = ${shape} parameter(${i + 2})`).join('\n')}
    ${lines.replaceAll('[D', `[${dims}`)}
    ROOT r = f32[${rows},${SIZE}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${order === 'kn' ? 0 : 1}} }`;
}

const client = await Client.create({ threads: 0, fusedMultiplyAdd: options.fused ? 'auto' : 'never' });

/** Buffers of small numbers. */
async function filled(shapes) {
  const lines = shapes.map((shape, i) => {
    const [, type, dims] = /^(\w+)\[(.*)\]/.exec(shape);
    const values = type.startsWith('f8e8m0') ? 'c' : 'n';
    return `i${i} = s32[${dims}] iota(), iota_dimension=0
      h${i} = s32[] constant(7)
      g${i} = s32[${dims}] broadcast(h${i}), dimensions={}
      k${i} = s32[${dims}] and(i${i}, g${i})
      l${i} = f32[${dims}] convert(k${i})
      o${i} = f32[] constant(1)
      c${i} = f32[${dims}] broadcast(o${i}), dimensions={}
      n${i} = f32[${dims}] add(l${i}, c${i})
      r${i} = ${type}[${dims}] convert(${values}${i})`.replaceAll('[], iota_dimension=0', '[]')
      .replace(`i${i} = s32[] iota(), iota_dimension=0`, `i${i} = s32[] constant(3)`);
  });
  const module = client.parseHlo(`HloModule m
ENTRY e { ${lines.join('\n')}
  ROOT r = (${shapes.join()}) tuple(${shapes.map((_, i) => `r${i}`).join()}) }`);
  const program = await client.compile(module);
  const results = (await program.execute([], { device: true })).flat();
  module.dispose();
  program.dispose();
  return results;
}

/** A sum of `count` numbers of f32. */
const sumOf = (count) => `HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[${count}] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[] reduce(x, z), dimensions={0}, to_apply=add }`;

async function prepared(source, shapes) {
  const module = client.parseHlo(source), program = await client.compile(module);
  const operands = await filled(shapes);
  module.dispose();
  return { program, operands, best: Infinity };
}

/** Returns the min processor time of a run, of all runs within `milliseconds`. */
async function measure(row, milliseconds) {
  const end = clocks.cpu() + milliseconds;
  do {
    const start = clocks.cpu();
    const results = await row.program.execute(row.operands, { device: true });
    row.best = Math.min(row.best, clocks.cpu() - start);
    results.forEach((buffer) => buffer.dispose());
  } while (clocks.cpu() < end);
}

const dispose = ({ program, operands }) => {
  operands.forEach((buffer) => buffer.dispose());
  program.dispose();
};

console.log('| order | type | dequantised by | rows | G weights/s | GB/s | of a sum | temporaries, kB |');
console.log('| --- | --- | --- | --: | --: | --: | --: | --: |');
for (const rows of options.rows.split(',').map(Number)) {
  for (const item of cases()) {
    const name = item.name ?? [item.form, ...item.args ?? []].join(' ');
    if (!only.test(`${item.order} ${item.type} ${name}`)) continue;
    const [given] = FORMS[item.form](item.order, ...item.args ?? []);
    const row = await prepared(text(item, rows), [`f32[${rows},${SIZE}]`, `${item.type}[${SIZE},${SIZE}]`, ...given]);
    const weights = SIZE * SIZE, bytes = (weights * BITS[item.type]) / 8;
    const sum = await prepared(sumOf(bytes / 4), [`f32[${bytes / 4}]`]); // of equal size, so that caches hold as much of it
    for (let i = 0; i < Number(options.rounds); i++) {
      await measure(sum, 10);
      await measure(row, 30);
    }
    const rate = bytes / row.best / 1e6, most = bytes / sum.best / 1e6;
    console.log(`| ${[item.order, item.type, name, rows, (weights / row.best / 1e6).toFixed(2), rate.toFixed(1),
      (rate / most).toFixed(2), (row.program.memory.temporaries / 1e3).toFixed()].join(' | ')} |`);
    dispose(row);
    dispose(sum);
  }
}
client.dispose();
void OTHER;
