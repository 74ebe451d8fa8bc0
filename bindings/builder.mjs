import { bindArguments } from './arguments.mjs';
import { attributeText, cleanName } from './attribute_text.mjs';
import { atBoundary, guarded, notConstructed, PRIVATE } from './boundary.mjs';
import { describe, invalidArgument, XlaError } from './error.mjs';
import { coreOf, Handle, pointerOf } from './handle.mjs';
import { isLiteral, Literal, rowMajorData } from './literal.mjs';
import { HloModule, takeShape } from './module.mjs';
import { isOp, XlaOp } from './op.mjs';
import { OPERATIONS } from './operations.mjs';
import { Shape } from './shape.mjs';

/**
 * Builds a computation: XLA's XlaBuilder. Every operation is a method, and so are parameters and
 * constants; each returns the XlaOp to go on with. A mistake is thrown as an XlaError by the call
 * that makes it, and leaves the builder as it was.
 */
export class XlaBuilder extends Handle {
  #built = false;

  /** Not for callers: see client.builder(). */
  constructor(core, name) {
    if (typeof core?.need !== 'function') throw notConstructed('XlaBuilder', 'client.builder()');
    const cleaned = cleanName(checkName('builder', name));
    const pointer = core.scoped((copy) => core.need('xla_builder_new', copy(cleaned)));
    super(core, pointer, 'xla_builder_free');
    this.name = cleaned;
  }

  /** A builder for a computation that this one is going to call. */
  createSubBuilder(name) {
    return new XlaBuilder(coreOf(this), name);
  }

  /**
   * @param {number} number 0, 1, ... without gaps
   * @param {Shape | string} shape
   * @param {string} [name]
   */
  parameter(number, shape, name = `p${number}`) {
    if (!Number.isInteger(number) || number < 0 || number > 0x7fffffff) {
      throw invalidArgument('parameter', `number must not be ${describe(number)}`);
    }
    const text = String(Shape.of(shape));
    const cleaned = cleanName(checkName('parameter', name));
    return this.#add((core, builder, copy) =>
      core.need('xla_builder_parameter', builder, number, copy(text), copy(cleaned)));
  }

  /**
   * A constant of anything that Literal.from() takes.
   * @param {any} value
   * @param {Shape | string} [shape] by default what the value suggests: see Literal.from()
   */
  constant(value, shape) {
    return this.constantLiteral(Literal.from(value, shape));
  }

  /** @param {Literal} literal */
  constantLiteral(literal) {
    if (!isLiteral(literal)) {
      throw invalidArgument('constant', `needs a Literal; got ${describe(literal)}`);
    }
    if (literal.elements) {
      return this.tuple(literal.elements.map((element) => this.constantLiteral(element)));
    }
    if (!literal.data) return this.createToken();
    const shape = literal.shape.withLayout(null);
    const data = rowMajorData(literal, shape);
    return this.#add((core, builder, copy) =>
      core.need('xla_builder_constant', builder, copy(String(shape)), copy(data)));
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
      throw invalidArgument('constant', `${describe(value)} is not of rank ${rank}`);
    }
    return this.constant(value, elementType && Shape.array(elementType, dimensions));
  }

  /**
   * Ends building. The builder is disposed.
   * @param {XlaOp} [root] the result; by default what was added last
   * @returns {HloModule}
   */
  build(root) {
    if (root !== undefined && (!isOp(root) || root.builder !== this)) {
      const got = describe(root);
      throw invalidArgument('build', `root must be an XlaOp of this builder; got ${got}`);
    }
    const core = coreOf(this);
    const module = core.need('xla_builder_build', this.#pointer(), root?.handle ?? 0);
    this.#built = true;
    this.dispose();
    return new HloModule(core, module);
  }

  #pointer() {
    if (!this.#built) return pointerOf(this);
    throw new XlaError('FAILED_PRECONDITION', `builder "${this.name}" was built already`);
  }

  /** @param {(core: any, builder: number, copy: Function) => number} call */
  #add(call) {
    const core = coreOf(this);
    const builder = this.#pointer();
    const handle = core.scoped((copy) => call(core, builder, copy));
    return new XlaOp(PRIVATE, this, handle, takeShape(core, core.call('xla_instruction_shape', handle)));
  }

  #emit(opcode, operands, attributes = {}, shape = '') {
    const handles = Uint32Array.from(operands, (operand) => operand.handle);
    const shapeText = String(shape);
    const call = (core, builder, copy) => {
      const importName = (module) =>
        core.string(core.need('xla_builder_import', builder, this.#callable(opcode, module)));
      const text = Object.entries(attributes)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `${name}=${attributeText(value, importName)}`)
        .join(', ');
      return core.need(
        'xla_builder_add',
        ...[builder, copy(opcode), copy(shapeText), copy(handles), operands.length, copy(text)],
      );
    };
    try {
      return this.#add(call);
    } catch (error) {
      if (!error.line) throw error;
      // A place in the text of the attributes, which the caller has never seen.
      throw new XlaError(error.code, error.message, { operation: opcode });
    }
  }

  #callable(opcode, module) {
    if (coreOf(module) === coreOf(this)) return pointerOf(module);
    throw invalidArgument(opcode, `computation "${module.name}" belongs to another client`);
  }

  static {
    atBoundary(XlaBuilder);
    for (const [method, entry] of Object.entries(OPERATIONS)) {
      const call = function (...values) {
        const { opcode, parameters, lower } = typeof entry === 'function' ? entry(values) : entry;
        const bound = bindArguments(parameters, values, { builder: this, operation: opcode });
        const emit = (operands, attributes, shape) =>
          this.#emit(opcode, operands, attributes, shape);
        emit.other = (...step) => this.#emit(...step);
        return lower(emit, bound, this);
      };
      Object.defineProperty(call, 'name', { value: method });
      Object.defineProperty(XlaBuilder.prototype, method, {
        value: guarded(call),
        writable: true,
        configurable: true,
      });
    }
  }
}

function checkName(operation, name) {
  if (typeof name === 'string') return name;
  throw invalidArgument(operation, `the name must be a string; got ${describe(name)}`);
}
