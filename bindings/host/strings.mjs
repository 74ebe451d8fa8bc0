/**
 * Strings in the core's memory: UTF-8, NUL-terminated. Nearly all are short and ASCII: names, shapes, attributes. For these a
 * loop is faster than the engine's encoder and decoder, whose calls cost more than the characters.
 */
const SHORT = 200; // characters
const encoder = new TextEncoder(), decoder = new TextDecoder();

/** Returns a copy of the string at `pointer`. */
export function readString(heap, pointer) {
  let text = '';
  for (let at = pointer; at - pointer < SHORT; at++) {
    const byte = heap[at];
    if (byte === 0) return text;
    if (byte > 127) break;
    text += String.fromCharCode(byte);
  }
  // slice, not subarray: TextDecoder does not take shared memory.
  return decoder.decode(heap.slice(pointer, heap.indexOf(0, pointer)));
}

/** Returns the bytes of a string, with its NUL. */
export const encodeString = (text) => encoder.encode(`${text}\0`);

/**
 * Writes a string that is short and ASCII, and its NUL.
 * @param {(size: number) => number} allocate returns the address of `size` new bytes
 * @returns {number} the pointer; 0 if the string is another
 */
export function writeShort(heap, text, allocate) {
  const { length } = text;
  if (length >= SHORT) return 0;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) > 127) return 0;
  const pointer = allocate(length + 1);
  for (let i = 0; i < length; i++) heap[pointer + i] = text.charCodeAt(i);
  heap[pointer + length] = 0;
  return pointer;
}
