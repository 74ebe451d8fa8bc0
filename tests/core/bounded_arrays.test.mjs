/**
 * Tests bounded-arrays: a product does not read the positions of a cache that zeros multiply, if the cache is known to hold no
 * infinity and no NaN.
 *
 * Each step is compared, to the bit, with the program without the rewrite. Some tests write a NaN into such a position, through an
 * old view of the Buffer, so that the core does not hear of it. If the result stays finite, the position was not read. With a thread
 * memory is shared: an old view of other memory would be empty after a growth.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';
import { afterPass } from '../support/passes.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 1 });
});
after(() => client.dispose());

const HEADS = 2, LENGTH = 800, DEPTH = 32, LAYERS = 3;

/** [batch, positions, heads, depth], or the heads before the positions, or the positions last. */
const LAYOUTS = {
  thd: { dims: (n, d = DEPTH) => [1, n, HEADS, d], einsums: ['bhd,bthd->bht', 'bht,bthd->bhd'], start: (pos) => [0, pos, 0, 0], axis: 1 },
  htd: { dims: (n, d = DEPTH) => [1, HEADS, n, d], einsums: ['bhd,bhtd->bht', 'bht,bhtd->bhd'], start: (pos) => [0, 0, pos, 0], axis: 2 },
  hdt: { dims: (n, d = DEPTH) => [1, HEADS, d, n], einsums: ['bhd,bhdt->bht', 'bht,bhdt->bhd'], start: (pos) => [0, 0, 0, pos], axis: 3 },
};

/** The functions that build a program, for one layout and one type of its caches. */
function parts(b, name, type) {
  const layout = LAYOUTS[name], shape = (dims, of = type) => `${of}[${dims}]`;
  const put = (cache, row, pos) => cache.dynamicUpdateSlice(row, layout.start(pos));
  const attend = (q, keys, values, pos, f = b) => {
    const scores = f.einsum(layout.einsums[0], [q, f.convertElementType(keys, 'f32')]).mul(0.125);
    const isBefore = f.broadcastInDim(f.iota('s32', LENGTH).le(pos), [1, HEADS, LENGTH], [2]);
    return f.einsum(layout.einsums[1], [f.softmax(f.where(isBefore, scores, -1e30)), f.convertElementType(values, 'f32')]);
  };
  const parameters = (...shapes) => shapes.map((of, i) => b.parameter(i, of));
  return { b, type, layout, shape, put, attend, parameters };
}

const query = `f32[1,${HEADS},${DEPTH}]`;

/** Programs of (query, caches, a row, position), whose results are an array and the caches. */
const PROGRAMS = {
  'one step': ({ b, layout, shape, put, attend, parameters }) => {
    const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
    const k = put(keys, row, pos), v = put(values, row, pos);
    return b.tuple([attend(q, k, v, pos), k, v]);
  },
  'a stack of layers': ({ b, layout, shape, put, attend, parameters }) => {
    const dims = layout.dims(LENGTH), stack = shape([LAYERS, ...dims]);
    const [q, keys, values, row, pos] = parameters(query, stack, stack, shape(layout.dims(1)), 's32[]');
    const at = (f, all, i) => f.reshape(all.dynamicSlice([i, 0, 0, 0, 0], [1, ...dims]), dims);
    const back = (f, all, part, i) => all.dynamicUpdateSlice(f.reshape(part, [1, ...dims]), [i, 0, 0, 0, 0]);
    const loop = b.while((_, i) => i.lt(LAYERS), (f, i, x, k, v, r, p) => {
      const kept = put(at(f, k, i), r, p), value = put(at(f, v, i), r, p);
      return [i.add(1), x.add(attend(x, kept, value, p, f)), back(f, k, kept, i), back(f, v, value, i), r, p];
    }, [b.constant(0, 's32[]'), q, keys, values, row, pos]);
    return b.tuple([1, 2, 3].map((i) => loop.getTupleElement(i)));
  },
  'several tokens in a loop': ({ b, type, layout, shape, put, attend, parameters }) => {
    const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
    const loop = b.while((_, i) => i.lt(3), (f, i, x, k, v, r, p) => {
      const kept = put(k, r, p), value = put(v, r, p);
      const y = attend(x, kept, value, p, f), grown = y.mul(f.where(p.ge(700), f.constant(Infinity, 'f32[]'), f.constant(3, 'f32[]')));
      return [i.add(1), y, kept, value, f.reshape(f.convertElementType(grown, type), layout.dims(1)), p.add(1)];
    }, [b.constant(0, 's32[]'), q, keys, values, row, pos]);
    return b.tuple([1, 2, 3].map((i) => loop.getTupleElement(i)));
  },
  'a branch': ({ b, layout, shape, attend, parameters }) => {
    const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
    const written = b.conditional(pos.ge(3), b.tuple([keys, values, row, pos]), (f, s) => {
      const [k, v, r, p] = [0, 1, 2, 3].map((i) => s.getTupleElement(i));
      return f.tuple([k.dynamicUpdateSlice(r, layout.start(p)), v.dynamicUpdateSlice(r, layout.start(p))]);
    }, b.tuple([keys, values]), (f, s) => f.tuple([0, 1].map((i) => s.getTupleElement(i))));
    const [k, v] = [0, 1].map((i) => written.getTupleElement(i));
    return b.tuple([attend(q, k, v, pos), k, v]);
  },
  'a select': ({ b, layout, shape, attend, parameters }) => {
    const dims = layout.dims(LENGTH), cache = shape(dims), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
    const isHere = b.broadcastInDim(b.iota('s32', LENGTH).eq(pos), dims, [layout.axis]);
    const all = b.broadcastInDim(b.reshape(row, [1, HEADS, DEPTH]), dims, [0, 1, 2, 3].filter((d) => d !== layout.axis));
    const k = b.where(isHere, all, keys), v = b.where(isHere, all, values);
    return b.tuple([attend(q, k, v, pos), k, v]);
  },
};

const types = { f32: NaN, bf16: Infinity, f16: -Infinity, f64: NaN };
const wave = (shape, phase) => {
  const count = shape.match(/\[(.*)\]/)[1].split(',').reduce((a, n) => a * n, 1), type = /^\w+/.exec(shape)[0];
  const f32 = new Literal(shape.replace(type, 'f32'), Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.7 + phase)));
  return type === 'f32' ? f32 : f32.convert(type);
};

async function compiled(build, layout, type, disable = []) {
  const b = client.builder('m');
  const executable = await client.compile(b.build(build(parts(b, layout, type))), { disable });
  return { executable, shapes: executable.parameters.map(({ shape }) => String(shape).replace(/\{.*\}/, '')) };
}

/** The bits of a number at an element of a Buffer, by an array of bits of the type. */
const write = (buffer, element, value) => {
  const view = buffer.view();
  view[element] = view instanceof Uint16Array ? new Literal('f32[]', Float32Array.of(value)).convert(buffer.shape.elementType).data[0] : value;
  return view;
};

/** Both programs, with and without the rewrite, and their caches. */
async function pair(build, layout, type, disabled = []) {
  const sides = [];
  for (const disable of [disabled, ['bounded-arrays']]) {
    const side = await compiled(build, layout, type, disable);
    side.caches = [1, 2].map((i) => client.buffer(wave(side.shapes[i], i)));
    sides.push(side);
  }
  /** Runs a step on both, compares all results and returns the first of them. */
  const step = async (pos, row, donate = true) => {
    const results = [];
    for (const side of sides) {
      const [x, ...caches] = await side.executable.execute([wave(side.shapes[0], pos), ...side.caches, row ?? wave(side.shapes[3], pos), pos],
        { device: true, donate: donate ? [1, 2] : [] });
      side.caches = caches;
      results.push([x, ...caches].map((buffer) => Buffer.from(buffer.toLiteral().data.buffer.slice(0))));
      side.x = x.toLiteral();
    }
    assert.deepEqual(results[0], results[1], `position ${pos}`);
    return sides[0].x.toArray().flat(2);
  };
  return { sides, step };
}

/** Masks that are added to scores: [heads, positions] of f32, 0 where a predicate is true. */
const lowest = -3.4028234663852886e38;
const ADDED = {
  'the lowest number': (b, kept) => b.where(kept, b.constant(0, 'f32[]'), b.constant(lowest, 'f32[]')),
  '-inf': (b, kept) => b.where(kept, b.constant(0, 'f32[]'), b.constant(-Infinity, 'f32[]')),
  '-1e30, of a number that is 0 or 1': (b, kept) => b.sub(1, b.convertElementType(kept, 'f32')).mul(-1e30),
  '-1e9, whose exponential is 0': (b, kept) => b.sub(1, b.convertElementType(kept, 'f32')).mul(-1e9),
  'the lowest number, of a number that is not 0': (b, kept) =>
    b.where(b.convertElementType(kept, 's32').gt(0), b.constant(0, 'f32[]'), b.constant(lowest, 'f32[]')),
};

/** Scores and masks that are added to them, which do not hide them: numbers are truncated, wrap or overflow. */
const wide = (b, x) => b.convertElementType(x, 'f32'), chosen = (b, kept, x) => b.where(kept, b.constant(0, 'f32[]'), b.constant(x, 'f32[]'));
/** The rewrite looks at programs with an exponential only. */
const withExp = (b, scores) => b.concatInDim([scores, scores.exp()], 2);
const NOT_HIDING = {
  'a fraction that becomes 0': (b, scores, kept) =>
    scores.add(wide(b, b.convertElementType(b.sub(1, wide(b, kept)).mul(0.9), 's32')).mul(-1e30)),
  'a u8 that wraps to 0': (b, scores, kept) => scores.add(wide(b, b.sub(1, b.convertElementType(kept, 'u8')).mul(128).mul(2)).mul(-1e30)),
  'scores of integers': (b, scores, kept) =>
    wide(b, b.convertElementType(scores.mul(100), 's32').mul(10_000_000)).add(chosen(b, kept, -1e12)),
  'scores of an f8 that overflows': (b, scores, kept) =>
    wide(b, b.convertElementType(scores.mul(1000), 'f8e4m3fn')).add(chosen(b, kept, lowest)),
  'scores that overflow, and -inf': (b, scores, kept) => scores.mul(2 ** 120).mul(2 ** 10).add(chosen(b, kept, -Infinity)),
  'scores that overflow on their way': (b, scores, kept) => scores.mul(2 ** 127).mul(2 ** -127).add(chosen(b, kept, -1e30)),
  'scores that become NaN': (b, scores, kept) => scores.mul(NaN).add(chosen(b, kept, -1e30)),
  'a small number, whose sums are a result': (b, scores, kept) => scores.add(chosen(b, kept, -1e9)),
  'a small number, whose sums are a result beside a softmax': (b, scores, kept) => {
    const sums = scores.add(chosen(b, kept, -1e9));
    return b.concatInDim([sums, b.softmax(sums)], 2);
  },
  'a small number, whose differences are a result': (b, scores, kept) => {
    const sums = scores.add(chosen(b, kept, -1e9)), most = b.max(sums, [2]);
    const rest = sums.sub(b.broadcastInDim(most, sums.shape.dimensions, [0, 1]));
    return b.concatInDim([rest, rest.exp()], 2);
  },
  'a small number, and the maximum of each column': (b, scores, kept) => {
    const sums = scores.add(chosen(b, kept, -1e9));
    return sums.sub(b.broadcastInDim(b.max(sums, [1]), sums.shape.dimensions, [0, 2])).exp();
  },
  'a small number, and the exponential without a maximum': (b, scores, kept) => scores.mul(3e7).add(chosen(b, kept, -1e9)).mul(1e-8).exp(),
  'a number that is too small': (b, scores, kept) => b.softmax(scores.add(chosen(b, kept, -80))),
  'a number that rounds to the opposite': (b, scores, kept) =>
    scores.add(b.sub(1, wide(b, kept)).mul(Math.fround(0.1)).mul(10).sub(1).mul(-1e38)),
};

/** Attention with an added mask, of a window if `width` is given. */
const added = (mask, width) => ({ b, layout, shape, put, parameters }) => {
  const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
  const k = put(keys, row, pos), v = put(values, row, pos);
  const at = b.iota('s32', LENGTH), until = at.le(pos), kept = width ? until.and(at.gt(pos.sub(width))) : until;
  const bias = b.broadcastInDim(mask(b, kept), [1, HEADS, LENGTH], [2]);
  const scores = b.einsum(layout.einsums[0], [q, wide(b, k)]).mul(0.125).add(bias);
  return b.tuple([b.einsum(layout.einsums[1], [b.softmax(scores), wide(b, v)]), k, v]);
};

describe('masks that are added', () => {
  for (const [name, mask] of Object.entries(ADDED)) {
    for (const type of ['f32', 'bf16', 'f16']) {
      test(`${name}, ${type}`, async () => {
        const layout = type === 'f32' ? 'thd' : 'htd', { sides, step } = await pair(added(mask), layout, type);
        const isFinite = async (...args) => (await step(...args)).every(Number.isFinite);
        for (const pos of [0, 3, 15, 16, 700, LENGTH - 1]) assert.ok(await isFinite(pos));
        const { elementCount } = sides[0].caches[0].shape;
        const finite = [];
        for (const special of [NaN, Infinity, -Infinity]) {
          for (const { caches } of sides) write(caches[0], elementCount - 5, special); // a key after the position
          finite.push(await isFinite(5));
        }
        assert.deepEqual(finite.sort(), [false, false, true]); // a mask that is added to -inf drops it
        for (const { caches } of sides) write(caches[0], elementCount - 5, type === 'f16' ? 60000 : -3e37); // s + mask may be finite
        await step(6);
      });
    }
  }

  for (const [name, masked] of Object.entries(NOT_HIDING)) {
    test(`${name}: all scores are computed`, async () => {
      const build = ({ b, layout, shape, put, parameters }) => {
        const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
        const k = put(keys, row, pos), kept = b.broadcastInDim(b.iota('s32', LENGTH).le(pos), [1, HEADS, LENGTH], [2]);
        return b.tuple([withExp(b, masked(b, b.einsum(layout.einsums[0], [q, k]), kept)), k, values]);
      };
      const { step } = await pair(build, 'thd', 'f32');
      for (const pos of [3, 700]) await step(pos);
    });
  }

  test('a cache that begins with a large constant is not bounded', async () => {
    const build = ({ b, layout, shape, parameters }) => {
      const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
      const kept = b.broadcastInDim(b.iota('s32', LENGTH).le(pos), [1, HEADS, LENGTH], [2]);
      const begun = b.broadcastInDim(b.constant(9e14, 'f32[]'), layout.dims(LENGTH), []).dynamicUpdateSlice(row, layout.start(pos));
      return b.tuple([withExp(b, b.einsum(layout.einsums[0], [q.mul(5e8), begun]).add(chosen(b, kept, -6e27))), keys, values]);
    };
    const { step } = await pair(build, 'thd', 'f32');
    for (const pos of [3, 700]) await step(pos);
  });

  test('a cache that begins with a constant, and -1e9', async () => {
    for (const begin of [0, 0.5, 1, 3e8]) {
      const build = ({ b, layout, shape, parameters }) => {
        const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
        const kept = b.broadcastInDim(b.iota('s32', LENGTH).le(pos), [1, HEADS, LENGTH], [2]);
        const begun = b.broadcastInDim(b.constant(begin, 'f32[]'), layout.dims(LENGTH), []).dynamicUpdateSlice(row, layout.start(0));
        return b.tuple([b.softmax(b.einsum(layout.einsums[0], [q, begun]).add(chosen(b, kept, -1e9))), keys, values]);
      };
      for (const all of [1, -1]) {
        const { sides } = await pair(build, 'thd', 'f32'), results = [];
        for (const { executable, shapes, caches } of sides) {
          const [x] = await executable.execute([new Literal(shapes[0], new Float32Array(HEADS * DEPTH).fill(all)), ...caches, wave(shapes[3], 1), 0]);
          results.push(x.data);
        }
        assert.deepEqual(results[0], results[1]);
      }
    }
  });

  for (const name of ['the lowest number', '-1e9, whose exponential is 0']) {
    test(`a window: ${name}`, async () => {
      const { step } = await pair(added(ADDED[name], 100), 'thd', 'f32');
      for (const pos of [-1, 0, 50, 99, 100, 117, 500, LENGTH - 1]) assert.ok((await step(pos)).every(Number.isFinite));
    });
  }

  test('-1e9: rows that keep nothing or all, and keys whose scores exceed the number', async () => {
    const { sides, step } = await pair(added(ADDED['-1e9, whose exponential is 0']), 'thd', 'f32');
    for (const pos of [-1, -2147483648, 5, LENGTH - 2, LENGTH - 1, LENGTH, 2147483647]) await step(pos);
    const end = sides[0].caches[0].shape.elementCount;
    for (const large of [1e5, -1e7, 1e8, -1e8, 3e8, 1e9, -1e9, 1e10]) {
      for (const { caches } of sides) caches[0].view().fill(large, end - DEPTH, end); // of the last key
      for (const pos of [5, -1]) await step(pos);
    }
  });

  test('a number that keeps scores, but not 0', async () => {
    for (const kept of [1, 1e-3, -5e8]) {
      const mask = (b, keeps) => b.where(keeps, b.constant(kept, 'f32[]'), b.constant(-1e9, 'f32[]'));
      const { step } = await pair(added(mask), 'htd', 'f32');
      for (const pos of [-1, 0, 20]) await step(pos);
    }
  });

  test('-3e4 and -1e5, as f16 and bf16 add them', async () => {
    for (const [type, number] of [['f16', -3e4], ['bf16', -1e5], ['bf16', -1e9]]) {
      const build = ({ b, layout, shape, put, parameters }) => {
        const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
        const k = put(keys, row, pos), v = put(values, row, pos), kept = b.broadcastInDim(b.iota('s32', LENGTH).le(pos), [1, HEADS, LENGTH], [2]);
        const scores = b.convertElementType(b.einsum(layout.einsums[0], [b.convertElementType(q, type), k]), type);
        const sums = scores.add(b.convertElementType(b.where(kept, b.constant(0, 'f32[]'), b.constant(number, 'f32[]')), type));
        return b.tuple([b.einsum(layout.einsums[1], [b.softmax(wide(b, sums)), wide(b, v)]), k, v]);
      };
      const { sides, step } = await pair(build, 'htd', type);
      for (const pos of [-1, 0, 9, 16, 700]) await step(pos);
      for (const { caches } of sides) write(caches[0], sides[0].caches[0].shape.elementCount - 5, 30000);
      for (const pos of [-1, 9]) await step(pos);
    }
  });

  for (const [name, small, most] of [['the lowest number', 1e9, 1e12], ['-1e9, whose exponential is 0', 5e5, 1e9]]) {
    test(`keys after the position are not read, unless a query is large: ${name}`, async () => {
      const { executable, shapes } = await compiled(added(ADDED[name]), 'thd', 'f32');
      const [keys, values] = [1, 2].map((i) => client.buffer(wave(shapes[i], i)));
      const view = keys.view(), large = wave(shapes[0], 0);
      const step = async (q = wave(shapes[0], 0)) => {
        const [x] = await executable.execute([q, keys, values, wave(shapes[3], 0), 9]);
        return x.toArray().flat(2).every(Number.isFinite);
      };
      assert.ok(await step());
      view[view.length - 1] = NaN; // too late: the call before has read it
      assert.ok(await step());
      large.data[0] = small;
      assert.ok(await step(large));
      large.data[0] = most;
      assert.ok(!await step(large));
      assert.ok(await step());
      keys.view();
      assert.ok(!await step());
    });
  }

  test('a mask and its position from before a loop', async () => {
    const build = ({ b, layout, shape, put, parameters }) => {
      const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
      const kept = b.iota('s32', LENGTH).lt(pos.add(1)), bias = ADDED['the lowest number'](b, kept);
      const loop = b.while((_, i) => i.lt(3), (f, i, x, k, v, r, p, m) => {
        const nextKeys = put(k, r, p), nextValues = put(v, r, p);
        const scores = f.einsum(layout.einsums[0], [x, nextKeys]).add(f.broadcastInDim(m, [1, HEADS, LENGTH], [2]));
        return [i.add(1), f.einsum(layout.einsums[1], [f.softmax(scores), nextValues]), nextKeys, nextValues, r, p, m];
      }, [b.constant(0, 's32[]'), q, keys, values, row, pos, bias]);
      return b.tuple([1, 2, 3].map((i) => loop.getTupleElement(i)));
    };
    const { executable, shapes } = await compiled(build, 'thd', 'f32');
    const [keys, values] = [1, 2].map((i) => client.buffer(wave(shapes[i], i))), view = keys.view();
    const step = async () => {
      const [x] = await executable.execute([wave(shapes[0], 0), keys, values, wave(shapes[3], 0), 9]);
      return x.toArray().flat(2).every(Number.isFinite);
    };
    assert.ok(await step());
    view[view.length - 1] = NaN; // too late
    assert.ok(await step());
    keys.view();
    assert.ok(!await step());
  });
});

/** Sums of scores, [1, heads, positions], with masks that the program must look at: a bias is added, too, or positions are in a table. */
const bias = (b, scores, of) => b.convertElementType(of(b.iota('s32', LENGTH)), scores.shape.elementType);
const along = (b, x, scores) => b.broadcastInDim(x, scores.shape.dimensions, [2]);
const byHead = (b, x, scores) => b.broadcastInDim(b.iota('f32', HEADS).add(0.25), scores.shape.dimensions, [1]).convertElementType(scores.shape.elementType).mul(x);
const dropped = (b, scores, pos, number) => {
  const type = scores.shape.elementType, at = b.iota('s32', LENGTH);
  return along(b, b.where(at.le(pos), b.convertElementType(b.constant(0, 'f32[]'), type), b.convertElementType(b.constant(number, 'f32[]'), type)), scores);
};
const slope = (b, scores, pos) => byHead(b, along(b, bias(b, scores, (at) => at.sub(pos)), scores), scores).mul(0.01);
const along2 = (b, d) => b.broadcastInDim(b.iota('s32', LENGTH), [LENGTH, LENGTH], [d]);
const LOOKED_AT = {
  'a bias is added to the mask': (b, scores, pos, low) => scores.add(slope(b, scores, pos).add(dropped(b, scores, pos, low))),
  'a bias is added to the mask -1e4': (b, scores, pos) => scores.add(slope(b, scores, pos).add(dropped(b, scores, pos, -1e4))),
  'a bias is added before the mask': (b, scores, pos, low) => scores.add(slope(b, scores, pos)).add(dropped(b, scores, pos, low)),
  'a bias is added before the mask -1e4': (b, scores, pos) => scores.add(slope(b, scores, pos)).add(dropped(b, scores, pos, -1e4)),
  'rows of a table of numbers': (b, scores, pos, low) => {
    const zero = b.constant(0, 'f32[]'), least = b.constant(low, 'f32[]');
    const table = b.where(along2(b, 1).mul(3).le(along2(b, 0).mul(3)), zero, least);
    const row = b.reshape(b.dynamicSlice(table, [pos, b.constant(0, 's32[]')], [1, LENGTH]), [LENGTH]);
    return scores.add(along(b, b.convertElementType(row, scores.shape.elementType), scores));
  },
};

describe('masks that are looked at', () => {
  for (const type of ['f32', 'bf16', 'f16']) {
    const low = type === 'f16' ? -65504 : lowest;
    const build = (sums) => ({ b, layout, shape, put, parameters }) => {
      const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
      const k = put(keys, row, pos), v = put(values, row, pos);
      const scores = b.einsum(layout.einsums[0], [b.convertElementType(q, type), k]).mul(b.convertElementType(b.constant(0.125, 'f32[]'), type));
      const weights = b.softmax(wide(b, sums(b, scores, pos, low)));
      return b.tuple([b.einsum(layout.einsums[1], [weights, wide(b, v)]), k, v]);
    };
    for (const [name, sums] of Object.entries(LOOKED_AT)) {
      test(`${name}, ${type}: keys after the position are not read`, async () => {
        const { executable, shapes } = await compiled(build(sums), 'thd', type);
        const [keys, values] = [1, 2].map((i) => client.buffer(wave(shapes[i], i))), end = keys.shape.elementCount, view = keys.view();
        const step = async (q = wave(shapes[0], 0), pos = 9) => {
          const [x] = await executable.execute([q, keys, values, wave(shapes[3], 0), pos]);
          return x.toArray().flat(2).every(Number.isFinite);
        };
        assert.ok(await step());
        view[end - 1] = type === 'f32' ? NaN : 0x7fff; // too late: the call before has read it
        assert.ok(await step());
        assert.ok(!await step(undefined, LENGTH - 5)); // 16 positions are read at once
        const large = wave(shapes[0], 0);
        large.data.fill(6e4);
        assert.equal(await step(large), type !== 'f16' && !name.endsWith('-1e4')); // is a sum of the mask's size possible?
        executable.dispose();
      });

      test(`${name}, ${type}: the same to the bit`, async () => {
        const { sides, step } = await pair(build(sums), 'htd', type);
        for (const pos of [-1, 0, 15, 16, 700, LENGTH - 1, LENGTH]) await step(pos);
        for (const special of [NaN, Infinity, -Infinity, type === 'f16' ? 6e4 : 3e38, 3e4]) {
          for (const { caches } of sides) write(caches[0], sides[0].caches[0].shape.elementCount - 5, special); // a key after the position
          await step(6);
        }
      });
    }
  }

  test('a bias that is as large as the mask', async () => {
    for (const size of [1e30, 1e37, 3e38, -3e38, NaN, Infinity, -Infinity]) {
      for (const number of [lowest, -1e9]) {
        const build = ({ b, layout, shape, put, parameters }) => {
          const cache = shape(layout.dims(LENGTH)), [q, keys, values, row, pos] = parameters(query, cache, cache, shape(layout.dims(1)), 's32[]');
          const scores = b.einsum(layout.einsums[0], [q, put(keys, row, pos)]), at = b.iota('s32', LENGTH);
          const large = along(b, b.where(at.eq(b.constant(20, 's32[]')), b.constant(size, 'f32[]'), b.constant(0, 'f32[]')), scores);
          const mask = dropped(b, scores, pos, number), sums = number === lowest ? scores.add(large).add(mask) : scores.add(large.add(mask));
          return b.tuple([b.softmax(sums), put(keys, row, pos), values]);
        };
        const { step } = await pair(build, 'thd', 'f32');
        for (const pos of [-1, 3, 19, 20, 700]) await step(pos);
      }
    }
  });
});

/** Prefill: masks that are added to the scores of many queries, [heads, queries, positions]. */
describe('masks that are added to the scores of a prefill', () => {
  const dims = [4, 150, 200], deep = 32;
  const isBefore = (b) => b.broadcastInDim(b.iota('s32', 200), [150, 200], [1]).le(b.broadcastInDim(b.iota('s32', 150), [150, 200], [0]));
  const number = (b, value) => b.constant(value, 'f32[]');
  const all = (b, mask) => b.broadcastInDim(mask, dims, [1, 2]);
  const FORMS = {
    'the lowest number': (b, s) => s.add(all(b, b.where(isBefore(b), number(b, 0), number(b, lowest)))),
    '-1e9': (b, s) => s.add(all(b, b.where(isBefore(b), number(b, 0), number(b, -1e9)))),
    '-1e4 of valid positions': (b, s, valid) => s.add(b.broadcastInDim(b.constant(1, 'f32[]').sub(b.convertElementType(valid, 'f32')).mul(-1e4), dims, [2])),
    'subtracted': (b, s) => s.sub(all(b, b.where(isBefore(b), number(b, 0), number(b, 1e30)))),
    'both': (b, s, valid) => s.add(all(b, b.where(isBefore(b).and(b.broadcastInDim(valid, [150, 200], [1])), number(b, 0), number(b, lowest)))),
    'a bias': (b, s) => s.add(all(b, b.convertElementType(b.broadcastInDim(b.iota('s32', 200), [150, 200], [1]), 'f32').mul(-0.01))).add(all(b, b.where(isBefore(b), number(b, 0), number(b, lowest)))),
  };
  for (const [name, form] of Object.entries(FORMS)) {
    for (const type of ['f32', 'bf16']) {
      test(`${name}, ${type}`, async () => {
        const b = client.builder('m');
        const [q, k, valid] = [`${type}[4,150,${deep}]`, `${type}[4,200,${deep}]`, 'pred[200]'].map((of, i) => b.parameter(i, of));
        const scores = b.einsum('hqd,hkd->hqk', [q, k].map((x) => b.convertElementType(x, 'f32'))).mul(0.125);
        const module = b.build(b.softmax(form(b, scores, valid)));
        assert.match(afterPass(module.toString(), 'limit-products'), /limited_/);
        const sides = await Promise.all([[], ['limit-products']].map((disable) => client.compile(module, { disable })));
        const keep = new Literal('pred[200]', Uint8Array.from({ length: 200 }, (_, i) => Number(i >= 20 && i < 77)));
        for (const special of [1, 1e3, 1e6, 1e9, 1e30, 3e38, Infinity, NaN]) {
          for (const inQueries of [false, true]) {
            const args = [150, 200].map((n, i) => wave(`f32[4,${n},${deep}]`, i));
            args[inQueries ? 0 : 1].data.set([special, -special], 5 * deep * 31);
            const results = await Promise.all(sides.map((side) => side.execute([...args.map((x) => x.convert(type)), keep])));
            assert.deepEqual(results[0][0].data, results[1][0].data, `${special}`);
          }
        }
        for (const side of sides) side.dispose();
      });
    }
  }
});

describe('bounded-arrays', () => {
  for (const [name, build] of Object.entries(PROGRAMS)) {
    for (const layout of Object.keys(LAYOUTS)) {
      for (const [type, special] of Object.entries(types)) {
        test(`${name}, ${layout}, ${type}`, async () => {
          const { sides, step } = await pair(build, layout, type);
          const isFinite = async (...args) => (await step(...args)).every(Number.isFinite);
          assert.ok(await isFinite(3));
          assert.ok(await isFinite(4, undefined, false));
          const elements = sides[0].caches[1].shape.elementCount;
          for (const { caches } of sides) write(caches[1], elements - 5, special); // after the position
          assert.ok(!await isFinite(5));
          assert.ok(!await isFinite(6, undefined, false));
          for (const { caches } of sides) for (const cache of caches) cache.view().fill(1); // also bits of a small number
          assert.ok(await isFinite(7));
          const row = wave(sides[0].shapes[3], 0).toArray().flat(3);
          row[row.length - 1] = special;
          const literal = new Literal(sides[0].shapes[3].replace(type, 'f32'), Float32Array.from(row));
          assert.ok(!await isFinite(400, type === 'f32' ? literal : literal.convert(type)));
          assert.ok(!await isFinite(100)); // the row lies after this position
        });
      }
    }
  }

  test('positions that zeros multiply are not read, from the first call on', async () => {
    const { executable, shapes } = await compiled(PROGRAMS['one step'], 'thd', 'f32');
    const [keys, values] = [1, 2].map((i) => client.buffer(wave(shapes[i], i)));
    const view = values.view();
    const step = async () => {
      const [x] = await executable.execute([wave(shapes[0], 0), keys, values, wave(shapes[3], 0), 9]);
      return x.toArray().flat(2).every(Number.isFinite);
    };
    assert.ok(await step());
    view[view.length - 1] = NaN; // too late: the call before has read it
    assert.ok(await step());
    values.view();
    assert.ok(!await step());
  });

  test('without the kernel that checks, nothing is known', async () => {
    const { sides, step } = await pair(PROGRAMS['one step'], 'thd', 'bf16', ['kernel-bounds']);
    assert.ok((await step(3)).every(Number.isFinite));
    const { elementCount } = sides[0].caches[1].shape;
    for (const { caches } of sides) write(caches[1], elementCount - 1, NaN);
    assert.ok(!(await step(4)).every(Number.isFinite));
  });

  test('a row that becomes infinite in a loop', async () => {
    for (const type of Object.keys(types)) {
      const { step } = await pair(PROGRAMS['several tokens in a loop'], 'thd', type);
      assert.ok((await step(600)).every(Number.isFinite));
      assert.ok(!(await step(699)).every(Number.isFinite)); // token 700 makes row 701
      assert.ok(!(await step(5)).every(Number.isFinite));
    }
  });

  test('a Buffer that two programs use', async () => {
    const one = await compiled(PROGRAMS['one step'], 'htd', 'f32'), other = await compiled(PROGRAMS['several tokens in a loop'], 'htd', 'f32');
    let caches = [1, 2].map((i) => client.buffer(wave(one.shapes[i], i)));
    const step = async ({ executable, shapes }, pos, donate) => {
      const [x, ...next] = await executable.execute([wave(shapes[0], 0), ...caches, wave(shapes[3], 0), pos], { device: true, donate });
      if (donate.length) caches = next;
      return x.toArray().flat(2).every(Number.isFinite);
    };
    assert.ok(await step(one, 3, []));
    assert.ok(await step(other, 3, [1, 2]));
    const negative = client.builder('negative'), p = negative.parameter(0, String(caches[1].shape));
    const large = await client.compile(negative.build(p.mul(3e38).mul(10)));
    const [infinite] = await large.execute([caches[1]], { device: true });
    assert.ok(await step(one, 4, []));
    caches[1] = infinite;
    assert.ok(!await step(one, 4, []));
    assert.ok(!await step(other, 5, [1, 2]));
    assert.ok(!await step(one, 6, [1, 2]));
  });

  test('integers with scales', async () => {
    const type = 's8';
    const build = ({ b, layout, shape, attend, parameters }) => {
      const [q, keys, values, scales, row, scale, pos] = parameters(query, shape(layout.dims(LENGTH)), shape(layout.dims(LENGTH)),
        shape(layout.dims(LENGTH, 1), 'f32'), shape(layout.dims(1)), shape(layout.dims(1, 1), 'f32'), 's32[]');
      const put = (x, r) => x.dynamicUpdateSlice(r, layout.start(pos));
      const s = put(scales, scale), k = put(keys, row), v = put(values, row);
      const scaled = (x) => b.convertElementType(x, 'f32').mul(b.broadcastInDim(s, layout.dims(LENGTH), [0, 1, 2, 3]));
      return b.tuple([attend(q, scaled(k), scaled(v), pos), k, v, s]);
    };
    for (const layout of Object.keys(LAYOUTS)) {
      const sides = [await compiled(build, layout, type), await compiled(build, layout, type, ['bounded-arrays'])];
      const integers = (shape) => new Literal(shape, Int8Array.from({ length: shape.match(/\[(.*)\]/)[1].split(',').reduce((a, n) => a * n, 1) }, (_, i) => (i * 37) % 255 - 127));
      for (const scale of [0.5, 1e30, NaN]) { // 1e30: above the bound, and finite
        const results = [];
        for (const { executable, shapes } of sides) {
          const scales = client.buffer(wave(shapes[3], 0));
          write(scales, scales.shape.elementCount - 1, scale);
          const run = () => executable.execute([
            wave(shapes[0], 0), integers(shapes[1]), integers(shapes[2]), scales, integers(shapes[4]), wave(shapes[5], 1), 20]);
          const first = await run(), second = await run();
          assert.deepEqual(first[0].data, second[0].data);
          results.push(first[0].data);
        }
        assert.deepEqual(results[0], results[1]);
        assert.equal(results[0].every(Number.isFinite), Number.isFinite(scale));
      }
    }
  });
});
