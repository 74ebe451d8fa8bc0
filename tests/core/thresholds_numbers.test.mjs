/**
 * Tests thresholds that the other two files do not reach, on both sides: chunks of collectives, of scatters, gathers and
 * updates, bytes of constants that are folded, siblings that stay in the cache, long lines of Fourier transforms.
 * tests/project/thresholds.md says which test meets which number.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees, filled, sameBytes, whole } from '../support/as_written.mjs';
import { around, binary, Parts } from '../support/parts.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const list = (n, of) => Array.from({ length: n }, (_, i) => of(i));

describe('collectives of two devices around chunks', () => {
  const value = (i, device) => ((i * 7) % 5) - 2 + 3 * device;
  const reducers = `${['f32', 's32', 's8', 'bf16', 'f64'].map((type) => binary(`add_${type}`, type, 'add')).join('')}
odd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n two = f32[] constant(2)\n c = f32[] multiply(b, two)\n ROOT r = f32[] add(a, c) }\n`;
  /* The operation on `x`, of n elements a device; the shape of its result; element i of device d. */
  const KINDS = {
    'all-reduce': [(type) => `all-reduce(x), replica_groups={}, to_apply=add_${type}`, (n) => n, (i) => value(i, 0) + value(i, 1)],
    'all-reduce by a computation': [() => 'all-reduce(x), replica_groups={}, to_apply=odd', (n) => n, (i) => value(i, 0) + 2 * value(i, 1)],
    'reduce-scatter': [(type) => `reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=add_${type}`, (n) => n / 2,
      (i, d, n) => value(i + (d * n) / 2, 0) + value(i + (d * n) / 2, 1)],
    'all-gather': [() => 'all-gather(x), replica_groups={}, dimensions={0}', (n) => 2 * n, (i, d, n) => value(i % n, Math.floor(i / n))],
    'all-to-all': [() => 'all-to-all(x), replica_groups={}, dimensions={0}', (n) => n,
      (i, d, n) => value((i % (n / 2)) + (d * n) / 2, Math.floor(i / (n / 2)))],
    'collective-permute': [() => 'collective-permute(x), source_target_pairs={{0,1},{1,0}}', (n) => n, (i, d) => value(i, 1 - d)],
  };
  for (const [kind, [operation, count, wanted]] of Object.entries(KINDS)) {
    for (const type of kind.includes('computation') ? ['f32'] : ['f32', 's32', 's8', 'bf16', 'f64']) {
      test(`${kind} of ${type}`, async () => {
        for (const n of new Set(around(512, 1024, 2048, 4096, 32768, 65536, 262144).map((size) => size + (size % 2)))) {
          const text = `HloModule m\n${reducers}ENTRY e { x = ${type}[${n}] parameter(0)\n ROOT y = ${type}[${count(n)}] ${operation(type)} }`;
          const module = client.parseHlo(text), executable = await client.compile(module, { replicas: 2 });
          const results = await executable.executeReplicas([0, 1].map((d) => [filled(module.parameters[0].shape, (i) => value(i, d))]));
          results.forEach(([y], d) => {
            assert.equal(y.data.length, count(n));
            const right = filled(y.shape, (i) => wanted(i, d, n));
            if (sameBytes(y, right)) return;
            const wrong = y.data.findIndex((element, i) => element !== right.data[i]);
            assert.fail(`${n}: element ${wrong} of device ${d} is ${y.get(wrong)}, not ${right.get(wrong)}`);
          });
          executable.dispose();
          module.dispose();
        }
      });
    }
  }
});

describe('convolutions whose windows mostly lie on padding', () => {
  /* The padded operand is copied if it has at most 16 times the elements of operand and result, and 2^20 more. */
  for (const [length, outputs] of [[16, 3], [1000, 1], [5000, 2]]) {
    test(`${length} elements and ${outputs} features`, async () => {
      const most = 16 * (2 * outputs + length) + (1 << 20);
      for (const elements of [most - 1, most, most + 1, 2 * most]) {
        const stride = elements - 2;
        const text = `HloModule m\nENTRY e { x = f32[1,${length},1] parameter(0)\n w = f32[2,1,${outputs}] parameter(1)
 ROOT c = f32[1,2,${outputs}] convolution(x, w), window={size=2 stride=${stride} pad=${elements - length}_0}, dim_labels=b0f_0io->b0f }`;
        const module = client.parseHlo(text), executable = await client.compile(module), { arenaBytes } = executable.memoryPlan();
        assert.ok(arenaBytes <= 4 * most + 64, `${elements} elements take ${arenaBytes} bytes`);
        assert.equal(arenaBytes >= 4 * elements, elements <= most, `${elements} elements are copied up to ${most}`);
        executable.dispose();
        module.dispose();
        await agrees(client, text);
      }
    });
  }
});

/** Tests `add(parts, n, type)`, a program of its own for each number and type. */
function each(what, types, numbers, add, applied = () => '') {
  describe(what, () => {
    for (const n of numbers) {
      test(`${n}`, async () => {
        for (const type of types) {
          const parts = new Parts();
          add(parts, n, type);
          await agrees(client, parts.text(applied(type)), whole);
        }
      });
    }
  });
}

each('constants that are folded, around 64 kB', ['s8', 'f32', 's64'], around(65536), (parts, bytes, type) => {
  const n = Math.ceil(bytes / { s8: 1, f32: 4, s64: 8 }[type]);
  const c = parts.add(`${type}[${n}]`, 'iota(), iota_dimension=0'), r = parts.add(`${type}[${n}]`, `reverse(${c}), dimensions={0}`);
  const s = parts.add(`${type}[${n}]`, `sort(${r}), dimensions={0}, to_apply=less`);
  parts.result(`${type}[${n}]`, parts.add(`${type}[${n}]`, `add(${s}, ${parts.parameter(`${type}[${n}]`)})`));
}, (type) => `less { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n`);

each('siblings around 64 kB and of 64 elements', ['f32', 's8'], [...around(64), ...around(65536)], (parts, bytes, type) => {
  const n = Math.ceil(bytes / { s8: 1, f32: 4 }[type]), inputs = list(7, () => parts.parameter(`${type}[${n}]`));
  inputs.forEach((x, k) => {
    const y = inputs[(k + 1) % inputs.length];
    parts.result(`${type}[${n}]`, parts.add(`${type}[${n}]`, `add(${x}, ${y})`));
    parts.result(`${type}[${n}]`, parts.add(`${type}[${n}]`, `multiply(${x}, ${y})`));
    parts.result(`${type}[]`, parts.add(`${type}[]`, `reduce(${x}, ${parts.add(`${type}[]`, 'constant(0)')}), dimensions={0}, to_apply=f`));
  });
}, (type) => binary('f', type, type === 's8' ? 'add' : 'maximum'));

each('scatters and gathers around 65,536 elements', ['f32', 's8', 's64'], around(65536), (parts, n, type) => {
  const x = parts.parameter(`${type}[${n}]`), i = parts.add(`s32[${n}]`, 'iota(), iota_dimension=0');
  const back = parts.add(`s32[${n}]`, `reverse(${i}), dimensions={0}`);
  const scattered = parts.add(`${type}[${n}]`,
    `scatter(${x}, ${back}, ${x}), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f`);
  parts.result(`${type}[${n}]`, scattered);
  parts.result(`${type}[${n}]`, parts.add(`${type}[${n}]`,
    `gather(${scattered}, ${back}), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}`));
  const pairs = parts.add(`${type}[${n},2]`, `concatenate(${[0, 1].map(() => parts.add(`${type}[${n},1]`, `reshape(${x})`))}), dimensions={1}`);
  parts.result(`${type}[${n},2]`,
    parts.add(`${type}[${n},2]`, `gather(${pairs}, ${back}), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}`));
}, (type) => binary('f', type, 'add'));

each('updates of 1 MB', ['f32', 's8'], around(1 << 20), (parts, bytes, type) => {
  const n = Math.ceil(bytes / { s8: 1, f32: 4 }[type]), x = parts.parameter(`${type}[${n + 5}]`), i = parts.parameter('s32[]');
  const update = parts.add(`${type}[${n}]`, `negate(${parts.parameter(`${type}[${n}]`)})`);
  parts.result(`${type}[${n + 5}]`, parts.add(`${type}[${n + 5}]`, `dynamic-update-slice(${x}, ${update}, ${i})`));
  parts.result(`${type}[${n + 5}]`, x);
});

describe('products of great depth, whose sums are split', () => {
  for (const type of ['f32', 'f64', 's32', 'u32', 's64', 'c64', 'c128']) {
    test(type, async () => {
      for (const [rows, columns, depth] of [[1, 1, 100_003], [3, 5, 60_001], [8, 8, 32_768], [40, 4, 20_011]]) {
        const module = client.parseHlo(`ENTRY e { x = ${type}[${rows},${depth}] parameter(0)\n y = ${type}[${columns},${depth}] parameter(1)
 ROOT d = ${type}[${rows},${columns}] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1} }`);
        const [x, y] = module.parameters.map(({ shape }, k) => filled(shape, (i) => whole(i, k))), executable = await client.compile(module);
        const [{ data }] = await executable.execute([x, y]), parts = type[0] === 'c' ? 2 : 1;
        const [a, b] = [x, y].map((literal) => Float64Array.from(literal.data, Number));
        for (let r = 0; r < rows; r++) {
          for (let c = 0; c < columns; c++) {
            let [re, imaginary] = [0, 0];
            for (let k = 0, i = parts * r * depth, j = parts * c * depth; k < depth; k++, i += parts, j += parts) {
              const im = parts === 2 ? a[i + 1] : 0, otherIm = parts === 2 ? b[j + 1] : 0;
              re += a[i] * b[j] - im * otherIm;
              imaginary += a[i] * otherIm + im * b[j];
            }
            const place = parts * (r * columns + c);
            assert.deepEqual([Number(data[place]), parts === 2 ? data[place + 1] : 0], [re, imaginary],
              `${rows}x${columns}, depth ${depth}: ${r}, ${c}`);
          }
        }
        executable.dispose();
        module.dispose();
      }
    });
  }
});

describe('Fourier transforms of long lines', () => {
  const SIZES = [4096, 8191, 8192, 8193, 8400, 16383, 16384, 16385, 16640, 32768, 65536, 131072];
  for (const [type, bound] of [['c64', 2e-6], ['c128', 1e-14]]) {
    for (const lines of [1, 3, 4, 5]) {
      test(`${lines} lines of ${type}`, async () => {
        for (const n of SIZES) {
          const text = `HloModule m\nENTRY e { x = ${type}[${lines},${n}] parameter(0)\n ROOT y = ${type}[${lines},${n}] fft(x), fft_type=FFT, fft_length={${n}} }`;
          const executable = await client.compile(client.parseHlo(text));
          // Impulses, whose transforms are known: of line l at places l + 1 and n - 3.
          const data = new (type === 'c64' ? Float32Array : Float64Array)(2 * lines * n);
          for (let l = 0; l < lines; l++) {
            data[2 * (l * n + l + 1)] = 2;
            data[2 * (l * n + n - 3) + 1] = 1;
          }
          const [{ data: got }] = await executable.execute([data]);
          for (let l = 0; l < lines; l++) {
            for (const k of [0, 1, 2, 63, 64, 1023, 4095, n >> 1, n - 2, n - 1]) {
              const [a, b] = [(-2 * Math.PI * ((k * (l + 1)) % n)) / n, (-2 * Math.PI * ((k * (n - 3)) % n)) / n];
              const wanted = [2 * Math.cos(a) - Math.sin(b), 2 * Math.sin(a) + Math.cos(b)];
              const at = 2 * (l * n + k), error = Math.hypot(got[at] - wanted[0], got[at + 1] - wanted[1]);
              assert.ok(error < bound * Math.log2(n), `${n}, line ${l}, ${k}: ${got[at]}, ${got[at + 1]}, not ${wanted}`);
            }
          }
          executable.dispose();
        }
      });
    }
  }
  for (const [type, complex, bound] of [['f32', 'c64', 2e-6], ['f64', 'c128', 1e-14]]) {
    for (const lines of [1, 3, 4, 5]) {
      test(`${lines} lines of ${type}, and back`, async () => {
        for (const n of [8192, 16380, 16382, 16384, 16386, 16800, 32766, 32768, 32770, 33280, 65536]) {
          const half = n / 2 + 1;
          const text = `HloModule m\nENTRY e { x = ${type}[${lines},${n}] parameter(0)\n y = ${complex}[${lines},${half}] fft(x), fft_type=RFFT, fft_length={${n}}
 z = ${type}[${lines},${n}] fft(y), fft_type=IRFFT, fft_length={${n}}\n ROOT r = (${complex}[${lines},${half}], ${type}[${lines},${n}]) tuple(y, z) }`;
          const executable = await client.compile(client.parseHlo(text)), x = new (type === 'f32' ? Float32Array : Float64Array)(lines * n);
          for (let l = 0; l < lines; l++) [x[l * n + l + 1], x[l * n + n - 3]] = [2, 1];
          const [{ data: got }, { data: back }] = await executable.execute([x]);
          const most = bound * Math.log2(n);
          for (let l = 0; l < lines; l++) {
            for (const k of [0, 1, 2, 63, 4095, 4096, 4097, n >> 2, (n >> 2) + 1, half - 2, half - 1].filter((place) => place < half)) {
              const [a, b] = [(-2 * Math.PI * ((k * (l + 1)) % n)) / n, (-2 * Math.PI * ((k * (n - 3)) % n)) / n];
              const [re, im] = [2 * Math.cos(a) + Math.cos(b), 2 * Math.sin(a) + Math.sin(b)], at = 2 * (l * half + k);
              assert.ok(Math.hypot(got[at] - re, got[at + 1] - im) < most, `${n}, line ${l}, ${k}: ${got[at]}, ${got[at + 1]}, not ${re}, ${im}`);
            }
          }
          const wrong = back.findIndex((value, i) => !(Math.abs(value - x[i]) < most));
          assert.equal(wrong, -1, `${n}: element ${wrong} is ${back[wrong]}, not ${x[wrong]}`);
          executable.dispose();
        }
      });
    }
  }
});
