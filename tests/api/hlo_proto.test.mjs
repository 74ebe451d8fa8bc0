/** Serialized HloModuleProtos, made by real XLA from golden cases: see tests/golden/protos.py. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { API_VERSIONS } from '../../bindings/base/attribute_text.mjs';
import { Client, Literal, Shape, XlaError } from '../../bindings/index.mjs';
import { DOT_ALGORITHMS } from '../../bindings/formats/hlo_schema.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { checkCase, readGolden } from '../support/golden.mjs';

const folder = new URL('../golden/', import.meta.url);
const families = new Map(); // name -> cases by name
const protos = [];
for (const line of (await readFile(new URL('protos.txt', folder), 'utf8')).trim().split('\n')) {
  const [family, name, base64] = line.split(' ');
  if (!families.has(family)) {
    const cases = await readGolden(new URL(`${family}.golden`, folder));
    families.set(family, new Map(cases.map((golden) => [golden.name, golden])));
  }
  protos.push({ family, golden: families.get(family).get(name), bytes: Buffer.from(base64, 'base64') });
}

/** A field of a message: its number, and bytes. */
function field(number, bytes) {
  const size = [bytes.length & 0x7f | 0x80, (bytes.length >> 7) & 0x7f | 0x80, bytes.length >> 14];
  return Buffer.concat([Buffer.from([number << 3 | 2, ...size]), bytes]);
}

/**
 * The lines of a module, in an order that doesn't depend on that of its instructions, and names
 * without their last numbers, which XLA changes when it reads a text, nor what says nothing.
 */
const comparable = (module) => module.toString().split('\n').map((line) =>
  line.trim().replace(/, is_scheduled=false| stack_frame_id=0/g, '').replace(/\b([a-z_][\w-]*?)(\.\d+)+\b/gi, '$1')).sort().join('\n');

/** Where the text says it in another form: asynchronous operations, stack frames. */
const isSugared = (text) => /-start\(|async-|StackFrames/.test(text);

describe('HLO protos', () => {
  let client;
  before(async () => {
    client = await Client.create({ threads: 0 });
  });
  after(() => client.dispose());

  assert.ok(protos.length > 100);
  for (const { family, golden, bytes } of protos) {
    test(`${family}: ${golden.name}`, async () => {
      const module = await client.parseHloProto(bytes);
      const fromText = client.parseHlo(golden.hlo);
      if (!isSugared(golden.hlo)) assert.equal(comparable(module), comparable(fromText));
      fromText.dispose();
      await checkCase(client, golden, module);
    });
  }

  test('toProto() says what the text says', async () => {
    for (const { family, golden } of protos) {
      if (golden.hlo.includes(' domain(')) continue; // of shardings
      const module = client.parseHlo(golden.hlo);
      const read = await client.parseHloProto(await module.toProto());
      if (!/sharding=|metadata=|origin=|schedule=/.test(golden.hlo)) {
        assert.equal(comparable(read), comparable(module), `${family} ${golden.name}`);
      }
      module.dispose();
      await checkCase(client, golden, read);
    }
  });

  test('large constants of every type, in every layout, both ways', async () => {
    for (const [name, { Array: Natural, bits, kind }] of ELEMENT_TYPES) {
      const lanes = kind === 'complex' ? 2 : 1;
      const data = new Natural(3 * 5000 * lanes);
      const bytes = new Uint8Array(data.buffer);
      for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 37 + (i >> 8)) & (bits < 8 ? (1 << bits - (kind === 'signed' ? 1 : 0)) - 1 : 255);
      for (const layout of ['', '{0,1}']) {
        const b = client.builder('c');
        const module = b.build(b.constantLiteral(Literal.from(new Literal(Shape.parse(`${name}[3,5000]`), data), `${name}[3,5000]${layout}`)));
        const read = await client.parseHloProto(await module.toProto());
        const results = [];
        for (const one of [module, read]) {
          const executable = await client.compile(one);
          const [{ data: found }] = (await executable.execute([])).map((result) => result.inLayout(null));
          results.push(Buffer.from(found.buffer, found.byteOffset, found.byteLength));
          executable.dispose();
          one.dispose();
        }
        assert.ok(results[0].equals(results[1]), `${name}${layout}`);
        assert.ok(results[0].equals(Buffer.from(data.buffer)), `${name}${layout}`);
      }
    }
  });

  test('every dot algorithm and API version, both ways', async () => {
    const attributes = [
      ...DOT_ALGORITHMS.slice(1).map((name) => ['dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}', `algorithm=${name}`]),
      ...API_VERSIONS.map((name) => ['custom-call(a), custom_call_target="x"', `api_version=${name}`]),
    ];
    for (const [instruction, attribute] of attributes) {
      const module = client.parseHlo(`HloModule m\nENTRY e { a = f32[2,2] parameter(0)\n ROOT r = f32[2,2] ${instruction}, ${attribute} }`);
      const read = await client.parseHloProto(await module.toProto());
      // Versions 0 and 1 are printed as no attribute.
      assert.equal(String(read).includes(attribute), !/UNSPECIFIED|ORIGINAL/.test(attribute), attribute);
      read.dispose();
      module.dispose();
    }
  });

  test('HloProto and HloSnapshot', async () => {
    const [{ golden, bytes }] = protos;
    const hloProto = field(1, bytes);
    await checkCase(client, golden, await client.parseHloProto(hloProto));
    await checkCase(client, golden, await client.parseHloProto(field(1, hloProto)));
  });

  test('bytes that are no proto', async () => {
    const refused = (bytes, message) => assert.rejects(
      () => client.parseHloProto(bytes),
      (error) => error instanceof XlaError && error.code === 'INVALID_ARGUMENT' &&
        message.test(error.message));
    await refused(new Uint8Array(0), /no HloModuleProto/);
    await refused('HloModule m', /bytes must be a Uint8Array/);
    await refused(Buffer.from('HloModule m'), /text: use parseHlo/);
    await refused(protos[0].bytes.subarray(0, 100), /at byte/);
  });

  test('no byte that is changed and no end that is cut off does more than an XlaError', async () => {
    let [read, refused] = [0, 0];
    const attempt = async (bytes) => {
      try {
        (await client.parseHloProto(bytes)).dispose();
        read++;
      } catch (error) {
        assert.ok(error instanceof XlaError, error.stack);
        refused++;
      }
    };
    for (const { bytes } of protos.filter((proto) => proto.bytes.length < 600)) {
      for (let i = 0; i < bytes.length; i += 3) {
        const changed = Buffer.from(bytes);
        changed[i] ^= 1 << (i % 8);
        await attempt(changed);
        await attempt(bytes.subarray(0, i));
      }
    }
    assert.ok(read > 100 && refused > 1000, `${read} read, ${refused} refused`);
  });
});
