#!/usr/bin/env node
/**
 * Asks real XLA for the results of the API reference's examples (demo/reference/examples.mjs), and writes them into
 * tests/guides/examples.json: PYTHON=build/venv/bin/python node tests/guides/examples.mjs [METHOD]...
 */
import { readFile, writeFile } from 'node:fs/promises';

import * as xla from '../../bindings/index.mjs';
import { EXAMPLES, programOf } from '../../demo/reference/examples.mjs';

export const FILE = new URL('examples.json', import.meta.url);
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

/**
 * Runs an example's text.
 * @returns {Promise<{ module: object, args: any[][], results: object[][], printed: any[][] }>} `args` and `results` of each replica
 */
export async function runExample(example, real) {
  const seen = { printed: [] };
  const client = new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (name !== 'compile') return typeof value === 'function' ? value.bind(target) : value;
      return async (module, options) => {
        const executable = await target.compile(module, options);
        const note = (args, results) => { Object.assign(seen, { module, args, results }); };
        return {
          async execute(args) {
            const results = await executable.execute(args);
            note([args], [results]);
            return results;
          },
          async executeReplicas(args) {
            const results = await executable.executeReplicas(args);
            note(args, results);
            return results;
          },
        };
      };
    },
  });
  const body = programOf(example).replace(/^import .*$/m, '');
  await new AsyncFunction('Client', 'Literal', 'console', body)(
    { create: async () => client }, xla.Literal, { log: (...values) => seen.printed.push(values) });
  return seen;
}

/** A literal as JSON holds it. */
export const plain = (literal) => ({ shape: String(literal.shape.withoutLayout()), data: Array.from(literal.data, String) });

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { runOnPjrt } = await import('../../bindings/cli/pjrt.mjs');
  const client = await xla.Client.create({ threads: 0 });
  const wanted = process.argv.slice(2);
  const said = wanted.length ? JSON.parse(await readFile(FILE, 'utf8')) : {};
  for (const example of EXAMPLES.filter(({ method }) => !wanted.length || wanted.includes(method))) {
    const { module, args } = await runExample(example, client);
    try {
      const results = await runOnPjrt(client, module, args, { replicas: args.length, partitions: 1 });
      said[example.method] = args.map((_, replica) => results.get(replica).map(plain));
    } catch (error) {
      process.stderr.write(`${example.method}: ${error.message}\n`);
    }
  }
  const rows = Object.keys(said).sort().map((method) => `${JSON.stringify(method)}: ${JSON.stringify(said[method])}`);
  await writeFile(FILE, `{\n${rows.join(',\n')}\n}\n`);
  client.dispose();
}
