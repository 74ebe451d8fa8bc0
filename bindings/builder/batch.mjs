/**
 * Instructions on their way to the core. A builder that collects them adds those whose shapes are known in one call of the
 * core: a call for each takes longer, above all while the engine has not compiled this package's code.
 */
import { xla_builder_add } from '../base/calls.mjs';

/** The kinds of api.h. */
export const [INFERRED, GIVEN, PARAMETER, CONSTANT, OWNED_CONSTANT, CHECKED] = [0, 1, 2, 3, 4, 8];

export class Batch {
  #handles = []; // of all instructions that the core has
  #numbers = new Map(); // of texts, and of shapes: that of their text
  #texts = [];
  #words = [];
  #count = 0;

  /** Returns the core's handle, which is even, of an instruction. */
  handle(handle) {
    return handle & 1 ? this.#handles[handle >>> 1] : handle;
  }

  #newText(text) {
    return this.#texts.push(text.includes('\0') ? text.split('\0', 1)[0] : text) - 1;
  }

  /** The number of a text, or of a shape's. */
  #text(value) {
    let number = this.#numbers.get(value);
    if (number !== undefined) return number;
    number = typeof value === 'string' ? this.#newText(value) : this.#text(String(value));
    this.#numbers.set(value, number);
    return number;
  }

  /**
   * Collects an instruction.
   * @param {number} kind
   * @param {string} opcode
   * @param {import('../values/shape.mjs').Shape | string} shape
   * @param {string} text attributes, or a name
   * @param {ArrayLike<number>} words as the kind has them
   * @returns {number} its handle, which is odd
   */
  add(kind, opcode, shape, text, words) {
    this.#words.push(kind, this.#text(opcode), this.#text(shape), text ? this.#newText(text) : this.#text(''));
    for (let i = 0; i < words.length; i++) this.#words.push(words[i]);
    return 2 * (this.#handles.length + this.#count++) + 1;
  }

  /** The words of operands. @param {import('./op.mjs').XlaOp[]} operands */
  operands(operands) {
    const words = [operands.length];
    for (const { handle } of operands) {
      const place = handle - 2 * this.#handles.length; // among the instructions that wait
      words.push(handle & 1 && place > 0 ? place : this.handle(handle));
    }
    return words;
  }

  /** Adds the instructions that wait to a builder of the core. */
  flush(core, builder) {
    const texts = this.#texts, words = this.#words, count = this.#count;
    if (!count) return;
    this.#numbers.clear();
    [this.#texts, this.#words, this.#count] = [[], [], 0];
    const added = core.scoped((copy) => {
      const results = copy(new Uint32Array(count));
      core.need(xla_builder_add, builder, texts.length, copy(texts.join('\0')), count, copy(Uint32Array.from(words)), results);
      return core.view(Uint32Array, results, count).slice();
    });
    for (const handle of added) this.#handles.push(handle);
  }
}

/** The words of a constant's elements, row-major. @param {ArrayBufferView} data */
export function wordsOf(data) {
  const bytes = new Uint8Array((data.byteLength + 3) & ~3);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return [bytes.length / 4, ...new Uint32Array(bytes.buffer)];
}
