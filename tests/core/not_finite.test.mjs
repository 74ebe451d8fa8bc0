/** Convolutions by Winograd's way of operands that are not finite: positions that are computed again by the definition. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees } from '../support/as_written.mjs';
import { ratioOfTimes } from '../support/ratio_of_times.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const convolution = (size, inputs, outputs) => `HloModule m\nENTRY e { x = f32[1,${size},${size},${inputs}] parameter(0)
  w = f32[3,3,${inputs},${outputs}] parameter(1)
  ROOT c = f32[1,${size},${size},${outputs}] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }`;

/** Compiles a convolution, for which Winograd's way must be chosen: it needs other memory. */
async function compiled(text) {
  const module = client.parseHlo(text);
  const [executable, other] = await Promise.all([{}, { disable: ['kernel-winograd'] }].map((how) => client.compile(module, how)));
  assert.notEqual(executable.thunks(), other.thunks());
  return { executable, shapes: module.parameters.map(({ shape }) => shape) };
}

/** Without the early end ten times as long on one machine, with it 0.9 times. */
const MAX_TIMES = 4;

test('a convolution of NaN takes no longer than one of numbers', async () => {
  const [size, inputs, outputs] = [16, 256, 64];
  const { executable, shapes } = await compiled(convolution(size, inputs, outputs));
  const weights = client.buffer(new Float32Array(9 * inputs * outputs).fill(0.5), shapes[1]);
  const all = (value) => [client.buffer(new Float32Array(size * size * inputs).fill(value), shapes[0]), weights];
  const ratio = await ratioOfTimes(executable, all(NaN), all(1), MAX_TIMES);
  assert.ok(ratio < MAX_TIMES, `${ratio.toFixed(1)} times`);
});

/*
 * An infinity times a weight of 0 is NaN, of the four features that are computed at once in some, or becomes NaN when an infinity of
 * the other sign is added: the sums may end when all four are NaN, not before.
 */
for (const every of [1, 7, 97]) {
  test(`features that become NaN one after the other: an infinity in ${every} elements`, async () => {
    const text = convolution(18, 64, 34);
    await compiled(text);
    const value = (i, k) => {
      const random = Math.imul(i + 1, 2654435761) >>> 16;
      if (k === 1) return [1, 2, -1, 1, 0, 1, 1, 2][random % 8];
      return random % every === 0 ? (random % 3 === 0 ? -Infinity : Infinity) : random % 5 - 2;
    };
    await agrees(client, text, value);
  });
}
