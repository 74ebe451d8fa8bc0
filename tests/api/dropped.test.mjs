/**
 * No attribute is read and dropped: each attribute of each operation of the corpus is changed, in each form. Then the module
 * differs, or there is an error; other attributes are listed here, each with its reason.
 */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client, XlaError } from '../../bindings/index.mjs';
import { hloTextOfProto } from '../../bindings/formats/hlo_proto.mjs';
import { HLO_MODULE } from '../../bindings/formats/hlo_schema.mjs';
import { decode, encode } from '../../bindings/formats/protobuf.mjs';
import { readBytecode } from '../../bindings/stablehlo/bytecode.mjs';
import { Dense, Dictionary, Float, Integer, Opaque, Struct, SymbolName, UNIT } from '../../bindings/stablehlo/ir.mjs';
import { lower } from '../../bindings/stablehlo/lower.mjs';
import { readText } from '../../bindings/stablehlo/text.mjs';
import { readGolden } from '../support/golden.mjs';

const golden = new URL('../golden/', import.meta.url);

/** Attributes that change no result, by name or by operation and name, with the reason. */
const WITHOUT_EFFECT = {
  'func.func sym_visibility': 'it counts only where there is no @main',
  'func.func res_attrs': 'names of results and hints',
  'func.func arg_attrs': 'names of arguments and hints',
  'result_accuracy': 'functions here have one accuracy',
  'sdy.sharding_rule': 'a hint: arrays are whole here',
  'mhlo.frontend_attributes': 'hints; custom calls, which may read them, have them',
  'result_layout': "of XLA's import: arrays inside a program have no layout here",
  'xla_shape': "of XLA's import: the type in other words",
  'stablehlo.custom_call api_version': 'beside a dictionary it is that of FFI',
};

async function records(file) {
  const bytes = gunzipSync(await readFile(new URL(file, golden)));
  const found = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const [family, name, form, size] = bytes.toString('utf8', at, end).split(' ');
    at = end + 1 + Number(size);
    found.push({ name: `${family} ${name}`, form, bytes: bytes.subarray(end + 1, at) });
  }
  return found;
}

/** Other values of an attribute: in order, until one makes a difference. */
function* others(value) {
  if (value === UNIT) yield undefined;
  else if (typeof value === 'boolean') yield !value;
  else if (typeof value === 'string') {
    yield* ['NE', 'TRANSPOSE', 'HIGHEST', 'UNIFORM', 'THREE_FRY', 'TOTALORDER', 'IFFT', 'f64', 'no such word'].filter((word) => word !== value);
  } else if (value instanceof Integer) yield* [1, -1, 5].map((step) => new Integer(Number(value.value) + step, value.type));
  else if (typeof value === 'number') yield* [value + 1, value - 1];
  else if (value instanceof Float) yield new Float(value.value.map((x) => (typeof x === 'bigint' ? x + 1n : x + 1)), value.type);
  else if (value instanceof SymbolName) yield new SymbolName(`${value.name}_`);
  else if (value instanceof Dense && value.data?.length) {
    const data = value.data.slice();
    data[0] = typeof data[0] === 'bigint' ? data[0] + 1n : value.type.elementType === 'pred' ? 1 - data[0] : data[0] + 1;
    yield new value.constructor(value.type, data, value.splat);
    yield undefined;
  } else if (value instanceof Dense || (Array.isArray(value) && !value.length)) yield [new Integer(0), new Integer(0)];
  else if (Array.isArray(value)) {
    for (const item of others(value[0])) yield [item, ...value.slice(1)];
    yield value.slice(1);
  } else if (value instanceof Dictionary || value instanceof Struct || value instanceof Opaque) yield new Opaque('no such attribute');
  else if (value?.kind === 'function') yield { ...value, results: [{ kind: 'tensor', elementType: 'u8', dimensions: [77], bounds: null }] };
  else if (value?.kind) yield { ...value, elementType: value.elementType === 'f64' ? 'f32' : 'f64' };
}

function* operationsOf(regions) {
  for (const operation of regions.flatMap(({ operations }) => operations)) {
    yield operation;
    yield* operationsOf(operation.regions);
  }
}

const isListed = (operation, attribute) => attribute in WITHOUT_EFFECT || `${operation} ${attribute}` in WITHOUT_EFFECT;

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The module as text, or the error. */
function outcome(make) {
  try {
    const module = make();
    const text = module.toString().replace(/, metadata=\{[^}]*\}/g, '');
    module.dispose();
    return text;
  } catch (error) {
    if (!(error instanceof XlaError)) throw error;
    return `error: ${error.code}`;
  }
}

const TIMES = 5; // programs for each attribute of each operation: some have a value whose change does not show

describe('StableHLO', async () => {
  const all = [...await records('stablehlo.gz'), ...await records('dialects.gz')];
  for (const form of ['text', 'generic', 'mhlo', '1.5.0', 'arith']) {
    test(form, { timeout: 120_000 }, () => {
      const tried = new Map(), without = new Map();
      const isDone = (key) => tried.get(key) >= TIMES || tried.get(key) === true;
      for (const { name, form: own, bytes } of all) {
        if (own !== form) continue;
        const read = () => (bytes[0] === 0x4d && bytes[1] === 0x4c ? readBytecode(bytes) : readText(bytes));
        const ir = read(), operations = [...operationsOf([{ operations: ir.operations }])];
        if (operations.every((operation) => Object.keys(operation.attributes).every((name) => isDone(`${operation.name} ${name}`)))) continue;
        const before = outcome(() => lower(client, ir));
        if (before.startsWith('error')) continue; // of unknown sizes
        for (const operation of operations) {
          for (const attribute of Object.keys(operation.attributes)) {
            const key = `${operation.name} ${attribute}`;
            if (isDone(key)) continue;
            const value = operation.attributes[attribute];
            const differs = [...others(value)].some((other) => {
              operation.attributes[attribute] = other;
              return outcome(() => lower(client, ir)) !== before;
            });
            operation.attributes[attribute] = value;
            tried.set(key, differs || (tried.get(key) ?? 0) + 1);
            if (!differs) without.set(key, name);
          }
        }
      }
      const dropped = [...without].filter(([key]) => tried.get(key) !== true &&
        !isListed(...key.split(' '))).map(([key, name]) => `${key} (${name})`);
      assert.deepEqual(dropped, []);
      assert.ok(tried.size > (form === 'arith' ? 4 : 60), `${tried.size} attributes`);
    });
  }
});

/** Attributes of HLO that change no result. Metadata is kept, and left out of the comparison. */
const WITHOUT_EFFECT_IN_HLO = {
  'custom-call featureGroupCount': 'XLA writes it for every call; only those to libraries of GPUs read it',
  'custom-call batchGroupCount': 'the same',
  'custom-call precision.operands': 'the same',
};

/** Other texts of an attribute's value. */
function* otherTexts(text) {
  for (const found of text.matchAll(/\d+/g)) {
    for (const step of [1, -1]) yield `${text.slice(0, found.index)}${Math.max(0, Number(found[0]) + step)}${text.slice(found.index + found[0].length)}`;
  }
  if (/^(true|false)$/.test(text)) yield String(text !== 'true');
  yield* ['NE', 'TOTALORDER', 'IFFT', 'TRANSPOSE', 'rng_uniform', 'rng_default', 'kLoop', 'no_such_word'].filter((word) => word !== text &&
    /^\w+$/.test(text));
  yield* ['{}', '{0,0}'];
  yield undefined;
}

/** Each program's lines with their attributes: [line, name, value, from, to]. */
function* attributesOf(text) {
  let at = 0;
  for (const line of text.split('\n')) {
    const opcode = /^\s*(?:ROOT )?%?[\w.-]+ = \S+(?: \S+)*? ([a-z][a-z0-9-]*)\(/.exec(line)?.[1];
    if (opcode && opcode !== 'constant') {
      for (const found of line.matchAll(/, ([\w-]+)=(\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}|"(?:[^"\\]|\\.)*"|[^,\s]+)/g)) {
        yield { opcode, name: found[1], value: found[2], from: at + found.index, to: at + found.index + found[0].length };
      }
    }
    at += line.length + 1;
  }
}

/** Tries changes until one makes a difference, for a few programs of each key. Returns the keys without any. */
function droppedOf(programs) {
  const tried = new Map(), places = new Map();
  for (const { name, before: text, changes } of programs) {
    for (const { key, made } of changes()) {
      if (tried.get(key) === true || tried.get(key) >= TIMES) continue;
      let differs = false;
      for (const make of made()) differs ||= outcome(make) !== text;
      tried.set(key, differs || (tried.get(key) ?? 0) + 1);
      places.set(key, name);
    }
  }
  const dropped = [...tried].filter(([key, state]) => state !== true && !(key in WITHOUT_EFFECT_IN_HLO) && !key.endsWith(' metadata'));
  return { dropped: dropped.map(([key]) => `${key} (${places.get(key)})`), count: tried.size };
}

async function goldenPrograms() {
  const files = (await readdir(golden)).filter((file) => file.endsWith('.golden'));
  const cases = await Promise.all(files.map((file) => readGolden(new URL(file, golden))));
  return cases.flat().filter(({ hlo }) => hlo.length < 20_000);
}

test('HLO text', { timeout: 240_000 }, async () => {
  const programs = (await goldenPrograms()).map(({ name, hlo }) => ({
    name,
    get before() { return outcome(() => client.parseHlo(hlo)); },
    * changes() {
      for (const { opcode, name: attribute, value, from, to } of attributesOf(hlo)) {
        yield { key: `${opcode} ${attribute}`, made: () => [...otherTexts(value)].map((other) => () =>
          client.parseHlo(hlo.slice(0, from) + (other === undefined ? '' : `, ${attribute}=${other}`) + hlo.slice(to))) };
      }
    },
  }));
  const { dropped, count } = droppedOf(programs);
  assert.deepEqual(dropped, []);
  assert.ok(count > 100, `${count} attributes`);
});

/** The places of a message's numbers, words and lists: [names of fields, object, key]. */
function* placesIn(message, path) {
  for (const [key, value] of Object.entries(message)) {
    const own = [...path, key];
    if (Array.isArray(value) && typeof value[0] === 'object') for (const item of value) yield* placesIn(item, own);
    else if (value && typeof value === 'object' && !ArrayBuffer.isView(value) && !Array.isArray(value)) yield* placesIn(value, own);
    else yield [own, message, key];
  }
}

function* otherFields(value) {
  if (typeof value === 'boolean') yield !value;
  else if (typeof value === 'number') yield* [value + 1, value - 1, undefined];
  else if (typeof value === 'string') yield* ['NE', 'TOTALORDER', undefined].filter((word) => word !== value);
  else if (value?.length) {
    for (let i = 0; i < Math.min(value.length, 4); i++) {
      const other = value.slice();
      other[i] = typeof other[i] === 'bigint' ? other[i] + 1n : typeof other[i] === 'boolean' ? !other[i] : other[i] + 1;
      yield other;
    }
    yield undefined;
  }
}

const IN_PROTOS = /(^| )(metadata|name|id|layout|literal|sharding)( |$)/; // names, hints, layouts inside; literals are elements

test('HLO protos', { timeout: 240_000 }, async () => {
  const lines = (await readFile(new URL('protos.txt', golden))).toString().trim().split('\n');
  const programs = lines.map((line) => {
    const [family, name, base64] = line.split(' ');
    const message = decode(new Uint8Array(Buffer.from(base64, 'base64')), HLO_MODULE);
    const make = () => client.parseHlo(hloTextOfProto(encode(message, HLO_MODULE)).text);
    return {
      name: `${family} ${name}`,
      get before() { return outcome(make); },
      * changes() {
        for (const { instructions } of message.computations) {
          for (const instruction of instructions) {
            for (const [path, object, key] of placesIn(instruction, [])) {
              if (IN_PROTOS.test(path.join(' '))) continue;
              const value = object[key];
              yield { key: `${instruction.opcode} ${path.join('.')}`, * made() {
                for (const other of otherFields(value)) {
                  object[key] = other;
                  yield make;
                }
                object[key] = value;
              } };
              object[key] = value;
            }
          }
        }
      },
    };
  });
  const { dropped, count } = droppedOf(programs);
  assert.deepEqual(dropped, []);
  assert.ok(count > 100, `${count} fields`);
});

describe('the type of a comparison is that of its operands, or is refused', () => {
  const FITTING = {
    s32: ['SIGNED'], s64: ['SIGNED'], u32: ['UNSIGNED'], u8: ['UNSIGNED'], pred: ['UNSIGNED'], f32: ['FLOAT', 'TOTALORDER'],
      bf16: ['FLOAT', 'TOTALORDER'],
    c64: ['FLOAT'],
  };
  const MLIR = { s32: 'i32', s64: 'i64', u32: 'ui32', u8: 'ui8', pred: 'i1', f32: 'f32', bf16: 'bf16', c64: 'complex<f32>' };
  for (const [type, fitting] of Object.entries(FITTING)) {
    for (const word of ['FLOAT', 'TOTALORDER', 'SIGNED', 'UNSIGNED']) {
      test(`${word} of ${type}`, async () => {
        const hlo = (comparison) => `HloModule m\nENTRY e {\n  x = ${type}[3] parameter(0)\n  ROOT r = pred[3] compare(x, x), direction=EQ${comparison}\n}`;
        const stablehlo = (operation) => `module { func.func @main(%a: tensor<3x${MLIR[type]}>) -> tensor<3xi1> {
          %0 = ${operation} : (tensor<3x${MLIR[type]}>, tensor<3x${MLIR[type]}>) -> tensor<3xi1>  return %0 : tensor<3xi1> } }`;
        const proto = decode(await client.parseHlo(hlo('')).toProto(), HLO_MODULE);
        for (const { instructions } of proto.computations) for (const i of instructions) if (i.opcode === 'compare') i.comparisonType = word;
        const sources = [
          hlo(`, type=${word}`), encode(proto, HLO_MODULE), stablehlo(`stablehlo.compare EQ, %a, %a, ${word}`),
          stablehlo(`"chlo.broadcast_compare"(%a, %a) <{comparison_direction = #chlo<comparison_direction EQ>, compare_type = #chlo<comparison_type ${word}>}>`),
        ];
        for (const [i, source] of sources.entries()) {
          if (!fitting.includes(word)) {
            await assert.rejects(client.load(source), (error) => error.code === 'INVALID_ARGUMENT' &&
              error.message.includes(`comparison type ${word} does not fit operands ${type}[3]`), `form ${i}`);
          } else if (word === 'TOTALORDER') assert.match((await client.load(source)).toString(), /type=TOTALORDER/, `form ${i}`);
          else await client.load(source);
        }
      });
    }
  }
});
