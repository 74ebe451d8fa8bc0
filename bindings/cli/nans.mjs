/**
 * xla-wasm run --nans: finds the instruction that made the first NaN of a result, or the first infinity. It runs the
 * program with all values of a computation as results, and follows operands with NaN back from a result. So a NaN that a
 * select leaves out is not reported. Loops, branches and calls are searched, too.
 */
import { attributeOf, calledBy, HloLines } from '../objects/hlo_lines.mjs';
import { locationOf } from '../objects/locations.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';

/** Computations with these operations are not run separately: they depend on other devices, the host, or the run. */
const BOUND = /^(all-|collective-|reduce-scatter|ragged-all|(replica|partition)-id|infeed|outfeed|send|recv|rng|custom-call)/;
const ONE = { replicas: 1, partitions: 1 }; // computations of the entry run on one device
const MAX_DEPTH = 20, MAX_ITERATIONS = 1e6;
const MAX_SHOWN = 6;

const KINDS = {
  NaN: (x) => Number.isNaN(x),
  infinity: (x) => x === Infinity || x === -Infinity,
};

const parts = (value) => (Array.isArray(value) ? value : [value]);

/** The row-major number of the first element of a kind; -1 if there is none. */
function firstOf(leaf, isKind) {
  if (!leaf?.shape.isArray) return -1;
  const { kind, read } = ELEMENT_TYPES.get(leaf.shape.elementType), { data } = leaf;
  if (kind !== 'float' && kind !== 'complex') return -1;
  for (let i = 0; i < leaf.shape.elementCount; i++) if (parts(read(data, i)).some(isKind)) return i;
  return -1;
}

const leavesOf = (value) => value?.leaves().map((leaf) => leaf?.inLayout(null)) ?? [];
const has = (value, isKind) => leavesOf(value).some((leaf) => firstOf(leaf, isKind) >= 0);

/** "[0,2]" of element 2 of f32[2,3] */
function indexText({ dimensions }, number) {
  const index = [...dimensions].reverse().map((size) => {
    const own = number % size;
    number = Math.floor(number / size);
    return own;
  });
  return `[${index.reverse()}]`;
}

const numberText = (x) => String(typeof x === 'number' ? Number(x.toPrecision(7)) : x);

function elementText(leaf, i) {
  const value = ELEMENT_TYPES.get(leaf.shape.elementType).read(leaf.data, i);
  return Array.isArray(value) ? `(${value.map(numberText).join(', ')})` : numberText(value);
}

/** Describes an operand at the index of the result's NaN: that element, or the kinds of numbers in the array. */
function operandText(value, shape, at) {
  return leavesOf(value).map((leaf) => {
    if (!leaf?.shape.isArray) return 'a token';
    const { elementCount, dimensions, elementType } = leaf.shape;
    if (elementCount === 1) return elementText(leaf, 0);
    if (String(dimensions) === String(shape.dimensions)) return `${elementText(leaf, at)} there`;
    if (elementCount <= MAX_SHOWN) return Array.from({ length: elementCount }, (_, i) => elementText(leaf, i)).join(', ');
    const { read, kind } = ELEMENT_TYPES.get(elementType);
    if (kind === 'complex') return `${elementCount} numbers`;
    let [low, high, zeros] = [Infinity, -Infinity, 0];
    for (let i = 0; i < elementCount; i++) {
      const x = Number(read(leaf.data, i));
      [low, high, zeros] = [x < low ? x : low, x > high ? x : high, zeros + (x === 0)];
    }
    return `from ${numberText(low)} to ${numberText(high)}${zeros ? `, ${zeros} of ${elementCount} are 0` : ''}`;
  }).join('; ');
}

export class NanHunt {
  #client;
  #program;
  #counts;
  #options;

  /**
   * @param {import('../api/client.mjs').Client} client
   * @param {import('../objects/module.mjs').HloModule} module
   * @param {{ replicas: number, partitions: number }} counts of devices
   * @param {{ disable?: string[] }} options of its compilation
   */
  constructor(client, module, counts, options) {
    this.#client = client;
    this.#program = HloLines.parse(module.toString());
    this.#counts = counts;
    this.#options = options;
  }

  /**
   * Finds the origin of a kind of number.
   * @param {'NaN' | 'infinity'} kind
   * @param {any[][]} all the arguments of each device
   * @returns {Promise<{ name: string, lines: string[] } | undefined>} undefined: no result has one
   */
  async find(kind, all) {
    return this.#find(this.#program.entry, all, this.#counts, { kind, way: [], depth: 0 });
  }

  /** A program whose entry is a computation, with those that it calls. */
  #programOf(computation) {
    const needed = new Set([computation.name]);
    for (const each of [...this.#program.computations].reverse()) {
      if (needed.has(each.name)) each.instructions.flatMap(calledBy).forEach((name) => needed.add(name));
    }
    const program = this.#program.copy();
    if (!this.#program.computation(computation.name).isEntry) program.header = program.header.replace(/, (replica_count|num_partitions)=\d+/g, '');
    program.computations = program.computations.filter(({ name }) => needed.has(name));
    for (const each of program.computations) each.isEntry = each.name === computation.name;
    return program;
  }

  /** The values of all instructions of a computation on each device: maps by name. */
  async #values(computation, all, counts) {
    const program = this.#programOf(computation), names = program.returnValues();
    const results = await this.#run(program, all, counts);
    return results.map((outputs) => new Map(names.map((name, i) => [name, outputs[i]])));
  }

  async #run(program, all, counts) {
    const module = this.#client.parseHlo(String(program));
    let executable;
    try {
      executable = await this.#client.compile(module, { ...counts, ...this.#options });
      return await executable.executeReplicas(all);
    } finally {
      module.dispose();
      executable?.dispose();
    }
  }

  async #find(computation, all, counts, { kind, way, depth }) {
    const isKind = KINDS[kind];
    const devices = await this.#values(computation, all, counts);
    const device = devices.findIndex((values) => has(values.get(computation.root), isKind));
    if (device < 0) return undefined;
    const values = devices[device], lines = new Map(computation.instructions.map((line) => [line.name, line]));
    const origin = originOf(computation.root, computation.instructions, lines, values, isKind);
    const inner = depth < MAX_DEPTH && await this.#inside(lines.get(origin), values, { kind, way, depth: depth + 1 });
    if (inner) return inner;
    const where = devices.length > 1 ? [`on device ${device}`, ...way] : way;
    const report = describe(lines.get(origin), lines, values, kind, where);
    const infinite = kind === 'NaN' && lines.get(origin).operands.find((name) => has(values.get(name), KINDS.infinity));
    if (!infinite) return { name: origin, lines: report };
    const before = originOf(infinite, computation.instructions, lines, values, KINDS.infinity);
    return { name: origin, lines: [...report, ...describe(lines.get(before), lines, values, 'infinity', where)] };
  }

  /** The origin in a computation that an instruction calls; undefined where the instruction itself is the origin. */
  async #inside(line, values, { kind, way, depth }) {
    const called = calledBy(line).map((name) => this.#program.computation(name));
    const args = line.operands.map((name) => values.get(name));
    if (args.includes(undefined) || called.some((each) => !each || this.#isBound(each))) return undefined;
    const into = (computation, own, step) => this.#find(computation, [own.map(plain)], ONE, { kind, way: [...way, step], depth });
    switch (line.opcode) {
      case 'call': case 'fusion': return into(called[0], args, `in the ${line.opcode} ${line.name}`);
      case 'conditional': {
        const [index, ...operands] = args, isPredicate = index.shape.elementType === 'pred';
        const chosen = isPredicate ? Number(!index.toArray()) : index.toArray();
        const branch = chosen >= 0 && chosen < called.length ? chosen : called.length - 1;
        return into(called[branch], [operands[branch]], `in branch ${branch} of ${line.name}`);
      }
      case 'while': return this.#inLoop(line, args[0], { kind, into });
      default: return undefined;
    }
  }

  /** Runs a loop iteration by iteration, and looks into the first one that makes a number of the kind. */
  async #inLoop(line, state, { kind, into }) {
    const [condition, body] = ['condition', 'body'].map((name) => this.#program.computation(attributeOf(line, name).replace('%', '')));
    const [goesOn, step] = await Promise.all([condition, body].map(async (computation) => this.#compiled(computation)));
    try {
      for (let i = 0; i < MAX_ITERATIONS; i++) {
        const [[isNext]] = await goesOn.executeReplicas([[plain(state)]]);
        if (!isNext.toArray()) return undefined;
        const [next] = await step.executeReplicas([[plain(state)]]);
        const made = state.shape.isTuple ? next : next[0];
        const [before, after] = [leavesOf(state), state.shape.isTuple ? next.flatMap(leavesOf) : leavesOf(made)];
        if (after.some((leaf, k) => firstOf(leaf, KINDS[kind]) >= 0 && firstOf(before[k], KINDS[kind]) < 0)) {
          return await into(body, [state], `in iteration ${i} of the loop ${line.name}`);
        }
        state = state.shape.isTuple ? { shape: state.shape, elements: next, leaves: () => next.flatMap((each) => each.leaves()) } : made;
      }
      return undefined;
    } finally {
      goesOn.dispose();
      step.dispose();
    }
  }

  async #compiled(computation) {
    const module = this.#client.parseHlo(String(this.#programOf(computation)));
    try {
      return await this.#client.compile(module, { ...ONE, ...this.#options });
    } finally {
      module.dispose();
    }
  }

  /** Whether a computation, or one that it calls, cannot run by itself. */
  #isBound({ instructions }) {
    return instructions.some((line) => BOUND.test(line.opcode) ||
      calledBy(line).some((name) => this.#isBound(this.#program.computation(name))));
  }
}

/** A tuple as an argument: its elements. */
const plain = (value) => (value.shape.isTuple ? value.elements.map(plain) : value);

/** Goes back from an instruction, by operands with such numbers, to the first instruction that has none. */
function originOf(root, instructions, lines, values, isKind) {
  const ofConstants = new Set();
  for (const { name, opcode, operands } of instructions) {
    if (opcode === 'constant' || (operands.length && /^(broadcast|convert|reshape|transpose|copy|negate)$/.test(opcode) &&
      operands.every((operand) => ofConstants.has(operand)))) ofConstants.add(name);
  }
  const order = new Map(instructions.map(({ name }, i) => [name, i]));
  const pending = [root], seen = new Set(), origins = [];
  while (pending.length) {
    const name = pending.pop();
    if (seen.has(name)) continue;
    seen.add(name);
    const line = lines.get(name);
    // An element of a tuple has it from there, though other elements may have it, too.
    const from = line.operands.filter((operand) => !ofConstants.has(operand) && has(values.get(operand), isKind));
    const element = line.opcode === 'get-tuple-element' && lines.get(line.operands[0]);
    if (element && element.opcode === 'tuple') pending.push(element.operands[Number(attributeOf(line, 'index'))]);
    else if (from.length) pending.push(...from);
    else origins.push(name);
  }
  return origins.sort((a, b) => order.get(a) - order.get(b))[0];
}

function describe(line, lines, values, kind, way) {
  const result = leavesOf(values.get(line.name)), isKind = KINDS[kind];
  const leaf = result.find((each) => firstOf(each, isKind) >= 0), at = firstOf(leaf, isKind);
  const place = locationOf(line);
  const from = place ? ` (${[place.opName, place.source].filter(Boolean).join(', ')})` : '';
  const what = line.opcode === 'parameter' ? `argument ${line.inside}, ${line.name}` : `${line.name}, of ${line.opcode}`;
  const where = way.length ? `${way.join(', ')}: ` : '';
  const element = leaf.shape.rank ? `, element ${indexText(leaf.shape, at)}` : '';
  return [
    `The first ${kind} is in ${where}${what}, ${leaf.shape.withoutLayout()}${element}: ${elementText(leaf, at)}${from}`.replace(/ in (in|on) /, ' $1 '),
    ...[...new Set(line.operands)].map((name) => `  ${name}, of ${lines.get(name).opcode}, ${lines.get(name).shape.replace(/\{[\d,]*\}/g, '')}: ${
      values.has(name) ? operandText(values.get(name), leaf.shape, at) : 'no array'}`),
  ];
}
