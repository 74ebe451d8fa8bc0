/** Compares a compiled program with the evaluator, and finds the step of the compilation that makes a difference. */
import { difference } from '../objects/difference.mjs';
import { HloLines, isComputedArray } from '../objects/hlo_lines.mjs';
import { stepsOf } from '../objects/listing.mjs';

const leavesOf = (results) => results.map((outputs) => outputs.flatMap((output) => output.leaves()).filter(Boolean));

/** A program with its arguments, which is compiled in several ways. */
export class Comparison {
  #client;
  #module;
  #all;
  #counts;
  #wanted;

  /**
   * @param {import('../api/client.mjs').Client} client
   * @param {import('../objects/module.mjs').HloModule} module
   * @param {any[][]} all the arguments of each device
   * @param {{ replicas?: number, partitions?: number }} counts of devices
   */
  constructor(client, module, all, counts) {
    this.#client = client;
    this.#module = module;
    this.#all = all;
    this.#counts = counts;
  }

  /** The results of a compilation with these options: leaves, by device. */
  async run(options) {
    const executable = await this.#client.compile(this.#module, { ...this.#counts, ...options });
    try {
      return leavesOf(await executable.executeReplicas(this.#all));
    } finally {
      if (!this.#client.disposed) executable.dispose();
    }
  }

  /**
   * Compares with the evaluator, which runs the program without rewrites, one operation at a time.
   * @param {readonly string[]} [disable]
   * @returns {Promise<string | undefined>} the difference; or why the compiled program does not run
   */
  async difference(disable) {
    this.#wanted ??= await this.run({ optimize: false });
    let got;
    try {
      got = await this.run({ disable });
    } catch (error) {
      if (this.#client.disposed) throw error;
      return error.message;
    }
    for (const [device, leaves] of got.entries()) {
      const problem = difference(leaves, this.#wanted[device]);
      if (problem) return got.length > 1 ? `device ${device}: ${problem}` : problem;
    }
    return undefined;
  }

  /**
   * Finds the step that makes a difference.
   * @returns {Promise<string[]>} sentences
   */
  async bisect() {
    const names = this.#client.optionalPasses;
    const isWrong = async (disable) => Boolean(await this.difference(disable));
    if (!await isWrong([])) return ['The results agree with the evaluator.'];
    if (await isWrong(names)) {
      return ['The difference stays when all optional steps are left out.', ...await this.#firstWrong(names)];
    }
    const single = [];
    for (const name of names) if (!await isWrong([name])) single.push(name);
    const report = single.length ? oneOf(single) : await this.#several(names, isWrong);
    return [...report, ...await this.#firstWrong([])];
  }

  /** A minimal set of steps whose removal makes the results agree, where no single step does. */
  async #several(names, isWrong) {
    let set = names;
    for (const name of names) {
      const smaller = set.filter((other) => other !== name);
      if (!await isWrong(smaller)) set = smaller;
    }
    return [`The difference goes when these are left out together: --disable ${set.join()}.`];
  }

  /** The first instruction of the entry whose value differs when all values are results. */
  async #firstWrong(disable) {
    const program = HloLines.parse(this.#module.toString());
    const names = program.returnValues(isComputedArray);
    if (!names.length) return [];
    const module = this.#client.parseHlo(String(program));
    try {
      const all = new Comparison(this.#client, module, this.#all, this.#counts);
      const [wanted, got] = [await all.run({ optimize: false }), await all.run({ disable })];
      const at = names.findIndex((_, i) =>
        wanted.some((leaves, device) => difference([got[device][i]], [leaves[i]])));
      if (at < 0) return ['No value differs when all values of the entry are results.'];
      const { name, opcode } = program.entry.instructions.find((line) => line.name === names[at]);
      return [`The first value that differs, when all are results, is ${name}, of ${opcode}.`, ...await this.#stepsOf(name, disable)];
    } catch (error) {
      if (this.#client.disposed) throw error;
      return [`With all values as results it does not run: ${error.message}`];
    } finally {
      if (!this.#client.disposed) module.dispose();
    }
  }

  /** The steps of the program that name an instruction. */
  async #stepsOf(name, disable) {
    const executable = await this.#client.compile(this.#module, { ...this.#counts, disable });
    const lines = stepsOf(executable.thunks()).filter((step) => step.name === name).map(({ line }) => line);
    executable.dispose();
    return lines.length ? [`Its steps: ${lines.join('; ')}.`] : [];
  }
}

/** Chooses among several steps: most often the last one is at fault, and those before make its input. */
function oneOf(names) {
  const last = names.at(-1), before = names.slice(0, -1);
  return [`The difference goes without ${last}: --disable ${last}.`,
    ...(before.length ? [`It also goes without ${before.join(', ')}, which run earlier.`] : [])];
}
