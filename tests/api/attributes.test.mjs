/** Attributes of custom calls: from StableHLO to the callback, through HLO text and protos. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const program = (attributes) => `module {
  func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
    %0 = stablehlo.custom_call @t(%x) {${attributes}} : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}`;

/** The call that the callback receives. */
async function configOf(module) {
  let seen;
  client.registerCustomCall('t', (call) => {
    seen = { text: call.backendConfig, bytes: [...call.backendConfigBytes] };
    return call.operands[0];
  });
  const executable = await client.compile(module);
  await executable.execute([[1]]);
  executable.dispose();
  return seen;
}

/** The same from a module, from its text and from its proto. */
async function configs(module) {
  const all = [module, client.parseHlo(module.toString()), await client.load(await module.toProto())];
  const found = [];
  for (const each of all) found.push(await configOf(each));
  return found;
}

// [attribute, the backend_config that XLA makes of it, bytecode]: golden/attributes.py
const entries = JSON.parse(await readFile(new URL('../golden/attributes.json', import.meta.url), 'utf8'));

/** Attributes that are refused in bytecode, or lose the name of their kind there. */
const NOT_IN_BYTECODE = /i24|i128|#stablehlo|loc\(|distinct|memref|"x" : i32/;

describe("attributes of FFI calls are those of XLA's HLO", () => {
  test('as text, there and back', async () => {
    for (const [form, wanted] of entries) {
      const module = await client.load(program(`api_version = 4 : i32, backend_config = {${form}}`));
      for (const { text, bytes } of await configs(module)) {
        assert.equal(text, wanted, form);
        assert.deepEqual(bytes, [...new TextEncoder().encode(wanted)], form);
      }
    }
  });

  test('as bytecode', async () => {
    const read = entries.filter(([form, , bytecode]) => bytecode && !NOT_IN_BYTECODE.test(form));
    assert.ok(read.length > 70, `${read.length} forms`);
    for (const [form, wanted, bytecode] of read) {
      const module = await client.load(new Uint8Array(Buffer.from(bytecode, 'base64')));
      assert.equal((await configOf(module)).text, wanted, form);
    }
  });
});

describe('a backend_config that is a string', () => {
  const cases = {
    'a word': ['text', 'text'],
    'a zero byte': ['\\05\\00\\00\\01', '\x05\0\0\x01'],
    'quotes and control codes': ['a\\22b\\\\c\\n\\t\\1B', 'a"b\\c\n\t\x1b'],
    'JSON': ['{\\22a\\22: [1, \\22}\\22]}', '{"a": [1, "}"]}'],
    'braces that do not close': ['{[}', '{[}'],
    'braces with a slash or a quote': ["{it's // so}", "{it's // so}"],
    'letters beyond ASCII': ['é😀', 'é😀'],
  };
  for (const [name, [written, wanted]] of Object.entries(cases)) {
    test(name, async () => {
      const module = await client.load(program(`backend_config = "${written}"`));
      for (const { text, bytes } of await configs(module)) {
        assert.equal(text, wanted);
        assert.deepEqual(bytes, [...new TextEncoder().encode(wanted)]);
      }
    });
  }

  test('bytes that are no UTF-8', async () => {
    const all = Array.from({ length: 256 }, (_, i) => 255 - i);
    const written = all.map((byte) => `\\${byte.toString(16).padStart(2, '0')}`).join('');
    const module = await client.load(program(`backend_config = "${written}é"`));
    for (const { text, bytes } of await configs(module)) {
      assert.deepEqual(bytes, [...all, 0xc3, 0xa9]);
      assert.equal(text, new TextDecoder().decode(Uint8Array.from(bytes)));
    }
  });
});
