/** Derivative rules that callers register: client.registerGradient(). The core's part is derive/gradient/caller_rules.h. */
import { unquoted } from '../base/attribute_text.mjs';
import { callersFunction } from '../base/boundary.mjs';
import { describe, invalidArgument, XlaError } from '../base/error.mjs';
import { boolean, checkOptions, copyList, kind } from '../base/options.mjs';
import { xla_has_known_derivative, xla_module_backend_config, xla_wanted_rule } from '../base/calls.mjs';
import { pointerOf } from '../objects/handle.mjs';
import { HloModule } from '../objects/module.mjs';
import { isFloat } from '../values/shape.mjs';

const OPERATION = 'registerGradient';
const rule = kind('a function that adds the derivative to a builder', (value) =>
  typeof value === 'function' ? value : undefined);

const zero = (_b, operands) => operands.map(() => null);

const rulesOfCores = new WeakMap();

/** Returns the rules of a core. @param {import('../host/core.mjs').Core} core @returns {GradientRules} */
export const rulesOf = (core) => rulesOfCores.get(core);

/** Gives a new core its rules: those that the package has, until the caller registers others. See GradientRules. */
export function addRules(core, newBuilder, isOp) {
  rulesOfCores.set(core, new GradientRules(core, newBuilder, isOp));
}

class GradientRules {
  #core;
  #newBuilder;
  #isOp;
  /** name -> { vjp, jvp }. `jax.jit(lax.stop_gradient)` exports calls of that name, and lax.stop_gradient nothing. */
  #rules = new Map([['stop_gradient', { vjp: zero, jvp: zero }]]);
  #known = new Map(); // name -> whether the core has a rule

  /**
   * @param {import('../host/core.mjs').Core} core
   * @param {(name: string) => any} newBuilder
   * @param {(value: any) => boolean} isOp whether a value is an XlaOp
   */
  constructor(core, newBuilder, isOp) {
    this.#core = core;
    this.#newBuilder = newBuilder;
    this.#isOp = isOp;
  }

  register(target, rules) {
    if (typeof target !== 'string' || !target || target.includes('\n')) {
      throw invalidArgument(OPERATION, `target must be a name; got ${describe(target)}`);
    }
    const checked = checkOptions(OPERATION, rules ?? {}, { vjp: rule, jvp: rule, recompute: boolean });
    if (checked.recompute ? checked.vjp || checked.jvp : !checked.vjp && !checked.jvp) {
      throw invalidArgument(OPERATION, `"${target}" needs a vjp (for gradients), a jvp (for forward mode), or both; or recompute, alone; got ${describe(rules)}`);
    }
    this.#rules.set(target, checked);
  }

  /** Whether a computation has a rule by its name, with or without the number that makes names unique. The core has some. */
  has(name) {
    return this.#rules.has(name) || (/.[._]\d+$/.test(name) && this.has(name.replace(/[._]\d+$/, ''))) || this.#isKnown(name);
  }

  #isKnown(name) {
    const core = this.#core;
    if (!this.#known.has(name)) this.#known.set(name, core.scoped((copy) => Boolean(core.call(xla_has_known_derivative, copy(name)))));
    return this.#known.get(name);
  }

  /**
   * Calls a function of the core that differentiates. If the core needs the rule of a call, adds it and repeats.
   * @param {boolean} isForward
   * @param {(copy: Function, ...rules: any[]) => number} call gets the arguments for the core's rules; returns 0 if it failed
   * @returns {number} what it returned
   */
  apply(isForward, call) {
    const core = this.#core, modules = [];
    try {
      for (;;) {
        const listed = [...this.#rules].map(([name, { recompute }]) => (recompute ? `~${name}` : name));
        const names = listed.length ? ['', ...listed, ''].join('\n') : null;
        const pointers = Uint32Array.from(modules, pointerOf);
        const result = core.scoped((copy) => call(copy, copy(names), copy(pointers), pointers.length / 2));
        if (result) return result;
        const error = core.lastError(), wanted = core.call(xla_wanted_rule);
        if (!wanted) throw error;
        modules.push(new HloModule(core, wanted));
        modules.push(this.#programOf(modules.at(-1), isForward));
      }
    } finally {
      modules.forEach((module) => module.dispose());
    }
  }

  /** Returns the rule for one call as a program: the vjp or the jvp. */
  #programOf(call, isForward) {
    const target = call.name;
    const { vjp, jvp } = this.#rules.get(target);
    if (isForward && !jvp) {
      throw new XlaError('UNIMPLEMENTED', `"${target}" has a rule for gradients only, and forward mode needs its jvp: ` +
        `client.registerGradient("${target}", { vjp, jvp })`, { operation: 'gradient' });
    }
    const kindOf = isForward || !vjp ? 'jvp' : 'vjp';
    const operands = call.parameters.flatMap(({ shape }) => shape.leaves());
    const results = call.resultShape.leaves();
    const [seeded, wanted] = kindOf === 'vjp' ? [results, operands] : [operands, results];
    const b = this.#newBuilder(kindOf);
    try {
      let next = 0;
      const parameters = (shapes) => shapes.map((shape) => b.parameter(next++, shape.withoutLayout()));
      const own = [parameters(operands), parameters(results)];
      const seeds = seeded.map((shape) => (isFloat(shape) ? parameters([shape])[0] : null));
      const config = this.#core.string(this.#core.call(xla_module_backend_config, pointerOf(call)));
      const backendConfig = config.startsWith('"') ? unquoted(config) : config;
      const fn = kindOf === 'vjp' ? vjp : jvp;
      const returned = callersFunction(() => fn(b, ...own, seeds, { target, backendConfig }));
      return b.build(b.tuple(checkReturned(b, returned, wanted, `the ${kindOf} of "${target}"`, this.#isOp)));
    } catch (error) {
      b.dispose();
      throw error;
    }
  }
}

/** The derivatives that a rule returned, one for each floating-point value; null, if allowed, is zero. */
function checkReturned(b, returned, shapes, what, isOp) {
  const list = Array.isArray(returned) ? copyList(returned) : [returned];
  const fail = (text) => invalidArgument(OPERATION, `${what} ${text}`);
  const all = shapes.map((shape) => (isFloat(shape) ? String(shape.withoutLayout()) : 'null')).join(', ');
  if (list.length !== shapes.length) {
    throw fail(`must return ${shapes.length === 1 ? 'one derivative' : `a list of ${shapes.length} derivatives`} (${all}); got ${describe(returned)}`);
  }
  return list.flatMap((value, i) => {
    const shape = shapes[i].withoutLayout(), isNone = value === null || value === undefined;
    if (!isFloat(shape)) {
      if (isNone) return [];
      throw fail(`must return null for value ${i} of shape ${shape}, which has no derivative; got ${describe(value)}`);
    }
    if (isNone) return [b.broadcast(b.constantR0(shape.elementType.startsWith('c') ? [0, 0] : 0, shape.elementType), shape.dimensions)];
    if (!isOp(value) || value.builder !== b) throw fail(`must return XlaOps of its builder (${all}); value ${i} is ${describe(value)}`);
    if (!value.shape.withoutLayout().equals(shape)) throw fail(`must return the shapes (${all}); value ${i} is ${value.shape}`);
    return [value];
  });
}
