/**
 * The program of an editor: from its text to a compiled program to a run. The newest edit wins: what an earlier one
 * waits for is dropped, and its program is stopped and closed.
 *
 *     const live = new LiveProgram({ status, editMs: 30, fail, work: async (turn) => {
 *       const program = await turn.open({ source: text });
 *       show(await turn.step(live.programs.run(program.id)));
 *     } });
 *     live.edited(); live.refresh(); live.dispose();
 *
 * Each refresh is a turn. The data of the status element says which turn was asked for and which one is shown; tests wait
 * until the two agree.
 */
import { createPrograms } from './programs.mjs';

const STUCK_MS = 4000; /* after which a compilation gives way to the next edit */

const OVERTAKEN = new Error('A later turn has begun');

export class LiveProgram {
  programs = createPrograms();
  program = null; /* of the newest turn, once it is compiled */
  #turn = 0;
  #opening = 0; /* when the compilation that is going on began */
  #timer;

  /**
   * @param {object} options
   * @param {HTMLElement} options.status
   * @param {number} options.editMs of quiet, after which an edit is looked at
   * @param {(turn: { began: number, isNewest: () => boolean, step: <T>(promise: Promise<T>) => Promise<T>,
   *   open: (options: object) => Promise<object> }) => Promise<void>} options.work what a turn does. `step` and `open`,
   *   which compiles as programs.open() does, throw once a later turn has begun.
   * @param {(error: Error) => void} options.fail gets the errors of the newest turn
   */
  constructor({ status, editMs, work, fail }) {
    Object.assign(this, { status, editMs, work, fail });
  }

  /** Refreshes after a while without edits. */
  edited() {
    const began = performance.now();
    clearTimeout(this.#timer);
    this.#mark({ asked: this.#turn + 1 });
    this.#timer = setTimeout(() => this.refresh(began), this.editMs);
  }

  /** Begins a turn. @param {number} [began] when the edit was made */
  async refresh(began = performance.now()) {
    clearTimeout(this.#timer);
    const turn = ++this.#turn;
    this.#mark({ asked: turn });
    if (this.#opening && began - this.#opening > STUCK_MS) this.programs.restart();
    this.#close(this.program);
    this.program = null;
    const isNewest = () => turn === this.#turn;
    const step = async (promise) => {
      const value = await promise;
      if (!isNewest()) throw OVERTAKEN;
      return value;
    };
    try {
      await this.work({ began, isNewest, step, open: (options) => this.#open(options, isNewest) });
    } catch (error) {
      if (isNewest()) this.fail(error);
    }
    if (isNewest()) this.#mark({ turn });
  }

  /** Cancels the newest turn's run; before it runs, ends the worker that compiles it. */
  cancel() {
    if (this.program) this.programs.stop(this.program.id);
    else this.programs.restart();
  }

  dispose() {
    this.#turn = Infinity;
    clearTimeout(this.#timer);
    this.programs.dispose();
  }

  async #open(options, isNewest) {
    this.#opening = performance.now();
    const program = await this.programs.open(options).finally(() => { this.#opening = 0; });
    if (!isNewest()) {
      this.#close(program);
      throw OVERTAKEN;
    }
    this.program = program;
    return program;
  }

  #close(program) {
    if (!program) return;
    this.programs.stop(program.id).catch(() => {});
    this.programs.close(program.id).catch(() => {});
  }

  #mark(marks) {
    Object.assign(this.status.dataset, marks);
  }
}
