/** Checks for the reducer: a shell command's, and the comparison of a compiled program with the evaluator. */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';

import { randomLiteral, randomNumbers } from '../../bindings/cli/files.mjs';
import { writeNpz } from '../../bindings/formats/weights.mjs';
import { Client } from '../../bindings/index.mjs';
import { difference } from '../../bindings/objects/difference.mjs';
import { Reduction } from './reducer.mjs';

const PATIENCE_MS = 20_000;

const leavesOf = (results) => results.map((outputs) => outputs.flatMap((output) => output.leaves()).filter(Boolean));

/** Compares compiled programs with the evaluator. It makes a new client where a program ended the old one. */
export class Differential {
  #client;

  /**
   * @param {object} [options]
   * @param {() => Promise<Client>} [options.create]
   * @param {object} [options.compile] options of the compilation that may be wrong
   * @param {number} [options.replicas]
   * @param {number} [options.seed] of arguments that are not given
   */
  constructor({ create = () => Client.create({ threads: 0 }), compile = {}, replicas, seed = 0 } = {}) {
    Object.assign(this, { create, compile, replicas, seed });
  }

  async client() {
    if (!this.#client || this.#client.disposed) this.#client = await this.create();
    return this.#client;
  }

  dispose() {
    this.#client?.dispose();
  }

  /** @returns {Promise<string | undefined>} the fault: a difference, or the error of the compiled program alone */
  async fault(candidate) {
    let wanted;
    try {
      wanted = await this.run(candidate, { optimize: false });
    } catch {
      return undefined; // a program that does not run is none of its faults
    }
    try {
      const got = await this.run(candidate, this.compile);
      for (const [device, leaves] of leavesOf(got).entries()) {
        const problem = difference(leaves, leavesOf(wanted)[device]);
        if (problem) return `${got.length > 1 ? `device ${device}, ` : ''}${problem}`;
      }
      return undefined;
    } catch (error) {
      return `${error.code ?? error.name}: ${error.message}`;
    }
  }

  /** For the reducer: a value of each result and device. */
  async evaluate(candidate) {
    const results = leavesOf(await this.run(candidate, { optimize: false }));
    return results[0].map((_, i) => results.map((leaves) => leaves[i]));
  }

  async run({ text, args }, options) {
    const client = await this.client(), module = client.parseHlo(text);
    const limit = { timeoutMs: PATIENCE_MS };
    try {
      const replicas = this.replicas ? { replicas: this.replicas } : {};
      const executable = await client.compile(module, { ...replicas, ...options, ...limit });
      try {
        const devices = executable.replicas * executable.partitions, random = randomNumbers(this.seed);
        const missing = module.parameters.map(({ name, shape }) =>
          (args.has(name) ? null : randomLiteral(shape, random)));
        return await executable.executeReplicas(Array.from({ length: devices }, (_, device) =>
          module.parameters.map(({ name }, i) => missing[i] ?? args.get(name)[device] ?? args.get(name)[0])), limit);
      } finally {
        if (!client.disposed) executable.dispose();
      }
    } finally {
      if (!client.disposed) module.dispose();
    }
  }
}

/**
 * A check by a shell command, which gets the path of the module (in the place of `{}`, or last) and succeeds while the
 * fault is there. Arguments that are known lie beside it: MODULE.npz.
 */
export function commandCheck(command, path) {
  const line = command.includes('{}') ? command.replaceAll('{}', '"$1"') : `${command} "$1"`;
  return async ({ text, args }) => {
    await writeFile(path, text);
    const known = Object.fromEntries([...args].map(([name, [value]]) => [name, value]).filter(([, value]) => value?.shape));
    if (args.size) await writeFile(path.replace(/\.hlo$/, '.npz'), writeNpz(known));
    return new Promise((resolve, reject) => {
      const child = spawn('sh', ['-c', line, 'sh', path], { stdio: 'ignore' });
      child.on('error', reject);
      child.on('close', (code) => resolve(code === 0));
    });
  };
}

/**
 * For fuzzers: makes a program small that differs from the evaluator, with its arguments.
 * @param {Differential} differential
 * @param {{ hlo: string, literals: Literal[][] }} job literals: of each parameter, one for each device
 * @param {number} seconds
 * @returns {Promise<string | null>} a report; null if it does not differ from the evaluator
 */
export async function reduceJob(differential, { hlo, literals }, seconds) {
  const client = await Client.create({ threads: 0 });
  try {
    const { parameters } = client.parseHlo(hlo);
    const first = { text: hlo, args: new Map(parameters.map(({ name }, i) => [name, literals[i]])) };
    if (!await differential.fault(first)) return null;
    const reduction = new Reduction(client, first, {
      check: async (candidate) => Boolean(await differential.fault(candidate)),
      evaluate: (candidate) => differential.evaluate(candidate), seconds,
    });
    const { text, args } = await reduction.run();
    const known = [...args].map(([name, [value]]) => `${name} = ${String(value).replace(/\s+/g, ' ').slice(0, 600)}`);
    return [text.trimEnd(), ...known, await differential.fault(reduction.case)].join('\n');
  } finally {
    client.dispose();
  }
}
