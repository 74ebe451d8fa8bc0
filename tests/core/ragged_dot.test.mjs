/**
 * ragged-dot: groups of rows, of the depth and of batches, with one list of sizes and with one for each index before
 * the ragged dimension; sizes that sum up to less or to more than the dimension, and below 0. Expected results
 * follow the definition, element by element, in small whole numbers, which every type adds up exactly.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';
import { agrees, whole } from '../support/as_written.mjs';
import { turnsDuring } from '../support/turns.mjs';

const clients = [];
before(async () => {
  for (const threads of [0, 2]) clients.push(await Client.create({ threads }));
});
after(() => clients.forEach((client) => client.dispose()));

const product = (sizes) => sizes.reduce((x, y) => x * y, 1);
const numbers = (count, f) => Array.from({ length: count }, (_, i) => f(i));

/** Index to place of an array of named dimensions, such as { b: 2, m: 9 }: { b: 1, m: 3 } to 12. */
const placeOf = (dims) => (index) => Object.keys(dims).reduce((at, name) => at * dims[name] + index[name], 0);

/** Every index of named dimensions, the last one fastest. */
function* indices(dims) {
  const names = Object.keys(dims);
  for (let at = 0; at < product(Object.values(dims)); at++) {
    let rest = at;
    const index = {};
    for (const name of [...names].reverse()) {
      index[name] = rest % dims[name];
      rest = Math.floor(rest / dims[name]);
    }
    yield index;
  }
}

/** The group that `at` of a list is in, or -1. */
function groupOf(list, at) {
  let end = 0;
  return list.findIndex((size) => at < (end += Math.max(size, 0)));
}

/** The products of a result, as places [result, lhs, rhs]. `c`: lhs, rhs, and the dimensions before the group in `lists`,
 * all named; `ragged` of lhs. */
function* terms(c) {
  const ofRows = !c.contracted.includes(c.ragged), placeX = placeOf(c.lhs), placeY = placeOf(c.rhs);
  const placeList = placeOf({ ...c.lists, g: c.groups });
  let at = 0;
  for (const index of indices(c.result)) {
    for (const k of indices(Object.fromEntries(c.contracted.map((name) => [name, c.lhs[name]])))) {
      const full = { ...index, ...k };
      if (!c.batch.includes(c.ragged)) {
        const first = placeList({ ...full, g: 0 });
        const group = groupOf(c.sizes.slice(first, first + c.groups), full[c.ragged]);
        if (ofRows ? group < 0 : group !== index.g) continue;
        full.g = group;
      }
      yield [at, placeX(full), placeY(full)];
    }
    at++;
  }
}

function expected(c) {
  const sums = numbers(product(Object.values(c.result)), () => 0);
  for (const [at, x, y] of terms(c)) sums[at] += c.x[x] * c.y[y];
  return sums;
}

/** The cotangents of lhs and rhs for those of the result. */
function expectedVjp(c, seeds) {
  const [dx, dy] = [c.x, c.y].map((values) => values.map(() => 0));
  for (const [at, x, y] of terms(c)) {
    dx[x] += seeds[at] * c.y[y];
    dy[y] += seeds[at] * c.x[x];
  }
  return [dx, dy];
}

function textOf(c, type, sizeType) {
  const shape = (dims) => `${type}[${Object.values(dims)}]`;
  const at = (dims, names) => names.map((name) => Object.keys(dims).indexOf(name));
  const list = (name, places) => (places.length ? `, ${name}={${places}}` : '');
  return `HloModule m
ENTRY e {
  x = ${shape(c.lhs)} parameter(0)
  y = ${shape(c.rhs)} parameter(1)
  s = ${sizeType}[${[...Object.values(c.lists), c.groups]}] parameter(2)
  ROOT r = ${shape(c.result)} ragged-dot(x, y, s)${list('lhs_batch_dims', at(c.lhs, c.batch))}${
    list('lhs_contracting_dims', at(c.lhs, c.contracted))}${list('rhs_batch_dims', at(c.rhs, c.batch))}${
    list('rhs_contracting_dims', at(c.rhs, c.contracted))}${list('lhs_ragged_dims', at(c.lhs, [c.ragged]))}${
    'g' in c.rhs ? list('rhs_group_dims', at(c.rhs, ['g'])) : ''}
}`;
}

const literal = (values, dims, type) => {
  const nest = (at, [size, ...rest], count) =>
    numbers(size, (i) => (rest.length ? nest(at + i * (count / size), rest, count / size) : values[at + i]));
  return Literal.from(nest(0, dims, product(dims)), `${type}[${dims}]`);
};

async function check(c, type, sizeType, name) {
  const signed = type[0] !== 'u';
  const values = (dims, factor) => numbers(product(Object.values(dims)), (i) =>
    ((i * factor + (i >> 3)) % 5 === 0 ? 1 : 0) - (signed && (i * factor) % 7 === 0 ? 1 : 0));
  c = { batch: [], lists: {}, ...c, x: values(c.lhs, 3), y: values(c.rhs, 11) };
  const want = expected(c), text = textOf(c, type, sizeType);
  for (const client of clients) {
    const exe = await client.compile(client.parseHlo(text));
    assert.doesNotMatch(exe.thunks(), /^\s*eval/m, name);
    const args = [[c.x, c.lhs, type], [c.y, c.rhs, type], [c.sizes, { ...c.lists, g: c.groups }, sizeType]];
    const [got] = await exe.execute(args.map(([v, dims, of]) => literal(v, Object.values(dims), of)));
    const flat = got.toArray().flat(type[0] === 'c' ? Object.keys(c.result).length - 1 : Infinity);
    assert.deepEqual(flat.map((v) => (Array.isArray(v) ? v[0] : Number(v))), want, `${name} ${text}`);
  }
}

async function checkDerivatives(c, type, name) {
  const values = (dims, factor) => numbers(product(Object.values(dims)), (i) => ((i * factor + (i >> 2)) % 5) - 2);
  c = { batch: [], lists: {}, ...c, x: values(c.lhs, 3), y: values(c.rhs, 11) };
  const seeds = values(c.result, 7), module = clients[0].parseHlo(textOf(c, type, 's32'));
  const args = [[c.x, c.lhs, type], [c.y, c.rhs, type], [c.sizes, { ...c.lists, g: c.groups }, 's32']]
    .map(([v, dims, of]) => literal(v, Object.values(dims), of));
  const run = async (derived, ...more) => (await (await clients[0].compile(derived)).execute([...args, ...more])).slice(-2);
  const results = await run(clients[0].vjp(module, { wrt: [0, 1] }), literal(seeds, Object.values(c.result), type));
  results.forEach((got, i) => assert.deepEqual(got.toArray().flat(Infinity).map((v) => v + 0), expectedVjp(c, seeds)[i], `${name} ${i}`));
  const [, tangent] = await run(clients[0].jvp(module, { wrt: [0] }), args[0]);
  assert.deepEqual(tangent.toArray().flat(Infinity).map((v) => v + 0), expected(c), `${name}: linear in the lhs`);
}

/** Lists of sizes for a dimension of 90: all of it, less, more, none, below 0. */
const SIZES = [[40, 0, 50], [7, 33, 9], [60, 60, 60], [0, 0, 0], [-5, 20, -1]];
const CASES = {
  'rows': { lhs: { m: 90, k: 20 }, rhs: { g: 3, k: 20, n: 17 }, result: { m: 90, n: 17 } },
  'rows times one column': { lhs: { k: 20, m: 90 }, rhs: { g: 3, k: 20 }, result: { m: 90 } },
  'rows, the group last': { lhs: { k: 6, m: 90, h: 2 }, rhs: { n: 9, k: 6, g: 3 }, result: { m: 90, h: 2, n: 9 } },
  'rows of batches': {
    lhs: { b: 2, m: 90, k: 6 }, rhs: { g: 3, b: 2, k: 6, n: 40 }, batch: ['b'], result: { b: 2, m: 90, n: 40 },
  },
  'rows, a list for each batch and row before': {
    lhs: { h: 2, b: 2, m: 90, k: 4 }, rhs: { g: 3, b: 2, n: 8, k: 4 }, batch: ['b'], lists: { b: 2, h: 2 },
    result: { b: 2, h: 2, m: 90, n: 8 },
  },
  'depth': {
    lhs: { m: 12, k: 90 }, rhs: { k: 90, n: 21 }, ragged: 'k', result: { g: 3, m: 12, n: 21 },
  },
  'depth of two dimensions, of batches': {
    lhs: { k: 90, b: 2, c: 3, m: 5 }, rhs: { b: 2, n: 4, c: 3, k: 90 }, batch: ['b'], ragged: 'k',
    contracted: ['c', 'k'], result: { g: 3, b: 2, m: 5, n: 4 },
  },
  'depth, a list for each batch and number before': {
    lhs: { b: 2, c: 3, k: 90, m: 5 }, rhs: { b: 2, c: 3, k: 90, n: 8 }, batch: ['b'], ragged: 'k',
    contracted: ['c', 'k'], lists: { b: 2, c: 3 }, result: { g: 3, b: 2, m: 5, n: 8 },
  },
  'batches': {
    lhs: { b: 90, m: 2, k: 3 }, rhs: { b: 90, k: 3, n: 4 }, batch: ['b'], ragged: 'b', result: { b: 90, m: 2, n: 4 },
  },
};

for (const [name, c] of Object.entries(CASES)) {
  test(`ragged-dot: ${name}`, async () => {
    const all = name === 'rows' || name === 'depth';
    for (const [i, type] of ['f32', 'f64', 'f16', 'bf16', 'c64', 's32', 's64', 'u8'].entries()) {
      if (!all && i % 3) continue;
      const lists = product(Object.values(c.lists ?? {}));
      const sizes = numbers(lists, (list) => SIZES[(i + list) % SIZES.length]).flat();
      const sizeType = sizes.some((size) => size < 0) ? ['s8', 's32', 's64'][i % 3] : ['u8', 's16', 'u64'][i % 3];
      await check({ ragged: 'm', contracted: ['k'], ...c, groups: 3, sizes }, type, sizeType, `${name} of ${type}`);
    }
  });
}

for (const [name, c] of Object.entries(CASES)) {
  test(`ragged-dot, derivatives: ${name}`, async () => {
    for (const [i, type] of ['f32', 'f64'].entries()) {
      const sizes = numbers(product(Object.values(c.lists ?? {})), (list) => SIZES[(i + list) % SIZES.length]).flat();
      await checkDerivatives({ ragged: 'm', contracted: ['k'], ...c, groups: 3, sizes }, type, `${name} of ${type}`);
    }
  });
}

test('zeros of rows are left out, but not times infinities and NaNs', async () => {
  const [groups, m, k, n] = [3, 70, 150, 41];
  for (const [i, type] of ['f32', 'f64', 'bf16', 'c64', 's32', 's8'].entries()) {
    for (const special of type[0] === 's' ? [0] : [0, Infinity, NaN]) {
      const sizes = [[20, 0, 50], [70, 0, 0], [1, 33, 30]][i % 3]; // the last rows of the third have none
      const result = type === 's8' ? 's32' : type === 'bf16' ? 'f32' : type;
      const module = clients[0].parseHlo(`HloModule m
ENTRY e { x = ${type}[${groups},${m},${k}] parameter(0)
  y = ${type}[${groups},${k},${n}] parameter(1)
  ROOT r = ${result}[${m},${n}] dot(x, y), lhs_contracting_dims={2,0}, rhs_contracting_dims={1,0} }`);
      const x = numbers(groups * m * k, (at) => {
        const g = Math.floor(at / k / m), row = Math.floor(at / k) % m;
        return groupOf(sizes, row) === g && at % k > 9 ? (at * 7919) % 13 - 6 : type[0] === 's' || at % 2 ? 0 : -0;
      });
      const y = numbers(groups * k * n, (at) => (at === n * (k + 5) + 3 ? special : (at * 7907) % 11 - 5)); // of the second group
      const want = numbers(m * n, (at) => {
        let sum = 0;
        for (let g = 0; g < groups; g++) {
          for (let d = 0; d < k; d++) sum += x[(g * m + Math.floor(at / n)) * k + d] * y[(g * k + d) * n + at % n];
        }
        return sum;
      });
      const literal = (dims, values) => (type === 'c64'
        ? new Literal(`c64[${dims}]`, Float32Array.from(values.flatMap((v) => [v, 0]))) : new Literal(`f32[${dims}]`,
          Float32Array.from(values)).convert(type));
      for (const client of clients) {
        const executable = await client.compile(module.toString ? client.parseHlo(module.toString()) : module);
        const [got] = await executable.execute([literal([groups, m, k], x), literal([groups, k, n], y)]);
        const reals = Array.from(got.data).filter((_, at) => type !== 'c64' || at % 2 === 0);
        assert.deepEqual(reals, want, `${type} ${special}`);
        executable.dispose();
      }
    }
  }
});

test('ragged-dot: more groups than rows', async () => {
  const some = { lhs: { m: 3, k: 4 }, contracted: ['k'], ragged: 'm', result: { m: 3, n: 5 } };
  const sizes = numbers(40, (g) => (g % 13 === 5 ? 1 : 0));
  await check({ ...some, rhs: { g: 40, k: 4, n: 5 }, groups: 40, sizes }, 'f32', 's32', 'more');
});

test('ragged-dot without threads: the event loop turns, and a signal ends it', async () => {
  const client = clients[0];
  const exe = await client.compile(client.parseHlo(`HloModule m
ENTRY e {
  x = f32[20000,300] parameter(0)
  y = f32[16,300,300] parameter(1)
  s = s32[16] parameter(2)
  ROOT r = f32[20000,300] ragged-dot(x, y, s), lhs_contracting_dims={1}, rhs_contracting_dims={1},
    lhs_ragged_dims={0}, rhs_group_dims={0}
}`));
  const args = [new Float32Array(6e6), new Float32Array(16 * 9e4), new Int32Array(16).fill(1250)];
  const turns = await turnsDuring(() => exe.execute(args));
  assert.ok(turns > 1, `${turns} turns`);
  const stop = new AbortController();
  await turnsDuring(() => assert.rejects(exe.execute(args, { signal: stop.signal }), { code: 'CANCELLED' }), () => stop.abort());
});

/** A product of rows with the experts' matrices, of numbers with a scale for each of their columns. */
function experts(type, [rows, depth, columns, groups], { turned = false, sizes = 's32' } = {}) {
  const dims = turned ? [groups, columns, depth] : [groups, depth, columns];
  return `HloModule m
ENTRY e { x = f32[${rows},${depth}] parameter(0)
  w = ${type}[${dims}] parameter(1)
  s = f32[${groups},${columns}] parameter(2)
  n = ${sizes}[${groups}] parameter(3)
  c = f32[${dims}] convert(w)
  b = f32[${dims}] broadcast(s), dimensions={0,${turned ? 1 : 2}}
  m = f32[${dims}] multiply(c, b)
  ROOT r = f32[${rows},${columns}] ragged-dot(x, m, n), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 2 : 1}},
    lhs_ragged_dims={0}, rhs_group_dims={0} }`;
}

test('groups of few rows', async () => {
  const lists = [[3, 0, 2, 4], [0, 0, 1, 0], [20, 5, 0, 0], [-3, 2, 30, 1], [0, 0, 0, 0]];
  for (const type of ['f32', 'bf16', 's8', 's4', 'f8e5m2']) {
    for (const [rows, depth, columns] of [[1, 64, 48], [9, 96, 33], [9, 33, 48], [20, 1200, 72], [21, 64, 48], [12, 1, 128], [5, 4096, 16]]) {
      for (const turned of [false, true]) {
        for (const sizes of rows === 9 ? lists : lists.slice(0, 2)) {
          const value = (i, k, t) => (k === 3 ? sizes[i] : k === 2 ? 2 ** (i % 3) : t === 'f32' && k === 1 ? whole(i) / 2 : whole(i, k));
          await agrees(clients[rows % 2], experts(type, [rows, depth, columns, 4], { turned }), value);
        }
      }
    }
  }
});
