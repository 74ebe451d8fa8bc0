/** The loop of the fuzzers of programs that are derived from random ones: gradients.mjs, batches.mjs. */
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { generate } from './generate.mjs';
import { buildModule } from './program.mjs';
import { Random } from './random.mjs';

/**
 * Makes random programs of one replica until the time is over (--seconds N, --seed N, --programs N, --verbose). Prints
 * how often each outcome came, and each fault. Exit code 1 if there was one.
 * @param {object} fuzzed
 * @param {string} fuzzed.operation whose UNIMPLEMENTED errors count as `refused`
 * @param {readonly string[]} fuzzed.outcomes what check() may return; anything else that it returns or throws is a fault
 * @param {RegExp} fuzzed.leftOut programs whose text matches it are left out: also for operations inside loops and calls
 * @param {(client: Client, module: any, args: any[], random: Random) => Promise<string>} fuzzed.check
 */
export async function fuzzDerived({ operation, outcomes, leftOut, check }) {
  const { values: options } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 1e9) },
      programs: { type: 'string', default: 'Infinity' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const deadline = Date.now() + 1000 * Number(options.seconds), first = Number(options.seed);
  const totals = Object.fromEntries(['programs', ...outcomes, 'refused', 'faults'].map((name) => [name, 0]));
  let client = await Client.create({ threads: 0 });

  async function one(seed) {
    const program = generate(client, seed, { refused: () => {} });
    const outputs = program.chooseOutputs();
    if (!outputs.length || program.replicas > 1) return undefined;
    const { module, literals } = buildModule(client, program.steps, outputs, new Map());
    if (leftOut.test(module.toString())) return module.dispose();
    totals.programs++;
    let outcome;
    try {
      outcome = await check(client, module, literals.map(([literal]) => literal), new Random(seed));
    } catch (error) {
      const isRefusal = error.code === 'UNIMPLEMENTED' && error.message.startsWith(`${operation}:`);
      outcome = isRefusal ? 'refused' : error.stack;
      if (isRefusal && options.verbose) console.log(error.message);
      if (/trapped|broken/.test(error.message)) client = await Client.create({ threads: 0 });
    }
    if (outcome === 'refused' || outcomes.includes(outcome)) {
      totals[outcome]++;
    } else {
      totals.faults++;
      console.log(`\nFAULT, seed ${seed}: ${outcome}`);
      if (options.verbose && !module.disposed) console.log(module.toString());
    }
    if (!client.disposed && !module.disposed) module.dispose();
    return undefined;
  }

  for (let i = 0; i < Number(options.programs) && Date.now() < deadline; i++) await one(first + i);
  console.log(`seed ${first}: ${Object.entries(totals).map(([name, count]) => `${count} ${name}`).join(', ')}`);
  client.dispose();
  process.exitCode = totals.faults ? 1 : 0;
}
