import { notConstructed, PRIVATE } from './boundary.mjs';

/**
 * Whether a value is an XlaOp, and no imitation: its handle is a pointer.
 * @type {(value: unknown) => value is XlaOp}
 */
export let isOp;

/** A value within a computation that is being built: what the operations of a builder return. */
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
   * @param {import('./shape.mjs').Shape} shape
   */
  constructor(key, builder, handle, shape) {
    if (key !== PRIVATE) throw notConstructed('XlaOp', 'the methods of a builder');
    this.builder = builder;
    this.handle = handle;
    this.shape = shape;
    Object.freeze(this);
  }
}
