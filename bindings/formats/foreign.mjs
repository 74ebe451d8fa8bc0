/** Recognises files that are no programs, or no weights, and says what to do with them. */
import { invalidArgument } from '../base/error.mjs';
import { programsOfJaxExport } from './jax_export.mjs';
import { ascii, startsWith } from './magic.mjs';
import { isBytecode } from './program_text.mjs';

/** Whether bytes are an HTML page, which is often the answer to a wrong address. */
export const isPage = (bytes) => /^\s*(<!doctype html|<html)/i.test(ascii(bytes, 0, 200));
export const NO_PAGE = 'was the address not found (404)?';

/**
 * Known formats that are no programs, by their first bytes: the name, a remedy, and the function that reads it; '' if there is none
 * and the remedy is not for programs alone.
 */
const OTHERS = [
  [(b) => startsWith(b, 0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59), 'a NumPy array', 'pass it as an argument: readNpy()', 'readNpy'],
  [(b) => startsWith(b, 0x50, 0x4b, 3, 4) && /^[^]{0,60}\.npy/.test(ascii(b, 0, 90)), 'NumPy arrays in a zip (.npz)',
    'they are arguments: readNpz()', 'readNpz'],
  [(b) => startsWith(b, 0x50, 0x4b, 3, 4), 'a zip', 'unpack it, and load the program in it ' +
    '(torch.export: export it by torch_xla; Keras: jax.export)'],
  [(b) => startsWith(b, 0x7b) === false && /^.{7}\0\{"/s.test(ascii(b, 0, 12)), 'a safetensors file', 'it holds weights: readSafetensors()',
    'readSafetensors'],
  [(b) => ascii(b, 4, 8) === 'TFL3', 'a TFLite file', 'export the model to StableHLO (tf.function: jax2tf, or ' +
    'tf.mlir.experimental; ai_edge)'],
  [isPage, 'an HTML page', NO_PAGE, ''],
  [(b) => ascii(b, 0, 24) === 'version https://git-lfs.', 'a pointer of Git LFS', 'git lfs pull fetches its file', ''],
  [(b) => /^\s*[{[]\s*["\d]/.test(ascii(b, 0, 60)), 'JSON', 'load the program itself'],
  [(b) => startsWith(b, 0x80, 2) || startsWith(b, 0x80, 4) || startsWith(b, 0x80, 5), 'a Python pickle',
    'export the model to StableHLO instead'],
  [(b) => ascii(b, 0, 4) === 'GGUF', 'a GGUF file', 'it holds weights, not a program: openGguf() reads it', 'openGguf'],
  [(b) => startsWith(b, 0x89, 0x48, 0x44, 0x46), 'an HDF5 file', 'export the model to StableHLO instead'],
  [(b) => startsWith(b, 0, 0x61, 0x73, 0x6d), 'WebAssembly', 'load the program that it was made from'],
  [(b) => startsWith(b, 0x42, 0x43, 0xc0, 0xde), 'LLVM bitcode', 'load the StableHLO that it was made from'],
  [isSavedModel, 'a TensorFlow SavedModel', 'export its function to StableHLO: f.experimental_get_compiler_ir(*arguments)' +
    "(stage='stablehlo_serialized') of a tf.function with jit_compile=True"],
  [isOnnx, 'an ONNX model', 'convert the model to StableHLO where it comes from'],
];

/** SavedModel: its schema's version, 1, and a graph whose description names what made or serves it. */
function isSavedModel(bytes) {
  return startsWith(bytes, 8, 1, 0x12) && /tensorflow|\bserve\b|saved_model/i.test(ascii(bytes, 0, 8192) + ascii(bytes, Math.max(0, bytes.length - 8192)));
}

/** ModelProto: ir_version first, then a producer or the graph's nodes with ONNX's field numbers. */
function isOnnx(bytes) {
  return startsWith(bytes, 8) && bytes[1] < 32 && [0x12, 0x1a, 0x3a, 0x42].includes(bytes[2]) &&
    /pytorch|onnx|tf2onnx|keras2onnx|skl2onnx|backend/i.test(ascii(bytes, 0, 64));
}

/** @returns {XlaError | undefined} the error for bytes that are no program */
export function refusal(bytes, name, operation = 'load') {
  if (!bytes.length) return invalidArgument(operation, `${name ?? 'the source'} is empty`);
  const found = OTHERS.find(([test]) => test(bytes));
  return found && invalidArgument(operation, `${name ? `${name} is` : 'this is'} ${found[1]}, not a program: ${found[2]}`);
}

/**
 * Names the format of a file that a function for weights cannot read, and the function that reads it, if there is one.
 * Undefined if the format is unknown.
 * @param {Uint8Array} bytes
 * @param {string} operation the function
 */
export function otherFormatAdvice(bytes, operation) {
  const [, name, remedy, reader] = OTHERS.find(([test]) => test(bytes)) ?? [];
  if (reader === '') return `${name}: ${remedy}`;
  if (name) return name + (reader === operation ? ' that is cut off' : reader ? `: ${reader}() reads it` : '');
  return isBytecode(bytes) || programsOfJaxExport(bytes).length ? 'a program: load()' : undefined;
}
