/** Finds the programs in a file of jax.export. */
import { ascii } from './magic.mjs';
import { isBytecode } from './program_text.mjs';

/**
 * Programs in the flatbuffer that jax.export's serialize() writes (jax/_src/export/serialization.fbs): the first is
 * the exported function, each next one the vector-Jacobian product of the one before. Empty for other bytes.
 * The table's fields move between versions, so they are recognised by content. The program is a vector that begins like
 * MLIR bytecode, the platforms are a vector of names, and the vector-Jacobian product is a table with such a program.
 * @param {Uint8Array} bytes
 * @returns {{ program: Uint8Array, platforms: string[] | undefined }[]}
 */
export function programsOfJaxExport(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const programs = [];
  let table = bytes.length < 16 ? 0 : view.getUint32(0, true);
  while (table) {
    const fields = fieldsOf(view, table);
    const program = fields.map((field) => bytecodeAt(bytes, view, field)).find(Boolean);
    if (!program) break;
    programs.push({ program, platforms: fields.map((field) => namesAt(bytes, view, field)).find(Boolean) });
    table = fields.find((field) => field > table && // or a damaged file might lead in circles
      fieldsOf(view, field).some((inner) => bytecodeAt(bytes, view, inner))) ?? 0;
  }
  return programs;
}

/** Returns the targets of the fields of the flatbuffer table at `table`; none if there is no table. */
function fieldsOf(view, table) {
  const end = view.byteLength;
  if (table < 4 || table + 4 > end) return [];
  const layout = table - view.getInt32(table, true);
  if (layout < 0 || layout + 4 > end) return [];
  const size = view.getUint16(layout, true);
  if (size < 4 || size % 2 || layout + size > end) return [];
  const targets = [];
  for (let at = layout + 4; at < layout + size; at += 2) {
    const field = table + view.getUint16(at, true);
    if (field !== table && field + 4 <= end) targets.push(field + view.getUint32(field, true));
  }
  return targets;
}

/** The vector of bytes at `vector`, if it is MLIR bytecode. */
function bytecodeAt(bytes, view, vector) {
  if (vector + 8 > bytes.length) return undefined;
  const start = vector + 4, end = start + view.getUint32(vector, true);
  return end <= bytes.length && isBytecode(bytes.subarray(start))
    ? bytes.subarray(start, end) : undefined;
}

const MAX_PLATFORMS = 16;

/** The vector of strings at `vector`, if each is a platform's name: letters in a string that a NUL ends. */
function namesAt(bytes, view, vector) {
  if (vector + 8 > bytes.length) return undefined;
  const count = view.getUint32(vector, true);
  if (count < 1 || count > MAX_PLATFORMS || vector + 4 + 4 * count > bytes.length) return undefined;
  const names = Array.from({ length: count }, (_, i) => {
    const at = vector + 4 + 4 * i, string = at + view.getUint32(at, true);
    if (string + 4 > bytes.length) return '';
    const end = string + 4 + view.getUint32(string, true);
    return end < bytes.length && bytes[end] === 0 ? ascii(bytes, string + 4, Math.min(end, string + 68)) : '';
  });
  return names.every((name) => /^[A-Za-z][A-Za-z_]*$/.test(name)) ? names : undefined;
}
