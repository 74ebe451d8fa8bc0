/**
 * Random programs whose results may lie on their operands, against the same programs with memory for each value:
 * bit for bit. Every element type, several results a loop, halves of arrays that are read as wider types.
 * PROGRAMS=100000 SEED=7 runs more of them, or others.
 */
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { Random } from '../fuzz/random.mjs';
import { agrees } from '../support/as_written.mjs';

const PROGRAMS = Number(process.env.PROGRAMS ?? 300), SEED = Number(process.env.SEED ?? 1);
const TYPES = ['f32', 'f64', 'c64', 'c128', 'bf16', 'f16', 'f8e5m2', 'f8e4m3fn', 's8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64', 'pred'];
const PARTS = { c64: 'f32', c128: 'f64' }, WHOLES = { f32: 'c64', f64: 'c128' };
const isComplex = (type) => type in PARTS, isFloat = (type) => /^[bf]/.test(type);

class Program {
  lines = [];
  values = [];
  parameters = 0;

  constructor(random) {
    this.random = random;
    this.size = random.pick([1, 2, 3, 4, 6, 7, 8, 12, 30, 64, 100, 1000, 4096]);
    this.types = Array.from({ length: random.pick([1, 2, 2, 3]) }, () => random.pick(TYPES));
    if (random.chance(0.4)) this.types.push('f32', 'c64');
    for (let i = random.between(1, 4); i > 0; i--) this.parameter(random.pick(this.types), this.size * random.pick([1, 1, 2]));
    for (let i = random.between(3, 14); i > 0; i--) this.step();
  }

  add(type, size, what) {
    const value = { name: `v${this.lines.length}`, type, size };
    this.lines.push(`${value.name} = ${type}[${size}] ${what}`);
    this.values.push(value);
    return value;
  }

  parameter(type, size = this.size) {
    return this.add(type, size, `parameter(${this.parameters++})`);
  }

  /** A value of that type and size: mostly a late one, made where there is none. */
  operand(type, size) {
    const fits = this.values.filter((value) => value.type === type && value.size === size);
    if (fits.length && this.random.chance(0.9)) return this.random.pick(fits.slice(-4));
    const other = this.values.filter((value) => value.size === size && isComplex(value.type) <= isComplex(type));
    if (other.length && this.random.chance(0.6)) return this.add(type, size, `convert(${this.random.pick(other).name})`);
    return this.parameter(type, size);
  }

  step() {
    const { random } = this, x = random.pick(this.values.slice(-6)), { type, size, name } = x;
    const unary = isComplex(type) || isFloat(type) ? ['negate', 'abs', 'sign'] : type === 'pred' ? ['not'] : ['negate', 'not'];
    const binary = isComplex(type) ? ['add', 'subtract', 'multiply']
      : type === 'pred' ? ['and', 'or', 'xor'] : ['add', 'subtract', 'multiply', 'maximum', 'minimum'];
    const kinds = {
      unary: () => {
        const operation = random.pick(unary);
        if (isComplex(type) && operation === 'abs') return this.add(PARTS[type], size, `abs(${name})`);
        return this.add(type, size, `${type[0] === 'u' && operation === 'abs' ? 'negate' : operation}(${name})`);
      },
      binary: () => this.add(type, size, `${random.pick(binary)}(${name}, ${this.operand(type, size).name})`),
      reversed: () => this.add(type, size, `reverse(${name}), dimensions={0}`),
      select: () => this.add(type, size, `select(${this.operand('pred', size).name}, ${name}, ${this.operand(type, size).name})`),
      compare: () => this.add('pred', size, `compare(${name}, ${this.operand(type, size).name}), direction=${random.pick(['EQ', 'NE'])}`),
      convert: () => {
        const to = random.pick(isComplex(type) ? Object.keys(PARTS) : TYPES);
        return this.add(to, size, `convert(${name})`);
      },
      part: () => isComplex(type) && this.add(PARTS[type], size, `${random.pick(['real', 'imag'])}(${name})`),
      complex: () => type in WHOLES && this.add(WHOLES[type], size, `complex(${name}, ${this.operand(type, size).name})`),
      half: () => size % 2 === 0 && this.add(type, size / 2,
        `slice(${name}), slice={${random.pick([`[0:${size / 2}]`, `[${size / 2}:${size}]`, `[0:${size}:2]`])}}`),
      bits: () => {
        const to = { f32: 's32', s32: 'f32', f64: 's64', u64: 'f64', f16: 'u16', s16: 'bf16', c64: 'c64' }[type];
        return to && !isComplex(type) && this.add(to, size, `bitcast-convert(${name})`);
      },
      twice: () => size < 5000 && this.add(type, 2 * size, `concatenate(${name}, ${this.operand(type, size).name}), dimensions={0}`),
      sorted: () => !isComplex(type) && this.add(type, size, `sort(${name}), dimensions={0}, to_apply=less_${type}`),
      rows: () => {
        const row = random.pick([4, 12, 25, 64]), at = this.lines.length, count = size / row;
        if (isComplex(type) || type === 'pred' || size % row) return null;
        this.lines.push(`v${at} = ${type}[${count},${row}] reshape(${name})`, `v${at + 1} = ${type}[] constant(0)`,
          `v${at + 2} = ${type}[${count}] reduce(v${at}, v${at + 1}), dimensions={1}, to_apply=max_${type}`,
          `v${at + 3} = ${type}[${count},${row}] broadcast(v${at + 2}), dimensions={0}`,
          `v${at + 4} = ${type}[${count},${row}] subtract(v${at}, v${at + 3})`);
        return this.add(type, size, `reshape(v${at + 4})`);
      },
      spread: () => {
        const sum = this.lines.length;
        this.lines.push(`v${sum} = ${type}[] constant(${isComplex(type) ? '(1, 0)' : 1})`);
        return this.add(type, size, `broadcast(v${sum}), dimensions={}`);
      },
    };
    const often = ['unary', 'binary', 'binary', 'part', 'part', 'complex', 'complex', 'select', 'half', 'convert'];
    return kinds[random.pick([...often, ...Object.keys(kinds)])]();
  }

  get text() {
    const { random, values } = this;
    const results = [values.at(-1), ...values.filter(() => random.chance(0.25))].slice(0, 6);
    const applied = [...new Set(values.map(({ type }) => type))].filter((type) => !isComplex(type)).map((type) => {
      const operands = `{ a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n`;
      return `less_${type} ${operands} ROOT c = pred[] compare(a, b), direction=LT }
max_${type} ${operands} ROOT c = ${type}[] maximum(a, b) }`;
    });
    return `HloModule m\n${applied.join('\n')}\nENTRY e {\n ${this.lines.join('\n ')}
 ROOT r = (${results.map(({ type, size }) => `${type}[${size}]`).join(', ')}) tuple(${results.map((value) => value.name).join(', ')})\n}`;
  }
}

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

test('a part that a later result reads is not written over', async () => {
  const one = `o = f32[] constant(1)\n ob = f32[128,2] broadcast(o), dimensions={}\n x = f32[128,2] parameter(0)`;
  await agrees(client, `HloModule m\nENTRY e { ${one}\n c = c64[128,2] complex(x, ob)\n re = f32[128,2] real(c)
 im = f32[128,2] imag(c)\n d = c64[128,2] complex(re, im)\n ROOT r = (f32[128,2], c64[128,2]) tuple(im, d) }`);
  await agrees(client, `HloModule m\nENTRY e { ${one}\n y = f32[128,2] parameter(1)\n c = c64[128,2] complex(x, ob)
 q = f32[128,2] remainder(x, y)\n im = f32[128,2] imag(c)\n d = c64[128,2] complex(q, im)
 ROOT r = (c64[128,2], f32[128,2]) tuple(d, im) }`, (i) => i % 7 + 1);
});

for (const [narrow, wide, ratio] of [['bf16', 'f32', 2], ['f32', 'f64', 2], ['s8', 's16', 2], ['f32', 'c64', 2], ['s16', 's64', 4],
  ['f32', 'c128', 4]]) {
  test(`an array of ${narrow} whose first part becomes as many bytes of ${wide} is not written over`, async () => {
    await agrees(client, `HloModule m\nl { a = ${narrow}[] parameter(0)\n b = ${narrow}[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = ${narrow}[${1000 * ratio}] parameter(0)\n s = ${narrow}[${1000 * ratio}] sort(x), dimensions={0}, to_apply=l
 h = ${narrow}[1000] slice(s), slice={[0:1000]}\n ROOT y = ${wide}[1000] convert(h) }`, (i) => ((i * 7919) % 101) - 50);
  });
}

for (let first = SEED; first < SEED + PROGRAMS; first += 100) {
  test(`programs of seeds ${first} to ${first + 99}, in place and apart`, async () => {
    for (let seed = first; seed < first + 100; seed++) {
      const { text } = new Program(new Random(seed));
      try {
        await agrees(client, text, (i, k) => ((i * 7919 + k * 31) % 23) - 11, {}, { inPlace: false });
      } catch (error) {
        error.message += `\nseed ${seed}:\n${text}`;
        throw error;
      }
    }
  });
}
