/** The builder of computations, with a method for each operation. */
import { attributeText, cleanName, metadataText } from '../base/attribute_text.mjs';
import { atBoundary, guarded, notConstructed, PRIVATE } from '../base/boundary.mjs';
import { describe, invalidArgument, placeOfCall, XlaError } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';
import { boolean, checkOptions, copyList, MAX_ENTRIES } from '../base/options.mjs';
import {
  xla_builder_build, xla_builder_free, xla_builder_gradient, xla_builder_header, xla_builder_import, xla_builder_new,
  xla_instruction_name, xla_instruction_shape,
} from '../base/calls.mjs';
import { batch, elementShapes, vmapOptions } from '../derive/batches.mjs';
import { rulesOf } from '../derive/gradient_rules.mjs';
import { checkpoint, CHECKPOINTS, differentiate, maxTrips } from '../derive/gradients.mjs';
import { HESSIAN_OPTIONS, JACOBIAN_OPTIONS, jacobianOf } from '../derive/jacobians.mjs';
import { coreOf, Handle, pointerOf } from '../objects/handle.mjs';
import { HloModule, takeShape } from '../objects/module.mjs';
import { isLiteral, Literal, rowMajorData } from '../values/literal.mjs';
import { isFloat, Shape } from '../values/shape.mjs';
import { bindArguments, settleArguments } from './arguments.mjs';
import { Batch, CHECKED, CONSTANT, GIVEN, INFERRED, OWNED_CONSTANT, PARAMETER, wordsOf } from './batch.mjs';
import { callBody, outsideOfSealed, resultsOf } from './computations.mjs';
import { elementsOf, isOp, XlaOp } from './op.mjs';
import { ELEMENTWISE, isMethodOfOps, OPERATIONS } from './operations.mjs';
import { nameMissing } from './other_names.mjs';

const BUILDER_OPTIONS = { locations: boolean };
const OP_GRADIENT_OPTIONS = { maxTrips, checkpoint };

/** Constants of at least this many bytes are handed over to the core; shorter ones are copied several times. */
const LARGE = 4096;

/**
 * For the rest of the package: emit(builder, opcode, operands, attributes, shape) adds any operation
 * by its HLO text name with attributes as in HLO text, and header(builder, text) states attributes of
 * the module, such as "replica_count=2".
 * @type {(builder: XlaBuilder, opcode: string, operands: XlaOp[], attributes?: any, shape?: any)
 *   => XlaOp}
 */
let emit;
/** @type {(builder: XlaBuilder, text: string) => void} */
let header;
/** Lets a builder collect instructions of known shapes: see batch.mjs. Errors come later, too. @type {(builder: XlaBuilder) => void} */
let collect;
/** A constant of row-major elements, as any view. @type {(builder: XlaBuilder, shape: any, view: any) => XlaOp} */
let constantOfBytes;

/**
 * Builds a computation: XLA's XlaBuilder. Every operation is a method, and so are parameters and
 * constants. Each returns an XlaOp, the operand of further operations. A call with a mistake throws an XlaError and
 * leaves the builder unchanged.
 */
export class XlaBuilder extends Handle {
  #built = false;
  #last; // what the last call of an operation returned
  #parameters = 0;
  #imported = new WeakMap(); // HloModule -> its computation's name in here
  #scalars = new Map(); // handle -> Literal of scalar constants, which functions inside can repeat
  #batch = new Batch();
  #collects = false; // whether instructions whose shapes are known wait until others need them
  #around = null; // of a function that is traced: { builder, captures, sealed, operation }

  #locations; // whether instructions get the places of the calls that made them

  get #depth() {
    return this.#around ? this.#around.builder.#depth + 1 : 0;
  }

  /** Not for callers: see client.builder(). */
  constructor(core, name, options) {
    if (typeof core?.need !== 'function') throw notConstructed('XlaBuilder', 'client.builder()');
    const { locations = false } = checkOptions('builder', options, BUILDER_OPTIONS);
    const cleaned = cleanName(checkName('builder', name));
    const pointer = core.scoped((copy) => core.need(xla_builder_new, copy(cleaned)));
    super(core, pointer, xla_builder_free);
    this.name = cleaned;
    this.#locations = locations;
  }

  [INSPECT]() {
    return `XlaBuilder { ${this.name} }`;
  }

  /** Returns a builder for a computation that this one calls. */
  createSubBuilder(name) {
    return new XlaBuilder(coreOf(this), name, { locations: this.#locations });
  }

  /**
   * @param {number} number 0, 1, ... without gaps
   * @param {Shape | string} shape
   * @param {string} [name] p and the number, if none is given
   */
  parameter(number, shape, name) {
    if (!Number.isInteger(number) || number < 0 || number > 0x7fffffff) {
      throw invalidArgument('parameter', `number must be an integer from 0 to 2147483647; got ${describe(number)}`);
    }
    const known = Shape.of(shape);
    const cleaned = cleanName(checkName('parameter', name ?? `p${number}`));
    const op = this.#add(PARAMETER, '', known, cleaned, [number], known);
    this.#parameters = Math.max(this.#parameters, number + 1);
    return op;
  }

  /**
   * A constant of any value that Literal.from() takes.
   * @param {any} value
   * @param {Shape | string} [shape] by default that of the value: see Literal.from()
   */
  constant(value, shape) {
    return this.constantLiteral(Literal.from(value, shape));
  }

  /** @param {Literal} literal */
  constantLiteral(literal) {
    if (!isLiteral(literal)) {
      throw invalidArgument('constant', `literal must be a Literal; got ${describe(literal)}`);
    }
    if (literal.elements) {
      return this.tuple(literal.elements.map((element) => this.constantLiteral(element)));
    }
    if (!literal.data) return this.createToken();
    const shape = literal.shape.withLayout(null);
    const data = rowMajorData(literal, shape);
    const op = data.byteLength < LARGE ? this.#add(CONSTANT, '', shape, '', wordsOf(data), shape) : this.#constantOf(shape, data);
    if (shape.isScalar) this.#scalars.set(op.handle, new Literal(shape, data.slice()));
    return op;
  }

  /** Elements, row-major, which are copied once. */
  #constantOf(shape, view) {
    this.#batch.flush(coreOf(this), this.#pointer());
    return coreOf(this).giving([view], (pointers) => this.#add(OWNED_CONSTANT, '', shape, '', pointers));
  }

  constantR0(value, elementType) {
    return this.#constantOfRank(0, value, elementType);
  }
  /** constantR1(values) or constantR1(length, value) */
  constantR1(...values) {
    if (typeof values[0] !== 'number') return this.#constantOfRank(1, ...values);
    const [length, value, elementType] = values;
    return this.broadcast(this.constantR0(value, elementType), [length]);
  }
  constantR2(values, elementType) {
    return this.#constantOfRank(2, values, elementType);
  }
  constantR3(values, elementType) {
    return this.#constantOfRank(3, values, elementType);
  }
  constantR4(values, elementType) {
    return this.#constantOfRank(4, values, elementType);
  }

  #constantOfRank(rank, value, elementType) {
    const dimensions = [];
    for (let inner = value; Array.isArray(inner) || ArrayBuffer.isView(inner); inner = inner[0]) {
      if (dimensions.push(inner.length) > rank) break; // it may be endless: a part of itself
    }
    if (dimensions.length !== rank) {
      const wants = rank ? `arrays, nested ${rank} deep` : 'a number, a bigint or a boolean';
      throw invalidArgument('constant', `${rank ? 'values' : 'value'} must be of rank ${rank}, ${wants}; got ${describe(value)}`);
    }
    return this.constant(value, elementType && Shape.array(elementType, dimensions));
  }

  /**
   * The gradient of a real scalar by other values of this builder, from which it was computed.
   * @param {XlaOp} loss
   * @param {XlaOp | XlaOp[]} wrt
   * @param {object} [options]
   * @param {number} [options.maxTrips] as in client.gradient()
   * @param {string} [options.checkpoint] the same
   * @returns {XlaOp | XlaOp[]} one value for each of `wrt`, of its shape; a list if wrt is one
   */
  gradient(loss, wrt, options) {
    const asked = checkOptions('gradient', options, OP_GRADIENT_OPTIONS);
    const list = Array.isArray(wrt) ? copyList(wrt) : [wrt];
    for (const [argument, value] of [['loss', loss], ...list.map((op) => ['wrt', op])]) {
      if (isOp(value) && value.builder === this) continue;
      throw invalidArgument('gradient', `${argument} must be an XlaOp of this builder; got ${describe(value)}`);
    }
    if (!list.length) throw invalidArgument('gradient', 'wrt must have at least one value; got an empty list');
    if (!loss.shape.isScalar || !isFloat(loss.shape)) {
      throw invalidArgument('gradient', `loss has shape ${loss.shape}; it must be one real number: b.sum(loss) or b.mean(loss)`);
    }
    const core = coreOf(this), builder = this.#pointer();
    const [of, ...handles] = [loss, ...list].map(({ handle }) => this.#batch.handle(handle));
    const tuple = this.#op(rulesOf(core).apply(false, (copy, ...rules) =>
      core.call(xla_builder_gradient, builder, of, copy(Uint32Array.from(handles)), list.length, asked.maxTrips ?? 0,
        CHECKPOINTS[asked.checkpoint ?? 'none'], ...rules)));
    const gradients = list.map((_, i) => this.getTupleElement(tuple, i));
    return Array.isArray(wrt) ? gradients : gradients[0];
  }

  /**
   * Returns a function that calls a named computation: it takes XlaOps of this builder and adds the call. `fn` is traced
   * once for each list of operands' shapes.
   * @param {(b: XlaBuilder, ...operands: XlaOp[]) => XlaOp | XlaOp[]} fn
   * @param {string} [name] of the computation; by default the function's
   * @returns {(...operands: XlaOp[]) => XlaOp} a tuple if `fn` returns a list
   */
  function(fn, name = fn?.name || 'function') {
    const traced = new Map();
    return this.#transformed('function', fn, (args, trace) => {
      const shapes = args.map(({ shape }) => shape), key = shapes.join(' ');
      if (!traced.has(key)) traced.set(key, trace(shapes));
      const { call, captures } = traced.get(key);
      return call(this, args, captures);
    }, checkName('function', name));
  }

  /**
   * Returns a function for batches, as jax.vmap does. It traces `fn` once, for the shapes of one element, and applies the
   * traced computation to all elements.
   * @param {(b: XlaBuilder, ...args: XlaOp[]) => XlaOp | XlaOp[]} fn
   * @param {object} [options]
   * @param {any} [options.in] the dimension of the batch in the arguments: as in client.vmap()
   * @param {any} [options.out] the dimension of the batch in the results
   * @param {number} [options.size] the number of elements in the batch, if no argument has it
   * @returns {(...args: XlaOp[]) => XlaOp | XlaOp[]}
   */
  vmap(fn, options) {
    const asked = vmapOptions(options);
    return this.#transformed('vmap', fn, (args, trace) => {
      const { shapes, entries, size } = elementShapes(args.map(({ shape }) => shape), asked);
      const { module, captures, isTuple } = trace(shapes);
      const inputs = [...entries, ...captures.map(() => null)];
      const result = this.call(batch(module, { in: inputs, out: asked.out, size }), [...args, ...captures]);
      return isTuple ? elementsOf(result) : result;
    });
  }

  /**
   * Returns a function that computes a Jacobian, as jax.jacrev and jax.jacfwd do.
   * @param {(b: XlaBuilder, ...args: XlaOp[]) => XlaOp | XlaOp[]} fn
   * @param {object} [options]
   * @param {number | number[]} [options.wrt] by which arguments; by default the first
   * @param {'reverse' | 'forward'} [options.mode] by rows (the default) or by columns
   * @param {number} [options.maxTrips] as in client.gradient()
   * @returns {(...args: XlaOp[]) => any} an array with the dimensions of the result, then of the argument; a list of
   *   them if wrt is one; and a list of these if fn returns one
   */
  jacobian(fn, options) {
    const { wrt = [0], ...asked } = checkOptions('jacobian', options, JACOBIAN_OPTIONS);
    const isList = Array.isArray(options?.wrt);
    return this.#transformed('jacobian', fn, (args, trace) => {
      const { module, captures, isTuple } = trace(args.map(({ shape }) => shape));
      const rows = jacobianOf(this, module, [...args, ...captures], { ...asked, wrt }).map((row) => (isList ? row : row[0]));
      return isTuple ? rows : rows[0];
    });
  }

  /**
   * Returns a function that computes a Hessian, as jax.hessian does.
   * @param {(b: XlaBuilder, ...args: XlaOp[]) => XlaOp} fn its result is a real scalar
   * @param {object} [options] wrt, maxTrips: as in jacobian()
   * @returns {(...args: XlaOp[]) => any} an array with the dimensions of the argument twice; lists of lists of them if wrt
   *   is a list
   */
  hessian(fn, options) {
    const { wrt = [0], ...asked } = checkOptions('hessian', options, HESSIAN_OPTIONS);
    const isList = Array.isArray(options?.wrt);
    return this.#transformed('hessian', fn, (args, trace) => {
      const { module, captures } = trace(args.map(({ shape }) => shape));
      const gradient = differentiate(module, 'gradient', { ...asked, wrt });
      const rows = jacobianOf(this, gradient, [...args, ...captures], { wrt, mode: 'forward' }, 'hessian');
      return isList ? rows : rows[0][0];
    });
  }

  /**
   * Ends building. The builder is disposed.
   * @param {XlaOp} [root] the result; by default the operation added last
   * @returns {HloModule}
   */
  build(root, ...more) {
    if (more.length || (root !== undefined && (!isOp(root) || root.builder !== this))) {
      const several = more.length ? [root, ...more] : root;
      const advice = Array.isArray(several) ? '; several results are one tuple: build(b.tuple([x, y]))' : '';
      throw invalidArgument('build', `root must be an XlaOp of this builder; got ${describe(several)}${advice}`);
    }
    const core = coreOf(this);
    const { handle = 0 } = root ?? this.#last ?? {};
    this.#batch.flush(core, this.#pointer());
    const module = core.need(xla_builder_build, this.#pointer(), this.#batch.handle(handle));
    this.#built = true;
    this.dispose();
    return new HloModule(core, module);
  }

  #pointer() {
    if (!this.#built) return pointerOf(this);
    throw new XlaError('FAILED_PRECONDITION', `builder "${this.name}" was built already: begin another one, client.builder()`);
  }

  /** Adds an instruction, as Batch.add() takes it; later, if the builder collects and `expected`, its shape, is known. */
  #add(kind, opcode, shape, text, words, expected = undefined) {
    const builder = this.#pointer();
    const waits = this.#collects && expected;
    const handle = this.#batch.add(waits ? kind | CHECKED : kind, opcode, waits ? expected : shape, text, words);
    if (waits) return this.#op(handle, expected, '');
    this.#batch.flush(coreOf(this), builder);
    return this.#op(handle);
  }

  #op(handle, known = undefined, knownName = undefined) {
    const core = coreOf(this), pointer = this.#batch.handle(handle);
    const shape = known ?? takeShape(core, core.call(xla_instruction_shape, pointer));
    const name = knownName ?? core.string(core.call(xla_instruction_name, pointer));
    this.#last = new XlaOp(PRIVATE, this, handle, shape, name);
    return this.#last;
  }

  #attributesText(opcode, attributes) {
    const importName = (module) => this.#import(opcode, module);
    const metadata = attributes.metadata ?? (this.#locations ? metadataText({ name: `${this.name}/${opcode}`, ...placeOfCall() }) : undefined);
    let text = metadata === undefined ? '' : `metadata=${attributeText(metadata, importName)}`;
    for (const name of Object.keys(attributes)) {
      const value = attributes[name];
      if (value !== undefined && name !== 'metadata') text += `${text && ', '}${name}=${attributeText(value, importName)}`;
    }
    return text;
  }

  /** `expected`: the shape that the core will infer. */
  #emit(opcode, operands, attributes = {}, shape = '', expected = this.#collects && shape ? Shape.of(shape) : undefined) {
    try {
      const text = this.#attributesText(opcode, attributes);
      return this.#add(shape ? GIVEN : INFERRED, opcode, shape, text, this.#batch.operands(operands), expected);
    } catch (error) {
      if (!error.line) throw error;
      // The line and column are of the generated text of the attributes, which the caller has not seen.
      throw new XlaError(error.code, error.message, { operation: opcode });
    }
  }

  /** Returns the name in this builder of a module's computation, which is imported when it is first used. */
  #import(opcode, module) {
    const known = this.#imported.get(module);
    if (known) return known;
    const core = coreOf(this);
    if (coreOf(module) !== core) {
      throw invalidArgument(opcode, `computation "${module.name}" belongs to another client`);
    }
    const builder = this.#pointer();
    const name = core.string(core.need(xla_builder_import, builder, pointerOf(module)));
    this.#imported.set(module, name);
    return name;
  }

  /* ---- Functions that build computations: see computations.mjs ---- */

  /**
   * Calls a function with a builder of its own and parameters of `shapes`, and builds a module of its result.
   * Returns { module, captures, isTuple, call }. captures: the values of this builder that the function used, which are
   * the module's last parameters. isTuple: whether it returned a list. call(b, own, captures): adds a call to builder b.
   */
  #trace(operation, fn, shapes, { argument, name, sealed = false, results }) {
    const inner = this.createSubBuilder(name);
    try {
      inner.#around = { builder: this, captures: new Map(), sealed, operation };
      const parameters = shapes.map((shape, i) => inner.parameter(i, shape));
      const returned = callBody(fn, inner, parameters);
      const context = { ...inner.#context(operation), argument };
      const list = resultsOf(returned, results, context);
      const isTuple = Array.isArray(returned);
      const module = inner.build(isTuple ? inner.tuple(list) : list[0]);
      const captures = [...inner.#around.captures.keys()];
      const call = (b, own, outer) => b.call(module, [...own, ...outer]);
      return { module, captures, isTuple, call };
    } catch (error) {
      inner.dispose();
      throw error;
    }
  }

  /** Returns a function of XlaOps that calls derive(args, trace) with its arguments. trace(shapes) traces `fn`. */
  #transformed(operation, fn, derive, name = operation) {
    if (typeof fn !== 'function') throw invalidArgument(operation, `fn must be a function (b, x, …) => result; got ${describe(fn)}`);
    const trace = (shapes) => this.#trace(operation, fn, shapes, { argument: 'fn', name });
    return guarded((...args) => {
      const own = args.map((value, i) => {
        const adopted = isOp(value) && this.#adopt(value, `argument ${i}`);
        if (adopted) return adopted;
        throw invalidArgument(operation, `argument ${i} must be an XlaOp of this builder; got ${describe(value)}`);
      });
      return derive(own, trace);
    }, operation);
  }

  /** Returns the parameter that captures a value of an enclosing builder; undefined if the value's builder is none. */
  #adopt(value, argument) {
    if (value.builder === this) return value;
    if (!this.#around) return undefined;
    const { builder, captures, sealed, operation } = this.#around;
    const outer = builder.#adopt(value, argument);
    if (!outer || captures.has(outer)) return captures.get(outer);
    const scalar = builder.#scalars.get(outer.handle);
    if (!scalar && sealed) throw outsideOfSealed(operation, argument, value);
    if (scalar) return this.constantLiteral(scalar);
    const own = this.parameter(this.#parameters, outer.shape);
    captures.set(outer, own);
    return own;
  }

  #context(operation) {
    return {
      builder: this,
      operation,
      adopt: (value, argument) => this.#adopt(value, argument),
      trace: (fn, shapes, options) =>
        this.#trace(operation, fn, shapes, { argument: options.name, ...options }),
      elementwise: ELEMENTWISE,
    };
  }

  #operation(entry, values) {
    const { opcode, parameters, lower } = entry.rowOf ? entry.rowOf(values) : entry;
    const context = this.#context(opcode);
    const bound = bindArguments(parameters, values, context);
    const before = this.#last;
    try {
      settleArguments(parameters, bound, context);
      const emit = (operands, attributes, shape) =>
        this.#emit(opcode, operands, attributes, shape);
      emit.other = (...step) => this.#emit(...step);
      emit.trace = context.trace;
      this.#last = lower(emit, bound, this);
      return this.#last;
    } catch (error) {
      this.#last = before; // drops the instructions that were added meanwhile
      throw error;
    }
  }

  static {
    emit = (builder, ...step) => builder.#emit(...step);
    constantOfBytes = (builder, shape, view) => builder.#constantOf(shape, view);
    header = (builder, text) => {
      const core = coreOf(builder);
      core.scoped((copy) => core.need(xla_builder_header, builder.#pointer(), copy(text)));
    };
    collect = (builder) => { builder.#collects = true; };
    atBoundary(XlaBuilder);
    const define = (Class, method, value) => {
      Object.defineProperty(Class.prototype, method, {
        value: guarded(value, method), writable: true, configurable: true,
      });
    };
    for (const [method, entry] of Object.entries(OPERATIONS)) {
      define(XlaBuilder, method, function (...values) {
        return this.#operation(entry, values);
      });
      if (!isMethodOfOps(entry)) continue;
      define(XlaOp, method, function (...values) {
        return innermost([this, ...values])[method](this, ...values);
      });
    }
    nameMissing(XlaBuilder);
    nameMissing(XlaOp);
    // Of all operands' builders, that of the innermost function: only there all can be used.
    const innermost = (values) => {
      let inner = null;
      const look = (value, levels) => {
        if (isOp(value)) inner = inner?.#depth >= value.builder.#depth ? inner : value.builder;
        else if (levels > 0 && Array.isArray(value) && value.length <= MAX_ENTRIES) value.forEach((entry) => look(entry, levels - 1));
      };
      look(values, 3); // operands, lists of them, and lists of lists
      return inner;
    };
  }
}

function checkName(operation, name) {
  if (typeof name === 'string') return name;
  throw invalidArgument(operation, `the name must be a string; got ${describe(name)}`);
}

export { collect, constantOfBytes, emit, header };
