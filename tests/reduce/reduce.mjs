/**
 * Makes a program that shows a fault small: `make reduce MODULE=... [CHECK=...] [ARGS=...]`.
 *
 *     node tests/reduce/reduce.mjs MODULE [--check COMMAND] [--input ...] [--output FILE] [--seconds N] [--seed N]
 *
 * MODULE is any program that `xla-wasm run` takes. COMMAND gets the path of a candidate (in the place of `{}`, or last)
 * and succeeds while the fault is there. Without one the fault is that the compiled program differs from the evaluator,
 * does not compile, or traps. Arguments are random, but for those of --input, as of `xla-wasm run`; COMMAND finds the
 * known ones in a .npz file beside the candidate. The result is written after each success.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { readArguments, readModule } from '../../bindings/cli/files.mjs';
import { writeNpz } from '../../bindings/formats/weights.mjs';
import { Client } from '../../bindings/index.mjs';
import { commandCheck, Differential } from './check.mjs';
import { Reduction } from './reducer.mjs';

const FOLDER = 'build/reduce';
const { values: options, positionals: [file] } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: 'string' }, input: { type: 'string', multiple: true, default: [] },
    output: { type: 'string', default: `${FOLDER}/reduced.hlo` }, seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: '0' }, disable: { type: 'string' },
  },
});

const client = await Client.create({ threads: 0 });
const differential = new Differential({
  seed: Number(options.seed), compile: options.disable ? { disable: options.disable.split(',') } : {},
});

/** The arguments of --input, by name. */
async function given(module) {
  if (!options.input.length) return new Map();
  const none = () => 0;
  const args = await readArguments(options.input, module.parameters, none);
  return new Map(module.parameters.map(({ name }, i) => [name, [args[i]]]));
}

async function write(reduction) {
  const { text, args } = reduction.case;
  await writeFile(options.output, text);
  const known = [...args].map(([name, [value]]) => [name, value]).filter(([, value]) => value?.shape);
  if (known.length) await writeFile(options.output.replace(/(\.hlo)?$/, '.npz'), writeNpz(Object.fromEntries(known)));
}

async function main() {
  if (!file) throw new Error('give a program: make reduce MODULE=program.hlo');
  await mkdir(FOLDER, { recursive: true });
  const module = await readModule(client, file);
  const first = { text: module.toString(), args: await given(module) };
  const plain = options.check ? commandCheck(options.check, `${FOLDER}/candidate.hlo`)
    : async (candidate) => Boolean(await differential.fault(candidate));
  if (!await plain(first)) throw new Error(`${file}: the check finds no fault in it`);
  const reduction = new Reduction(client, first, {
    check: plain, evaluate: (candidate) => differential.evaluate(candidate), seconds: Number(options.seconds),
  });
  const before = reduction.program.instructionCount;
  await reduction.run();
  await write(reduction);
  console.log(reduction.case.text.trimEnd());
  const after = reduction.program.instructionCount;
  console.log(`${before} instructions became ${after}, after ${reduction.checks} checks: ${options.output}`);
  if (!options.check) console.log(`fault: ${await differential.fault(reduction.case)}`);
}

try {
  await main();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
} finally {
  client.dispose();
  differential.dispose();
}
