/** Tests integers that an element type cannot hold: each input path refuses them by the same rule. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { readNpy, writeNpy } from '../../bindings/formats/npy.mjs';
import { Client, Literal } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The inputs that take elements: each gets `bad`, which `type` cannot hold, and must refuse it. */
const WAYS_IN = {
  'new Literal of numbers': ({ type, bad }) => new Literal(`${type}[2]`, [0, bad]),
  'new Literal of a typed array': ({ type, bad, natural }) => new Literal(`${type}[1]`, natural([bad])),
  'a number': ({ type, bad }) => Literal.from(bad, `${type}[]`),
  'a bigint': ({ type, bad }) => Literal.from(BigInt(bad), `${type}[]`),
  'nested arrays': ({ type, bad }) => Literal.from([[0, 0], [0, bad]], `${type}[2,2]`),
  'a typed array': ({ type, bad }) => Literal.from(BigInt64Array.of(BigInt(bad)), `${type}[1]`),
  'its own typed array': ({ type, bad, natural }) => Literal.from(natural([0, bad]), `${type}[2]{0}`),
  'a typed array in an array': ({ type, bad }) => Literal.from([Float64Array.of(Number(bad))], `${type}[1,1]`),
  'a tuple': ({ type, bad }) => Literal.from([1, [bad]], `(f32[], ${type}[1])`),
  'a constant': ({ type, bad, b }) => b.constant([bad], `${type}[1]`),
  constantR0: ({ type, bad, b }) => b.constantR0(bad, type),
  constantR1: ({ type, bad, b }) => b.constantR1(2, bad, type),
  'a literal changed later': ({ type, bad, b, natural }) => {
    const literal = Literal.zeros(`${type}[1]`);
    literal.data.set(natural([bad]));
    b.constantLiteral(literal);
  },
  'a number as operand': ({ type, bad, b }) => b.max(b.parameter(0, `${type}[2]`, 'x'), bad),
  'a buffer': ({ type, bad, natural }) => client.buffer(natural([bad]), `${type}[1]`),
  'an argument': ({ type, bad, execute }) => execute(type, [bad]),
  'a typed array as argument': ({ type, bad, natural, execute }) => execute(type, natural([bad])),
  infeed: async ({ type, bad }) => {
    client.transferToInfeed([bad]);
    await run(`t = token[] after-all()\n f = (${type}[1], token[]) infeed(t)\n ROOT r = ${type}[1] get-tuple-element(f), index=0`);
  },
  "a custom call's result": async ({ type, bad }) => {
    client.registerCustomCall('bad', () => [bad]);
    await run(`ROOT r = ${type}[1] custom-call(), custom_call_target="bad"`);
  },
  'HLO text': ({ type, bad }) => run(`ROOT r = ${type}[2] constant({0, ${bad}})`),
  'HLO text of a scalar': ({ type, bad }) => run(`ROOT r = ${type}[] constant(${bad})`),
  'StableHLO text': ({ type, wrong }) => client.load(stablehlo(type, `dense<[0, ${wrong}]>`, '2x')),
  'StableHLO text of one for all': ({ type, wrong }) => client.load(stablehlo(type, `dense<${wrong}>`, '2x')),
  'an attribute of StableHLO': ({ type, wrong }) => client.load(
    `func.func @main() { %0 = stablehlo.custom_call @t() {a = ${wrong} : ${mlirName(type)}} : () -> tensor<f32> return }`),
  npy: ({ type, bad, natural }) => {
    const { kind, Array: Natural } = ELEMENT_TYPES.get(type);
    const data = natural([bad]);
    const file = writeNpy(new Literal(`${kind === 'signed' ? 's' : 'u'}${8 * Natural.BYTES_PER_ELEMENT}[1]`, data));
    return readNpy(file, type);
  },
};
/** Input paths by typed arrays: their entries can only be out of range if the type has fewer bits. */
const OF_BYTES = /typed array$|own typed|changed later|buffer|typed array as|npy/;

const mlirName = (type) => type.replace('u', 'ui').replace(/^s/, 'i');
const stablehlo = (type, elements, sizes) => `func.func @main() -> tensor<${sizes}${mlirName(type)}> {
  %0 = stablehlo.constant ${elements} : tensor<${sizes}${mlirName(type)}>
  return %0 : tensor<${sizes}${mlirName(type)}>
}`;

async function run(body, args = []) {
  const executable = await client.compile(client.parseHlo(`HloModule m\nENTRY e {\n ${body}\n}`));
  try {
    return await executable.execute(args);
  } finally {
    executable.dispose();
  }
}

describe('values outside an integer type are refused with its range', () => {
  const execute = (type, value) => run(`ROOT x = ${type}[1] parameter(0)`, [value]);
  for (const [type, { kind, bits, Array: Natural, limits }] of ELEMENT_TYPES) {
    if (kind !== 'signed' && kind !== 'unsigned') continue;
    test(type, async () => {
      const [low, high] = limits.map(BigInt);
      const natural = (values) => Natural.from(values, (v) => (bits === 64 ? BigInt(v) : Number(v)));
      for (const [beyond, written] of [[low - 1n, low - 1n], [high + 1n, kind === 'signed' ? 2n * high + 2n : high + 1n]]) {
        const bad = bits === 64 ? beyond : Number(beyond);
        for (const [name, way] of Object.entries(WAYS_IN)) {
          if (OF_BYTES.test(name) && (bits >= 8 || (beyond < 0n && Natural === Uint8Array))) continue;
          if (bits === 64 && /typed array|constantR1/.test(name)) continue; // of 64 bits, as the type
          const b = client.builder('b');
          await assert.rejects(async () => way({ type, bad, wrong: written, natural, execute, b }), ({ code, message }) => {
            assert.equal(code, 'INVALID_ARGUMENT', `${name}: ${message}`);
            assert.ok(message.includes(`cannot hold`) && message.includes(`whole numbers from ${low} to ${high}`), `${name}: ${message}`);
            return true;
          }, `${name}: ${beyond}`);
          b.dispose();
        }
      }
      for (const fits of [low, high]) {
        const value = bits === 64 ? fits : Number(fits);
        assert.equal(new Literal(`${type}[1]`, [value]).get([0]), value);
        assert.equal((await run(`ROOT r = ${type}[] constant(${fits})`))[0].toArray(), value);
        const loaded = await client.load(stablehlo(type, `dense<[${fits}, ${fits}]>`, '2x'));
        assert.deepEqual((await (await client.compile(loaded)).execute([]))[0].toArray(), [value, value]);
      }
    });
  }

  test('bytes of StableHLO and of protos hold their bits, with zeros or the sign above', async () => {
    const of = async (type, bytes) => {
      const module = await client.load(stablehlo(type, `dense<"0x${Buffer.from(bytes).toString('hex')}">`, `${bytes.length}x`));
      return (await (await client.compile(module)).execute([]))[0].toArray();
    };
    assert.deepEqual(await of('s4', [0x09, 0xf9, 0x07]), [-7, -7, 7]); // as XLA reads them
    assert.deepEqual(await of('u2', [0, 3]), [0, 3]);
    for (const [type, byte, range] of [['s4', 0x19, '-8 to 7'], ['s4', 0x79, '-8 to 7'], ['u4', 0x10, '0 to 15'], ['s2', 4, '-2 to 1'],
      ['u2', 4, '0 to 3']]) {
      await assert.rejects(of(type, [0, byte]), { code: 'INVALID_ARGUMENT', message: new RegExp(`whole numbers from ${range}`) });
      const proto = await client.parseHlo(`HloModule m\nENTRY e { ROOT r = ${type}[3] constant({1, 1, 1}) }`).toProto();
      const at = Buffer.from(proto).lastIndexOf(Buffer.from([3, 1, 1, 1]));
      assert.ok(at > 0);
      const changed = Uint8Array.from(proto);
      changed[at + 2] = byte;
      await assert.rejects(async () => client.load(changed), { code: 'INVALID_ARGUMENT', message: new RegExp(`whole numbers from ${range}`) });
    }
  });
});
