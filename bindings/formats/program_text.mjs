/** Detects the language of a program's text. */

/**
 * Returns 'hlo', 'stablehlo' or 'proto' (an HLO proto as text) by the first words of a text after comments; else undefined.
 */
const PROTO = /^((hlo|hlo_module|computations)\s*:?\s*[{<]\s*\w+\s*[:{<]|(name|entry_computation_name|entry_computation_id|id)\s*:)/;

export function kindOfText(text) {
  const head = text.slice(0, 100000).replace(/^(\s+|\/\/[^\n]*|\/\*[^]*?\*\/)*/, '');
  if (PROTO.test(head.replace(/^(\s+|#[^\n]*)*/, ''))) return 'proto';
  if (/^HloModule\b/.test(head) || /^(ENTRY\b|%?[\w.-]+\s*(\([^\n]*\)\s*->[^\n]*)?\{)/.test(head)) {
    return /^module\b/.test(head) ? 'stablehlo' : 'hlo';
  }
  if (/^(module\b|"?(builtin\.module|func\.func|vhlo\.func_v\d+|sdy\.mesh)\b|#\w+\s*=|!\w+\s*=|\{-#)/.test(head)) return 'stablehlo';
  return /^(ROOT\s|%?[\w.-]+\s*=\s*\(?[a-z]\w*\[)/.test(head) ? 'hlo' : undefined;
}

/** Whether bytes begin as MLIR bytecode does. */
export const isBytecode = (bytes) => [0x4d, 0x4c, 0xef, 0x52].every((byte, i) => bytes?.[i] === byte);

/** Only protos and bytecode hold control codes. */
export function isText(bytes) {
  return !bytes.subarray(0, 1000).some((byte) => byte < 9);
}
