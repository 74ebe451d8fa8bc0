/**
 * Tests generated loops: the operations that they support do not run in the evaluator, and an
 * element's bits depend neither on its position nor on the division of the work. The golden corpus
 * checks the values themselves.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { operationRows } from '../support/operation_row.mjs';

const FLOATS = ['f32', 'f64', 'f16', 'bf16', 'f8e5m2', 'f8e4m3fn'];
const INTEGERS = ['s4', 'u4', 's8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'];
const TYPES = [...FLOATS, ...INTEGERS, 'pred'];

const isFloat = (type) => FLOATS.includes(type);
const isSigned = (type) => type.startsWith('s');
const anyType = () => true;
const exceptPred = (type) => type !== 'pred';
const isInteger = (type) => INTEGERS.includes(type);

/** The types that an operation takes here, if not all floats and no other ones. */
const TAKES = {
  // Of 8-bit floats it is a chain of f16 operations, whose last bits depend on exp's.
  logistic: (type) => isFloat(type) && !type.startsWith('f8'),
  ...Object.fromEntries(['abs', 'sign'].map((name) => [name, (type) => isFloat(type) || isSigned(type)])),
  ...Object.fromEntries(['not', 'and', 'or', 'xor'].map((name) => [name, (type) => !isFloat(type)])),
  ...Object.fromEntries(['popcnt', 'count-leading-zeros', 'shift-left', 'shift-right-arithmetic', 'shift-right-logical']
    .map((name) => [name, isInteger])),
  ...Object.fromEntries(['add', 'multiply', 'maximum', 'minimum'].map((name) => [name, anyType])),
  ...Object.fromEntries(['negate', 'subtract', 'divide', 'remainder'].map((name) => [name, exceptPred])),
};
/** Operations that are not tested here, and why. */
const EXCEPTED = {
  mulhi: 'no code is generated for it', real: 'no code is generated for real operands', imag: 'the same',
  'is-finite': 'its result has another type', complex: 'the same',
};

/** [operation, number of operands, the types it takes, attributes]; the result has the operands' type. */
const OPERATIONS = [
  ...[...operationRows().values()].filter(({ name, category, attributes }) => /^ELEMENTWISE_(UNARY|BINARY)$/.test(category) &&
    /^(none|result_accuracy)$/.test(attributes) && !EXCEPTED[name])
    .map(({ name, arity }) => [name, Number(arity), TAKES[name] ?? isFloat]),
  ['clamp', 3, exceptPred],
  ['reduce-precision', 1, isFloat, ', exponent_bits=4, mantissa_bits=1'],
];

function program(name, operands, type, size, attributes = '') {
  const names = ['x', 'y', 'z'].slice(0, operands);
  const lines = names.map((x, i) => `  ${x} = ${type}[${size}] parameter(${i})`);
  lines.push(`  ROOT r = ${type}[${size}] ${name}(${names.join(', ')})${attributes}`);
  return `HloModule m\nENTRY e {\n${lines.join('\n')}\n}\n`;
}

/** A literal of fixed pseudorandom bits: all zeros, all ones, then any. */
function literalFor(type, size, seed) {
  let state = Math.imul(seed, 2654435761) + 1;
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) | 0;
    return state;
  };
  const { Array: TypedArray, bits, kind } = ELEMENT_TYPES.get(type);
  const data = new TypedArray(size);
  const bytes = new Uint8Array(data.buffer);
  const spare = bits < 8 ? 8 - bits : 0; // of a byte that is not all used
  for (let i = 0; i < bytes.length; i++) {
    const element = Math.floor(i / TypedArray.BYTES_PER_ELEMENT);
    const byte = element === 0 ? 0 : element === 1 ? -1 : next() >> 24;
    bytes[i] = kind === 'signed' ? (byte << 24 << spare) >> 24 >> spare : (byte & 255) >>> spare;
  }
  return new Literal(Shape.parse(`${type}[${size}]`), data);
}

/** Entry `i` of a result, such that equal values are equal strings and all NaNs are one. */
function entry(literal, i) {
  const { read } = ELEMENT_TYPES.get(literal.shape.elementType);
  const value = read(literal.data, i);
  return Object.is(value, -0) ? '-0' : String(value);
}

async function compileText(client, text) {
  const module = client.parseHlo(text);
  try {
    return await client.compile(module);
  } finally {
    module.dispose();
  }
}

const generatedOnly = (executable) =>
  assert.doesNotMatch(executable.thunks(), /^ *(eval|kernel) /m, 'something is not generated code');

describe('an element alone and among others', () => {
  const SIZE = 41; // unrolled vectors, single vectors, and one lane at a time
  let client;
  before(async () => {
    client = await Client.create({ threads: 0 });
  });
  after(() => client.dispose());

  async function check(name, operands, type, attributes) {
    const many = await compileText(client, program(name, operands, type, SIZE, attributes));
    const one = await compileText(client, program(name, operands, type, 1, attributes));
    generatedOnly(many);
    const args = Array.from({ length: operands }, (_, i) => literalFor(type, SIZE, i + 1));
    const [all] = await many.execute(args);
    for (let i = 0; i < SIZE; i++) {
      const shape = Shape.parse(`${type}[1]`);
      const single = args.map(({ data }) => new Literal(shape, data.slice(i, i + 1)));
      const [alone] = await one.execute(single);
      assert.equal(entry(alone, 0), entry(all, i), `element ${i}`);
    }
    many.dispose();
    one.dispose();
  }

  for (const [name, operands, takes, attributes] of OPERATIONS) {
    test(name, async () => {
      for (const type of TYPES.filter(takes)) await check(name, operands, type, attributes);
    });
  }
  test('convert', async () => {
    for (const from of TYPES) {
      for (const to of TYPES.filter((type) => type !== from)) {
        const wide = /64$/.test(from);
        if (wide && to.startsWith('f8')) continue; // left to the evaluator
        const executable = await compileText(client, `HloModule m
ENTRY e {
  x = ${from}[${SIZE}] parameter(0)
  y = ${to}[${SIZE}] convert(x)
  l = ${to}[1] slice(y), slice={[${SIZE - 1}:${SIZE}]}
  ROOT r = (${to}[${SIZE}], ${to}[1]) tuple(y, l)
}
`);
        generatedOnly(executable);
        const [all, last] = await executable.execute([literalFor(from, SIZE, 3)]);
        assert.equal(entry(last, 0), entry(all, SIZE - 1), `${from} to ${to}`);
        executable.dispose();
      }
    }
  });
});

describe('the division of work', () => {
  const computation = (type, op) => `f {
  a = ${type}[] parameter(0)
  b = ${type}[] parameter(1)
  ROOT r = ${type}[] ${op}(a, b)
}
`;
  const ROWS = 301;
  const COLUMNS = 403;
  const reduction = (type, op, dimensions, result) => `HloModule m
${computation(type, op)}ENTRY e {
  x = ${type}[${ROWS},${COLUMNS}] parameter(0)
  s = ${type}[${ROWS},${COLUMNS}] multiply(x, x)
  z = ${type}[] constant(0)
  ROOT r = ${type}[${result}] reduce(s, z), dimensions={${dimensions}}, to_apply=f
}
`;
  const PROGRAMS = {
    'sums of rows': reduction('f32', 'add', '1', `${ROWS}`),
    'sums of columns': reduction('f32', 'add', '0', `${COLUMNS}`),
    'one sum': reduction('f32', 'add', '0,1', ''),
    'sums of doubles': reduction('f64', 'add', '1', `${ROWS}`),
    'windows': `HloModule m
${computation('f32', 'add')}ENTRY e {
  x = f32[${ROWS},${COLUMNS}] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[${ROWS - 2},${COLUMNS - 2}] reduce-window(x, z), window={size=3x3}, to_apply=f
}
`,
    'a transposed loop': `HloModule m
ENTRY e {
  x = f32[${ROWS},${COLUMNS}] parameter(0)
  t = f32[${COLUMNS},${ROWS}] transpose(x), dimensions={1,0}
  e = f32[${COLUMNS},${ROWS}] exponential(t)
  ROOT r = f32[${COLUMNS},${ROWS}] add(e, t)
}
`,
  };

  for (const [name, text] of Object.entries(PROGRAMS)) {
    test(`${name}: no and three helpers give the same bits`, async () => {
      const type = /= (\w+)\[/.exec(/x = .*/.exec(text)[0])[1];
      const { data } = literalFor(type, ROWS * COLUMNS, 7);
      for (let i = 0; i < data.length; i++) data[i] = ((i * 7919) % 1000) / 999 - 0.5;
      const argument = new Literal(Shape.parse(`${type}[${ROWS},${COLUMNS}]`), data);
      const results = [];
      for (const threads of [0, 3]) {
        const client = await Client.create({ threads });
        const executable = await compileText(client, text);
        assert.doesNotMatch(executable.thunks(), /^ *eval /m); // large transposes are a kernel's
        const [result] = await executable.execute([argument]);
        results.push(result.data);
        client.dispose();
      }
      assert.deepEqual(results[1], results[0]);
    });
  }
});

test('integer division next to powers of two, by zero and -1; zeros before the first one', async () => {
  const values = [];
  for (let bit = 0; bit < 32; bit++) for (let off = -2; off <= 2; off++) values.push((2 ** bit + off) | 0);
  for (let i = 0; i < 40; i++) values.push(Math.imul(2654435761, i));
  const left = values.flatMap((x) => values.map(() => x));
  const right = values.flatMap(() => values);
  const SIGNED = {
    divide: (x, y) => (y ? BigInt.asIntN(32, BigInt(x) / BigInt(y)) : -1n),
    remainder: (x, y) => BigInt(y ? x % y : x),
    'count-leading-zeros': (x) => BigInt(Math.clz32(x)),
  };
  const client = await Client.create({ threads: 0 });
  for (const [type, TypedArray] of [['s32', Int32Array], ['u32', Uint32Array]]) {
    const operands = [left, right].map((list) => TypedArray.from(list, (x) => (type === 'u32' ? x >>> 0 : x)));
    for (const [name, exactly] of Object.entries(SIGNED)) {
      const arity = name.startsWith('count') ? 1 : 2;
      const executable = await compileText(client, `HloModule m
ENTRY e {
  x = ${type}[${left.length}] parameter(0)
  y = ${type}[${left.length}] parameter(1)
  ROOT r = ${type}[${left.length}] ${name}(${arity === 1 ? 'x' : 'x, y'})
}
`);
      const [{ data }] = await executable.execute(operands);
      data.forEach((value, i) => {
        const [x, y] = operands.map((list) => list[i]);
        const want = Number((type === 'u32' ? BigInt.asUintN : BigInt.asIntN)(32, exactly(x, y)));
        if (value !== want) assert.fail(`${type} ${name}(${x}, ${y}) is ${value}, should be ${want}`);
      });
    }
  }
  client.dispose();
});

test('integers divided by constants: quotients and remainders are exact', async () => {
  const client = await Client.create({ threads: 0 });
  for (const bits of [32, 64]) {
    for (const type of [`s${bits}`, `u${bits}`]) {
      const wrap = (value) => (type[0] === 's' ? BigInt.asIntN : BigInt.asUintN)(bits, value);
      const powers = Array.from({ length: bits }, (_, bit) => 1n << BigInt(bit));
      const values = [0n, ...powers.flatMap((power) => [-2n, -1n, 0n, 1n, 2n].map((off) => power + off)),
        ...Array.from({ length: 97 }, (_, i) => 0x9e3779b97f4a7c15n * BigInt(i))].flatMap((value) => [wrap(value), wrap(-value)]);
      const divisors = [...new Set([2n, 3n, 5n, 7n, 10n, 12n, 641n, 1000003n, powers[bits - 2], powers[bits - 1] - 1n, powers[bits - 1],
        -1n, -3n, -7n, -12n].map(wrap))];
      const shape = `${type}[${values.length}]`;
      const names = divisors.flatMap((_, i) => [`q${i}`, `r${i}`]);
      const executable = await compileText(client, `HloModule m
ENTRY e {
  x = ${shape} parameter(0)
${divisors.map((divisor, i) => `  c${i} = ${type}[] constant(${divisor})
  b${i} = ${shape} broadcast(c${i}), dimensions={}
  q${i} = ${shape} divide(x, b${i})
  r${i} = ${shape} remainder(x, b${i})`).join('\n')}
  ROOT r = (${names.map(() => shape).join(', ')}) tuple(${names.join(', ')})
}
`);
      const TypedArray = { s32: Int32Array, u32: Uint32Array, s64: BigInt64Array, u64: BigUint64Array }[type];
      const results = await executable.execute([TypedArray.from(values, bits === 64 ? (x) => x : Number)]);
      divisors.forEach((divisor, i) => values.forEach((value, at) => {
        const got = [0, 1].map((k) => BigInt(results[2 * i + k].data[at]));
        assert.deepEqual(got, [wrap(value / divisor), wrap(value % divisor)], `${type}: ${value} by ${divisor}`);
      }));
    }
  }
  client.dispose();
});

test('reductions of bytes across, 16 at a time and one by one, from any initial value', async () => {
  const [ROWS, COLUMNS] = [37, 203];
  const FOLD = {
    and: (x, y) => x & y, or: (x, y) => x | y, add: (x, y) => x + y, maximum: Math.max, minimum: Math.min,
  };
  const client = await Client.create({ threads: 0 });
  for (const [type, TypedArray] of [['pred', Uint8Array], ['s8', Int8Array], ['u8', Uint8Array]]) {
    const x = TypedArray.from({ length: ROWS * COLUMNS }, (_, i) =>
      (type === 'pred' ? Number(i % COLUMNS % 5 === 0 ? i % 7 < 6 : i % 211 === 3) : (i * 40_503) >> 3));
    for (const [name, fold] of Object.entries(FOLD)) {
      for (const init of type === 'pred' ? [0, 1] : [0, 77]) {
        if (type === 'pred' && name === 'add') continue;
        const executable = await compileText(client, `HloModule m
f {
  a = ${type}[] parameter(0)
  b = ${type}[] parameter(1)
  ROOT c = ${type}[] ${name}(a, b)
}
ENTRY e {
  x = ${type}[${ROWS},${COLUMNS}] parameter(0)
  z = ${type}[] parameter(1)
  ROOT r = ${type}[${COLUMNS}] reduce(x, z), dimensions={0}, to_apply=f
}
`);
        const [{ data }] = await executable.execute([x, TypedArray.of(init)]);
        for (let column = 0; column < COLUMNS; column++) {
          const want = TypedArray.of(init);
          for (let row = 0; row < ROWS; row++) want[0] = fold(want[0], x[row * COLUMNS + column]);
          assert.equal(data[column], want[0], `${type} ${name} from ${init}, column ${column}`);
        }
      }
    }
  }
  client.dispose();
});

test('the largest and the smallest: NaN is both, and zeros have their signs', async () => {
  const [ROWS, COLUMNS] = [24, 45];
  const client = await Client.create({ threads: 0 });
  const fold = (name, values) => values.reduce((x, y) => Math[name](x, y)); // as XLA's: NaN wins, -0 < 0
  const zeros = [0, -0];
  const x = Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => {
    const row = Math.floor(i / COLUMNS), at = i % COLUMNS;
    if (row < 8) return zeros[row < 2 ? row : (i * 7 >> row) & 1];
    if (row === 8 || at === 40) return [-Infinity, -1, -0][at % 3];
    if (row === 9 || at === 41) return [Infinity, 1, 0, -0][(at + row) % 4];
    return (row * 5 + at) % 97 === 3 ? (row % 2 ? NaN : -NaN) : (i * 37 % 101 - 50) / 8;
  });
  const bits = new Uint32Array(x.buffer);
  bits[20 * COLUMNS + 17] = 0xffffffff;
  const at = (r, c) => x[r * COLUMNS + c];
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const WANTED = {
    '{1}': [ROWS, (name, init) => range(ROWS).map((r) => fold(name, [init, ...range(COLUMNS).map((c) => at(r, c))]))],
    '{0}': [COLUMNS, (name, init) => range(COLUMNS).map((c) => fold(name, [init, ...range(ROWS).map((r) => at(r, c))]))],
    '{0,1}': ['', (name, init) => [fold(name, [init, ...x])]],
  };
  for (const type of ['f32', 'bf16', 'f16', 'f64']) {
    for (const [name, opcode, inits] of [['max', 'maximum', ['-inf', '-0', '0']], ['min', 'minimum', ['inf', '-0', '0']]]) {
      for (const init of inits) {
        for (const [dimensions, [shape, wanted]] of Object.entries(WANTED)) {
          const executable = await compileText(client, `HloModule m
f {
  a = ${type}[] parameter(0)
  b = ${type}[] parameter(1)
  ROOT c = ${type}[] ${opcode}(a, b)
}
ENTRY e {
  x = f32[${ROWS},${COLUMNS}] parameter(0)
  y = ${type}[${ROWS},${COLUMNS}] convert(x)
  z = ${type}[] constant(${init})
  m = ${type}[${shape}] reduce(y, z), dimensions=${dimensions}, to_apply=f
  ROOT r = f32[${shape}] convert(m)
}
`);
          const [{ data }] = await executable.execute([x]);
          const want = wanted(name, Number(init.replace('inf', 'Infinity')));
          want.forEach((value, i) => assert.ok(Object.is(data[i], value),
            `${type} ${opcode} over ${dimensions} from ${init}: ${data[i]} at ${i}, not ${value}`));
          executable.dispose();
        }
      }
    }
  }
  client.dispose();
});

describe('narrow floats without values in between', () => {
  let client;
  before(async () => {
    client = await Client.create({ threads: 0 });
  });
  after(() => client.dispose());

  /** Results of `body` of x and y, as bits; NaNs are one. */
  async function bitsOf(type, body, x, y, isNaNOf) {
    const text = `HloModule m\nENTRY e {\n  x = ${type}[${x.length}] parameter(0)\n  y = ${type}[${y.length}] parameter(1)\n${body}\n}\n`;
    const executable = await compileText(client, text);
    generatedOnly(executable);
    const [{ data }] = await executable.execute([x, y].map((list) => new Literal(Shape.parse(`${type}[${list.length}]`), list)));
    executable.dispose();
    return Array.from(data, (bits) => (isNaNOf(bits) ? 'NaN' : bits));
  }

  test('functions of two floats of 8 bits, by table, are those of few, by formula', async () => {
    const SIZE = 1 << 18;
    const all = [8, 0].map((shift) => Uint8Array.from({ length: SIZE }, (_, i) => i >> shift));
    const few = all.map((list) => list.slice(0, 1 << 16));
    const NAN = {
      f8e5m2: (bits) => (bits & 127) > 124, f8e4m3fn: (bits) => (bits & 127) === 127, f8e4m3b11fnuz: (bits) => bits === 128,
    };
    for (const [type, isNaNOf] of Object.entries(NAN)) {
      for (const name of ['add', 'subtract', 'multiply', 'divide', 'maximum']) {
        const body = (size) => `  ROOT r = ${type}[${size}] ${name}(x, y)`;
        const large = await bitsOf(type, body(SIZE), ...all, isNaNOf);
        const small = await bitsOf(type, body(few[0].length), ...few, isNaNOf);
        small.forEach((bits, i) => {
          if (large[i] !== bits || large[i + SIZE / 2] !== bits) assert.fail(`${type} ${name}: ${i}`);
        });
      }
    }
  });

  test('sums and differences of f16 are those of f32, rounded', async () => {
    // All exponents and signs, with mantissas at the ends, in the middle and anywhere
    const values = Array.from({ length: 64 }, (_, i) => i << 10).flatMap((top) =>
      [0, 1, 2, 3, 0x155, 0x1ff, 0x200, 0x201, 0x3fe, 0x3ff].map((low) => top | low));
    const x = Uint16Array.from(values.flatMap((a) => values.map(() => a)));
    const y = Uint16Array.from(values.flatMap(() => values));
    const isNaNOf = (bits) => (bits & 0x7fff) > 0x7c00;
    for (const name of ['add', 'subtract']) {
      const narrow = await bitsOf('f16', `  ROOT r = f16[${x.length}] ${name}(x, y)`, x, y, isNaNOf);
      const wide = await bitsOf('f16', `  a = f32[${x.length}] convert(x)
  b = f32[${x.length}] convert(y)
  c = f32[${x.length}] ${name}(a, b)
  ROOT r = f16[${x.length}] convert(c)`, x, y, isNaNOf);
      wide.forEach((bits, i) => {
        if (narrow[i] !== bits) assert.fail(`${name} of ${x[i]} and ${y[i]} is ${narrow[i]}, should be ${bits}`);
      });
    }
  });
});

test('shifts of bytes and pairs of them, each by an amount of its own: past the width nothing is left, or the sign', async () => {
  const client = await Client.create({ threads: 0 });
  const amounts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 15, 16, 17, 31, 32, 33, 64, 127, 128, 200, 255];
  for (const [type, Numbers, bits] of [
    ['u8', Uint8Array, 8], ['s8', Int8Array, 8], ['u16', Uint16Array, 16], ['s16', Int16Array, 16],
  ]) {
    const pairs = Array.from({ length: 256 }, (_, i) => i * (bits === 8 ? 1 : 257) + (i % 3)).flatMap((x) => amounts.map((y) => [x, y]));
    const [x, y] = [0, 1].map((side) => Numbers.from(pairs, (pair) => pair[side]));
    const unsigned = (value) => value & ((1 << bits) - 1), by = Array.from(y, unsigned);
    const signed = (value) => (unsigned(value) << (32 - bits)) >> (32 - bits);
    for (const [name, shifted] of [
      ['shift-left', (a, n) => (n < bits ? a << n : 0)],
      ['shift-right-logical', (a, n) => (n < bits ? unsigned(a) >> n : 0)],
      ['shift-right-arithmetic', (a, n) => signed(a) >> Math.min(n, bits - 1)],
    ]) {
      const shape = `${type}[${x.length}]`;
      const executable = await compileText(client, `HloModule m\nENTRY e {\n  x = ${shape} parameter(0)
  y = ${shape} parameter(1)\n  ROOT r = ${shape} ${name}(x, y)\n}`);
      const [{ data }] = await executable.execute([x, y]);
      assert.deepEqual(data, Numbers.from(x, (a, i) => shifted(a, by[i])), `${type} ${name}`);
      executable.dispose();
    }
  }
  client.dispose();
});

test('limits that are constants, on either side and of clamp: NaN goes through, and zeros have their signs', async () => {
  const LIMITS = ['0', '-0', '6', '-1', 'inf', '-inf', 'nan'], numbers = LIMITS.map((c) => Number(c.replace('inf', 'Infinity')));
  const x = Float32Array.of(0, -0, 1, -1, 6, 7, -7, Infinity, -Infinity, NaN, 1e-40, -1e-40, 0.5);
  const client = await Client.create({ threads: 0 });
  for (const type of ['f32', 'f64', 'bf16', 'f16']) {
    const shape = `${type}[${x.length}]`, lines = [], wanted = [];
    LIMITS.forEach((c, i) => {
      lines.push(`c${i} = ${type}[] constant(${c})`, `b${i} = ${shape} broadcast(c${i}), dimensions={}`);
      for (const [opcode, name] of [['maximum', 'max'], ['minimum', 'min']]) {
        lines.push(`${name}a${i} = ${shape} ${opcode}(y, b${i})`, `${name}b${i} = ${shape} ${opcode}(b${i}, y)`);
        for (let k = 0; k < 2; k++) wanted.push((v) => Math[name](v, numbers[i]));
      }
      lines.push(`d${i} = ${shape} clamp(b0, y, b${i})`, `e${i} = ${shape} clamp(c${i}, y, six)`);
      wanted.push((v) => Math.min(Math.max(v, 0), numbers[i]), (v) => Math.min(Math.max(v, numbers[i]), 6));
    });
    const names = LIMITS.flatMap((_, i) => ['maxa', 'maxb', 'mina', 'minb', 'd', 'e'].map((name) => name + i));
    const executable = await compileText(client, `HloModule m
ENTRY e {
  x = f32[${x.length}] parameter(0)
  y = ${shape} convert(x)
  six = ${type}[] constant(6)
  ${lines.join('\n  ')}
  ${names.map((name) => `f${name} = f32[${x.length}] convert(${name})`).join('\n  ')}
  ROOT r = (${names.map(() => `f32[${x.length}]`).join(', ')}) tuple(${names.map((name) => `f${name}`).join(', ')})
}
`);
    const results = await executable.execute([x]);
    const kept = type === 'f16' || type === 'bf16' ? (v) => (Math.abs(v) < 1e-30 && v !== 0 ? null : v) : (v) => v;
    results.forEach(({ data }, r) => x.forEach((v, i) => {
      if (kept(v) === null) return; // another test checks the values that f16 changes
      assert.ok(Object.is(data[i], Math.fround(wanted[r](v))), `${type} ${names[r]} of ${v}: ${data[i]}, not ${wanted[r](v)}`);
    }));
    executable.dispose();
  }
  client.dispose();
});

test('sums of narrow floats that leave their range, as XLA rounds them', async () => {
  const client = await Client.create({ threads: 0 });
  const x = [1, 100, 110, 224, 232, 233, 240, 447, 448, 464, 480, 1e9, -300, -1e9];
  const [inf, nan] = [Infinity, NaN];
  const WANTED = {
    f8e4m3fn: [2, 192, 224, 448, 448, nan, nan, nan, nan, nan, nan, nan, nan, nan],
    f8e5m2: [2, 192, 224, 448, 448, 448, 512, 896, 896, 896, 1024, inf, -640, -inf],
    f8e4m3b11fnuz: [2, ...new Array(13).fill(nan)],
    f8e4m3: [2, 192, 224, ...new Array(9).fill(inf), -inf, -inf],
    f8e3m4: [2, ...new Array(11).fill(inf), -inf, -inf],
    f16: [2, 200, 220, 448, 464, 466, 480, 894, 896, 928, 960, inf, -600, -inf],
  };
  for (const [type, wanted] of Object.entries(WANTED)) {
    const b = client.builder(type);
    const narrow = b.convertElementType(b.parameter(0, `f32[${x.length}]`), type);
    const executable = await client.compile(b.build(b.convertElementType(narrow.add(narrow), 'f32')));
    assert.deepEqual((await executable.execute([x]))[0].toArray(), wanted, type);
  }
  client.dispose();
});

test('bits of NaN in narrow floats, as XLA has them: one of each sign; f16 keeps the upper bits of others', async () => {
  const client = await Client.create({ threads: 0 });
  const x = Uint32Array.of(0x7f800001, 0xff800001, 0x7f802000, 0x7fc00000, 0x7f810000, 0x7fffffff, 0xffbfffff, 0x7fa00000);
  const one = (bits, sign) => [bits, bits | sign, bits, bits, bits, bits, bits | sign, bits];
  const WANTED = {
    f16: [0x7e00, 0xfe00, 0x7e01, 0x7e00, 0x7e08, 0x7fff, 0xffff, 0x7f00], bf16: one(0x7fc0, 0x8000),
    f8e5m2: one(0x7e, 0x80), f8e3m4: one(0x78, 0x80), f8e4m3: one(0x7c, 0x80),
  };
  for (const [type, wanted] of Object.entries(WANTED)) {
    for (const options of type === 'f16' ? [{}] : [{}, { optimize: false }]) {
      const bits = type.includes('16') ? 'u16' : 'u8', module = client.parseHlo(`ENTRY e { x = u32[8] parameter(0)
  f = f32[8] bitcast-convert(x)\n n = ${type}[8] convert(f)\n ROOT r = ${bits}[8] bitcast-convert(n) }`);
      const [{ data }] = await (await client.compile(module, options)).execute([x]);
      assert.deepEqual([...data], wanted, type);
    }
  }
  client.dispose();
});
