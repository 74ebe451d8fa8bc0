/**
 * Rules that add operations that XLA:CPU refuses or crashes on. XLA runs the operation's definition
 * in other operations instead.
 */
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { BYTES, COMPLEX, DECIDED, FLOATS, withOpenZeros } from './domain.mjs';
import { moved } from './program.mjs';
import { computed } from './rules_elementwise.mjs';
import { contraction } from './rules_reduction.mjs';
import { lawsComputation, randomLaw } from './scalars.mjs';
import { count, numbersTo } from './values.mjs';

const TYPES = ['pred', ...BYTES, ...FLOATS, 'f32', ...COMPLEX];
const number = (b, x) => b.constantR0(x, 's32');
const zeros = (b, { elementType, dimensions }) =>
  b.broadcast(b.constantLiteral(Literal.zeros(`${elementType}[]`)), dimensions);

/* ---- Element by element ---- */

/** The upper half of a product. */
function mulhi(p) {
  const x = p.decided(['s8', 'u8', 's16', 'u16', 's32', 'u32']);
  if (!x) return null;
  const type = x.shape.elementType;
  const { bits } = ELEMENT_TYPES.get(type);
  const wide = type[0] + 2 * bits;
  return p.add('mulhi', [x, p.like(x)], DECIDED, (b, [l, r]) => b.mulhi(l, r), (b, [l, r]) => {
    const product = b.mul(b.convertElementType(l, wide), b.convertElementType(r, wide));
    const amount = b.constantLiteral(Literal.from(bits > 16 ? BigInt(bits) : bits, `${wide}[]`));
    return b.convertElementType(b.shiftRightArithmetic(product, amount), type);
  });
}

/* ---- Between replicas ---- */

/** Gathers all replicas' values as rows; `rows` has the rows that each replica takes, -1 for zeros. */
function takeRows(b, x, replicas, rows) {
  const { elementType, dimensions } = x.shape;
  const all = b.allGather(b.reshape(x, [1, ...dimensions]), 0, replicas, {
    replicaGroups: [numbersTo(replicas)],
  });
  const flat = b.reshape(all, [replicas, count(dimensions)]);
  const wanted = ownRow(b, rows);
  const numbers = {
    offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1,
  };
  const taken = b.gather(flat, wanted, numbers, [1, count(dimensions)]);
  const given = b.ge(wanted, b.broadcast(number(b, 0), wanted.shape.dimensions));
  const result = b.select(
    b.broadcastInDim(given, taken.shape.dimensions, [0]), taken,
    zeros(b, Shape.array(elementType, taken.shape.dimensions)));
  return b.reshape(result, [rows[0].length, ...dimensions]);
}

/** Returns the row of a table for the replica that runs it. */
function ownRow(b, table) {
  const [height, width] = [table.length, table[0].length];
  const all = b.constantLiteral(Literal.from(table, `s32[${height},${width}]`));
  const own = b.convertElementType(b.replicaId(), 's32');
  return b.reshape(b.dynamicSlice(all, [own, number(b, 0)], [1, width]), [width]);
}

function randomGroups(p, random) {
  const all = random.shuffle(numbersTo(p.replicas));
  const size = p.replicas % 2 === 0 && random.chance(0.5) ? p.replicas / 2 : p.replicas;
  const groups = numbersTo(p.replicas / size).map((i) => all.slice(i * size, (i + 1) * size));
  const groupOf = (replica) => groups.find((group) => group.includes(replica));
  return { groups, groupOf, size };
}

function sendable(p) {
  const x = p.decided(TYPES);
  return x && count(x.shape.dimensions) > 0 && count(x.shape.dimensions) < 3000 ? x : null;
}

function collectiveBroadcast(p, random) {
  const x = sendable(p);
  if (!x) return null;
  const { groups, groupOf } = randomGroups(p, random);
  const sources = numbersTo(p.replicas).map((replica) => [groupOf(replica)[0]]);
  return p.add(
    'collective-broadcast', [x], moved(x),
    (b, [a]) => b.collectiveBroadcast(a, { replicaGroups: groups }),
    (b, [a]) => b.reshape(takeRows(b, a, p.replicas, sources), a.shape.dimensions));
}

/** An all-reduce by any computation. XLA:CPU has few of them, and its maximum of replicas ignores NaN. */
function allReduceByLaw(p, random) {
  const x = sendable(p);
  if (!x || x.domain.special) return null;
  const type = x.shape.elementType;
  const { groups, groupOf, size } = randomGroups(p, random);
  const law = randomLaw(random, type, x.domain, size);
  const members = numbersTo(p.replicas).map((replica) => groupOf(replica));
  return law && p.add(
    'all-reduce', [x], computed(law.domain),
    (b, [a]) => b.allReduce(a, lawsComputation(b, [type], [law]), { replicaGroups: groups }),
    (b, [a]) => b.reduce(
      takeRows(b, a, p.replicas, members), b.constantLiteral(law.identity),
      lawsComputation(b, [type], [law]), [0]));
}

/**
 * Each replica sends to each of its group some rows of its input, which come to lie in a place of
 * the other's output. Offsets and sizes are parameters that fit together.
 */
function raggedAllToAll(p, random) {
  const { groups, groupOf, size } = randomGroups(p, random);
  const type = random.pick(TYPES);
  const [rows, width, most] = [random.between(1, 6), random.between(1, 3), random.between(0, 3)];
  const height = size * most + random.between(1, 3);
  const all = numbersTo(p.replicas);
  const sends = all.map(() => numbersTo(size).map(() => {
    const from = random.between(0, rows);
    return { from, rows: random.between(0, Math.min(most, rows - from)), at: 0 };
  }));
  const place = (replica) => groupOf(replica).indexOf(replica);
  const sources = all.map(() => numbersTo(height).map(() => -1));
  for (const receiver of all) {
    let next = 0;
    for (const sender of random.shuffle(groupOf(receiver))) {
      const send = sends[sender][place(receiver)];
      send.at = next;
      numbersTo(send.rows).forEach((i) => {
        sources[receiver][next + i] = sender * rows + send.from + i;
      });
      next += send.rows;
    }
  }
  const vector = (value) => p.parameter(DECIDED, (replica) =>
    Literal.from(numbersTo(size).map((i) => value(replica, i)), `s32[${size}]`));
  const own = (key) => vector((replica, i) => sends[replica][i][key]);
  const received = vector((replica, i) => sends[groupOf(replica)[i]][place(replica)].rows);
  const [input, output] = [p.fresh(type, [rows, width], 'whole'),
    p.fresh(type, [height, width], 'whole')];
  const operands = [input, output, own('from'), own('rows'), own('at'), received];
  return p.add(
    'ragged-all-to-all', operands, input.domain,
    (b, [x, y, from, sizes, at, from2]) =>
      b.raggedAllToAll(x, from, sizes, y, at, from2, { replicaGroups: groups }),
    (b, [x, y]) => {
      const every = b.allGather(x, 0, p.replicas, { replicaGroups: [all] });
      const wanted = ownRow(b, sources);
      const numbers = {
        offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1,
      };
      const taken = b.gather(every, wanted, numbers, [1, width]);
      const given = b.ge(wanted, b.broadcast(number(b, 0), [height]));
      return b.select(b.broadcastInDim(given, [height, width], [0]), taken, y);
    });
}

/* ---- Ragged products ---- */

/** A ragged dot as a dot for each group, of rows or columns that are masked by their group. */
export function raggedByDots(b, [l, r, s], byRows) {
  const [m, k] = l.shape.dimensions, groups = s.shape.dimensions[0], n = r.shape.dimensions.at(-1);
  let begin = number(b, 0);
  const products = numbersTo(groups).map((g) => {
    const end = b.add(begin, b.reshape(b.slice(s, [g], [g + 1]), []));
    const at = b.iota(Shape.array('s32', [m, k]), byRows ? 0 : 1);
    const inside = b.and(
      b.ge(at, b.broadcast(begin, [m, k])), b.lt(at, b.broadcast(end, [m, k])));
    begin = end;
    const own = b.select(inside, l, zeros(b, l.shape));
    const right = byRows ? b.reshape(b.slice(r, [g, 0, 0], [g + 1, k, n]), [k, n]) : r;
    return b.dot(own, right);
  });
  return byRows ? products.reduce((sum, next) => b.add(sum, next))
    : b.concatInDim(products.map((each) => b.reshape(each, [1, m, n])), 0);
}

/** A ragged dot: groups of rows of the left operand, each times its own matrix; or groups of columns, added up separately. */
function raggedDot(p, random) {
  const type = random.pick(['s32', 'u8', 's64', 'f32', 'f64', 'f16']);
  const [m, k, n, groups] = [9, 6, 5, 4].map((most) => random.between(1, most));
  const byRows = random.chance(0.5);
  const x = p.fresh(type, [m, k], 'whole');
  const y = p.fresh(type, byRows ? [groups, k, n] : [k, n], 'whole');
  const ragged = byRows ? m : k;
  const sizes = p.parameter(DECIDED, () => {
    let left = ragged;
    const parts = numbersTo(groups).map(() => {
      const part = random.between(0, left);
      left -= part;
      return part;
    });
    return Literal.from(random.shuffle(parts), `s32[${groups}]`);
  });
  const product = contraction(type, x.domain, y.domain, k);
  if (!product) return null;
  const numbers = {
    dotDimensionNumbers: {
      lhsContractingDimensions: [1], rhsContractingDimensions: [byRows ? 1 : 0],
    },
    lhsRaggedDimensions: [byRows ? 0 : 1],
    rhsGroupDimensions: byRows ? [0] : [],
  };
  return p.add(
    'ragged-dot', [x, y, sizes], type[0] === 'f' ? withOpenZeros(product) : product,
    (b, [l, r, s]) => b.raggedDot(l, r, s, numbers),
    (b, operands) => raggedByDots(b, operands, byRows));
}

export const refusedRules = { mulhi, raggedDot };
export const refusedCollectiveRules = { collectiveBroadcast, allReduceByLaw, raggedAllToAll };
