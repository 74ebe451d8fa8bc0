/** The generated WebAssembly as text. */
import { BinaryReader, WasmDisassembler } from 'wasmparser';

/** @param {Uint8Array} code of a module @returns {string} */
export function wasmText(code) {
  const reader = new BinaryReader();
  reader.setData(code.buffer, code.byteOffset, code.byteLength);
  const disassembler = new WasmDisassembler();
  disassembler.addOffsets = false;
  disassembler.disassembleChunk(reader);
  return disassembler.getResult().lines.join('\n');
}
