/** Tests that arrays whose parts are updated and concatenated again are updated in place. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees } from '../support/as_written.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const shape = (dims) => `f32[${dims}]`;
const count = (dims) => dims.reduce((a, b) => a * b, 1);

/** A program's lines. Methods add one and return its name. */
class Lines {
  text = [];
  parameters = 0;
  add(dims, operation, type = 'f32') {
    this.text.push(`x${this.text.length} = ${type}[${dims}] ${operation}`);
    return { name: `x${this.text.length - 1}`, dims };
  }
  parameter = (dims, type) => this.add(dims, `parameter(${this.parameters++})`, type);
  zero = () => this.add([], 'constant(0)', 's32');
  reshape = (x, dims) => this.add(dims, `reshape(${x.name})`);
  slice(x, begin, size) {
    return this.add(size, `slice(${x.name}), slice={${size.map((n, d) => `[${begin[d]}:${begin[d] + n}]`)}}`);
  }
  /** x[i] in a dimension, which goes. */
  take(x, d, i) {
    const size = x.dims.with(d, 1);
    return this.reshape(this.slice(x, size.map((_, k) => (k === d ? i : 0)), size), x.dims.toSpliced(d, 1));
  }
  update = (x, u, at) => this.add(x.dims, `dynamic-update-slice(${[x, u, ...at].map(({ name }) => name)})`);
  concatenate(parts, d) {
    const dims = parts[0].dims.with(d, parts.reduce((sum, part) => sum + part.dims[d], 0));
    return this.add(dims, `concatenate(${parts.map(({ name }) => name)}), dimensions={${d}}`);
  }
  /** Arrays become one with a new dimension d; by a broadcast or a reshape. */
  stack(parts, d, how = 'broadcast') {
    return this.concatenate(parts.map((x) => {
      const dims = x.dims.toSpliced(d, 0, 1), kept = [...dims.keys()].filter((k) => k !== d);
      return this.add(dims, how === 'reshape' ? `reshape(${x.name})` : `broadcast(${x.name}), dimensions={${kept}}`);
    }), d);
  }
  sine = (x) => this.add(x.dims, `sine(${x.name})`);
  sum = (a, b) => this.add(a.dims, `add(${a.name}, ${b.name})`);
  end(results) {
    return `HloModule parts\nENTRY e {\n${this.text.join('\n')}\nROOT r = (${results.map(({ dims }) => shape(dims))}) ` +
      `tuple(${results.map(({ name }) => name)})\n}`;
  }
}

/** A step over layers, each with keys and values in one array, as keras-hub writes it. */
function layered({ batch = 1, layers = 3, long = 6, wide = 4, how, skips = -1, reads = 'both' }) {
  const l = new Lines(), row = [batch, 1, wide];
  const cache = l.parameter([batch, layers, 2, long, wide]), at = l.parameter([], 's32'), z = l.zero();
  let x = l.parameter(row);
  const updated = Array.from({ length: layers }, (_, i) => {
    const own = l.take(cache, 1, i), parts = [l.take(own, 1, 0), l.take(own, 1, 1)];
    if (i === skips) return l.stack(parts, 1, how);
    const keys = l.update(parts[0], x, [z, at, z]);
    if (reads === 'early') x = l.sum(x, l.slice(keys, [0, 1, 0], row));
    const values = l.update(parts[1], l.sine(x), [z, at, z]);
    x = l.sum(l.slice(keys, [0, 2, 0], row), l.sine(l.slice(values, [0, long - 1, 0], row)));
    return l.stack([keys, values], 1, how);
  });
  return l.end([x, l.stack(updated, 1, how)]);
}

/** Ranges of a dimension, which are updated along another one. */
function ranges({ at = 1, sizes = [2, 3, 1], of = 0, begin = [0, 2, 5], update = 2, twice = false, reads = false }) {
  const l = new Lines(), cache = l.parameter([6, 5, 3]), u = l.parameter([1, 1, 1]), i = l.parameter([], 's32'), z = l.zero();
  const results = [];
  const parts = sizes.map((size, k) => {
    const dims = [6, 5, 3].with(of, size);
    let part = l.slice(cache, [0, 0, 0].with(of, begin[k]), dims);
    for (let n = 0; n <= Number(twice); n++) {
      const small = l.add(dims.with(update, 1), `broadcast(${l.reshape(u, []).name}), dimensions={}`);
      if (k === at || at === 'all') part = l.update(part, n ? l.sine(small) : small, [z, z, z].with(update, i));
      if (reads && n === 0) results.push(part); // before it is updated again
    }
    return part;
  });
  return l.end([...results, l.concatenate(parts, of)]);
}

const value = (i, k, type) => (type === 's32' ? 2 : Math.sin(i * 1.3 + k));
const isMoved = async (text) => {
  const module = client.parseHlo(text), executable = await client.compile(module);
  const compiled = executable.toString();
  executable.dispose();
  module.dispose();
  return !/ concatenate\(/.test(compiled);
};

for (const [name, text] of Object.entries({
  'layers of keys and values': layered({}),
  'batches': layered({ batch: 2 }),
  'one layer': layered({ layers: 1 }),
  'one row of each': layered({ wide: 1 }),
  'caches of one position': layered({ long: 3, wide: 1, batch: 1 }),
  'reshapes': layered({ how: 'reshape' }),
  'a layer without an update': layered({ skips: 1 }),
  'a reader before the next update': layered({ reads: 'early' }),
  'ranges': ranges({}),
  'all ranges': ranges({ at: 'all' }),
  'all ranges, twice': ranges({ at: 'all', twice: true }),
  'ranges that are read between two updates': ranges({ at: 'all', twice: true, reads: true }),
  'ranges of the last dimension': ranges({ of: 2, sizes: [1, 2], begin: [0, 1], update: 1 }),
})) {
  test(`${name} are updated in place`, async () => {
    assert.ok(await isMoved(text));
    for (const at of [0, 2, 5, 100, -3]) await agrees(client, text, (i, k, type) => (type === 's32' ? at : value(i, k, type)));
  });
}

for (const [name, text] of Object.entries({
  'an update of some rows of a range': ranges({ update: 0, at: 1 }),
  'ranges in another order': ranges({ begin: [4, 1, 0] }),
  'ranges that overlap': ranges({ begin: [0, 1, 4] }),
  'ranges of a part': ranges({ sizes: [2, 2], begin: [0, 2] }),
})) {
  test(`${name}: not`, async () => {
    assert.ok(!await isMoved(text));
    await agrees(client, text, value);
  });
}

/** Arrays that are concatenated one after the other, updates of one part, slices of slices. */
const chains = (length) => {
  const l = new Lines(), x = l.parameter([length, 2]), u = l.parameter([1, 2]), i = l.parameter([], 's32'), z = l.zero();
  const row = (k) => l.slice(x, [k, 0], [1, 2]);
  let whole = l.update(row(0), u, [z, i]), part = row(1), inner = x;
  for (let k = 1; k < length; k++) {
    part = l.update(part, u, [z, i]);
    whole = l.concatenate([whole, k === 1 ? row(1) : row(k)], 0);
    inner = l.slice(inner, [0, 0], [length - k, 2]);
  }
  return l.end([whole, l.concatenate([row(0), part, l.slice(x, [2, 0], [length - 2, 2])], 0), l.concatenate([l.update(inner, u, [z, i]),
    l.slice(x, [1, 0], [length - 1, 2])], 0)]);
};

for (const length of [60, 70, 3000]) {
  test(`long chains, of ${length}`, async () => {
    await agrees(client, chains(length), value);
    await agrees(client, chains(length), value, { disable: ['simplify-algebra', 'common-subexpressions'] });
  });
}

test('many arrays take linear time', async () => {
  const time = async (groups) => {
    const l = new Lines(), u = l.parameter([1, 1]), i = l.parameter([], 's32'), z = l.zero();
    const results = Array.from({ length: groups }, () => {
      const x = l.parameter([4, 8]);
      return l.concatenate([0, 1, 2, 3].map((k) => l.update(l.slice(x, [k, 0], [1, 8]), u, [z, i])), 0);
    });
    const module = client.parseHlo(l.end(results)), begin = performance.now();
    (await client.compile(module)).dispose();
    module.dispose();
    return performance.now() - begin;
  };
  await time(100);
  const [few, many] = [await time(300), await time(2400)];
  assert.ok(many < 30 * few, `${few} and ${many} ms`); // it was 64 times as long
});

test('a donated cache is changed where it is', async () => {
  const module = client.parseHlo(layered({ layers: 4, long: 64, wide: 32, batch: 2 })), bytes = 4 * count([2, 4, 2, 64, 32]);
  const executable = await client.compile(module);
  const { aliases, temporariesGiven } = executable.memory;
  assert.ok(aliases >= bytes && temporariesGiven < bytes / 16, `${aliases} and ${temporariesGiven} bytes, of ${bytes}`);
  executable.dispose();
  module.dispose();
});
