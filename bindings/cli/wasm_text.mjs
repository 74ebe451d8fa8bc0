/** Writes the generated WebAssembly as text, with the disassembler of the package wasmparser, which the bundle for Node holds. */
import { stepsOf } from '../objects/listing.mjs';

/**
 * Returns for each exported function the kinds and names of the steps that call it. Equal functions
 * are merged, so a function may have several steps.
 */
function callersOf(listing) {
  const steps = new Map();
  for (const step of stepsOf(listing)) {
    if (step.functionNumber === undefined) continue;
    steps.set(step.functionNumber, [...(steps.get(step.functionNumber) ?? []), step]);
  }
  return steps;
}

/** Whether a function does nothing: a step that lies in a region, whose function has its code, leaves an empty one. */
const isEmpty = (text, func) => new RegExp(`^ *\\(func \\${func} .*\\n *\\)$`, 'm').test(text);

/**
 * @param {{ BinaryReader: any, WasmDisassembler: any }} parser the package wasmparser
 * @param {Uint8Array} code of a module
 * @param {string} listing of its steps: executable.thunks()
 * @returns {string} in which functions have the names of instructions
 */
export function wasmText({ BinaryReader, WasmDisassembler }, code, listing) {
  const reader = new BinaryReader();
  reader.setData(code.buffer, code.byteOffset, code.byteLength);
  const disassembler = new WasmDisassembler();
  disassembler.addOffsets = false;
  disassembler.disassembleChunk(reader);
  const text = disassembler.getResult().lines.join('\n');

  const steps = callersOf(listing);
  const names = new Map(); /* of $func0, ... */
  const notes = new Map();
  for (const [, number, func] of text.matchAll(/^ *\(export "(\d+)" \(func (\$\w+)\)\)/gm)) {
    const own = steps.get(Number(number)) ?? [];
    if (!own.length) continue;
    notes.set(func, [...(notes.get(func) ?? []), ...own]);
    if (names.has(func)) continue;
    const name = isEmpty(text, func) ? '$in_region' : `$${own[0].name}`;
    names.set(func, [...names.values()].includes(name) ? `${name}_${number}` : name);
  }
  const noteOf = (func) => (names.get(func).startsWith('$in_region') ? 'empty, as the code is in the function of a region: ' : '') +
    notes.get(func).map(({ kind, name }) => `${kind} ${name}`).join(', ');
  return text
    .replace(/^( *)(\(func (\$\w+))/gm, (line, indent, head, func) => (notes.has(func) ? `\n${indent};; ${noteOf(func)}\n${line}` : line))
    .replace(/^ *\(export "(\d+)".*$/gm, (line, number) => (steps.has(Number(number)) ? `${line} ;; ${steps.get(Number(number)).map(({ name }) => name).join(', ')}` : line))
    .replace(/\$func\d+\b/g, (func) => names.get(func) ?? func);
}
