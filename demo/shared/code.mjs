/** The generated WebAssembly as text. */
import { BinaryReader, WasmDisassembler } from 'wasmparser';

import { wasmText as textBy } from '../../bindings/cli/wasm_text.mjs';

/** See wasmText there. */
export const wasmText = (code, listing) => textBy({ BinaryReader, WasmDisassembler }, code, listing);
