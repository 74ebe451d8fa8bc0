/**
 * Programs of a client in a worker, from the page.
 *
 *     const programs = createPrograms();
 *     const program = await programs.open({ source: text, mesh: { replicas: 4 } });
 *     const { outputs, events, ms } = await programs.run(program.id, { inputs: [{ fill: 'iota' }] });
 *     programs.close(program.id);
 *     programs.dispose();
 *
 * Errors have the fields of XlaError: code, operation, line, column, waiting.
 */
import { connect } from './rpc.mjs';
import { startWorker } from './start_worker.mjs';

export function createPrograms() {
  let worker = null;
  const connection = () => {
    worker ??= connect(startWorker('program'));
    return worker;
  };
  return {
    /**
     * Reads and compiles. `source` is text or bytes, of several programs too: see loaded_program.mjs;
     * `kind` 'hlo', 'stablehlo' or 'any'; `mesh` as in client.compile(); `threads` as in Client.create()
     * (another number closes all programs).
     * @returns {Promise<{ id: number, parameters: { name: string, shape: object }[], replicas: number,
     *   parts: { name: string, text: string, first: number, count: number, result: object }[],
     *   partitions: number, threads: number, readMs: number, compileMs: number }>}
     *   `parts` are its programs, with their replicas; shapes are { text, type, dimensions, bytes }
     */
    open: (options) => connection().call('open', options),
    /** Returns a view of a program. 'text' (as HLO), 'optimised', 'thunks', 'passes', 'memory' come from HloModule,
     *  Executable and client.passes(); 'code' is { bytes, text } of the generated WebAssembly, or null. `part`
     *  selects one of several programs. */
    view: (id, what, part) => connection().call('view', id, what, part),
    /**
     * @param {number} id
     * @param {object} options
     * @param {any[]} [options.inputs] one a parameter: see run_program.mjs
     * @param {number} [options.seed] of rng operations
     * @param {number} [options.timeoutMs]
     * @returns {Promise<{ outputs: object[][], inputs: object[][], outfeeds: object[], events: object[], ms: number }>}
     *   `outputs`: for each device the leaves of the result, { text, type, dimensions, data };
     *   `inputs`: for each parameter the leaves of the argument of the first device that has it
     */
    run: (id, options) => connection().call('run', id, options),
    /** Which elements of arguments the results' depend on: see trace.mjs. */
    trace: (id, options) => connection().call('trace', id, options),
    /** Cancels the program's run. */
    stop: (id) => connection().call('stop', id),
    close: (id) => connection().call('close', id),
    memory: () => connection().call('memory'),
    /** Ends the worker and its runs. The next call starts another worker. */
    restart() {
      worker?.terminate();
      worker = null;
    },
    dispose() {
      worker?.terminate();
    },
  };
}
