/** Values of a computation that is being built, with operations as methods. */
import { atBoundary, notConstructed, PRIVATE, refuseOperators } from '../base/boundary.mjs';
import { invalidArgument } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';

/**
 * Whether a value is an XlaOp that a builder made; its handle is a pointer into the core.
 * @type {(value: unknown) => value is XlaOp}
 */
export let isOp;

/**
 * A value in a computation that is being built; a builder's operations return it. It has the
 * operations of its builder as methods, with itself as the first operand. If it is a tuple, its
 * elements can be iterated.
 */
export class XlaOp {
  #genuine = true;

  static {
    isOp = (value) => typeof value === 'object' && value !== null && #genuine in value;
  }

  /**
   * Not for callers.
   * @param {symbol} key PRIVATE
   * @param {import('./builder.mjs').XlaBuilder} builder
   * @param {number} handle the core's instruction
   * @param {import('../values/shape.mjs').Shape} shape
   * @param {string} name the instruction's
   */
  constructor(key, builder, handle, shape, name) {
    if (key !== PRIVATE) throw notConstructed('XlaOp', 'the methods of a builder');
    this.builder = builder;
    this.handle = handle;
    this.shape = shape;
    this.name = name;
    Object.freeze(this);
  }

  /** The elements of a tuple. */
  [Symbol.iterator]() {
    if (isOp(this) && this.shape.isTuple) return elementsOf(this)[Symbol.iterator]();
    throw invalidArgument('get-tuple-element', `${this} is no tuple, whose elements could be taken`);
  }

  /** 'f32[2] add.3' */
  toString() {
    return `${this.shape} ${this.name}`;
  }

  [INSPECT]() {
    return `XlaOp { ${this} }`;
  }
}
atBoundary(XlaOp);
refuseOperators(XlaOp, 'write x.mul(2) for x * 2, x.gt(y) for x > y, and `${x}` in a text');

/** Returns a tuple's elements, or a list of the value itself if it is no tuple. */
export function elementsOf(op) {
  const { shape, builder } = op;
  return shape.isTuple ? shape.tupleShapes.map((_, i) => builder.getTupleElement(op, i)) : [op];
}
