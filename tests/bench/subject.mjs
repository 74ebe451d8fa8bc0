/**
 * One engine in its own process or page. bench.mjs calls it to prepare a workload, to return its results, and to measure
 * its time.
 */
import { clocks } from './clocks.mjs';
import { digestOf } from './digest.mjs';
import { MODEL_NAMES } from './models.mjs';
import { ELEMENTARY, operandsOf, WORKLOADS } from './workloads.mjs';

const WARM_ROUND = 40; // ms
const WARM_LEAST = 250;
const WARM_MOST = 1000;

const ENGINES = {
  'xla': () => import('./engine_xla.mjs'),
  'xla-host': () => import('./engine_xla.mjs'),
  'ort': () => import('./engine_ort.mjs'),
  'tfjs': () => import('./engine_tfjs.mjs'),
  'jax': () => import('./engine_jax.mjs'),
  'plain': () => import('./engine_plain.mjs'),
};

export class Subject {
  #engine;
  #prepared;

  /**
   * @param {object} options of the engine: threads; load(), which imports a package; read(), which reads
   *   a file of the checkout; files(), which returns the address of a package's files in a page
   * @returns {Promise<{ workloads: string[], loadMs: number }>} loadMs: from the import to the
   *   first result of the smallest workload, as some engines load their files only then
   */
  async start(name, options) {
    const { start } = await ENGINES[name]();
    const begin = performance.now();
    this.#engine = await start({ ...options, host: name === 'xla-host' });
    const prepared = await this.#engine.prepare('small', operandsOf('small'));
    prepared.free(await prepared.run());
    const loadMs = performance.now() - begin;
    await prepared.end();
    const all = [...Object.keys(WORKLOADS), ...ELEMENTARY, ...MODEL_NAMES];
    return { workloads: all.filter((id) => this.#engine.has(id)), loadMs };
  }

  /** Compiles, and repeats runs until they become no faster. */
  async prepare(id, operands = operandsOf(id)) {
    const begin = performance.now();
    this.#prepared = await this.#engine.prepare(id, operands);
    const results = await this.#prepared.run();
    const firstMs = performance.now() - begin;
    const arrays = await this.#prepared.read(results);
    const digests = arrays.filter((a) => a instanceof Float32Array).map(digestOf);
    this.#prepared.free(results);
    await this.#warmUp();
    return { firstMs, digests };
  }

  /** As prepare(), for a program in HLO, by the engine that runs HLO; paths are the checkout's. */
  async prepareProgram(hlo, operands) {
    this.#prepared = await this.#engine.prepareProgram(hlo, operands);
    this.#prepared.free(await this.#prepared.run());
    await this.#warmUp();
  }

  async #warmUp() {
    const begin = performance.now();
    let best = Infinity;
    for (;;) {
      const time = await this.round(WARM_ROUND);
      const spent = performance.now() - begin;
      if (spent > WARM_MOST || (spent > WARM_LEAST && time > 0.97 * best)) return;
      best = Math.min(best, time);
    }
  }

  /** Runs for `milliseconds`, at least once. Returns milliseconds per call. */
  async round(milliseconds, clock = 'wall') {
    const { run, free } = this.#prepared;
    const now = clocks[clock];
    const begin = now();
    let calls = 0;
    let spent;
    do {
      const results = run();
      free(results instanceof Promise ? await results : results);
      calls++;
      spent = now() - begin;
    } while (spent < milliseconds);
    return spent / calls;
  }

  async end() {
    await this.#prepared?.end();
    this.#prepared = undefined;
  }
}
