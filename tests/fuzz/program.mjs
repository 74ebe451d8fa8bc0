/**
 * A program that grows by steps. A step remembers how it was built, so that the shrinker can build
 * any part of the program again.
 */
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { DECIDED, isInexact } from './domain.mjs';
import {
  flavourDomain, integersWithin, randomDimensions, randomFlavour, randomLiteral, randomType,
} from './values.mjs';

/**
 * @typedef {object} Step
 * @property {string} name the operation
 * @property {Step[]} operands
 * @property {import('../../bindings/values/shape.mjs').Shape} shape
 * @property {object} domain see domain.mjs; of tuples: a list
 * @property {(b: object, operands: object[]) => object} build
 * @property {(b: object, operands: object[]) => object} [ask] the same in operations that XLA:CPU
 *   has, if it does not have this one
 * @property {object[]} [literals] of a parameter: one per replica
 */

export class Program {
  /** @type {Step[]} */
  steps = [];
  /** @type {string[]} the rules that added them */
  rules = [];
  /** How the text is spelt that is run here; see spelling.mjs. */
  spelling = null;
  #ops = new Map(); // step -> XlaOp of the builder that checks each step as it is added

  constructor(client, random, replicas) {
    this.client = client;
    this.random = random;
    this.replicas = replicas;
    this.builder = client.builder('fuzz');
  }

  /** Adds a step. Its operands are steps of this program. */
  add(name, operands, domain, build, ask) {
    const op = build(this.builder, operands.map((step) => this.#ops.get(step)));
    return this.#push({ name, operands, shape: op.shape, domain, build, ask }, op);
  }

  /** `make(replica)` gives a replica's literal. */
  parameter(domain, make) {
    const literals = Array.from({ length: this.replicas }, (_, replica) => make(replica));
    return this.addParameter(literals, domain);
  }

  /** Adds copies of steps, which use each other's copies. @returns {Step[]} */
  copy(steps) {
    const copies = new Map();
    for (const step of steps) {
      const operands = step.operands.map((operand) => copies.get(operand) ?? operand);
      copies.set(step, this.add(step.name, operands, step.domain, step.build, step.ask));
    }
    return [...copies.values()];
  }

  addParameter(literals, domain) {
    const { shape } = literals[0];
    const number = this.steps.filter((step) => step.literals).length;
    const op = this.builder.parameter(number, shape);
    return this.#push({ name: 'parameter', operands: [], shape, domain, literals }, op);
  }

  #push(step, op) {
    this.steps.push(step);
    this.#ops.set(step, op);
    return step;
  }

  /**
   * Puts steps into one step, which builds copies of them inside a construct. The results become its elements.
   * @param {Step[]} members in order
   * @param {Step[]} operands of members, that are none themselves
   * @param {Step[]} results members that are used outside
   * @param {(b: object, operands: object[], results: Step[], body: (b: object, operands: object[]) => object[]) => object}
   *   construct adds the tuple of the results
   * @returns {boolean} whether the builder takes it
   */
  enclose(members, operands, results, construct) {
    const copies = new Map(members.map((step) => [step, { ...step }]));
    const inner = members.map((step) => copies.get(step));
    for (const copy of inner) copy.operands = copy.operands.map((operand) => copies.get(operand) ?? operand);
    const body = (isAsked) => (b, values) => {
      const ops = new Map(operands.map((step, i) => [step, values[i]]));
      for (const copy of inner) {
        const build = (isAsked && copy.ask) || copy.build;
        ops.set(copy, build(b, copy.operands.map((operand) => ops.get(operand))));
      }
      return results.map((step) => ops.get(copies.get(step)));
    };
    const outside = results.map((step) => ({ shape: step.shape }));
    const add = (isAsked) => (b, values) => construct(b, values, outside, body(isAsked));
    let op;
    try {
      op = add(false)(this.builder, operands.map((step) => this.#ops.get(step)));
    } catch {
      return false;
    }
    const step = {
      name: 'tuple', operands, shape: op.shape, domain: results.map(({ domain }) => domain), build: add(false),
      ...(members.some(({ ask }) => ask) && { ask: add(true) }),
    };
    this.#ops.set(step, op);
    results.forEach((result, k) => {
      delete result.ask;
      Object.assign(result, { name: 'get-tuple-element', operands: [step], build: (b, [tuple]) => b.getTupleElement(tuple, k) });
    });
    const at = Math.max(-1, ...operands.map((operand) => this.steps.indexOf(operand)),
      this.steps.indexOf(members[0]) - 1) + 1;
    const gone = new Set(members), kept = (list) => list.filter((each) => !gone.has(each));
    this.steps = [...kept(this.steps.slice(0, at)), step, ...results, ...kept(this.steps.slice(at))];
    return true;
  }

  /* ---- Operands ---- */

  /** A parameter of random elements. */
  fresh(type, dimensions, flavour = randomFlavour(this.random)) {
    return this.parameter(flavourDomain(type, flavour), () =>
      randomLiteral(this.random, type, dimensions, flavour));
  }

  /** A parameter of integers in these bounds: indices, counts. */
  indices(type, dimensions, low, high) {
    return this.parameter(DECIDED, () =>
      integersWithin(this.random, type, dimensions, low, high));
  }

  /** An array that there is, and that the filter takes; or a parameter of random shape. */
  any(accepts = () => true, makeType = () => randomType(this.random), rank = undefined) {
    const found = this.steps.filter(
      (step) => isStatic(step) && (rank === undefined || step.shape.rank === rank) &&
        accepts(step));
    const type = makeType(), isAimed = type === this.random.type;
    const own = found.filter(({ shape }) => shape.elementType === type);
    if ((isAimed ? own : found).length && this.random.chance(0.85)) return this.random.pick((isAimed ? own : found).slice(-6));
    const step = this.fresh(type, randomDimensions(this.random, rank));
    return accepts(step) ? step : null;
  }

  /** An array to compute with: its bits are decided and none is subnormal. Of these types. */
  decided(types) {
    return this.any(
      ({ shape, domain }) => !domain.tolerance && domain.lowest !== -Infinity &&
        (!types || types.includes(shape.elementType)),
      () => (types ? this.random.pick(types) : randomType(this.random)),
    );
  }

  /** Another array of the same shape, or of another type with the same dimensions. */
  like({ shape }, type = shape.elementType) {
    const same = this.steps.filter((step) =>
      isStatic(step) && step.shape.elementType === type && !step.domain.tolerance &&
      step.domain.lowest !== -Infinity &&
      String(step.shape.dimensions) === String(shape.dimensions));
    if (same.length && this.random.chance(0.6)) return this.random.pick(same);
    return this.fresh(type, shape.dimensions);
  }

  /* ---- Results ---- */

  /** Chooses the values that no step uses, and a few others. */
  chooseOutputs() {
    const used = new Set(this.steps.flatMap((step) => step.operands));
    const candidates = this.steps.filter((step) => step.shape.isArray && !step.literals);
    const outputs = candidates.filter((step) => !used.has(step) || this.random.chance(0.2));
    const chosen = outputs.length ? outputs : candidates.slice(-1);
    const whole = this.random.chance(0.4);
    const results = this.#withOdd(chosen, candidates).flatMap((step) => (isStatic(step) ? [step]
      : [whole ? this.withZeros(step) : step, ...this.sizesOf(step)]));
    this.random.end();
    return results;
  }

  /** Adds results that are parameters, constants, or results already, now and then. */
  #withOdd(chosen, candidates) {
    if (!candidates.length || !this.random.chance(0.15)) return chosen;
    const parameters = this.steps.filter((step) => step.literals && isStatic(step));
    const odd = [this.random.pick(chosen)];
    if (parameters.length) odd.push(this.random.pick(parameters));
    odd.push(this.add('constant', [], DECIDED, (b) => b.constantR0(7, 's32')));
    return this.random.shuffle([...chosen, ...this.random.some(odd, 0.5)]);
  }

  /** A dynamic array as one of its bound: zeros past the sizes. */
  withZeros(step) {
    const { elementType, dimensions, dynamicDimensions } = step.shape;
    return this.add('select', [step], moved(step), (b, [a]) =>
      dynamicDimensions.reduce((whole, dynamic, i) => {
        if (!dynamic) return whole;
        const places = b.iota(Shape.array('s32', dimensions), i);
        const size = b.broadcast(b.getDimensionSize(a, i), dimensions);
        const zeros = b.broadcast(b.constantLiteral(Literal.zeros(`${elementType}[]`)), dimensions);
        return b.select(b.lt(places, size), b.removeDynamicDimension(whole, i), zeros);
      }, a));
  }

  /** XLA gives a dynamic array without its sizes: they are results of their own. */
  sizesOf(step) {
    return step.shape.dynamicDimensions.flatMap((dynamic, i) => (!dynamic ? [] : this.add(
      'get-dimension-size', [step], DECIDED, (b, [a]) => b.getDimensionSize(a, i))));
  }
}

/** Whether a value is an array of static size, which most rules take. */
const isStatic = ({ shape }) => shape.isArray && !shape.isDynamic;

/** The steps that `outputs` depend on, in order; steps that are cut off depend on none. */
export function needed(steps, outputs, cuts = new Map()) {
  const wanted = new Set(outputs);
  for (const step of [...steps].reverse()) {
    if (!wanted.has(step) || cuts.has(step)) continue;
    step.operands.forEach((operand) => wanted.add(operand));
  }
  return steps.filter((step) => wanted.has(step));
}

/**
 * The steps that the outputs need as a module, and its operands.
 * @param {Map<Step, object[]>} cuts steps that are parameters instead, with these literals
 * @param {boolean} [asking] whether in the words that XLA:CPU knows
 */
export function buildModule(client, steps, outputs, cuts, asking = false) {
  const copies = new Map(steps.map((step) => {
    const literals = cuts.get(step);
    return [step, literals ? { ...step, name: 'parameter', operands: [], literals } : { ...step }];
  }));
  for (const copy of copies.values()) {
    copy.operands = copy.operands.map((operand) => copies.get(operand));
  }
  const roots = outputs.map((step) => copies.get(step));
  const kept = needed([...copies.values()], roots);
  const builder = client.builder('fuzz');
  const ops = new Map();
  const parameters = kept.filter((step) => step.literals);
  for (const step of kept) {
    const build = (asking && step.ask) || step.build;
    const op = step.literals
      ? builder.parameter(parameters.indexOf(step), step.shape)
      : build(builder, step.operands.map((operand) => ops.get(operand)));
    ops.set(step, op);
  }
  const root = roots.length === 1 ? ops.get(roots[0]) : builder.tuple(roots.map((r) => ops.get(r)));
  return {
    module: builder.build(root),
    literals: parameters.map((step) => step.literals),
    steps: kept,
    outputs: roots,
  };
}

/** The domain of values that are computed from these by moving them. */
export function moved({ shape, domain }) {
  return isInexact(shape.elementType) || domain.tolerance ? domain : DECIDED;
}
