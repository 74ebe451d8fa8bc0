/**
 * The native build, under sanitizers: programs go through its evaluator and its compiler in batches, as a
 * golden file. Those of several devices and those that call the host are only compiled.
 */
import { execFile } from 'node:child_process';
import { access, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { goldenCase } from './golden_file.mjs';

const PROGRAM = fileURLToPath(new URL('../../build/native/golden', import.meta.url));
const BATCH = 100;

export class Evaluator {
  #cases = [];
  #folder;

  constructor(folder) {
    this.#folder = folder;
  }

  /** Failures, once there are enough programs for a batch. */
  async add(job) {
    const [{ tolerance }] = job.outputs;
    const fits = (output) => !output.isDynamic && output.tolerance === tolerance;
    if (!job.outputs.every(fits)) return [];
    this.#cases.push(goldenCase({ ...job, name: `seed${job.seed}`, tolerance }));
    return this.#cases.length < BATCH ? [] : this.flush();
  }

  async flush() {
    const cases = this.#cases.splice(0);
    if (!cases.length || await access(PROGRAM).then(() => false, () => true)) return [];
    const file = new URL('evaluator.batch', this.#folder);
    await writeFile(file, cases.join(''));
    return new Promise((resolve) => {
      execFile(PROGRAM, [fileURLToPath(file)], { maxBuffer: 1 << 26 }, (error, out, messages) =>
        resolve(error ? [`${clip(out)}${clip(messages)}`] : []));
    });
  }
}

const clip = (text) => text.slice(0, 4000);
