/** Helpers of the tests of rewrites: a client, a program's text after a pass, and values. */
import { after, before } from 'node:test';

import { Client } from '../../bindings/index.mjs';

/** Of the tests of the file that imports this. */
export let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The module's text after the last round of a pass; null if it changed nothing. */
export function afterPass(text, pass) {
  const module = client.parseHlo(text);
  try {
    return client.passes(module).findLast((step) => step.pass === pass)?.text ?? null;
  } finally {
    module.dispose();
  }
}

/** The operations of the computation `name`, in order: [opcode, shape]. */
export const operationsOf = (text, name = 'ENTRY') => {
  const [, body] = text.match(new RegExp(`^${name}[^\\n]*\\{\\n((?:  .*\\n)*)\\}`, 'm'));
  return [...body.matchAll(/= (\(.*?\)|\S+) ([a-z-]+)\(/g)].map(([, shape, opcode]) => [opcode, shape]);
};

/** Flat values as nested arrays. */
export function reshaped(values, [size, ...inner]) {
  if (!inner.length) return values;
  const step = values.length / size;
  return Array.from({ length: size }, (_, i) => reshaped(values.slice(i * step, (i + 1) * step), inner));
}

/** The nearest bf16. */
export function bf16(x) {
  const bits = new Uint32Array(Float32Array.of(x).buffer);
  bits[0] = (bits[0] + 0x7fff + ((bits[0] >> 16) & 1)) & 0xffff0000;
  return new Float32Array(bits.buffer)[0];
}

export const isClose = (x, y) => Math.abs(x - y) <= 1e-5 * (1 + Math.abs(y));

export const wave = (count, phase) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.7 + phase));

export const ADD = 'add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n';
