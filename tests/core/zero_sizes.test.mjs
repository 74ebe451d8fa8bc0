/**
 * Tests sizes of zero, one, two and three in operations that move and combine elements. The compiled program is
 * compared with the evaluator here, and with that of the native build, whose sanitizers check every access.
 * PROGRAMS=300 SEED=5 runs more of each operation, or others.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { goldenCase } from '../fuzz/golden_file.mjs';
import { Random } from '../fuzz/random.mjs';
import { leafOf } from '../fuzz/run.mjs';
import { agrees, filled } from '../support/as_written.mjs';
import { lines, run } from '../support/program.mjs';

const PROGRAMS = Number(process.env.PROGRAMS ?? 60), SEED = Number(process.env.SEED ?? 1);
const APPLIED = `f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }
ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }`;

const by = (w, value) => w.map(value).join('x');

/** The attribute of a window. @param {boolean} dilates whether it says how its operands are dilated */
const windowText = (w, dilates) =>
  `window={size=${by(w, (v) => v.size)} stride=${by(w, (v) => v.stride)} pad=${by(w, (v) => `${v.lo}_${v.hi}`)}${
    dilates ? ` lhs_dilate=${by(w, (v) => v.base)} rhs_dilate=${by(w, (v) => v.win)}` : ''}}`;

const sz = (r) => r.pick([0, 0, 1, 2, 2, 3]);
const list = (n, f) => Array.from({ length: n }, (_, i) => f(i));
const subset = (r, n, p = 0.4) => list(n, (i) => i).filter(() => r.chance(p));
const makers = {
  gather(r) {
    const rank = r.between(1, 3), dims = list(rank, () => sz(r)), idx = list(r.between(1, 2), () => sz(r));
    const collapsed = subset(r, rank), map = r.shuffle(list(rank, (i) => i)).slice(0, r.between(1, rank));
    const batching = [], ibatch = [];
    const vec = r.between(0, idx.length);
    if (r.chance(0.4) && idx.length > 1) {
      const d = r.between(0, rank - 1);
      if (!map.includes(d) && !collapsed.includes(d)) {
        const s = list(idx.length, (i) => i).filter((i) => i !== vec)[0];
        batching.push(d);
        ibatch.push(s);
        idx[s] = dims[d];
      }
    }
    if (vec < idx.length) idx[vec] = map.length; else if (map.length !== 1) map.length = 1;
    const slice = dims.map((d, i) => (collapsed.includes(i) || batching.includes(i) ? r.pick([0, 1, 1, 1]) : r.between(0, d)));
    const rest = idx.filter((_, i) => i !== vec), off = rank - collapsed.length - batching.length, out = rest.length + off;
    const offset = r.shuffle(list(out, (i) => i)).slice(0, off).sort();
    let a = 0, b = 0; const windows = slice.filter((_, i) => !collapsed.includes(i) && !batching.includes(i));
    const shape = list(out, (i) => (offset.includes(i) ? windows[a++] : rest[b++]));
    const batches = batching.length ? `operand_batching_dims={${batching}}, start_indices_batching_dims={${ibatch}}, ` : '';
    const where = `offset_dims={${offset}}, collapsed_slice_dims={${collapsed}}, start_index_map={${map}}, ${batches}index_vector_dim=${vec}`;
    return `x = f32[${dims}] parameter(0)\n i = s32[${idx}] parameter(1)\n ROOT g = f32[${shape}] gather(x, i), ${where}, slice_sizes={${slice}}`;
  },
  scatter(r) {
    const rank = r.between(1, 3), dims = list(rank, () => sz(r)), idx = list(r.between(1, 2), () => sz(r));
    const inserted = subset(r, rank), map = r.shuffle(list(rank, (i) => i)).slice(0, r.between(1, rank)), vec = r.between(0, idx.length);
    const batching = [], ibatch = [];
    if (r.chance(0.4) && idx.length > 1) {
      const d = r.between(0, rank - 1);
      if (!map.includes(d) && !inserted.includes(d)) {
        const s = list(idx.length, (i) => i).filter((i) => i !== vec)[0];
        batching.push(d);
        ibatch.push(s);
        idx[s] = dims[d];
      }
    }
    if (vec < idx.length) idx[vec] = map.length; else map.length = 1;
    const rest = idx.filter((_, i) => i !== vec), kept = dims.filter((_, i) => !inserted.includes(i) && !batching.includes(i)),
      out = rest.length + kept.length;
    const win = r.shuffle(list(out, (i) => i)).slice(0, kept.length).sort(); let a = 0, b = 0;
    const shape = list(out, (i) => (win.includes(i) ? r.between(0, kept[a++]) : rest[b++]));
    const batches = batching.length ? `input_batching_dims={${batching}}, scatter_indices_batching_dims={${ibatch}}, ` : '';
    const where = `update_window_dims={${win}}, inserted_window_dims={${inserted}}, scatter_dims_to_operand_dims={${map}}, ` +
      `${batches}index_vector_dim=${vec}`;
    return `x = f32[${dims}] parameter(0)\n i = s32[${idx}] parameter(1)\n u = f32[${shape}] parameter(2)
 ROOT g = f32[${dims}] scatter(x, i, u), ${where}, to_apply=f`;
  },
  slice(r) {
    const rank = r.between(1, 3), dims = list(rank, () => sz(r)), s = dims.map((d) => r.between(0, d));
    return `x = f32[${dims}] parameter(0)\n${list(rank, (i) => ` i${i} = s32[] parameter(${i + 1})`).join('\n')}\n ROOT g = f32[${s}] dynamic-slice(x, ${list(rank, (i) => `i${i}`)}), dynamic_slice_sizes={${s}}`;
  },
  update(r) {
    const rank = r.between(1, 3), dims = list(rank, () => sz(r)), s = dims.map((d) => r.between(0, d));
    return `x = f32[${dims}] parameter(0)\n u = f32[${s}] parameter(1)\n${list(rank, (i) => ` i${i} = s32[] parameter(${i + 2})`).join('\n')}\n ROOT g = f32[${dims}] dynamic-update-slice(x, u, ${list(rank, (i) => `i${i}`)})`;
  },
  pad(r) {
    const rank = r.between(1, 3), dims = list(rank, () => sz(r)), p = dims.map(() => [r.between(-3, 3), r.between(-3, 3), r.between(0, 2)]);
    const s = dims.map((d, i) => d + p[i][0] + p[i][1] + Math.max(d - 1, 0) * p[i][2]);
    return `x = f32[${dims}] parameter(0)\n z = f32[] parameter(1)\n ROOT g = f32[${s.map((v) => (v < 0 ? r.pick([0, 1]) : v))}] pad(x, z), padding=${p.map((v) => v.join('_')).join('x')}`;
  },
  window(r, select) {
    const rank = r.between(1, 3), dims = list(rank, () => sz(r)), w = dims.map(() => ({
      size: r.between(1, 3), stride: r.between(1, 2), lo: r.between(-1, 2), hi: r.between(-1, 2),
      base: select ? 1 : r.pick([1, 1, 2]), win: select ? 1 : r.pick([1, 1, 2]),
    }));
    if (select) w.forEach((v) => { v.lo = Math.max(v.lo, 0); v.hi = Math.max(v.hi, 0); });
    const s = dims.map((d, i) => {
      const v = w[i], b = (d ? (d - 1) * v.base + 1 : 0) + v.lo + v.hi, e = (v.size - 1) * v.win + 1;
      return b <= 0 || e > b ? 0 : Math.floor((b - e) / v.stride) + 1;
    });
    const text = windowText(w, !select);
    return select ? `x = f32[${dims}] parameter(0)\n s = f32[${s}] parameter(1)\n z = f32[] parameter(2)\n ROOT g = f32[${dims}] select-and-scatter(x, s, z), ${text}, select=ge, scatter=f`
      : `x = f32[${dims}] parameter(0)\n z = f32[] constant(0)\n ROOT g = f32[${s}] reduce-window(x, z), ${text}, to_apply=f`;
  },
  select(r) { return makers.window(r, true); },
  convolution(r) {
    const sp = r.between(0, 2), groups = r.pick([1, 1, 2]), bgroups = groups === 1 ? r.pick([1, 1, 2]) : 1;
    const batch = sz(r) * bgroups, ki = sz(r), o = sz(r) * groups * bgroups, dims = list(sp, () => sz(r));
    const w = dims.map(() => ({ size: r.pick([0, 1, 2, 3]), stride: r.between(1, 2), lo: r.between(-1, 2), hi: r.between(-1, 2),
      base: r.pick([1, 1, 2]), win: r.pick([1, 1, 2]) }));
    const s = dims.map((d, i) => {
      const v = w[i], b = (d ? (d - 1) * v.base + 1 : 0) + v.lo + v.hi, e = v.size ? (v.size - 1) * v.win + 1 : 0;
      return b <= 0 || e > b ? 0 : Math.floor((b - e) / v.stride) + 1;
    });
    const l = '01'.slice(0, sp);
    return `x = f32[${[batch, ...dims, ki * groups]}] parameter(0)\n k = f32[${[...w.map((v) => v.size), ki, o]}] parameter(1)
 ROOT g = f32[${[batch / bgroups, ...s, o]}] convolution(x, k), ${sp ? `${windowText(w, true)}, ` : ''}` +
      `dim_labels=b${l}f_${l}io->b${l}f, feature_group_count=${groups}, batch_group_count=${bgroups}`;
  },
  reduce(r) {
    const rank = r.between(1, 3), dims = list(rank, () => sz(r)), d = subset(r, rank, 0.5);
    return `x = f32[${dims}] parameter(0)\n z = f32[] constant(0)\n ROOT g = f32[${dims.filter((_, i) => !d.includes(i))}] reduce(x, z), dimensions={${d}}, to_apply=f`;
  },
  dot(r) {
    const m = sz(r), k = sz(r), n = sz(r), b = r.chance(0.5) ? [sz(r)] : [], d = b.length;
    const batches = d ? 'lhs_batch_dims={0}, rhs_batch_dims={0}, ' : '';
    return `x = f32[${[...b, m, k]}] parameter(0)\n y = f32[${[...b, k, n]}] parameter(1)\n ROOT g = f32[${[...b, m, n]}] dot(x, y), ` +
      `${batches}lhs_contracting_dims={${d + 1}}, rhs_contracting_dims={${d}}`;
  },
  sort(r) {
    const dims = list(r.between(1, 2), () => sz(r));
    return `x = f32[${dims}] parameter(0)\n ROOT g = f32[${dims}] sort(x), dimensions={${r.between(0, dims.length - 1)}}, to_apply=ge`;
  },
  concat(r) {
    const dims = list(r.between(1, 3), () => sz(r)), d = r.between(0, dims.length - 1), o = dims.map((v, i) => (i === d ? sz(r) : v));
    return `x = f32[${dims}] parameter(0)\n y = f32[${o}] parameter(1)\n ROOT g = f32[${dims.map((v, i) => (i === d ? v + o[i] : v))}] concatenate(x, y), dimensions={${d}}`;
  },
};

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** Whole numbers; those of indices reach past both ends. */
const valueOf = (type, seed) => (i, k) => (type === 's32' ? ((i * 7919 + k * 13 + seed) % 6) - 2 : ((i * 7919 + k) % 5) + 1);

/** The program, or null where the operation refuses it: it must say which. */
async function check(kind, seed) {
  const text = `HloModule m\n${APPLIED}\nENTRY e {\n ${makers[kind](new Random(seed))}\n}\n`;
  let module;
  try {
    module = client.parseHlo(text);
  } catch (error) {
    assert.equal(error.code, 'INVALID_ARGUMENT', `${error.message}\n${text}`);
    assert.match(error.message, /^(gather|pad|convolution): .*(size|dimension|shape)/s, text);
    return null;
  }
  const literals = module.parameters.map(({ shape }, k) => filled(shape, (i) => valueOf(shape.elementType, seed)(i, k)));
  const executable = await client.compile(module), expected = (await executable.execute(literals)).map(leafOf);
  executable.dispose();
  module.dispose();
  await agrees(client, text, (i, k, type) => valueOf(type, seed)(i, k));
  return goldenCase({ name: `${kind}${seed}`, hlo: text, replicas: 1, literals: literals.map((literal) => [literal]), expected: [expected],
    tolerance: 'exact' });
}

/** The program in a loop of five iterations: its first operand has other values in each, the others are invariant. */
function looped(text) {
  const shapes = [...text.matchAll(/= (\S+) parameter/g)].map((m) => m[1]), result = /ROOT g = (\S+)/.exec(text)[1];
  const state = `(s32[], ${[...shapes, result].join(', ')})`, all = shapes.map((_, k) => `p${k}`);
  return `HloModule m\n${APPLIED}\nop {\n ${text}\n}
condition { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(5)
 ROOT r = pred[] compare(i, n), direction=LT }
body { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n j = s32[] add(i, one)
${shapes.map((shape, k) => ` p${k} = ${shape} get-tuple-element(s), index=${k + 1}\n`).join('')} q = ${shapes[0]} negate(p0)
 g = ${result} call(${all}), to_apply=op\n ROOT r = ${state} tuple(j, ${['q', ...all.slice(1), 'g']}) }
ENTRY e {\n${shapes.map((shape, k) => ` p${k} = ${shape} parameter(${k})\n`).join('')} zero = s32[] constant(0)\n z = f32[] constant(0)
 start = ${result} broadcast(z), dimensions={}\n t = ${state} tuple(zero, ${[...all, 'start']})
 u = ${state} while(t), condition=condition, body=body\n ROOT r = ${result} get-tuple-element(u), index=${shapes.length + 1} }`;
}

for (const kind of Object.keys(makers)) {
  test(`${kind} of sizes from zero on in a loop`, async () => {
    for (let seed = SEED; seed < SEED + PROGRAMS / 2; seed++) {
      const body = makers[kind](new Random(seed)), text = looped(body);
      try {
        client.parseHlo(text).dispose();
      } catch {
        assert.throws(() => client.parseHlo(`HloModule m\n${APPLIED}\nENTRY e {\n ${body}\n}\n`), { code: 'INVALID_ARGUMENT' }, text);
        continue;
      }
      await agrees(client, text, (i, k, type) => valueOf(type, seed)(i, k));
    }
  });

  test(`${kind} of sizes from zero on`, async () => {
    const cases = [];
    for (let seed = SEED; seed < SEED + PROGRAMS; seed++) cases.push(await check(kind, seed));
    const folder = await mkdtemp(join(tmpdir(), 'xla-wasm-sizes-')), file = join(folder, `${kind}.golden`);
    try {
      await writeFile(file, cases.filter(Boolean).join(''));
      const { code, stdout, stderr } = await run('build/native/golden', [file]);
      assert.equal(code, 0, lines(stdout + stderr).slice(-20).join('\n'));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test('an empty slice of a collapsed dimension is refused, unless the result is empty, too', async () => {
  const gather = (rows, indices, size) => `HloModule m\nENTRY e { x = f32[${rows},3] parameter(0)\n i = s32[${indices},1] parameter(1)
 ROOT g = f32[${indices},3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={${size},3} }`;
  for (const rows of [0, 1, 2]) {
    assert.throws(() => client.parseHlo(gather(rows, 2, 0)), /^XlaError: gather: slice_sizes=\{0,3\}: dimension 0 of operand f32\[\d,3\]/);
    await agrees(client, gather(rows, 0, 0));
  }
});
