/** Buffers that are left to the garbage collector: a loop of runs without another task frees them, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

for (const threads of [0, 2]) {
  test(`4 GB of results that stay on the device, and are dropped, threads: ${threads}`, async () => {
    const client = await Client.create({ threads });
    const b = client.builder();
    const executable = await client.compile(b.build(b.parameter(0, 'f32[512,512]').neg()));
    const start = client.buffer(new Float32Array(512 * 512), 'f32[512,512]');
    let most = 0;
    for (let i = 0; i < 4200; i++) {
      await executable.execute([start], { device: true });
      most = Math.max(most, client.memoryInUse);
    }
    assert.ok(most < 2 ** 31, `${most} bytes in use`);
    client.dispose();
  });

  test(`4 GB of arguments that are dropped, threads: ${threads}`, async () => {
    const client = await Client.create({ threads });
    const b = client.builder();
    const executable = await client.compile(b.build(b.parameter(0, 'f32[512,512]').slice([0, 0], [1, 1], [1, 1])));
    const data = new Float32Array(512 * 512);
    for (let i = 0; i < 4200; i++) await executable.execute([client.buffer(data, 'f32[512,512]')]);
    assert.ok(client.memoryInUse < 2 ** 31);
    client.dispose();
  });
}
