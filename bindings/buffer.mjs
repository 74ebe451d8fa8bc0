import { invalidArgument } from './error.mjs';
import { coreOf, Handle, pointerOf } from './handle.mjs';
import { Literal, rowMajor } from './literal.mjs';
import { Shape } from './shape.mjs';
import { ELEMENT_TYPES } from './types.mjs';

/**
 * An array on the device, that is, in the core's memory: an argument or a result that does not
 * cross to JavaScript and back. dispose() it when it is no longer needed.
 */
export class Buffer extends Handle {
  /** Not for callers: see client.buffer() and Executable's { device: true }. */
  constructor(core, pointer, shape) {
    super(core, pointer, 'xla_buffer_free');
    this.shape = shape;
  }

  /** A copy on the host. */
  toLiteral() {
    return new Literal(this.shape, this.view().slice());
  }

  /**
   * The elements where they are, row-major: no copy. The view is the memory itself; writing to it
   * changes the buffer. It is good until the next call into this package (memory may grow, and the
   * buffer may be disposed), so use it at once.
   */
  view() {
    const type = ELEMENT_TYPES.get(this.shape.elementType);
    const core = coreOf(this);
    const data = core.call('xla_buffer_data', pointerOf(this));
    return core.view(type.Array, data, this.shape.elementCount * type.lanes);
  }
}

/** A new buffer with a literal's elements. */
export function uploadLiteral(core, literal) {
  if (!literal.data) {
    throw invalidArgument('buffer', `${literal.shape} is not the shape of an array`);
  }
  const { elementType, dimensions } = literal.shape;
  const shape = Shape.array(elementType, dimensions);
  const pointer = core.scoped((copy) => core.need('xla_buffer_new', copy(String(shape))));
  const buffer = new Buffer(core, pointer, shape);
  buffer.view().set(rowMajor(literal).data);
  return buffer;
}
