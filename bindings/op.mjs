/** A value within a computation that is being built: what the operations of a builder return. */
export class XlaOp {
  /**
   * Not for callers.
   * @param {import('./builder.mjs').XlaBuilder} builder
   * @param {number} handle the core's instruction
   * @param {import('./shape.mjs').Shape} shape
   */
  constructor(builder, handle, shape) {
    this.builder = builder;
    this.handle = handle;
    this.shape = shape;
    Object.freeze(this);
  }
}
