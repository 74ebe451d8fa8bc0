/**
 * Reads truncated, changed and malicious files of every format. Each error must come soon and name the
 * wrong; memory stays within the size that the file could mean; the client goes on.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { deflateRawSync, gunzipSync, gzipSync } from 'node:zlib';

import { Client, Literal, readNpy, readNpz, readSafetensors, writeNpy, writeNpz, writeSafetensors } from '../../bindings/index.mjs';
import { Random } from '../fuzz/random.mjs';
import { checkError } from '../support/hostile.mjs';
import { ALL } from '../support/sample.mjs';

const MUTANTS = ALL ? 120 : 60; // of each file
const MAX_MS = 5000; // on a busy machine

const golden = (name) => readFile(new URL(`../golden/${name}`, import.meta.url));

/** Reads the corpus' StableHLO; golden/stablehlo.py describes the file. */
async function* stablehlo() {
  const bytes = gunzipSync(await golden('stablehlo.gz'));
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at), [, name, form, size] = bytes.toString('utf8', at, end).split(' ');
    at = end + 1 + Number(size);
    yield { name, form, bytes: bytes.subarray(end + 1, at) };
  }
}

/** Programs in every form, some of each. */
async function programs() {
  const found = [], perForm = new Map();
  for await (const { name, form, bytes } of stablehlo()) {
    const count = perForm.get(form) ?? 0;
    perForm.set(form, count + 1);
    if (count % 40 === 7) found.push([`${name}, ${form}`, bytes]);
  }
  const protos = (await golden('protos.txt')).toString().trim().split('\n');
  for (const line of protos.filter((_, i) => i % 30 === 3)) {
    const [, name, base64] = line.split(' ');
    found.push([`${name}, proto`, Buffer.from(base64, 'base64')]);
  }
  found.push(['compressed', gzipSync(found.at(-1)[1])]);
  return found.filter(([, content]) => content.length < 20_000);
}

const ODD = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
const WORDS = ['99999999999', '-1', '0', '18446744073709551616', '1e999', 'null', '{', '}', '[', ']', '"', '(', ')', ',', '<', '>',
  '"__proto__"', 'constructor', '\0', '\u{1F600}', '?x', '0x'];

/** Damages bytes: cuts, flips, doubles or moves a piece, or writes a wrong size or word. */
function mutant(bytes, random) {
  let made = Buffer.from(bytes);
  for (let times = random.pick([1, 1, 1, 2, 6]); times > 0 && made.length > 8; times--) {
    const at = random.between(0, made.length - 8), from = random.between(0, made.length - 8), size = random.between(1, 40);
    const put = (end, ...pieces) => {
      made = Buffer.concat([made.subarray(0, at), ...pieces, made.subarray(end)]);
    };
    random.pick([
      () => { made[at] ^= 1 << random.between(0, 7); },
      () => { made = made.subarray(0, at); },
      () => put(at + 1 + size),
      () => put(at, made.subarray(from, from + size)),
      () => made.writeUInt32LE(random.pick(ODD), at),
      () => made.writeUInt16LE(random.pick(ODD) & 0xffff, at),
      () => made.writeBigUInt64LE(random.pick([0n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]), at),
      () => put(at + random.between(0, 6), Buffer.from(random.pick(WORDS))),
    ])();
  }
  return made;
}

/** Returns the result or the XlaError; fails on an internal error, or if the call takes long. */
async function outcome(what, call) {
  const start = process.cpuUsage();
  try {
    return await call();
  } catch (error) {
    checkError(error, what);
    return error;
  } finally {
    const { user, system } = process.cpuUsage(start);
    assert.ok((user + system) / 1000 < MAX_MS, `${what} took ${(user + system) / 1000} ms`);
  }
}

describe('mutants', () => {
  let client;
  before(async () => {
    client = await Client.create({ threads: 0 });
  });
  after(() => client.dispose());

  test('of programs', { timeout: 300_000 }, async () => {
    const random = new Random(11);
    let read = 0, count = 0;
    for (const [name, bytes] of await programs()) {
      for (let i = 0; i < MUTANTS; i++, count++) {
        const made = mutant(bytes, random);
        await outcome(`${name} ${i}: ${made.toString('base64')}`, async () => {
          const module = await client.load(made);
          read++;
          (await client.compile(module)).dispose();
          module.dispose();
        });
      }
    }
    assert.ok(read > count / 40, `${read} of ${count} are programs`);
    const executable = await client.compile(client.parseHlo('ENTRY e { ROOT r = f32[] constant(7) }'));
    assert.equal((await executable.execute())[0].data[0], 7);
  });

  test('an operation of more regions than there are bytes', async () => {
    for await (const { bytes } of stablehlo()) {
      if (!bytes.subarray(0, 2).equals(Buffer.from('ML'))) continue;
      const made = Buffer.from(bytes);
      made[261] = 0x80; // where the number of relu's regions is: seven more bytes of it follow
      await assert.rejects(client.load(made), { code: 'INVALID_ARGUMENT', message: /4081973450801281 regions at byte/ });
      return;
    }
  });

  test('of weights', { timeout: 60_000 }, async () => {
    const literals = { a: Literal.from([[1, 2], [3, 4]]), flags: Literal.from([true, false]), big: Literal.from([1n, 2n]) };
    const npz = writeNpz(literals), random = new Random(12);
    for (const [name, bytes, read] of [['npy', writeNpy(literals.a), readNpy], ['npz', npz, readNpz],
      ['safetensors', writeSafetensors(literals, { made: 'here' }), readSafetensors]]) {
      for (let i = 0; i < 10 * MUTANTS; i++) {
        const made = mutant(bytes, random);
        await outcome(`${name} ${i}: ${made.toString('base64')}`, () => read(made));
      }
    }
  });
});

/* ---- Made by hand ---- */

/** A zip of entries [name, method, packed, size]; one without bytes lies where the first does. */
function zip(entries) {
  const parts = [], directory = [];
  let at = 0;
  for (const [name, method, packed, size] of entries) {
    const local = Buffer.alloc(30), central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE((packed ?? entries[0][2]).length, 20);
    central.writeUInt32LE(size, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(packed ? at : 0, 42);
    directory.push(central, Buffer.from(name));
    if (!packed) continue;
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    parts.push(local, Buffer.from(name), packed);
    at += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

const npy = (descr, shape, data = Buffer.alloc(0)) => {
  const header = Buffer.from(`{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`), length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([Buffer.from('\x93NUMPY\x01\0', 'latin1'), length, header, data]);
};
const safetensors = (header, data = Buffer.alloc(8, 7)) => {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header)), length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, data]);
};
const ZEROS = Buffer.alloc(64 << 20), ARRAY = npy('|u1', '(100000,)', Buffer.alloc(100_000));
const tensor = (dtype, shape, from, to) => ({ dtype, shape, data_offsets: [from, to] });

/** [name, reader, file, expected error] */
const MADE = [
  ['a header that is cut', readNpy, writeNpy(Literal.from([1])).subarray(0, 9), /ends within its header: is it whole\?$/],
  ...['constructor', '__proto__', 'O', '<M8[ns]'].map((descr) =>
    [`items of ${descr}`, readNpy, npy(descr, '(1,)'), /dtype ".*" has no XLA element type/]),
  ['more elements than numbers count', readNpy, npy('<f4', '(9007199254740993,)'), /ends before its 9007199254740992 elements/],
  ['no elements of endless rows', readNpy, npy('<f4', `(0, 1${'0'.repeat(400)})`), /non-negative integers; got \[0, Infinity\]/],
  ['a rank of 20,000', readNpy, npy('<f4', `(${'0,'.repeat(20_000)})`), /rank 20000 is more than 64/],
  ['an array that unpacks to more than it says', readNpz, zip([['a.npy', 8, deflateRawSync(ZEROS), 100]]), /a\.npy is damaged: too long/],
  ['an array that unpacks to less than it says', readNpz, zip([['a.npy', 8, deflateRawSync(ARRAY), 2 ** 32 - 2]]), /a\.npy is damaged/],
  ['1,000 arrays in one place', readNpz,
    zip([['a.npy', 0, ARRAY, ARRAY.length], ...Array.from({ length: 1000 }, (_, i) => [`${i}.npy`, 0, null, ARRAY.length])]), /damaged/],
  ...['null', '5', '"text"'].map((header) => [`a header that is ${header}`, readSafetensors, safetensors(header), /no JSON object/]),
  ...[null, 5, [], {}].map((entry) => [`a tensor that is ${JSON.stringify(entry)}`, readSafetensors, safetensors({ a: entry }),
    /a: dtype undefined has no XLA element type/]),
  ['a million brackets', readSafetensors, safetensors('['.repeat(1e6)), /no JSON/],
  ['booleans that are neither', readSafetensors, safetensors({ a: tensor('BOOL', [8], 0, 8) }), /pred\[8\] cannot hold 7/],
  ['1,000 tensors in one place', readSafetensors, safetensors(Object.fromEntries(Array.from({ length: 1000 }, (_, i) =>
    [i, tensor('F32', [25_000], 1, 100_001)])), Buffer.alloc(100_001)), /the tensors overlap/],
  ['zeros, compressed', null, gzipSync(ZEROS), /when unpacked, which is the limit/],
  ['a million braces', null, `HloModule m\nENTRY e { ROOT r = f32[] constant(${'{'.repeat(1e6)}`, /more braces/],
  ['a million tuples', null, `HloModule m\nENTRY e { ROOT r = ${'('.repeat(1e6)}`, /nested deeper than 100/],
  ['a million lists', null, `module attributes {a = ${'['.repeat(1e6)}`, /more than 200 levels/],
  ['too large a size', null, `func.func @main(%x: tensor<${'9'.repeat(30)}xf32>) { return }`, /too large/],
];

describe('made by hand', () => {
  for (const [what, read, file, message] of MADE) {
    test(what, { timeout: 60_000 }, async () => {
      const client = await Client.create({ threads: 0 });
      const before = process.memoryUsage().rss;
      const error = await outcome(what, () => (read ? read(file) : client.load(file)));
      assert.match(String(error?.message), message);
      const more = process.memoryUsage().rss - before;
      assert.ok(more < 300 << 20, `${more} bytes more`);
      client.dispose();
    });
  }
});
