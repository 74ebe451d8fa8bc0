/** GGUF: header, tensors of every type that is read, by ranges; against the values of PyPI's gguf package. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';

import { Client, loadWeights, openGguf, readNpz } from '../../bindings/index.mjs';

const FOLDER = new URL('../golden/gguf/', import.meta.url);
const PATH = new URL('types.gguf', FOLDER);
const BYTES = new Uint8Array(await readFile(PATH));
const VALUES = await readNpz(new URL('values.npz', FOLDER));
const BLOCKS = ['Q8_0', 'Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q4_K', 'Q5_K', 'Q6_K'];

const checkValues = (literal, name, elementType = 'f32') => {
  const wanted = VALUES[name];
  assert.equal(String(literal.shape), String(wanted.shape).replace('f32', elementType), name);
  assert.deepEqual(literal.convert('f32').data, wanted.convert('f32').data, name);
};

/** Serves the file, by ranges or not; `sent` counts the bytes of the tensors' data. */
async function serving(knowsRanges, body) {
  let sent = 0;
  const server = createServer((request, response) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
    const part = knowsRanges && from !== undefined ? BYTES.subarray(Number(from), Number(to) + 1) : BYTES;
    sent += part.length;
    const headers = part === BYTES ? {} : { 'content-range': `bytes ${from}-${to}/${BYTES.length}` };
    response.writeHead(part === BYTES ? 200 : 206, headers).end(part);
  });
  await new Promise((resolve) => { server.listen(0, resolve); });
  try {
    await body(`http://localhost:${server.address().port}/types.gguf`, () => sent);
  } finally {
    server.close();
  }
}

describe('GGUF', () => {
  test('metadata and the table of tensors', async () => {
    const file = await openGguf(BYTES);
    assert.equal(file.metadata['general.architecture'], 'llama');
    assert.equal(file.metadata['llama.block_count'], 2);
    assert.equal(file.metadata['general.big'], 2n ** 53n + 1n);
    assert.equal(file.metadata['tokenizer.ggml.add_bos_token'], true);
    assert.equal(file.metadata['tokenizer.ggml.tokens'][299], 'token 299 é');
    assert.deepEqual(file.tensors.cube, { name: 'cube', type: 'f32', shape: [2, 3, 5], byteSize: 120 });
    assert.deepEqual(file.tensors.Q4_K, { name: 'Q4_K', type: 'Q4_K', shape: [3, 512], byteSize: 3 * 2 * 144 });
  });

  test('every type, from bytes, a Blob, a path and loadWeights', async () => {
    for (const source of [BYTES, new Blob([BYTES]), PATH, PATH.pathname]) {
      const file = await openGguf(source);
      for (const name of BLOCKS) checkValues(await file.read(name), name);
      for (const [name, type] of [['f32', 'f32'], ['cube', 'f32'], ['f16', 'f16'], ['bf16', 'bf16'], ['i8', 's8']]) {
        checkValues(await file.read(name), name, type);
      }
      assert.equal(String((await file.read('Q4_0', { elementType: 'bf16' })).shape), 'bf16[3,512]');
      await file.close();
    }
    await assert.rejects(loadWeights(BYTES), /unread is of Q2_K, which is not read/);
  });

  test('blocks are what a program dequantises', async () => {
    const client = await Client.create({ threads: 0 });
    const file = await openGguf(BYTES);
    for (const name of BLOCKS) {
      const { quants, scales, mins, blockSize } = await file.readBlocks(name);
      const b = client.builder(name);
      const blocks = [3, 512 / blockSize, blockSize];
      const spread = (x) => b.broadcastInDim(b.convertElementType(x, 'f32'), blocks, [0, 1]);
      const [q, s, m] = [quants, scales, mins].map((literal, i) => literal && b.parameter(i, literal.shape));
      let value = b.mul(b.reshape(b.convertElementType(q, 'f32'), blocks), spread(s));
      if (m) value = b.add(value, spread(m));
      const executable = await client.compile(b.build(b.reshape(value, [3, 512])), { optimize: false });
      checkValues((await executable.execute([quants, scales, ...(mins ? [mins] : [])]))[0], name);
    }
    await assert.rejects(file.readBlocks('f16'), /f16 is of f16, which has no blocks: read\(\) reads it/);
    client.dispose();
  });

  test('a server that knows ranges sends only what is asked for', async () => {
    await serving(true, async (address, sent) => {
      const file = await openGguf(address);
      const before = sent();
      checkValues(await file.read('Q6_K'), 'Q6_K');
      assert.equal(sent() - before, file.tensors.Q6_K.byteSize);
    });
    await serving(false, async (address) => checkValues(await (await openGguf(address)).read('Q6_K'), 'Q6_K'));
  });

  test('damaged files are refused with the reason', async () => {
    const changed = (at, ...bytes) => {
      const copy = BYTES.slice();
      copy.set(bytes, at);
      return copy;
    };
    await assert.rejects(openGguf(changed(0, 0x50)), /openGguf: this is no GGUF file/);
    await assert.rejects(openGguf(changed(4, 0, 0, 0, 3)), /big-endian/);
    await assert.rejects(openGguf(changed(4, 1)), /version 1 is not read; 2 and 3 are/);
    await assert.rejects(openGguf(changed(14, 0xff)), /its header is damaged/);
    await assert.rejects(openGguf(BYTES.subarray(0, 200)), /ends within its header/);
    await assert.rejects(openGguf(BYTES.subarray(0, BYTES.length - 300)), /would end at byte \d+ of a file of \d+: is it whole/);
    await assert.rejects(openGguf('/nowhere.gguf'), { code: 'NOT_FOUND' });
    await assert.rejects((await openGguf(BYTES)).read('no'), /the file has no tensor no/);
    for (let at = 8; at < 3000; at += 7) { // no byte of a header makes it hang, or fail without an XlaError
      await openGguf(changed(at, 0xff)).catch(({ name, message }) => assert.equal(name, 'XlaError', message));
    }
  });
});
