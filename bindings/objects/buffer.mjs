/** Arrays in the core's memory, as arguments and results of runs. */
import { atBoundary, lacks, refuseOperators } from '../base/boundary.mjs';
import { invalidArgument } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';
import { xla_buffer_data, xla_buffer_free, xla_buffer_new } from '../base/calls.mjs';
import { Literal, packedData, shortText } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES, perByte } from '../values/types.mjs';
import { coreOf, Handle, pointerOf } from './handle.mjs';

/**
 * An array on the device, that is, in the core's memory. Runs take it as an argument and return it as a result without
 * a copy to JavaScript. The caller must dispose() it.
 */
export class Buffer extends Handle {
  /** Not for callers: see client.buffer() and Executable's { device: true }. */
  constructor(core, pointer, shape) {
    super(core, pointer, xla_buffer_free);
    this.shape = shape;
    Object.freeze(this);
  }

  /** Returns a copy on the host. */
  toLiteral() {
    const copy = this.view().slice();
    return this.#isPacked ? Literal.fromPacked(copy, this.shape) : new Literal(this.shape, copy);
  }

  get #isPacked() {
    return perByte(ELEMENT_TYPES.get(this.shape.elementType)) > 1;
  }

  /** As toLiteral(), which never waits; for symmetry with executeSync(). */
  toLiteralSync() {
    return this.toLiteral();
  }

  /** The elements as numbers, bigints, booleans and [re, im], nested as the dimensions are. */
  toArray() {
    return this.toLiteral().toArray();
  }

  [INSPECT]() {
    if (this.disposed) return `Buffer { ${this.shape}, disposed }`;
    return `Buffer { ${shortText(this.shape, this.#isPacked ? this.toLiteral().data : this.view())} }`;
  }

  /**
   * Returns a view of the elements, row-major, without a copy; writing to it changes the buffer. Elements of 4 or 2 bits
   * are packed: see Literal.packed. The view is valid until the next call into this package, as memory may grow.
   */
  view() {
    const type = ELEMENT_TYPES.get(this.shape.elementType);
    const core = coreOf(this);
    const data = core.call(xla_buffer_data, pointerOf(this));
    return this.#isPacked ? core.view(Uint8Array, data, this.shape.byteSize)
      : core.view(type.Array, data, this.shape.elementCount * type.lanes);
  }
}

atBoundary(Buffer);
lacks(Buffer, { data: 'write y.toLiteral().data for a copy, or y.view() for the elements in place' });
refuseOperators(Buffer, 'write y.toArray() for its numbers', true);

/**
 * A new buffer.
 * @param {any} value whatever Literal.from() takes for the shape
 * @param {Shape} shape
 */
export function upload(core, value, shape) {
  let data = packedData(value, shape);
  if (!data) throw invalidArgument('buffer', `${shape} is not the shape of an array`);
  if (data.buffer === core.heap.buffer) data = data.slice(); // a view(), lost if memory grows
  const dense = Shape.array(shape.elementType, shape.dimensions);
  const pointer = core.scoped((copy) => core.need(xla_buffer_new, copy(String(dense))));
  const buffer = new Buffer(core, pointer, dense);
  buffer.view().set(data);
  return buffer;
}
