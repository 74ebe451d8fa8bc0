/**
 * Makes a program with a fault smaller while the fault stays: the search. edits.mjs has the changes.
 *
 * A candidate is a changed copy of the program. It must be read by the parser, and the check must find the fault in
 * it. So an edit need not know an operation's rules: a wrong candidate is refused.
 */
import { HloLines, isComputedArray } from '../../bindings/objects/hlo_lines.mjs';
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { EDITS, literalText } from './edits.mjs';

const MAX_FITTED = 200; // shapes of one candidate
const INFERRED = /the stated shape is .*, but the inferred shape is (\(.*?\)|\S+\[[^\]]*\]\S*?);? /;

/**
 * @typedef {object} Case
 * @property {string} text HLO
 * @property {Map<string, Literal[]>} args by the parameter's name, one for each device; of parameters that have none
 *   the check chooses
 */
export class Reduction {
  #client;
  #check;
  #allowed;
  #tried = new Set();
  checks = 0;

  /**
   * @param {import('../../bindings/api/client.mjs').Client} client that reads programs
   * @param {Case} first
   * @param {object} options
   * @param {(candidate: Case) => Promise<boolean>} options.check whether the fault is there
   * @param {(candidate: Case, names: string[]) => Promise<Literal[][]>} [options.evaluate] values of instructions of
   *   the entry: for each of the names, one for each device
   * @param {number} [options.seconds]
   * @param {number} [options.maxChecks]
   */
  constructor(client, { text, args }, { check, evaluate, seconds = Infinity, maxChecks = Infinity }) {
    this.#client = client;
    this.#check = check;
    this.evaluate = evaluate;
    this.#allowed = { until: performance.now() + 1000 * seconds, maxChecks };
    this.args = args;
    this.program = HloLines.parse(this.#read(text));
  }

  /** The text as the core prints it. */
  #read(text) {
    const module = this.#client.parseHlo(text);
    try {
      return module.toString();
    } finally {
      module.dispose();
    }
  }

  get case() {
    return { text: String(this.program), args: this.args };
  }

  get ended() {
    return performance.now() >= this.#allowed.until || this.checks >= this.#allowed.maxChecks;
  }

  /**
   * Changes a copy. It becomes the program if the fault is in it.
   * @param {(program: HloLines, args: Map<string, Literal[]>) => boolean | void | undefined} change false: it could not
   * @returns {Promise<boolean>} whether it was kept
   */
  async attempt(change) {
    if (this.ended) return false;
    const program = this.program.copy(), args = new Map(this.args);
    if (change(program, args) === false) return false;
    const candidate = this.#valid(program.prune(), args);
    if (!candidate || this.#tried.has(candidate.text)) return false;
    this.#tried.add(candidate.text);
    this.checks++;
    if (!await this.#check(candidate)) return false;
    this.program = candidate.program;
    this.args = candidate.args;
    return true;
  }

  /** A candidate that the parser accepts; null if there is none. Shapes of results follow from their operands. */
  #valid(program, args) {
    for (let fitted = 0; fitted < MAX_FITTED; fitted++) {
      let module;
      try {
        module = this.#client.parseHlo(String(program));
        const text = module.toString();
        return { text, program: HloLines.parse(text), args: fitArguments(args, module.parameters) };
      } catch (error) {
        if (!fitShape(program, error)) return null;
      } finally {
        module?.dispose();
      }
    }
    return null;
  }

  /** The evaluator's values of the entry's instructions, by name, where it can tell them. */
  async values() {
    const program = this.program.copy(), names = program.returnValues(isComputedArray);
    if (!this.evaluate || !names.length) return new Map();
    try {
      const values = await this.evaluate({ text: String(program), args: this.args });
      return new Map(names.map((name, i) => [name, values[i]]));
    } catch {
      return new Map();
    }
  }

  /** Applies all edits until none makes it smaller. @returns {Promise<Case>} */
  async run() {
    for (let before = ''; before !== String(this.program) && !this.ended;) {
      before = String(this.program);
      for (const edit of EDITS) await edit(this);
    }
    return this.case;
  }
}

/** Sets the shape of the instruction that an error names to the inferred one. */
function fitShape(program, { message, line }) {
  const [, inferred] = INFERRED.exec(`${message} `) ?? [];
  if (!inferred || !line) return false;
  const [, name] = /^ {2}(?:ROOT )?(\S+) = /.exec(String(program).split('\n')[line - 1]) ?? [];
  for (const { instructions } of program.computations) {
    const found = instructions.find((each) => each.name === name);
    if (!found) continue;
    if (found.shape === inferred) return false;
    found.shape = inferred;
    if (found.opcode === 'constant') found.inside = literalText(found);
    return true;
  }
  return false;
}

/** The arguments of the parameters that there are, cut to their shapes. */
function fitArguments(args, parameters) {
  const fitted = new Map();
  for (const { name, shape } of parameters) {
    const values = args.get(name);
    if (values) fitted.set(name, values.map((value) => corner(value, shape)));
  }
  return fitted;
}

/** The elements of the smaller shape that have the lowest indices. */
export function corner(literal, shape) {
  if (!shape.isArray || !literal.shape.isArray || shape.accepts(literal.shape)) return literal;
  const { elementType, dimensions } = shape, from = literal.inLayout(null);
  const type = ELEMENT_TYPES.get(elementType), data = new type.Array(shape.elementCount * type.lanes);
  const strides = from.shape.dimensions.map((_, i, all) => all.slice(i + 1).reduce((a, b) => a * b, type.lanes));
  const visit = (rank, at, to) => {
    if (rank === dimensions.length) {
      for (let lane = 0; lane < type.lanes; lane++) data[to * type.lanes + lane] = from.data[at + lane];
      return to + 1;
    }
    let next = to;
    for (let i = 0; i < dimensions[rank]; i++) next = visit(rank + 1, at + i * strides[rank], next);
    return next;
  };
  const fits = from.shape.rank === dimensions.length && dimensions.every((size, i) => size <= from.shape.dimensions[i]);
  if (fits) visit(0, 0, 0);
  return new Literal(Shape.array(elementType, dimensions), data);
}
