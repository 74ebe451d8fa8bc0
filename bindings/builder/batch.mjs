/**
 * Instructions whose shapes are known before the core infers them. They are collected, and one call of the core adds all:
 * a call for each takes several times as long, above all while the engine has not compiled this package's code.
 */
import { xla_builder_add_all } from '../base/calls.mjs';

/** The kinds of api.h. */
export const [INFERRED, GIVEN, PARAMETER, CONSTANT] = [0, 1, 2, 3];

export class Batch {
  #handles = []; // of all instructions that the core has
  #numbers = new Map(); // of texts, and of shapes: that of their text
  #texts = [];
  #words = [];
  #count = 0;

  /** Returns the core's handle of an instruction. */
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
   * @param {number} kind
   * @param {string} opcode
   * @param {import('../values/shape.mjs').Shape} shape
   * @param {string} text attributes, or a name
   * @returns {number} its handle, which is odd: those of the core are even
   */
  #add(kind, opcode, shape, text) {
    this.#words.push(this.#text(opcode), this.#text(shape), kind, text ? this.#newText(text) : this.#text(''));
    return 2 * (this.#handles.length + this.#count++) + 1;
  }

  operation(kind, opcode, shape, operands, attributes) {
    const made = this.#add(kind, opcode, shape, attributes);
    this.#words.push(operands.length);
    for (const { handle } of operands) {
      const place = handle - 2 * this.#handles.length; // among the instructions that wait
      this.#words.push(handle & 1 && place > 0 ? place : this.handle(handle));
    }
    return made;
  }

  parameter(number, shape, name) {
    const made = this.#add(PARAMETER, '', shape, name);
    this.#words.push(number);
    return made;
  }

  /** @param {ArrayBufferView} data its elements, row-major */
  constant(shape, data) {
    const bytes = new Uint8Array((data.byteLength + 3) & ~3);
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    const made = this.#add(CONSTANT, '', shape, '');
    this.#words.push(bytes.length / 4, ...new Uint32Array(bytes.buffer));
    return made;
  }

  /** Adds the instructions that wait. */
  flush(core, builder) {
    if (!this.#count) return;
    const added = core.scoped((copy) => {
      const results = copy(new Uint32Array(this.#count));
      core.need(xla_builder_add_all, builder, this.#texts.length, copy(this.#texts.join('\0')), this.#count,
        copy(Uint32Array.from(this.#words)), results);
      return core.view(Uint32Array, results, this.#count).slice();
    });
    this.#handles.push(...added);
    this.#numbers.clear();
    this.#texts = [];
    this.#words = [];
    this.#count = 0;
  }
}
